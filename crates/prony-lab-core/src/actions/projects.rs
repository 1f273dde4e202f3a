//! Projects: registered, given another definition, taken out of the forms; their caches cleared.

use super::{Ctx, Refused};
use prony_lab_model::{Definition, FieldMistake, Name};
use prony_lab_store::projects::{self, Project};
use prony_lab_store::{StoreError, Tx, caches};

/// What a project is to be.
#[derive(Debug)]
pub struct Registration {
    /// Its name.
    pub name: String,
    /// As TOML.
    pub definition: String,
    /// Whether there must be none of that name yet.
    pub must_be_new: bool,
}

/// Registers a project, or gives it another definition.
pub fn register(tx: &mut Tx<'_>, ctx: &Ctx, new: &Registration) -> Result<Project, Refused> {
    let mut mistakes = Vec::new();
    let mut mistake = |field: &str, message: String| {
        mistakes.push(FieldMistake { field: field.to_owned(), message });
    };
    let name = new.name.parse::<Name>().map_err(|error| mistake("name", error.to_string())).ok();
    let read = Definition::read_new(&new.definition);
    let definition = read.map_err(|error| mistake("definition", error.to_string())).ok();
    if new.must_be_new && projects::by_name(tx, &new.name)?.is_some() {
        let words = "there is a project of that name: open it to change it, or take another";
        mistake("name", words.to_owned());
    }
    let (Some(name), Some(definition), true) = (name, definition, mistakes.is_empty()) else {
        return Err(Refused::Fields(mistakes));
    };
    let id = projects::register(tx, &name, &new.definition, ctx.now)?;
    caches::retain(tx, id, &definition.caches)?;
    ctx.note(tx, "project.register", name.as_str(), &new.definition)?;
    found(projects::by_id(tx, id)?, name.as_str()).map_err(Refused::from)
}

/// Takes a project out of the forms; its builds stay, its caches don't.
pub fn archive(tx: &mut Tx<'_>, ctx: &Ctx, name: &str) -> Result<Project, StoreError> {
    let project = found(projects::by_name(tx, name)?, name)?;
    projects::archive(tx, project.id, ctx.now)?;
    caches::retain(tx, project.id, &[])?;
    ctx.note(tx, "project.archive", name, "")?;
    found(projects::by_id(tx, project.id)?, name)
}

/// Empties the caches of a project, for builds that begin from now on; how many these were. Who may request builds may do
/// this: the next build takes longer, and nothing else is lost.
pub fn clear_caches(tx: &mut Tx<'_>, ctx: &Ctx, name: &str) -> Result<u64, StoreError> {
    let project = found(projects::by_name(tx, name)?, name)?;
    let cleared = caches::clear(tx, project.id, &format!("cleared by {}", ctx.who.name), ctx.now)?;
    ctx.note(tx, "project.clear-caches", name, &format!("{cleared} caches"))?;
    Ok(cleared)
}

fn found(project: Option<Project>, name: &str) -> Result<Project, StoreError> {
    project.ok_or_else(|| StoreError::Missing(format!("project {}", crate::ansi_stripper::line(name))))
}

#[cfg(test)]
mod tests {
    use super::super::{Actor, act_blocking};
    use super::*;
    use prony_lab_model::clock::Moment;
    use prony_lab_model::{BuildRequest, ProjectId};
    use prony_lab_store::fixture::on_both;
    use prony_lab_store::{Store, audit, builds};

    const CACHE: &str = "[[cache]]\nname = \"c\"\npath = \"~/c\"\n";

    fn registered(store: &Store, name: &'static str, caches: &str) -> ProjectId {
        let definition =
            format!("folder = \"/srv/a\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"\n{caches}");
        let new = Registration { name: name.to_owned(), definition, must_be_new: false };
        let made = act_blocking(store, Actor::at_machine("kim"), move |tx, ctx| register(tx, ctx, &new));
        made.expect("registered").id
    }

    fn lend(store: &Store, project: ProjectId, folder: &'static str) {
        let lent = store.write_blocking(move |tx| {
            let text = projects::by_id(tx, project)?.expect("there").definition;
            let definition = Definition::read(&text).expect("a definition");
            let new = BuildRequest::default().checked(project, &definition, "kim", Moment(5));
            let build = builds::accept(tx, &new.expect("a request"))?;
            caches::lend(tx, project, "c", build, folder, Moment(6))
        });
        assert_eq!(lent.expect("written"), folder);
    }

    fn folders(store: &Store) -> Vec<String> {
        store.read_blocking(caches::folders).expect("read")
    }

    #[test]
    fn caches_are_cleared_and_that_is_noted() {
        on_both(|store| {
            lend(store, registered(store, "a", CACHE), "one");
            lend(store, registered(store, "b", CACHE), "two");
            let clear = |name: &'static str| {
                act_blocking(store, Actor::at_machine("kim"), move |tx, ctx| clear_caches(tx, ctx, name))
            };
            assert!(matches!(clear("c"), Err(StoreError::Missing(_))));
            assert_eq!((clear("a"), clear("a")), (Ok(1), Ok(0)));
            assert_eq!(folders(store), ["two"], "the other project's is not touched");
            let entries = store.read_blocking(|tx| audit::list(tx, None, 2)).expect("read");
            let noted: Vec<_> =
                entries.iter().map(|entry| (entry.action.as_str(), entry.detail.as_str())).collect();
            assert_eq!(noted, [("project.clear-caches", "0 caches"), ("project.clear-caches", "1 caches")]);
        });
    }

    #[test]
    fn caches_end_with_their_project_or_definition() {
        on_both(|store| {
            let project = registered(store, "a", CACHE);
            lend(store, project, "one");
            registered(store, "a", CACHE);
            assert_eq!(folders(store), ["one"], "another revision keeps it");
            registered(store, "a", &CACHE.replace("\"c\"", "\"d\""));
            assert_eq!(folders(store), [""; 0]);
            registered(store, "a", CACHE);
            lend(store, project, "two");
            let archived =
                act_blocking(store, Actor::at_machine("kim"), |tx, ctx| archive(tx, ctx, "a").map(drop));
            assert_eq!((archived, folders(store)), (Ok(()), Vec::new()));
        });
    }
}
