//! What commands write, as text that a page can show: without the codes that colour and move, and with what is
//! invisible written out.

use std::fmt::Write as _;

/// A line is rewritten from its beginning after `\r` as a terminal would; beyond this many bytes it is just let be.
const LONGEST_REWRITTEN: usize = 4096;

/// Makes text of bytes as they come, whatever the pieces in which they come.
#[derive(Debug, Default)]
pub struct AnsiStripper {
    inside: Inside,
    /// The beginning of a character whose rest has not come.
    begun: Vec<u8>,
    /// Whether the last was `\r`: a `\n` ends the line, anything else writes over it.
    returned: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate byte: one byte more.
    Charset,
    /// After ESC `[`: until a letter.
    Control,
    /// After ESC `]` and its like: until BEL or ESC `\`.
    String,
    /// After an ESC there.
    StringEscape,
}

impl AnsiStripper {
    /// The text of all of `bytes`, at once.
    pub fn whole(bytes: &[u8]) -> String {
        let mut plain = Self::default();
        let mut text = plain.take(bytes);
        text.push_str(&plain.end());
        text
    }

    /// The text of the next `bytes`.
    pub fn take(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        for chunk in all.utf8_chunks() {
            for character in chunk.valid().chars() {
                self.character(character, &mut text);
            }
            if chunk.invalid().is_empty() {
                continue;
            }
            let is_last = std::ptr::eq(chunk.invalid().as_ptr_range().end, all.as_ptr_range().end);
            // What may still become a character waits; no character has more than four bytes.
            if is_last && std::str::from_utf8(chunk.invalid()).is_err_and(|e| e.error_len().is_none()) {
                self.begun = chunk.invalid().to_vec();
            } else {
                self.character('\u{fffd}', &mut text);
            }
        }
        text
    }

    /// What is left when nothing more comes.
    fn end(&mut self) -> String {
        if std::mem::take(&mut self.begun).is_empty() { String::new() } else { "\u{fffd}".to_owned() }
    }

    fn character(&mut self, character: char, text: &mut String) {
        self.inside = match (&self.inside, character) {
            (Inside::StringEscape, '\\') | (Inside::String, '\u{7}') | (Inside::Charset, _) => Inside::Text,
            (Inside::String, '\u{1b}') => Inside::StringEscape,
            // A code that nobody ends must not swallow the rest of an output.
            (Inside::String | Inside::StringEscape | Inside::Control, '\n') => {
                text.push('\n');
                Inside::Text
            }
            (Inside::String | Inside::StringEscape, _) | (Inside::Escape, ']' | 'P' | 'X' | '^' | '_') => {
                Inside::String
            }
            (_, '\u{1b}') => Inside::Escape,
            (Inside::Escape, '[') => Inside::Control,
            (Inside::Escape, '(' | ')' | '*' | '+' | '#' | '%' | ' ') => Inside::Charset,
            (Inside::Control, '\u{40}'..='\u{7e}') | (Inside::Escape, _) => Inside::Text,
            (Inside::Control, _) => Inside::Control,
            (Inside::Text, character) => {
                self.shown(character, text);
                Inside::Text
            }
        };
    }

    fn shown(&mut self, character: char, text: &mut String) {
        if character == '\r' {
            self.returned = true;
            return;
        }
        if std::mem::take(&mut self.returned) && character != '\n' {
            over(text);
        }
        match character {
            '\n' | '\t' => text.push(character),
            // A terminal goes one back; bold by overprinting is the only use.
            '\u{8}' => {
                if text.ends_with(|last| last != '\n') {
                    text.pop();
                }
            }
            // Writing to a `String` can't fail.
            character if is_invisible(character) => {
                let _ = write!(text, "{}", character.escape_default());
            }
            character => text.push(character),
        }
    }
}

/// Takes the last line back: what comes next is written over it. Of a line begun in an earlier piece the rest stays,
/// and what comes next stands on a line of its own.
fn over(text: &mut String) {
    match text.rfind('\n') {
        Some(end) if text.len() - end <= LONGEST_REWRITTEN => text.truncate(end + 1),
        _ => text.push('\n'),
    }
}

/// One line of a text from elsewhere, with what is invisible or turns the writing round written out.
pub fn line(text: &str) -> String {
    prony_report::clean(text)
}

/// Control characters, and those that join, hide or turn the characters around them.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn codes_go_and_text_stays() {
        for (written, shown) in [
            ("\u{1b}[1;31merror\u{1b}[0m: no", "error: no"),
            ("\u{1b}]8;;http://a\u{7}link\u{1b}]8;;\u{1b}\\!", "link!"),
            ("\u{1b}(Bplain\u{1b}7\u{1b}8", "plain"),
            ("a\nloading 1\rloading 2\rdone\nb", "a\ndone\nb"),
            ("dos\r\nline\r\n", "dos\nline\n"),
            ("x\u{8}y\tz\u{0}", "y\tz\\u{0}"),
            ("\u{202e}evil", "\\u{202e}evil"),
            ("\u{1b}]never ended\nnext", "\nnext"),
            ("grün ✓", "grün ✓"),
        ] {
            assert_eq!(AnsiStripper::whole(written.as_bytes()), shown, "{written:?}");
        }
        assert_eq!(AnsiStripper::whole(b"a\xffb\xe2\x82"), "a\u{fffd}b\u{fffd}");
    }

    proptest! {
        #[test]
        fn pieces_change_nothing(parts in proptest::collection::vec("[a-z\u{1b}\\[;0-9m✓\n\t]{0,6}", 0..12), cut in 1_usize..5) {
            let whole = parts.concat();
            let mut plain = AnsiStripper::default();
            let mut text = String::new();
            for piece in whole.as_bytes().chunks(cut) {
                text.push_str(&plain.take(piece));
            }
            text.push_str(&plain.end());
            prop_assert_eq!(text, AnsiStripper::whole(whole.as_bytes()));
        }

        #[test]
        fn nothing_that_moves_is_left(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let text = AnsiStripper::whole(&bytes);
            prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{:?}", text);
        }
    }
}
