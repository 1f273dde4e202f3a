//! Templates: texts in which `{name}` stands for a value, and `{function(…)}` for one that is made.
//!
//! As in study files, a name in double braces, `{{name}}`, is meant literally, and braces around anything that is neither
//! a name nor a call are only braces, as in JSON.

use crate::{Problem, nearest};

/// A text with places for values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(pub Vec<Piece>);

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// As it is.
    Text(String),
    /// Filled in.
    Value {
        /// With what.
        value: Value,
        /// How it is escaped; by the place where it stands if absent.
        escape: Option<Escape>,
    },
}

/// What is filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A variable, an extracted value, or a column of a feed (`users.name`).
    Named(String),
    /// A value that is new wherever it stands.
    Generated(Generated),
}

/// A value that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generated {
    /// `{uuid}`: a random UUID (RFC 9562, version 4).
    Uuid,
    /// `{counter}`: 1, 2, 3, … over all threads of the run.
    Counter,
    /// `{session}`: the number of the session, from 1, over all threads of the run.
    Session,
    /// `{time}`: the moment in UTC, as in `2026-11-23T05:50:00.123Z` (RFC 3339).
    Time,
    /// `{time(unix)}`: seconds since 1970.
    UnixSeconds,
    /// `{time(unix-ms)}`: milliseconds since 1970.
    UnixMilliseconds,
    /// `{random(1,6)}`: a whole number, both ends included.
    Whole {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
    },
    /// `{random-hex(16)}`: so many hexadecimal digits.
    Hex(u32),
    /// `{random-text(16)}`: so many letters and digits.
    Letters(u32),
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// `{raw(name)}`: as it is.
    Raw,
    /// `{percent(name)}`: percent-encoded but for the unreserved characters of RFC 3986.
    Percent,
    /// `{json(name)}`: as within a string of JSON.
    Json,
    /// `{base64(name)}`: in Base64 with padding (RFC 4648).
    Base64,
}

impl Generated {
    /// Characters of a random text at most.
    pub const LENGTH_MAX: u32 = 65_536;
    /// Names that mean a generated value.
    pub const NAMES: [&str; 4] = ["uuid", "counter", "session", "time"];
}

/// Every word before a parenthesis.
const FUNCTIONS: [&str; 8] =
    ["random", "random-hex", "random-text", "time", "raw", "percent", "json", "base64"];

impl Template {
    /// The template that `text` is.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let mut pieces = Vec::new();
        let (mut plain, mut at) = (String::new(), 0);
        while let Some(open) = text[at..].find('{').map(|open| at + open) {
            plain.push_str(&text[at..open]);
            if let Some(call) = call_at(&text[open + 1..]) {
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(call.piece()?);
                at = open + 1 + call.length;
            } else if let Some(call) = text[open + 1..].strip_prefix('{').and_then(call_at)
                && text[open + 2 + call.length..].starts_with('}')
            {
                plain.push_str(&text[open + 1..open + 2 + call.length]);
                at = open + 3 + call.length;
            } else {
                plain.push('{');
                at = open + 1;
            }
        }
        plain.push_str(&text[at..]);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }

    /// Its text, if nothing is filled in.
    pub fn as_static(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The names that it uses.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value { value: Value::Named(name), .. } => Some(name.as_str()),
            Piece::Value { .. } | Piece::Text(_) => None,
        })
    }
}

/// What stands between two braces.
struct Call<'a> {
    name: &'a str,
    arguments: Option<&'a str>,
    /// Bytes behind the opening brace, the closing one included.
    length: usize,
}

/// The name or call that `text` begins with, if a closing brace is next.
fn call_at(text: &str) -> Option<Call<'_>> {
    let is_in_name = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    let end = text.find(|character| !is_in_name(character))?;
    let name = text[..end].starts_with(|first: char| first.is_ascii_alphabetic()).then(|| &text[..end])?;
    let rest = &text[end..];
    if rest.starts_with('}') {
        return Some(Call { name, arguments: None, length: end + 1 });
    }
    let inner = rest.strip_prefix('(')?;
    let close = inner.find(|character: char| "(){}\"'\n".contains(character))?;
    inner[close..].starts_with(")}").then(|| Call {
        name,
        arguments: Some(&inner[..close]),
        length: end + close + 3,
    })
}

impl Call<'_> {
    fn piece(&self) -> Result<Piece, Problem> {
        let Some(arguments) = self.arguments else {
            return Ok(Piece::Value { value: named(self.name), escape: None });
        };
        let generated = |value| Ok(Piece::Value { value: Value::Generated(value), escape: None });
        let escape = match self.name {
            "random" => return generated(whole(arguments)?),
            "random-hex" => return generated(Generated::Hex(length(self.name, arguments)?)),
            "random-text" => return generated(Generated::Letters(length(self.name, arguments)?)),
            "time" => return generated(moment(arguments)?),
            "raw" => Escape::Raw,
            "percent" => Escape::Percent,
            "json" => Escape::Json,
            "base64" => Escape::Base64,
            name => return Err(unknown_function(name, arguments)),
        };
        let inner = arguments.trim();
        if call_at(&format!("{inner}}}")).is_none_or(|call| call.name != inner) {
            let what = format!("{{{}({arguments})}} needs the name of one value", self.name);
            return Err(Problem::new(what, format!("write {{{}(token)}}", self.name)));
        }
        Ok(Piece::Value { value: named(inner), escape: Some(escape) })
    }
}

