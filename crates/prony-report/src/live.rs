//! A run while it is on, as a screen of lines: how far it is, the rate, both clocks, what fails, what limits it and what
//! makes it doubtful, so far. The caller decides when to show it; nothing here is evaluated.

mod pairs;
mod study;

use prony_model::{End, Load, Phase, Progress, Rate, RunPlan, RunResult, Severity, Stage};
use unicode_width::UnicodeWidthChar as _;

use crate::bars::drawn;
use crate::latency::{Table, headings, so_far};
use crate::number::{count, dash, percent, rate, rough_percent, seconds};
use crate::page::{Colour, Page};
use crate::text::severity_word;
use crate::{Style, facts, server};

pub use pairs::{MetricSoFar, PairsMoment, pairs_screen};
pub use study::{StudyMoment, study_screen};

/// Columns of a row's name in the latency table, as of every label.
const NAME: usize = 10;
/// Columns of a number at least.
const CELL: usize = 8;
/// Columns of the number of samples at least.
const SAMPLES: usize = 12;
/// Columns of the bar that shows how far the run is.
const BAR: usize = 30;
/// Kinds of failures that are shown, the most frequent first.
const FAILURES_MAX: usize = 3;
/// Findings that are shown, the worst first,
const FINDINGS_MAX: usize = 3;
/// each with so many lines.
const FINDING_LINES_MAX: usize = 2;

/// A run at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// What was asked for.
    pub plan: &'a RunPlan,
    /// The part of the run; `None` until the load begins.
    pub phase: Option<Phase>,
    /// How far that part is.
    pub progress: Option<&'a Progress>,
    /// Good responses per second now, if it is known.
    pub rate_per_s: Option<f64>,
    /// The same in each of the last seconds, the oldest first.
    pub rates_per_s: &'a [f64],
    /// The result so far.
    pub result: Option<&'a RunResult>,
    /// Whether the run was asked to end.
    pub stopping: bool,
}

/// Lines that belong together; where there is no room for all, those with the least `rank` lose theirs first.
struct Block {
    rank: u8,
    lines: Vec<String>,
}

impl Block {
    /// What `draw` writes.
    fn drawn(rank: u8, style: &Style, draw: &dyn Fn(&mut Page)) -> Self {
        let mut page = Page::new(style);
        draw(&mut page);
        Self { rank, lines: page.finish().lines().map(str::to_owned).collect() }
    }

    fn gap() -> Self {
        Self { rank: 0, lines: vec![String::new()] }
    }
}

/// `moment` in at most `rows` lines, none wider than `style` says.
pub fn screen(moment: &Moment<'_>, style: &Style, rows: usize) -> Vec<String> {
    let block = |rank, draw: &dyn Fn(&mut Page, &Moment<'_>)| {
        Block::drawn(rank, style, &|page: &mut Page| draw(page, moment))
    };
    let gap = Block::gap;
    let blocks = vec![
        block(4, &head),
        gap(),
        block(13, &place),
        block(12, &stage),
        gap(),
        block(11, &rates),
        block(3, &curve),
        block(10, &success),
        block(8, &failing),
        block(7, &sockets),
        block(2, &used),
        gap(),
        block(9, &latencies),
        gap(),
        block(5, &limiter),
        block(6, &findings),
        gap(),
        block(1, &|page, moment| hint(page, moment.stopping, "run")),
    ];
    fitted(blocks, rows)
}

/// The lines of `blocks`, at most `rows`.
fn fitted(mut blocks: Vec<Block>, rows: usize) -> Vec<String> {
    fit(&mut blocks, rows);
    let lines = blocks.into_iter().flat_map(|block| block.lines);
    let mut lines: Vec<String> = lines.collect();
    lines.dedup_by(|next, line| next.is_empty() && line.is_empty());
    lines
}

