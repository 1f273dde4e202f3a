//! Templates, compiled: bytes that stand there already, and values that are filled in for each request.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use prony_model::{Escape, Generated, Template, TemplatePiece, TemplateValue, rfc3339};
use rand::Rng as _;
use rand_pcg::Pcg64;

use super::compile::Shared;
use super::fault::StepFault;
use crate::clock;

/// A text with places for values.
#[derive(Debug, Clone, Default)]
pub(super) struct Text(Box<[Segment]>);

/// A part of a text.
#[derive(Debug, Clone)]
enum Segment {
    /// The same each time, shared by all threads.
    Bytes(Arc<[u8]>),
    /// Filled in.
    Value(Source, Escape),
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// A value of the session, by number.
    Value(usize),
    /// A column of the row that the session has of a feed.
    Feed {
        /// The feed.
        feed: usize,
        /// The column.
        column: usize,
    },
    /// Made now.
    Generated(Generated),
}

/// Where a text goes, which decides how values are escaped and what they must not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goes {
    /// Into the request line.
    Path,
    /// Into a header field.
    Header,
    /// Into a form.
    Form,
    /// Into JSON.
    Json,
    /// Anywhere where any bytes can be.
    Plain,
}

/// What a session has to fill in.
pub(super) struct Values<'a> {
    /// Variables and extracted values, by number.
    pub own: &'a [Vec<u8>],
    /// Which of them are set, a bit each.
    pub set: u64,
    /// The row of each feed.
    pub rows: &'a [usize],
    /// The number of the session.
    pub session: u64,
    /// Its random stream.
    pub random: &'a mut Pcg64,
    /// What all threads share.
    pub shared: &'a Shared,
}

/// Finds where a name's value comes from.
pub(super) type Resolve<'a> = &'a dyn Fn(&str) -> Option<Source>;

impl Text {
    /// Compiles the template `text`, which was checked before.
    pub(super) fn new(text: &str, goes: Goes, resolve: Resolve<'_>) -> Option<Self> {
        let mut compiled = Self::default();
        compiled.push(text, goes, resolve)?;
        Some(compiled)
    }

    /// Adds the template `text`.
    pub(super) fn push(&mut self, text: &str, goes: Goes, resolve: Resolve<'_>) -> Option<()> {
        for piece in Template::parse(text).ok()?.0 {
            match piece {
                TemplatePiece::Text(text) if goes == Goes::Form => {
                    self.push_bytes(percent_encoded(&text).as_bytes());
                }
                TemplatePiece::Text(text) => self.push_bytes(text.as_bytes()),
                TemplatePiece::Value { value, escape } => {
                    let source = match value {
                        TemplateValue::Named(name) => resolve(&name)?,
                        TemplateValue::Generated(generated) => Source::Generated(generated),
                    };
                    let escape = escape.unwrap_or(match goes {
                        Goes::Path | Goes::Form => Escape::Percent,
                        Goes::Json => Escape::Json,
                        Goes::Header | Goes::Plain => Escape::Raw,
                    });
                    self.push_segment(Segment::Value(source, escape));
                }
            }
        }
        Some(())
    }

