//! Access by TCP: a user that owns one database and has no other rights, so that programs which know no
//! Unix sockets can use a private PostgreSQL, and others on this machine can do no more than spoil its data.

use std::fs::{self, File};
use std::path::Path;

use super::folder::Folder;
use super::owner::Owner;
use super::{PostgresError, USER, command, run};

/// The user, and the database that it owns.
const NAME: &str = "guest";

/// Who may connect how: by the socket as any user, by this machine's own network as `guest`.
fn access() -> String {
    format!("local all {USER} trust\nhost {NAME} {NAME} 127.0.0.1/32 trust\n")
}

/// Creates the user and its database in a database that no server runs on yet.
pub(super) fn create(program: &Path, folder: &Folder, owner: Option<Owner>) -> Result<(), PostgresError> {
    let words = folder.path().join("guest.sql");
    let written = fs::write(folder.path().join("data/pg_hba.conf"), access())
        .and_then(|()| {
            fs::write(&words, format!("CREATE ROLE {NAME} LOGIN\nCREATE DATABASE {NAME} OWNER {NAME}\n"))
        })
        .and_then(|()| File::open(&words));
    let words = written.map_err(|source| folder.fault(source))?;
    let mut single = command(program, folder, owner)?;
    single.args(["--single", "-D", "data", "postgres"]).stdin(words);
    let status =
        run(&mut single).map_err(|source| PostgresError::Run { program: program.to_owned(), source })?;
    if status.success() {
        Ok(())
    } else {
        Err(PostgresError::Failed { program: program.to_owned(), output: folder.last_words() })
    }
}

/// How that user connects.
pub(super) fn url(port: u16) -> String {
    format!("postgresql://{NAME}@127.0.0.1:{port}/{NAME}")
}