/// Takes lines away from the end of the least important blocks until `rows` are enough.
fn fit(blocks: &mut [Block], rows: usize) {
    loop {
        let lines: usize = blocks.iter().map(|block| block.lines.len()).sum();
        let least = blocks.iter_mut().filter(|block| !block.lines.is_empty()).min_by_key(|block| block.rank);
        match least {
            Some(block) if lines > rows => block.lines.pop(),
            _ => return,
        };
    }
}

/// The request and the load, on one line.
fn head(page: &mut Page, moment: &Moment<'_>) {
    let plan = moment.plan;
    let line = format!("{} {} · {}", plan.request.method, plan.target, facts::load(plan));
    let columns = page.style().columns();
    page.line(&cut(&line, columns));
}

/// `line` in `columns`, with a mark where it is cut. Characters are counted after cleaning by [`Page`], which makes none
/// narrower: so control characters are written out here.
fn cut(line: &str, columns: usize) -> String {
    let line = crate::clean(line);
    let mut taken = 0;
    let is_too_long = line.chars().any(|character| {
        taken += character.width().unwrap_or_default();
        taken > columns
    });
    if !is_too_long {
        return line;
    }
    let mut room = columns.saturating_sub(3);
    let kept = line.chars().take_while(|character| {
        let width = character.width().unwrap_or_default();
        let fits = width <= room;
        room = room.saturating_sub(width);
        fits
    });
    format!("{}...", kept.collect::<String>().trim_end())
}

/// The part of the run, and how much of it is done.
fn place(page: &mut Page, moment: &Moment<'_>) {
    let elapsed = moment.progress.map_or(0.0, |progress| progress.elapsed.as_secs_f64());
    let ended = moment.progress.map_or(0, |progress| progress.done + progress.failed);
    let so_long = seconds((elapsed * 10.0).floor() / 10.0);
    let of_time = |total: f64| (format!("{so_long} of {}", seconds(total)), share(elapsed, total));
    let (word, (text, share)) = match (moment.phase, moment.plan.end) {
        (None, _) => ("starting", (String::new(), None)),
        (Some(Phase::Warmup), _) => ("warm-up", of_time(moment.plan.warmup.as_secs_f64())),
        (Some(Phase::Drain), _) => ("drain", ("waiting for the last answers".to_owned(), None)),
        (Some(Phase::Measure), End::Duration(total) | End::First { duration: total, .. }) => {
            ("measuring", of_time(total.as_secs_f64()))
        }
        (Some(Phase::Measure), End::Requests(total)) => {
            let text = format!("{} of {} requests, {so_long}", count(ended), count(total));
            ("measuring", (text, share(ended as f64, total as f64)))
        }
    };
    let text = if moment.stopping { format!("{text}; ending early") } else { text };
    let Some(share) = share else { return page.labelled(word, None, text.trim_start_matches("; ")) };
    bar(page, word, share, &text);
}

/// The current stage: its name and rate, how long it lasts, and the next one.
fn stage(page: &mut Page, moment: &Moment<'_>) {
    let (Some(stages), Some(elapsed_s)) = (&moment.plan.stages, measured_s(moment)) else { return };
    let mut spans = stages
        .spans()
        .enumerate()
        .skip_while(|(_, (from_s, stage))| elapsed_s >= from_s + stage.duration.as_secs_f64());
    let Some((index, (from_s, current))) = spans.next() else { return };
    let left_s = from_s + current.duration.as_secs_f64() - elapsed_s;
    let number = match &current.name {
        Some(name) => format!("{name} ({} of {})", index + 1, stages.0.len()),
        None => format!("{} of {}", index + 1, stages.0.len()),
    };
    let left = seconds((left_s * 10.0).ceil() / 10.0);
    let next = spans.next().map_or_else(String::new, |(next, (_, stage))| {
        let name = stage.name.as_ref().map_or_else(|| (next + 1).to_string(), Clone::clone);
        format!(", then {name}: {}", rates_of(stage))
    });
    let line = format!("{:<NAME$}{number}: {}, {left} left{next}", "stage", rates_of(current));
    let columns = page.style().columns();
    page.line(&cut(&line, columns));
}

