//! The file in which tokens for labs are kept, by the lab's address: `$XDG_CONFIG_HOME/prony/tokens.json`, for its owner's
//! eyes only.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::cli_error::CliError;
use crate::user_folder::UserFolder;

/// Bits of the mode by which others than the owner may do something.
const OTHERS: u32 = 0o077;

/// Tokens by the address of their lab.
pub(super) struct Tokens {
    path: PathBuf,
    by_lab: BTreeMap<String, String>,
}

impl Tokens {
    /// Those that are kept; none where there is no file.
    pub(super) fn read() -> Result<Self, CliError> {
        let path = path()?;
        let failed = |why: &dyn std::fmt::Display| {
            CliError::usage(format!("can't read the tokens in {} ({why})", path.display()))
                .hint("remove the file and log in again: prony lab login")
        };
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path, by_lab: BTreeMap::new() });
            }
            read => read.map_err(|error| failed(&error))?,
        };
        let mode = fs::metadata(&path).map_err(|error| failed(&error))?.mode();
        if mode & OTHERS != 0 {
            return Err(CliError::usage(format!("others may read the tokens in {}", path.display()))
                .hint(format!("make the file yours alone: chmod 600 {}", path.display())));
        }
        let by_lab = serde_json::from_str(&text).map_err(|error| failed(&error))?;
        Ok(Self { path, by_lab })
    }

    /// Where they are kept.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The token for the lab at `address`.
    pub(super) fn of(&self, address: &str) -> Option<&str> {
        self.by_lab.get(address).map(String::as_str)
    }

    /// Keeps `token` for the lab at `address`, once this is written.
    pub(super) fn set(&mut self, address: &str, token: &str) {
        self.by_lab.insert(address.to_owned(), token.to_owned());
    }

    /// Takes the token for the lab at `address` out.
    pub(super) fn remove(&mut self, address: &str) -> Option<String> {
        self.by_lab.remove(address)
    }

    /// Writes the file, whole or not at all.
    pub(super) fn write(&self) -> Result<(), CliError> {
        let written = || -> io::Result<()> {
            let folder = self.path.parent().ok_or(io::ErrorKind::InvalidInput)?;
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            // It is made with mode 0600.
            let mut file = tempfile::Builder::new()
                .prefix(".tokens-")
                .permissions(fs::Permissions::from_mode(0o600))
                .tempfile_in(folder)?;
            file.write_all(&serde_json::to_vec_pretty(&self.by_lab)?)?;
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            Ok(())
        };
        written().map_err(|error| {
            CliError::usage(format!("can't keep the token in {} ({error})", self.path.display()))
                .hint("set XDG_CONFIG_HOME to a folder that you can write, or use PRONY_LAB_TOKEN")
        })
    }
}

fn path() -> Result<PathBuf, CliError> {
    UserFolder::Config.path().map(|folder| folder.join("tokens.json")).ok_or_else(|| {
        CliError::usage("there is no folder for tokens: neither XDG_CONFIG_HOME nor HOME is set")
            .hint("set one of them, or use PRONY_LAB_TOKEN")
    })
}
