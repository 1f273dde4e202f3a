//! What is typed, and what it means.

use std::time::Duration;

use prony_model::{Arrivals, BodyCheck, DriverChoice, End, Load, RunPlan, StatusSet, Version};

use super::{plan, resolve};
use crate::args::{self, Command};
use crate::cli_error::CliError;

const SEED: u64 = 7;

/// The plan behind `typed`, words apart at spaces.
fn read(typed: &str) -> Result<RunPlan, CliError> {
    let words = std::iter::once("prony").chain(typed.split(' ')).map(Into::into);
    match args::parse(words)? {
        Command::Run(args) => plan(&args, None, None, SEED),
        other => panic!("{typed} is {other:?}"),
    }
}

fn check(typed: &str, expected: fn(&RunPlan) -> bool) {
    let plan = read(typed).unwrap_or_else(|cli_error| panic!("{typed}: {cli_error:?}"));
    assert!(expected(&plan), "{typed}: {plan:?}");
}

fn refused(typed: &str, expected: &str) {
    let cli_error = read(typed).expect_err(typed);
    assert_eq!(cli_error.text(), expected, "{typed}");
}

#[test]
fn defaults() {
    let plan = read("http://127.0.0.1:3000/").expect("a plain run");
    assert_eq!(plan.load, Load::Closed { connections: 50 });
    assert_eq!(plan.end, End::Duration(Duration::from_secs(10)));
    assert_eq!(plan.warmup, Duration::from_secs(1));
    assert_eq!((plan.threads, plan.seed), (1, SEED));
    assert_eq!(plan.driver, DriverChoice::Auto);
    assert_eq!((plan.request.method.as_str(), plan.request.version), ("GET", Version::Http11));
    assert!(plan.request.keep_alive);
}

#[test]
fn load() {
    check("-c 5 x", |plan| plan.load == Load::Closed { connections: 5 });
    check("run -c5 x", |plan| plan.load.connections() == 5);
    check("x --connections=2k", |plan| plan.load.connections() == 2_000);
    check("x -n 3", |plan| {
        plan.load.connections() == 3 && plan.end == End::Requests(3) && plan.warmup.is_zero()
    });
    check("x -n 1k", |plan| plan.load.connections() == 50);
    check("x -n 3 --warmup 2s", |plan| plan.warmup == Duration::from_secs(2));
    check("x -d 1m30s", |plan| plan.end == End::Duration(Duration::from_secs(90)));
    check("x -r 600/min --poisson", |plan| {
        matches!(plan.load, Load::Open { rate_per_s, arrivals: Arrivals::Poisson, max_connections: 1000 }
            if (rate_per_s.as_per_second() - 10.0).abs() < 1e-9)
    });
    check("x -r 10k -c 20", |plan| {
        matches!(plan.load, Load::Open { arrivals: Arrivals::Constant, max_connections: 20, .. })
    });
    check("x -n 5 -r 2", |plan| plan.load.connections() == 1000);
}

#[test]
fn request() {
    check("x -b hi", |plan| plan.request.method == "POST" && plan.request.body.bytes == b"hi");
    check("x -b hi -m PUT", |plan| plan.request.method == "PUT");
    check("x -H A:b -H C:d:e", |plan| {
        plan.request.headers == [("A".into(), "b".into()), ("C".into(), "d:e".into())]
    });
    check("x --no-keepalive --http1.0", |plan| {
        !plan.request.keep_alive && plan.request.version == Version::Http10
    });
    check("x --pipeline 8", |plan| plan.request.pipeline == 8);
    check("x --unix /run/s", |plan| plan.target.unix.as_deref() == Some("/run/s".as_ref()));
    check("x --connect-to 127.0.0.1:80,[::1]:80,127.0.0.1:80", |plan| {
        plan.target.connect_to == ["127.0.0.1:80".parse().unwrap(), "[::1]:80".parse().unwrap()]
            && plan.target.authority == "x"
    });
    check("x --timeout 250ms --connect-timeout 1s --drain 0s", |plan| {
        plan.timeouts.request == Duration::from_millis(250) && plan.timeouts.drain.is_zero()
    });
    check("x --driver io_uring --seed 9", |plan| plan.driver == DriverChoice::IoUring && plan.seed == 9);
}

#[test]
fn checks() {
    check("x --expect-status 2xx,404", |plan| plan.checks.status == StatusSet(vec![(200, 299), (404, 404)]));
    check("x --expect-body ok", |plan| plan.checks.body == Some(BodyCheck::Exact("ok".into())));
    check("x --expect-body-regex ^o", |plan| plan.checks.body == Some(BodyCheck::Regex("^o".into())));
    check("x --expect-length same", |plan| plan.checks.same_length);
}

