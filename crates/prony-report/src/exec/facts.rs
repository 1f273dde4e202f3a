//! What both reports say in words. No number stands without the number of runs behind it.

use std::collections::BTreeMap;

use prony_model::{
    CommandComparison, CommandExit, CommandResult, ComparisonOutcome, ExecOrder, ExecOutput, ExecResult,
    StartUpSource, TimeSummary,
};

use crate::number::{bytes, count, dash, plural, rough_percent, seconds, signed_percent, significant};
use crate::page::Colour;

/// Exit codes that a line names.
const EXITS_MAX: usize = 4;

/// What was asked, also where nobody asked for it by hand; each part is one choice.
pub(super) fn choices(result: &ExecResult) -> Vec<String> {
    let (plan, timing) = (&result.plan, &result.timing);
    let commands = plural(plan.commands.len() as u64, "command");
    let order = match plan.order {
        _ if plan.commands.len() == 1 => "",
        ExecOrder::Interleaved => " in turn, each round in a random order",
        ExecOrder::Sequential => " one after the other",
    };
    let early = if timing.interrupted { ", stopped by hand" } else { "" };
    let mut parts = vec![
        format!("{commands}{order}"),
        format!("{} in {}{early}", plural(timing.rounds.into(), "round"), seconds(timing.total_s)),
    ];
    if plan.runs.warmup > 0 {
        parts.push(format!("after {} each", plural(plan.runs.warmup.into(), "warm-up run")));
    }
    let shell = plan.shell.as_ref().map(|words| words.join(" "));
    parts.push(match (shell, result.shell) {
        (None, _) => "without a shell".to_owned(),
        (Some(shell), None) => shell,
        (Some(shell), Some(took)) => {
            format!("{shell}, shell start-up ({}, mean, n = {}) subtracted", seconds(took.wall_s), took.runs)
        }
    });
    parts.extend(plan.input.as_ref().map(|path| format!("input from {}", path.display())));
    match &plan.output {
        ExecOutput::Null => {}
        ExecOutput::Pipe => parts.push("output through a pipe".to_owned()),
        ExecOutput::Inherit => parts.push("output shown".to_owned()),
        ExecOutput::File(path) => parts.push(format!("output to {}", path.display())),
    }
    if !plan.exits.good.is_empty() {
        let codes: Vec<String> = plan.exits.good.iter().map(ToString::to_string).collect();
        parts.push(format!("good is exit code 0, {}", codes.join(", ")));
    }
    parts.push(format!("seed {}", plan.seed));
    parts
}

/// Mean and spread; the mean alone of a single run.
pub(super) fn mean(wall: &TimeSummary) -> String {
    let unit = Unit::of(wall);
    let spread = wall.stddev_s.map(|spread| format!(" ± {}", unit.number(spread))).unwrap_or_default();
    format!("{}{spread} {}", unit.number(wall.mean_s), unit.name)
}

/// Median and its interval.
pub(super) fn median(wall: &TimeSummary) -> String {
    let unit = Unit::of(wall);
    let interval = wall
        .median_interval_s
        .map(|interval| format!(" [{}, {}]", unit.number(interval.low), unit.number(interval.high)))
        .unwrap_or_default();
    format!("{}{interval} {}", unit.number(wall.median_s), unit.name)
}

/// Least and most.
pub(super) fn range(wall: &TimeSummary) -> String {
    let unit = Unit::of(wall);
    format!("{} … {} {}", unit.number(wall.min_s), unit.number(wall.max_s), unit.name)
}

/// The unit of all times of one command.
struct Unit {
    name: &'static str,
    per_s: f64,
}

impl Unit {
    /// The one that a person would say the mean in.
    fn of(wall: &TimeSummary) -> Self {
        match wall.mean_s {
            mean if mean >= 0.9995 => Self { name: "s", per_s: 1.0 },
            mean if mean >= 0.000_999_5 => Self { name: "ms", per_s: 1e3 },
            _ => Self { name: "µs", per_s: 1e6 },
        }
    }

    fn number(&self, time_s: f64) -> String {
        significant(time_s * self.per_s)
    }
}

/// CPU time, means.
pub(super) fn cpu(command: &CommandResult) -> Option<(String, String)> {
    Some((seconds(command.user.as_ref()?.mean_s), seconds(command.system.as_ref()?.mean_s)))
}

/// The greatest memory of any run. Below prony's own nothing can be seen.
pub(super) fn memory(command: &CommandResult) -> Option<String> {
    let memory = command.memory?;
    let most = bytes(memory.max_bytes as f64);
    Some(if memory.max_bytes <= memory.floor_bytes { format!("{most} or less") } else { most })
}

/// The share of the start, and how it is known.
pub(super) fn start_up(command: &CommandResult) -> Option<(String, String)> {
    let start_up = command.start_up.as_ref()?;
    if start_up.wall.median_s == 0.0 {
        let how = format!("{} takes no longer than the shell (n = {})", start_up.line, start_up.wall.count);
        return Some((dash(), how));
    }
    let how = format!(
        "{} takes {} (median, n = {})",
        start_up.line,
        seconds(start_up.wall.median_s),
        start_up.wall.count
    );
    let share = match (start_up.share, start_up.source) {
        (None, _) => return Some((dash(), format!("{how}, longer than the command itself"))),
        (Some(share), StartUpSource::Least) => format!("{} or more", rough_percent(share)),
        (Some(share), _) => rough_percent(share),
    };
    Some((share, how))
}

