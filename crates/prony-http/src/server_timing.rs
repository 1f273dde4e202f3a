//! What a server says about its own time: the `Server-Timing` header field (W3C Server Timing, section 3).
//!
//! The field is a list of metrics, each a name with parameters: `db;dur=8.2, cache;desc="a hit"`. A bad part is
//! left out and reported as a [`TimingProblem`]; whatever stands before and after it is read as if it were not there.

use std::fmt;

use crate::excerpt::Excerpt;
use crate::syntax::{is_token, trim};

/// Metrics that are read from one response: more than any page names, and few enough to be printed.
pub const METRICS_MAX: usize = 64;
/// Problems that are reported for one response; the same mistake mostly comes with every metric.
pub const PROBLEMS_MAX: usize = 16;

/// All `Server-Timing` fields of one response.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerTiming {
    /// The metrics in the order in which they came, [`METRICS_MAX`] at most. A name may come more than once.
    pub metrics: Vec<TimingMetric>,
    /// What could not be read, [`PROBLEMS_MAX`] at most.
    pub problems: Vec<TimingProblem>,
}

/// One metric.
#[derive(Debug, Clone, PartialEq)]
pub struct TimingMetric {
    /// Its name, a token.
    pub name: String,
    /// The parameter `dur`, milliseconds; finite and not negative.
    pub duration_ms: Option<f64>,
    /// The parameter `desc`; bytes that are not UTF-8 are replaced.
    pub description: Option<String>,
}

/// A part of a field that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimingProblem {
    /// What is wrong with it.
    pub kind: TimingProblemKind,
    /// The metric in which it stands, as it came.
    pub metric: Vec<u8>,
}

/// What can be wrong with a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimingProblemKind {
    /// No token before the parameters: the metric is left out.
    #[error("the name of a metric must be a token")]
    Name,
    /// A parameter is no `name=value`: it is left out.
    #[error("a parameter must read like dur=12.5 or desc=\"text\"")]
    Parameter,
    /// A quoted string without its second quote: the rest of the field is lost.
    #[error("a quoted string does not end")]
    Quote,
    /// `dur` is no number of milliseconds: the metric is kept without it.
    #[error("dur must be a number of milliseconds, 0 or more")]
    Duration,
    /// `dur` or `desc` comes a second time: the first one counts.
    #[error("a parameter comes twice, and only the first one counts")]
    Twice,
    /// More than [`METRICS_MAX`] metrics: the rest is left out.
    #[error("there are more than {METRICS_MAX} metrics")]
    TooMany,
}

impl fmt::Display for TimingProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (`{}`)", self.kind, Excerpt(&self.metric))
    }
}

impl ServerTiming {
    /// Reads the values of all `Server-Timing` fields of one response. No input is an error.
    pub fn parse<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut timing = Self::default();
        for value in values {
            for element in elements(value) {
                let element = trim(element);
                // RFC 9110 section 5.6.1.2: a recipient ignores empty elements of a list.
                if element.is_empty() {
                    continue;
                }
                if timing.metrics.len() == METRICS_MAX {
                    timing.report(TimingProblemKind::TooMany, element);
                    return timing;
                }
                timing.read(element);
            }
        }
        timing
    }

    /// Whether no field held anything.
    pub fn is_empty(&self) -> bool {
        self.metrics.is_empty() && self.problems.is_empty()
    }

    /// One metric with its parameters.
    fn read(&mut self, element: &[u8]) {
        let mut parts = split(element, b';');
        let name = trim(parts.next().unwrap_or_default());
        if !is_token(name) {
            return self.report(TimingProblemKind::Name, element);
        }
        let mut metric = TimingMetric { name: text(name), duration_ms: None, description: None };
        let mut seen = [false; 2];
        for part in parts {
            let (parameter, value) = parameter(part);
            let known =
                ["dur", "desc"].iter().position(|known| parameter.eq_ignore_ascii_case(known.as_bytes()));
            // The first of its name counts, even where it can't be read (section 3).
            if known.is_some_and(|known| std::mem::replace(&mut seen[known], true)) {
                self.report(TimingProblemKind::Twice, element);
                continue;
            }
            match (known, value) {
                (_, Err(problem)) => self.report(problem, element),
                (Some(0), Ok(value)) => match duration_ms(&value) {
                    Some(ms) => metric.duration_ms = Some(ms),
                    None => self.report(TimingProblemKind::Duration, element),
                },
                (Some(_), Ok(value)) => metric.description = Some(text(&value)),
                // Parameters of other names are for others.
                (None, Ok(_)) => {}
            }
        }
        self.metrics.push(metric);
    }

    fn report(&mut self, kind: TimingProblemKind, metric: &[u8]) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(TimingProblem { kind, metric: metric.to_vec() });
        }
    }
}

