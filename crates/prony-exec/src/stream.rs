//! What a process writes, read away so that it never waits for us; the end of it is kept for error messages.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;

/// Bytes read at once: a quarter of what a pipe holds (pipe(7)).
const CHUNK_BYTES: usize = 16 << 10;
/// Bytes kept: some dozen lines. More would fill a terminal.
const TAIL_BYTES: usize = 4 << 10;
/// Reads after a process has ended. Its last words fit in one pipe; what a process that it left behind writes is
/// not waited for.
const LAST_READS: usize = 5;

/// The reading end of a pipe.
#[derive(Debug)]
pub(crate) struct Stream {
    pipe: OwnedFd,
    tail: Vec<u8>,
    is_open: bool,
}

impl Stream {
    pub(crate) fn new(pipe: OwnedFd) -> Result<Self, Errno> {
        fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
        Ok(Self { pipe, tail: Vec::new(), is_open: true })
    }

    pub(crate) fn pipe(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Whether somebody still holds the writing end.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Reads once. Returns whether there may be more.
    pub(crate) fn read(&mut self) -> bool {
        let mut chunk = [0; CHUNK_BYTES];
        match rustix::io::read(&self.pipe, &mut chunk) {
            Ok(0) => self.is_open = false,
            Ok(length) => {
                self.keep(&chunk[..length]);
                return true;
            }
            Err(Errno::INTR) => return true,
            Err(Errno::AGAIN) => {}
            Err(_) => self.is_open = false,
        }
        false
    }

    /// Reads what is left of a process that has ended, and gives back the end of all that it wrote.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        for _ in 0..LAST_READS {
            if !self.read() {
                break;
            }
        }
        std::mem::take(&mut self.tail)
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        let surplus = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_end_is_kept() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let mut stream = Stream::new(reader.into()).expect("a pipe");
        assert!(!stream.read() && stream.is_open());
        for _ in 0..3 {
            writer.write_all(&[b'x'; TAIL_BYTES]).expect("room");
        }
        writer.write_all(b"end").expect("room");
        drop(writer);
        let tail = stream.finish();
        assert_eq!(tail.len(), TAIL_BYTES);
        assert!(tail.ends_with(b"xend"));
        assert!(!stream.is_open());
    }
}
