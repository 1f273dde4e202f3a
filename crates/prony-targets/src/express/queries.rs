//! What the routes ask of the database, and how its answers are written.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::task::JoinSet;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use super::calendar::iso;
use super::database::Source;
use super::error::Failure;
use super::pool::Pool;
use super::routes::Route;
use crate::clock::monotonic_ns;

/// Queries at once on the routes that have several.
const AT_ONCE: usize = 10;
/// Rows of `users` that are read at most; the original reads all.
const USERS: &str = r#"SELECT id, username, birthday, "createdAt", "updatedAt" FROM users LIMIT 1000"#;
/// Timers of `/promise`: the original counts from 50 down to 0.
const TIMERS: u32 = 51;
/// What Node.js makes of a timer of 0 ms.
const TIMER: Duration = Duration::from_millis(1);

/// A body and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// Express sends any text as HTML.
    Text(String),
    Json(String),
}

/// Where the time of a request went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spans {
    /// Until there was a connection, ns.
    pub(super) wait_ns: u64,
    /// From then to the answer, ns.
    pub(super) query_ns: u64,
}

/// What came of it, and how long it took.
type Timed<T> = (Result<T, Failure>, Spans);

/// Does what a route asks for. Without a database there is no time to report.
pub(super) async fn answer(
    route: Route,
    source: Option<Arc<Source>>,
) -> (Result<Answer, Failure>, Option<Spans>) {
    if route == Route::Promise {
        let mut timers = tokio::time::interval(TIMER);
        // The first one is over at once.
        for _ in 0..=TIMERS {
            timers.tick().await;
        }
        return (Ok(Answer::Text("promise: true".to_owned())), None);
    }
    let Some(source) = source else { return (Err(Failure::no_database()), None) };
    let text = |(result, spans): Timed<String>| (result.map(Answer::Text), spans);
    let (answer, spans) = match route {
        Route::NewConnection => text(message(&source).await),
        Route::Pooled => {
            let (now, spans) = now(source).await;
            (now.map(|now| Answer::Json(format!("\"{now}\""))), spans)
        }
        Route::PooledAtOnce => text(list(at_once(|| result(Arc::clone(&source))).await)),
        Route::Users => text(users(source).await),
        Route::UsersAtOnce => text(list(at_once(|| users(Arc::clone(&source))).await)),
        Route::Hello | Route::Promise => unreachable!("invariant: answered without the database"),
    };
    (answer, Some(spans))
}

/// A connection for one query.
async fn message(source: &Source) -> Timed<String> {
    let began_ns = monotonic_ns();
    let connected = source.connector.connect().await;
    let connected_ns = monotonic_ns();
    let result = match connected {
        Ok(connection) => {
            let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 1] =
                [(&"Hello world!", Type::TEXT)];
            let rows = connection.query("SELECT $1::text AS message", &parameters).await;
            connection.close().await;
            rows.and_then(|rows| Ok(only(&rows)?.try_get(0)?))
        }
        Err(failure) => Err(failure),
    };
    let spans = Spans { wait_ns: connected_ns - began_ns, query_ns: monotonic_ns() - connected_ns };
    (result, spans)
}

/// The moment of the database, as JSON has it.
async fn now(source: Arc<Source>) -> Timed<String> {
    let (rows, spans) = pooled(&source.pool, &source.now).await;
    (rows.and_then(|rows| Ok(iso(only(&rows)?.try_get(0)?))), spans)
}

/// The same as node-postgres shows a result, as far as it describes the result.
async fn result(source: Arc<Source>) -> Timed<String> {
    let (rows, spans) = pooled(&source.pool, "SELECT NOW()").await;
    let shown = rows.and_then(|rows| {
        let now: SystemTime = only(&rows)?.try_get(0)?;
        Ok(format!(r#"{{"command":"SELECT","rowCount":1,"oid":null,"rows":[{{"now":"{}"}}]}}"#, iso(now)))
    });
    (shown, spans)
}

async fn users(source: Arc<Source>) -> Timed<String> {
    let (rows, spans) = pooled(&source.users, USERS).await;
    let shown = rows.and_then(|rows| {
        let users = rows.iter().map(user).collect::<Result<Vec<_>, Error>>()?;
        Ok(format!("[{}]", users.join(",")))
    });
    (shown, spans)
}

fn user(row: &Row) -> Result<String, Error> {
    let (id, name): (i32, Option<&str>) = (row.try_get(0)?, row.try_get(1)?);
    let name = name.map_or(serde_json::Value::Null, serde_json::Value::from);
    let birthday: Option<SystemTime> = row.try_get(2)?;
    let birthday = birthday.map_or_else(|| "null".to_owned(), |moment| format!("\"{}\"", iso(moment)));
    let (created, updated) = (iso(row.try_get(3)?), iso(row.try_get(4)?));
    Ok(format!(
        r#"{{"id":{id},"username":{name},"birthday":{birthday},"createdAt":"{created}","updatedAt":"{updated}"}}"#
    ))
}

/// One query on a connection of a pool.
async fn pooled(pool: &Pool, statement: &str) -> Timed<Vec<Row>> {
    let began_ns = monotonic_ns();
    let lent = pool.lend().await;
    let lent_ns = monotonic_ns();
    let result = match lent {
        Ok(lent) => {
            let rows = lent.connection.query(statement, &[]).await;
            if rows.as_ref().err().is_none_or(Failure::is_about_the_query) {
                lent.give_back();
            }
            rows
        }
        Err(failure) => Err(failure),
    };
    (result, Spans { wait_ns: lent_ns - began_ns, query_ns: monotonic_ns() - lent_ns })
}

/// Does the same ten times at once: all of it, or the failure of one; and of each span the longest.
async fn at_once<W>(make: impl Fn() -> W) -> Timed<Vec<String>>
where
    W: Future<Output = Timed<String>> + Send + 'static,
{
    let mut together: JoinSet<Timed<String>> = (0..AT_ONCE).map(|_| make()).collect();
    let (mut all, mut longest) = (Ok(Vec::with_capacity(AT_ONCE)), Spans::default());
    while let Some(done) = together.join_next().await {
        let (result, spans) = done.expect("invariant: queries neither panic nor are aborted");
        longest.wait_ns = longest.wait_ns.max(spans.wait_ns);
        longest.query_ns = longest.query_ns.max(spans.query_ns);
        all = all.and_then(|mut all: Vec<String>| {
            all.push(result?);
            Ok(all)
        });
    }
    (all, longest)
}

fn list((parts, spans): Timed<Vec<String>>) -> Timed<String> {
    (parts.map(|parts| format!("[{}]", parts.join(","))), spans)
}

/// The row of a query that always has one.
fn only(rows: &[Row]) -> Result<&Row, Failure> {
    rows.first().ok_or_else(Failure::no_row)
}
