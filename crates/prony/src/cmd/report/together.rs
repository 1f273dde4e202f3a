//! What can only be seen in several results together: runs that ran into each other, and comparisons of one run
//! each. They are about the files that were named together; nobody is asked why they were.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use prony_model::{Evidence, Finding, FindingCode, RunPlan, RunResult, Severity};
use prony_report::{percent, seconds};

use crate::render::Named;

/// Runs that share this much of their time were at the same time: started together, they differ by the
/// milliseconds that programs take to start.
const TOGETHER_SHARE: f64 = 0.99;

/// All findings on `runs` together.
pub(super) fn findings(runs: &[Named<'_>]) -> Vec<Finding> {
    overlap(runs).into_iter().chain(single_run(runs)).collect()
}

/// Two runs against one server of which the later began so long after the earlier.
struct Pair<'a> {
    earlier: Named<'a>,
    later: Named<'a>,
    later_by: Duration,
    shared: Duration,
    /// From the first beginning to the last end.
    whole: Duration,
}

impl Pair<'_> {
    fn share(&self) -> f64 {
        self.shared.as_secs_f64() / self.whole.as_secs_f64()
    }

    fn of_two_machines(&self) -> bool {
        self.earlier.result.environment.boot_id != self.later.result.environment.boot_id
    }
}

/// The pair of runs against one server that overlaps least, of those that overlap in part.
fn overlap(runs: &[Named<'_>]) -> Option<Finding> {
    let pairs = runs.iter().enumerate().flat_map(|(index, one)| {
        let others = runs[index + 1..].iter().filter(|other| is_same_server(one.result, other.result));
        others.filter_map(|other| pair(*one, *other))
    });
    let mut pairs: Vec<Pair<'_>> =
        pairs.filter(|pair| !pair.shared.is_zero() && pair.share() < TOGETHER_SHARE).collect();
    pairs.sort_by(|one, other| one.share().total_cmp(&other.share()));
    let worst = pairs.first()?;
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let clocks = if worst.of_two_machines() { " (by the clocks of two machines)" } else { "" };
    let more = match pairs.len() {
        1 => String::new(),
        2 => "; so did another pair".to_owned(),
        count => format!("; so did {} other pairs", count - 1),
    };
    let (earlier, later) = (worst.earlier.file, worst.later.file);
    Some(Finding {
        code: FindingCode::Overlap,
        severity: Severity::Warning,
        evidence: vec![
            Evidence::new("overlap_share", worst.share(), "share"),
            Evidence::new("start_difference", worst.later_by.as_secs_f64(), "s"),
            Evidence::new("pairs", pairs.len() as f64, "count"),
        ],
        message: format!(
            "{earlier} and {later} loaded the same server and overlapped {} of their time; {later} began {} \
             after {earlier}{clocks}{more}: the sum of their rates is not what the server did at any moment",
            percent(micros(worst.shared), micros(worst.whole)),
            seconds(worst.later_by.as_secs_f64()),
        ),
        advice: "start them together and for the same time, or load the server from one prony with all \
                 connections"
            .to_owned(),
    })
}

/// How the measured parts of two runs lie to each other; `None` where their moments make no sense.
fn pair<'a>(one: Named<'a>, other: Named<'a>) -> Option<Pair<'a>> {
    let spans: [Range<Duration>; 2] = [one.result.timing.measured()?, other.result.timing.measured()?];
    let [first, second] = &spans;
    let (earlier, later) = if first.start <= second.start { (one, other) } else { (other, one) };
    let begin = first.start.min(second.start);
    let (from, to) = (first.start.max(second.start), first.end.min(second.end));
    Some(Pair {
        earlier,
        later,
        later_by: from.saturating_sub(begin),
        shared: to.saturating_sub(from),
        whole: first.end.max(second.end).saturating_sub(begin),
    })
}

/// Whether two runs reached one address. Loopback and Unix sockets are the same for two runs of one machine only.
fn is_same_server(one: &RunResult, other: &RunResult) -> bool {
    let same_machine = one.environment.boot_id == other.environment.boot_id;
    let is_local = |address: &str| {
        address.parse::<SocketAddr>().map_or(true, |address| address.ip().to_canonical().is_loopback())
    };
    one.addresses
        .iter()
        .any(|address| other.addresses.contains(address) && (same_machine || !is_local(address)))
}

/// What makes two runs repetitions of each other: all but chance and what is kept of them.
fn variant(result: &RunResult) -> (RunPlan, Option<&str>) {
    let plan = RunPlan { seed: 0, samples: false, ..result.plan.clone() };
    (plan, result.target_commit.as_deref())
}

/// Several variants of which some ran once.
fn single_run(runs: &[Named<'_>]) -> Option<Finding> {
    let mut variants: Vec<(_, usize)> = Vec::new();
    for run in runs {
        let key = variant(run.result);
        match variants.iter_mut().find(|(known, _)| *known == key) {
            Some((_, count)) => *count += 1,
            None => variants.push((key, 1)),
        }
    }
    let single = variants.iter().filter(|(_, count)| *count == 1).count();
    if variants.len() < 2 || single == 0 {
        return None;
    }
    let which = if single == variants.len() {
        format!("each of {single} variants")
    } else {
        format!("{single} of {} variants", variants.len())
    };
    Some(Finding {
        code: FindingCode::SingleRun,
        severity: Severity::Warning,
        evidence: vec![
            Evidence::new("variants", variants.len() as f64, "count"),
            Evidence::new("single_runs", single as f64, "count"),
        ],
        message: format!(
            "n = 1 for {which}: on a shared machine identical code differs by 30 to 90 % from one run to the next"
        ),
        advice: "repeat each and take turns (a, b, a, b, …) before saying which is faster".to_owned(),
    })
}

#[cfg(test)]
mod tests;
