//! Every error type of the workspace: each message names what went wrong and what to try.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::repository::{files, is_in, root};

/// Types whose messages describe what a server sent or what a file contains. Anyone who prints one adds what to try.
const DESCRIPTIONS: [&str; 18] = [
    "Blocked",
    "BodyNotKept",
    "CertificateFault",
    "CodingError",
    "Contradiction",
    "DistributionError",
    "HpackError",
    "Http2Error",
    "NoInterval",
    "NoVerdict",
    "Part",
    "ProtocolError",
    "SetupError",
    "SparseError",
    "StoredError",
    "TimingProblemKind",
    "TlsError",
    "Withheld",
];

/// Messages that become advice elsewhere: the type, the variant, and where.
const ADVISED_ELSEWHERE: [(&str, &str, &str); 7] = [
    ("CheckoutError", "Cancelled", "the user who cancelled it"),
    ("ReplayError", "Unreadable", "ReplayError::problem"),
    ("StartError", "Listen", "crates/prony/src/cmd/serve.rs"),
    ("WebError", "Missing", "the page's list of what there is"),
    ("WebError", "Store", "StoreError"),
    ("WebError", "Unknown", "it is advice"),
    ("DefinitionError", "Syntax", "the parser's own message"),
];

/// Every `Problem` has advice but these: the file, how many, and where the advice is.
const PROBLEMS_WITHOUT_ADVICE: [(&str, usize, &str); 11] = [
    ("crates/prony/src/args/errors.rs", 1, "messages of parsers of others"),
    ("crates/prony/src/args/express.rs", 1, "within what is wrong"),
    ("crates/prony/src/args/serve.rs", 1, "within what is wrong"),
    ("crates/prony-engine/src/error.rs", 7, "crates/prony/src/cli_error.rs, or within what is wrong"),
    ("crates/prony-engine/src/machine/server/found.rs", 2, "there is none"),
    ("crates/prony-engine/src/machine/server/locate.rs", 2, "there is none, or within what is wrong"),
    ("crates/prony-exec/src/error.rs", 2, "crates/prony/src/cli_error.rs"),
    ("crates/prony-lab-core/src/actions/error.rs", 4, "within what is wrong"),
    ("crates/prony-lab-core/src/lab_error.rs", 1, "within what is wrong"),
    ("crates/prony-lab-core/src/secrets.rs", 1, "within what is wrong"),
    ("crates/prony-study/src/file/carried.rs", 1, "serde's own message"),
];

struct Message {
    file: PathBuf,
    type_name: String,
    variant: String,
    text: String,
}

impl Message {
    /// Whether it only passes another error's message on.
    fn is_passed_on(&self) -> bool {
        !plain(&self.text).contains(char::is_alphabetic)
    }

    fn has_advice(&self) -> bool {
        let text = plain(&self.text);
        [": ", "; "].iter().any(|mark| text.contains(mark))
    }

    fn is_advised_elsewhere(&self) -> bool {
        DESCRIPTIONS.contains(&self.type_name.as_str())
            || ADVISED_ELSEWHERE
                .iter()
                .any(|(type_name, variant, _)| self.type_name == *type_name && self.variant == *variant)
    }
}

