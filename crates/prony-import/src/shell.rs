//! A command line as bash reads it, but for everything that bash would run or replace: that is refused.

use prony_model::Problem;

/// A word of a command line, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its bytes: `$'\xff'` need not be text.
    pub bytes: Vec<u8>,
    /// The line on which it begins, from 1.
    pub line: usize,
}

/// Bytes of a command line at most: a body of 64 MiB may stand in it.
pub const COMMAND_BYTES_MAX: usize = 80 << 20;

/// Splits `text` into words. Quotes are `'…'`, `"…"`, `$'…'` and the backslash; a backslash at the end of a line goes on
/// with the next one.
///
/// # Errors
/// Where a quote is not closed, and where bash would do more than to split: variables, commands, pipes, redirections.
pub fn words(text: &str) -> Result<Vec<Word>, Problem> {
    if text.len() > COMMAND_BYTES_MAX {
        let what = format!("the command has {} bytes", text.len());
        return Err(Problem::new(
            what,
            format!("{COMMAND_BYTES_MAX} are the most: put the body into a file"),
        ));
    }
    let mut splitter = Splitter { rest: text, line: 1, words: Vec::new(), word: None };
    while let Some(character) = splitter.next() {
        splitter.plain(character)?;
    }
    splitter.end_word();
    Ok(splitter.words)
}

struct Splitter<'a> {
    rest: &'a str,
    line: usize,
    words: Vec<Word>,
    /// The word that is being read.
    word: Option<Word>,
}

