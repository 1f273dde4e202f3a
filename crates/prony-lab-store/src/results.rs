//! What builds measured: a row for each metric of each cell, and whether the thresholds of the study file are met.

use super::{StoreError, Tx, values};
use prony_lab_model::{BuildId, ProjectId};

/// One number of a build.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The case of the study.
    pub cell: String,
    /// The name of what was measured.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Whether more is better.
    pub is_better_high: bool,
    /// Absent where it is withheld.
    pub value: Option<f64>,
    /// 95 %, where it is known.
    pub interval: Option<(f64, f64)>,
    /// How many runs.
    pub runs: u32,
    /// How many samples in them.
    pub samples: u64,
    /// Whether it may be used.
    pub is_valid: bool,
    /// What to know about it.
    pub note: Option<String>,
}

/// A threshold of the study file, and whether it is met.
#[derive(Debug, Clone, PartialEq)]
pub struct NewThreshold {
    /// As the study file says it: "p99 at most 50 ms".
    pub words: String,
    /// The case of the study.
    pub cell: String,
    /// The name of what was measured.
    pub metric: String,
    /// What was measured.
    pub value: Option<f64>,
    /// Unknown where there is no number, or only invalid runs.
    pub is_met: Option<bool>,
}

/// Everything that a build measured, on the machine `fingerprint`.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The machine.
    pub fingerprint: String,
    /// The numbers.
    pub measured: Vec<Measured>,
    /// The thresholds of the study file.
    pub thresholds: Vec<NewThreshold>,
}

/// Keeps what a build of `project` measured. Once for each build: what is there already is an error.
pub fn keep(
    tx: &mut Tx<'_>,
    build: BuildId,
    project: ProjectId,
    variant: &str,
    results: &Results,
) -> Result<(), StoreError> {
    for one in &results.measured {
        // What is looked up by `RETURNING` must be changed, so the unit is set again.
        let series = tx.number(
            "INSERT INTO series (project_id, variant, cell, metric, unit, is_better_high, fingerprint) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (project_id, variant, cell, metric, fingerprint) \
             DO UPDATE SET unit = excluded.unit RETURNING id",
            values![
                project,
                variant,
                one.cell.as_str(),
                one.metric.as_str(),
                one.unit.as_str(),
                one.is_better_high,
                results.fingerprint.as_str()
            ],
        )?;
        tx.execute(
            "INSERT INTO results (build_id, series_id, value, low, high, runs, samples, is_valid, note) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            values![
                build,
                series,
                one.value,
                one.interval.map(|(low, _)| low),
                one.interval.map(|(_, high)| high),
                one.runs,
                one.samples,
                one.is_valid,
                one.note.as_deref()
            ],
        )?;
    }
    for (place, one) in results.thresholds.iter().enumerate() {
        tx.execute(
            "INSERT INTO thresholds (build_id, place, words, cell, metric, value, is_met) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            values![
                build,
                place as u64,
                one.words.as_str(),
                one.cell.as_str(),
                one.metric.as_str(),
                one.value,
                one.is_met
            ],
        )?;
    }
    Ok(())
}

/// A build that may be a baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its number.
    pub build: BuildId,
    /// Its cells with usable figures, and how many valid runs each has.
    pub cells: Vec<(String, u32)>,
}

