//! A log of lines, written when the worker that made them has nothing else to do.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use crate::counters::Counters;

/// Lines are written at the latest when there are so many bytes of them.
const BUFFER_BYTES: usize = 64 * 1024;

/// Where all workers of a server write; `None` once it can't be written any more.
pub(crate) type Sink = Arc<Mutex<Option<File>>>;

/// The lines of one worker.
#[derive(Debug)]
pub(crate) struct Lines {
    sink: Sink,
    buffer: Vec<u8>,
    count: u64,
    counters: Arc<Counters>,
}

impl Lines {
    pub(crate) fn new(sink: Sink, counters: Arc<Counters>) -> Self {
        Self { sink, buffer: Vec::new(), count: 0, counters }
    }

    /// Adds a line, which must end as one.
    pub(crate) fn add(&mut self, line: std::fmt::Arguments<'_>) {
        self.buffer.write_fmt(line).expect("invariant: writing to a Vec does not fail");
        self.count += 1;
        if self.buffer.len() >= BUFFER_BYTES {
            self.write();
        }
    }

    /// Writes what there is. Who reads the lines slowly holds up the server, as it would any that prints.
    pub(crate) fn write(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        // The file is there or it isn't: a panic elsewhere leaves nothing half changed.
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if sink.as_mut().is_none_or(|file| file.write_all(&self.buffer).is_err()) {
            // The disk is full, or the reader gone: the log ends here, and the server goes on.
            *sink = None;
            self.counters.records_lost.fetch_add(self.count, Relaxed);
        }
        drop(sink);
        self.buffer.clear();
        self.count = 0;
    }
}

/// `text` with nothing in it that could end a line or move a cursor.
pub(crate) fn on_one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '\u{fffd}' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_cannot_be_written_are_counted() {
        let counters = Arc::new(Counters::default());
        // A file that is open for reading alone.
        let file = File::open("/dev/null").unwrap();
        let mut lines = Lines::new(Arc::new(Mutex::new(Some(file))), Arc::clone(&counters));
        lines.add(format_args!("a\n"));
        lines.add(format_args!("b\n"));
        lines.write();
        lines.add(format_args!("c\n"));
        lines.write();
        assert_eq!(counters.read().records_lost, 3);
    }

    #[test]
    fn a_line_stays_one() {
        assert_eq!(on_one_line("a\nb\x1b[2J é"), "a\u{fffd}b\u{fffd}[2J é");
    }
}