/// `500 /s`, or `100 to 500 /s` of a ramp.
fn rates_of(stage: &Stage) -> String {
    if stage.is_steady() {
        format!("{} /s", rate(stage.from_per_s))
    } else {
        format!("{} to {} /s", rate(stage.from_per_s), rate(stage.to_per_s))
    }
}

/// How long the measured part has been on, in seconds; `None` before it and in the drain.
fn measured_s(moment: &Moment<'_>) -> Option<f64> {
    let progress = moment.progress.filter(|_| moment.phase == Some(Phase::Measure))?;
    Some(progress.elapsed.as_secs_f64())
}

/// The rate that is asked for now, in an open loop.
fn asked_per_s(moment: &Moment<'_>) -> Option<f64> {
    match (&moment.plan.stages, measured_s(moment)) {
        (Some(stages), Some(elapsed_s)) => Some(stages.rate_at(elapsed_s)),
        (Some(stages), None) => Some(stages.first_per_s()).filter(|_| moment.phase != Some(Phase::Drain)),
        (None, _) => moment.plan.load.rate().map(Rate::as_per_second),
    }
}

/// A bar called `word`, filled to `share`, and `text` beside it; the text alone where there is no room.
fn bar(page: &mut Page, word: &str, share: f64, text: &str) {
    let unicode = page.style().unicode;
    let bar = drawn(share, BAR, unicode);
    let rest = BAR.saturating_sub(bar.chars().count());
    let empty = if unicode { "░" } else { "." }.repeat(rest);
    let percents = format!(" {:>3.0} %  ", (share * 100.0).floor());
    let line = format!("{word:<NAME$}{bar}{empty}{percents}{text}");
    let columns = page.style().columns();
    if line.chars().count() <= columns { page.fitted(&line) } else { page.labelled(word, None, text) }
}

fn share(part: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| (part / of).clamp(0.0, 1.0))
}

/// The rate now, so far, and as asked.
fn rates(page: &mut Page, moment: &Moment<'_>) {
    let mut parts = Vec::new();
    parts.extend(moment.rate_per_s.map(|now| format!("{} /s now", rate(now))));
    let so_far = moment.result.filter(|result| result.timing.measured_s > 0.0);
    parts.extend(so_far.map(|result| format!("{} /s so far", rate(result.rate.done_per_s))));
    parts.extend(asked_per_s(moment).map(|asked| format!("{} /s asked", rate(asked))));
    let all_good = so_far.is_none_or(|result| result.requests.answered == result.requests.done);
    let label = if all_good { "rate" } else { "goodput" };
    page.labelled(label, None, &if parts.is_empty() { dash() } else { parts.join("     ") });
}

/// The rate over the last seconds, from 0 up.
fn curve(page: &mut Page, moment: &Moment<'_>) {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = moment.rates_per_s.iter().copied().fold(0.0, f64::max);
    if !page.style().unicode || most <= 0.0 || moment.rates_per_s.len() < 2 {
        return;
    }
    let room = page.style().columns().saturating_sub(NAME);
    let shown = &moment.rates_per_s[moment.rates_per_s.len().saturating_sub(room)..];
    let step = |value: &f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 7")]
        let index = (value / most * 7.0).round().clamp(0.0, 7.0) as usize;
        STEPS[index]
    };
    page.fitted(&format!("{}{}", " ".repeat(NAME), shown.iter().map(step).collect::<String>()));
}

/// What became of the requests.
fn success(page: &mut Page, moment: &Moment<'_>) {
    let Some(result) = moment.result.filter(|result| result.requests.intended > 0) else { return };
    let requests = &result.requests;
    let share = percent(requests.done, requests.intended);
    let colour = (requests.done == 0).then_some(Colour::Red);
    let text = format!("{share:<9} {} good, {} failed", count(requests.done), count(requests.failed));
    page.labelled("SUCCESS", colour, &text);
}

