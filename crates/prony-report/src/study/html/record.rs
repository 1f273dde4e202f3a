//! What it takes to do the study again: targets, machine, order, the file.

use std::fmt::Write as _;

use prony_model::StudyResult;

use super::format::lines;
use super::table::{Html, Table, dash, words};
use crate::svg::escaped;

/// The end of the page.
pub(super) fn sections(result: &StudyResult) -> String {
    let mut html = "<section id=\"again\">\n<h2>To do it again</h2>\n".to_owned();
    // Writing to a `String` can't fail, here and below.
    let _ = writeln!(
        html,
        "<p>Store the study file below as <code>{0}.toml</code> and run <code>prony study {0}.toml</code>; the seed {1} \
         makes the same order.</p>",
        escaped(&result.name),
        result.seed
    );
    html.push_str(&targets(result));
    html.push_str(&environment(result));
    if !result.file.trim().is_empty() {
        let _ = write!(
            html,
            "<details><summary>The study file</summary>\n<pre id=\"file\">{}</pre></details>\n",
            lines(&result.file)
        );
    }
    html.push_str(
        "<p class=\"small soft\">Every number of this page stands in report.json beside it; every run in the folder \
         runs/, in the format of prony run, probe and exec.</p>\n</section>\n",
    );
    html
}

fn targets(result: &StudyResult) -> String {
    if result.targets.is_empty() {
        return String::new();
    }
    let mut table = Table::new(
        "targets",
        "What was loaded",
        "target",
        vec![words("how", "started as"), words("commit", "version")],
    );
    for (index, target) in result.targets.iter().enumerate() {
        let commit = target.commit.as_deref().map_or_else(dash, Html::from);
        let how = Html::markup(format!("<code>{}</code>", escaped(&target.how)));
        table.row(&index.to_string(), &target.name.as_str().into(), &[how, commit]);
    }
    table.finish()
}

fn environment(result: &StudyResult) -> String {
    let Some(machine) = &result.environment else { return String::new() };
    let mut table =
        Table::new("environment", "The machine, as in the first run", "", vec![words("value", "")]);
    let prony = crate::record::prony(machine).map(|prony| ("prony", prony));
    for (name, value) in prony.into_iter().chain(crate::record::machine(machine)) {
        table.row(name, &name.into(), &[value.into()]);
    }
    format!("<details><summary>The machine</summary>\n{}</details>\n", table.finish())
}
