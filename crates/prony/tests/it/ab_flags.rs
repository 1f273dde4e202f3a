//! What the flags of `prony ab` do: the bytes that are sent, files, wrong command lines.

use std::io::Write as _;
use std::sync::mpsc::sync_channel;
use std::{fs, thread};

use crate::binary::{ProgramOutput, prony};
use crate::folder::Folder;
use crate::server::{Server, read_head};

/// What `prony ab WORDS… URL` sends in its first request, with `HOST` for host and port.
fn sent(words: &[&str]) -> String {
    let (sender, heads) = sync_channel(16);
    let url = Server::accepting(move |mut stream| {
        let sender = sender.clone();
        thread::spawn(move || {
            if let Some(head) = read_head(&mut stream) {
                // Only the first one counts; the client may be gone.
                let _ = sender.try_send(head);
                let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }
        });
    });
    let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let words: Vec<String> = words.iter().map(|word| word.replace("HOST", &host)).collect();
    let mut all = vec!["ab".to_owned()];
    all.extend(words);
    if !all.iter().any(|word| word.starts_with("http://")) {
        all.push(format!("{url}x?y"));
    }
    let output = prony(&all);
    assert!(matches!(output.code, Some(0)), "{output:?}");
    heads
        .try_recv()
        .expect("a request was sent before prony ended")
        .replace(&host, "HOST")
        .replace("\r\n", "\n")
}

fn check_sent(words: &[&str], expected: &str) {
    assert_eq!(sent(words), format!("{expected}\n\n"), "{words:?}");
}

/// As a listener saw them from ab 2.4.
#[test]
fn requests_are_those_of_ab() {
    let rest = "Host: HOST\nUser-Agent: ApacheBench/2.3\nAccept: */*";
    check_sent(&[], &format!("GET /x?y HTTP/1.0\n{rest}"));
    check_sent(&["-k"], &format!("GET /x?y HTTP/1.0\nConnection: Keep-Alive\n{rest}"));
    check_sent(&["-i"], &format!("HEAD /x?y HTTP/1.0\n{rest}"));
    check_sent(&["-m", "PATCH"], &format!("PATCH /x?y HTTP/1.0\n{rest}"));
    check_sent(&["-C", "a=1"], &format!("GET /x?y HTTP/1.0\nCookie: a=1\n{rest}"));
    check_sent(
        &["-A", "u:p", "-P", "x:y", "-k"],
        &format!(
            "GET /x?y HTTP/1.0\nConnection: Keep-Alive\nAuthorization: Basic dTpw\n\
             Proxy-Authorization: Basic eDp5\n{rest}"
        ),
    );
    check_sent(
        &["-H", "X-A: 1", "-H", "Accept: text/x", "-H", "Host: foo"],
        "GET /x?y HTTP/1.0\nX-A: 1\nAccept: text/x\nHost: foo\nUser-Agent: ApacheBench/2.3",
    );
    check_sent(
        &["-X", "HOST", "http://example.invalid/z"],
        "GET http://example.invalid/z HTTP/1.0\nHost: example.invalid\nUser-Agent: ApacheBench/2.3\nAccept: */*",
    );
}

#[test]
fn bodies_are_sent_as_ab_sends_them() {
    let folder = Folder::new("ab-body");
    let file = folder.0.join("body").display().to_string();
    fs::write(&file, "a=b\n").expect("a file");
    let rest = "Host: HOST\nUser-Agent: ApacheBench/2.3\nAccept: */*";
    let of_length = "Content-length: 4\nContent-type:";
    check_sent(&["-p", &file, "-T", "text/x"], &format!("POST /x?y HTTP/1.0\n{of_length} text/x\n{rest}"));
    check_sent(&["-u", &file], &format!("PUT /x?y HTTP/1.0\n{of_length} text/plain\n{rest}"));
    check_sent(&["-p", &file, "-mPATCH"], &format!("PATCH /x?y HTTP/1.0\n{of_length} text/plain\n{rest}"));
}

#[test]
fn files_are_abs() {
    let folder = Folder::new("ab-files");
    let [csv, tsv] = ["out.csv", "out.tsv"].map(|name| folder.0.join(name).display().to_string());
    let server = Server::good();
    let output = prony(&["ab", "-k", "-n", "10", "-e", &csv, "-g", &tsv, &server.url]);
    assert!(matches!(output.code, Some(0)), "{output:?}");
    let percentages = fs::read_to_string(&csv).expect("a file");
    assert_eq!(percentages.lines().count(), 102, "{percentages}");
    assert!(percentages.starts_with("Percentage served,Time in ms\n0,"), "{percentages}");
    let requests = fs::read_to_string(&tsv).expect("a file");
    let mut lines = requests.lines();
    assert_eq!(lines.next(), Some("starttime\tseconds\tctime\tdtime\tttime\twait"));
    assert!(lines.all(|line| line.split('\t').count() == 6) && requests.lines().count() == 11, "{requests}");
    let again = prony(&["ab", "-k", "-e", &csv, &server.url]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.err.ends_with("name another file, or replace it with --force\n"), "{again:?}");
    let forced = prony(&["ab", "-k", "--force", "-e", &csv, &server.url]);
    assert!(matches!(forced.code, Some(0)), "{forced:?}");
}

