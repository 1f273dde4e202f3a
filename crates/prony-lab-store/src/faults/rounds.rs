//! Rounds of faults, each drawn from a seed of its own: the lab is killed while clients request builds, while another
//! program opens and closes its database, its disk is full for a while, or its PostgreSQL restarts.
//!
//! `PRONY_LAB_FAULT_SEED=N` repeats one round, `PRONY_LAB_FAULT_ROUNDS=N` asks for more of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prony_targets::postgres::Postgres;
use rand::{RngExt as _, SeedableRng as _};
use rustix::process::{Pid, Signal, getpid, kill_process};

use super::super::fixture::postgres_options;
use super::super::session::{Dialect, Session};
use super::super::write_lease::WriteLease;
use super::super::{Row, Store, StoreError, Tx, Value, builds};
use super::{accept, register, url};
use prony_lab_model::auth::random;
use prony_lab_model::clock::{self, Moment};
use prony_lab_model::options::StoreAddress;
use prony_lab_model::{BuildId, BuildState};

/// The order for a child: the store and the seed of its round.
const ORDER: &str = "PRONY_LAB_FAULT_CHILD";
/// A script that reads the database.
const OUTSIDE: &str = "import sqlite3, sys\n\
                       database = sqlite3.connect(sys.argv[1])\n\
                       database.execute('SELECT COUNT(*) FROM builds').fetchall()\n\
                       database.close()";
/// How often the lab is killed on each database; `just faults` asks for 200.
const ROUNDS: &str = "PRONY_LAB_FAULT_ROUNDS";
const USUAL_ROUNDS: u32 = 40;
/// Repeats the round of this seed alone.
const SEED: &str = "PRONY_LAB_FAULT_SEED";
const TEST: &str = "faults::rounds::nothing_answered_is_lost_or_done_twice_when_the_lab_is_killed";
/// Clients that request builds at once.
const CLIENTS: u32 = 8;
/// Commits of a child before the one that it is killed at, at most.
const COMMITS_MAX: u32 = 40;
/// A child that isn't killed by then has not met its fault.
const BUILDS_MAX: u32 = 20_000;
/// How long a PostgreSQL may take to recover from a crash.
const RECOVERY: Duration = Duration::from_mins(1);
/// Transactions that a full disk refuses before there is room again.
const REFUSALS: u32 = 5;

/// Where a child is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Just before a commit.
    Before,
    /// When it is durable and nobody has been answered.
    After,
    /// From outside, while whatever is going on goes on.
    Whenever,
}

/// What happens in a round.
#[derive(Debug, Clone, Copy)]
struct Round {
    seed: u64,
    end: End,
    /// The commit, or for [`End::Whenever`] the answer, at which the lab is killed.
    number: u32,
    /// The commit after which another program opens the database, reads and closes it.
    outside: Option<u32>,
    /// The commit after which the disk is full for a while.
    full: Option<u32>,
    /// The answer at which PostgreSQL crashes.
    crash: Option<u32>,
}

impl Round {
    fn draw(seed: u64, is_sqlite: bool) -> Self {
        let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
        let number = random.random_range(1..=COMMITS_MAX);
        let outside = random.random_bool(0.5).then(|| random.random_range(0..number));
        let trouble = random.random_bool(0.3).then(|| random.random_range(0..number));
        let (full, crash) = if is_sqlite { (trouble, None) } else { (None, trouble) };
        // The session that counts commits doesn't survive a crash of its database.
        let end = match random.random_range(0..3) {
            0 if crash.is_none() => End::Before,
            1 if crash.is_none() => End::After,
            _ => End::Whenever,
        };
        Self { seed, end, number, outside, full, crash }
    }
}

/// A session whose commits meet what the round has for them.
struct Doomed {
    inner: Box<dyn Session>,
    round: Round,
    address: StoreAddress,
    commits: u32,
    refusals_left: u32,
}

impl Doomed {
    fn happens(at: Option<u32>, commits: u32) -> bool {
        at.is_some_and(|at| at + 1 == commits)
    }
}

impl Session for Doomed {
    fn execute(&mut self, statement: &str, values: &[Value]) -> Result<u64, StoreError> {
        self.inner.execute(statement, values)
    }

    fn each(
        &mut self,
        statement: &str,
        values: &[Value],
        read: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.inner.each(statement, values, read)
    }

    fn batch(&mut self, statements: &str) -> Result<(), StoreError> {
        self.inner.batch(statements)
    }

    fn begin(&mut self, writes: bool) -> Result<(), StoreError> {
        if self.refusals_left > 0 {
            self.refusals_left -= 1;
            if self.refusals_left == 0 {
                self.inner.query("PRAGMA max_page_count = 1000000", &[])?;
            }
        }
        self.inner.begin(writes)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let is_last = self.commits + 1 == self.round.number;
        if is_last && self.round.end == End::Before {
            die();
        }
        self.inner.commit()?;
        self.commits += 1;
        if is_last && self.round.end == End::After {
            die();
        }
        if Self::happens(self.round.outside, self.commits) {
            read_from_outside(&self.address);
        }
        if Self::happens(self.round.full, self.commits) {
            self.inner.query("PRAGMA max_page_count = 1", &[])?;
            self.refusals_left = REFUSALS;
        }
        Ok(())
    }