#[test]
fn sources() {
    check("x --source 127.0.0.2", |plan| plan.sources == [std::net::IpAddr::from([127, 0, 0, 2])]);
    check("x --source 127.0.0.2,::1 --source 127.0.0.4-127.0.0.6", |plan| plan.sources.len() == 5);
    check("x --source fe80::1-fe80::f", |plan| plan.sources.len() == 15);
    let range = "       write the lower address first, both of one family: 127.0.0.2-127.0.0.9\n";
    for wrong in ["127.0.0.9-127.0.0.2", "127.0.0.1-::1"] {
        refused(
            &format!("x --source {wrong}"),
            &format!("error: `{wrong}` is not a range of addresses\n{range}"),
        );
    }
    refused(
        "x --source 10.0.0.0-10.255.255.255",
        "error: `10.0.0.0-10.255.255.255` makes more than 4096 addresses\n       each one has some 28,000 ports of its own: use fewer\n",
    );
}

#[test]
fn contradictions_are_refused() {
    refused(
        "x --timeout 0",
        "error: a request timeout of 0 fails every request\n       use --timeout 5s or leave it out\n",
    );
    refused(
        "x -d 5s -n 5",
        "error: --duration and --requests both say when the run ends\n       leave out one of them\n",
    );
    refused(
        "x --poisson",
        "error: --poisson spreads the requests of a rate, and there is no rate\n       add one: --rate 500 --poisson\n",
    );
    refused(
        "x -n 5 -c 10",
        "error: 5 requests can't use 10 connections\n       use --connections 5 or fewer\n",
    );
    refused(
        "x -b a --body-file b",
        "error: --body and --body-file are two bodies for one request\n       leave out one of them\n",
    );
    refused("x -c 2 -t 4", "error: 4 threads can't share 2 connections\n       use --threads 2 or fewer\n");
    refused(
        "x --pipeline 2 --no-keepalive",
        "error: --pipeline needs connections that stay open\n       leave out --no-keepalive (and --http1.0)\n",
    );
    refused(
        "x --unix /s --source 127.0.0.2",
        "error: --source names a network address, which a Unix socket doesn't have\n       leave out one of them\n",
    );
    refused(
        "x --unix /s --connect-to 127.0.0.1:80",
        "error: --connect-to and --unix both say where to connect to\n       leave out one of them\n",
    );
}

#[test]
fn bad_values_are_refused() {
    let rate = "       write requests per second above 0, such as 500, 2.5, 10k or 600/min\n";
    for typed in ["0", "-5", "fast"] {
        refused(&format!("x --rate={typed}"), &format!("error: --rate `{typed}` is not a rate\n{rate}"));
    }
    refused("x -c 0", "error: 0 connections can't carry a request\n       use --connections 1 or more\n");
    refused("x -n 0", "error: 0 requests are no load\n       use --requests 1 or more, or --duration\n");
    refused(
        "x -d 10",
        "error: --duration `10` is not a duration\n       write a number with a unit, such as 10s, 250ms, 1m30s or 2h\n",
    );
    refused(
        "x -c 5000000000",
        "error: --connections `5000000000` is not a count\n       write a whole number such as 5000, 5k or 2M\n",
    );
    refused(
        "x -H nonsense",
        "error: `nonsense` is not a header\n       write a name, a colon and a value: -H 'Accept: text/html'\n",
    );
    refused(
        "x -m G(T",
        "error: `G(T` is not an HTTP method\n       write one word such as GET, POST or DELETE\n",
    );
    refused(
        "x --expect-status 999",
        "error: --expect-status `999` is not a set of status codes\n       write 200, 2xx, 200-299 or 200,404\n",
    );
    refused(
        "x --driver kqueue",
        "error: `kqueue` can't be the value of --driver\n       it can be: auto, epoll, io_uring\n",
    );
    refused("x --conections 5", "error: there is no flag --conections\n       did you mean --connections?\n");
    refused("x -c", "error: --connections needs a value\n       write --connections <N>\n");
    refused(
        "x y",
        "error: unexpected argument `y`\n       quote what belongs together; for example: prony http://127.0.0.1:3000/\n",
    );
    refused("-c 5", "error: <URL> is missing\n       for example: prony http://127.0.0.1:3000/\n");
    refused("x -c 5 -c 6", "error: --connections <N> stands there twice\n       leave out one of them\n");
}

#[test]
fn urls() {
    refused("ftp://x/", "error: unsupported scheme `ftp`\n       use http:// or https://\n");
    assert!(
        read("http://h:99999/").expect_err("a port").text().contains("write it as http://HOST:PORT/PATH")
    );
}

