//! What must hold whatever the database.

use super::erased::{erased, restored};
use super::fixture::{on_both, on_both_addresses};
use super::{Store, StoreError, builds, projects, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::options::StoreAddress;
use prony_lab_model::{BuildId, BuildRequest, BuildState, Definition, NewBuild};

fn new_build(tx: &mut super::Tx<'_>) -> Result<NewBuild, StoreError> {
    let text = "folder = \"/srv/a\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"";
    let project = projects::register(tx, &"a".parse().expect("a name"), text, Moment(1))?;
    let definition = Definition::read(text).expect("a definition");
    Ok(BuildRequest::default().checked(project, &definition, "kim", Moment(5)).expect("a request"))
}

fn accepted(store: &Store) -> BuildId {
    store
        .write_blocking(|tx| {
            let new = new_build(tx)?;
            builds::accept(tx, &new)
        })
        .expect("accepted")
}

#[test]
fn what_was_accepted_is_there_after_the_end_of_the_store() {
    on_both_addresses(|address| {
        let store = Store::open(address).expect("a store");
        let id = accepted(&store);
        drop(store);
        let store = Store::open(address).expect("the same store");
        let found = store.read_blocking(|tx| builds::one(tx, id)).expect("read").expect("there");
        assert_eq!(found.build.state, BuildState::Queued);
        assert_eq!(found.build.project_name.as_deref(), Some("a"));
        let names: Vec<_> = found.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["checkout", "compile"]);
    });
}

#[test]
fn an_error_undoes_its_own_write_alone() {
    on_both(|store| {
        let version = store.version();
        let failed = store.write_blocking(|tx| {
            let new = new_build(tx)?;
            builds::accept(tx, &new)?;
            Err::<(), _>(StoreError::Missing("it".to_owned()))
        });
        assert_eq!(failed, Err(StoreError::Missing("it".to_owned())));
        let kept = accepted(store);
        let all = store
            .read_blocking(|tx| builds::list(tx, &builds::Filter::default(), builds::Page::Newest, 10))
            .expect("read");
        assert_eq!(all.iter().map(|build| build.id).collect::<Vec<_>>(), [kept]);
        assert!(store.version() > version);
    });
}

#[test]
fn only_one_of_two_moves_a_build() {
    on_both(|store| {
        let id = accepted(store);
        let advance = || {
            store.write_blocking(move |tx| {
                builds::advance(tx, id, BuildState::Queued, BuildState::Assigned, None, Moment(9))
            })
        };
        assert_eq!(advance(), Ok(()));
        assert!(matches!(advance(), Err(StoreError::Conflict(_))));
    });
}

#[test]
fn a_fault_of_ours_takes_nobody_elses_write_with_it() {
    on_both(|store| {
        let failed = store.write_blocking(|tx| tx.execute("INSERT INTO nowhere VALUES (1)", &[]));
        assert!(matches!(failed, Err(StoreError::Fault(_))), "{failed:?}");
        let panicked = store.write_blocking(|_| -> Result<(), StoreError> { panic!("on purpose") });
        assert!(matches!(panicked, Err(StoreError::Fault(_))), "{panicked:?}");
        accepted(store);
    });
}

#[test]
fn pages_go_both_ways() {
    on_both(|store| {
        let ids: Vec<_> = (0..5).map(|_| accepted(store)).collect();
        let page = |page| {
            let found = store.read_blocking(|tx| builds::list(tx, &builds::Filter::default(), page, 2));
            found.expect("read").iter().map(|build| build.id).collect::<Vec<_>>()
        };
        assert_eq!(page(builds::Page::Newest), [ids[4], ids[3]]);
        assert_eq!(page(builds::Page::Before(ids[3])), [ids[2], ids[1]]);
        assert_eq!(page(builds::Page::After(ids[0])), [ids[2], ids[1]]);
    });
}

#[test]
fn only_one_lab_at_a_time_has_a_store() {
    on_both_addresses(|address| {
        let first = Store::open(address).expect("a store");
        let refused = Store::open(address).map(drop).expect_err("there is one already");
        let StoreError::InUse(problem) = refused else { panic!("{refused:?}") };
        let words = problem.to_string();
        assert!(words.contains(&format!("process {} on ", std::process::id())), "{words}");
        assert!(words.contains("stop that one first"), "{words}");
        drop(first);
        Store::open(address).expect("it is free again");
    });
}

#[test]
fn every_lab_has_an_epoch_of_its_own() {
    on_both_addresses(|address| {
        let epochs: Vec<_> = (0..3).map(|_| epoch(&Store::open(address).expect("a store"))).collect();
        assert_eq!(epochs, [1, 2, 3]);
    });
}

#[test]
fn a_newer_store_is_left_alone() {
    on_both_addresses(|address| {
        let store = Store::open(address).expect("a store");
        store
            .write_blocking(|tx| tx.execute("UPDATE lab SET value = '999' WHERE key = 'version'", &[]))
            .expect("written");
        drop(store);
        let refused = Store::open(address).map(drop).expect_err("too new");
        assert!(matches!(refused, StoreError::Newer { found: 999, .. }), "{refused:?}");
    });
}

