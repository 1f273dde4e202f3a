//! The journal and the spool after a crash at any byte.

use std::fs;

use prony_fleet::agent::{Entry, Journal, Spool, Spooled};
use prony_fleet::protocol::{Answer, PART_BYTES, Part, ResultKind};

use crate::fixture::run;

fn entry(number: u64) -> Entry {
    Entry {
        command: format!("c{number}"),
        run: run("r1"),
        epoch: 5,
        counter: number,
        answer: Answer::Accepted,
    }
}

fn result(id: &str) -> Spooled {
    Spooled {
        id: id.to_owned(),
        run: run("r1"),
        epoch: 5,
        slice: 0,
        attempt: 1,
        is: ResultKind::Finished,
        bytes: 0,
        sha256: String::new(),
    }
}

#[test]
fn a_journal_that_was_cut_keeps_what_was_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal.jsonl");
    let (mut journal, entries) = Journal::open(folder.path()).expect("a new journal");
    assert_eq!(entries, []);
    for number in 1..=3 {
        journal.append(&entry(number), Vec::new).expect("it can be written");
    }
    let whole = fs::read(&path).expect("it is there");
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).expect("it can be cut");
        let (_, entries) = Journal::open(folder.path()).expect("it can be read");
        // A line without its line feed may be whole.
        let lines = String::from_utf8_lossy(&whole[..length]).matches('\n').count();
        assert!(entries.len() == lines || entries.len() == lines + 1, "{length}");
        assert_eq!(entries, (1..=entries.len() as u64).map(entry).collect::<Vec<_>>());
    }
    fs::write(&path, b"x\n{}\n").expect("it can be damaged");
    assert!(Journal::open(folder.path()).expect_err("damaged").to_string().contains("journal.jsonl:1"));
}

#[test]
fn a_spool_has_whole_results_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let (spool, held) = Spool::open(folder.path()).expect("a new spool");
    assert_eq!(held, []);
    let bytes: Vec<u8> = (0..PART_BYTES + 10).map(|number| b"0123456789"[number % 10]).collect();
    let one = spool.put(result("one"), &bytes).expect("it can be written");
    let two = spool.put(Spooled { is: ResultKind::Failed, ..result("two") }, b"").expect("it can be written");
    assert_eq!((one.bytes, two.bytes), (bytes.len() as u64, 0));
    assert_eq!([Part::count(one.bytes), Part::count(two.bytes)], [2, 1]);
    let parts = [spool.part(&one, 0).expect("a part"), spool.part(&one, 1).expect("a part")];
    assert_eq!(parts.concat(), bytes);
    // A third one, cut before its `.about`; and one whose bytes are cut.
    let at = folder.path().join("spool");
    fs::write(at.join("three.json"), b"{").expect("it can be written");
    let (_, held) = Spool::open(folder.path()).expect("it can be read");
    assert_eq!(held, [one.clone(), two.clone()]);
    assert!(!at.join("three.json").exists());
    fs::write(at.join("one.json"), b"{").expect("it can be cut");
    let (spool, held) = Spool::open(folder.path()).expect("it can be read");
    assert_eq!(held, std::slice::from_ref(&two));
    spool.delete(&two).expect("it can be deleted");
    spool.delete(&two).expect("twice, too");
    assert_eq!(fs::read_dir(&at).expect("a folder").count(), 0);
}
