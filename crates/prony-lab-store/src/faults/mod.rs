//! What must hold when the lab is killed, the disk is full, somebody keeps the database locked, or PostgreSQL restarts:
//! what was answered is there, once, and afterwards it goes on.

mod log;
mod rounds;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prony_targets::postgres::Postgres;
use rustix::process::{Pid, Signal, kill_process};

use super::fixture::postgres_options;
use super::tests::epoch;
use super::write_lease::WriteLease;
use super::{Row, Store, StoreError, Tx, builds, projects};
use prony_lab_model::clock::{self, Moment};
use prony_lab_model::log::LogEntry;
use prony_lab_model::options::StoreAddress;
use prony_lab_model::{BuildId, BuildRequest, Definition};

/// Clients that request builds at once.
const CLIENTS: u32 = 8;
/// More builds than there is room for.
const BUILDS_MAX: u32 = 20_000;

fn register(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    projects::register(tx, &"a".parse().expect("a name"), DEFINITION, Moment(1)).map(drop)
}

const DEFINITION: &str = "folder = \"/srv/a\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"";

/// Accepts a build with a reference of its own.
fn accept(tx: &mut Tx<'_>, reference: &str) -> Result<BuildId, StoreError> {
    let project = projects::by_name(tx, "a")?.expect("it was registered");
    let definition = Definition::read(DEFINITION).expect("a definition");
    let request = BuildRequest { reference: reference.to_owned(), ..BuildRequest::default() };
    builds::accept(tx, &request.checked(project.id, &definition, "kim", Moment(5)).expect("a request"))
}

/// A SQLite store whose writing session `change` has changed.
fn changed(change: &str) -> (tempfile::TempDir, StoreAddress, Store) {
    let folder = tempfile::tempdir().expect("a folder");
    let address = StoreAddress::Sqlite(folder.path().join("lab.sqlite"));
    let (mut lease, _) = WriteLease::open(&address).expect("a store");
    lease.session().query(change, &[]).expect("changed");
    let store = Store::over(lease, Vec::new(), &address).expect("a store");
    store.write_blocking(register).expect("a project");
    (folder, address, store)
}

fn count(store: &Store) -> i64 {
    store.read_blocking(|tx| tx.number("SELECT COUNT(*) FROM builds", &[])).expect("read")
}

#[test]
fn a_full_disk_is_reported_and_nothing_is_accepted_until_there_is_room() {
    // An empty store has about 60 pages.
    let (_folder, _, store) = changed("PRAGMA max_page_count = 200");
    let mut accepted = 0;
    let refused = (0..BUILDS_MAX).find_map(|number| {
        let wanted = store.write_blocking(move |tx| accept(tx, &format!("build{number}")));
        accepted += i64::from(wanted.is_ok());
        wanted.err()
    });
    assert_eq!(refused, Some(StoreError::Full));
    assert!(refused.is_some_and(|error| error.retry_after().is_some()));
    assert_eq!(count(&store), accepted);
    store.write_blocking(|tx| tx.query("PRAGMA max_page_count = 100000", &[], |_| Ok(()))).expect("room");
    store.write_blocking(|tx| accept(tx, "one-more")).expect("it goes on");
    assert_eq!(count(&store), accepted + 1);
}

/// The folder that is a small disk of its own.
const DISK: &str = "PRONY_LAB_FAULT_DISK";
/// What the store, its log and what else is there may take together.
const DISK_SIZE: &str = "12m";
/// What is in the way until it is removed: most of it, so that then all of the log finds room in the database, too, and a
/// copy of both beside them.
const BALLAST_BYTES: usize = 10 << 20;
/// Says in the child's output that all was as it should be.
const GOOD: &str = "the disk was full and is not";

#[test]
fn a_really_full_disk_is_reported_too() {
    if let Ok(folder) = std::env::var(DISK) {
        return on_small_disk(Path::new(&folder));
    }
    let folder = tempfile::tempdir().expect("a folder");
    // In a namespace of its own, so that nobody else sees the mount, and nothing is left of it.
    let script = format!("mount -t tmpfs -o size={DISK_SIZE} tmpfs \"$0\" || exit 99; exec \"$@\"");
    let name = "faults::a_really_full_disk_is_reported_too";
    let output = Command::new("unshare")
        .args(["--mount", "--user", "--map-root-user", "sh", "-c", &script])
        .arg(folder.path())
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", name])
        .env(DISK, folder.path())
        .output()
        .expect("util-linux is everywhere");
    let stdout = String::from_utf8_lossy(&output.stdout);
    // Where users may not have namespaces there is no disk to fill; the limit of pages above is what remains.
    let has_no_disk =
        output.status.code() == Some(99) || String::from_utf8_lossy(&output.stderr).contains("unshare");
    assert!(has_no_disk || stdout.contains(GOOD), "{output:?}");
    if has_no_disk {
        prony_testing::skip(name, "users may not mount a small disk here (unshare --mount --user)");
    }
}