#[test]
fn nobody_else_can_read_the_files() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lab.sqlite");
    std::fs::write(&path, "").expect("written");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(&path, open).expect("opened to all");
    let store = Store::open(&StoreAddress::Sqlite(path)).expect("a store");
    accepted(&store);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder.path()).expect("a folder") {
        let entry = entry.expect("an entry");
        names.push(entry.file_name().into_string().expect("text"));
        assert_eq!(entry.metadata().expect("there").mode() & 0o077, 0, "{names:?}");
    }
    names.sort();
    assert_eq!(names, ["lab.lock", "lab.sqlite", "lab.sqlite-shm", "lab.sqlite-wal"]);
}

#[test]
fn a_store_is_checked_after_a_lab_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = StoreAddress::Sqlite(folder.path().join("lab.sqlite"));
    let notes = || Store::open(&address).map(|store| store.notes().to_vec());
    assert_eq!(notes(), Ok(vec![]));
    assert_eq!(notes(), Ok(vec![]), "after an end in good order");
    // What a killed lab leaves.
    std::fs::write(folder.path().join("lab.lock"), "process 1 on a machine").expect("written");
    let texts = notes().expect("whole");
    assert!(matches!(&texts[..], [one] if one.contains("the store is whole")), "{texts:?}");
    let file = std::fs::OpenOptions::new().write(true).open(folder.path().join("lab.sqlite")).expect("there");
    let length = file.metadata().expect("there").len();
    let page = 4096;
    for at in (page..length).step_by(4096) {
        std::os::unix::fs::FileExt::write_all_at(&file, &[0xA5; 64], at).expect("damaged");
    }
    std::fs::write(folder.path().join("lab.lock"), "process 1 on a machine").expect("written");
    assert!(matches!(notes(), Err(StoreError::Damaged(_))), "{:?}", notes());
}

#[test]
fn a_write_that_fails_first_or_last_leaves_the_others() {
    on_both(|store| {
        // All three reach the writer before it has begun with the first, which it holds up.
        let (go, gone) = std::sync::mpsc::sync_channel::<()>(1);
        let held =
            store.writer.submit(erased(move |_| gone.recv().map_err(|_| StoreError::Closed))).expect("taken");
        let fail = || {
            let work = |_: &mut super::Tx<'_>| Err::<(), _>(StoreError::Missing("it".to_owned()));
            store.writer.submit(erased(work)).expect("taken")
        };
        let accept = || {
            let work = |tx: &mut super::Tx<'_>| {
                let new = new_build(tx)?;
                builds::accept(tx, &new)
            };
            store.writer.submit(erased(work)).expect("taken")
        };
        let (a, first, b, c, last) = (fail(), accept(), fail(), fail(), accept());
        go.send(()).expect("it waits");
        held.blocking_recv().expect("answered").expect("done");
        for failed in [a, b, c] {
            let failed = failed.blocking_recv().expect("answered").map(drop);
            assert_eq!(failed, Err(StoreError::Missing("it".to_owned())));
        }
        let ids = [first, last]
            .map(|kept| kept.blocking_recv().expect("answered").map(restored::<BuildId>).expect("kept"));
        let all = store
            .read_blocking(|tx| builds::list(tx, &builds::Filter::default(), builds::Page::Newest, 10))
            .expect("read");
        assert_eq!(all.iter().map(|build| build.id).collect::<Vec<_>>(), [ids[1], ids[0]]);
    });
}

/// The epoch of the lab that took the store over last.
pub(super) fn epoch(store: &Store) -> i64 {
    let statement = "SELECT CAST(value AS BIGINT) FROM lab WHERE key = 'epoch'";
    store.read_blocking(|tx| tx.number(statement, &[])).expect("it has one")
}

/// The builds of a store, the newest first.
fn ids(store: &Store) -> Vec<BuildId> {
    let all =
        store.read_blocking(|tx| builds::list(tx, &builds::Filter::default(), builds::Page::Newest, 100));
    all.expect("read").iter().map(|build| build.id).collect()
}

