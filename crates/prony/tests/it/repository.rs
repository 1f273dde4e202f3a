//! The files of this repository, for tests that read them.

use std::path::{Path, PathBuf};

/// Its folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/ is in the root").to_owned()
}

/// The files below `folder` of the root that have this extension, sorted; nothing that was built.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_built = path.ends_with("target") || path.ends_with("node_modules");
            if path.is_dir() && !is_built {
                folders.push(path);
            } else if path.extension().is_some_and(|own| own == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Whether `file` is in this folder of its crate: crates/NAME/FOLDER/….
pub(crate) fn is_in(file: &Path, folder: &str) -> bool {
    let inside = file.strip_prefix(root()).expect("it is of this repository");
    inside.iter().nth(2).is_some_and(|part| part == folder)
}
