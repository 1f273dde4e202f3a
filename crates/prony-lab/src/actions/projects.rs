//! Projects: registered, given another definition, taken out of the forms.

use super::{Ctx, Refused};
use crate::model::{Definition, FieldMistake, Name};
use crate::store::projects::{self, Project};
use crate::store::{StoreError, Tx};

/// What a project is to be.
#[derive(Debug)]
pub(crate) struct Registration {
    pub(crate) name: String,
    /// As TOML.
    pub(crate) definition: String,
    /// Whether there must be none of that name yet.
    pub(crate) must_be_new: bool,
}

/// Registers a project, or gives it another definition.
pub(crate) fn register(tx: &mut Tx<'_>, ctx: &Ctx, new: &Registration) -> Result<Project, Refused> {
    let mut mistakes = Vec::new();
    let mut mistake = |field: &str, message: String| {
        mistakes.push(FieldMistake { field: field.to_owned(), message });
    };
    let name = new.name.parse::<Name>().map_err(|error| mistake("name", error.to_string())).ok();
    if let Err(error) = Definition::read_new(&new.definition) {
        mistake("definition", error.to_string());
    }
    if new.must_be_new && projects::by_name(tx, &new.name)?.is_some() {
        let words = "there is a project of that name: open it to change it, or take another";
        mistake("name", words.to_owned());
    }
    let Some(name) = name.filter(|_| mistakes.is_empty()) else { return Err(Refused::Fields(mistakes)) };
    let id = projects::register(tx, &name, &new.definition, ctx.now)?;
    ctx.note(tx, "project.register", name.as_str(), &new.definition)?;
    found(projects::by_id(tx, id)?, name.as_str()).map_err(Refused::from)
}

/// Takes a project out of the forms; its builds stay.
pub(crate) fn archive(tx: &mut Tx<'_>, ctx: &Ctx, name: &str) -> Result<Project, StoreError> {
    let project = found(projects::by_name(tx, name)?, name)?;
    projects::archive(tx, project.id, ctx.now)?;
    ctx.note(tx, "project.archive", name, "")?;
    found(projects::by_id(tx, project.id)?, name)
}

fn found(project: Option<Project>, name: &str) -> Result<Project, StoreError> {
    project.ok_or_else(|| StoreError::Missing(format!("project {}", crate::ansi_stripper::line(name))))
}
