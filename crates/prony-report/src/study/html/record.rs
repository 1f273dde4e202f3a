//! What it takes to do the study again: targets and machine.

use prony_model::StudyResult;

use super::table::{Content, Table, words};

/// What was loaded; `None` for a study without targets.
pub(super) fn targets(result: &StudyResult) -> Option<Table> {
    if result.targets.is_empty() {
        return None;
    }
    let columns = vec![words("how", "started as"), words("commit", "version")];
    let mut table = Table::new("targets", "What was loaded", "target", columns);
    for (index, target) in result.targets.iter().enumerate() {
        let commit = target.commit.as_deref().map_or_else(Content::dash, Content::from);
        table.row(&index.to_string(), target.name.as_str(), [Content::Code(target.how.clone()), commit]);
    }
    Some(table)
}

/// The machine, where it is known.
pub(super) fn machine(result: &StudyResult) -> Option<Table> {
    let machine = result.environment.as_ref()?;
    let mut table =
        Table::new("environment", "The machine, as in the first run", "", vec![words("value", "")]);
    let prony = crate::record::prony(machine).map(|prony| ("prony", prony));
    for (name, value) in prony.into_iter().chain(crate::record::machine(machine)) {
        table.row(name, name, [value.into()]);
    }
    Some(table)
}
