//! `prony explain thresholds`: the language, and every figure with its unit.

use std::fmt::Write as _;

use prony_model::{Figure, LoadKind, StudyMetric};
use prony_report::{Style, wrap};

/// Examples that every reader can change.
pub(super) const EXAMPLES: [&str; 6] = [
    "response.p99 < 50ms",
    "checks > 99.9%",
    "errors == 0",
    "rate >= 5k",
    "server.cpu-per-request < 300us",
    "verdict != invalid",
];

/// The page.
pub(super) fn text(style: &Style) -> String {
    let width = style.width.max(Style::MIN_WIDTH);
    let paragraph = |text: &str| wrap(text, width).join("\n") + "\n\n";
    let mut page = String::from("thresholds\n\n");
    page.push_str(&paragraph(
        "A threshold is a figure, an operator (< <= > >= == !=) and a value with its unit. prony run --threshold requires \
         it, --fail-if requires the opposite, study files have thresholds = [\"…\"]. docs/thresholds.md has the rest.",
    ));
    for example in EXAMPLES {
        // Writing to a `String` can't fail.
        let _ = writeln!(page, "  {example}");
    }
    page.push_str("\nfigures of runs\n");
    let (runs, others): (Vec<Figure>, Vec<Figure>) =
        Figure::all().partition(|figure| figure.kind() == LoadKind::Run);
    page.push_str(&families(&runs));
    let _ = writeln!(page, "  {:<30} {:<8} answers with this status", "status.100 … status.599", "%");
    for (name, unit, what) in [
        ("step.NAME.response.…", "ms", "of one step of a scenario, with the levels of a clock"),
        ("step.NAME.service.…", "ms", "the same, from when its request was sent"),
        ("step.NAME.success", "%", "its good ones, as a share of those that ended"),
    ] {
        let _ = writeln!(page, "  {name:<30} {unit:<8} {what}");
    }
    page.push_str("\nfigures of commands and probes, in studies\n");
    page.push_str(&others.iter().map(|figure| line(*figure)).collect::<String>());
    page.push_str("\nshort names\n");
    for metric in StudyMetric::ALL.into_iter().filter(|metric| metric.kind() == LoadKind::Run) {
        let full = Figure::of_metric(metric).to_string();
        if full != metric.name() {
            let _ = writeln!(page, "  {:<30} {full}", metric.name());
        }
    }
    page.push_str("\nunits: ns us ms s min h, %, /s (or none), B KB MB GB KiB MiB GiB; k, M and G for counts and rates\n");
    page
}

/// A line for each figure; one for all levels of a clock.
fn families(figures: &[Figure]) -> String {
    let mut page = String::new();
    let mut last = None;
    for figure in figures {
        let Figure::Latency(clock, _) = figure else {
            page.push_str(&line(*figure));
            continue;
        };
        if last.replace(*clock) == Some(*clock) {
            continue;
        }
        let of_clock = figures.iter().filter_map(|other| match other {
            Figure::Latency(of, level) if of == clock => Some(level.name()),
            _ => None,
        });
        let levels = of_clock.collect::<Vec<_>>().join(" ");
        let _ = writeln!(page, "  {:<30} {:<8} {levels}", format!("{}.…", clock.name()), "ms");
    }
    page
}

fn line(figure: Figure) -> String {
    let unit = match figure.unit().name() {
        "per_s" => "/s",
        "share" => "%",
        unit => unit,
    };
    format!("  {:<30} {unit:<8} {}\n", figure.to_string(), figure.description())
}

#[cfg(test)]
mod tests {
    use prony_model::Threshold;

    use super::*;

    #[test]
    fn every_figure_is_listed_and_every_example_is_one() {
        let page = text(&Style::default());
        for figure in Figure::all() {
            let (family, level) = match figure {
                Figure::Latency(clock, level) => (format!("{}.…", clock.name()), level.name().to_owned()),
                figure => (figure.to_string(), figure.description()),
            };
            let is_listed = |line: &&str| line.starts_with(&format!("  {family} ")) && line.contains(&level);
            assert_eq!(page.lines().filter(is_listed).count(), 1, "{figure}: {page}");
        }
        for example in EXAMPLES {
            let threshold: Threshold = example.parse().expect(example);
            assert_eq!(threshold.to_string().parse(), Ok(threshold));
        }
    }
}