fn on_small_disk(folder: &Path) {
    let address = StoreAddress::Sqlite(folder.join("lab.sqlite"));
    let store = Store::open(&address).expect("a store");
    store.write_blocking(register).expect("a project");
    let ballast = folder.join("ballast");
    std::fs::write(&ballast, vec![1; BALLAST_BYTES]).expect("room");
    let mut accepted = 0;
    let refused = (0..BUILDS_MAX).find_map(|number| {
        let wanted = store.write_blocking(move |tx| accept(tx, &format!("build{number}")));
        accepted += i64::from(wanted.is_ok());
        wanted.err()
    });
    assert_eq!(refused, Some(StoreError::Full));
    assert_eq!(count(&store), accepted);
    std::fs::remove_file(&ballast).expect("there");
    store.write_blocking(|tx| accept(tx, "one-more")).expect("it goes on");
    accepted += 1;
    // As a kill leaves it: the files as they are, without the index of the log.
    let killed = folder.join("killed");
    std::fs::create_dir(&killed).expect("room");
    for name in ["lab.sqlite", "lab.sqlite-wal", "lab.lock"] {
        std::fs::copy(folder.join(name), killed.join(name)).expect("room");
    }
    drop(store);
    for address in [address, StoreAddress::Sqlite(killed.join("lab.sqlite"))] {
        assert!(fill(&ballast) > 0);
        start_on_full_disk(&address, accepted, &ballast);
    }
    // There is nothing to read in one that begins.
    assert!(fill(&ballast) > 0);
    let new = StoreAddress::Sqlite(folder.join("new.sqlite"));
    let refused = Store::open(&new).err().expect("the disk is full").to_string();
    assert!(refused.starts_with("start on a full disk: ") && refused.contains("; free 100 MB"), "{refused}");
    std::io::stdout().write_all(GOOD.as_bytes()).expect("the parent listens");
}

/// Starts on a store with `accepted` builds while `ballast` fills the disk: it shows what it has and accepts nothing,
/// until the ballast is removed.
fn start_on_full_disk(address: &StoreAddress, accepted: i64, ballast: &Path) {
    let store = Store::open(address).expect("it can be read");
    assert_eq!(store.notes(), [super::waiting::NOTE]);
    for reference in ["two-more", "three-more"] {
        assert_eq!(count(&store), accepted, "{address:?}");
        let refused = store.write_blocking(move |tx| accept(tx, reference));
        assert_eq!(refused, Err(StoreError::Full), "{address:?}");
    }
    assert_eq!(store.probe_blocking(), Err(StoreError::Full));
    // Readers at once, of which each has the index of the log for itself.
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| assert_eq!(count(&store), accepted));
        }
    });
    std::fs::remove_file(ballast).expect("there");
    store.write_blocking(|tx| accept(tx, "two-more")).expect("it goes on without a restart");
    assert_eq!(count(&store), accepted + 1, "{address:?}");
    let log: Vec<_> = store.log().taken().iter().map(LogEntry::text).collect();
    assert!(log.iter().any(|line| line.contains("the disk has room again")), "{log:?}");
    drop(store);
    assert_eq!(count(&Store::open(address).expect("as ever")), accepted + 1);
}

/// Takes all that is left of a disk; how many bytes.
fn fill(path: &Path) -> u64 {
    let mut file = std::fs::File::create(path).expect("an entry needs no room");
    while file.write_all(&[1; 4096]).is_ok() {}
    file.metadata().expect("there").len()
}

#[test]
fn a_lock_of_another_program_is_reported_and_pages_still_load() {
    let (_folder, address, store) = changed("PRAGMA busy_timeout = 50");
    let StoreAddress::Sqlite(path) = &address else { panic!("{address:?}") };
    let other = rusqlite::Connection::open(path).expect("opened");
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    assert_eq!(store.write_blocking(|tx| accept(tx, "one")), Err(StoreError::Locked));
    assert_eq!(count(&store), 0);
    other.execute_batch("ROLLBACK").expect("free again");
    store.write_blocking(|tx| accept(tx, "one")).expect("it goes on");
    assert_eq!(count(&store), 1);
}

#[test]
fn a_lab_whose_store_was_taken_over_meanwhile_writes_no_more() {
    let postgres = Postgres::start(&postgres_options()).expect("PostgreSQL; ./test installs it");
    let address = StoreAddress::Postgres(url(&postgres));
    let first = Store::open(&address).expect("a store");
    first.write_blocking(register).expect("a project");
    end_session(&first, &postgres);
    let second = Store::open(&address).expect("the lock is free");
    assert_eq!(epoch(&second), 2);
    let refused = first.write_blocking(|tx| accept(tx, "one"));
    assert!(matches!(refused, Err(StoreError::InUse(_))), "{refused:?}");
    drop(second);
    let refused = first.write_blocking(|tx| accept(tx, "one"));
    assert!(
        matches!(&refused, Err(StoreError::InUse(problem)) if problem.what.contains("its epoch is 2")),
        "{refused:?}"
    );
    assert_eq!(count(&first), 0, "what there is can still be read");
    let log: Vec<_> = first.log().taken().iter().map(LogEntry::text).collect();
    assert!(log.last().is_some_and(|line| line.contains("nothing is written any more")), "{log:?}");
}

