//! Results on disk until the controller has committed them: `ID.json` or `ID.txt` with the bytes, and `ID.about` beside
//! it, which is written last: what has no `.about` was never whole.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::protocol::{ID_MAX, PART_BYTES, RESULT_BYTES_MAX, ResultKind, RunName};

/// Results that a spool holds; an agent that holds so many takes no more loads.
pub(super) const RESULTS_MAX: usize = 64;

/// A result in the spool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spooled {
    /// Its id, unique in this spool.
    pub id: String,
    /// The run,
    pub run: RunName,
    /// its epoch,
    pub epoch: u64,
    /// the part of the load
    pub slice: u32,
    /// and how often that was given out.
    pub attempt: u32,
    /// What it is.
    pub is: ResultKind,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of all of it, hexadecimal.
    pub sha256: String,
}

/// A spool that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The disk.
    #[error("{path}: {source}")]
    Disk {
        /// The file or folder.
        path: String,
        /// The system's words.
        source: io::Error,
    },
    /// A result that is too long.
    #[error(
        "a result of {0} bytes, more than the {RESULT_BYTES_MAX} that can be sent: ask for a shorter run"
    )]
    TooLong(u64),
}

/// The folder.
#[derive(Debug, Clone)]
pub struct Spool {
    folder: PathBuf,
}

impl Spool {
    /// Opens the spool in `folder` and returns what it holds, in the order of ids. What is not whole is deleted.
    pub fn open(folder: &Path) -> Result<(Self, Vec<Spooled>), SpoolError> {
        let spool = Self { folder: folder.join("spool") };
        let failed = |source| SpoolError::Disk { path: spool.folder.display().to_string(), source };
        fs::create_dir_all(&spool.folder).map_err(failed)?;
        let mut whole = Vec::new();
        let mut files = Vec::new();
        for file in fs::read_dir(&spool.folder).map_err(failed)? {
            let path = file.map_err(failed)?.path();
            let about = path.extension().is_some_and(|extension| extension == "about");
            match about
                .then(|| fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok()))
                .flatten()
            {
                Some(spooled) if spool.is_whole(&spooled) => whole.push(spooled),
                _ => files.push(path),
            }
        }
        for path in files {
            if !whole.iter().any(|spooled| spool.data(spooled) == path) {
                fs::remove_file(&path).map_err(failed)?;
            }
        }
        whole.sort_by(|one, other| one.id.cmp(&other.id));
        Ok((spool, whole))
    }

    /// Writes a result; when this returns, it is on disk.
    pub fn put(&self, about: Spooled, bytes: &[u8]) -> Result<Spooled, SpoolError> {
        if bytes.len() as u64 > RESULT_BYTES_MAX {
            return Err(SpoolError::TooLong(bytes.len() as u64));
        }
        let spooled = Spooled { bytes: bytes.len() as u64, sha256: sha256(bytes), ..about };
        let data = self.data(&spooled);
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |source| SpoolError::Disk { path, source }
        };
        let write = |path: &Path, bytes: &[u8]| -> io::Result<()> {
            let mut file = File::create(path)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write(&data, bytes).map_err(failed(&data))?;
        let (about, new) = (self.about(&spooled.id), self.folder.join(format!("{}.new", spooled.id)));
        let json = serde_json::to_vec(&spooled).expect("invariant: text keys only");
        write(&new, &json).and_then(|()| fs::rename(&new, &about)).map_err(failed(&about))?;
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(failed(&self.folder))?;
        Ok(spooled)
    }

    /// A part of a result; empty beyond its end.
    pub fn part(&self, spooled: &Spooled, index: u32) -> Result<Vec<u8>, SpoolError> {
        let path = self.data(spooled);
        let read = || {
            let mut file = File::open(&path)?;
            file.seek(SeekFrom::Start(u64::from(index) * PART_BYTES as u64))?;
            let mut bytes = Vec::with_capacity(PART_BYTES);
            file.take(PART_BYTES as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|source| SpoolError::Disk { path: path.display().to_string(), source })
    }

    /// Deletes a result that is committed elsewhere.
    pub fn delete(&self, spooled: &Spooled) -> Result<(), SpoolError> {
        for path in [self.about(&spooled.id), self.data(spooled)] {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(SpoolError::Disk { path: path.display().to_string(), source });
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn is_whole(&self, spooled: &Spooled) -> bool {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let named = spooled.id.len() <= ID_MAX && spooled.id.bytes().all(good);
        named && fs::metadata(self.data(spooled)).is_ok_and(|about| about.len() == spooled.bytes)
    }

    fn data(&self, spooled: &Spooled) -> PathBuf {
        let extension = match spooled.is {
            ResultKind::Finished => "json",
            ResultKind::Failed => "txt",
        };
        self.folder.join(format!("{}.{extension}", spooled.id))
    }

    fn about(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.about"))
    }
}

/// SHA-256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    digest(&SHA256, bytes).as_ref().iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to text can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
