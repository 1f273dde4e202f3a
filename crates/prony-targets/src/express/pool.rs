//! Connections to the database: made, kept, lent.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, NoTls, Row};

use super::error::Failure;
use crate::postgres::DatabaseUrl;

/// How long an answer is waited for beyond the time after which the database itself gives up: its "gave up" has to
/// come through.
const GRACE: Duration = Duration::from_secs(1);

/// Makes connections.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    config: Config,
    connect_limit: Duration,
    statement_limit: Duration,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    client: Client,
    /// Ends when the socket is closed.
    socket: JoinHandle<()>,
    answer_limit: Duration,
}

impl Connector {
    pub(super) fn new(url: &DatabaseUrl, connect_limit: Duration, statement_limit: Duration) -> Self {
        let mut config = url.config().clone();
        let own = format!("-c statement_timeout={}ms", statement_limit.as_millis());
        let options = config.get_options().map_or_else(|| own.clone(), |given| format!("{given} {own}"));
        config.options(options);
        Self { config, connect_limit, statement_limit }
    }

    pub(super) async fn connect(&self) -> Result<Connection, Failure> {
        let connecting = timeout(self.connect_limit, self.config.connect(NoTls));
        let Ok(connected) = connecting.await else {
            return Err(Failure::no_answer("the wish to connect", self.connect_limit));
        };
        let (client, connection) = connected?;
        let socket = tokio::spawn(async move {
            // Those that wait for an answer get the error, and those that come later find it closed.
            let _ = connection.await;
        });
        Ok(Connection { client, socket, answer_limit: self.statement_limit + GRACE })
    }
}

impl Connection {
    /// The rows that `statement` has, in one round trip.
    pub(super) async fn query(
        &self,
        statement: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Failure> {
        match timeout(self.answer_limit, self.client.query_typed(statement, parameters)).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(Failure::no_answer("a query", self.answer_limit)),
        }
    }

    /// Statements without parameters whose rows nobody wants.
    pub(super) async fn execute(&self, statements: &str) -> Result<(), Failure> {
        match timeout(self.answer_limit, self.client.batch_execute(statements)).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(Failure::no_answer("a statement", self.answer_limit)),
        }
    }

    /// Says good-bye, and waits until the connection is closed.
    pub(super) async fn close(self) {
        drop(self.client);
        // An end by panic is an end as well.
        let _ = self.socket.await;
    }

    fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}

/// A bounded number of connections that are lent to one query at a time. Who comes when all are lent waits for his
/// turn.
#[derive(Debug)]
pub(super) struct Pool {
    connector: Connector,
    turns: Semaphore,
    /// Connections that nobody has; the one that came back last goes first.
    idle: Mutex<Vec<Connection>>,
    wait_limit: Duration,
}

/// A connection of a pool. One that is not given back is closed, for there may be an answer under way on it.
#[derive(Debug)]
pub(super) struct Lent<'a> {
    pub(super) connection: Connection,
    pool: &'a Pool,
    /// Until it is dropped, nobody else gets this turn.
    _turn: SemaphorePermit<'a>,
}

impl Pool {
    /// A pool of `size` connections at most; none is made before it is needed.
    pub(super) fn new(connector: Connector, size: usize, wait_limit: Duration) -> Self {
        Self { connector, turns: Semaphore::new(size), idle: Mutex::default(), wait_limit }
    }

    pub(super) async fn lend(&self) -> Result<Lent<'_>, Failure> {
        let turn = match self.turns.try_acquire() {
            Ok(turn) => turn,
            Err(_) => match timeout(self.wait_limit, self.turns.acquire()).await {
                Ok(turn) => turn.expect("invariant: nobody closes the semaphore"),
                Err(_) => return Err(Failure::no_connection(self.wait_limit)),
            },
        };
        let connection = match self.take() {
            Some(connection) => connection,
            None => self.connector.connect().await?,
        };
        Ok(Lent { connection, pool: self, _turn: turn })
    }

    /// One that is idle and was not closed by the database meanwhile.
    fn take(&self) -> Option<Connection> {
        let mut idle = self.idle();
        std::iter::from_fn(|| idle.pop()).find(|connection| !connection.is_closed())
    }

    /// A list of connections can't be left half changed, so a panic elsewhere does not spoil it.
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent<'_> {
    /// Lets the next one have it.
    pub(super) fn give_back(self) {
        if !self.connection.is_closed() {
            self.pool.idle().push(self.connection);
        }
    }
}