#[test]
fn a_lab_whose_session_was_ended_takes_its_store_back() {
    let postgres = Postgres::start(&postgres_options()).expect("PostgreSQL; ./test installs it");
    let store = Store::open(&StoreAddress::Postgres(url(&postgres))).expect("a store");
    store.write_blocking(register).expect("a project");
    end_session(&store, &postgres);
    store.write_blocking(|tx| accept(tx, "one")).expect("it goes on");
    assert_eq!(count(&store), 1);
}

/// Has the server end the session that writes.
fn end_session(store: &Store, postgres: &Postgres) {
    let process = store.write_blocking(|tx| tx.number("SELECT pg_backend_pid()", &[])).expect("a number");
    let mut other = postgres::Client::connect(&url(postgres), postgres::NoTls).expect("PostgreSQL");
    // With a limit of time it waits until the process has ended.
    let ended =
        other.query_one(&format!("SELECT pg_terminate_backend({process}, 10000)"), &[]).expect("ended");
    assert!(ended.get::<_, bool>(0));
}

fn url(postgres: &Postgres) -> String {
    format!("host={} user=prony dbname=postgres", postgres.socket_folder().display())
}

#[test]
fn what_was_answered_survives_crashes_of_postgresql_and_it_goes_on() {
    let postgres = Postgres::start(&postgres_options()).expect("PostgreSQL; ./test installs it");
    let store = Store::open(&StoreAddress::Postgres(url(&postgres))).expect("a store");
    store.write_blocking(register).expect("a project");
    let is_over = AtomicBool::new(false);
    let mut answers = Vec::new();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (store, is_over) = (&store, &is_over);
                scope.spawn(move || {
                    let mut answers = Vec::new();
                    while !is_over.load(Ordering::Acquire) {
                        let reference = format!("c{client}b{}", answers.len());
                        let wanted = reference.clone();
                        answers.push((reference, store.write_blocking(move |tx| accept(tx, &wanted))));
                    }
                    answers
                })
            })
            .collect();
        for _ in 0..3 {
            crash(&store);
        }
        is_over.store(true, Ordering::Release);
        for client in clients {
            answers.extend(client.join().expect("no panic"));
        }
    });
    let read = |row: &Row| Ok((row.text(0)?, BuildId(row.int(1)?)));
    let rows =
        store.read_blocking(|tx| tx.query("SELECT reference, id FROM builds", &[], read)).expect("read");
    let found: BTreeMap<String, BuildId> = rows.iter().cloned().collect();
    assert_eq!(found.len(), rows.len(), "a build is there twice");
    let mut refused = 0;
    for (reference, answer) in &answers {
        match answer {
            Ok(id) => assert_eq!(found.get(reference), Some(id), "{reference} was answered"),
            Err(StoreError::Unavailable(_)) => {
                refused += 1;
                assert_eq!(found.get(reference), None, "{reference} was refused");
            }
            Err(StoreError::Unknown(_)) => refused += 1,
            Err(error) => panic!("{reference}: {error:?}"),
        }
    }
    assert!(refused > 0, "the crashes were noticed");
    let log: Vec<_> = store.log().taken().iter().map(LogEntry::text).collect();
    let count = |words: &str| log.iter().filter(|line| line.contains(words)).count();
    assert!(count("does not answer") > 0, "{log:?}");
    // One entry for each outage, not for each try, and one for its end.
    assert_eq!(count("does not answer"), count("answers again"), "{log:?}");
    assert!(log.len() <= 3 * 2, "{log:?}");
}

/// Has the whole PostgreSQL crash, by the end of the session that writes: it ends every other, too, and starts over
/// from what is durable. Returns when it writes and reads again.
fn crash(store: &Store) {
    let session = || store.write_blocking(|tx| tx.number("SELECT pg_backend_pid()", &[]));
    let before = session().expect("a number");
    let process = Pid::from_raw(i32::try_from(before).expect("a process")).expect("not 0");
    kill_process(process, Signal::KILL).expect("it is this user's, or this user is root");
    let until = clock::steady() + Duration::from_mins(1);
    loop {
        let written = session();
        let read = store.read_blocking(|tx| tx.number("SELECT 1", &[]));
        if written.as_ref().is_ok_and(|after| *after != before) && read.is_ok() {
            return;
        }
        assert!(clock::steady() < until, "not within a minute: {written:?}, {read:?}");
    }
}
