//! A file of recorded traffic: plain or gzip, with the hash of what it holds.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

use super::ReplayError;

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 64 * 1024;
/// What a gzip file begins with (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A file that is open.
pub struct Opened {
    /// What is in it, decompressed.
    pub content: Box<dyn BufRead>,
    /// The file, as it was named.
    pub file: String,
    hash: Rc<RefCell<Sha256>>,
}

/// Opens `path`; `-` is stdin.
///
/// # Errors
/// What can't be read.
pub fn open(path: &Path) -> Result<Opened, ReplayError> {
    let file = path.display().to_string();
    let unreadable = |source| ReplayError::Unreadable { file: file.clone(), source };
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(unreadable)?)
    };
    open_reader(source, file)
}

/// The same of what `source` has, which messages call `file`.
///
/// # Errors
/// What can't be read.
pub fn open_reader(source: Box<dyn Read>, file: String) -> Result<Opened, ReplayError> {
    let unreadable = |source| ReplayError::Unreadable { file: file.clone(), source };
    let hash = Rc::new(RefCell::new(Sha256::new()));
    let mut bytes = BufReader::with_capacity(BUFFER_BYTES, Hashed { source, hash: Rc::clone(&hash) });
    let is_gzip = bytes.fill_buf().map_err(unreadable)?.starts_with(&GZIP);
    let content: Box<dyn BufRead> = if is_gzip {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(bytes)))
    } else {
        Box::new(bytes)
    };
    Ok(Opened { content, file, hash })
}

impl Opened {
    /// SHA-256 of the file's bytes that were read, in hexadecimal.
    pub fn sha256(&self) -> String {
        self.hash.borrow().clone().finalize().iter().fold(String::new(), |mut text, byte| {
            let _written = write!(text, "{byte:02x}");
            text
        })
    }

    /// The error of a file that can't be read further.
    pub(super) fn unreadable(&self, source: io::Error) -> ReplayError {
        ReplayError::Unreadable { file: self.file.clone(), source }
    }
}

struct Hashed {
    source: Box<dyn Read>,
    hash: Rc<RefCell<Sha256>>,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.hash.borrow_mut().update(&buffer[..count]);
        Ok(count)
    }
}
