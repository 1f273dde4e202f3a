//! Why a database can't be used.

use std::error::Error as _;
use std::time::Duration;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Why the server was not started with a database; the texts fit after "failed to ".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// Nobody answers, or not in time.
    #[error("reach {database} ({message}); is it running, and is this where it listens?")]
    Unreachable {
        /// Which database, without its password.
        database: String,
        /// What went wrong.
        message: String,
    },
    /// The database does not let this user in.
    #[error("log in to {database} ({message}); check the user and the password in its URL")]
    Login {
        /// Which database, without its password.
        database: String,
        /// Its message.
        message: String,
    },
    /// There is a server, but not this database.
    #[error("open {database} ({message}); `createdb` makes one")]
    Missing {
        /// Which database, without its password.
        database: String,
        /// Its message.
        message: String,
    },
    /// The table `users` could not be made.
    #[error("make the table users in {database} ({message}); the user needs the right to create tables")]
    Table {
        /// Which database, without its password.
        database: String,
        /// Its message.
        message: String,
    },
}

/// Why a request was not answered with what it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The status of an honest server.
    pub(super) status: &'static str,
    /// What PostgreSQL calls it (its documentation, appendix A).
    pub(super) code: Option<SqlState>,
    pub(super) message: String,
}

const FAULT: &str = "500 Internal Server Error";
const UNAVAILABLE: &str = "503 Service Unavailable";

impl Failure {
    pub(super) fn no_database() -> Self {
        Self::unavailable("no database: start with --postgres auto, or with --database URL".to_owned())
    }

    pub(super) fn busy() -> Self {
        Self::unavailable("too many requests wait for the database".to_owned())
    }

    pub(super) fn no_connection(limit: Duration) -> Self {
        Self::unavailable(format!("no connection of the pool became free in {limit:?}"))
    }

    pub(super) fn no_answer(what: &str, limit: Duration) -> Self {
        Self::unavailable(format!("no answer to {what} in {limit:?}"))
    }

    pub(super) fn no_row() -> Self {
        Self { status: FAULT, code: None, message: "the query had no row".to_owned() }
    }

    /// Whether the connection it came over is as good as before.
    pub(super) fn is_about_the_query(&self) -> bool {
        self.status == FAULT
    }

    fn unavailable(message: String) -> Self {
        Self { status: UNAVAILABLE, code: None, message }
    }

    /// The body with which the original answers: the error as JSON, and unlike there with its message.
    pub(super) fn body(&self) -> String {
        let message = serde_json::Value::from(self.message.as_str());
        match &self.code {
            Some(code) => format!(r#"{{"name":"error","code":"{}","message":{message}}}"#, code.code()),
            None => format!(r#"{{"name":"error","message":{message}}}"#),
        }
    }

    /// Why a start that met it ended.
    pub(super) fn at_start(self, database: String) -> DatabaseError {
        let message = self.message;
        match self.code {
            Some(SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
                DatabaseError::Login { database, message }
            }
            Some(SqlState::INVALID_CATALOG_NAME) => DatabaseError::Missing { database, message },
            None if message.contains("password missing") => DatabaseError::Login { database, message },
            _ => DatabaseError::Unreachable { database, message },
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if let Some(found) = error.as_db_error() {
            let code = found.code().clone();
            // Classes 08 and 53 to 58 are about the server and its state, the others about what it was asked.
            let is_away = ["08", "53", "57P", "58"].iter().any(|class| code.code().starts_with(class));
            let status = if is_away { UNAVAILABLE } else { FAULT };
            return Self { status, message: found.message().to_owned(), code: Some(code) };
        }
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message = format!("{message}: {cause}");
            source = cause.source();
        }
        Self::unavailable(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_json() {
        let failure =
            Failure { status: UNAVAILABLE, code: Some(SqlState::SYNTAX_ERROR), message: "a \"b\"\n".into() };
        assert_eq!(failure.body(), r#"{"name":"error","code":"42601","message":"a \"b\"\n"}"#);
        assert_eq!(
            Failure::no_connection(Duration::from_millis(1500)).body(),
            r#"{"name":"error","message":"no connection of the pool became free in 1.5s"}"#
        );
    }

    #[test]
    fn a_start_says_what_to_look_at() {
        let check = |code: Option<SqlState>, message: &str, expected: &str| {
            let failure = Failure { status: UNAVAILABLE, code, message: message.to_owned() };
            let message = failure.at_start("shop at db:5432".to_owned()).to_string();
            assert!(message.starts_with(expected), "{message}");
        };
        check(Some(SqlState::INVALID_PASSWORD), "no", "log in to shop at db:5432 (no)");
        check(None, "invalid configuration: password missing", "log in to");
        check(Some(SqlState::INVALID_CATALOG_NAME), "no", "open shop");
        check(Some(SqlState::TOO_MANY_CONNECTIONS), "too many", "reach shop");
        check(None, "refused", "reach shop at db:5432 (refused)");
    }
}