/// The elements of a list, where a comma within a quoted string does not separate.
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    split(value, b',')
}

/// The parts of `bytes` between `separator`s that stand outside of quoted strings. Without a second quote, a
/// string goes to the end.
fn split(bytes: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    bytes.split(move |byte| {
        let separates = *byte == separator && !quoted;
        quoted ^= *byte == b'"' && !escaped;
        escaped = quoted && *byte == b'\\' && !escaped;
        separates
    })
}

/// The name of a parameter, and its value without quotes; white space is allowed around each.
fn parameter(part: &[u8]) -> (&[u8], Result<Vec<u8>, TimingProblemKind>) {
    let Some(at) = part.iter().position(|byte| *byte == b'=') else {
        return (trim(part), Err(TimingProblemKind::Parameter));
    };
    let (name, value) = (trim(&part[..at]), trim(&part[at + 1..]));
    let value = match value.strip_prefix(b"\"") {
        _ if !is_token(name) => Err(TimingProblemKind::Parameter),
        Some(rest) => unquoted(rest),
        None if is_token(value) => Ok(value.to_vec()),
        None => Err(TimingProblemKind::Parameter),
    };
    (name, value)
}

/// What stands in a quoted string (RFC 9110 section 5.6.4), of which the first quote is gone.
fn unquoted(rest: &[u8]) -> Result<Vec<u8>, TimingProblemKind> {
    let mut value = Vec::new();
    let mut bytes = rest.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if bytes.as_slice().is_empty() => return Ok(value),
            b'"' => return Err(TimingProblemKind::Parameter),
            b'\\' => value.extend(bytes.next()),
            _ => value.push(*byte),
        }
    }
    Err(TimingProblemKind::Quote)
}

