//! The log: what happens to the lab while it runs, for its administrator. The lab only adds entries; the process that started it
//! writes them to stderr, as text or as JSON.
//!
//! Parts of an entry come from outside, such as the name of a branch. No entry takes more than a line, whatever is in it.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::clock::{self, Moment};

/// Entries that wait to be written; of more, the oldest go, and their number is logged.
const ENTRIES_MAX: usize = 1024;
/// A longer text is cut: a reason can hold the output of a command.
const TEXT_CHARS_MAX: usize = 1000;

/// How serious an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// As it should be.
    Info,
    /// Worth a look.
    Warning,
    /// Something does not work.
    Error,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    at: Moment,
    level: LogLevel,
    event: &'static str,
    message: String,
    fields: Vec<(&'static str, Value)>,
}

/// The entries that wait to be written. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Log {
    queue: Arc<(Mutex<Queue>, Condvar)>,
}

#[derive(Debug, Default)]
struct Queue {
    entries: VecDeque<LogEntry>,
    /// Entries that went without being written.
    dropped: u64,
    is_closed: bool,
}

impl LogEntry {
    /// An entry about `event`, now; `message` is for people.
    pub fn new(level: LogLevel, event: &'static str, message: impl Into<String>) -> Self {
        let message = cut(&message.into());
        Self { at: clock::wall(), level, event, message, fields: Vec::new() }
    }

    /// The same with one more field, unless that is empty.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        match value.into() {
            Value::Null => {}
            Value::String(text) => self.fields.push((name, cut(&text).into())),
            value => self.fields.push((name, value)),
        }
        self
    }

    /// `2026-11-22 13:05:09 UTC: message`
    pub fn text(&self) -> String {
        format!("{} UTC: {}", self.at.utc(), prony_report::clean(&self.message))
    }

    /// An object with `time`, `level`, `event`, `message` and the fields, in ASCII.
    pub fn json(&self) -> String {
        let json = serde_json::to_string(self).expect("invariant: every key is a text");
        let mut line = String::with_capacity(json.len());
        // What is not ASCII stands in texts alone, where each character has such a form.
        for character in json.chars() {
            if character.is_ascii() && !character.is_ascii_control() {
                line.push(character);
                continue;
            }
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` can't fail.
                let _ = write!(line, "\\u{unit:04x}");
            }
        }
        line
    }
}

impl Serialize for LogEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("time", &self.at.rfc3339())?;
        map.serialize_entry("level", &self.level)?;
        map.serialize_entry("event", self.event)?;
        map.serialize_entry("message", &self.message)?;
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Log {
    /// Adds an entry. Nobody waits for its being written.
    pub fn add(&self, entry: LogEntry) {
        let mut queue = self.queue();
        if queue.entries.len() >= ENTRIES_MAX {
            queue.entries.pop_front();
            queue.dropped += 1;
        }
        queue.entries.push_back(entry);
        self.queue.1.notify_one();
    }

    /// Waits for the next entry, and takes it; `None` once the log is closed and everything was taken.
    pub fn next(&self) -> Option<LogEntry> {
        let mut queue = self.queue();
        loop {
            let dropped = std::mem::take(&mut queue.dropped);
            if dropped > 0 {
                let message = format!("{dropped} older entries are missing here: stderr takes too long");
                return Some(
                    LogEntry::new(LogLevel::Warning, "log.dropped", message).with("entries", dropped),
                );
            }
            if let Some(entry) = queue.entries.pop_front() {
                return Some(entry);
            }
            if queue.is_closed {
                return None;
            }
            queue = self.queue.1.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Has [`Log::next`] end after what is there now.
    pub fn close(&self) {
        self.queue().is_closed = true;
        self.queue.1.notify_all();
    }

    /// What waits now, for tests.
    #[cfg(any(test, feature = "testing"))]
    pub fn taken(&self) -> Vec<LogEntry> {
        self.queue().entries.drain(..).collect()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(message: &str) -> LogEntry {
        let mut entry = LogEntry::new(LogLevel::Info, "test", message);
        entry.at = Moment(1_763_816_709_123);
        entry
    }

    #[test]
    fn an_entry_is_a_line_in_either_form() {
        let entry = entry("build 7 is over").with("build", 7).with("verdict", Value::Null).with("is", true);
        assert_eq!(entry.text(), "2025-11-22 13:05:09 UTC: build 7 is over");
        let expected = "{\"time\":\"2025-11-22T13:05:09.123Z\",\"level\":\"info\",\"event\":\"test\",\
                        \"message\":\"build 7 is over\",\"build\":7,\"is\":true}";
        assert_eq!(entry.json(), expected);
    }

    #[test]
    fn no_text_forges_a_line_or_turns_the_terminal() {
        let hostile = "a\nb\r\"},{\u{1b}[2J\u{9b}2J\u{7f}\u{202e}\u{2028}ü😀";
        let entry = entry(hostile).with("reference", hostile);
        for line in [entry.text(), entry.json()] {
            assert!(!line.chars().any(char::is_control), "{line}");
            assert!(!line.contains(['\u{202e}', '\u{2028}']), "{line}");
        }
        let json = entry.json();
        assert!(json.is_ascii(), "{json}");
        let read: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!((&read["message"], &read["reference"]), (&Value::from(hostile), &Value::from(hostile)));
        let long = "ü".repeat(10 * TEXT_CHARS_MAX);
        let read: Value =
            serde_json::from_str(&self::entry(&long).with("reason", long.as_str()).json()).expect("JSON");
        assert_eq!(read["reason"].as_str().map(|text| text.chars().count()), Some(TEXT_CHARS_MAX + 1));
        assert_eq!(read["reason"], read["message"]);
    }

    #[test]
    fn too_many_entries_are_counted() {
        let log = Log::default();
        for _ in 0..ENTRIES_MAX + 3 {
            log.add(entry("a"));
        }
        log.close();
        let first = log.next().expect("it waits");
        assert_eq!((first.event, first.fields[0].1.as_u64()), ("log.dropped", Some(3)));
        assert_eq!(std::iter::from_fn(|| log.next()).count(), ENTRIES_MAX);
        assert_eq!(log.next(), None, "it is closed");
    }

    #[test]
    fn who_waits_gets_what_comes() {
        let log = Log::default();
        let reader = log.clone();
        let thread = std::thread::spawn(move || std::iter::from_fn(|| reader.next()).count());
        log.add(entry("a"));
        log.add(entry("b"));
        log.close();
        assert_eq!(thread.join().expect("it ends"), 2);
    }
}
