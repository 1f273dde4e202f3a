//! Why there is no PostgreSQL.

use std::io;
use std::path::PathBuf;

/// Why a private PostgreSQL could not be started; the texts fit after "failed to ".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The programs were not found.
    #[error(
        "find PostgreSQL's initdb and postgres; install the package postgresql (Debian, Ubuntu) or \
         postgresql-server (Fedora), or name a database that runs"
    )]
    NotInstalled,
    /// PostgreSQL refuses to be run by root, and there is no other user to run it as.
    #[error(
        "find a user to run PostgreSQL as, which refuses root: there is neither `postgres` nor `nobody`; \
         start as another user, or name a database that runs"
    )]
    NoUser,
    /// The name of a Unix socket would be too long.
    #[error("put a socket into {}: the name is too long; name a shorter folder in TMPDIR", path.display())]
    PathTooLong {
        /// The folder.
        path: PathBuf,
    },
    /// Its folder could not be made or used.
    #[error("use the folder {}; check that it may be written and has room, or name another in TMPDIR", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A program could not be run.
    #[error("run {}; check that the user who runs PostgreSQL may run it and reach TMPDIR", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A program ended with an error.
    #[error("run {}; its output: {output}", program.display())]
    Failed {
        /// The program.
        program: PathBuf,
        /// The end of its output.
        output: String,
    },
    /// It ran and was not ready in time.
    #[error("wait until PostgreSQL is ready: that took more than a minute; its output: {output}")]
    TooSlow {
        /// The end of its output.
        output: String,
    },
}
