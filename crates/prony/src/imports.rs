//! Files of other tools as scenarios: for `prony import`, and for `prony run session.hurl`.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use prony_import::scenario::FILE_BYTES_MAX;
use prony_import::{
    Context, HarOptions, ImportedScenario, guess, har, read_har, read_hurl, read_openapi, read_postman,
};

use crate::args::ImportFormat;
use crate::cli_error::CliError;
use crate::output;

/// Whether `path` names a file of another tool.
pub(crate) fn is_foreign(path: &Path) -> bool {
    is_hurl(path) || ["har", "json", "yaml", "yml"].iter().any(|ending| has_ending(path, ending))
}

fn is_hurl(path: &Path) -> bool {
    has_ending(path, "hurl")
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ending))
}

/// The text of the scenario that `path` is, to be run at once: every variable needs a value. What is not in it is
/// written.
pub(crate) fn scenario(path: &Path, variables: &[String]) -> Result<String, CliError> {
    if is_har(path) {
        let imported = import_har(&[path], HarOptions::default())?;
        write_left_out(&imported);
        return Ok(imported.to_toml());
    }
    let imported = import(path, &read(path)?, None, variables)?;
    if let Some(name) = imported.unset.first() {
        return Err(CliError::usage(format!("{}: {{{{{name}}}}} has no value", path.display()))
            .hint(format!("give it one: --variable {name}=…")));
    }
    write_left_out(&imported);
    Ok(imported.to_toml())
}

/// Whether `path` names an HTTP archive.
pub(crate) fn is_har(path: &Path) -> bool {
    has_ending(path, "har")
}

/// The scenario of the recordings at `paths`.
pub(crate) fn import_har(paths: &[&Path], options: HarOptions) -> Result<ImportedScenario, CliError> {
    let read = |path: &&Path| read_bounded(path, har::ARCHIVE_BYTES_MAX);
    let recordings = paths.iter().map(read).collect::<Result<Vec<String>, _>>()?;
    let first = paths.first().copied().unwrap_or(Path::new("-"));
    let name = name_of(first);
    let context = Context { name: &name, variables: &[] };
    read_har(&recordings, options, &context)
        .map_err(|problem| CliError::from(problem.after(&format!("{}: ", first.display()))))
}

/// What a scenario of `path` is called.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| stem != "-").unwrap_or_else(|| "imported".to_owned())
}

/// The text of `path`; `-` is stdin.
pub(crate) fn read(path: &Path) -> Result<String, CliError> {
    read_bounded(path, FILE_BYTES_MAX)
}

fn read_bounded(path: &Path, bytes_max: usize) -> Result<String, CliError> {
    let unreadable = |error: std::io::Error| {
        CliError::usage(format!("can't read {} ({error})", path.display()))
            .hint("name a file of text that can be read, or - for stdin")
    };
    let source: Box<dyn std::io::Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(unreadable)?)
    };
    text_of(source, bytes_max).map_err(unreadable)
}

/// The text that `source` has, or at least one byte more of it than the importer takes, which refuses what is larger.
fn text_of(source: impl std::io::Read, bytes_max: usize) -> std::io::Result<String> {
    /// A character has up to four bytes, and the last one may be cut.
    const CUT_MAX: usize = 3;
    let mut bytes = Vec::new();
    source.take((bytes_max + 1 + CUT_MAX) as u64).read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).or_else(|error| {
        let valid = error.utf8_error().valid_up_to();
        let mut bytes = error.into_bytes();
        bytes.truncate(if valid > bytes_max { valid } else { 0 });
        String::from_utf8(bytes).ok().filter(|text| !text.is_empty()).ok_or(std::io::ErrorKind::InvalidData)
    });
    Ok(text?)
}

/// The scenario of `text`, the content of `path`.
pub(crate) fn import(
    path: &Path,
    text: &str,
    format: Option<ImportFormat>,
    variables: &[String],
) -> Result<ImportedScenario, CliError> {
    let variables = variables.iter().map(|typed| variable(typed)).collect::<Result<Vec<_>, _>>()?;
    let name = name_of(path);
    let context = Context { name: &name, variables: &variables };
    let format = format.or_else(|| if is_hurl(path) { Some(ImportFormat::Hurl) } else { guessed(text) });
    let read = match format {
        Some(ImportFormat::Hurl) => read_hurl,
        Some(ImportFormat::Postman) => read_postman,
        Some(ImportFormat::Openapi) => read_openapi,
        // It is read by its own function.
        Some(ImportFormat::Har) | None => {
            let what = format!("{} is no file that can be imported", path.display());
            return Err(CliError::usage(what).hint(
                "it can be a Hurl file, a Postman collection (v2.1), an OpenAPI description (3.x, as JSON or YAML) or \
                 a HAR file; --format says which",
            ));
        }
    };
    read(text, &context).map_err(|problem| CliError::from(problem.after(&format!("{}: ", path.display()))))
}

/// Writes what is not in the scenario.
pub(crate) fn write_left_out(imported: &ImportedScenario) {
    for part in &imported.left_out {
        output::write_stderr(&format!("{}\n", prony_report::clean(&part.to_string())));
    }
}

fn guessed(text: &str) -> Option<ImportFormat> {
    match guess(text)? {
        prony_import::Kind::Hurl => Some(ImportFormat::Hurl),
        prony_import::Kind::Postman => Some(ImportFormat::Postman),
        prony_import::Kind::OpenApi => Some(ImportFormat::Openapi),
    }
}

fn variable(typed: &str) -> Result<(String, String), CliError> {
    let parts = typed.split_once('=').filter(|(name, _)| !name.trim().is_empty());
    let (name, value) = parts.ok_or_else(|| {
        CliError::usage(format!("`{typed}` is not a variable"))
            .hint("write its name and value: --variable id=7")
    })?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_one_even_where_a_character_is_cut() {
        let length = |text: &[u8], bytes_max: usize| text_of(text, bytes_max).map(|text| text.len()).ok();
        for bytes_max in 1..12 {
            let found = length("a\u{e9}\u{20ac}\u{1f600}\u{1f600}".as_bytes(), bytes_max);
            assert!(found.is_some_and(|found| found > bytes_max), "{bytes_max}: {found:?}");
        }
        assert_eq!((length(b"abc", 5), length(b"", 5)), (Some(3), Some(0)));
        assert_eq!((length(b"ab\xff", 5), length(b"\xff", 5)), (None, None), "that is no text");
    }
}
