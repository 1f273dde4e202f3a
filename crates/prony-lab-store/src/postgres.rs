//! PostgreSQL's side of the seam.

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use postgres::error::SqlState;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, NoTls, SimpleQueryMessage, Statement};

use super::postgres_address::{PostgresAddress, Security};
use super::postgres_tls::Tls;
use super::session::{Dialect, Session};
use super::{Row, StoreError, Value};

/// A database that doesn't answer within this is not there.
const CONNECT: Duration = Duration::from_secs(10);
/// A peer that is silent for so long is gone: the lock of a lab whose machine went down must be free again.
const SILENCE: Duration = Duration::from_secs(20);
/// More statements than the lab has.
const STATEMENTS: usize = 256;

pub(crate) struct Postgres {
    client: Client,
    prepared: HashMap<String, Statement>,
    xid: Option<i64>,
}

impl Postgres {
    /// Connects to the database at `address`.
    pub(crate) fn open(address: &str) -> Result<Self, StoreError> {
        let PostgresAddress { mut config, security } = PostgresAddress::parse(address)?;
        config
            .connect_timeout(CONNECT)
            .application_name("prony lab")
            .keepalives_idle(SILENCE)
            .tcp_user_timeout(SILENCE);
        let connected = match security {
            Security::Plain => config.connect(NoTls),
            Security::Encrypted => config.connect(Tls::unverified()?),
            Security::Verified(roots) => config.connect(Tls::verified(roots.as_deref())?),
        };
        let mut client = connected.map_err(|error| StoreError::Unavailable(described(&error)))?;
        client
            .batch_execute(&format!(
                "SET synchronous_commit = on; SET client_min_messages = warning; SET tcp_user_timeout = {0}; \
                 SET tcp_keepalives_idle = {1}; SET tcp_keepalives_interval = 5",
                SILENCE.as_millis(),
                SILENCE.as_secs()
            ))
            .map_err(|error| from_postgres(&error))?;
        Ok(Self { client, prepared: HashMap::new(), xid: None })
    }

    fn statement(&mut self, statement: &str) -> Result<Statement, StoreError> {
        if let Some(prepared) = self.prepared.get(statement) {
            return Ok(prepared.clone());
        }
        let prepared = self.client.prepare(statement).map_err(|error| from_postgres(&error))?;
        if self.prepared.len() >= STATEMENTS {
            self.prepared.clear();
        }
        self.prepared.insert(statement.to_owned(), prepared.clone());
        Ok(prepared)
    }
}

impl Session for Postgres {
    fn execute(&mut self, statement: &str, values: &[Value]) -> Result<u64, StoreError> {
        let prepared = self.statement(statement)?;
        self.client.execute(&prepared, &parameters(values)).map_err(|error| from_postgres(&error))
    }

    fn each(
        &mut self,
        statement: &str,
        values: &[Value],
        read: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let prepared = self.statement(statement)?;
        let found =
            self.client.query(&prepared, &parameters(values)).map_err(|error| from_postgres(&error))?;
        let value = |row: &postgres::Row, column| row.try_get(column).map_err(|error| from_postgres(&error));
        for row in &found {
            read(Row((0..row.len()).map(|column| value(row, column)).collect::<Result<_, _>>()?))?;
        }
        Ok(())
    }

    fn batch(&mut self, statements: &str) -> Result<(), StoreError> {
        self.client.batch_execute(statements).map_err(|error| from_postgres(&error))
    }

    fn begin(&mut self, writes: bool) -> Result<(), StoreError> {
        self.xid = None;
        if !writes {
            return self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        }
        // Both in one message: the number costs no way of its own.
        let messages = self
            .client
            .simple_query("BEGIN; SELECT pg_current_xact_id()")
            .map_err(|error| from_postgres(&error))?;
        self.xid = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
            _ => None,
        });
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.client.batch_execute("COMMIT").map_err(|error| match from_postgres(&error) {
            StoreError::Unavailable(message) => StoreError::Unknown(message),
            other => other,
        })
    }

    fn xid(&self) -> Option<i64> {
        self.xid
    }

    fn commit_status(&mut self, xid: i64) -> Result<Option<bool>, StoreError> {
        let statement = "SELECT pg_xact_status(CAST($1 AS TEXT)::xid8)";
        let rows = self.query(statement, &[Value::Text(xid.to_string())])?;
        let found = rows.first().map_or(Ok(None), |row| row.maybe_text(0))?;
        Ok(match found.as_deref() {
            Some("committed") => Some(true),
            Some("aborted") => Some(false),
            // It is still being decided, or so old that nobody knows.
            _ => None,
        })
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn is_lost(&self) -> bool {
        self.client.is_closed()
    }
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl ToSql for Value {
    fn to_sql(
        &self,
        wanted: &Type,
        out: &mut postgres::types::private::BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(value) if *wanted == Type::INT4 => i32::try_from(*value)?.to_sql(wanted, out),
            Self::Int(value) if *wanted == Type::FLOAT8 => (*value as f64).to_sql(wanted, out),
            Self::Int(value) if *wanted == Type::INT8 => value.to_sql(wanted, out),
            Self::Real(value) if *wanted == Type::FLOAT8 => value.to_sql(wanted, out),
            Self::Text(value) if <&str as ToSql>::accepts(wanted) => value.to_sql(wanted, out),
            Self::Bytes(value) if *wanted == Type::BYTEA => value.to_sql(wanted, out),
            other => Err(format!("{other:?} where a {wanted} is wanted").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(found: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        match *found {
            Type::INT8 => i64::from_sql(found, raw).map(Self::Int),
            Type::INT4 => i32::from_sql(found, raw).map(|value| Self::Int(value.into())),
            Type::BOOL => bool::from_sql(found, raw).map(|value| Self::Int(value.into())),
            Type::FLOAT8 => f64::from_sql(found, raw).map(Self::Real),
            Type::BYTEA => <&[u8]>::from_sql(found, raw).map(|value| Self::Bytes(value.to_vec())),
            _ => <&str>::from_sql(found, raw).map(|value| Self::Text(value.to_owned())),
        }
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(found: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::BOOL, Type::FLOAT8, Type::BYTEA].contains(found)
            || <&str as FromSql>::accepts(found)
    }
}

fn from_postgres(error: &postgres::Error) -> StoreError {
    let message = described(error);
    let Some(code) = error.code() else {
        return if error.is_closed() || error.source().is_some_and(<dyn Error>::is::<std::io::Error>) {
            StoreError::Unavailable(message)
        } else {
            StoreError::Fault(message)
        };
    };
    // Classes by their first two characters (PostgreSQL 15, appendix A).
    match &code.code()[..2] {
        "08" | "57" => StoreError::Unavailable(message),
        "23" => StoreError::Conflict(message),
        "XX" => StoreError::Damaged(message),
        _ if *code == SqlState::DISK_FULL => StoreError::Full,
        _ if *code == SqlState::LOCK_NOT_AVAILABLE || *code == SqlState::T_R_DEADLOCK_DETECTED => {
            StoreError::Locked
        }
        _ => StoreError::Fault(message),
    }
}

/// The error with its causes, which is where the reason stands.
fn described(error: &postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(found) = cause {
        text = format!("{text}: {found}");
        cause = found.source();
    }
    text
}
