//! Finds the events in a body that is a stream of them, whatever way the network cut it. Nothing is kept of them.

/// How a body tells its events apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFormat {
    /// Server-sent events (WHATWG HTML section 9.2): fields line by line, an empty line behind each event.
    ServerSent,
    /// A line for each event, as with JSON lines.
    Lines,
}

/// Media types whose bodies are lines.
const LINES: [&[u8]; 5] = [
    b"application/x-ndjson",
    b"application/ndjson",
    b"application/jsonl",
    b"application/x-jsonlines",
    b"application/json-seq",
];

impl EventFormat {
    /// The format of a body with this `Content-Type`; `None` if it is no stream of events.
    pub fn of(content_type: &[u8]) -> Option<Self> {
        let end = content_type.iter().position(|byte| *byte == b';').unwrap_or(content_type.len());
        let media_type = content_type[..end].trim_ascii();
        if media_type.eq_ignore_ascii_case(b"text/event-stream") {
            return Some(Self::ServerSent);
        }
        LINES.iter().any(|lines| media_type.eq_ignore_ascii_case(lines)).then_some(Self::Lines)
    }
}

/// The byte order mark that a stream may begin with.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
/// The field without which a block of lines is no event.
const DATA: [u8; 4] = *b"data";
/// Its length.
const DATA_BYTES: u8 = 4;

/// Counts the events of one body.
#[derive(Debug, Clone)]
pub struct EventScanner {
    format: EventFormat,
    /// Bytes of the mark at the beginning that were seen; past it, [`MARK`]'s length.
    mark: u8,
    /// The last byte was a carriage return: a line feed right behind it ends no other line.
    after_return: bool,
    /// Bytes of the field's name in this line that are those of [`DATA`].
    name: Name,
    /// Whether this line has a byte that counts.
    filled: bool,
    /// Whether the event has data.
    has_data: bool,
}

/// What is known of the name of a line's field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// So many bytes of it, all as in [`DATA`].
    Begun(u8),
    /// It is [`DATA`].
    Data,
    /// It is another one, or none.
    Other,
}

impl EventScanner {
    /// At the beginning of a body.
    pub fn new(format: EventFormat) -> Self {
        Self { format, mark: 0, after_return: false, name: Name::Begun(0), filled: false, has_data: false }
    }

    /// How many events the next bytes of the body complete.
    pub fn feed(&mut self, bytes: &[u8]) -> u64 {
        bytes.iter().map(|byte| u64::from(self.byte(*byte))).sum()
    }

    /// How many events the end of the body completes: a last line needs no line feed, a server-sent event without its
    /// empty line is none.
    pub fn finish(&self) -> u64 {
        u64::from(self.format == EventFormat::Lines && self.filled)
    }

    /// Whether `byte` completes an event.
    #[inline]
    fn byte(&mut self, byte: u8) -> bool {
        if usize::from(self.mark) < MARK.len() {
            if byte == MARK[usize::from(self.mark)] {
                self.mark += 1;
                return false;
            }
            // A part of the mark is no mark: it belongs to the first line.
            if self.mark > 0 {
                (self.name, self.filled) = (Name::Other, true);
            }
            self.mark = 3;
        }
        match self.format {
            EventFormat::ServerSent => self.server_sent(byte),
            EventFormat::Lines => self.line(byte),
        }
    }

    fn line(&mut self, byte: u8) -> bool {
        if byte == b'\n' {
            return std::mem::take(&mut self.filled);
        }
        // RFC 7464 begins each text with a record separator.
        self.filled |= !byte.is_ascii_whitespace() && byte != 0x1e;
        false
    }

    fn server_sent(&mut self, byte: u8) -> bool {
        let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        match byte {
            b'\n' if after_return => false,
            b'\n' | b'\r' => self.end_line(),
            _ => {
                self.filled = true;
                self.name = match self.name {
                    Name::Begun(DATA_BYTES) if byte == b':' => Name::Data,
                    Name::Begun(count) if DATA.get(usize::from(count)) == Some(&byte) => {
                        Name::Begun(count + 1)
                    }
                    Name::Begun(_) | Name::Other => Name::Other,
                    Name::Data => Name::Data,
                };
                false
            }
        }
    }

