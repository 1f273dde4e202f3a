//! Wrong command lines: exit code 2, one message, nothing on stdout.

use crate::binary::{command, program_output, prony};

fn check(words: &[&str], err: &str) {
    let output = prony(words);
    assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (Some(2), "", err), "{words:?}");
}

#[test]
fn a_mistyped_command() {
    check(
        &["sevre"],
        "error: `sevre` is not a command\n       is that a URL (then http://sevre/), or did you mean `prony serve`?\n",
    );
}

#[test]
fn a_malformed_url() {
    let output = prony(&["http://[::1/"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.starts_with("error: `http://[::1/` is not a URL ("), "{output:?}");
    assert!(output.err.ends_with("\n       write it as http://HOST:PORT/PATH\n"), "{output:?}");
}

#[test]
fn an_unknown_scheme() {
    check(&["gopher://h/"], "error: unsupported scheme `gopher`\n       use http:// or https://\n");
}

#[test]
fn a_rate_of_nothing() {
    check(
        &["h:1", "--rate", "0"],
        "error: --rate `0` is not a rate\n       write requests per second above 0, such as 500, 2.5, 10k or 600/min\n",
    );
}

#[test]
fn fewer_requests_than_connections() {
    check(
        &["h:1", "-n", "5", "-c", "10"],
        "error: 5 requests can't use 10 connections\n       use --connections 5 or fewer\n",
    );
}

#[test]
fn an_unreadable_body() {
    check(
        &["h:1", "--body-file", "/nonexistent/body"],
        "error: can't read the body from /nonexistent/body (No such file or directory (os error 2))\n       \
         nothing was sent: name a file that can be read, or - for stdin\n",
    );
}

#[test]
fn words_that_could_move_the_cursor() {
    let output = prony(&["ftp\u{1b}[2J://h/"]);
    assert_eq!(output.code, Some(2));
    assert!(!output.err.contains('\u{1b}'), "{output:?}");
}

/// What is missing or unknown is reported in the words of the command that was typed.
#[test]
fn advice_is_about_the_command_that_was_typed() {
    check(&["lab", "gate"], "error: <BUILD> is missing\n       for example: prony lab gate <BUILD>\n");
    check(&["report"], "error: <FILE>... is missing\n       for example: prony report result.json\n");
    check(
        &["serve", "rudy", "--fo"],
        "error: there is no flag --fo\n       see prony serve rudy --help-all for every flag\n",
    );
    check(
        &["h:1", "--latency"],
        "error: there is no flag --latency\n       every report has the latencies; `prony wrk` takes wrk's own flags\n",
    );
}

#[test]
fn a_folder_that_is_missing_is_no_host() {
    let output = prony(&["compare", "before/", "after/"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.starts_with("error: can't read before/"), "{output:?}");
}

#[test]
fn a_pattern_that_is_none() {
    let words = ["127.0.0.1:1", "--expect-body-regex", "(a"];
    check(&words, "error: the body check can't be made: unclosed group\n");
}

#[test]
fn nothing_at_all_gets_the_help() {
    let output = prony::<&str>(&[]);
    assert_eq!(output.code, Some(2));
    assert!(output.out.contains("Examples:"), "{output:?}");
}

/// A reader that leaves, as in `prony … | head -1`, is no reason to panic.
#[test]
fn a_closed_stdout() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = program_output(
        command().args(["completions", "bash"]).stdout(writer).output().expect("the binary was built"),
    );
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
}
