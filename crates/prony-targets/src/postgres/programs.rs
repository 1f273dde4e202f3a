//! Where PostgreSQL is installed.

use std::path::{Path, PathBuf};

use super::PostgresError;

/// Where Debian and Ubuntu keep the programs: a folder for each version, none of them in `PATH`.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The programs that a database needs, of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Programs {
    pub(super) initdb: PathBuf,
    pub(super) postgres: PathBuf,
}

impl Programs {
    /// In the first of `folders` that has both, else the newest version that Debian's packages installed.
    pub(super) fn find(folders: &[PathBuf]) -> Result<Self, PostgresError> {
        let own = folders.iter().find_map(|folder| Self::within(folder));
        own.or_else(|| newest(Path::new(VERSIONS))).ok_or(PostgresError::NotInstalled)
    }

    fn within(folder: &Path) -> Option<Self> {
        let found = Self { initdb: folder.join("initdb"), postgres: folder.join("postgres") };
        // A relative path would mean another program in the folder where it is run.
        (folder.is_absolute() && found.initdb.is_file() && found.postgres.is_file()).then_some(found)
    }
}

/// The programs of the highest version among the folders in `versions`.
fn newest(versions: &Path) -> Option<Programs> {
    // A folder that can't be read has no programs for us.
    let entries = std::fs::read_dir(versions).ok()?.flatten();
    let found = entries.filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((version, Programs::within(&entry.path().join("bin"))?))
    });
    found.max_by_key(|(version, _)| *version).map(|(_, programs)| programs)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_named_folders_come_first_and_then_the_newest_version() {
        let root = std::env::temp_dir().join(format!("prony-programs-{}", std::process::id()));
        let check = |folders: &[PathBuf], expected: &str| {
            let found = folders.iter().find_map(|folder| Programs::within(folder)).or_else(|| newest(&root));
            let expected = root.join(expected);
            let (initdb, postgres) = (expected.join("initdb"), expected.join("postgres"));
            assert_eq!(found, Some(Programs { initdb, postgres }), "{folders:?}");
        };
        for (folder, names) in [
            ("9/bin", &["initdb", "postgres"][..]),
            ("15/bin", &["initdb", "postgres"]),
            ("16/bin", &["initdb"]),
            ("old/bin", &["initdb", "postgres"]),
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
            for name in names {
                fs::write(root.join(folder).join(name), "").unwrap();
            }
        }
        check(&[], "15/bin");
        check(&[root.join("no"), root.join("16/bin"), root.join("9/bin")], "9/bin");
        check(&["relative".into()], "15/bin");
        assert_eq!(newest(&root.join("no")), None);
        fs::remove_dir_all(&root).unwrap();
    }
}
