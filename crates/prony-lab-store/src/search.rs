//! What a search reads: builds below a number in pieces, from whichever index has the fewest of them.

use super::{Row, StoreError, Tx, Value, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{BuildId, BuildState, ProjectId, SearchedBuild};

const COLUMNS: &str = "b.id, b.project_id, b.reference, b.branch, b.commit_id, b.commit_author, b.commit_subject, \
                       b.state, b.verdict, b.requested_at, CASE WHEN EXISTS (SELECT 1 FROM notes n \
                       WHERE n.build_id = b.id) THEN 1 ELSE 0 END";

/// Which builds a search goes through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// All of them.
    All,
    /// Those of a project.
    Project(ProjectId),
    /// Those in a state.
    State(BuildState),
    /// Those of these commits or branches, as [`keys`] found them.
    Keys(Indexed, Vec<String>),
}

/// A text of builds by whose beginning they can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indexed {
    /// The commit.
    Commit,
    /// The branch, in small letters as far as these are ASCII.
    Branch,
}

/// Some builds, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Those that were found.
    pub builds: Vec<SearchedBuild>,
    /// How many were read for that.
    pub looked_at: u32,
    /// Whether there are no older ones.
    pub is_last: bool,
}

impl Indexed {
    /// As the indices of 0004.sql have it, in the words of this database.
    fn expression(self, tx: &Tx<'_>) -> String {
        let bytewise = tx.dialect().bytewise();
        match self {
            Self::Commit => format!("b.commit_id {bytewise}"),
            Self::Branch => format!("LOWER(b.branch {bytewise})"),
        }
    }

    /// The indices have only builds where there is one.
    fn is_there(self) -> &'static str {
        match self {
            Self::Commit => "b.commit_id IS NOT NULL",
            Self::Branch => "b.branch IS NOT NULL",
        }
    }
}

/// At most `most` different commits or branches that begin with `prefix`, which is in small letters.
pub fn keys(tx: &mut Tx<'_>, indexed: Indexed, prefix: &str, most: usize) -> Result<Vec<String>, StoreError> {
    let key = indexed.expression(tx);
    let is_there = indexed.is_there();
    // No text that begins with the prefix is behind this one: its last character is the last that there is.
    let behind = format!("{prefix}\u{10ffff}");
    let mut found: Vec<String> = Vec::new();
    while found.len() < most {
        // From one key to the next: a branch has thousands of builds.
        let (sign, from) = found.last().map_or((">=", prefix), |last| (">", last.as_str()));
        let statement = format!(
            "SELECT {key} FROM builds b WHERE {is_there} AND {key} {sign} $1 AND {key} < $2 ORDER BY {key} LIMIT 1"
        );
        let Some(next) = tx.first(&statement, values![from, behind.as_str()], |row| row.text(0))? else {
            break;
        };
        found.push(next);
    }
    Ok(found)
}

/// The newest builds of `source` with numbers from `from` to below `below`, read with at most `most` rows.
pub fn piece(
    tx: &mut Tx<'_>,
    source: &Source,
    [from, below]: [BuildId; 2],
    most: u32,
) -> Result<Piece, StoreError> {
    let (condition, keys): (String, Vec<Option<Value>>) = match source {
        Source::All => (String::new(), vec![None]),
        Source::Project(id) => ("b.project_id = $4 AND ".to_owned(), vec![Some((*id).into())]),
        Source::State(state) => ("b.state = $4 AND ".to_owned(), vec![Some(state.name().into())]),
        Source::Keys(indexed, keys) => {
            let condition = format!("{} AND {} = $4 AND ", indexed.is_there(), indexed.expression(tx));
            (condition, keys.iter().map(|key| Some(key.into())).collect())
        }
    };
    let statement = format!(
        "SELECT {COLUMNS} FROM builds b WHERE {condition}b.id < $1 AND b.id >= $2 ORDER BY b.id DESC LIMIT $3"
    );
    // Each key gets the same share of the rows.
    let share = (most / u32::try_from(keys.len()).unwrap_or(u32::MAX).max(1)).max(1);
    let mut builds = Vec::new();
    // Down to here all keys were read: there may be more of one of them below.
    let mut complete_to = from;
    let mut is_last = true;
    for key in keys {
        let mut parameters = values![below, from, share].to_vec();
        parameters.extend(key);
        let found = tx.query(&statement, &parameters, read)?;
        if let Some(last) = found.last().filter(|_| found.len() >= share as usize) {
            complete_to = complete_to.max(last.id);
            is_last = false;
        }
        builds.extend(found);
    }
    let looked_at = u32::try_from(builds.len()).unwrap_or(u32::MAX);
    builds.retain(|build| build.id >= complete_to);
    builds.sort_unstable_by_key(|build| std::cmp::Reverse(build.id));
    Ok(Piece { builds, looked_at, is_last })
}

/// What people wrote about a build: its `most` newest notes.
pub fn notes(tx: &mut Tx<'_>, id: BuildId, most: u32) -> Result<Vec<String>, StoreError> {
    tx.query(
        "SELECT words FROM notes WHERE build_id = $1 ORDER BY id DESC LIMIT $2",
        values![id, most],
        |row| row.text(0),
    )
}

