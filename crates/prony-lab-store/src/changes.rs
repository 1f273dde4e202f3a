//! Which tables a statement names, and when each was changed last: what was drawn from tables that nobody changed since
//! is still so.

use std::sync::atomic::{AtomicU64, Ordering};

/// Every table but `lab`, which describes the store itself. A test compares them with the database.
pub(super) const TABLES: [&str; 29] = [
    "agent_runs",
    "agent_slices",
    "alerts",
    "audit",
    "bisects",
    "builds",
    "caches",
    "changes",
    "check_hours",
    "checks",
    "commit_ranges",
    "deliveries",
    "events",
    "files",
    "hooks",
    "idempotency",
    "login_links",
    "monitors",
    "notes",
    "outputs",
    "projects",
    "results",
    "series",
    "sessions",
    "settings",
    "tasks",
    "thresholds",
    "tokens",
    "users",
];

/// The table that has a place more.
const BUILDS: &str = "builds";
/// Places of [`Tables`].
const PLACES: usize = TABLES.len() + 1;

/// Some of the tables, a bit for each, and one more for builds that are only just accepted (`ACCEPTED`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tables(u32);

impl Tables {
    const ALL: Self = Self(u32::MAX >> (u32::BITS as usize - PLACES));
    /// New rows of the table of builds. A build is inserted when it is accepted, and waits; whatever becomes of it later
    /// is an update, which changes the table itself.
    const ACCEPTED: Self = Self(1 << TABLES.len());

    /// All that `statement` names; with builds those that are only just accepted, too.
    pub fn named(statement: &str) -> Self {
        let mut found = Self::default();
        for word in words(statement) {
            found.add(Self::one(word));
        }
        if found.0 & Self::one(BUILDS).0 != 0 {
            found.add(Self::ACCEPTED);
        }
        found
    }

    /// Those that `statement` changes.
    pub fn written(statement: &str) -> Self {
        let mut words = words(statement);
        let first = words.next().unwrap_or_default();
        let table = match first {
            "SELECT" | "PRAGMA" => return Self::default(),
            "UPDATE" => words.next(),
            "INSERT" | "DELETE" => words.nth(1),
            _ => None,
        };
        if first == "INSERT" && table == Some(BUILDS) {
            return Self::ACCEPTED;
        }
        table.map(Self::one).filter(|table| *table != Self::default()).unwrap_or(Self::ALL)
    }

    /// Takes those of `other` in, too.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The same without builds that are only just accepted.
    pub(super) fn without_accepted(self) -> Self {
        Self(self.0 & !Self::ACCEPTED.0)
    }

    fn one(name: &str) -> Self {
        TABLES.binary_search(&name).map_or(Self::default(), |place| Self(1 << place))
    }

    fn places(self) -> impl Iterator<Item = usize> {
        (0..PLACES).filter(move |place| self.0 & (1 << place) != 0)
    }
}

fn words(statement: &str) -> impl Iterator<Item = &str> {
    statement
        .split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .filter(|word| !word.is_empty())
}

/// Commits are numbered; this is the newest, and the newest that changed each table.
#[derive(Debug)]
pub(crate) struct Changes {
    newest: AtomicU64,
    tables: [AtomicU64; PLACES],
}

impl Default for Changes {
    fn default() -> Self {
        Self { newest: AtomicU64::new(1), tables: Default::default() }
    }
}

impl Changes {
    /// Number of the newest commit.
    pub(crate) fn version(&self) -> u64 {
        self.newest.load(Ordering::Acquire)
    }

    /// Counts a commit that changed `written`. Only the thread that writes calls it.
    pub(super) fn committed(&self, written: Tables) {
        let next = self.newest.load(Ordering::Acquire) + 1;
        for place in written.places() {
            self.tables[place].store(next, Ordering::Release);
        }
        self.newest.store(next, Ordering::Release);
    }

    /// Whether nobody changed any of `read` since the commit `version`.
    pub(crate) fn is_unchanged(&self, version: u64, read: Tables) -> bool {
        read.places().all(|place| self.tables[place].load(Ordering::Acquire) <= version)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::on_both;
    use super::super::session::Dialect;
    use super::*;

    #[test]
    fn every_table_is_known() {
        on_both(|store| {
            let names = store.read_blocking(|tx| {
                let statement = match tx.dialect() {
                    Dialect::Sqlite => {
                        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
                    }
                    Dialect::Postgres => {
                        "SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = current_schema()"
                    }
                };
                tx.query(statement, &[], |row| row.text(0))
            });
            let mut names = names.expect("read");
            names.retain(|name| name != "lab");
            names.sort();
            assert_eq!(names, TABLES);
        });
    }

    #[test]
    fn tables_are_found_in_statements() {
        let check = |statement: &str, named: &[&str], written: &[&str]| {
            let all = |names: &[&str]| {
                names.iter().fold(Tables::default(), |mut all, name| {
                    all.add(Tables::one(name));
                    all
                })
            };
            assert_eq!(Tables::named(statement).without_accepted(), all(named), "{statement}");
            let sees_accepted = Tables::named(statement).0 & Tables::ACCEPTED.0 != 0;
            assert_eq!(sees_accepted, named.contains(&BUILDS), "{statement}");
            assert_eq!(Tables::written(statement), all(written), "{statement}");
        };
        check(
            "SELECT b.id FROM builds b LEFT JOIN projects p ON p.id = b.project_id",
            &["builds", "projects"],
            &[],
        );
        check("UPDATE builds SET state = $1", &["builds"], &["builds"]);
        check("INSERT INTO notes (words) SELECT x FROM tasks", &["notes", "tasks"], &["notes"]);
        check(
            "DELETE FROM sessions WHERE user_id IN (SELECT id FROM users)",
            &["sessions", "users"],
            &["sessions"],
        );
        assert_eq!(Tables::written("INSERT INTO builds (kind) VALUES ($1) RETURNING id"), Tables::ACCEPTED);
        assert_eq!(Tables::written("WITH x AS (SELECT 1) UPDATE builds SET id = 1"), Tables::ALL);
    }

    #[test]
    fn a_commit_makes_old_what_was_read_from_its_tables_alone() {
        let changes = Changes::default();
        let version = changes.version();
        let (notes, builds) = (Tables::one("notes"), Tables::one("builds"));
        changes.committed(notes);
        assert!(changes.version() > version);
        assert!(changes.is_unchanged(version, builds));
        assert!(!changes.is_unchanged(version, notes));
        assert!(changes.is_unchanged(changes.version(), notes));
    }
}