#[test]
fn every_message_has_advice() {
    let messages = messages();
    assert!(messages.len() > 150, "only {} messages found: does this test still read them?", messages.len());
    let mut wrong = String::new();
    for message in &messages {
        let reason = if message.text.trim_end().ends_with('.') {
            "ends with a full stop"
        } else if message.is_passed_on() || message.has_advice() || message.is_advised_elsewhere() {
            continue;
        } else {
            "does not say what to try"
        };
        let Message { file, type_name, variant, text } = message;
        writeln!(wrong, "{}: {type_name}::{variant} {reason}: {text}", file.display()).expect("a string");
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_exceptions_exist() {
    let messages = messages();
    for type_name in DESCRIPTIONS {
        assert!(messages.iter().any(|message| message.type_name == type_name), "{type_name} is gone");
    }
    for (type_name, variant, _) in ADVISED_ELSEWHERE {
        let message =
            messages.iter().find(|message| message.type_name == type_name && message.variant == variant);
        assert!(message.is_some_and(|message| !message.has_advice()), "{type_name}::{variant} needs none");
    }
}

#[test]
fn problems_have_advice() {
    let mut found = Vec::new();
    for file in files("crates", "rs").iter().filter(|file| is_in(file, "src")) {
        let source = fs::read_to_string(file).expect("source is UTF-8");
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let count = code.matches("Problem::without_advice(").count();
        let name = file.strip_prefix(root()).expect("it is of this repository").display().to_string();
        found.extend((count > 0).then_some((name, count)));
    }
    let expected: Vec<(String, usize)> =
        PROBLEMS_WITHOUT_ADVICE.iter().map(|(file, count, _)| ((*file).to_owned(), *count)).collect();
    assert_eq!(found, expected, "does one of these know what to try?");
}

/// The messages of all `#[error("…")]` under crates/*/src.
fn messages() -> Vec<Message> {
    let mut found = Vec::new();
    for file in files("crates", "rs").iter().filter(|file| is_in(file, "src")) {
        read_file(file, &mut found);
    }
    found
}

fn read_file(file: &Path, found: &mut Vec<Message>) {
    const ATTRIBUTE: &str = "#[error(";
    let source = fs::read_to_string(file).expect("source is UTF-8");
    for (at, _) in source.match_indices(ATTRIBUTE) {
        let rest = source[at + ATTRIBUTE.len()..].trim_start();
        // `transparent` passes on.
        let Some((text, behind)) = rest.strip_prefix('"').and_then(literal) else { continue };
        let behind = behind.split_once(")]").expect("an attribute ends").1;
        let names = |text: &str| {
            let mut words = text.split(|character: char| !(character.is_alphanumeric() || character == '_'));
            words
                .by_ref()
                .find(|word| ["enum", "struct"].contains(word))
                .and_then(|_| words.next())
                .map(str::to_owned)
        };
        let item = declaration(behind);
        let is_struct = item.starts_with("pub") || item.starts_with("struct");
        let (type_name, variant) = if is_struct {
            (names(item).expect("a name"), String::new())
        } else {
            let before = source[..at].rmatch_indices("enum ").next().expect("a variant is of an enum").0;
            let variant = item.split(|character: char| !character.is_alphanumeric()).next().expect("a name");
            (names(&source[before..]).expect("a name"), variant.to_owned())
        };
        found.push(Message { file: file.to_owned(), type_name, variant, text });
    }
}

/// `source` from its first line that is neither an attribute nor a comment.
fn declaration(source: &str) -> &str {
    let mut rest = source.trim_start();
    while rest.starts_with("#[") || rest.starts_with("//") {
        rest = rest.split_once('\n').expect("something follows").1.trim_start();
    }
    rest
}

/// A string literal without its first quotation mark: its text, and what follows.
fn literal(source: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut characters = source.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((text, &source[at + 1..])),
            '\\' => match characters.next()?.1 {
                // The literal goes on in the next line.
                '\n' => {
                    let (at, _) = characters.clone().find(|(_, character)| !character.is_whitespace())?;
                    while characters.clone().next().is_some_and(|(next, _)| next < at) {
                        characters.next();
                    }
                }
                escaped => text.push(escaped),
            },
            _ => text.push(character),
        }
    }
    None
}

/// `text` without what stands in backquotes and braces.
fn plain(text: &str) -> String {
    let mut quoted = false;
    let mut depth = 0_usize;
    let is_plain = |character: &char| {
        match character {
            '`' => quoted = !quoted,
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                return false;
            }
            _ => return !quoted && depth == 0,
        }
        false
    };
    text.chars().filter(is_plain).collect()
}