    fn xid(&self) -> Option<i64> {
        self.inner.xid()
    }

    fn commit_status(&mut self, xid: i64) -> Result<Option<bool>, StoreError> {
        self.inner.commit_status(xid)
    }

    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    fn is_lost(&self) -> bool {
        self.inner.is_lost()
    }
}

fn die() {
    kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
    // The signal comes to this thread, too.
    loop {
        std::thread::park();
    }
}

/// Has another program read the database at `address`, from opening it to closing it. For SQLite with the system's
/// own library: since 3.51 it takes better care of a log whose locks were lost, and others have older ones.
pub(super) fn read_from_outside(address: &StoreAddress) {
    match address {
        StoreAddress::Sqlite(path) => {
            let status = Command::new("python3")
                .args(["-c", OUTSIDE])
                .arg(path)
                .stdin(Stdio::null())
                .status()
                .expect("Python; ./test installs it");
            assert!(status.success(), "{status}");
        }
        StoreAddress::Postgres(url) => {
            // While it recovers from a crash there is nothing to read.
            if let Ok(mut client) = postgres::Client::connect(url, postgres::NoTls) {
                let _ = client.query_one("SELECT COUNT(*) FROM builds", &[]);
            }
        }
    }
}

#[test]
fn nothing_answered_is_lost_or_done_twice_when_the_lab_is_killed() {
    if let Ok(order) = std::env::var(ORDER) {
        return child(&order);
    }
    let rounds = std::env::var(ROUNDS).map_or(USUAL_ROUNDS, |text| text.parse().expect("a number"));
    let only: Option<u64> = std::env::var(SEED).ok().map(|text| text.parse().expect("a number"));
    let seeds: Vec<u64> = match only {
        Some(seed) => vec![seed],
        None => (0..rounds).map(|_| u64::from_le_bytes(random())).collect(),
    };
    let folder = tempfile::tempdir().expect("a folder");
    // One of its own: crashes would end the sessions of other tests.
    let postgres = Postgres::start(&postgres_options()).expect("PostgreSQL; ./test installs it");
    let addresses =
        [StoreAddress::Sqlite(folder.path().join("lab.sqlite")), StoreAddress::Postgres(url(&postgres))];
    for address in addresses {
        let is_sqlite = matches!(address, StoreAddress::Sqlite(_));
        let mut reported = Reported::default();
        Store::open(&address)
            .and_then(|store| store.write_blocking(register))
            .expect("a store with a project");
        for (number, &seed) in seeds.iter().enumerate() {
            let round = Round::draw(seed, is_sqlite);
            let context =
                format!("{}, round {number}: {round:?}", if is_sqlite { "SQLite" } else { "PostgreSQL" });
            eprintln!("{context}");
            reported.run_child(&address, round);
            let store = opened(&address, &context);
            reported.check(&store, &context);
        }
        assert!(!reported.accepted.is_empty());
        eprintln!(
            "{}: {} rounds, {} requests accepted, {} refused, {} builds taken; none is lost and none is there twice",
            if is_sqlite { "SQLite" } else { "PostgreSQL" },
            seeds.len(),
            reported.accepted.len(),
            reported.refused.len(),
            reported.taken.len()
        );
    }
}

/// The store, once its database is there again.
fn opened(address: &StoreAddress, context: &str) -> Store {
    let until = clock::steady() + RECOVERY;
    loop {
        match Store::open(address) {
            Ok(store) => return store,
            Err(StoreError::Unavailable(_)) if clock::steady() < until => {}
            Err(error) => panic!("{context}: {error}"),
        }
    }
}

/// What the children reported that they did.
#[derive(Default)]
struct Reported {
    accepted: BTreeMap<String, BuildId>,
    refused: BTreeSet<String>,
    taken: BTreeSet<BuildId>,
}

