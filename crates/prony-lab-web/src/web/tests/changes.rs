//! Commits and bisects, on pages and in the API.

use super::*;

/// Two builds of a repository at GitHub, whose commits begin with `a` and `b`; the first is the baseline of the second.
fn two_builds(tx: &mut Tx<'_>) -> Result<(ProjectId, [BuildId; 2]), StoreError> {
    let text = "repository = \"https://github.com/a/b.git\"\nstudy = \"prony.toml\"";
    let project = projects::register(tx, &"site".parse().expect("a name"), text, Moment(1))?;
    let definition = Definition::read(text).expect("a definition");
    let mut ids = Vec::new();
    for digit in ["a", "b"] {
        let new = BuildRequest::default().checked(project, &definition, "kim", Moment(5)).expect("a request");
        let id = builds::accept(tx, &new)?;
        queue::set_commits(tx, id, &digit.repeat(40), None, None)?;
        ids.push(id);
    }
    builds::set_verdict(tx, ids[1], BuildVerdict::Slower, Some(ids[0]))?;
    Ok((project, [ids[0], ids[1]]))
}

fn range(commits: Vec<Commit>, ahead: u64) -> CommitRange {
    let (base, tip) = ("a".repeat(40), "b".repeat(40));
    CommitRange { base, tip, state: RangeState::Listed, commits, ahead, behind: 0, error: None }
}

#[test]
fn commits_are_shown_with_their_pages_and_do_nothing() {
    let bench = Bench::new();
    let (project, [first, second]) = bench.write(two_builds);
    let (_, page) = bench.text(&format!("/build/{second}"));
    assert!(
        page.contains("Commits since the baseline, build 1") && page.contains("not listed yet"),
        "{page}"
    );
    bench.write(move |tx| {
        let tip = Commit::new(&"b".repeat(40), HOSTILE, HOSTILE, Some(7));
        commits::describe(tx, second, &tip)?;
        let all = vec![tip, Commit::new(&"c".repeat(40), "Kim", "tidy up", Some(6))];
        commits::keep(tx, project, &range(all, 52))
    });
    let between = format!("/compare?a={first}&b={second}");
    for path in ["/", &format!("/build/{second}"), &between] {
        let (status, page) = bench.text(path);
        assert_eq!(status, StatusCode::OK, "{path}");
        for bad in ["<script>", "<img", "\u{202e}", "\u{1b}"] {
            assert!(!page.contains(bad), "{path}: {bad}\n{page}");
        }
        if path != "/" {
            let link = format!("href=\"https://github.com/a/b/commit/{}\"", "c".repeat(40));
            assert!(
                page.contains(&link) && page.contains("tidy up") && page.contains("and 50 more"),
                "{page}"
            );
        }
    }
    let (_, json) = bench.text(&format!("/api/v1/builds/{second}/commits"));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["ahead"], &json["commits"][1]["author"]), (&52.into(), &"Kim".into()), "{json}");
    // Nothing is known of the other direction.
    let (status, _) = bench.text(&format!("/api/v1/builds/{first}/commits?base={second}"));
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (_, build) = bench.text(&format!("/api/v1/builds/{second}"));
    let build: serde_json::Value = serde_json::from_str(&build).expect("JSON");
    assert_eq!(build["build"]["commit_at"], 7_000, "{build}");
}

/// From a request to the first slow commit, over the API and the page, with a worker that is made up.
#[test]
fn a_bisect_ends_with_the_first_slow_commit() {
    let bench = Bench::new();
    let (_, [first, second]) = bench.write(two_builds);
    let hash = |number: usize| format!("{number:040x}");
    let body = serde_json::json!({ "good": first, "bad": second }).to_string();
    let made = bench.post("/api/v1/projects/site/bisects", &body);
    assert_eq!(made.0, StatusCode::CREATED, "{}", made.1);
    assert!(bench.text("/bisect/1").1.contains("Nothing is measured yet"));
    // The worker lists the commits.
    let tip = "b".repeat(40);
    let candidates: Vec<Candidate> = (1..=9)
        .map(|number| Candidate {
            commit: Commit::new(&hash(number), HOSTILE, &format!("change {number}"), Some(5)),
            build: None,
            outcome: None,
        })
        .chain([Candidate { commit: Commit::new(&tip, "Kim", "last", Some(6)), build: None, outcome: None }])
        .collect();
    bench.write(move |tx| {
        let bisect = bisects::listing(tx)?.expect("it waits");
        let running = Bisect { state: BisectState::Running, candidates, ..bisect };
        bisects::advance(tx, BisectState::Listing, &running, Moment(8))
    });
    for count in 0.. {
        bisect::turn(&bench.lab.store).expect("moved on");
        let open = bench.lab.store.read_blocking(|tx| builds::open(tx, 10)).expect("read");
        let Some(build) = open.into_iter().find(|build| build.kind == BuildKind::Comparison) else { break };
        assert!(count < 6, "{build:?}");
        let (_, page) = bench.text("/bisect/1");
        assert!(page.contains("is measured") && page.contains(&format!("/build/{}", build.id)), "{page}");
        let is_slow = build.reference == tip
            || usize::from_str_radix(&build.reference, 16).is_ok_and(|number| number >= 4);
        let verdict = if is_slow { BuildVerdict::Slower } else { BuildVerdict::NoDifference };
        bench.write(move |tx| {
            use BuildState::{Assigned, Completed, Finalizing, Queued, Running};
            builds::set_verdict(tx, build.id, verdict, None)?;
            for (from, to) in
                [(Queued, Assigned), (Assigned, Running), (Running, Finalizing), (Finalizing, Completed)]
            {
                builds::advance(tx, build.id, from, to, None, Moment(9))?;
            }
            Ok(())
        });
    }
    let (_, page) = bench.text("/bisect/1");
    assert!(page.contains("id=\"first-slow\"") && page.contains("change 4"), "{page}");
    assert!(!page.contains("<img") && !page.contains("\u{202e}"), "{page}");
    let (_, json) = bench.text("/api/v1/bisects/1");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["state"], "found", "{json}");
    assert!(json["reason"].as_str().is_some_and(|reason| reason.contains("change 4)")), "{json}");
    let (_, page) = bench.text(&format!("/build/{second}"));
    assert!(page.contains("href=\"/bisect/1\""), "{page}");
    assert_eq!(bench.post("/api/v1/bisects/1/cancel", "{}").0, StatusCode::CONFLICT, "it is over");
}