/// The first build of those requested at `moment` or later. It is found by halving, since numbers grow with time: if the
/// clock was set back, it is one of those that were requested around then.
pub fn first_since(tx: &mut Tx<'_>, moment: Moment) -> Result<BuildId, StoreError> {
    let newest = tx.number("SELECT COALESCE(MAX(id), 0) FROM builds", &[])?;
    let (mut low, mut high) = (1, newest + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let found = tx.first(
            "SELECT id, requested_at FROM builds WHERE id >= $1 ORDER BY id LIMIT 1",
            values![middle],
            |row| Ok((row.int(0)?, row.moment(1)?)),
        )?;
        match found {
            Some((id, at)) if at < moment => low = id + 1,
            _ => high = middle,
        }
    }
    Ok(BuildId(low))
}

fn read(row: &Row) -> Result<SearchedBuild, StoreError> {
    Ok(SearchedBuild {
        id: BuildId(row.int(0)?),
        project: row.maybe_int(1)?.map(ProjectId),
        reference: row.text(2)?,
        branch: row.maybe_text(3)?,
        commit: row.maybe_text(4)?,
        author: row.maybe_text(5)?,
        subject: row.maybe_text(6)?,
        state: row.word(7)?,
        verdict: row.maybe_word(8)?,
        requested_at: row.moment(9)?,
        has_notes: row.int(10)? != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::on_both;
    use super::super::past::{Measured, Past};
    use super::super::{Store, builds};
    use super::*;

    /// Builds of these references and commits, each requested a second after the one before.
    fn built(store: &Store, all: &[(&str, &str)]) -> Vec<BuildId> {
        let all = all
            .iter()
            .map(|(branch, commit)| ((*branch).to_owned(), (*commit).to_owned(), Measured::default()));
        let ids = Past::new(store).builds(all.collect());
        let statement = "UPDATE builds SET requested_at = id * 1000";
        store.write_blocking(move |tx| tx.execute(statement, &[])).expect("written");
        ids
    }

    fn ids(store: &Store, source: &Source, bounds: [i64; 2], most: u32) -> (Vec<i64>, u32, bool) {
        let piece = store.read_blocking(|tx| piece(tx, source, bounds.map(BuildId), most)).expect("read");
        (piece.builds.iter().map(|build| build.id.0).collect(), piece.looked_at, piece.is_last)
    }

    #[test]
    fn keys_are_found_by_their_beginning_whatever_the_case() {
        on_both(|store| {
            built(
                store,
                &[
                    ("main", "3f2a00"),
                    ("Release/1", "3f2a00"),
                    ("release/2", "3f2b00"),
                    ("release", "4f2a00"),
                    ("release_x", "3f"),
                    ("releases", "3f2aff"),
                    ("main", "3f2a\u{e4}"),
                ],
            );
            let keys = |indexed, prefix: &str, most| {
                store.read_blocking(|tx| keys(tx, indexed, prefix, most)).expect("read")
            };
            assert_eq!(keys(Indexed::Commit, "3f2a", 9), ["3f2a00", "3f2aff", "3f2a\u{e4}"]);
            assert_eq!(keys(Indexed::Commit, "3f2a", 1), ["3f2a00"]);
            assert_eq!(keys(Indexed::Branch, "release/", 9), ["release/1", "release/2"]);
            assert_eq!(
                keys(Indexed::Branch, "release", 9),
                ["release", "release/1", "release/2", "release_x", "releases"]
            );
            assert_eq!(keys(Indexed::Branch, "r%", 9), Vec::<String>::new());
            assert_eq!(keys(Indexed::Branch, "", 9).len(), 6);
        });
    }

    #[test]
    fn pieces_go_on_where_the_one_before_ended() {
        on_both(|store| {
            let two = || vec!["x".to_owned(), "y".to_owned()];
            built(store, &["x", "y", "y", "y", "z", "x", "x"].map(|branch| (branch, "00")));
            let branches = Source::Keys(Indexed::Branch, two());
            assert_eq!(ids(store, &Source::All, [1, 99], 3), (vec![7, 6, 5], 3, false));
            assert_eq!(ids(store, &Source::All, [2, 5], 4), (vec![4, 3, 2], 3, true));
            // Of `x` 7 and 6 were read, of `y` 4 and 3: below 6 there may be another `x`.
            assert_eq!(ids(store, &branches, [1, 99], 4), (vec![7, 6], 4, false));
            assert_eq!(ids(store, &branches, [1, 6], 4), (vec![4, 3], 3, false));
            assert_eq!(ids(store, &branches, [1, 3], 4), (vec![2, 1], 2, true));
            assert_eq!(ids(store, &Source::State(BuildState::Completed), [1, 99], 2).0, [7, 6]);
            assert_eq!(ids(store, &Source::State(BuildState::Queued), [1, 99], 2), (vec![], 0, true));
            assert_eq!(ids(store, &Source::Project(ProjectId(1)), [1, 3], 9), (vec![2, 1], 2, true));
            assert_eq!(ids(store, &Source::Keys(Indexed::Commit, Vec::new()), [1, 99], 9), (vec![], 0, true));
        });
    }

    #[test]
    fn moments_are_found_among_the_numbers() {
        on_both(|store| {
            let since = |ms| store.read_blocking(|tx| first_since(tx, Moment(ms))).expect("read").0;
            assert_eq!(since(0), 1, "there is no build");
            built(store, &[("main", "00"); 9]);
            for (ms, first) in [(0, 1), (1_000, 1), (1_001, 2), (5_000, 5), (9_000, 9), (9_001, 10)] {
                assert_eq!(since(ms), first, "{ms}");
            }
            let numbers = [BuildId(9), BuildId(99), BuildId(2)];
            let found = store.read_blocking(|tx| builds::of_numbers(tx, &numbers)).expect("read");
            assert_eq!(found.iter().map(|build| build.id.0).collect::<Vec<_>>(), [9, 2]);
        });
    }
}
