//! How many statements pages take: the same, however much there is.

use super::*;
use prony_lab_core::actions::requests::Asker;
use prony_lab_core::lab::Refused;
use prony_lab_model::options::StoreAddress;
use prony_lab_store::fixture::on_both_addresses;

/// A project with a study.
const WITH_STUDY: &str = "folder = \"/srv/a\"\nstudy = \"prony.toml\"";

/// A lab with so many projects, builds of each that are over, and builds that wait.
fn filled(address: &StoreAddress, projects: u32, builds: u32, queued: u32) -> Bench {
    let bench = Bench::with(|options| options.store = address.clone());
    bench.write(move |tx| {
        for number in 0..projects {
            let name = format!("p{number:03}").parse().expect("a name");
            let project = projects::register(tx, &name, WITH_STUDY, Moment(1))?;
            for _ in 0..builds {
                let id = accept(tx, project)?;
                queue::set_commits(tx, id, &"a".repeat(40), None, None)?;
                finish(tx, project, id)?;
            }
            for _ in 0..queued {
                accept(tx, project)?;
            }
        }
        Ok(())
    });
    bench
}

fn accept(tx: &mut Tx<'_>, project: ProjectId) -> Result<BuildId, StoreError> {
    let definition = Definition::read(WITH_STUDY).expect("a definition");
    let new = BuildRequest::default().checked(project, &definition, "kim", Moment(5)).expect("a request");
    builds::accept(tx, &new)
}

/// Ends a build with results in ten series.
fn finish(tx: &mut Tx<'_>, project: ProjectId, id: BuildId) -> Result<(), StoreError> {
    let measured = |number: u32| Measured {
        cell: format!("GET /{number}"),
        metric: "p99".to_owned(),
        unit: "ms".to_owned(),
        is_better_high: false,
        value: Some(1.0),
        interval: Some((0.5, 1.5)),
        runs: 5,
        samples: 1_000,
        is_valid: true,
        note: None,
    };
    let measured = (0..10).map(measured).collect();
    let results = Results { fingerprint: "m".to_owned(), measured, thresholds: Vec::new() };
    results::keep(tx, id, project, "default", &results)?;
    let mut from = BuildState::Queued;
    for to in [BuildState::Assigned, BuildState::Running, BuildState::Finalizing, BuildState::Completed] {
        builds::advance(tx, id, from, to, None, Moment(7))?;
        from = to;
    }
    Ok(())
}

/// Statements that the page takes.
fn taken(bench: &Bench, path: &str) -> usize {
    let before = bench.lab.store.statements_read();
    let (status, page) = bench.text(path);
    assert_eq!(status, StatusCode::OK, "{path}\n{page}");
    bench.lab.store.statements_read() - before
}

#[test]
fn a_page_takes_as_many_statements_however_much_there_is() {
    on_both_addresses(|address| {
        let bench = filled(address, 10, 12, 20);
        let project = ProjectId(1);
        let pages = ["/", "/build/12", "/add_job", "/history/p000/1"];
        let again = |change: &dyn Fn()| {
            pages.map(|path| {
                taken(&bench, path);
                change();
                taken(&bench, path)
            })
        };
        assert_eq!(again(&|| {}), [0, 7, 0, 0], "nothing has changed");
        let request = || {
            bench.write(move |tx| accept(tx, project));
        };
        let accepted = again(&request);
        assert_eq!(accepted, [6, 7, 0, 0], "a build was accepted");
        let measure = || {
            bench.write(move |tx| {
                let id = accept(tx, project)?;
                finish(tx, project, id)
            });
        };
        let over = again(&measure);
        let most = [70, 40, 0, 4];
        assert!(over.iter().zip(most).all(|(taken, most)| *taken <= most), "a build is over: {over:?}");
        // A card shows the build that is over, and the page the one that waits.
        let (_, page) = bench.text("/");
        let newest = bench.lab.store.read_blocking(|tx| tx.number("SELECT MAX(id) FROM builds", &[]));
        let newest = newest.expect("read");
        assert!(page.contains(&format!("<a href=\"/build/{newest}\">Build {newest}</a> of main")), "{page}");
        let waiting = bench.write(move |tx| accept(tx, project));
        assert!(bench.text("/").1.contains(&format!("id=\"build-{waiting}\"")));
        // Ten times as much takes no more.
        bench.write(move |tx| {
            for number in 10..60 {
                let name = format!("p{number:03}").parse().expect("a name");
                let project = projects::register(tx, &name, WITH_STUDY, Moment(1))?;
                for _ in 0..10 {
                    let id = accept(tx, project)?;
                    finish(tx, project, id)?;
                    accept(tx, project)?;
                    accept(tx, project)?;
                }
            }
            Ok(())
        });
        assert_eq!(again(&request), accepted);
        let later = again(&measure);
        assert!(later.iter().zip(most).all(|(taken, most)| *taken <= most), "a build is over: {later:?}");
    });
}

#[test]
fn a_request_for_a_build_reads_nothing_that_is_known() {
    on_both_addresses(|address| {
        let bench = filled(address, 3, 0, 0);
        let request = |name: &str| {
            let request = BuildRequest { project: name.to_owned(), ..BuildRequest::default() };
            let asker = Asker { by: "kim".to_owned(), key: None };
            bench.runtime.block_on(bench.lab.request_build_once(request, asker))
        };
        assert!(request("p001").is_ok());
        let before = bench.lab.store.statements_read();
        for _ in 0..10 {
            assert!(request("p001").is_ok());
        }
        assert_eq!(bench.lab.store.statements_read(), before);
        // What changes is known with the answer.
        bench.write(|tx| {
            let gone = projects::by_name(tx, "p001")?.expect("registered");
            projects::archive(tx, gone.id, Moment(9))?;
            projects::register(tx, &"new".parse().expect("a name"), WITH_STUDY, Moment(9))
        });
        assert!(matches!(request("p001"), Err(Refused::Fields(_))));
        assert!(request("new").is_ok());
        let narrow = "[user_caps]\nbuilds = 12\n";
        bench.write(move |tx| settings::set(tx, prony_lab_core::egress::POLICY, narrow));
        assert!(matches!(request("new"), Err(Refused::Target(_))), "the policy holds at once");
    });
}

/// What is drawn of a build is drawn again when the build itself changes, although none of the tables did of which it
/// was read.
#[test]
fn the_figures_of_a_build_follow_its_own_state() {
    let bench = Bench::new();
    let id = bench.write(|tx| {
        let project = projects::register(tx, &"a".parse().expect("a name"), WITH_STUDY, Moment(1))?;
        let first = accept(tx, project)?;
        finish(tx, project, first)?;
        let id = accept(tx, project)?;
        finish(tx, project, id)?;
        Ok(id)
    });
    let (_, page) = bench.text(&format!("/build/{id}"));
    assert!(!page.contains(">Baseline</th>"), "{page}");
    bench.write(move |tx| builds::set_verdict(tx, id, BuildVerdict::Slower, Some(BuildId(1))));
    let (_, page) = bench.text(&format!("/build/{id}"));
    assert!(page.contains(">Baseline</th>"), "{page}");
}
