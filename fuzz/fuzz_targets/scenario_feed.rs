//! Reads any bytes as the rows of a feed, as CSV and as JSON lines: they are refused with the line, or become as many rows
//! as the feed says, each with a value in every column.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use prony_study::ScenarioFile;

fuzz_target!(|input: &[u8]| {
    let folder = std::env::temp_dir().join(format!("prony-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder can be written");
    for name in ["rows.csv", "rows.jsonl"] {
        fs::write(folder.join(name), input).expect("the temporary folder can be written");
        let text = format!("[feeds.f]\nfile = '{name}'\n[[flow]]\nname = 'a'\n[[flow.step]]");
        let Ok(file) = ScenarioFile::read(&folder.join("made.toml"), &text) else { continue };
        let feed = &file.scenario.feeds[0];
        assert_eq!(feed.data.len() as u64, feed.rows);
        for row in 0..feed.data.len() {
            assert!((0..feed.columns.len()).all(|column| feed.data.value(row, column).is_some()));
        }
    }
});