#[test]
fn commands_and_urls_are_distinguished() {
    refused(
        "sevre",
        "error: `sevre` is not a command\n       is that a URL (then http://sevre/), or did you mean `prony serve`?\n",
    );
    check("http://sevre/", |plan| plan.target.host == "sevre");
    check("localhost", |plan| plan.target.host == "localhost");
    check("backend", |plan| plan.target.host == "backend");
    check("demo.local", |plan| plan.target.host == "demo.local");
    check("run run", |plan| plan.target.host == "run");
    check("-n 1 localhost:80", |plan| plan.target.port == 80);
}

#[test]
fn target_commits() {
    let commit = |text: &str| {
        let words = ["prony", "x", "--target-commit", text].map(Into::into);
        let Ok(Command::Run(args)) = args::parse(words.into_iter()) else { panic!("{text:?} is a run") };
        resolve(&args, SEED).map(|resolved| resolved.target_commit)
    };
    assert_eq!(commit(" v1.2 (patched) "), Ok(Some("v1.2 (patched)".to_owned())));
    for wrong in ["", " ", "a\nb", &"x".repeat(201)] {
        let cli_error = commit(wrong).expect_err("no name").text();
        assert!(cli_error.contains("does not name what is loaded"), "{cli_error}");
    }
}

/// Words as a shell splits them, single quotes alone, up to where the output goes.
fn shell(line: &str) -> Vec<String> {
    let quoted = line.split('\'').enumerate();
    let words = quoted.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.take_while(|word| word != ">").collect()
}

/// What the helps and messages suggest to paste must work.
#[test]
fn every_example_of_the_helps_is_understood() {
    let mut definition = args::definition();
    definition.build();
    let mut seen = 0;
    for command in std::iter::once(&definition).chain(definition.get_subcommands()) {
        let help = command.clone().render_help().to_string();
        for line in help.split("Examples:\n").skip(1).flat_map(str::lines) {
            let line = line.trim().split("  ").next().unwrap_or_default();
            match args::parse(shell(line).into_iter().map(Into::into)) {
                Ok(Command::Run(args)) => assert!(plan(&args, None, None, SEED).is_ok(), "{line}"),
                Ok(_) => {}
                Err(error) => panic!("{line}: {error:?}"),
            }
            seen += 1;
        }
    }
    assert!(seen > 15, "only {seen} examples were found");
}

/// The command that a report prints makes the same plan.
#[test]
fn the_command_of_a_report_makes_the_same_plan() {
    for typed in [
        "http://127.0.0.1:3000/",
        "x -c 7 -d 250ms --warmup 0s -t 3 --seed 9",
        "http://127.0.0.1:3000/a?b=1&c='2' -n 300 --timeout 2s --connect-timeout 1500us --drain 0s",
        "x -d 1m30s -r 2.5 --poisson",
        "x -r 600/min --arrivals bursty:10x,500ms -c 20",
        "x --stages 100/s:30s,100..1000/s:60s,spike=1000/s:500ms",
        "x -m DELETE -H Accept:text/plain -H X-A:it's --no-keepalive",
        "x --http1.0 --expect-status 2xx,404 --expect-body-regex ^a.*b$ --expect-length same",
        "x --pipeline 4 --expect-body ok --driver epoll --kernel-clock off --events",
        "x --http2-prior-knowledge --streams 8",
        "https://127.0.0.1:3000/ --http2 -k --tls 1.3 --no-resumption",
        "https://127.0.0.1:3000/ --sni localhost --tls 1.2 --cacert a.pem --cert b.pem --key c.pem",
        "x --retries 3 --retry-on connect,timeout,503,5xx --retry-backoff 50ms..1s --retry-budget 7% --attempt-timeout 700ms",
        "x --retries 1 --retry-on reset",
        "x --trace --trace-share 10% --trace-url http://127.0.0.1:16686/trace/{trace_id}",
        "x --unix /tmp/a.sock",
        "x --connect-to 127.0.0.1:1,127.0.0.2:2 --source 127.0.0.2-127.0.0.4",
    ] {
        let plan = read(typed).unwrap_or_else(|cli_error| panic!("{typed}: {cli_error:?}"));
        let rerun = prony_report::rerun(&plan);
        assert_eq!(rerun.missing, [""; 0], "{typed}");
        let Ok(Command::Run(args)) = args::parse(rerun.words.iter().map(Into::into)) else {
            panic!("{typed}: {}", rerun.shell());
        };
        // Another seed stands in for one that is not typed: this one is.
        let same = super::plan(&args, None, None, SEED + 1);
        assert_eq!(same.unwrap_or_else(|error| panic!("{typed}: {error:?}")), plan, "{}", rerun.shell());
    }
}