impl Splitter<'_> {
    fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = &self.rest[character.len_utf8()..];
        self.line += usize::from(character == '\n');
        Some(character)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn current(&mut self) -> &mut Vec<u8> {
        let line = self.line;
        &mut self.word.get_or_insert_with(|| Word { bytes: Vec::new(), line }).bytes
    }

    fn push(&mut self, character: char) {
        let mut buffer = [0; 4];
        let bytes = character.encode_utf8(&mut buffer).as_bytes();
        self.current().extend_from_slice(bytes);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    /// A character outside of quotes.
    fn plain(&mut self, character: char) -> Result<(), Problem> {
        match character {
            '\\' => match self.next() {
                // The line goes on.
                Some('\n') | None => {}
                Some('\r') if self.peek() == Some('\n') => {
                    self.next();
                }
                Some(escaped) => self.push(escaped),
            },
            '\'' => self.single()?,
            '"' => self.double()?,
            '$' if self.peek() == Some('\'') => {
                self.next();
                self.escaped()?;
            }
            '$' if self.peek() == Some('"') => {}
            '^' if matches!(self.peek(), Some('"' | '\n' | '\r' | '^')) => {
                return Err(Problem::new(
                    format!("line {}: this command is quoted for cmd.exe (^)", self.line),
                    "copy it for bash: \"Copy as cURL (bash)\" or \"(POSIX)\"",
                ));
            }
            '$' | '`' if self.replaces(character) => return Err(self.not_replaced(character)),
            '|' | '&' | ';' | '<' | '>' | '(' | ')' => {
                return Err(Problem::new(
                    format!(
                        "line {}: `{character}` outside of quotes ends the command for a shell",
                        self.line
                    ),
                    "leave out what stands behind the request, and quote the URL: 'http://…?a=1&b=2'",
                ));
            }
            '#' if self.word.is_none() => {
                while self.peek().is_some_and(|next| next != '\n') {
                    self.next();
                }
            }
            white if white.is_ascii_whitespace() => self.end_word(),
            character => self.push(character),
        }
        Ok(())
    }

    /// Whether a shell would put something else here.
    fn replaces(&self, character: char) -> bool {
        let next = self.peek();
        character == '`' || next.is_some_and(|next| next.is_ascii_alphabetic() || "_{(".contains(next))
    }

    fn not_replaced(&self, character: char) -> Problem {
        Problem::new(
            format!("line {}: a shell would replace what begins with `{character}`", self.line),
            "write the value itself, or put the text into single quotes",
        )
    }

    fn unclosed(line: usize, quote: &str) -> Problem {
        Problem::new(
            format!("line {line}: the quote {quote} is not closed"),
            "copy the whole command, to its last line",
        )
    }

    /// `'…'`: everything is meant as it stands.
    fn single(&mut self) -> Result<(), Problem> {
        let line = self.line;
        self.current();
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(character) => self.push(character),
                None => return Err(Self::unclosed(line, "'")),
            }
        }
    }

    /// `"…"`: a backslash escapes `"`, `\`, `$`, a backtick and the end of the line.
    fn double(&mut self) -> Result<(), Problem> {
        let line = self.line;
        self.current();
        loop {
            match self.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.peek() {
                    Some('\n') => {
                        self.next();
                    }
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => {
                        self.next();
                        self.push(escaped);
                    }
                    _ => self.push('\\'),
                },
                Some(character @ ('$' | '`')) if self.replaces(character) => {
                    return Err(self.not_replaced(character));
                }
                Some(character) => self.push(character),
                None => return Err(Self::unclosed(line, "\"")),
            }
        }
    }

    /// `$'…'`: escapes as in C. Browsers write bodies so that have other than printable characters.
    fn escaped(&mut self) -> Result<(), Problem> {
        let line = self.line;
        self.current();
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some('\\') => self.escape()?,
                Some(character) => self.push(character),
                None => return Err(Self::unclosed(line, "$'")),
            }
        }
    }

    /// What stands behind a backslash in `$'…'`.
    fn escape(&mut self) -> Result<(), Problem> {
        let Some(character) = self.next() else { return Ok(()) };
        match character {
            'n' => self.push('\n'),
            't' => self.push('\t'),
            'r' => self.push('\r'),
            'a' => self.push('\u{7}'),
            'b' => self.push('\u{8}'),
            'e' | 'E' => self.push('\u{1b}'),
            'f' => self.push('\u{c}'),
            'v' => self.push('\u{b}'),
            'x' => {
                let value = self.digits(16, 2)?;
                self.byte(value);
            }
            'u' | 'U' => {
                let value = self.digits(16, if character == 'u' { 4 } else { 8 })?;
                let scalar = self.scalar(value)?;
                self.push(scalar);
            }
            '0'..='7' => {
                let first = character.to_digit(8).unwrap_or_default();
                let mut value = first;
                for _ in 0..2 {
                    let Some(digit) = self.peek().and_then(|next| next.to_digit(8)) else { break };
                    self.next();
                    value = value * 8 + digit;
                }
                self.byte(value);
            }
            other => self.push(other),
        }
        Ok(())
    }

    /// One to `most` digits.
    fn digits(&mut self, radix: u32, most: usize) -> Result<u32, Problem> {
        let (mut value, mut count) = (0_u32, 0);
        while count < most
            && let Some(digit) = self.peek().and_then(|next| next.to_digit(radix))
        {
            self.next();
            value = value.wrapping_mul(radix).wrapping_add(digit);
            count += 1;
        }
        if count == 0 {
            return Err(Problem::new(
                format!("line {}: an escape in $'…' lacks its digits", self.line),
                "copy the whole command again",
            ));
        }
        Ok(value)
    }

    /// The character with this number. UTF-16 pairs, as JavaScript writes them, are joined.
    fn scalar(&mut self, value: u32) -> Result<char, Problem> {
        if let 0xd800..=0xdbff = value
            && let Some(rest) = self.rest.strip_prefix("\\u")
        {
            self.rest = rest;
            let low = self.digits(16, 4)?;
            let joined = 0x1_0000 + ((value - 0xd800) << 10) + low.wrapping_sub(0xdc00);
            if (0xdc00..=0xdfff).contains(&low)
                && let Some(character) = char::from_u32(joined)
            {
                return Ok(character);
            }
        }
        char::from_u32(value).ok_or_else(|| {
            Problem::new(
                format!("line {}: \\u{value:04x} is no character", self.line),
                "put the body into a file: --data-binary @FILE",
            )
        })
    }

    /// As bash: the lower eight bits.
    fn byte(&mut self, value: u32) {
        let byte = u8::try_from(value & 0xff).expect("invariant: eight bits");
        self.current().push(byte);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(command: &str) -> Vec<String> {
        let words = words(command).expect(command);
        words.into_iter().map(|word| String::from_utf8(word.bytes).expect("text")).collect()
    }

    #[test]
    fn words_are_split_as_bash_does() {
        let check = |command: &str, expected: &[&str]| assert_eq!(texts(command), expected, "{command}");
        check("", &[]);
        check("curl  http://h/\t-v\n", &["curl", "http://h/", "-v"]);
        check("curl 'a b' \"c d\" e\\ f", &["curl", "a b", "c d", "e f"]);
        check("a'b'\"c\"d ''", &["abcd", ""]);
        check("curl \\\n  -H 'x: y' \\\r\n -d z", &["curl", "-H", "x: y", "-d", "z"]);
        check(r#""a\"b\\c\d\$e""#, &[r#"a"b\c\d$e"#]);
        check("'don'\\''t'", &["don't"]);
        check("'$HOME `x` ^\"' \"5$ 5$\"", &["$HOME `x` ^\"", "5$ 5$"]);
        check("a # a comment\nb a#b", &["a", "b", "a#b"]);
        check("$\"x\"", &["x"]);
    }

    #[test]
    fn escapes_are_those_of_c() {
        let check = |command: &str, expected: &[u8]| {
            assert_eq!(words(command).expect(command)[0].bytes, expected, "{command}");
        };
        check(r"$'a\nb\'c\\d\te'", b"a\nb'c\\d\te");
        check(r"$'\x41\xff\x4z'", b"A\xff\x04z");
        check(r"$'\101\0'", b"A\0");
        check(r"$'\u00e4\u0021'", "ä!".as_bytes());
        check(r"$'\ud83d\ude00'", "😀".as_bytes());
        check(r"$'\U0001F600'", "😀".as_bytes());
    }

    #[test]
    fn what_a_shell_would_do_is_refused() {
        let check = |command: &str, expected: &str| {
            let problem = words(command).expect_err(command).to_string();
            assert!(problem.contains(expected), "{command}: {problem}");
        };
        check("curl http://h/ | jq", "line 1: `|`");
        check("curl http://h/?a=1&b=2", "line 1: `&`");
        check("curl h \\\n -o x > y", "line 2: `>`");
        check("curl $URL", "would replace");
        check("curl \"${URL}\"", "would replace");
        check("curl `cat x`", "would replace");
        check("curl $(cat x)", "would replace");
        check("curl 'a", "line 1: the quote ' is not closed");
        check("curl h\n\"a", "line 2: the quote \" is not closed");
        check("curl $'a\\'", "the quote $' is not closed");
        check("curl ^\"http://h/^\"", "cmd.exe");
        check(r"$'\xg'", "lacks its digits");
        check(r"$'\ud83d'", "is no character");
    }

    #[test]
    fn lines_are_counted() {
        let lines: Vec<usize> =
            words("a \\\n b 'c\nd' e").expect("words").iter().map(|word| word.line).collect();
        assert_eq!(lines, [1, 2, 2, 3]);
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(originals in prop::collection::vec("[^\0]{0,20}", 0..6)) {
            let command: Vec<String> =
                originals.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
            prop_assert_eq!(texts(&command.join(" ")), originals);
        }

        #[test]
        fn nothing_panics(command in ".{0,80}") {
            let _either = words(&command);
        }
    }
}
