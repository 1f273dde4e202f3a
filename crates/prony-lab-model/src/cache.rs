//! Folders that are kept between builds of a project.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::project::{DefinitionError, size, wrong};
use super::{BuildId, Name};
use crate::clock::Moment;

/// More of them are better one folder.
const CACHES_MAX: usize = 8;
/// What one may hold where nothing else is written, or half of what a build may, if that is less.
const LIMIT_BYTES: u64 = 4 << 30;
/// A longer path is no folder that a tool uses.
const PATH_BYTES_MAX: usize = 200;

/// A folder that is kept between builds of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheDefinition {
    /// Its name.
    pub name: Name,
    /// Where commands find it.
    pub place: CachePlace,
    /// What it may hold after a build; one with more is emptied.
    pub limit_bytes: u64,
}

/// Where commands of a build find a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CachePlace {
    /// Below their home.
    Home(PathBuf),
    /// Below the folder of the project's files.
    Source(PathBuf),
}

impl fmt::Display for CachePlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(path) => write!(formatter, "~/{}", path.display()),
            Self::Source(path) => write!(formatter, "{}", path.display()),
        }
    }
}

/// A cache of a project, as pages and scripts show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cache {
    /// Its name.
    pub name: String,
    /// Where commands find it: below their home (`~/`), or below the project's files.
    pub path: String,
    /// What it may hold after a build.
    pub limit_bytes: u64,
    /// What it holds; absent where it is empty, or a build has it.
    pub size_bytes: Option<u64>,
    /// The last build that could write to it.
    pub build: Option<BuildId>,
    /// When it last changed.
    pub changed_at: Option<Moment>,
    /// Why it is empty, or who has it.
    pub note: Option<String>,
}

/// `[[cache]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CacheFile {
    name: Name,
    path: String,
    #[serde(default, deserialize_with = "size")]
    limit: Option<u64>,
}

/// The caches of a project whose builds may use `disk_bytes`, and whose study file is `study`.
pub(crate) fn checked(
    files: Vec<CacheFile>,
    disk_bytes: u64,
    study: Option<&Path>,
) -> Result<Vec<CacheDefinition>, DefinitionError> {
    if files.len() > CACHES_MAX {
        return Err(wrong("cache", &format!("at most {CACHES_MAX} of them")));
    }
    let (mut all, mut names): (Vec<CacheDefinition>, _) = (Vec::new(), BTreeSet::new());
    for CacheFile { name, path, limit } in files {
        if !names.insert(name.clone()) {
            return Err(wrong("cache.name", &format!("there are two caches `{name}`")));
        }
        let place = place(&path)?;
        if let Some(other) = all.iter().find(|other| is_within(&other.place, &place)) {
            return Err(wrong("cache.path", &format!("`{name}` and `{}` lie within each other", other.name)));
        }
        if let (CachePlace::Source(path), Some(study)) = (&place, study)
            && study.starts_with(path)
        {
            return Err(wrong(
                "cache.path",
                &format!("the study file lies within `{name}`: take another folder"),
            ));
        }
        let limit_bytes = limit.unwrap_or_else(|| LIMIT_BYTES.min(disk_bytes / 2));
        all.push(CacheDefinition { name, place, limit_bytes });
    }
    let sum = all.iter().fold(0_u64, |sum, cache| sum.saturating_add(cache.limit_bytes));
    if all.iter().any(|cache| cache.limit_bytes == 0) || sum > disk_bytes {
        return Err(wrong(
            "cache.limit",
            "more than 0, and all of them together at most limits.disk, which counts caches, too",
        ));
    }
    Ok(all)
}

fn place(text: &str) -> Result<CachePlace, DefinitionError> {
    let (is_home, path) = match text.strip_prefix("~/") {
        Some(path) => (true, Path::new(path)),
        None => (false, Path::new(text)),
    };
    // Only names: nothing that leads up, out or nowhere. What begins with `~` would be the home of somebody else.
    let names: Vec<_> = path.components().collect();
    let is_plain = names.iter().all(|part| matches!(part, Component::Normal(_)))
        && !names.is_empty()
        && text.starts_with('~') == is_home
        && !text.contains("//")
        && !text.split('/').any(|part| part == ".")
        && !text.ends_with('/')
        && !text.chars().any(char::is_control)
        && text.len() <= PATH_BYTES_MAX;
    let is_of_git = !is_home && names.first().is_some_and(|first| first.as_os_str() == ".git");
    if !is_plain || is_of_git {
        return Err(wrong(
            "cache.path",
            "write a folder below the home of builds, such as ~/.cargo/registry, or below the project's files, such as \
             node_modules",
        ));
    }
    Ok(if is_home { CachePlace::Home(path.to_owned()) } else { CachePlace::Source(path.to_owned()) })
}

