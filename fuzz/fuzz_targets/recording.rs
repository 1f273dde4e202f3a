//! Recorded traffic: nothing panics, no line is lost, and what is planned is a scenario in which nothing is wrong, with
//! moments in order. The first byte chooses the format.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use prony_import::replay::{self, FormatChoice, Recording, ReplayOptions, Selection};

const FORMATS: [&str; 4] =
    ["combined", "common", "json", "$msec [$time_local] \"$request\" $uri?$args $status $request_time|"];

fuzz_target!(|input: (u8, &[u8])| {
    let (choice, content) = input;
    let selection = Selection { methods: Vec::new(), ..Selection::default() };
    let opened = || replay::open_reader(Box::new(Cursor::new(content.to_vec())), "fuzzed".to_owned());
    let choice = usize::from(choice);
    if choice % 7 == 6 {
        if let Ok(mut opened) = opened()
            && let Ok(found) = replay::arrivals::read(&mut opened)
        {
            assert!(found.moments.as_slice().is_sorted() && found.count > 0);
        }
        return;
    }
    let read = opened().and_then(|mut opened| match FORMATS.get(choice % 7) {
        Some(format) => match FormatChoice::parse(format).expect("a format") {
            FormatChoice::Log(format) => replay::log::read(&mut opened, Some(&format), &selection),
            FormatChoice::Guess | FormatChoice::Har => unreachable!("they are formats of logs"),
        },
        None if choice % 7 == 4 => replay::log::read(&mut opened, None, &selection),
        None => replay::har::read(&mut opened, &selection),
    });
    match read {
        Err(error) => assert!(!error.problem().what.is_empty()),
        Ok(recording) => planned(recording),
    }
});

fn planned(recording: Recording) {
    let left_out: u64 = recording.left_out.values().sum();
    assert_eq!(recording.len() as u64 + left_out, recording.lines);
    let count = recording.len();
    let options = ReplayOptions {
        file: "fuzzed".to_owned(),
        sha256: String::new(),
        speed: 1.0,
        seed: 1,
        headers: Vec::new(),
    };
    let planned = recording.plan(&options).expect("the speed is one");
    assert!(planned.scenario.problems().is_empty(), "{:?}", planned.scenario.problems());
    assert!(planned.recorded.moments.as_slice().is_sorted());
    assert!((0..count).all(|row| planned.replay.rows.at(row).is_some()));
}
