//! What goes to stdout, which has room for one thing, and what to a file.

use std::path::Path;

use crate::args::{Format, PageFormat};
use crate::cli_error::CliError;
use crate::output::is_stdout;

/// Formats of which stdout gets one.
pub(super) trait OnStdout: Copy + PartialEq {
    /// What stdout gets by default.
    const TEXT: Self;
    /// What `--json -` asks for.
    const JSON: Self;
}

impl OnStdout for Format {
    const TEXT: Self = Self::Text;
    const JSON: Self = Self::Json;
}

impl OnStdout for PageFormat {
    const TEXT: Self = Self::Text;
    const JSON: Self = Self::Json;
}

/// What stdout gets, and the file of --json. `flag` is the one that `format` was typed with.
pub(super) fn outputs<'a, F: OnStdout>(
    json: Option<&'a Path>,
    flag: &str,
    format: Option<F>,
) -> Result<(F, Option<&'a Path>), CliError> {
    let Some(_) = json.filter(|path| is_stdout(path)) else {
        return Ok((format.unwrap_or(F::TEXT), json));
    };
    if format.is_some_and(|format| format != F::JSON) {
        return Err(CliError::usage(format!("--json - and {flag} both want stdout"))
            .hint("leave out one of them, or keep the JSON in a file: --json result.json"));
    }
    Ok((F::JSON, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: Option<&str>, format: Option<PageFormat>, expected: Option<(PageFormat, Option<&str>)>) {
        let resolved = outputs(json.map(Path::new), "--output", format).ok();
        assert_eq!(
            resolved,
            expected.map(|(format, file)| (format, file.map(Path::new))),
            "{json:?} {format:?}"
        );
    }

    #[test]
    fn stdout_gets_one_thing() {
        let (text, json) = (PageFormat::Text, PageFormat::Json);
        check(None, None, Some((text, None)));
        check(Some("a.json"), None, Some((text, Some("a.json"))));
        check(Some("a.json"), Some(json), Some((json, Some("a.json"))));
        check(Some("-"), None, Some((json, None)));
        check(Some("-"), Some(json), Some((json, None)));
        check(Some("-"), Some(text), None);
        check(Some("-"), Some(PageFormat::Markdown), None);
    }
}
