//! Reads CSV (RFC 4180): values in quotes may hold separators, line ends and doubled quotes.

/// A row and the line that it begins in, from 1.
pub(super) type Row = (usize, Vec<String>);

/// What is wrong with a text as CSV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CsvError {
    /// The line, from 1.
    pub(super) line: usize,
    /// What is wrong, as a lower-case fragment.
    pub(super) what: &'static str,
}

/// The rows of a text, one after the other. Empty lines are none.
pub(super) struct Rows<'a> {
    rest: &'a str,
    separator: char,
    line: usize,
}

impl<'a> Rows<'a> {
    /// The rows of `text`, whose values `separator` separates.
    pub(super) fn new(text: &'a str, separator: char) -> Self {
        Self { rest: text.trim_start_matches('\u{feff}'), separator, line: 1 }
    }

    /// One value; whether the row goes on behind it.
    fn value(&mut self) -> Result<(String, bool), CsvError> {
        let line = self.line;
        let value = if let Some(quoted) = self.rest.strip_prefix('"') {
            let (value, rest) = unquoted(quoted).ok_or(CsvError { line, what: "a quote is not closed" })?;
            self.line += quoted[..quoted.len() - rest.len()].matches('\n').count();
            self.rest = rest;
            value
        } else {
            let end = self.rest.find([self.separator, '\n']).unwrap_or(self.rest.len());
            let value = &self.rest[..end];
            self.rest = &self.rest[end..];
            let is_last = !self.rest.starts_with(self.separator);
            value.strip_suffix('\r').filter(|_| is_last).unwrap_or(value).to_owned()
        };
        if let Some(rest) = self.rest.strip_prefix(self.separator) {
            self.rest = rest;
            return Ok((value, true));
        }
        let end = ["\r\n", "\n"].into_iter().find_map(|end| self.rest.strip_prefix(end));
        match end {
            Some(rest) => {
                self.rest = rest;
                self.line += 1;
                Ok((value, false))
            }
            None if self.rest.is_empty() => Ok((value, false)),
            None => Err(CsvError { line: self.line, what: "text follows the quote that ends a value" }),
        }
    }
}

/// A quoted value without its quotes, and what is behind the last one.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut rest) = (String::new(), text);
    loop {
        let quote = rest.find('"')?;
        value.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                value.push('"');
                rest = more;
            }
            None => return Some((value, rest)),
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, CsvError>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(rest) = self.rest.strip_prefix("\r\n").or_else(|| self.rest.strip_prefix('\n')) {
            self.rest = rest;
            self.line += 1;
        }
        if self.rest.is_empty() {
            return None;
        }
        let (line, mut values) = (self.line, Vec::new());
        loop {
            match self.value() {
                Ok((value, goes_on)) => {
                    values.push(value);
                    if !goes_on {
                        return Some(Ok((line, values)));
                    }
                }
                Err(error) => {
                    self.rest = "";
                    return Some(Err(error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(usize, &[&str])]) {
        let rows: Result<Vec<Row>, CsvError> = Rows::new(text, ',').collect();
        let expected: Vec<Row> = expected
            .iter()
            .map(|(line, values)| (*line, values.iter().map(|value| (*value).to_owned()).collect()))
            .collect();
        assert_eq!(rows, Ok(expected), "{text:?}");
    }

    #[test]
    fn rows_as_in_rfc_4180() {
        check("", &[]);
        check("\u{feff}a,b\r\n1,2\r\n", &[(1, &["a", "b"]), (2, &["1", "2"])]);
        check("a,b\n\n1,\n", &[(1, &["a", "b"]), (3, &["1", ""])]);
        check("\"a,\"\"x\"\"\r\nb\",c\nd,e", &[(1, &["a,\"x\"\r\nb", "c"]), (3, &["d", "e"])]);
        check("a b , c", &[(1, &["a b ", " c"])]);
        check("\"\"\n", &[(1, &[""])]);
        check("a\r,b", &[(1, &["a\r", "b"])]);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let check = |text: &str, line: usize, what: &'static str| {
            let found: Result<Vec<Row>, CsvError> = Rows::new(text, ',').collect();
            assert_eq!(found, Err(CsvError { line, what }), "{text:?}");
        };
        check("a\n\"b\nc", 2, "a quote is not closed");
        check("a\n\"b\n\"c", 3, "text follows the quote that ends a value");
    }

    proptest::proptest! {
        /// Any values come back from a text in which all are quoted.
        #[test]
        fn quoted_values_come_back(rows in proptest::collection::vec(
            proptest::collection::vec("[a\",\r\n ü]{0,6}", 1..4), 0..5)) {
            let quote = |value: &String| format!("\"{}\"", value.replace('"', "\"\""));
            let lines: Vec<String> =
                rows.iter().map(|row| row.iter().map(quote).collect::<Vec<_>>().join(",")).collect();
            let read: Result<Vec<Row>, CsvError> = Rows::new(&lines.join("\n"), ',').collect();
            let read: Vec<Vec<String>> = read.expect("it is CSV").into_iter().map(|(_, row)| row).collect();
            proptest::prop_assert_eq!(read, rows);
        }
    }
}
