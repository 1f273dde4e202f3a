//! Where results go: stdout, and files that are written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::cli_error::CliError;

/// Writes `text` to stdout. A reader that has left, as in `prony … | head`, is not an error.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    print_bytes(text.as_bytes())
}

/// Writes `bytes`, which may be anything, to stdout.
fn print_bytes(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    written(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Writes `text` to stderr, beside a report on stdout. An error is ignored: stderr is closed, and there is
/// no other place to report it.
pub(crate) fn write_stderr(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Whether `path`, as typed, stands for stdout.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// What became of a write to stdout.
pub(crate) fn written(result: io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::internal(format!("can't write to stdout ({error})")))
        }
        _ => Ok(()),
    }
}

/// Stdout, or a file, for flags that take either.
#[derive(Debug)]
pub(crate) enum Outlet {
    /// `-`
    Stdout,
    /// Anything else.
    File(Destination),
}

impl Outlet {
    /// Finds out whether `path`, the value of `flag`, can be written.
    pub(crate) fn prepare(flag: &str, path: &Path, force: bool) -> Result<Self, CliError> {
        if is_stdout(path) {
            Ok(Self::Stdout)
        } else {
            Destination::prepare(flag, path, force).map(Self::File)
        }
    }

    /// Writes `bytes`; to a file whole or not at all.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), CliError> {
        match self {
            Self::Stdout => print_bytes(bytes),
            Self::File(destination) => destination.write(bytes),
        }
    }
}

/// A file that is being written; gone, unless it is finished.
pub(crate) struct Growing<'a> {
    destination: &'a Destination,
    file: BufWriter<File>,
    /// The first error: nothing is written after it.
    state: io::Result<()>,
    finished: bool,
}

impl Growing<'_> {
    /// Adds `bytes`; an error is returned when the file is finished.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if self.state.is_ok() {
            self.state = self.file.write_all(bytes);
        }
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        let state = std::mem::replace(&mut self.state, Ok(()));
        let written = state.and_then(|()| self.file.flush()).and_then(|()| {
            if self.destination.kind == Kind::Special {
                return Ok(());
            }
            self.file.get_ref().sync_all()?;
            self.destination.rename(&self.destination.temporary())
        });
        self.finished = written.is_ok();
        written.map_err(|error| self.destination.failed(&error))
    }
}

impl Drop for Growing<'_> {
    fn drop(&mut self) {
        if !self.finished && self.destination.kind != Kind::Special {
            // The first error is the one to report.
            let _ = fs::remove_file(self.destination.temporary());
        }
    }
}

/// A file that will hold a result: checked before the load starts, written when it is over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A new file.
    New,
    /// A file whose content may be lost.
    Replace,
    /// A pipe or a device: written in place.
    Special,
}

impl Destination {
    /// Finds out whether `path`, the value of `flag`, can be written, and leaves nothing behind.
    pub(crate) fn prepare(flag: &str, path: &Path, force: bool) -> Result<Self, CliError> {
        let refused = |error: &io::Error| {
            let or = if flag == "--json" { ", or use --json - for stdout" } else { "" };
            CliError::usage(format!("can't write {} ({error})", path.display()))
                .hint(format!("nothing was started: name a file that can be written{or}"))
        };
        let kind = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(CliError::usage(format!("{} is a directory", path.display()))
                    .hint(format!("name a file in it: {flag} {}", path.join("result").display())));
            }
            Ok(metadata) if metadata.is_file() && !force => {
                return Err(CliError::usage(format!("{} exists", path.display()))
                    .hint("nothing was started: name another file, or replace it with --force"));
            }
            Ok(metadata) if metadata.is_file() => Kind::Replace,
            Ok(_) => Kind::Special,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Kind::New,
            Err(error) => return Err(refused(&error)),
        };
        let destination = Self { path: path.to_owned(), kind };
        if kind == Kind::Special {
            OpenOptions::new().write(true).open(path).map_err(|error| refused(&error))?;
        } else {
            let temporary = destination.temporary();
            File::create_new(&temporary)
                .and_then(|_| fs::remove_file(&temporary))
                .map_err(|error| refused(&error))?;
        }
        Ok(destination)
    }

    /// Writes `bytes`, whole or not at all.
    pub(crate) fn write(&self, bytes: impl AsRef<[u8]>) -> Result<(), CliError> {
        let mut growing = self.open()?;
        growing.write(bytes.as_ref());
        growing.finish()
    }

    /// A file that grows under another name, until it is whole.
    pub(crate) fn open(&self) -> Result<Growing<'_>, CliError> {
        let file = if self.kind == Kind::Special {
            OpenOptions::new().write(true).open(&self.path)
        } else {
            File::create_new(self.temporary())
        };
        let file = BufWriter::new(file.map_err(|error| self.failed(&error))?);
        Ok(Growing { destination: self, file, state: Ok(()), finished: false })
    }

    fn failed(&self, error: &io::Error) -> CliError {
        CliError::internal(format!("writing {} failed ({error})", self.path.display()))
    }

    /// Gives the finished file its name; a file that came in the meantime is not replaced.
    fn rename(&self, temporary: &Path) -> io::Result<()> {
        if self.kind == Kind::Replace {
            return fs::rename(temporary, &self.path);
        }
        match renameat_with(CWD, temporary, CWD, &self.path, RenameFlags::NOREPLACE) {
            // The file system can't rename so: check, then rename.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) if !self.path.exists() => {
                fs::rename(temporary, &self.path)
            }
            other => other.map_err(Into::into),
        }
    }

    /// A name beside the file, on the same file system, that no other prony uses now.
    fn temporary(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
    }
}
