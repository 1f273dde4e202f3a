//! What makes the numbers of a series doubtful. Thresholds are those of docs/findings.md, one section for each code.

use prony_model::{
    CommandExit, CommandResult, Evidence, ExecCommand, ExecResult, Finding, FindingCode, Severity,
    StartUpSource,
    words::{milliseconds, percent, plural},
};
use prony_stats::outliers;

use crate::error::How;

/// Above this share of start-up a command's times show more about how programs start than about what they do.
const START_UP_SHARE: f64 = 0.20;
/// Below this mean the shell's start is as long as the command, and what is subtracted for it as uncertain
/// (hyperfine warns from the same time).
const SHORT_S: f64 = 0.005;
/// Fewer runs have no spread to be far from.
const FEWEST: usize = 6;
/// Commands that a finding names.
const NAMED_MAX: usize = 5;

/// All findings, the worst first. `unclean` are cleanups that failed, in words.
pub(crate) fn findings(result: &ExecResult, unclean: &[String]) -> Vec<Finding> {
    let checks = [interrupted, start_up_share, slow_first_run, outlier_runs, short_command, failed_runs];
    let mut findings: Vec<Finding> = checks.iter().filter_map(|check| check(result)).collect();
    findings.extend(unclean.iter().map(|error| Finding {
        code: FindingCode::FailedRuns,
        severity: Severity::Warning,
        evidence: Vec::new(),
        message: format!("a cleanup failed: {error}"),
        advice: "the numbers stand; look at what it left behind".to_owned(),
    }));
    // Where a command is short, whatever else is found in its times follows from that.
    let is_later = |finding: &Finding| finding.code != FindingCode::ShortCommand;
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), is_later(finding), finding.code));
    findings
}

/// What a check found in one command: a number for the evidence, and words.
struct Seen {
    value: f64,
    words: String,
}

/// One finding for all commands in which `check` sees something: `what`, then the words for each.
fn seen_in_commands(
    result: &ExecResult,
    code: FindingCode,
    (name, unit): (&str, &str),
    what: &str,
    advice: String,
    check: impl Fn(&CommandResult, &ExecCommand) -> Option<Seen>,
) -> Option<Finding> {
    let pairs = result.commands.iter().zip(&result.plan.commands);
    let seen: Vec<(usize, Seen)> = pairs
        .enumerate()
        .filter_map(|(at, (measured, planned))| Some((at, check(measured, planned)?)))
        .collect();
    let one_of_one = result.commands.len() == 1;
    let mut words: Vec<String> = seen
        .iter()
        .take(NAMED_MAX)
        .map(
            |(at, seen)| {
                if one_of_one { seen.words.clone() } else { format!("command {}: {}", at + 1, seen.words) }
            },
        )
        .collect();
    if seen.len() > NAMED_MAX {
        words.push(format!("and {} more", seen.len() - NAMED_MAX));
    }
    let evidence = seen.iter().map(|(at, seen)| {
        let name = if one_of_one { name.to_owned() } else { format!("{name}_{}", at + 1) };
        Evidence::new(&name, seen.value, unit)
    });
    (!seen.is_empty()).then(|| Finding {
        code,
        severity: Severity::Warning,
        evidence: evidence.collect(),
        message: format!("{what}{}", words.join("; ")),
        advice,
    })
}

/// The series was ended by hand.
fn interrupted(result: &ExecResult) -> Option<Finding> {
    let rounds = result.timing.rounds;
    result.timing.interrupted.then(|| Finding {
        code: FindingCode::Interrupted,
        severity: Severity::Note,
        evidence: vec![Evidence::new("rounds", f64::from(rounds), "count")],
        message: format!(
            "the series was ended by hand after {}; what was measured until then is here",
            plural(rounds.into(), "round")
        ),
        advice: "run it again to its end before you compare it".to_owned(),
    })
}

/// Much of a command's time is its start.
fn start_up_share(result: &ExecResult) -> Option<Finding> {
    let url = result.plan.commands.iter().find_map(|command| url(&command.line));
    let advice = match url {
        Some(url) => format!("to time the request itself: prony {url}"),
        None => "to time the work itself, let one process do it many times".to_owned(),
    };
    seen_in_commands(result, FindingCode::StartUpShare, ("share", "share"), "", advice, |measured, _| {
        let start_up = measured.start_up.as_ref().filter(|_| has_times(measured))?;
        let share = start_up.share.filter(|share| *share > START_UP_SHARE)?;
        let least = if start_up.source == StartUpSource::Least { "at least " } else { "" };
        let words = format!(
            "{least}{} of the time is process start-up ({} takes {}, n = {}, and the command {})",
            percent(share),
            quoted(&start_up.line),
            seconds(start_up.wall.median_s),
            start_up.wall.count,
            seconds(measured.wall.as_ref()?.median_s)
        );
        Some(Seen { value: share, words })
    })
}