impl Reported {
    /// Runs a child to its end.
    fn run_child(&mut self, address: &StoreAddress, round: Round) {
        let place = match address {
            StoreAddress::Sqlite(path) => format!("sqlite\n{}", path.display()),
            StoreAddress::Postgres(url) => format!("postgres\n{url}"),
        };
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", TEST])
            .env(ORDER, format!("{place}\n{}", round.seed))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut answers = 0;
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        for line in lines.map(|line| line.expect("text")) {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["accepted", reference, id] => {
                    let id = BuildId(id.parse().expect("a number"));
                    assert_eq!(self.accepted.insert(reference.to_owned(), id), None, "{reference}");
                }
                ["refused", reference] => {
                    self.refused.insert(reference.to_owned());
                    // Only what was done counts, so that a child always gets somewhere.
                    continue;
                }
                ["taken", id] => {
                    let id = BuildId(id.parse().expect("a number"));
                    assert!(self.taken.insert(id), "{round:?}: {id} was taken twice");
                }
                // What the test runner prints.
                _ => continue,
            }
            answers += 1;
            if let (Some(at), StoreAddress::Postgres(url)) = (round.crash, address)
                && at + 1 == answers
            {
                crash(url);
            }
            if round.end == End::Whenever && answers == round.number {
                child.kill().expect("it lives or has ended");
            }
        }
        let status = child.wait().expect("it ends");
        let killed = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(killed, Some(9), "{round:?}: {status}");
    }

    fn check(&self, store: &Store, context: &str) {
        let statement = "SELECT reference, id, state FROM builds ORDER BY id";
        let read = |row: &Row| Ok((row.text(0)?, BuildId(row.int(1)?), row.word::<BuildState>(2)?));
        let rows = store.read_blocking(|tx| tx.query(statement, &[], read)).expect("read");
        let references: BTreeSet<&String> = rows.iter().map(|row| &row.0).collect();
        assert_eq!(references.len(), rows.len(), "{context}: a build is there twice");
        let found: BTreeMap<_, _> = rows.iter().map(|(reference, id, _)| (reference.clone(), *id)).collect();
        for (reference, id) in &self.accepted {
            assert_eq!(found.get(reference), Some(id), "{context}: {reference} was answered");
        }
        for reference in &self.refused {
            assert_eq!(found.get(reference), None, "{context}: {reference} was refused");
        }
        let numbers: BTreeSet<&BuildId> = self.accepted.values().collect();
        assert_eq!(numbers.len(), self.accepted.len(), "{context}: a number was given twice");
        for (_, id, state) in &rows {
            let is_queued = *state == BuildState::Queued;
            assert!(!(is_queued && self.taken.contains(id)), "{context}: {id} would be done twice");
        }
        let whole =
            "SELECT COUNT(*) FROM builds b WHERE (SELECT COUNT(*) FROM tasks t WHERE t.build_id = b.id) <> 2";
        assert_eq!(store.read_blocking(|tx| tx.number(whole, &[])), Ok(0), "{context}: half a build");
    }
}

/// Has the whole PostgreSQL crash, by the end of one of its sessions.
fn crash(url: &str) {
    let mut client = postgres::Client::connect(url, postgres::NoTls).expect("PostgreSQL");
    let process: i32 = client.query_one("SELECT pg_backend_pid()", &[]).expect("a number").get(0);
    let process = Pid::from_raw(process).expect("not 0");
    kill_process(process, Signal::KILL).expect("it is this user's, or this user is root");
}

/// Takes the build whose turn it is, if there is one.
fn take(tx: &mut Tx<'_>) -> Result<Option<BuildId>, StoreError> {
    let open = builds::open(tx, 1_000)?;
    let Some(next) = open.iter().find(|build| build.state == BuildState::Queued) else { return Ok(None) };
    builds::advance(tx, next.id, BuildState::Queued, BuildState::Assigned, None, Moment(6))?;
    builds::advance(tx, next.id, BuildState::Assigned, BuildState::Running, None, Moment(7))?;
    builds::advance(tx, next.id, BuildState::Running, BuildState::Failed, None, Moment(8))?;
    Ok(Some(next.id))
}

/// A lab with clients and a worker, until it is killed.
fn child(order: &str) {
    let lines: Vec<&str> = order.lines().collect();
    let [kind, place, seed] = lines[..] else { panic!("{order}") };
    let address = match kind {
        "sqlite" => StoreAddress::Sqlite(place.into()),
        _ => StoreAddress::Postgres(place.to_owned()),
    };
    let (lease, _) = WriteLease::open(&address).expect("a store");
    let round = Round::draw(seed.parse().expect("a number"), kind == "sqlite");
    let to = address.clone();
    let lease =
        lease.wrapped(|inner| Box::new(Doomed { inner, round, address: to, commits: 0, refusals_left: 0 }));
    let store = Store::over(lease, Vec::new(), &address).expect("a store");
    let say = |line: String| std::io::stdout().write_all(line.as_bytes()).expect("the parent listens");
    let number = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                for _ in 0..BUILDS_MAX / CLIENTS {
                    let reference = format!("r{seed}n{}", number.fetch_add(1, Ordering::Relaxed));
                    let wanted = reference.clone();
                    match store.write_blocking(move |tx| accept(tx, &wanted)) {
                        Ok(id) => say(format!("accepted {reference} {id}\n")),
                        // Whether it counts is not known.
                        Err(StoreError::Unknown(_)) => {}
                        Err(error) => {
                            assert!(error.retry_after().is_some(), "{error}");
                            say(format!("refused {reference}\n"));
                        }
                    }
                    // Somebody opens a page; while PostgreSQL restarts there is none.
                    let _ = store.read_blocking(|tx| builds::open(tx, 10));
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..BUILDS_MAX {
                match store.write_blocking(take) {
                    Ok(Some(id)) => say(format!("taken {id}\n")),
                    Ok(None) => {}
                    Err(error) => assert!(error.retry_after().is_some(), "{error}"),
                }
            }
        });
    });
}