fn refused(words: &[&str], what: &str) -> ProgramOutput {
    let output = prony(&[&["ab"], words].concat());
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{words:?} {output:?}");
    assert!(output.err.starts_with(&format!("error: {what}")), "{words:?} {output:?}");
    assert!(output.err.contains("\n       "), "no advice: {words:?} {output:?}");
    output
}

#[test]
fn slips_are_explained() {
    refused(&["-c", "0", "h:1"], "-c 0 is no load\n");
    refused(&["-n", "0", "h:1"], "-n 0 is no load\n");
    refused(&["-n", "-5", "h:1"], "-n `-5` is not a whole number\n");
    refused(&["-n", "10k", "h:1"], "-n `10k` is not a whole number\n");
    refused(&["-c", "10", "-n", "5", "h:1"], "-c 10 is more than -n 5\n");
    refused(&["-p", "/nonexistent/body", "h:1"], "can't read the body from /nonexistent/body (");
    refused(&["-g", "/nonexistent/g.tsv", "h:1"], "can't write /nonexistent/g.tsv (");
    refused(&["-e", "/", "h:1"], "/ is a directory\n       name a file in it: -e ");
    refused(&["-e", "/nonexistent", "-g", "/nonexistent", "h:1"], "-e and -g both want the same file\n");
    refused(&["-i", "-p", "/dev/null", "h:1"], "-i and -p both say the method\n");
    refused(&["-H", "no colon", "h:1"], "`no colon` is not a header\n");
    refused(&["-X", "a b", "h:1"], "-X `a b` is not a proxy\n");
    refused(&["-B", "name", "h:1"], "`name` is not an address to connect from\n");
    refused(&["-j", "h:1"], "there is no flag -j\n");
    refused(&[], "<URL> is missing\n");
}

/// Nothing that prony can't do is left out in silence.
#[test]
fn what_ab_can_and_prony_cant() {
    for words in [["-f", "TLS1.2"], ["-E", "x"]] {
        refused(&[words[0], words[1], "h:1"], &format!("{} is for https", words[0]));
    }
    refused(&["-Z", "x", "https://h:1/"], "-Z is not supported");
    refused(&["-I", "https://h:1/"], "-I is not supported");
    refused(&["-f", "SSL3", "https://h:1/"], "-f SSL3 is not supported: it is broken");
    refused(&["-f", "x", "https://h:1/"], "-f `x` is not a version of TLS");
    refused(&["-b", "8192", "h:1"], "-b is not supported");
    let output = refused(&["-v", "2", "h:1"], "-v 2 prints every response");
    assert!(output.err.contains("curl -v URL"), "{output:?}");
}

/// `-t` implies `-n 50000` unless `-n` follows.
#[test]
fn the_order_of_limit_and_number() {
    let server = Server::good();
    let complete = |words: &[&str]| {
        let output = prony(&[&["ab", "-k"], words, &[server.url.as_str()]].concat());
        let line = output.out.lines().find_map(|line| line.strip_prefix("Complete requests:")).map(str::trim);
        (line.and_then(|count| count.parse::<u64>().ok()).expect("a count"), output.err)
    };
    assert_eq!(complete(&["-t", "60", "-n", "7"]).0, 7);
    assert_eq!(complete(&["-n", "5", "-n", "7"]).0, 7);
    let (count, err) = complete(&["-n", "7", "-t", "1"]);
    assert!(count > 7 && err.contains("implies -n 50000"), "{count} {err}");
}

/// ab rounds to whole milliseconds, and calls 1 / throughput a time: both are noted, once.
#[test]
fn what_the_report_hides_is_noted() {
    let server = Server::good();
    let output = prony(&["ab", "-k", "-n", "200", "-c", "2", &server.url]);
    assert!(
        output.err.starts_with("Completed 100 requests\nCompleted 200 requests\nFinished 200 requests\n"),
        "{output:?}"
    );
    let flat = output.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(flat.matches("(prony explain resolution)").count(), 1, "{output:?}");
    assert_eq!(output.err.matches("1 /\n          throughput").count(), 1, "{output:?}");
}

#[test]
fn the_version_and_a_url_without_a_path() {
    let output = prony(&["ab", "-V"]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    assert!(output.out.starts_with("This is ApacheBench, Version 2.3 <prony "), "{output:?}");
    let server = Server::good();
    let output = prony(&["ab", "-k", server.url.trim_end_matches('/')]);
    assert!(output.out.contains("\nDocument Path:          /\n"), "{output:?}");
}
