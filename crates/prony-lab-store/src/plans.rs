//! What the databases do for a question, however long the queue is.

use super::fixture::{fresh_database, on_both_addresses};
use super::search::{Indexed, Source};
use super::session::{Dialect, Session};
use super::{Row, Store, StoreError, Tx, Value, builds, connect, counts, queue, search, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::options::StoreAddress;
use prony_lab_model::{BuildId, BuildState, ProjectId};

/// A session that has every query explained, and keeps the plans.
struct Explained {
    inner: Box<dyn Session>,
    plans: Vec<(String, String)>,
}

impl Explained {
    fn explain(&mut self, statement: &str, values: &[Value]) -> Result<String, StoreError> {
        let (word, column) = match self.inner.dialect() {
            Dialect::Sqlite => ("EXPLAIN QUERY PLAN", 3),
            Dialect::Postgres => ("EXPLAIN", 0),
        };
        let mut plan = String::new();
        self.inner.each(&format!("{word} {statement}"), values, &mut |row| {
            plan += &row.text(column)?;
            plan.push('\n');
            Ok(())
        })?;
        Ok(plan)
    }
}

impl Session for Explained {
    fn execute(&mut self, statement: &str, values: &[Value]) -> Result<u64, StoreError> {
        self.inner.execute(statement, values)
    }

    fn each(
        &mut self,
        statement: &str,
        values: &[Value],
        read: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if statement.starts_with("SELECT") {
            let plan = self.explain(statement, values)?;
            self.plans.push((statement.to_owned(), plan));
        }
        self.inner.each(statement, values, read)
    }

    fn batch(&mut self, statements: &str) -> Result<(), StoreError> {
        self.inner.batch(statements)
    }

    fn begin(&mut self, writes: bool) -> Result<(), StoreError> {
        self.inner.begin(writes)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.inner.commit()
    }

    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    fn is_lost(&self) -> bool {
        self.inner.is_lost()
    }
}

/// Everything that reads the queue for a page, a script or the worker.
fn views(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    builds::open(tx, 50)?;
    for state in [None, Some(BuildState::Queued), Some(BuildState::Failed)] {
        let filter = builds::Filter { state, ..builds::Filter::default() };
        builds::list(tx, &filter, builds::Page::Newest, 50)?;
    }
    builds::finished_of_branch(tx, ProjectId(1), "main", BuildId(i64::MAX), 30)?;
    builds::last_of_branch(tx, ProjectId(1), "main")?;
    builds::newest_of_projects(tx)?;
    queue::has_work(tx)?;
    queue::has_late(tx, Moment(1))?;
    queue::take(tx, Moment(1))?;
    queue::expire(tx, Moment(1))?;
    counts::all(tx)?;
    searches(tx)
}

/// Everything that a search reads.
fn searches(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let bounds = [BuildId(1), BuildId(9)];
    for source in [
        Source::All,
        Source::Project(ProjectId(1)),
        Source::State(BuildState::Queued),
        Source::Keys(Indexed::Commit, vec!["3f2a".to_owned()]),
        Source::Keys(Indexed::Branch, vec!["main".to_owned()]),
    ] {
        search::piece(tx, &source, bounds, 50)?;
    }
    for indexed in [Indexed::Commit, Indexed::Branch] {
        search::keys(tx, indexed, "3f", 1)?;
    }
    search::first_since(tx, Moment(1))?;
    search::notes(tx, BuildId(1), 1)?;
    Ok(())
}

/// Statistics without samples, as most programs make them: where builds have two states, they say that any state has half
/// of all builds.
#[test]
fn what_runs_is_found_whatever_the_statistics() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = StoreAddress::Sqlite(folder.path().join("lab.sqlite"));
    drop(Store::open(&address).expect("a store"));
    let mut inner = connect(&address).expect("a session");
    inner
        .batch(
            "INSERT INTO builds (kind, reference, priority, state, requested_by, requested_at, expires_at) \
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) \
             SELECT 'load', 'x', 0, CASE i % 7 WHEN 3 THEN 'failed' ELSE 'completed' END, 'kim', i, i FROM n; ANALYZE; \
             DROP TABLE IF EXISTS sqlite_stat4",
        )
        .expect("filled");
    drop(inner);
    // Statistics are read by a session that begins.
    let mut session = Explained { inner: connect(&address).expect("a session"), plans: Vec::new() };
    session.begin(true).expect("a transaction");
    let mut tx = Tx::new(&mut session, false);
    builds::open(&mut tx, 50).and_then(|_| counts::queue(&mut tx)).expect("they look");
    for (statement, plan) in &session.plans {
        let is_running = statement.contains("'running'");
        assert_eq!(plan.contains("builds_running"), is_running, "{statement}\n{plan}");
        assert!(!plan.contains("SCAN b"), "{statement}\n{plan}");
    }
    assert!(session.plans.len() >= 4, "{:?}", session.plans);
}

