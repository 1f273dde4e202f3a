//! A project whose study searches for a capacity: its builds have it as a series.

use prony_lab::model::{BuildDetail, BuildState};
use prony_lab_store::{projects, series};
use prony_model::{LoadKind, StudyMetric, StudyResult, study_from_json};

use super::checkout::commit;
use super::worker::Bench;

/// One worker that takes 10 ms, and as short a search as there is.
const STUDY: &str = "seed = 1\n[targets.queue]\nserve = \"queue\"\n[loads.launch]\nkind = \"capacity\"\n\
    slo = \"response.p50 < 50ms\"\nfrom = 40\nto = 80\ntime = \"20s\"\n";

fn report(bench: &Bench, build: &BuildDetail) -> StudyResult {
    let text = bench.lab().file(build.build.id, "report.json").expect("read").expect("it was taken in");
    study_from_json(std::str::from_utf8(&text).expect("text")).expect("a study")
}

#[test]
fn builds_keep_the_capacity_as_a_series() {
    let bench = Bench::new("capacity", "study = \"prony.toml\"\n");
    commit(&bench.repository, "prony.toml", STUDY);
    let first = bench.finished(bench.submit(|_| ()));
    commit(&bench.repository, "file", "two");
    let second = bench.finished(bench.submit(|_| ()));
    let mut figures = Vec::new();
    for build in [&first, &second] {
        assert!(
            matches!(build.build.state, BuildState::Completed | BuildState::Degraded),
            "{build:#?} {}",
            bench.output(build, "study")
        );
        let result = report(&bench, build);
        let cell = &result.cells[0];
        assert_eq!((cell.kind, cell.searches.len()), (LoadKind::Capacity, 1), "{cell:#?}");
        let files = bench.lab().files(build.build.id).expect("read");
        assert!(files.iter().any(|(name, _)| *name == cell.searches[0].file), "{files:?}");
        figures.push(cell.figures.first().cloned());
    }
    let store = &bench.lab().store;
    let found = store.read_blocking(|tx| {
        let project = projects::by_name(tx, "tiny")?.expect("it is registered");
        let all = series::of_project(tx, project.id, 10)?;
        let mut found = Vec::new();
        for one in all {
            let points = series::points(tx, one.id, "main", 10)?;
            found.push((one, points));
        }
        Ok(found)
    });
    let found = found.expect("the store can be read");
    let known: Vec<_> = figures.into_iter().flatten().collect();
    // A search in which every trial was void has no figure at all.
    assert_eq!(found.len(), usize::from(!known.is_empty()), "{found:?}");
    for (series, points) in found {
        assert_eq!((series.metric.as_str(), series.unit.as_str()), ("capacity", "per_s"));
        assert!(series.is_better_high && series.is_gating() && !series.is_comparable());
        assert!(series.is_worse(100.0, 90.0));
        assert_eq!(points.len(), known.len());
        for (point, figure) in points.iter().zip(&known) {
            assert_eq!((point.value, point.is_valid), (figure.value, figure.value.is_some()));
            assert_eq!(point.low, figure.interval.map(|interval| interval.low));
            assert_eq!(point.high, figure.interval.map(|interval| interval.high));
            assert_eq!((&point.note, figure.metric), (&figure.note, StudyMetric::Capacity));
        }
    }
}
