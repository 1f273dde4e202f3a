//! `prony serve express`: which database it gets, and what its errors mean.

use prony_targets::express::{self, Config, Database, DatabaseError};
use prony_targets::postgres::PostgresError;
use prony_targets::tls::Tls;
use prony_targets::{Running, StartError};

use super::postgres;
use super::serve::address;
use crate::args::{ExpressArgs, StartPostgres};
use crate::cli_error::CliError;

/// Names the database where no flag does.
const DATABASE_URL: &str = "DATABASE_URL";

/// The database that was asked for: by a flag, else by the environment, else none.
pub(super) fn database(args: &ExpressArgs) -> Result<Option<Database>, CliError> {
    if let Some(StartPostgres::Auto) = args.postgres {
        return Ok(Some(Database::Private(postgres::options(None))));
    }
    if let Some(url) = &args.database {
        return Ok(Some(Database::Url(url.clone())));
    }
    let Some(named) = std::env::var(DATABASE_URL).ok().filter(|named| !named.is_empty()) else {
        return Ok(None);
    };
    let url = named.parse().map_err(|error| {
        CliError::usage(format!("{DATABASE_URL}: {error}"))
            .hint(format!("correct it, or leave it out: env -u {DATABASE_URL} prony serve express"))
    })?;
    Ok(Some(Database::Url(url)))
}

pub(super) fn start(
    args: &ExpressArgs,
    database: Option<Database>,
    tls: Option<Tls>,
) -> Result<Running, StartError> {
    express::start(Config {
        listen: address(&args.listen),
        workers: args.workers as usize,
        database,
        pool: args.pool as usize,
        pool_timeout: args.pool_timeout,
        connect_timeout: args.connect_timeout,
        statement_timeout: args.statement_timeout,
        pg_sleep: args.pg_sleep,
        errors_500: args.errors_500,
        allow_remote: args.listen.allow_remote,
        tls,
        ..Config::default()
    })
}

/// Why there is no private PostgreSQL.
pub(super) fn no_postgres(error: &PostgresError) -> CliError {
    let elsewhere = "or use one that runs: --database postgresql://user:password@host:5432/name";
    let (what, advice) = match error {
        PostgresError::NotInstalled => (
            "PostgreSQL is not installed".to_owned(),
            "install it: apt-get install postgresql (Fedora: dnf install postgresql-server)",
        ),
        PostgresError::NoUser => (
            "root can't run PostgreSQL, and there is neither a user postgres nor nobody".to_owned(),
            "run prony as another user",
        ),
        PostgresError::PathTooLong { path } => (
            format!("the name of {} is too long for a socket", path.display()),
            "name a shorter folder: TMPDIR=/tmp",
        ),
        PostgresError::Folder { path, source } => (
            format!("can't use the folder {} ({source})", path.display()),
            "check that it may be written and has room, or name another: TMPDIR=/tmp",
        ),
        PostgresError::Run { program, source } => (
            format!("can't run {} ({source})", program.display()),
            "run as root, it needs a folder that others can reach: TMPDIR=/tmp",
        ),
        other => (format!("failed to {other}"), "check that TMPDIR has room and can be reached"),
    };
    CliError::usage(what).hint(advice).hint(elsewhere)
}

/// Why a database can't be used.
pub(super) fn no_database(error: &DatabaseError) -> CliError {
    let auto = "or start a private one: --postgres auto";
    match error {
        DatabaseError::Unreachable { database, message } => {
            CliError::usage(format!("can't reach the database {database} ({message})"))
                .hint("check that it is running and that this is where it listens")
        }
        DatabaseError::Login { database, message } => {
            CliError::usage(format!("can't log in to the database {database} ({message})"))
                .hint("check user and password: --database postgresql://user:password@host:5432/name")
        }
        DatabaseError::Missing { database, message } => {
            CliError::usage(format!("there is no database {database} ({message})"))
                .hint("check its name, or make it with createdb")
        }
        DatabaseError::Table { database, message } => {
            CliError::usage(format!("can't make the table users in the database {database} ({message})"))
                .hint("give the user the right to create tables")
        }
        other => CliError::internal(format!("failed to {other}")),
    }
    .hint(auto)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let expected = CliError::usage("PostgreSQL is not installed")
            .hint("install it: apt-get install postgresql (Fedora: dnf install postgresql-server)")
            .hint("or use one that runs: --database postgresql://user:password@host:5432/name");
        assert_eq!(no_postgres(&PostgresError::NotInstalled), expected);
    }
}