#[test]
fn bisects_have_their_bounds_and_can_be_cancelled() {
    let bench = Bench::new();
    let (_, [first, second]) = bench.write(two_builds);
    let request = |project: &str, good: i64, bad: i64| {
        let body = serde_json::json!({ "good": good, "bad": bad }).to_string();
        bench.post(&format!("/api/v1/projects/{project}/bisects"), &body)
    };
    let (good, bad) = (first.0, second.0);
    for (project, good, bad, status) in [
        ("site", good, good, StatusCode::UNPROCESSABLE_ENTITY),
        ("other", good, bad, StatusCode::UNPROCESSABLE_ENTITY),
        ("site", 99, bad, StatusCode::NOT_FOUND),
        ("site", good, 99, StatusCode::NOT_FOUND),
    ] {
        let (found, text) = request(project, good, bad);
        assert_eq!(found, status, "{project} {good} {bad}: {text}");
    }
    assert_eq!(request("site", good, bad).0, StatusCode::CREATED);
    assert_eq!(request("site", good, bad).0, StatusCode::CREATED);
    assert_eq!(request("site", good, bad).0, StatusCode::UNPROCESSABLE_ENTITY, "two at once");
    assert_eq!(bench.post("/api/v1/bisects/1/cancel", "{}").0, StatusCode::OK);
    assert!(bench.text("/bisect/1").1.contains("cancelled by"));
    assert_eq!(request("site", good, bad).0, StatusCode::CREATED);
    // Stopping everything stops them, too.
    let who = actions::Actor::at_machine("eli");
    let stopped = actions::act_blocking(&bench.lab.store, who, actions::builds::stop_all);
    assert_eq!(stopped, Ok(2));
    assert_eq!(bench.lab.store.read_blocking(bisects::open), Ok(Vec::new()));
    let (_, json) = bench.text("/api/v1/projects/site/bisects");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["items"].as_array().map(Vec::len), Some(3), "{json}");
    // A folder has no commits.
    let folder = "folder = \"/srv/a\"\nstudy = \"prony.toml\"";
    bench.write(move |tx| projects::register(tx, &"site".parse().expect("a name"), folder, Moment(9)));
    assert_eq!(request("site", good, bad).0, StatusCode::UNPROCESSABLE_ENTITY);
}

#[test]
fn lists_of_commits_are_made_by_the_worker() {
    let bench = Bench::new();
    let (project, [first, second]) = bench.write(two_builds);
    let ask = |base: BuildId, tip: BuildId| {
        bench.lab.store.write_blocking(move |tx| Ok(actions::commits::list(tx, base, tip))).expect("written")
    };
    assert!(ask(first, first).is_err(), "there is nothing between a commit and itself");
    assert!(ask(first, BuildId(99)).is_err());
    assert!(ask(first, second).is_ok_and(|range| range.state == RangeState::Wanted));
    let (_, page) = bench.text(&format!("/compare?a={first}&b={second}"));
    assert!(page.contains("The worker lists them"), "{page}");
    let wanted = bench.lab.store.read_blocking(commits::wanted).expect("read");
    assert_eq!(wanted.map(|(of, range)| (of, range.base)), Some((project, "a".repeat(40))));
    let failed = CommitRange {
        state: RangeState::Failed,
        error: Some("git is <b>gone</b>".to_owned()),
        ..range(Vec::new(), 0)
    };
    bench.write(move |tx| commits::keep(tx, project, &failed));
    let (_, page) = bench.text(&format!("/compare?a={first}&b={second}"));
    assert!(page.contains("git is &#60;b&#62;gone") && page.contains("List the commits"), "{page}");
    // Of a folder there is none.
    let folder = "folder = \"/srv/a\"\nstudy = \"prony.toml\"";
    bench.write(move |tx| projects::register(tx, &"site".parse().expect("a name"), folder, Moment(9)));
    assert!(ask(first, second).is_err());
    assert!(!bench.text(&format!("/build/{second}")).1.contains("Commits since"));
}
