//! The file of `--json`: refused before the load, written whole or not at all.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;

use crate::binary::prony;
use crate::folder::Folder;
use crate::server::Server;

/// Whatever is wrong with the file is reported before anything is sent.
fn refused(path: &str, what: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let output = prony(&[&url, "-n", "1", "--json", path]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
    assert!(output.err.starts_with(&format!("error: {what}")), "{output:?}");
    listener.set_nonblocking(true).expect("a socket");
    let arrived = listener.accept().map_err(|error| error.kind());
    assert_eq!(arrived.expect_err("no connection"), ErrorKind::WouldBlock);
}

#[test]
fn a_file_that_cant_be_written() {
    refused("/nonexistent/folder/result.json", "can't write /nonexistent/folder/result.json (No such file");
    refused("/proc/result.json", "can't write /proc/result.json (");
    refused("/dev/null/result.json", "can't write /dev/null/result.json (Not a directory");
}

#[test]
fn a_file_that_exists_and_a_directory() {
    let folder = Folder::new("exists");
    let file = folder.0.join("result.json");
    fs::write(&file, "precious").expect("a file");
    let (file, directory) = (file.display().to_string(), folder.0.display().to_string());
    refused(&file, &format!("{file} exists"));
    refused(&directory, &format!("{directory} is a directory"));
    assert_eq!(fs::read_to_string(&file).expect("still there"), "precious");
    assert_eq!(folder.names(), ["result.json"]);
}

#[test]
fn a_load_that_fails_leaves_no_file() {
    let folder = Folder::new("fails");
    let file = folder.0.join("result.json").display().to_string();
    let output = prony(&["http://no-such-host.invalid/", "-n", "1", "--json", &file]);
    assert_ne!(output.code, Some(0));
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[test]
fn a_result_is_written_whole() {
    let folder = Folder::new("whole");
    let file = folder.0.join("result.json").display().to_string();
    let server = Server::good();
    let output = prony(&[&server.url, "-n", "20", "-c", "2", "--json", &file]);
    assert!(output.is_measured(), "{output:?}");
    assert!(output.out.contains("SUCCESS   100 %     20 of 20 requests"), "{output:?}");
    let text = fs::read_to_string(&file).expect("the file is there");
    assert_eq!(prony_model::from_json(&text).expect("a result").requests.done, 20);
    assert_eq!(folder.names(), ["result.json"]);
    let again = prony(&[&server.url, "-n", "5", "-c", "1", "--json", &file, "--force"]);
    assert!(again.is_measured(), "{again:?}");
    let text = fs::read_to_string(&file).expect("the file is there");
    assert_eq!(prony_model::from_json(&text).expect("a result").requests.done, 5);
    assert_eq!(folder.names(), ["result.json"]);
}

#[test]
fn samples_are_written_one_by_one_and_fit_the_result() {
    let folder = Folder::new("samples");
    let (samples, json) = (folder.0.join("samples.csv"), folder.0.join("result.json"));
    let (samples, json) = (samples.display().to_string(), json.display().to_string());
    let server = Server::good();
    let arguments = [&server.url, "-n", "200", "-c", "4", "--samples", &samples, "--json", &json, "-q"];
    let output = prony(&arguments);
    // A busy machine makes the numbers invalid, not the files.
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let text = fs::read_to_string(&samples).expect("the samples");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = |name: &str| header.iter().position(|found| *found == name).expect("a column");
    let (intended, done, status) = (column("intended_ns"), column("done_ns"), column("status"));
    let (mut count, mut longest_ns) = (0, 0);
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells.len(), cells[status]), (header.len(), "200"), "{line}");
        let number = |at: usize| cells[at].parse::<u64>().expect("a number");
        longest_ns = longest_ns.max(number(done) - number(intended));
        count += 1;
    }
    assert_eq!(count, 200);
    let result = prony_model::from_json(&fs::read_to_string(&json).expect("the result")).expect("a result");
    assert_eq!(result.latency.response.max_ms, Some(longest_ns as f64 / 1e6));
    assert_eq!(folder.names().len(), 2, "nothing else is left: {:?}", folder.names());

    let again = prony(&arguments);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.err.contains("exists"), "{again:?}");
}

#[test]
fn one_file_cant_hold_both() {
    let output = prony(&["127.0.0.1:1", "-n", "1", "--samples", "x.csv", "--json", "x.csv"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.contains("--json and --samples both want x.csv"), "{output:?}");
}
