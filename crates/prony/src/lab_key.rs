//! The key that signs commands to agents, and the epochs of its runs.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use prony_fleet::protocol::{ControllerKey, PublicKey};

use crate::cli_error::CliError;
use crate::clock;
use crate::user_folder::UserFolder;

/// Bytes of a file with a key at most.
const FILE_BYTES_MAX: u64 = 4_096;

/// Where the private key is: as typed, or this user's.
fn path(typed: Option<&Path>) -> Result<PathBuf, CliError> {
    let own = || UserFolder::Config.path().map(|folder| folder.join("lab.key"));
    typed.map(Path::to_owned).or_else(own).ok_or_else(|| {
        CliError::usage("there is no folder for the key that signs commands")
            .hint("set HOME, or name a file: --lab-key FILE")
    })
}

/// The private key; this user's own is made when it is first needed.
pub(crate) fn private(typed: Option<&Path>) -> Result<(ControllerKey, PathBuf), CliError> {
    let path = path(typed)?;
    match read_file(&path) {
        Ok(text) => {
            ControllerKey::read(&text).map(|key| (key, path.clone())).map_err(|error| failed(&path, error))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && typed.is_none() => {
            let text = ControllerKey::generate().map_err(|error| failed(&path, error))?;
            write_secret(&path, &text).map_err(|error| failed(&path, error))?;
            // What another process wrote at the same time counts.
            let text = read_file(&path).map_err(|error| failed(&path, error))?;
            ControllerKey::read(&text).map(|key| (key, path.clone())).map_err(|error| failed(&path, error))
        }
        Err(error) => Err(failed(&path, error)),
    }
}

/// The public key that an agent trusts: as typed, from a file, or that of this user's own.
pub(crate) fn public(typed: Option<&str>) -> Result<PublicKey, CliError> {
    let Some(typed) = typed else { return private(None).map(|(key, _)| key.public()) };
    let given = PublicKey::read(typed).map_err(|error| CliError::usage(error.to_string()));
    let path = Path::new(typed);
    if given.is_ok() || !path.exists() {
        return given;
    }
    let text = read_file(path).map_err(|error| failed(path, error))?;
    PublicKey::read(&text).map_err(|error| failed(path, error))
}

/// A secret in a file: the first line.
pub(crate) fn secret(path: &Path) -> Result<String, CliError> {
    let text = read_file(path).map_err(|error| failed(path, error))?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Writes a secret to a new file that only its owner can read; one that is there stays as it is.
pub(crate) fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => file.write_all(format!("{text}\n").as_bytes()).and_then(|()| file.sync_all()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// An epoch, above all before it with the same key; no other process has the key meanwhile.
pub(crate) struct Epoch {
    pub(crate) number: u64,
    path: PathBuf,
    file: File,
}

impl Epoch {
    /// The next epoch of the key at `path`.
    pub(crate) fn next(path: &Path) -> Result<Self, CliError> {
        let path = path.with_extension("epoch");
        let open =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = open.map_err(|error| failed(&path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(CliError::usage("another run with agents and the same key is on")
                    .hint("wait for its end, or give this one a key of its own: --lab-key FILE"));
            }
            Err(TryLockError::Error(error)) => return Err(failed(&path, error)),
        }
        let mut epoch = Self { number: 0, path, file };
        epoch.advance()?;
        Ok(epoch)
    }

    /// Goes on to the next epoch: the time of day, in milliseconds, so that the file may get lost; one more than the last
    /// one, where the time of day was set back.
    pub(crate) fn advance(&mut self) -> Result<u64, CliError> {
        let now = u64::try_from(clock::wall().as_millis()).unwrap_or(0);
        let number = self.last().map(|last| now.max(last.saturating_add(1)));
        let written = number.and_then(|number| self.write(number).map(|()| number));
        self.number = written.map_err(|error| failed(&self.path, error))?;
        Ok(self.number)
    }

    /// Notes a higher epoch, in which the key is used from now on.
    pub(crate) fn raise(&mut self, number: u64) -> Result<(), CliError> {
        self.number = self.number.max(number);
        self.write(self.number).map_err(|error| failed(&self.path, error))
    }

    fn last(&mut self) -> io::Result<u64> {
        let mut text = String::new();
        self.file.seek(SeekFrom::Start(0))?;
        (&self.file).take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        Ok(text.trim().parse().unwrap_or(0))
    }

    fn write(&mut self, number: u64) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(format!("{number}\n").as_bytes())?;
        self.file.sync_all()
    }
}

fn read_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

fn failed(path: &Path, error: impl std::fmt::Display) -> CliError {
    CliError::usage(format!("{}: {error}", path.display()))
}