/// At most `most` good builds of `branch` before `build` that measured the same variant on the same kind of machine, the
/// newest first: good is what is neither invalid nor misses a threshold, and has usable figures. A build that repeats
/// another has the candidates of that one: it is not compared with what it repeats, nor with what was built meanwhile.
pub fn candidates(
    tx: &mut Tx<'_>,
    build: BuildId,
    project: ProjectId,
    variant: &str,
    branch: &str,
    fingerprint: &str,
    most: u32,
) -> Result<Vec<Candidate>, StoreError> {
    let found = tx.query(
        "SELECT b.id FROM builds b WHERE b.project_id = $1 AND b.id < (SELECT COALESCE(o.repeat_of, o.id) FROM builds o \
         WHERE o.id = $2) AND b.kind = 'project' AND b.variant = $3 AND b.branch = $4 \
         AND b.state IN ('completed', 'degraded') AND b.verdict NOT IN ('invalid', 'threshold-missed') \
         AND EXISTS (SELECT 1 FROM results r JOIN series s ON s.id = r.series_id \
         WHERE r.build_id = b.id AND s.fingerprint = $5 AND r.is_valid = 1) \
         AND EXISTS (SELECT 1 FROM files f WHERE f.build_id = b.id AND f.name = 'report.json') \
         ORDER BY b.id DESC LIMIT $6",
        values![project, build, variant, branch, fingerprint, most],
        |row| row.int(0).map(BuildId),
    )?;
    let mut all = Vec::new();
    for build in found {
        let cells = tx.query(
            "SELECT s.cell, MAX(r.runs) FROM results r JOIN series s ON s.id = r.series_id \
             WHERE r.build_id = $1 AND s.fingerprint = $2 AND r.is_valid = 1 GROUP BY s.cell ORDER BY s.cell",
            values![build, fingerprint],
            |row| Ok((row.text(0)?, u32::try_from(row.int(1)?).unwrap_or(0))),
        )?;
        all.push(Candidate { build, cells });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::on_both;
    use super::super::{Store, builds, files, projects, repeats};
    use super::*;
    use prony_lab_model::clock::Moment;
    use prony_lab_model::{BuildRequest, BuildState, BuildVerdict, Definition};

    /// A build that is over, with a result.
    fn finished(
        store: &Store,
        branch: &'static str,
        verdict: BuildVerdict,
        fingerprint: &'static str,
    ) -> BuildId {
        finished_with(store, branch, verdict, fingerprint, 6)
    }

    /// The same of so many valid runs.
    fn finished_with(
        store: &Store,
        branch: &'static str,
        verdict: BuildVerdict,
        fingerprint: &'static str,
        runs: u32,
    ) -> BuildId {
        let made = store.write_blocking(move |tx| {
            let text = "folder = \"/srv/a\"\nstudy = \"a.toml\"";
            let project = projects::register(tx, &"a".parse().expect("a name"), text, Moment(1))?;
            let definition = Definition::read(text).expect("a definition");
            let request = BuildRequest { reference: branch.to_owned(), ..BuildRequest::default() };
            let id =
                builds::accept(tx, &request.checked(project, &definition, "kim", Moment(5)).expect("good"))?;
            let measured = Measured {
                cell: "kv".to_owned(),
                metric: "p99".to_owned(),
                unit: "ms".to_owned(),
                is_better_high: false,
                value: Some(1.5),
                interval: Some((1.0, 2.0)),
                runs,
                samples: 1000,
                is_valid: true,
                note: None,
            };
            let withheld = Measured {
                metric: "p50".to_owned(),
                value: None,
                interval: None,
                is_valid: false,
                note: Some("only invalid runs".to_owned()),
                ..measured.clone()
            };
            let threshold = NewThreshold {
                words: "p99 at most 1 ms".to_owned(),
                cell: "kv".to_owned(),
                metric: "p99".to_owned(),
                value: Some(1.5),
                is_met: Some(false),
            };
            let results = Results {
                fingerprint: fingerprint.to_owned(),
                measured: vec![measured, withheld],
                thresholds: vec![threshold],
            };
            keep(tx, id, project, "default", &results)?;
            files::put(tx, id, "report.json", b"{}")?;
            for (from, to) in [
                (BuildState::Queued, BuildState::Assigned),
                (BuildState::Assigned, BuildState::Running),
                (BuildState::Running, BuildState::Finalizing),
                (BuildState::Finalizing, BuildState::Completed),
            ] {
                builds::advance(tx, id, from, to, None, Moment(9))?;
            }
            builds::set_verdict(tx, id, verdict, None)?;
            Ok(id)
        });
        made.expect("written")
    }

    #[test]
    fn results_make_series_and_stay_apart() {
        on_both(|store| {
            let first = finished(store, "main", BuildVerdict::NoBaseline, "here");
            finished(store, "main", BuildVerdict::NoBaseline, "here");
            finished(store, "main", BuildVerdict::NoBaseline, "there");
            let count =
                |statement: &'static str| store.read_blocking(|tx| tx.number(statement, &[])).expect("read");
            assert_eq!(count("SELECT COUNT(*) FROM series"), 4);
            assert_eq!(count("SELECT COUNT(*) FROM results"), 6);
            assert_eq!(count("SELECT COUNT(*) FROM results WHERE value IS NULL AND is_valid = 0"), 3);
            assert_eq!(count("SELECT COUNT(*) FROM thresholds WHERE is_met = 0"), 3);
            let twice = store.write_blocking(move |tx| {
                let one = Measured {
                    cell: "kv".to_owned(),
                    metric: "p99".to_owned(),
                    unit: "ms".to_owned(),
                    is_better_high: false,
                    value: Some(9.0),
                    interval: None,
                    runs: 1,
                    samples: 1,
                    is_valid: true,
                    note: None,
                };
                let results =
                    Results { fingerprint: "here".to_owned(), measured: vec![one], thresholds: Vec::new() };
                keep(tx, first, ProjectId(1), "default", &results)
            });
            assert!(twice.is_err(), "a build speaks once");
            assert_eq!(count("SELECT COUNT(*) FROM results"), 6);
        });
    }

    #[test]
    fn the_baseline_is_the_last_good_build_of_its_branch_and_machine() {
        on_both(|store| {
            let good = finished(store, "main", BuildVerdict::Slower, "here");
            finished(store, "main", BuildVerdict::Invalid, "here");
            finished(store, "main", BuildVerdict::ThresholdMissed, "here");
            finished(store, "main", BuildVerdict::NoBaseline, "there");
            let other = finished(store, "other", BuildVerdict::Faster, "here");
            let of = |build: BuildId, variant: &'static str, fingerprint: &'static str| {
                let found = store.read_blocking(|tx| {
                    candidates(tx, build, ProjectId(1), variant, "main", fingerprint, 10)
                });
                found.expect("read").into_iter().map(|one| one.build).collect::<Vec<_>>()
            };
            assert_eq!(of(other, "default", "here"), [good]);
            assert_eq!(of(good, "default", "here"), [], "nothing came before it");
            assert_eq!(of(other, "small", "here"), []);
            assert_eq!(of(other, "default", "nowhere"), []);
        });
    }

    #[test]
    fn a_candidate_shows_how_much_of_it_can_be_used() {
        on_both(|store| {
            let good = finished_with(store, "main", BuildVerdict::NoBaseline, "here", 10);
            let poor = finished_with(store, "main", BuildVerdict::TooNoisy, "here", 1);
            let next = finished_with(store, "main", BuildVerdict::TooNoisy, "here", 10);
            let found = |most| {
                store
                    .read_blocking(|tx| candidates(tx, next, ProjectId(1), "default", "main", "here", most))
                    .expect("read")
            };
            let expected = |build, runs| Candidate { build, cells: vec![("kv".to_owned(), runs)] };
            assert_eq!(found(10), [expected(poor, 1), expected(good, 10)]);
            assert_eq!(found(1), [expected(poor, 1)]);
        });
    }

    #[test]
    fn a_repeat_has_the_baseline_of_the_first() {
        on_both(|store| {
            let noisy = BuildVerdict::TooNoisy;
            let [base, first, meanwhile, second, third, later] =
                std::array::from_fn(|_| finished(store, "main", noisy, "here"));
            let linked = store.write_blocking(move |tx| {
                repeats::link(tx, second, first, "its result was too noisy")?;
                repeats::link(tx, third, first, "its result was too noisy")?;
                repeats::of(tx, first)
            });
            let linked: Vec<_> = linked.expect("written").iter().map(|repeat| repeat.build).collect();
            assert_eq!(linked, [second, third]);
            let of = |build: BuildId| {
                let found = store
                    .read_blocking(|tx| candidates(tx, build, ProjectId(1), "default", "main", "here", 1));
                found.expect("read").first().map(|one| one.build)
            };
            let baselines = [base, first, meanwhile, second, third, later].map(of);
            let expected = [None, Some(base), Some(first), Some(base), Some(base), Some(third)];
            assert_eq!(baselines, expected);
        });
    }
}
