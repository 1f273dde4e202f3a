//! The log of what a truth server did, one record per request.
//!
//! # Format, version 2
//! All numbers are little-endian; times are ns on `CLOCK_MONOTONIC` of the machine that served.
//!
//! | part | bytes | content |
//! |---|---|---|
//! | header | 40 | magic `PRONYTRU`; u32 version; u32 bytes per record (72); u64 seed; u64 start of the server; i64 `CLOCK_REALTIME` − `CLOCK_MONOTONIC` at the start |
//! | record, any number | 72 | u64 id, connection, arrival, read, start, delay, first, last; u16 outcome; u16 port of the client; u32 flags |
//! | trailer | 72 | magic `PRONYEND`; u64 number of records; u64 records lost; zeroes |
//!
//! Outcomes are those of [`Outcome`] from 0 up. Flag 1: the arrival is the kernel's; flag 2: the clocks moved.
//! Records are in the order in which requests ended. A log without its trailer was cut short.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use super::record::{Outcome, Record};
use super::record::{RECORD_BYTES, u32_at, u64_at};
use crate::clock::Clocks;

const MAGIC: &[u8; 8] = b"PRONYTRU";
const END: &[u8; 8] = b"PRONYEND";
/// The format written here.
pub const VERSION: u32 = 2;
const HEADER_BYTES: usize = 40;

/// Why a log can't be read; the texts fit after "failed to ".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file can't be read.
    #[error("read the truth log {}; check that it exists and may be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// It is something else.
    #[error("read {}: it is no truth log; `prony serve truth --log FILE` writes one", path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
    },
    /// It was written by a newer version, or an older one.
    #[error("read {}: its format is version {found}, this reads version {VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// It ends before its end.
    #[error(
        "read {}: it was cut short after {whole} whole records; stop the server before reading its log",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Records that are there in full.
        whole: u64,
    },
    /// A record holds what is never written.
    #[error("read {}: record {index} holds an unknown outcome; the file was damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which, from 0.
        index: u64,
    },
}

/// A whole log: an iterator over its records, and its other contents.
#[derive(Debug)]
pub struct Log {
    /// The seed the delays were drawn with.
    pub seed: u64,
    /// When the server started, ns on the monotonic clock.
    pub began_ns: u64,
    /// What `CLOCK_REALTIME` was ahead then, ns.
    pub realtime_offset_ns: i64,
    /// Records that found the server's buffer full and are not here.
    pub lost: u64,
    records: std::vec::IntoIter<Record>,
}

impl Iterator for Log {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        self.records.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.records.size_hint()
    }
}

impl ExactSizeIterator for Log {}

/// Reads a log, all of it: 72 bytes a record.
pub fn read(path: impl AsRef<Path>) -> Result<Log, LogError> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|source| LogError::Read { path: path.to_owned(), source })?;
    parse(&bytes).map_err(|fault| fault.at(path.to_owned()))
}

/// A [`LogError`] that does not know its file.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    /// It begins otherwise.
    NotALog,
    /// The version of the format, which is another.
    Version(u32),
    /// It ends within a record; those before it.
    Truncated(u64),
    /// The record, from 0, that holds what is never written.
    Damaged(u64),
}

impl Fault {
    fn at(self, path: PathBuf) -> LogError {
        match self {
            Self::NotALog => LogError::NotALog { path },
            Self::Version(found) => LogError::Version { path, found },
            Self::Truncated(whole) => LogError::Truncated { path, whole },
            Self::Damaged(index) => LogError::Damaged { path, index },
        }
    }
}

