//! Foreign text made harmless: a server chooses what stands in an error's example, and must not be able to
//! move the cursor, ring the bell or turn the writing round.

use std::fmt::Write as _;

/// `text` on one line, with everything invisible written out (`\n`, `\u{1b}`).
pub fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for character in text.chars() {
        if is_harmful(character) {
            // Writing to a `String` can't fail.
            let _ = write!(cleaned, "{}", character.escape_default());
        } else {
            cleaned.push(character);
        }
    }
    cleaned
}

/// Control characters, and those that join, hide or turn the characters around them.
fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// `text` in ASCII, for terminals that show nothing else.
pub(crate) fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            ' '..='~' => plain.push(character),
            '·' | '–' | '−' | '—' => plain.push('-'),
            '±' => plain.push_str("+/-"),
            'µ' => plain.push('u'),
            '×' => plain.push('x'),
            '…' => plain.push_str("..."),
            '→' => plain.push_str("->"),
            '≈' => plain.push('~'),
            '≥' => plain.push_str(">="),
            '≤' => plain.push_str("<="),
            '‘' | '’' => plain.push('\''),
            '“' | '”' => plain.push('"'),
            _ => plain.push('?'),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(clean(text), expected);
    }

    #[test]
    fn what_could_move_the_cursor_is_written_out() {
        check("plain, grüße · ±", "plain, grüße · ±");
        check("a\r\nb\t\u{1b}[31m", "a\\r\\nb\\t\\u{1b}[31m");
        check("\u{202e}evil", "\\u{202e}evil");
        check("\u{9b}2J", "\\u{9b}2J");
    }

    #[test]
    fn ascii_only() {
        assert_eq!(ascii("12 µs ± 3 · a → ü"), "12 us +/- 3 - a -> ?");
    }
}