    /// A line has ended: an empty one ends the event.
    fn end_line(&mut self) -> bool {
        let filled = std::mem::take(&mut self.filled);
        let name = std::mem::replace(&mut self.name, Name::Begun(0));
        if !filled {
            return std::mem::take(&mut self.has_data);
        }
        // A line of the name alone is a field without a value.
        let is_data = name == Name::Data || name == Name::Begun(DATA_BYTES);
        self.has_data |= is_data;
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn count(format: EventFormat, body: &[u8]) -> u64 {
        let mut scanner = EventScanner::new(format);
        scanner.feed(body) + scanner.finish()
    }

    #[test]
    fn server_sent_events_end_with_an_empty_line() {
        let check = |body: &str, expected: u64| {
            assert_eq!(count(EventFormat::ServerSent, body.as_bytes()), expected, "{body:?}");
        };
        check("", 0);
        check("data: a\n\n", 1);
        check("data: a\ndata: b\n\ndata:c\n\n", 2);
        check("data: a\r\n\r\ndata: b\r\n\r\n", 2);
        check("data: a\r\rdata: b\r\r", 2);
        check("data\n\ndata:\n\n", 2);
        check("event: x\nid: 1\ndata: a\nretry: 5\n\n", 1);
        check(": comment\n\nevent: x\n\nid: 7\n\n", 0);
        check("datax: a\n\n data: a\n\ndat\n\nDATA: a\n\n", 0);
        check("data: a\n", 0);
        check("data: a\n\n\n\n", 1);
        check("\u{feff}data: a\n\n", 1);
        check("\u{feff}\u{feff}data: a\n\n", 0);
    }

    #[test]
    fn lines_are_events_unless_they_are_blank() {
        let check = |body: &str, expected: u64| {
            assert_eq!(count(EventFormat::Lines, body.as_bytes()), expected, "{body:?}");
        };
        check("", 0);
        check("{}\n{}\n", 2);
        check("{}\r\n\r\n \n{}", 2);
        check("\u{1e}{}\n\u{1e}{}\n", 2);
    }

    #[test]
    fn formats_are_known_by_their_type() {
        let check = |content_type: &str, expected: Option<EventFormat>| {
            assert_eq!(EventFormat::of(content_type.as_bytes()), expected, "{content_type}");
        };
        check("text/event-stream", Some(EventFormat::ServerSent));
        check("Text/Event-Stream ; charset=utf-8", Some(EventFormat::ServerSent));
        check("application/x-ndjson", Some(EventFormat::Lines));
        check("application/json", None);
        check("text/event-streams", None);
        check("", None);
    }

    /// The standard's own way, over the whole text at once.
    fn by_the_standard(text: &str) -> u64 {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
        let mut lines: Vec<&str> = text.split('\n').collect();
        lines.pop();
        let (mut events, mut has_data) = (0, false);
        for line in lines {
            if line.is_empty() {
                events += u64::from(std::mem::take(&mut has_data));
            } else if line.split_once(':').map_or(line, |(name, _)| name) == "data" {
                has_data = true;
            }
        }
        events
    }

    proptest! {
        #[test]
        fn any_cut_counts_the_same(
            text in "(data|: |a|\r|\n|\u{feff}|id:|data: x\n\n){0,24}",
            cuts in prop::collection::vec(0_usize..64, 0..4),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut scanner = EventScanner::new(EventFormat::ServerSent);
            let (mut events, mut from) = (0, 0);
            for cut in cuts.into_iter().chain([bytes.len()]) {
                events += scanner.feed(&bytes[from..cut]);
                from = cut;
            }
            prop_assert_eq!(events, by_the_standard(&text));
        }
    }
}