/// The log that `bytes` hold, all of it.
pub fn parse(bytes: &[u8]) -> Result<Log, Fault> {
    if bytes.get(..8) != Some(MAGIC) {
        return Err(Fault::NotALog);
    }
    let Some((header, body)) = bytes.split_at_checked(HEADER_BYTES) else { return Err(Fault::Truncated(0)) };
    let version = u32_at(header, 8);
    if version != VERSION {
        return Err(Fault::Version(version));
    }
    let slots = body.chunks_exact(RECORD_BYTES);
    let whole = slots.len() as u64;
    let Some(trailer) = slots.clone().last().filter(|slot| is_trailer(slot)) else {
        return Err(Fault::Truncated(whole));
    };
    if !slots.remainder().is_empty() || u64_at(trailer, 8) != whole - 1 {
        return Err(Fault::Damaged(whole - 1));
    }
    let records = slots
        .take(slots_before(whole))
        .enumerate()
        .map(|(index, slot)| Record::from_bytes(slot).ok_or(Fault::Damaged(index as u64)))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Log {
        seed: u64_at(header, 16),
        began_ns: u64_at(header, 24),
        realtime_offset_ns: u64_at(header, 32).cast_signed(),
        lost: u64_at(trailer, 16),
        records: records.into_iter(),
    })
}

/// The trailer is the last slot.
fn slots_before(whole: u64) -> usize {
    usize::try_from(whole - 1).expect("invariant: they are in memory")
}

/// No record looks like this: the id would be 5e18 and its outcome, flags and times zero.
fn is_trailer(slot: &[u8]) -> bool {
    slot.starts_with(END) && slot[24..].iter().all(|byte| *byte == 0)
}

/// The header of a log that begins now.
pub(super) fn write_header(out: &mut impl Write, seed: u64, began: Clocks) -> io::Result<()> {
    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    out.write_all(&72_u32.to_le_bytes())?;
    out.write_all(&seed.to_le_bytes())?;
    out.write_all(&began.monotonic_ns.to_le_bytes())?;
    out.write_all(&began.offset_ns().to_le_bytes())
}

pub(super) fn write_trailer(out: &mut impl Write, count: u64, lost: u64) -> io::Result<()> {
    let mut slot = [0; RECORD_BYTES];
    slot[..8].copy_from_slice(END);
    slot[8..16].copy_from_slice(&count.to_le_bytes());
    slot[16..24].copy_from_slice(&lost.to_le_bytes());
    out.write_all(&slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: u64) -> Record {
        Record {
            id,
            connection: 2,
            peer_port: 40_000,
            arrival_ns: 3,
            read_ns: 4,
            start_ns: 5,
            delay_ns: 6,
            first_ns: 7,
            last_ns: 8,
            outcome: Outcome::Reset,
            stamped: true,
            clock_moved: false,
        }
    }

    /// A log of three records.
    fn log() -> Vec<u8> {
        let mut out = Vec::new();
        write_header(&mut out, 42, Clocks { monotonic_ns: 10, realtime_ns: 3 }).unwrap();
        for id in 0..3 {
            record(id).write(&mut out).unwrap();
        }
        write_trailer(&mut out, 3, 9).unwrap();
        out
    }

    #[test]
    fn what_was_written_is_read() {
        let log = parse(&log()).unwrap();
        assert_eq!((log.seed, log.began_ns, log.realtime_offset_ns, log.lost), (42, 10, -7, 9));
        assert_eq!(log.collect::<Vec<_>>(), [record(0), record(1), record(2)]);
    }

    #[test]
    fn a_log_cut_short_says_how_much_is_whole() {
        let whole = log();
        for length in HEADER_BYTES..whole.len() {
            let expected = Fault::Truncated(((length - HEADER_BYTES) / RECORD_BYTES) as u64);
            assert_eq!(parse(&whole[..length]).unwrap_err(), expected, "{length} bytes");
        }
        assert_eq!(parse(&whole[..20]).unwrap_err(), Fault::Truncated(0));
    }

    #[test]
    fn what_is_no_log_of_this_version_is_refused() {
        assert_eq!(parse(b"").unwrap_err(), Fault::NotALog);
        assert_eq!(parse(b"GET / HTTP/1.1\r\n\r\n").unwrap_err(), Fault::NotALog);
        let mut newer = log();
        newer[8] = 3;
        assert_eq!(parse(&newer).unwrap_err(), Fault::Version(3));
        let mut damaged = log();
        damaged[HEADER_BYTES + RECORD_BYTES + 64] = 77;
        assert_eq!(parse(&damaged).unwrap_err(), Fault::Damaged(1));
        let mut longer = log();
        longer.push(0);
        assert_eq!(parse(&longer).unwrap_err(), Fault::Damaged(3));
    }
}