/// Whether one of them is in the other, or is the other.
fn is_within(one: &CachePlace, other: &CachePlace) -> bool {
    match (one, other) {
        (CachePlace::Home(one), CachePlace::Home(other))
        | (CachePlace::Source(one), CachePlace::Source(other)) => {
            one.starts_with(other) || other.starts_with(one)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Definition;
    use super::*;

    fn read(lines: &str) -> Result<Vec<CacheDefinition>, String> {
        let text = format!("folder = \"/a\"\nstudy = \"bench/prony.toml\"\n{lines}");
        Definition::read(&text).map(|read| read.caches).map_err(|error| error.to_string())
    }

    fn one(path: &str) -> Result<Vec<CacheDefinition>, String> {
        read(&format!("[[cache]]\nname = \"a\"\npath = {path:?}\n"))
    }

    #[test]
    fn caches_are_below_the_home_or_the_files() {
        for (path, place) in [
            ("~/.cargo/registry", CachePlace::Home(".cargo/registry".into())),
            ("node_modules", CachePlace::Source("node_modules".into())),
            ("a/.git", CachePlace::Source("a/.git".into())),
        ] {
            let read = one(path).expect(path);
            assert_eq!((&read[0].place, read[0].limit_bytes), (&place, LIMIT_BYTES), "{path}");
            assert_eq!(read[0].place.to_string(), path);
        }
    }

    #[test]
    fn paths_lead_nowhere_else() {
        for path in [
            "",
            "~",
            "~/",
            ".",
            "./",
            "./a",
            "/",
            "/etc",
            "..",
            "../a",
            "a/..",
            "a/../../b",
            "~/..",
            "~/../x",
            "~//etc",
            "a//b",
            "a/",
            "~root/x",
            "~root",
            ".git",
            ".git/hooks",
            "a\nb",
            "a/./b",
            "bench",
            "bench/prony.toml",
        ] {
            let error = one(path).expect_err(path);
            assert!(error.contains("`cache.path`"), "{path}: {error}");
        }
        assert!(one(&"a".repeat(PATH_BYTES_MAX + 1)).is_err());
    }

    #[test]
    fn caches_do_not_share_a_folder_or_a_name() {
        let two = |one: &str, other: &str, name: &str| {
            read(&format!(
                "[[cache]]\nname = \"a\"\npath = {one:?}\n[[cache]]\nname = {name:?}\npath = {other:?}\n"
            ))
        };
        assert!(two("a", "b", "b").is_ok() && two("a", "~/a", "b").is_ok() && two("a", "ab", "b").is_ok());
        for (one, other, name) in [("a", "a", "b"), ("a", "a/b", "b"), ("~/a/b", "~/a", "b"), ("a", "b", "a")]
        {
            assert!(two(one, other, name).is_err(), "{one} {other} {name}");
        }
        let many = (0..=CACHES_MAX)
            .map(|n| format!("[[cache]]\nname = \"a{n}\"\npath = \"a{n}\"\nlimit = \"1MiB\"\n"))
            .collect::<Vec<_>>();
        assert!(read(&many.concat()).expect_err("too many").contains("at most 8"));
    }

    #[test]
    fn limits_fit_into_those_of_builds() {
        let with = |limit: &str, disk: &str| {
            read(&format!("[[cache]]\nname = \"a\"\npath = \"a\"\n{limit}\n[limits]\ndisk = \"{disk}\"\n"))
        };
        assert_eq!(with("limit = \"10MiB\"", "1GiB").expect("read")[0].limit_bytes, 10 << 20);
        assert_eq!(with("", "1GiB").expect("read")[0].limit_bytes, 512 << 20);
        for (limit, disk) in [("limit = \"0\"", "1GiB"), ("limit = \"2GiB\"", "1GiB")] {
            assert!(with(limit, disk).expect_err(limit).contains("`cache.limit`"));
        }
    }
}
