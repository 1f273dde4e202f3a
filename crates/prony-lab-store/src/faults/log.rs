//! SQLite's log is half of the database: nobody removes it from under a lab, and a lab from under which it is removed
//! writes no more.

use std::path::{Path, PathBuf};

use super::super::{Store, StoreError};
use super::rounds::read_from_outside;
use super::{accept, count, register};
use prony_lab_model::options::StoreAddress;

fn store() -> (tempfile::TempDir, StoreAddress, Store) {
    let folder = tempfile::tempdir().expect("a folder");
    let address = StoreAddress::Sqlite(folder.path().join("lab.sqlite"));
    let store = Store::open(&address).expect("a store");
    store.write_blocking(register).expect("a project");
    (folder, address, store)
}

fn log(folder: &Path) -> PathBuf {
    folder.join("lab.sqlite-wal")
}

#[test]
fn the_log_stays_when_another_program_opens_and_closes_the_database() {
    let (folder, address, store) = store();
    store.write_blocking(|tx| accept(tx, "one")).expect("accepted");
    assert_eq!(count(&store), 1, "somebody looked at a page");
    read_from_outside(&address);
    assert!(log(folder.path()).exists(), "its log was removed");
    store.write_blocking(|tx| accept(tx, "two")).expect("accepted");
    read_from_outside(&address);
    assert_eq!(count(&store), 2);
}

#[test]
fn a_lab_whose_log_was_removed_answers_nothing_more_and_keeps_what_it_knows() {
    let (folder, address, store) = store();
    store.write_blocking(|tx| accept(tx, "one")).expect("accepted");
    std::fs::remove_file(log(folder.path())).expect("there");
    for reference in ["two", "three"] {
        let refused = store.write_blocking(move |tx| accept(tx, reference)).expect_err("its log is gone");
        let StoreError::LogRemoved { rescued, .. } = &refused else { panic!("{refused:?}") };
        assert_eq!(refused.retry_after(), None);
        let rescued = rescued.clone().expect("there was room for a copy");
        let found = rusqlite::Connection::open(&rescued).expect("opened");
        let read = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let one = "SELECT COUNT(*) FROM builds WHERE reference = 'one'";
        assert_eq!(found.query_row(one, [], read), Ok(1), "what was answered");
    }
    drop(store);
    drop(address);
}

#[test]
fn a_copy_that_was_rescued_takes_the_place_of_what_is_left() {
    let (folder, address, store) = store();
    store.write_blocking(|tx| accept(tx, "one")).expect("accepted");
    std::fs::remove_file(log(folder.path())).expect("there");
    let refused = store.write_blocking(|tx| accept(tx, "two")).expect_err("its log is gone");
    let StoreError::LogRemoved { rescued: Some(rescued), .. } = refused else { panic!("{refused:?}") };
    // As a kill leaves the lock: with the name of who had it.
    let lock = folder.path().join("lab.lock");
    let left = std::fs::read(&lock).expect("read");
    drop(store);
    std::fs::write(&lock, left).expect("written");
    super::super::restore(&address, &rescued).expect("restored");
    let store = Store::open(&address).expect("it goes on");
    let one = "SELECT COUNT(*) FROM builds WHERE reference = 'one'";
    assert_eq!(store.read_blocking(|tx| tx.number(one, &[])), Ok(1));
    store.write_blocking(|tx| accept(tx, "three")).expect("accepted");
}

#[test]
fn a_start_without_the_log_of_a_killed_lab_is_refused() {
    let (folder, address, store) = store();
    store.write_blocking(|tx| accept(tx, "one")).expect("accepted");
    // As a kill leaves it: the files as they are, with the name of who had them.
    let copy = tempfile::tempdir().expect("a folder");
    for name in ["lab.sqlite", "lab.sqlite-wal", "lab.lock"] {
        std::fs::copy(folder.path().join(name), copy.path().join(name)).expect("copied");
    }
    drop(store);
    drop(address);
    let left = StoreAddress::Sqlite(copy.path().join("lab.sqlite"));
    std::fs::rename(log(copy.path()), copy.path().join("elsewhere")).expect("moved");
    let refused = Store::open(&left).map(drop).expect_err("its log is gone");
    assert!(matches!(refused, StoreError::LogRemoved { .. }), "{refused:?}");
    std::fs::remove_file(log(copy.path())).ok();
    std::fs::rename(copy.path().join("elsewhere"), log(copy.path())).expect("moved back");
    assert_eq!(count(&Store::open(&left).expect("it is whole again")), 1);
}
