//! `prony explain`: what docs/findings.md contains on a finding, where there are no docs at hand.

mod thresholds;

use prony_model::{FindingCode, nearest};
use prony_report::{Style, wrap};

use crate::args::ExplainArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::{output, terminal};

const FINDINGS: &str = include_str!("../../../../docs/findings.md");

/// Prints the section of a finding, or a line for each.
pub(crate) fn explain(args: &ExplainArgs) -> Result<Exit, CliError> {
    let style = terminal::style();
    let text = match &args.code {
        Some(code) if matches!(code.as_str(), "thresholds" | "threshold") => thresholds::text(&style),
        Some(code) => section(find(code)?, &style),
        None => list(&style),
    };
    output::print(&text)?;
    Ok(Exit::Good)
}

/// By its name, in any case; `docs/findings.md#steal` is copied from a page.
fn find(typed: &str) -> Result<FindingCode, CliError> {
    let name = typed.rsplit('#').next().unwrap_or(typed).to_ascii_lowercase();
    let found = FindingCode::ALL.into_iter().find(|code| code.name() == name);
    found.ok_or_else(|| {
        let cli_error = CliError::usage(format!("there is no finding `{typed}`"));
        match nearest(&name, FindingCode::ALL.map(FindingCode::name)) {
            Some(meant) => cli_error.hint(format!("did you mean `prony explain {meant}`?")),
            None => cli_error.hint("`prony explain` lists all of them"),
        }
    })
}

/// All findings, each with what was seen.
fn list(style: &Style) -> String {
    let longest = FindingCode::ALL.map(|code| code.name().len()).into_iter().max().unwrap_or(0);
    let room = style.width.saturating_sub(longest + 2).max(Style::MIN_WIDTH);
    let mut text = String::new();
    for code in FindingCode::ALL {
        let seen = paragraphs(code).into_iter().next().unwrap_or_default();
        let seen = seen.strip_prefix("Seen: ").unwrap_or(&seen);
        for (index, line) in wrap(seen, room).into_iter().enumerate() {
            let name = if index == 0 { code.name() } else { "" };
            text.push_str(format!("{name:longest$}  {line}").trim_end());
            text.push('\n');
        }
    }
    text.push_str("\nprony explain CODE says why it matters, how it is measured and what to do;\n");
    text.push_str("prony explain thresholds lists the figures that a run can be required to meet\n");
    text
}

fn section(code: FindingCode, style: &Style) -> String {
    let width = style.width.max(Style::MIN_WIDTH);
    let paragraphs = paragraphs(code).into_iter().map(|paragraph| wrap(&paragraph, width).join("\n") + "\n");
    format!("{}\n\n{}", code.name(), paragraphs.collect::<Vec<_>>().join("\n"))
}

/// The paragraphs of a section as plain text, each on one line; one begins where a bold word begins a line.
fn paragraphs(code: FindingCode) -> Vec<String> {
    let heading = format!("\n## {}\n", code.name());
    let (_, rest) = FINDINGS.split_once(&heading).expect("invariant: every finding has a section");
    let section = rest.split("\n## ").next().unwrap_or(rest);
    let mut paragraphs = Vec::<String>::new();
    let mut is_open = false;
    for line in section.lines().map(str::trim) {
        if line.is_empty() {
            is_open = false;
        } else if is_open && !line.starts_with("**") {
            let paragraph = paragraphs.last_mut().expect("invariant: one is open");
            paragraph.push(' ');
            paragraph.push_str(&plain(line));
        } else {
            paragraphs.push(plain(line));
            is_open = true;
        }
    }
    paragraphs
}

/// Without the marks of Markdown; of a link its words.
fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('[') {
        text.push_str(before);
        rest = after;
        match rest.split_once("](").and_then(|(words, target)| Some((words, target.split_once(')')?.1))) {
            Some((words, after)) => {
                text.push_str(words);
                rest = after;
            }
            None => text.push('['),
        }
    }
    text.push_str(rest);
    text.replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_says_all_four_things() {
        for code in FindingCode::ALL {
            let text = section(code, &Style { width: 100, ..Style::default() });
            for part in ["Seen: ", "Why it matters: ", "Measured: ", "What to do: "] {
                assert_eq!(text.matches(&format!("\n{part}")).count(), 1, "{part}: {text}");
            }
            assert!(!text.contains("**") && !text.contains("]("), "{text}");
        }
    }

    #[test]
    fn links_are_their_words() {
        assert_eq!(
            plain("see [the clock](measuring.md#x), a [0, 1) and `[`"),
            "see the clock, a [0, 1) and `[`"
        );
        assert_eq!(plain("**Seen:** it"), "Seen: it");
    }

    #[test]
    fn a_mistyped_code_gets_a_suggestion() {
        assert_eq!(find("docs/findings.md#steal").unwrap(), FindingCode::Steal);
        assert_eq!(find("STEAL").unwrap(), FindingCode::Steal);
        let error = find("stael").unwrap_err().text();
        assert!(error.contains("did you mean `prony explain steal`?"), "{error}");
    }
}
