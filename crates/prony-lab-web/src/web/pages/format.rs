//! Words and marks that pages share: what is good or bad is shown by a word and a shape, never by colour alone.
//!
//! Templates hand over references whatever they are of, so what they call takes values and references alike.

use std::borrow::Borrow;
use std::time::Duration;

use prony_lab_core::ansi_stripper;
use prony_lab_model::clock::Moment;
use prony_lab_model::{Build, BuildKind, BuildState, BuildVerdict, TaskState};

/// Digits of a commit that people can distinguish; git takes more where it must, and the whole stands in the `title`.
const SHORT_COMMIT: usize = 10;

/// A word with its shape: markup.
pub(super) fn word(class: &str, shape: &str, word: &str) -> String {
    format!("<span class=\"word {class}\"><span aria-hidden=\"true\">{shape}</span> {word}</span>")
}

/// How far a build is: markup.
pub(super) fn state(state: impl Borrow<BuildState>) -> String {
    use BuildState as S;
    let state = *state.borrow();
    let (class, shape) = match state {
        S::Queued => ("calm", "○"),
        S::Assigned | S::Arming | S::Armed | S::Running | S::Draining | S::Finalizing => ("busy", "◐"),
        S::Completed => ("good", "✓"),
        S::Degraded => ("care", "△"),
        S::Failed => ("bad", "✕"),
        S::Cancelling | S::Cancelled | S::Expired => ("calm", "–"),
    };
    word(class, shape, state.name())
}

/// How far a task is: markup.
pub(super) fn task_state(state: impl Borrow<TaskState>) -> String {
    use TaskState as S;
    let state = *state.borrow();
    let (class, shape) = match state {
        S::Pending => ("calm", "○"),
        S::Running => ("busy", "◐"),
        S::Success => ("good", "✓"),
        S::Failed | S::Timeout => ("bad", "✕"),
        S::Skipped | S::Cancelled => ("calm", "–"),
    };
    word(class, shape, state.name())
}

/// The verdict of a build: markup.
pub(super) fn verdict(verdict: impl Borrow<BuildVerdict>) -> String {
    use BuildVerdict as V;
    let verdict = *verdict.borrow();
    match verdict {
        V::NoBaseline => word("calm", "–", "no baseline"),
        V::Faster => word("good", "▲", "FASTER"),
        V::Slower => word("bad", "▼", "SLOWER"),
        V::NoDifference => word("good", "=", "no difference"),
        V::TooNoisy => word("care", "~", "too noisy"),
        V::ThresholdMissed => word("bad", "✕", "THRESHOLD MISSED"),
        V::Invalid => word("bad", "!", "INVALID"),
    }
}

/// The verdict of a build in `state`, where there is one to show: that a build without numbers has no baseline says nothing.
pub(super) fn shown_verdict(
    state: impl Borrow<BuildState>,
    verdict: impl Borrow<Option<BuildVerdict>>,
) -> Option<BuildVerdict> {
    use BuildState as S;
    let has_none = matches!(state.borrow(), S::Failed | S::Cancelled | S::Expired);
    verdict.borrow().filter(|verdict| !has_none || *verdict != BuildVerdict::NoBaseline)
}

/// The same as markup, or a dash.
pub(super) fn maybe_verdict(
    state: impl Borrow<BuildState>,
    found: impl Borrow<Option<BuildVerdict>>,
) -> String {
    shown_verdict(state, found).map_or_else(|| "–".to_owned(), verdict)
}

/// What follows from a verdict, in a sentence.
pub(super) fn verdict_sentence(verdict: impl Borrow<BuildVerdict>) -> &'static str {
    use BuildVerdict as V;
    let verdict = *verdict.borrow();
    match verdict {
        V::NoBaseline => {
            "there is no earlier build on the same machine to compare with, or nothing was measured"
        }
        V::Faster => "better than its baseline: the interval of the primary difference excludes zero",
        V::Slower => "worse than its baseline: the interval of the primary difference excludes zero",
        V::NoDifference => "equivalent to its baseline",
        V::TooNoisy => {
            "neither a difference nor equivalence can be shown: build again while the machine does nothing else, or give \
             the study more `repeats`"
        }
        V::ThresholdMissed => "a threshold of the study file is missed",
        V::Invalid => {
            "the numbers are unusable, because the client or the machine limited them: build again while the machine does \
             nothing else"
        }
    }
}

/// A moment, which a script shows in the reader's own zone: markup.
pub(super) fn when(moment: impl Borrow<Moment>) -> String {
    let moment = *moment.borrow();
    let (exact, utc) = (moment.rfc3339(), moment.utc());
    format!("<time datetime=\"{exact}\" title=\"{utc} UTC\">{utc}</time>")
}

/// The same, or a dash.
pub(super) fn maybe_when(moment: impl Borrow<Option<Moment>>) -> String {
    moment.borrow().map_or_else(|| "–".to_owned(), when)
}