    /// Adds bytes that are the same each time.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if let Some(Segment::Bytes(before)) = self.0.last_mut() {
            *before = [&**before, bytes].concat().into();
        } else {
            self.push_segment(Segment::Bytes(bytes.into()));
        }
    }

    /// Adds another text.
    pub(super) fn append(&mut self, other: &Self) {
        for segment in &other.0 {
            match segment {
                Segment::Bytes(bytes) => self.push_bytes(bytes),
                segment @ Segment::Value(..) => self.push_segment(segment.clone()),
            }
        }
    }

    fn push_segment(&mut self, segment: Segment) {
        let mut segments = std::mem::take(&mut self.0).into_vec();
        segments.push(segment);
        self.0 = segments.into();
    }

    /// Its bytes, if nothing is filled in.
    pub(super) fn as_static(&self) -> Option<&[u8]> {
        match &*self.0 {
            [] => Some(&[]),
            [Segment::Bytes(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Adds the text with its values to `out`.
    pub(super) fn render(
        &self,
        goes: Goes,
        values: &mut Values<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), StepFault> {
        for segment in &self.0 {
            match segment {
                Segment::Bytes(bytes) => out.extend_from_slice(bytes),
                Segment::Value(source, escape) => {
                    let start = out.len();
                    values.write(*source, *escape, out)?;
                    let added = &out[start..];
                    let is_sound = match goes {
                        Goes::Path => added.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'#'),
                        Goes::Header => !added.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t'),
                        Goes::Form | Goes::Json | Goes::Plain => true,
                    };
                    if !is_sound {
                        return Err(StepFault::ControlCharacter);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Values<'_> {
    fn write(&mut self, source: Source, escape: Escape, out: &mut Vec<u8>) -> Result<(), StepFault> {
        let value: &[u8] = match source {
            Source::Value(number) if self.set & (1 << number) == 0 => return Err(StepFault::NoValue),
            Source::Value(number) => &self.own[number],
            Source::Feed { feed, column } => {
                let data = &self.shared.feeds[feed].data;
                data.value(self.rows[feed], column).ok_or(StepFault::NoValue)?
            }
            Source::Generated(generated) => {
                // Letters, digits and -, :, . : the same however they are escaped, but for Base64.
                let start = out.len();
                self.generate(generated, out);
                if escape == Escape::Base64 {
                    let made = out.split_off(start);
                    base64(&made, out);
                } else if escape == Escape::Percent && out[start..].contains(&b':') {
                    let made = out.split_off(start);
                    percent(&made, out);
                }
                return Ok(());
            }
        };
        match escape {
            Escape::Raw => out.extend_from_slice(value),
            Escape::Percent => percent(value, out),
            Escape::Json => json(value, out),
            Escape::Base64 => base64(value, out),
        }
        Ok(())
    }

    fn generate(&mut self, generated: Generated, out: &mut Vec<u8>) {
        // Writing into memory does not fail.
        let _written = match generated {
            Generated::Uuid => {
                let (high, low) = (self.random.next_u64(), self.random.next_u64());
                // Version 4, and the variant of RFC 9562.
                let high = high & !0xf000 | 0x4000;
                let low = low & !(0b11 << 62) | (0b10 << 62);
                write!(
                    out,
                    "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                    high >> 32,
                    high >> 16 & 0xffff,
                    high & 0xffff,
                    low >> 48,
                    low & 0xffff_ffff_ffff
                )
            }
            Generated::Counter => {
                write!(out, "{}", self.shared.counter.take() + 1)
            }
            Generated::Session => write!(out, "{}", self.session),
            Generated::Time => {
                let now = clock::wall();
                let text = rfc3339(now);
                let seconds = text.trim_end_matches('Z');
                let seconds = seconds.split_once('.').map_or(seconds, |(seconds, _)| seconds);
                write!(out, "{seconds}.{:03}Z", now.subsec_millis())
            }
            Generated::UnixSeconds => write!(out, "{}", clock::wall().as_secs()),
            Generated::UnixMilliseconds => write!(out, "{}", clock::wall().as_millis()),
            Generated::Whole { low, high } => {
                let span = high.abs_diff(low);
                write!(out, "{}", low.wrapping_add_unsigned(below_or_at(self.random, span)))
            }
            Generated::Hex(length) => {
                letters(self.random, b"0123456789abcdef", length, out);
                Ok(())
            }
            Generated::Letters(length) => {
                const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
                letters(self.random, LETTERS, length, out);
                Ok(())
            }
        };
    }
}

fn letters(random: &mut Pcg64, alphabet: &[u8], length: u32, out: &mut Vec<u8>) {
    for _ in 0..length {
        let at = below_or_at(random, alphabet.len() as u64 - 1);
        out.push(alphabet[usize::try_from(at).unwrap_or_default()]);
    }
}

/// A number from 0 to `most`, each as likely as another but for one part in 2^64 / `most` (Lemire's multiplication).
pub(super) fn below_or_at(random: &mut Pcg64, most: u64) -> u64 {
    let wide = u128::from(random.next_u64()) * (u128::from(most) + 1);
    u64::try_from(wide >> 64).unwrap_or(most)
}

/// A number from 0 up to 1.
pub(super) fn unit(random: &mut Pcg64) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    (random.next_u64() >> 11) as f64 * STEP
}

/// An exponentially distributed time, ten times the mean at most.
pub(super) fn exponential(random: &mut Pcg64, mean: Duration) -> Duration {
    let factor = -(1.0 - unit(random)).ln();
    mean.mul_f64(factor.min(10.0))
}

/// Percent-encoded but for the unreserved characters of RFC 3986.
fn percent(value: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in value {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte);
        } else {
            out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

/// The same as a text.
pub(super) fn percent_encoded(text: &str) -> String {
    let mut out = Vec::new();
    percent(text.as_bytes(), &mut out);
    String::from_utf8(out).expect("invariant: ASCII only")
}

/// As within a string of JSON (RFC 8259 section 7).
fn json(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            0..0x20 => {
                let _written = write!(out, "\\u{byte:04x}");
            }
            _ => out.push(byte),
        }
    }
}

/// Base64 with padding (RFC 4648).
fn base64(value: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in value.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            let is_padding = digit > chunk.len();
            out.push(if is_padding { b'=' } else { DIGITS[value as usize] });
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg64;

    use super::*;

    fn rendered(template: &str, goes: Goes, value: &str) -> Result<String, StepFault> {
        let resolve = |name: &str| (name == "v").then_some(Source::Value(0));
        let text = Text::new(template, goes, &resolve).expect("a template");
        let shared = Shared::default();
        let mut random = Pcg64::new(1, 2);
        let values = [value.as_bytes().to_vec()];
        let mut values =
            Values { own: &values, set: 1, rows: &[], session: 7, random: &mut random, shared: &shared };
        let mut out = Vec::new();
        text.render(goes, &mut values, &mut out).map(|()| String::from_utf8(out).expect("UTF-8"))
    }

    #[test]
    fn values_are_escaped_by_the_place_where_they_go() {
        let check = |template: &str, goes: Goes, value: &str, expected: Result<&str, StepFault>| {
            assert_eq!(rendered(template, goes, value), expected.map(str::to_owned), "{template} {value:?}");
        };
        check("/a/{v}?x", Goes::Path, "b c/ü&", Ok("/a/b%20c%2F%C3%BC%26?x"));
        check("{raw(v)}", Goes::Path, "/b?c=d", Ok("/b?c=d"));
        check("{raw(v)}", Goes::Path, "/b HTTP/1.1\r\nX: y", Err(StepFault::ControlCharacter));
        check("{raw(v)}", Goes::Path, "/b c", Err(StepFault::ControlCharacter));
        check("Bearer {v}", Goes::Header, "x\ty ü", Ok("Bearer x\ty ü"));
        check("{v}", Goes::Header, "x\r\nEvil: 1", Err(StepFault::ControlCharacter));
        check("{v}", Goes::Header, "x\ny", Err(StepFault::ControlCharacter));
        check("{base64(v)}", Goes::Header, "a:\r\n", Ok("YToNCg=="));
        check("{\"a\": \"{v}\"}", Goes::Json, "\"\\\n\u{1}ü", Ok("{\"a\": \"\\\"\\\\\\n\\u0001ü\"}"));
        check("a b={v}", Goes::Form, "1&2", Ok("a%20b%3D1%262"));
        check("{v}", Goes::Plain, "\r\n", Ok("\r\n"));
        check("{json(v)}", Goes::Plain, "\"", Ok("\\\""));
        check("{session}", Goes::Path, "", Ok("7"));
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (value, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(rendered("{base64(v)}", Goes::Plain, value).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn made_values_have_their_form() {
        let uuid = rendered("{uuid}", Goes::Path, "").expect("it is made");
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!((&uuid[14..15], "89ab".contains(&uuid[19..20])), ("4", true), "{uuid}");
        let random = rendered("{random(-2,3)}", Goes::Path, "").expect("it is made");
        assert!((-2..=3).contains(&random.parse::<i32>().expect("a number")));
        assert_eq!(rendered("{random-hex(9)}", Goes::Path, "").map(|text| text.len()), Ok(9));
        let time = rendered("{time}", Goes::Header, "").expect("it is made");
        assert!(time.len() == 24 && time.ends_with('Z') && &time[19..20] == ".", "{time}");
        assert!(rendered("{time}", Goes::Path, "").is_ok_and(|time| time.contains("%3A")));
    }
}
