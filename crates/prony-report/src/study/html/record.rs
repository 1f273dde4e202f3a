//! What it takes to do the study again: targets and machine.

use prony_model::{Environment, StudyResult};

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
    Some(machine_table("The machine, as in the first run", result.environment.as_ref()?))
}

/// What is known of a machine, and of the prony on it.
pub(crate) fn machine_table(caption: &str, machine: &Environment) -> Table {
    let prony = crate::record::prony(machine).map(|prony| ("prony", prony));
    facts_table("environment", caption, prony.into_iter().chain(crate::record::machine(machine)))
}

/// A table of names and what belongs to each. `id` is the page's only one.
pub(crate) fn facts_table(
    id: &str,
    caption: &str,
    rows: impl IntoIterator<Item = (&'static str, String)>,
) -> Table {
    let mut table = Table::new(id, caption, "", vec![words("value", "")]);
    let mut known: Vec<&str> = Vec::new();
    for (name, value) in rows {
        let again = known.iter().filter(|other| **other == name).count();
        let key = if again == 0 { name.to_owned() } else { format!("{name}-{}", again + 1) };
        table.row(&key, name, [value.into()]);
        known.push(name);
    }
    table
}