/// Statistics from before there was a queue, as PostgreSQL has them until it looks at the table again.
#[test]
fn postgresql_reads_the_queue_in_its_order_whatever_the_statistics() {
    let address = StoreAddress::Postgres(fresh_database());
    drop(Store::open(&address).expect("a store"));
    let mut inner = connect(&address).expect("a session");
    inner
        .batch(
            "INSERT INTO builds (kind, reference, priority, state, requested_by, requested_at, expires_at, ended_at) \
             SELECT 'load', 'x', 0, 'completed', 'kim', i, i, i FROM generate_series(1, 10000) AS n(i); ANALYZE builds; \
             INSERT INTO builds (kind, reference, priority, state, requested_by, requested_at, expires_at) \
             SELECT 'load', 'x', 0, 'queued', 'kim', i, i FROM generate_series(1, 2000) AS n(i)",
        )
        .expect("filled");
    let mut session = Explained { inner, plans: Vec::new() };
    session.begin(true).expect("a transaction");
    let found = builds::open(&mut Tx::new(&mut session, false), 50).expect("they look");
    assert_eq!(found.len(), 50);
    let (_, plan) =
        session.plans.iter().find(|(statement, _)| statement.contains("'queued'")).expect("it is asked");
    assert!(plan.contains("builds_queue") && !plan.contains("Sort"), "{plan}");
}

#[test]
fn no_view_of_the_queue_sorts_it_or_goes_through_all_builds() {
    on_both_addresses(|address| {
        drop(Store::open(address).expect("a store"));
        let mut inner = connect(address).expect("a session");
        if inner.dialect() == Dialect::Postgres {
            // Over the few rows of a test it would sort all the same; without, only where there is no other way.
            inner
                .batch("SET enable_sort = off; SET enable_seqscan = off; SET enable_bitmapscan = off")
                .expect("set");
        }
        let mut session = Explained { inner, plans: Vec::new() };
        session.begin(true).expect("a transaction");
        views(&mut Tx::new(&mut session, false)).expect("they look");
        assert!(session.plans.len() >= 21, "{:?}", session.plans);
        for (statement, plan) in &session.plans {
            // Few builds run at once.
            let is_long = !statement.contains("'running'");
            let sorts = is_long && (plan.contains("TEMP B-TREE FOR ORDER BY") || plan.contains("Sort"));
            let goes_through = plan.lines().any(|line| {
                let line = line.trim();
                (line == "SCAN b" || line == "SCAN builds") && !statement.contains("1 = 1")
                    || line.contains("Seq Scan on") && !line.contains("Seq Scan on projects")
            });
            assert!(!sorts && !goes_through, "{statement}\n{plan}");
        }
        let one = "SELECT id FROM builds ORDER BY reference";
        let plan = session.explain(one, values![]).expect("explained");
        assert!(
            plan.contains("TEMP B-TREE FOR ORDER BY") || plan.contains("Sort"),
            "it would be seen: {plan}"
        );
    });
}
