//! Projects: what an administrator registered.

use serde::Serialize;

use super::{Row, StoreError, Tx, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{Name, ProjectId};

/// A registered project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Project {
    /// Its number.
    pub id: ProjectId,
    /// Its name.
    pub name: String,
    /// Grows with every change of the definition.
    pub revision: i64,
    /// As it was written; [`prony_lab_model::Definition::read`] has read it once.
    pub definition: String,
    /// When it was taken out of the forms; its builds stay.
    pub archived_at: Option<Moment>,
}

const COLUMNS: &str = "id, name, revision, definition, archived_at";

fn read(row: &Row) -> Result<Project, StoreError> {
    Ok(Project {
        id: ProjectId(row.int(0)?),
        name: row.text(1)?,
        revision: row.int(2)?,
        definition: row.text(3)?,
        archived_at: row.maybe_moment(4)?,
    })
}

/// Registers a project, or gives it a new definition; brings one back that was archived.
pub fn register(
    tx: &mut Tx<'_>,
    name: &Name,
    definition: &str,
    now: Moment,
) -> Result<ProjectId, StoreError> {
    tx.number(
        "INSERT INTO projects (name, revision, definition, created_at) VALUES ($1, 1, $2, $3) \
         ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, archived_at = NULL, \
         revision = projects.revision + 1 RETURNING id",
        values![name.as_str(), definition, now],
    )
    .map(ProjectId)
}

/// Takes a project out of the forms.
pub fn archive(tx: &mut Tx<'_>, id: ProjectId, now: Moment) -> Result<(), StoreError> {
    match tx.execute("UPDATE projects SET archived_at = $2 WHERE id = $1", values![id, now])? {
        0 => Err(StoreError::Missing(format!("project {id}"))),
        _ => Ok(()),
    }
}

/// All projects, by name.
pub fn all(tx: &mut Tx<'_>) -> Result<Vec<Project>, StoreError> {
    tx.query(&format!("SELECT {COLUMNS} FROM projects ORDER BY name"), &[], read)
}

/// Numbers and names of all projects, by name.
pub fn names(tx: &mut Tx<'_>) -> Result<Vec<(ProjectId, String)>, StoreError> {
    tx.query("SELECT id, name FROM projects ORDER BY name", &[], |row| {
        Ok((ProjectId(row.int(0)?), row.text(1)?))
    })
}

/// The project of that name.
pub fn by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<Project>, StoreError> {
    tx.first(&format!("SELECT {COLUMNS} FROM projects WHERE name = $1"), values![name], read)
}

/// The project of that number.
pub fn by_id(tx: &mut Tx<'_>, id: ProjectId) -> Result<Option<Project>, StoreError> {
    tx.first(&format!("SELECT {COLUMNS} FROM projects WHERE id = $1"), values![id], read)
}
