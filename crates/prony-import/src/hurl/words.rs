//! The words of a capture or an assert: names, texts in quotes, regular expressions, numbers.

use prony_model::Problem;

use super::text::unescape;

/// One word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    /// `jsonpath`, `==`, `true`
    Plain(String),
    /// `"a text"`, with its escapes resolved; templates stay.
    Quoted(String),
    /// `/a+/`
    Regex(String),
}

impl Word {
    /// Its text if it is plain.
    pub(super) fn plain(&self) -> Option<&str> {
        match self {
            Self::Plain(word) => Some(word),
            Self::Quoted(_) | Self::Regex(_) => None,
        }
    }
}

/// The words of `line`, up to a comment.
pub(super) fn words(line: &str) -> Result<Vec<Word>, Problem> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' => break,
            '"' => quoted(rest, '"', &mut words, |text| unescape(text).map(Word::Quoted))?,
            '`' if !rest.starts_with("```") => {
                quoted(rest, '`', &mut words, |text| unescape(text).map(Word::Quoted))?
            }
            // The slash of a regular expression can be escaped; all else is its own.
            '/' => quoted(rest, '/', &mut words, |text| Ok(Word::Regex(text.replace("\\/", "/"))))?,
            _ => {
                let end = rest.find(|one: char| one.is_whitespace() || one == '#').unwrap_or(rest.len());
                words.push(Word::Plain(rest[..end].to_owned()));
                end
            }
        };
        rest = rest[length..].trim_start();
    }
    Ok(words)
}

fn quoted(
    rest: &str,
    quote: char,
    words: &mut Vec<Word>,
    word: impl Fn(&str) -> Result<Word, Problem>,
) -> Result<usize, Problem> {
    let mut escaped = false;
    let end = rest[1..].find(|character| {
        let is_end = character == quote && !escaped;
        escaped = character == '\\' && !escaped;
        is_end
    });
    let end = end.ok_or_else(|| Problem::new(format!("{quote} has no end"), "close it on the same line"))?;
    words.push(word(&rest[1..=end])?);
    Ok(end + 2)
}

/// The JSON pointer (RFC 6901) of a JSONPath that names one place; `None` of one that may name several.
pub(super) fn pointer(path: &str) -> Option<String> {
    let mut rest = path.strip_prefix('$')?;
    let mut pointer = String::new();
    while !rest.is_empty() {
        let (name, after) = if let Some(inner) = rest.strip_prefix('.') {
            let end = inner.find(['.', '[']).unwrap_or(inner.len());
            (&inner[..end], &inner[end..])
        } else {
            let (inner, after) = rest.strip_prefix('[')?.split_once(']')?;
            let quoted = ["'", "\""].iter().find_map(|quote| inner.strip_prefix(quote)?.strip_suffix(quote));
            let index = Some(inner).filter(|inner| inner.bytes().all(|byte| byte.is_ascii_digit()));
            (quoted.or(index)?, after)
        };
        let is_plain =
            !name.is_empty() && !name.contains(['*', '?', '(', ')', '@', ':', ',', '\\', '\'', '"']);
        if !is_plain {
            return None;
        }
        pointer.push('/');
        pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        rest = after;
    }
    Some(pointer)
}
