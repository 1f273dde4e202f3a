//! Definitions of projects, read from their text once: a request for a build needs one, and reading it takes longer than
//! all the rest of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use prony_lab_model::{Definition, DefinitionError, ProjectId};
use prony_lab_store::projects::Project;

/// Projects whose definition is remembered: more than a lab usually has; beyond it, all are read again.
const MOST: usize = 256;

/// A definition and of which revision it is.
struct Read {
    revision: i64,
    definition: Arc<Definition>,
}

/// The definitions that were read last. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub struct Definitions {
    read: Arc<Mutex<HashMap<ProjectId, Read>>>,
}

impl Definitions {
    /// The definition of `project` as it is there.
    pub fn of(&self, project: &Project) -> Result<Arc<Definition>, DefinitionError> {
        // Each step leaves a whole map behind.
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.get(&project.id).filter(|known| known.revision == project.revision) {
            return Ok(Arc::clone(&known.definition));
        }
        let definition = Arc::new(Definition::read(&project.definition)?);
        if read.len() >= MOST {
            read.clear();
        }
        let known = Read { revision: project.revision, definition: Arc::clone(&definition) };
        read.insert(project.id, known);
        Ok(definition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(revision: i64, branch: &str) -> Project {
        let definition = format!("folder = \"/srv/a\"\nbranch = \"{branch}\"\nstudy = \"prony.toml\"");
        Project { id: ProjectId(1), name: "a".to_owned(), revision, definition, archived_at: None }
    }

    #[test]
    fn a_new_revision_is_read_anew() {
        let definitions = Definitions::default();
        let branch = |project| definitions.of(&project).expect("a definition").branch.clone();
        assert_eq!(branch(project(1, "one")), "one");
        assert_eq!(branch(project(1, "not looked at")), "one");
        assert_eq!(branch(project(2, "two")), "two");
        assert!(definitions.of(&project(3, "-wrong")).is_err());
    }
}
