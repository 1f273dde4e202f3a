//! The thread that has the connections to the database: requests in, outcomes out.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Receiver;

use super::error::{DatabaseError, Failure};
use super::pool::{Connector, Pool};
use super::queries::{self, Answer, Spans};
use super::routes::Route;
use super::{Config, Database};
use crate::StartError;
use crate::postgres::{DatabaseUrl, Postgres};
use crate::service::{Mailbox, Note, Ticket};

/// Requests under way at once, waits for a connection among them. Each takes about 1 KiB.
const WORK_LIMIT: usize = 10_000;
/// As many connections as the original allows Sequelize.
const USERS_POOL: usize = 4;
/// The table that `/seq1` reads, as Sequelize makes it from the original's model. The lock is for two servers that
/// start at once on one database: the number is this table's, and nobody else's as far as we know.
const PREPARE: &str = r#"
    BEGIN;
    SELECT pg_advisory_xact_lock(7120451133);
    DO $do$ BEGIN
        IF to_regclass('users') IS NULL THEN
            CREATE TABLE users (
                id serial PRIMARY KEY,
                username varchar(255),
                birthday timestamptz,
                "createdAt" timestamptz NOT NULL,
                "updatedAt" timestamptz NOT NULL
            );
            INSERT INTO users (username, birthday, "createdAt", "updatedAt")
            SELECT 'user' || n, timestamptz '1980-07-20 00:00Z' + n * interval '1 day', now(), now()
            FROM generate_series(1, 10) AS n;
        END IF;
    END $do$;
    COMMIT"#;

/// A request for the thread of the database.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) route: Route,
    /// Whose it is, and where its outcome goes.
    pub(super) ticket: Ticket,
    pub(super) mailbox: Arc<Mailbox<Outcome>>,
    pub(super) if_none_match: Option<Box<str>>,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) route: Route,
    pub(super) answer: Result<Answer, Failure>,
    pub(super) spans: Option<Spans>,
    pub(super) if_none_match: Option<Box<str>>,
}

/// What the queries need.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) connector: Connector,
    pub(super) pool: Pool,
    pub(super) users: Pool,
    /// The statement of `/pg2`.
    pub(super) now: String,
}

/// Reports through `started` how it began, and then works until nobody can ask it any more.
pub(super) fn run(config: Config, jobs: Receiver<Job>, started: &SyncSender<Result<(), StartError>>) {
    let report = |result| started.send(result).expect("invariant: the start waits for it");
    match begin(config) {
        Ok(Begun { runtime, source, postgres }) => {
            report(Ok(()));
            runtime.block_on(work(jobs, source.map(Arc::new)));
            // It may still look up a name, which nobody needs to wait for.
            runtime.shutdown_background();
            drop(postgres);
        }
        Err(error) => report(Err(error)),
    }
}

/// What the thread has while it runs.
struct Begun {
    runtime: Runtime,
    source: Option<Source>,
    /// Started by this thread, because it ends with the thread that started it.
    postgres: Option<Postgres>,
}

fn begin(mut config: Config) -> Result<Begun, StartError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| StartError::Resource { what: "an event loop", source })?;
    let (url, postgres) = match config.database.take() {
        None => return Ok(Begun { runtime, source: None, postgres: None }),
        Some(Database::Url(url)) => (url, None),
        Some(Database::Private(options)) => {
            let postgres = Postgres::start(&options)?;
            (postgres.url(), Some(postgres))
        }
    };
    let source = Source::new(&url, &config);
    runtime.block_on(source.prepare(&url))?;
    Ok(Begun { runtime, source: Some(source), postgres })
}

impl Source {
    fn new(url: &DatabaseUrl, config: &Config) -> Self {
        let connector = Connector::new(url, config.connect_timeout, config.statement_timeout);
        let pool = |size| Pool::new(connector.clone(), size, config.pool_timeout);
        let now = if config.pg_sleep.is_zero() {
            "SELECT NOW()".to_owned()
        } else {
            format!("SELECT NOW(), pg_sleep({})", config.pg_sleep.as_secs_f64())
        };
        Self { pool: pool(config.pool), users: pool(USERS_POOL), now, connector }
    }

    /// Finds out whether the database can be used, and makes what it lacks.
    async fn prepare(&self, url: &DatabaseUrl) -> Result<(), DatabaseError> {
        let connection =
            self.connector.connect().await.map_err(|failure| failure.at_start(url.to_string()))?;
        let prepared = connection.execute(PREPARE).await;
        connection.close().await;
        prepared
            .map_err(|failure| DatabaseError::Table { database: url.to_string(), message: failure.message })
    }
}

async fn work(mut jobs: Receiver<Job>, source: Option<Arc<Source>>) {
    let room = Arc::new(Semaphore::new(WORK_LIMIT));
    loop {
        let place = Arc::clone(&room).acquire_owned().await.expect("invariant: nobody closes the semaphore");
        let Some(job) = jobs.recv().await else { return };
        let source = source.clone();
        tokio::spawn(async move {
            let Job { route, ticket, mailbox, if_none_match } = job;
            let (answer, spans) = queries::answer(route, source).await;
            mailbox.post(ticket, Note::Outcome(Outcome { route, answer, spans, if_none_match }));
            drop(place);
        });
    }
}