#[test]
fn a_copy_is_whole_made_while_a_lab_runs_and_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = StoreAddress::Sqlite(folder.path().join("lab.sqlite"));
    let copy = folder.path().join("copy");
    let store = Store::open(&address).expect("a store");
    let kept = accepted(&store);
    let made = super::backup(&address, &copy).expect("a copy");
    assert_eq!((made.builds, made.kept), (1, None));
    let mode = std::os::unix::fs::MetadataExt::mode(&copy.metadata().expect("there"));
    assert_eq!(mode & 0o077, 0);
    let again = super::backup(&address, &copy).expect_err("it is there");
    assert!(matches!(again, StoreError::Copy { .. }), "{again:?}");
    let lost = accepted(&store);
    let refused = super::restore(&address, &copy).expect_err("a lab runs");
    assert!(matches!(refused, StoreError::InUse(_)), "{refused:?}");
    drop(store);

    let restored = super::restore(&address, &copy).expect("no lab runs");
    let before = restored.kept.expect("there was a store");
    let store = Store::open(&address).expect("the copy");
    assert_eq!(ids(&store), [kept]);
    assert_eq!(epoch(&store), 2, "an epoch never comes again");
    drop(store);
    let old = Store::open(&StoreAddress::Sqlite(before)).expect("what was there before");
    assert_eq!(ids(&old), [lost, kept]);
    assert_eq!(super::check(&address).expect("checked").faults, Vec::<String>::new());
    let names = std::fs::read_dir(folder.path()).expect("a folder").flatten();
    let left = names.filter(|name| name.file_name().to_string_lossy().ends_with(".unfinished"));
    assert_eq!(left.count(), 0);
}

#[test]
fn what_is_no_whole_lab_is_not_put_in_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = StoreAddress::Sqlite(folder.path().join("lab.sqlite"));
    let store = Store::open(&address).expect("a store");
    let kept = accepted(&store);
    drop(store);
    let file = folder.path().join("copy");
    let refused = || super::restore(&address, &file).expect_err("not a copy");
    assert!(matches!(refused(), StoreError::Missing(_)), "{:?}", refused());
    std::fs::write(&file, "a text, and a long one: no database begins so").expect("written");
    assert!(matches!(refused(), StoreError::Damaged(_)), "{:?}", refused());
    std::fs::remove_file(&file).expect("removed");
    rusqlite::Connection::open(&file)
        .and_then(|other| other.execute_batch("CREATE TABLE a (b)"))
        .expect("made");
    assert!(matches!(refused(), StoreError::Missing(_)), "{:?}", refused());
    std::fs::remove_file(&file).expect("removed");
    super::backup(&address, &file).expect("a copy");
    let damaged = std::fs::OpenOptions::new().write(true).open(&file).expect("there");
    for page in 1..damaged.metadata().expect("there").len() / 4096 {
        std::os::unix::fs::FileExt::write_all_at(&damaged, &[0xA5; 64], page * 4096).expect("damaged");
    }
    assert!(matches!(refused(), StoreError::Damaged(_)), "{:?}", refused());
    assert_eq!(ids(&Store::open(&address).expect("as it was")), [kept]);
}

#[test]
fn postgresql_is_copied_by_its_own_programs() {
    let address = StoreAddress::Postgres("postgres://kim:secret@db/lab".to_owned());
    let message = super::backup(&address, std::path::Path::new("a.dump")).expect_err("not here").to_string();
    assert!(
        message.ends_with("run: pg_dump --format=custom --file='a.dump' 'postgres://kim@db/lab'"),
        "{message}"
    );
}

#[test]
fn an_audit_log_that_was_changed_is_a_fault() {
    on_both_addresses(|address| {
        let store = Store::open(address).expect("a store");
        let entry = |tx: &mut super::Tx<'_>| super::audit::append(tx, Moment(1), "kim", "log in", "kim", "");
        store.write_blocking(entry).and_then(|()| store.write_blocking(entry)).expect("noted");
        assert_eq!(super::check(address).expect("checked").faults, Vec::<String>::new());
        let change = "UPDATE audit SET actor = 'lee' WHERE id = 1";
        store.write_blocking(|tx| tx.execute(change, &[])).expect("changed");
        let faults = super::check(address).expect("checked").faults;
        assert_eq!(faults, ["entry 1 of the audit log was changed, or one before it was removed"]);
    });
}

#[test]
fn the_log_of_sqlite_does_not_grow_without_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lab.sqlite");
    let store = Store::open(&StoreAddress::Sqlite(path.clone())).expect("a store");
    let log = folder.path().join("lab.sqlite-wal");
    for round in 0..400 {
        // Each changes about 260 pages; all together they would be 400 MiB.
        let text = "x".repeat(1 << 20);
        store
            .write_blocking(move |tx| {
                let statement = "INSERT INTO settings (key, value) VALUES ($1, $2) \
                                 ON CONFLICT (key) DO UPDATE SET value = excluded.value";
                tx.execute(statement, values!["text", text])
            })
            .expect("written");
        let length = log.metadata().expect("there").len();
        assert!(length < 128 << 20, "{length} bytes after round {round}");
    }
}

#[test]
fn sessions_of_readers_are_kept_and_not_opened_again() {
    on_both(|store| {
        std::thread::scope(|scope| {
            for _ in 0..READING {
                scope.spawn(|| {
                    for _ in 0..50 {
                        store.read_blocking(|tx| builds::open(tx, 10)).expect("read");
                    }
                });
            }
        });
        let opened = store.readers.opened();
        assert!(opened <= READING, "{opened} sessions for {READING} readers");
    });
}

/// Threads that read at once.
const READING: usize = 12;
