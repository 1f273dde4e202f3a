//! How the lines of a log are written.

use prony_model::{Problem, nearest};

/// The format of a log's lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogFormat {
    /// The common log format, and whatever follows the status: also that of `combined`.
    Lines {
        /// What reports call it.
        name: String,
        /// What stands in a line, in order.
        pieces: Vec<Piece>,
        /// Whether a line may have more behind that.
        is_open: bool,
    },
    /// An object of JSON in each line.
    Json,
}

/// What the lines of a log are to be read as.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FormatChoice {
    /// What its first lines are.
    #[default]
    Guess,
    /// This one.
    Log(LogFormat),
    /// An HTTP archive.
    Har,
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// This text.
    Text(Vec<u8>),
    /// A value, up to the next text.
    Value(Field),
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// When the response was complete.
    Time,
    /// Method, target and version.
    Request,
    /// The method.
    Method,
    /// Path and query.
    Target,
    /// The path.
    Path,
    /// The query.
    Query,
    /// The status code.
    Status,
    /// How long the request took, seconds.
    Took,
    /// Anything else.
    Other,
}

/// The variables of nginx that mean something here.
const VARIABLES: [(&str, Field); 12] = [
    ("time_local", Field::Time),
    ("time_iso8601", Field::Time),
    ("msec", Field::Time),
    ("request", Field::Request),
    ("request_method", Field::Method),
    ("request_uri", Field::Target),
    ("uri", Field::Path),
    ("document_uri", Field::Path),
    ("args", Field::Query),
    ("query_string", Field::Query),
    ("status", Field::Status),
    ("request_time", Field::Took),
];
const COMMON: &str = "$skipped [$time_local] \"$request\" $status ";
const COMBINED: &str = "$skipped [$time_local] \"$request\" $status $bytes \"$referer\" \"$agent\"";
/// Bytes of a `log_format`.
const FORMAT_BYTES_MAX: usize = 4096;

impl LogFormat {
    /// The common log format.
    pub fn common() -> Self {
        Self::named("common", COMMON)
    }

    /// The format that nginx and Apache call combined.
    pub fn combined() -> Self {
        Self::named("combined", COMBINED)
    }

    fn named(name: &str, text: &str) -> Self {
        let pieces = pieces(text).expect("invariant: the known formats can be read");
        Self::Lines { name: name.to_owned(), pieces, is_open: true }
    }

    /// What reports call it.
    pub fn name(&self) -> &str {
        match self {
            Self::Lines { name, .. } => name,
            Self::Json => "json",
        }
    }
}

impl FormatChoice {
    /// Reads `combined`, `common`, `json`, `har` or a `log_format` of nginx.
    ///
    /// # Errors
    /// Other words, and formats without a time or a request.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        match text {
            "combined" => Ok(Self::Log(LogFormat::combined())),
            "common" => Ok(Self::Log(LogFormat::common())),
            "json" => Ok(Self::Log(LogFormat::Json)),
            "har" => Ok(Self::Har),
            _ if text.contains('$') => {
                let pieces = pieces(text.trim_matches(['\'', '\n']))?;
                check(&pieces)?;
                Ok(Self::Log(LogFormat::Lines { name: "log_format".to_owned(), pieces, is_open: false }))
            }
            _ => {
                let known = nearest(text, ["combined", "common", "json", "har"]);
                let advice = known.map_or_else(
                    || {
                        "write combined, common, json, har, or nginx's log_format with its $variables"
                            .to_owned()
                    },
                    |known| format!("did you mean {known}?"),
                );
                Err(Problem::new(format!("`{text}` is not a format of logs"), advice).about("format"))
            }
        }
    }
}

/// The pieces of a `log_format`: `$name` and `${name}` are values.
fn pieces(text: &str) -> Result<Vec<Piece>, Problem> {
    if text.len() > FORMAT_BYTES_MAX {
        let what = format!("a log_format of more than {FORMAT_BYTES_MAX} bytes");
        return Err(
            Problem::new(what, "leave out what follows the last $variable that is needed").about("format")
        );
    }
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        if dollar > 0 {
            pieces.push(Piece::Text(rest.as_bytes()[..dollar].to_vec()));
        }
        let name = &rest[dollar + 1..];
        let (name, behind) = if let Some(braced) = name.strip_prefix('{') {
            braced.split_once('}').unwrap_or((braced, ""))
        } else {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            name.split_at(name.bytes().position(|byte| !is_part(byte)).unwrap_or(name.len()))
        };
        if name.is_empty() {
            return Err(Problem::new(
                "a $ without a name in the log_format",
                "write $time_local or ${time_local}",
            )
            .about("format"));
        }
        if matches!(pieces.last(), Some(Piece::Value(_))) {
            let what = format!("nothing stands between ${name} and the value before it");
            return Err(Problem::new(what, "use a log_format whose values can be told apart").about("format"));
        }
        let known = VARIABLES.iter().find(|(variable, _)| *variable == name);
        pieces.push(Piece::Value(known.map_or(Field::Other, |(_, field)| *field)));
        rest = behind;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.as_bytes().to_vec()));
    }
    Ok(pieces)
}

fn check(pieces: &[Piece]) -> Result<(), Problem> {
    let has = |field: Field| pieces.contains(&Piece::Value(field));
    let missing = if !has(Field::Time) {
        "$time_local, $time_iso8601 or $msec"
    } else if !has(Field::Request) && !has(Field::Target) && !has(Field::Path) {
        "$request, or $request_uri (with $request_method)"
    } else {
        return Ok(());
    };
    Err(Problem::new(format!("the log_format lacks {missing}"), "a log without it can't be replayed")
        .about("format"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_replayed_is_refused() {
        let check = |text: &str, expected: &str| {
            let problem = FormatChoice::parse(text).expect_err("no format");
            assert!(problem.what.contains(expected), "{text}: {problem}");
        };
        check("combi", "`combi` is not a format");
        check("$request $status", "lacks $time_local");
        check("$msec $status", "lacks $request");
        check("$msec$request", "nothing stands between $request");
        check("$ $msec", "without a name");
        check(&format!("$msec {}", "x".repeat(FORMAT_BYTES_MAX)), "4096 bytes");
    }

    #[test]
    fn variables_may_stand_in_braces() {
        let FormatChoice::Log(LogFormat::Lines { pieces, .. }) =
            FormatChoice::parse("${msec}x $request").expect("a format")
        else {
            panic!("it has pieces")
        };
        let text = |text: &str| Piece::Text(text.as_bytes().to_vec());
        assert_eq!(pieces, [Piece::Value(Field::Time), text("x "), Piece::Value(Field::Request)]);
    }
}