/// How long something took, as people say it: `0.42 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
pub(super) fn took(duration: impl Borrow<Duration>) -> String {
    let duration = *duration.borrow();
    let whole = duration.as_secs();
    let two = |first: u64, one: &str, second: u64, two: &str| match second {
        0 => format!("{first} {one}"),
        _ => format!("{first} {one} {second} {two}"),
    };
    match whole {
        0 => format!("{:.2} s", duration.as_secs_f64()),
        1..10 => format!("{:.1} s", duration.as_secs_f64()),
        10..60 => format!("{whole} s"),
        60..3600 => two(whole / 60, "min", whole % 60, "s"),
        3600..86_400 => two(whole / 3600, "h", whole % 3600 / 60, "min"),
        _ => two(whole / 86_400, "d", whole % 86_400 / 3600, "h"),
    }
}

/// From one moment to another where both are known.
pub(super) fn between(start: impl Borrow<Option<Moment>>, end: impl Borrow<Option<Moment>>) -> String {
    match (start.borrow(), end.borrow()) {
        (Some(start), Some(end)) => took(end.since(*start)),
        _ => "–".to_owned(),
    }
}

/// A number of bytes: `512 B`, `1.4 MiB`.
pub(super) fn bytes(count: impl Borrow<u64>) -> String {
    let count = *count.borrow();
    let mut scaled = count as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        // 999.5 and more would round to four digits.
        if scaled < 999.5 {
            break;
        }
        scaled /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{count} B") } else { format!("{} {unit}", prony_report::rate(scaled)) }
}

/// A unit as people write it.
pub(super) fn unit(stored: &str) -> String {
    match stored {
        "per_s" => "/s".to_owned(),
        other => ansi_stripper::line(other),
    }
}

/// What is built, in a few words.
pub(super) fn subject(build: &Build) -> String {
    match (build.kind, &build.project_name) {
        (BuildKind::Load, _) => "load".to_owned(),
        (_, Some(project)) => ansi_stripper::line(project),
        (_, None) => "–".to_owned(),
    }
}

/// What was asked for, and its commit where that is known: text.
pub(super) fn reference(build: &Build) -> String {
    let shown = shown_reference(&build.reference);
    let commit = build.commit.as_deref().map(short_commit);
    match (&build.base, commit) {
        (Some(base), _) => format!("{} → {shown}", shown_reference(base)),
        (None, Some(commit)) if commit.starts_with(&shown) || shown.starts_with(&commit) => commit,
        (None, Some(commit)) => format!("{shown} · {commit}"),
        (None, None) => shown,
    }
}

/// A branch or tag as it is, a whole commit in short.
fn shown_reference(reference: &str) -> String {
    let is_commit = reference.len() >= 40 && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit { short_commit(reference) } else { ansi_stripper::line(reference) }
}

/// The first digits of a commit.
pub(super) fn short_commit(commit: &str) -> String {
    ansi_stripper::line(&commit.chars().take(SHORT_COMMIT).collect::<String>())
}

/// A name as part of an `id` in a page: letters, digits and hyphens alone, so that a CSS path needs no escapes.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_people_say_them() {
        for (ms, expected) in [
            (420, "0.42 s"),
            (4_200, "4.2 s"),
            (12_900, "12 s"),
            (200_000, "3 min 20 s"),
            (7_500_000, "2 h 5 min"),
            (270_000_000, "3 d 3 h"),
        ] {
            assert_eq!(took(Duration::from_millis(ms)), expected);
        }
    }

    #[test]
    fn every_state_and_verdict_has_a_shape_and_a_word() {
        for found in BuildState::ALL {
            assert!(state(found).contains(found.name()));
        }
        for found in TaskState::ALL {
            assert!(task_state(found).contains("aria-hidden"));
        }
        let mut all: Vec<_> = BuildVerdict::ALL.iter().map(|found| verdict(*found)).collect();
        all.dedup();
        assert_eq!(all.len(), BuildVerdict::ALL.len());
    }

    #[test]
    fn a_failed_build_does_not_lack_a_baseline() {
        let shown = |state, verdict| maybe_verdict(state, Some(verdict)) != "–";
        assert!(!shown(BuildState::Failed, BuildVerdict::NoBaseline));
        assert!(shown(BuildState::Failed, BuildVerdict::ThresholdMissed));
        assert!(shown(BuildState::Completed, BuildVerdict::NoBaseline));
    }

    #[test]
    fn slugs_are_plain() {
        assert_eq!(slug("Keep-Alive = on, c=8"), "keep-alive-on-c-8");
        assert_eq!(slug("<script>"), "script");
        assert_eq!(bytes(1_500_000), "1.43 MiB");
        assert_eq!(bytes(512), "512 B");
    }
}
