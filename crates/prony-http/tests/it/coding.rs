//! Bodies that others have coded: node's zlib for gzip, deflate and br, and the program zstd.

use std::io::Write as _;
use std::process::{Command, Stdio};

use prony_http::coding::{CodingError, decode};
use prony_testing::skip_without;

/// More than comes out of any of them.
const MOST: usize = 1 << 22;

/// Bodies of all kinds: empty, short, text that repeats, numbers without a pattern, and longer than most windows.
fn bodies() -> Vec<Vec<u8>> {
    let mut state = 1_u64;
    let mut random = |count: usize| -> Vec<u8> {
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_le_bytes()[5]
        };
        (0..count).map(next).collect()
    };
    let text = "{\"id\": 17, \"name\": \"a cup of tea\", \"tags\": [\"hot\", \"sweet\"]},\n";
    let numbers: Vec<String> = (0..20_000).map(|number| (number * number % 9973).to_string()).collect();
    vec![
        b"x".to_vec(),
        b"hello".to_vec(),
        text.repeat(3).into_bytes(),
        text.repeat(40_000).into_bytes(),
        numbers.join(", ").into_bytes(),
        random(1),
        random(70_000),
        random(1_000_000),
        [random(300), vec![0; 400_000], random(300)].concat(),
    ]
}

/// What `command` makes of `input`.
fn coded(command: &mut Command, input: &[u8]) -> Option<Vec<u8>> {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.ok()?;
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that ends early is noticed by its exit code.
            let _ended = stdin.write_all(input);
        });
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{command:?}");
        Some(output.stdout)
    })
}

/// `coded` is what another has made of `body`: it becomes `body` again, and whatever is missing at its end is noticed.
fn check(coding: &str, coded: &[u8], body: &[u8], how: &str) {
    let mut decoded = Vec::new();
    assert_eq!(
        decode(coding.as_bytes(), coded, MOST, &mut decoded),
        Ok(()),
        "{coding} {how}, {} bytes",
        body.len()
    );
    assert!(decoded == body, "{coding} {how}, {} bytes", body.len());
    for missing in [1, 2, coded.len() / 2, coded.len() - 1] {
        let cut = &coded[..coded.len() - missing.min(coded.len())];
        let result = decode(coding.as_bytes(), cut, MOST, &mut decoded);
        assert!(
            cut.is_empty() || result == Err(CodingError::Damaged),
            "{coding} {how} without {missing}: {result:?}"
        );
    }
    let result = decode(coding.as_bytes(), coded, body.len() - 1, &mut decoded);
    assert_eq!(result, Err(CodingError::TooLong), "{coding} {how}");
}

#[test]
fn bodies_of_node() {
    const SCRIPT: &str = r#"
const zlib = require("zlib"), chunks = [], [kind, level, window] = process.argv.slice(1);
process.stdin.on("data", (chunk) => chunks.push(chunk)).on("end", () => {
  const body = Buffer.concat(chunks), { BROTLI_PARAM_QUALITY: quality, BROTLI_PARAM_LGWIN: lgwin } = zlib.constants;
  process.stdout.write(
    kind == "br" ? zlib.brotliCompressSync(body, { params: { [quality]: +level, [lgwin]: +window } })
    : kind == "gzip" ? zlib.gzipSync(body, { level: +level })
    : zlib.deflateSync(body, { level: +level }));
});
"#;
    if Command::new("node").arg("--version").output().is_err() {
        return skip_without("node", "codings of node's zlib");
    }
    let ways = [
        ("br", "0", "22"),
        ("br", "1", "10"),
        ("br", "4", "16"),
        ("br", "5", "22"),
        ("br", "9", "24"),
        ("br", "11", "18"),
        ("gzip", "1", "0"),
        ("gzip", "9", "0"),
        ("deflate", "0", "0"),
        ("deflate", "6", "0"),
    ];
    for body in bodies() {
        for (coding, level, window) in ways {
            let coded = coded(Command::new("node").args(["-e", SCRIPT, "--", coding, level, window]), &body);
            let coded = coded.expect("node runs");
            check(coding, &coded, &body, &format!("quality {level}, window {window}"));
        }
    }
}

#[test]
fn bodies_of_zstd() {
    if Command::new("zstd").arg("--version").output().is_err() {
        return skip_without("zstd", "codings of zstd");
    }
    let ways: [&[&str]; 7] = [
        &["-1"],
        &["-3", "--no-check"],
        &["-9"],
        &["-19"],
        &["--fast=5"],
        &["-19", "--ultra", "--zstd=wlog=23"],
        &["-3", "--no-content-size"],
    ];
    for body in bodies() {
        for way in ways {
            let coded = coded(Command::new("zstd").args(["-q", "-c"]).args(way), &body).expect("zstd runs");
            check("zstd", &coded, &body, &way.join(" "));
        }
    }
    // A window of 128 MiB, which browsers refuse, too.
    let long = coded(Command::new("zstd").args(["-q", "-c", "--long=27", "--zstd=wlog=27"]), &bodies()[3]);
    let result = decode(b"zstd", &long.expect("zstd runs"), MOST, &mut Vec::new());
    assert_eq!(result, Err(CodingError::Window));
}