/// How often which exit, unless all are 0.
pub(super) fn exits(command: &CommandResult) -> Option<String> {
    let mut counts: BTreeMap<CommandExit, u64> = BTreeMap::new();
    for run in &command.runs {
        *counts.entry(run.exit).or_default() += 1;
    }
    counts.keys().find(|exit| **exit != CommandExit::Code(0))?;
    let mut parts: Vec<String> = counts
        .iter()
        .take(EXITS_MAX)
        .map(|(exit, number)| {
            let number = count(*number);
            match exit {
                CommandExit::Code(code) => format!("{number} with exit code {code}"),
                CommandExit::Signal(signal) => format!("{number} by signal {signal}"),
                CommandExit::Timeout => format!("{number} by the timeout"),
            }
        })
        .collect();
    if counts.len() > EXITS_MAX {
        parts.push(format!("{} other codes", counts.len() - EXITS_MAX));
    }
    Some(parts.join(", "))
}

/// What the others are compared with.
pub(super) fn reference(result: &ExecResult) -> Option<String> {
    let reference = result.reference?;
    let why = if result.plan.reference.is_some() { "as asked" } else { "fastest median" };
    Some(format!("times relative to command {} ({why})", reference + 1))
}

/// The word of a comparison and its colour.
pub(super) fn word(comparison: &CommandComparison) -> (String, Option<Colour>) {
    let outcome = &comparison.verdict;
    // Only what is surely so, size and all, stands out.
    let is_sure = matches!(outcome, ComparisonOutcome::Faster | ComparisonOutcome::Slower);
    let word = if is_sure { outcome.word().to_uppercase() } else { outcome.word().to_owned() };
    (word, Colour::of_outcome(outcome))
}

/// How large the difference is, with its interval, what it rests on, and what the verdict leaves open.
pub(super) fn grounds(comparison: &CommandComparison) -> String {
    if let ComparisonOutcome::NoVerdict { reason } = &comparison.verdict {
        return reason.clone();
    }
    let size = comparison.change.map(|change| {
        // From twice as long on, percents are hard to read.
        let show = if change >= 1.0 { times } else { signed_percent };
        let interval = comparison
            .interval
            .map(|interval| format!(" [{}, {}]", show(interval.low), show(interval.high)))
            .unwrap_or_default();
        let unit = if change >= 1.0 { " times as long" } else { "" };
        format!("{}{interval}{unit}     ", show(change))
    });
    let pairs = match comparison.rounds_per_pair {
        0 | 1 => plural(comparison.pairs.into(), "pair"),
        rounds => format!("{} of {rounds} rounds each", plural(comparison.pairs.into(), "pair")),
    };
    let open = match &comparison.verdict {
        ComparisonOutcome::FasterSizeUncertain | ComparisonOutcome::SlowerSizeUncertain => {
            ", by how much is open".to_owned()
        }
        ComparisonOutcome::NoDifference => format!(", within ±{}", rough_percent(comparison.margin)),
        ComparisonOutcome::TooNoisy { smallest_detectable: Some(least), pairs_needed: Some(pairs) } => {
            format!(
                ", which would find {}; about {} pairs would find 2 %",
                rough_percent(*least),
                count(*pairs)
            )
        }
        _ => String::new(),
    };
    format!("{}{pairs}{open}", size.unwrap_or_default())
}

fn times(change: f64) -> String {
    format!("{:.2}", 1.0 + change)
}

#[cfg(test)]
mod tests {
    use prony_model::Interval;

    use super::*;

    fn check(change: f64, interval: (f64, f64), verdict: ComparisonOutcome, expected: &str) {
        let comparison = CommandComparison {
            command: 1,
            pairs: 20,
            rounds_per_pair: 1,
            change: Some(change),
            interval: Some(Interval { low: interval.0, high: interval.1, indicative: false }),
            p: Some(0.01),
            margin: 0.02,
            verdict,
        };
        assert_eq!(grounds(&comparison), expected);
    }

    #[test]
    fn sizes_are_written_as_people_say_them() {
        check(0.079, (0.051, 0.108), ComparisonOutcome::Slower, "+7.9 % [+5.1 %, +11 %]     20 pairs");
        check(1.31, (1.25, 1.38), ComparisonOutcome::Slower, "2.31 [2.25, 2.38] times as long     20 pairs");
        check(
            0.003,
            (-0.008, 0.014),
            ComparisonOutcome::NoDifference,
            "+0.3 % [−0.8 %, +1.4 %]     20 pairs, within ±2.0 %",
        );
        check(
            -0.03,
            (-0.19, 0.16),
            ComparisonOutcome::TooNoisy { smallest_detectable: Some(0.12), pairs_needed: Some(1600) },
            "−3.0 % [−19 %, +16 %]     20 pairs, which would find 12 %; about 1,600 pairs would find 2 %",
        );
    }
}