/// The most frequent failures, by kind.
fn failing(page: &mut Page, moment: &Moment<'_>) {
    let Some(result) = moment.result else { return };
    let columns = page.style().columns();
    for error in result.errors.iter().take(FAILURES_MAX) {
        let share = percent(error.count, result.requests.intended);
        let (number, kind) = (count(error.count), error.kind.description());
        let line = format!("{:<NAME$}{share:<9} {number} {kind}, e.g. {}", "", error.first_example);
        page.line(&cut(&line, columns));
    }
    let more = result.errors.len().saturating_sub(FAILURES_MAX);
    if more > 0 {
        page.labelled("", None, &format!("and {more} more kinds of failures"));
    }
}

/// The connections now.
fn sockets(page: &mut Page, moment: &Moment<'_>) {
    let Some(progress) = moment.progress else { return };
    let most = if matches!(moment.plan.load, Load::Open { .. }) { "at most " } else { "" };
    let allowed = count(moment.plan.load.connections().into());
    let mut parts = vec![
        format!("{} of {most}{allowed} open", count(progress.open)),
        format!("{} requests in flight", rate(progress.in_flight)),
    ];
    if let Some(result) = moment.result.filter(|result| result.connections.closed_by_server > 0) {
        parts.push(format!("{} closed by the server", count(result.connections.closed_by_server)));
    }
    page.labelled("sockets", None, &parts.join(", "));
}

/// The CPU time of client and server.
fn used(page: &mut Page, moment: &Moment<'_>) {
    let Some(result) = moment.result.filter(|result| result.timing.measured_s > 0.0) else { return };
    let client = rough_percent(result.client.cpu_s / result.timing.measured_s);
    let server = server::cores(result).map_or_else(String::new, |share| format!(", the server {share}"));
    page.labelled("CPU", None, &format!("the client used {client} of a core{server}"));
}

/// Both clocks.
fn latencies(page: &mut Page, moment: &Moment<'_>) {
    let Some(result) = moment.result.filter(|result| result.requests.done > 0) else { return };
    let table: Table = so_far(result);
    let line = |name: &str, cells: Vec<String>| {
        let last = cells.len().saturating_sub(1);
        let cells = cells.iter().enumerate().map(|(column, cell)| {
            let width = if column == last { SAMPLES } else { CELL };
            format!(" {cell:>width$}", width = width - 1)
        });
        format!("{name:<NAME$}{}", cells.collect::<String>())
    };
    let columns = page.style().columns();
    page.line(&cut(&line(table.unit.name, headings().into_iter().map(str::to_owned).collect()), columns));
    for row in table.rows {
        page.line(&cut(&line(row.name, row.cells), columns));
    }
}

/// What limits the run.
fn limiter(page: &mut Page, moment: &Moment<'_>) {
    if let Some(limiter) = moment.result.and_then(|result| result.limiter.as_ref()) {
        page.labelled("limiter", None, &limiter.sentence);
    }
}

/// What makes it doubtful, the worst first.
fn findings(page: &mut Page, moment: &Moment<'_>) {
    let Some(result) = moment.result else { return };
    let room = (page.style().columns() - NAME) * FINDING_LINES_MAX;
    for finding in result.findings.iter().take(FINDINGS_MAX) {
        let colour = match finding.severity {
            Severity::Note => None,
            Severity::Warning => Some(Colour::Yellow),
            Severity::Invalid => Some(Colour::Red),
        };
        // A line that is broken between words ends before the last column.
        let text = cut(&finding.message, room - NAME);
        page.labelled(severity_word(finding.severity), colour, &text);
    }
    let more = result.findings.len().saturating_sub(FINDINGS_MAX);
    if more > 0 {
        page.labelled("", None, &format!("and {more} more"));
    }
}

/// How `what` ends.
fn hint(page: &mut Page, stopping: bool, what: &str) {
    let text = if stopping {
        "Ctrl-C again leaves without a report".to_owned()
    } else {
        format!("so far; Ctrl-C ends the {what} with its report")
    };
    let columns = page.style().columns();
    page.line(&cut(&text, columns));
}
