use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rusqlite::types::ValueRef;

use super::super::fixture::on_both_addresses;
use super::super::past::{Measured, Past};
use super::super::{Store, files, tasks};
use super::*;
use prony_lab_model::BuildVerdict;
use prony_lab_model::clock::Moment;
use prony_lab_model::options::StoreAddress;

/// Builds with results, files and outputs.
fn fill(store: &Store) -> BuildId {
    let past = Past::new(store);
    let mut last = None;
    for number in 0..12 {
        let verdict = last.map(|last| (BuildVerdict::NoDifference, last));
        let results = vec![("p50", 2.0 + f64::from(number) / 7.0), ("rate", 1000.0)];
        let thresholds = vec![("p99 at most 50 ms", Some(true))];
        let measured = Measured { results, thresholds, verdict, ..Measured::default() };
        let build = past.build("main", &format!("{number:040x}"), measured);
        store
            .write_blocking(move |tx| {
                let text = format!("{{\"build\": {number}, \"text\": \"{}\"}}", "report ".repeat(100));
                files::put(tx, build, "report.json", text.as_bytes())?;
                files::put(tx, build, "runs/1.json", format!("{number}").as_bytes())?;
                let task = tasks::of(tx, build)?[0].id;
                let lines: Vec<_> = (0..200).map(|line| format!("line {line} of {number}\n")).collect();
                let output = lines.concat();
                tasks::write(tx, build, task, output.as_bytes(), Moment(5))
            })
            .expect("written");
        last = Some(build);
    }
    last.expect("some")
}

fn faults(address: &StoreAddress) -> Vec<String> {
    super::super::check(address).expect("checked").faults
}

#[test]
fn each_kind_of_row_is_compared_on_both_databases() {
    on_both_addresses(|address| {
        let store = Store::open(address).expect("a store");
        let build = fill(&store);
        let found = super::super::check(address).expect("checked");
        assert_eq!(found.faults, Vec::<String>::new());
        assert_eq!((found.compared, found.without), (12 * 4, 0));
        let changes = [
            ("UPDATE builds SET requested_by = 'lee' WHERE id = $1", "a row of build"),
            ("UPDATE tasks SET command = 'true' WHERE build_id = $1", "a row of build"),
            ("UPDATE results SET value = value + 1 WHERE build_id = $1", "a row of build"),
            ("DELETE FROM thresholds WHERE build_id = $1", "a row of build"),
            (
                "UPDATE files SET media_type = 'text/plain' WHERE build_id = $1",
                "the file report.json of build",
            ),
            (
                "DELETE FROM outputs WHERE task_id IN (SELECT id FROM tasks WHERE build_id = $1)",
                // What retention does, too.
                "",
            ),
        ];
        for (statement, expected) in changes {
            let undo = "a change that is rolled back";
            let change = move |tx: &mut Tx<'_>| {
                tx.execute(statement, values![build])?;
                let faults = check(tx, 20)?.faults;
                Err::<(), _>(StoreError::Missing(format!("{undo}: {}", faults.first().map_or("", |one| one))))
            };
            let Err(StoreError::Missing(found)) = store.write_blocking(change) else { panic!("{statement}") };
            let found = found.trim_start_matches(undo).trim_start_matches(": ");
            assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{found}");
        }
        assert_eq!(faults(address), Vec::<String>::new());
        // What is written by the store's own functions is sealed again.
        let task = store.read_blocking(|tx| tasks::of(tx, build)).expect("read")[0].clone();
        let state = prony_lab_model::TaskState::Cancelled;
        store
            .write_blocking(move |tx| tasks::end(tx, build, task.id, state, None, Some("late"), Moment(9)))
            .and_then(|()| {
                store.write_blocking(move |tx| {
                    super::super::builds::set_verdict(tx, build, BuildVerdict::Slower, None)
                })
            })
            .expect("written");
        assert_eq!(faults(address), Vec::<String>::new());
    });
}

/// Everything that has a checksum, as SQLite reads it.
fn contents(path: &Path) -> rusqlite::Result<Vec<Vec<u8>>> {
    let connection = rusqlite::Connection::open(path)?;
    let mut all = Vec::new();
    let ids = "SELECT id FROM builds ORDER BY id";
    let builds: Vec<i64> =
        connection.prepare(ids)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for build in builds {
        let more = [
            "SELECT name, media_type, size_bytes, deflated, bytes FROM files WHERE build_id = ?1 ORDER BY name",
            "SELECT task_id, piece, bytes FROM outputs WHERE task_id IN (SELECT id FROM tasks WHERE build_id = ?1) \
             ORDER BY task_id, piece",
        ];
        for part in PARTS.into_iter().chain(more) {
            let mut prepared = connection.prepare(&part.replace('$', "?"))?;
            let columns = prepared.column_count();
            let mut rows = prepared.query([build])?;
            while let Some(row) = rows.next()? {
                let mut bytes = Vec::new();
                for column in 0..columns {
                    match row.get_ref(column)? {
                        ValueRef::Text(text) | ValueRef::Blob(text) => bytes.extend_from_slice(text),
                        other => bytes.extend_from_slice(format!("{other:?}").as_bytes()),
                    }
                    bytes.push(0);
                }
                all.push(bytes);
            }
        }
    }
    Ok(all)
}

/// Bits that are flipped, all over the file.
const FLIPS: u64 = 600;

#[test]
fn no_bit_of_what_has_a_checksum_flips_unseen() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("lab.sqlite");
    let address = StoreAddress::Sqlite(whole.clone());
    fill(&Store::open(&address).expect("a store"));
    assert_eq!(faults(&address), Vec::<String>::new());
    let expected = contents(&whole).expect("read");
    let bits = whole.metadata().expect("there").len() * 8;
    let (mut found, mut harmless) = (0, 0);
    for flip in 0..FLIPS {
        // Spread evenly, over every place in a byte.
        let bit = (bits / FLIPS * flip + flip % 8).min(bits - 1);
        let path = folder.path().join(format!("flipped-{flip}.sqlite"));
        std::fs::copy(&whole, &path).expect("room");
        let file = std::fs::File::options().read(true).write(true).open(&path).expect("there");
        let mut byte = [0];
        file.read_exact_at(&mut byte, bit / 8).expect("there");
        file.write_all_at(&[byte[0] ^ (1 << (bit % 8))], bit / 8).expect("flipped");
        drop(file);
        // What can't be opened, or read, is found, too.
        let checked = super::super::check(&StoreAddress::Sqlite(path.clone()));
        if checked.is_ok_and(|check| check.faults.is_empty()) {
            assert_eq!(contents(&path).expect("read"), expected, "bit {bit} flipped, and nothing was found");
            harmless += 1;
        } else {
            found += 1;
        }
        std::fs::remove_file(&path).expect("ours");
    }
    assert_eq!(found + harmless, FLIPS);
    // Of free space, and of tables without checksums.
    assert!(found > FLIPS / 10, "{found} found, {harmless} without a consequence");
}