fn named(name: &str) -> Value {
    match name {
        "uuid" => Value::Generated(Generated::Uuid),
        "counter" => Value::Generated(Generated::Counter),
        "session" => Value::Generated(Generated::Session),
        "time" => Value::Generated(Generated::Time),
        name => Value::Named(name.to_owned()),
    }
}

fn unknown_function(name: &str, arguments: &str) -> Problem {
    let what = format!("no function is called `{name}`");
    let advice = match nearest(name, FUNCTIONS) {
        Some(meant) => format!("did you mean {{{meant}({arguments})}}?"),
        None => format!("write {{{{{name}({arguments})}}}} for the braces themselves"),
    };
    Problem::new(what, advice)
}

fn whole(arguments: &str) -> Result<Generated, Problem> {
    let bounds = arguments
        .split_once(',')
        .and_then(|(low, high)| Some((low.trim().parse::<i64>().ok()?, high.trim().parse::<i64>().ok()?)));
    match bounds {
        Some((low, high)) if low <= high => Ok(Generated::Whole { low, high }),
        _ => Err(Problem::new(
            format!("{{random({arguments})}} needs the least and the greatest number"),
            "write {random(1,100)}",
        )),
    }
}

fn length(name: &str, arguments: &str) -> Result<u32, Problem> {
    let length = arguments.trim().parse().ok().filter(|length| (1..=Generated::LENGTH_MAX).contains(length));
    length.ok_or_else(|| {
        let what = format!("{{{name}({arguments})}} needs a length from 1 to {}", Generated::LENGTH_MAX);
        Problem::new(what, format!("write {{{name}(16)}}"))
    })
}

fn moment(arguments: &str) -> Result<Generated, Problem> {
    match arguments.trim() {
        "unix" => Ok(Generated::UnixSeconds),
        "unix-ms" => Ok(Generated::UnixMilliseconds),
        _ => Err(Problem::new(
            format!("{{time({arguments})}} is not a way to write a time"),
            "write {time}, {time(unix)} or {time(unix-ms)}",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    fn value(name: &str, escape: Option<Escape>) -> Piece {
        Piece::Value { value: Value::Named(name.to_owned()), escape }
    }

    fn generated(value: Generated) -> Piece {
        Piece::Value { value: Value::Generated(value), escape: None }
    }

    fn check(template: &str, expected: &[Piece]) {
        assert_eq!(Template::parse(template).map(|template| template.0), Ok(expected.to_vec()), "{template}");
    }

    #[test]
    fn names_calls_and_braces() {
        check("", &[]);
        check("/a?b={users.name}&c", &[text("/a?b="), value("users.name", None), text("&c")]);
        check("{a}{b}", &[value("a", None), value("b", None)]);
        check("{{a}} {a", &[text("{a} {a")]);
        check("{{random(1,2)}}", &[text("{random(1,2)}")]);
        check("{\"a\": {\"b\": {}}}", &[text("{\"a\": {\"b\": {}}}")]);
        check("{\"a\": {n}}", &[text("{\"a\": "), value("n", None), text("}")]);
        check("function() {x();}", &[text("function() {x();}")]);
        check("{{{a}}}", &[text("{{a}}")]);
        check("{ a } {} {ä}", &[text("{ a } {} {ä}")]);
        check("{uuid}", &[generated(Generated::Uuid)]);
        check("{random(-1, 6)}", &[generated(Generated::Whole { low: -1, high: 6 })]);
        check("{random-hex(8)}x", &[generated(Generated::Hex(8)), text("x")]);
        check("{time(unix)}", &[generated(Generated::UnixSeconds)]);
        check("{raw(next)}", &[value("next", Some(Escape::Raw))]);
        check("{base64( basic )}", &[value("basic", Some(Escape::Base64))]);
    }

    #[test]
    fn what_is_wrong_comes_with_what_to_write() {
        let check = |template: &str, expected: &str| {
            let problem = Template::parse(template).expect_err(template);
            assert_eq!(problem.sentence(), expected);
        };
        check("{radnom(1,2)}", "no function is called `radnom`; did you mean {random(1,2)}?");
        check("{f(x)}", "no function is called `f`; write {{f(x)}} for the braces themselves");
        check(
            "{random(6,1)}",
            "{random(6,1)} needs the least and the greatest number; write {random(1,100)}",
        );
        check("{random-hex(0)}", "{random-hex(0)} needs a length from 1 to 65536; write {random-hex(16)}");
        check("{raw(a,b)}", "{raw(a,b)} needs the name of one value; write {raw(token)}");
        check(
            "{time(now)}",
            "{time(now)} is not a way to write a time; write {time}, {time(unix)} or {time(unix-ms)}",
        );
    }

    proptest::proptest! {
        /// Text without braces is itself; any text is read or refused.
        #[test]
        fn no_text_is_too_odd(plain in "[^{]{0,40}", any in "[{}()a-c.,\"ü -]{0,40}") {
            let template = Template::parse(&plain).expect("there is no brace");
            proptest::prop_assert_eq!(template.as_static(), Some(plain.as_str()));
            let _read_or_refused = Template::parse(&any);
        }
    }
}
