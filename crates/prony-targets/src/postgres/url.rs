//! Which database is meant.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// A database: `postgresql://user:password@host:port/name`, or the words of libpq (`host=… user=… dbname=…`).
#[derive(Clone)]
pub struct DatabaseUrl {
    /// Boxed, because it has a field for every option of a connection.
    config: Box<Config>,
}

/// Why a text does not name a database that can be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseUrlError {
    /// It can't be read.
    #[error("this names no database; write postgresql://user:password@host:5432/name")]
    Unreadable(#[source] tokio_postgres::Error),
    /// Where the database is stays open.
    #[error("this names no host; write postgresql://user:password@host:5432/name")]
    NoHost,
    /// It wants what this client does not speak.
    #[error("connections are made without TLS: leave sslmode=require out")]
    Tls,
}

impl DatabaseUrl {
    pub(super) fn of_socket(folder: &Path, port: Option<u16>, user: &str, name: &str) -> Self {
        let mut config = Box::new(Config::new());
        config.host_path(folder).user(user).dbname(name);
        // A socket is called by the port, too.
        if let Some(port) = port {
            config.port(port);
        }
        Self { config }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }
}

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(text: &str) -> Result<Self, DatabaseUrlError> {
        let config: Box<Config> = text.parse().map(Box::new).map_err(DatabaseUrlError::Unreadable)?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(DatabaseUrlError::NoHost);
        }
        if config.get_ssl_mode() == SslMode::Require {
            return Err(DatabaseUrlError::Tls);
        }
        Ok(Self { config })
    }
}

/// Where it is and what it is called, without the password: `name at host:port`.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.config.get_dbname().or(self.config.get_user()).unwrap_or("the database");
        write!(out, "{name} at ")?;
        let port = self.config.get_ports().first().unwrap_or(&5432);
        match (self.config.get_hosts().first(), self.config.get_hostaddrs().first()) {
            (Some(Host::Tcp(host)), _) => write!(out, "{host}:{port}"),
            (Some(Host::Unix(folder)), _) => write!(out, "{}", folder.display()),
            (None, Some(address)) => write!(out, "{address}:{port}"),
            (None, None) => out.write_str("no host"),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DatabaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_without_its_password() {
        let check = |text: &str, expected: &str| {
            let url: DatabaseUrl = text.parse().unwrap();
            assert_eq!(
                (url.to_string(), format!("{url:?}")),
                (expected.into(), format!("DatabaseUrl({expected})"))
            );
        };
        check("postgresql://me:secret@db.example:5433/shop", "shop at db.example:5433");
        check("postgres://me@[::1]", "me at ::1:5432");
        check("host=/run/postgresql dbname=shop password=secret", "shop at /run/postgresql");
        check("hostaddr=127.0.0.1 port=7", "the database at 127.0.0.1:7");
    }

    #[test]
    fn what_cannot_be_reached_is_refused() {
        let check = |text: &str, expected: &str| {
            let message = text.parse::<DatabaseUrl>().unwrap_err().to_string();
            assert!(message.starts_with(expected), "{text}: {message}");
        };
        check("shop", "this names no database");
        check("mysql://a/b", "this names no database");
        check("dbname=shop", "this names no host");
        check("postgres://a/b?sslmode=require", "connections are made without TLS");
    }
}