/// The first run was slower than the others.
fn slow_first_run(result: &ExecResult) -> Option<Finding> {
    let advice = if result.plan.runs.warmup == 0 {
        "use --warmup 3, or --prepare to start each run from the same state"
    } else {
        "use --prepare to start each run from the same state"
    };
    let code = FindingCode::SlowFirstRun;
    seen_in_commands(result, code, ("first", "s"), "", advice.to_owned(), |measured, _| {
        let (first, median) = (measured.runs.first()?.wall_s, measured.wall.as_ref()?.median_s);
        let slow = has_times(measured) && first > median && far(&times(measured)).first() == Some(&0);
        let words = format!("the first run took {}, the median is {}", seconds(first), seconds(median));
        slow.then_some(Seen { value: first, words })
    })
}

/// Some runs took much longer, or much less, than the others.
fn outlier_runs(result: &ExecResult) -> Option<Finding> {
    let advice =
        "stop what else runs here, and repeat; the median bears this better than the mean".to_owned();
    seen_in_commands(result, FindingCode::OutlierRuns, ("runs", "count"), "", advice, |measured, _| {
        let times = times(measured);
        let median_s = measured.wall.as_ref().filter(|_| has_times(measured))?.median_s;
        // A slow first run is a finding of its own.
        let far: Vec<f64> =
            far(&times).into_iter().filter(|at| *at > 0 || times[0] < median_s).map(|at| times[at]).collect();
        let farthest = far
            .iter()
            .copied()
            .max_by(|a, b| f64::total_cmp(&(a - median_s).abs(), &(b - median_s).abs()))?;
        let words = format!(
            "{} of {} {} far from the median of {}, the farthest at {}",
            far.len(),
            plural(times.len() as u64, "run"),
            if far.len() == 1 { "was" } else { "were" },
            seconds(median_s),
            seconds(farthest)
        );
        Some(Seen { value: far.len() as f64, words })
    })
}

/// The command is about as short as the shell's start.
fn short_command(result: &ExecResult) -> Option<Finding> {
    let shell_s = result.shell?.wall_s;
    let what = format!(
        "too short to be timed through a shell, whose start-up ({}) is subtracted: ",
        seconds(shell_s)
    );
    let advice = "-N starts a program without a shell, and subtracts nothing".to_owned();
    seen_in_commands(result, FindingCode::ShortCommand, ("mean", "s"), &what, advice, |measured, _| {
        let mean_s = measured.wall.as_ref()?.mean_s;
        let words = match &measured.withheld {
            Some(reason) => format!("{reason}, so no time is given"),
            None if mean_s < SHORT_S => format!("{} on average", seconds(mean_s)),
            None => return None,
        };
        Some(Seen { value: mean_s, words })
    })
}

/// Some runs did not do what they should.
fn failed_runs(result: &ExecResult) -> Option<Finding> {
    let exits = &result.plan.exits;
    let advice = "make it work first; where an exit code is what you expect, say so: -i=1".to_owned();
    seen_in_commands(result, FindingCode::FailedRuns, ("failed", "count"), "", advice, |measured, _| {
        let failed: Vec<CommandExit> =
            measured.runs.iter().map(|run| run.exit).filter(|exit| !exits.is_good(*exit)).collect();
        let first = How(*failed.first()?);
        let words = format!(
            "{} of {} failed (the first {first})",
            failed.len(),
            plural(measured.runs.len() as u64, "run")
        );
        Some(Seen { value: failed.len() as f64, words })
    })
}

/// Whether its times can be distinguished from the shell's.
fn has_times(command: &CommandResult) -> bool {
    command.withheld.is_none()
}

/// Which of `times` are far from the others.
fn far(times: &[f64]) -> Vec<usize> {
    if times.len() < FEWEST { Vec::new() } else { outliers(times) }
}

fn times(command: &CommandResult) -> Vec<f64> {
    command.runs.iter().map(|run| run.wall_s).collect()
}

/// The first word of `line` that is a URL that prony can load.
fn url(line: &str) -> Option<String> {
    let words = shell_words::split(line).unwrap_or_default();
    words.into_iter().find(|word| word.starts_with("http://")).map(|url| prony_model::without_secrets(&url))
}

/// `line` as a part of a sentence.
fn quoted(line: &str) -> String {
    format!("`{}`", prony_model::without_secrets(line))
}

/// Seconds in a unit that fits.
fn seconds(value: f64) -> String {
    milliseconds(value * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handful_of_runs_has_no_outliers() {
        assert_eq!(far(&[1.0, 1.0, 1.0, 1.0, 50.0]), Vec::<usize>::new());
        assert_eq!(far(&[1.0, 1.0, 1.0, 1.0, 1.0, 50.0]), [5]);
    }

    #[test]
    fn urls() {
        let check = |line: &str, expected: Option<&str>| assert_eq!(url(line).as_deref(), expected, "{line}");
        check("wget -qO- 'http://127.0.0.1:3000/a b'", Some("http://127.0.0.1:3000/a b"));
        check("curl https://h/", None);
        check("true", None);
        check("echo 'http://", None);
    }
}