/// A number of milliseconds in decimal, perhaps with an exponent. Rust would also read `inf` and `nan`.
fn duration_ms(value: &[u8]) -> Option<f64> {
    let value = str::from_utf8(value).ok()?;
    let number: f64 = value.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number.abs())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of the field values, as `name dur desc`, and which problems the rest has.
    fn check(values: &[&str], expected: &[&str], problems: &[TimingProblemKind]) {
        let timing = ServerTiming::parse(values.iter().map(|value| value.as_bytes()));
        let found: Vec<String> = timing
            .metrics
            .iter()
            .map(|metric| {
                let duration = metric.duration_ms.map(|ms| format!(" {ms}")).unwrap_or_default();
                let description = metric.description.as_ref().map(|text| format!(" [{text}]"));
                format!("{}{duration}{}", metric.name, description.unwrap_or_default())
            })
            .collect();
        assert_eq!(found, expected, "{values:?}");
        let kinds: Vec<TimingProblemKind> = timing.problems.iter().map(|problem| problem.kind).collect();
        assert_eq!(kinds, problems, "{values:?}");
    }

    #[test]
    fn metrics_and_parameters() {
        check(&[], &[], &[]);
        check(&[""], &[], &[]);
        check(&["miss, db;dur=53, app;dur=47.2"], &["miss", "db 53", "app 47.2"], &[]);
        check(&["customView, dc;desc=atl"], &["customView", "dc [atl]"], &[]);
        check(&["cache;desc=\"Cache Read\";dur=23.2"], &["cache 23.2 [Cache Read]"], &[]);
        check(&["a;dur=1", "b;dur=2, a;dur=3"], &["a 1", "b 2", "a 3"], &[]);
        check(&["a ;\tdur = 1 ; desc\t=\tx"], &["a 1 [x]"], &[]);
        check(&["a;DUR=1;Desc=x"], &["a 1 [x]"], &[]);
        check(&["a;dur=\"1.5\";later=2;x=\"y\""], &["a 1.5"], &[]);
        check(&["a;dur=0, b;dur=1e3, c;dur=.5"], &["a 0", "b 1000", "c 0.5"], &[]);
        check(&[" , ,a,, ,"], &["a"], &[]);
    }

    #[test]
    fn quoted_strings_hold_anything() {
        check(&["a;desc=\"x, y; z=1\";dur=2, b"], &["a 2 [x, y; z=1]", "b"], &[]);
        check(&[r#"a;desc="say \"hi\" \\";dur=2"#], &[r#"a 2 [say "hi" \]"#], &[]);
        check(&["a;desc=\"\""], &["a []"], &[]);
        check(&["a;desc=\"grüße\""], &["a [grüße]"], &[]);
        let timing = ServerTiming::parse([&b"a;desc=\"\xff\""[..]]);
        assert_eq!(timing.metrics[0].description.as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn bad_parts_are_reported_and_left_out() {
        use TimingProblemKind::{Duration, Name, Parameter, Quote, Twice};
        check(&["a b;dur=1, c;dur=2"], &["c 2"], &[Name]);
        check(&[";dur=1, =, \"x\", c"], &["c"], &[Name, Name, Name]);
        check(&["a;dur;desc=x, b"], &["a [x]", "b"], &[Parameter]);
        check(&["a;;dur=1"], &["a 1"], &[Parameter]);
        check(&["a;dur=1 2;desc=x"], &["a [x]"], &[Parameter]);
        check(&["a;desc=\"x\"y;dur=1"], &["a 1"], &[Parameter]);
        check(&["a;d r=1"], &["a"], &[Parameter]);
        check(&["a;dur=fast, b;dur=2"], &["a", "b 2"], &[Duration]);
        for wrong in ["-1", "nan", "inf", "1,5", "1e999", "0x10", "\"\""] {
            let timing = ServerTiming::parse([format!("a;dur={wrong}").as_bytes()]);
            assert_eq!(timing.metrics[0].duration_ms, (wrong == "1,5").then_some(1.0), "{wrong}");
        }
        check(&["a;dur=1;dur=2;desc=x;desc=y"], &["a 1 [x]"], &[Twice, Twice]);
        check(&["a;dur=x;dur=2"], &["a"], &[Duration, Twice]);
        check(&["a;dur;dur=2"], &["a"], &[Parameter, Twice]);
        check(&["a;desc=\"x, b;dur=1", "c"], &["a", "c"], &[Quote]);
        check(&["a;desc=\"x\\", "c"], &["a", "c"], &[Quote]);
    }

    #[test]
    fn problems_say_where_they_are() {
        let timing = ServerTiming::parse([&b"ok, db;dur=\x1b[2J"[..]]);
        assert_eq!(
            timing.problems[0].to_string(),
            r#"a parameter must read like dur=12.5 or desc="text" (`db;dur=\x1b[2J`)"#
        );
    }

    #[test]
    fn endless_fields_have_an_end() {
        let long = "a;dur=1,".repeat(METRICS_MAX + 1);
        let timing = ServerTiming::parse([long.as_bytes()]);
        assert_eq!(timing.metrics.len(), METRICS_MAX);
        assert_eq!(timing.problems[0].kind, TimingProblemKind::TooMany);
        let wrong = "a b,".repeat(1000);
        assert_eq!(ServerTiming::parse([wrong.as_bytes()]).problems.len(), PROBLEMS_MAX);
    }
}
