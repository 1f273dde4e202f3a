//! Searches builds, and whatever else has a name.
//!
//! A commit and a branch are found by their indices. For all other texts builds are gone through, the newest first, up to
//! a bound; anyone who wants to goes on from there.

use std::collections::HashMap;

use crate::definitions::Definitions;
use prony_lab_model::{
    Branches, BuildId, FoundMonitor, FoundProject, ProjectId, Role, SearchQuery, SearchResults,
    SearchedBuild, fold,
};
use prony_lab_store::search::{self, Indexed, Source};
use prony_lab_store::{StoreError, Tx, builds, monitors, projects, users};

/// Builds that one search looks at: some tens of milliseconds.
const ROWS_MAX: u32 = 20_000;
/// Builds that are read at once: few enough to be forgotten soon, many enough for a database at the end of a wire.
const PIECE_ROWS: u32 = 500;
/// Builds whose notes one search reads.
const NOTED_MAX: u32 = 1_000;
/// Notes of a build that are searched, the newest.
const NOTES_MAX: u32 = 20;
/// Commits or branches that begin alike and are found by their index; where there are more, all builds are gone through.
const KEYS_MAX: usize = 20;
/// Projects, branches, monitors and users that are shown, of each so many.
const NAMES_MAX: usize = 10;
/// Clocks are set back by less than this, so that numbers of builds grow with time but for so much.
const CLOCK_STEP_MAX: std::time::Duration = std::time::Duration::from_hours(24);

/// Which part of what is found is wanted, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Builds before this one only: `next` of the part before.
    pub before: Option<BuildId>,
    /// At most so many builds.
    pub limit: u32,
    /// What the searching user may do.
    pub role: Role,
}

/// A project as a search sees it.
struct Known {
    id: ProjectId,
    name: String,
    title: String,
    /// Name and title, folded.
    text: String,
}

/// Finds what `query` asks for.
pub fn find(
    tx: &mut Tx<'_>,
    definitions: &Definitions,
    query: SearchQuery,
    part: Part,
) -> Result<SearchResults, StoreError> {
    find_within(tx, definitions, query, part, ROWS_MAX)
}

fn find_within(
    tx: &mut Tx<'_>,
    definitions: &Definitions,
    mut query: SearchQuery,
    part: Part,
    rows_max: u32,
) -> Result<SearchResults, StoreError> {
    if let Some(number) = query.number.filter(|_| part.before.is_none()) {
        let items = builds::of_numbers(tx, &[number])?;
        if !items.is_empty() {
            return Ok(SearchResults {
                number: Some(number),
                items,
                looked_at: 1,
                ..SearchResults::default()
            });
        }
    }
    let projects = known(tx, definitions)?;
    let mut results = SearchResults::default();
    if query.is_words_only() && part.before.is_none() {
        names(tx, &query, &projects, part.role, &mut results)?;
    }
    let project = match &query.project {
        None => None,
        Some(name) => match projects.iter().find(|project| project.name == *name) {
            None => return Ok(results),
            Some(project) => Some(project.id),
        },
    };
    let source = source(tx, &mut query, project)?;
    let bounds = bounds(tx, &query, part.before)?;
    let search = BuildSearch { query: &query, projects: &projects, project, source, part, rows_max };
    search.run(tx, bounds, &mut results)?;
    Ok(results)
}

fn known(tx: &mut Tx<'_>, definitions: &Definitions) -> Result<Vec<Known>, StoreError> {
    let all = projects::all(tx)?;
    let known = all.into_iter().map(|project| {
        // One that can't be read has its name still.
        let title = definitions.of(&project).map(|definition| definition.title.clone()).unwrap_or_default();
        // On two lines, so that no word stands half in each.
        let text = fold(&format!("{}\n{title}", project.name));
        Known { id: project.id, name: project.name, title, text }
    });
    Ok(known.collect())
}

/// Whatever beside builds has the words in its name.
fn names(
    tx: &mut Tx<'_>,
    query: &SearchQuery,
    projects: &[Known],
    role: Role,
    results: &mut SearchResults,
) -> Result<(), StoreError> {
    let fit = |name: &str| query.all_words_in(&fold(name));
    let found = projects.iter().filter(|project| query.all_words_in(&project.text)).take(NAMES_MAX);
    results.projects = found
        .map(|project| FoundProject { name: project.name.clone(), title: project.title.clone() })
        .collect();
    let found = monitors::all(tx)?.into_iter().filter(|monitor| fit(&monitor.name)).take(NAMES_MAX);
    results.monitors = found.map(|monitor| FoundMonitor { id: monitor.id, name: monitor.name }).collect();
    if role >= Role::Admin {
        let found = users::all(tx)?.into_iter().filter(|user| fit(&user.name)).take(NAMES_MAX);
        results.users = found.map(|user| user.name).collect();
    }
    if let [word] = &query.words[..]
        && word.text.is_ascii()
    {
        results.branches = search::keys(tx, Indexed::Branch, &word.text, NAMES_MAX)?;
    }
    Ok(())
}

/// Where the builds are that `query` asks for. A word that begins a commit is one from then on.
fn source(
    tx: &mut Tx<'_>,
    query: &mut SearchQuery,
    project: Option<ProjectId>,
) -> Result<Source, StoreError> {
    if query.commit.is_none() {
        take_commit(tx, query)?;
    }
    let indexed = match (&query.commit, &query.branch) {
        (Some(digits), _) => Some((Indexed::Commit, digits.as_str(), true)),
        // The index knows no small letters but those of ASCII.
        (None, Some(Branches { text, is_prefix })) if text.is_ascii() => {
            Some((Indexed::Branch, text.as_str(), *is_prefix))
        }
        _ => None,
    };
    if let Some((indexed, text, is_prefix)) = indexed {
        let keys =
            if is_prefix { search::keys(tx, indexed, text, KEYS_MAX + 1)? } else { vec![text.to_owned()] };
        if keys.len() <= KEYS_MAX {
            return Ok(Source::Keys(indexed, keys));
        }
    }
    Ok(match (project, query.state) {
        (Some(id), _) => Source::Project(id),
        (None, Some(state)) => Source::State(state),
        (None, None) => Source::All,
    })
}

/// Takes the first word that begins a commit of some build for that commit. One of letters alone is a word first:
/// "added" and "facade" are no commits to the person who types them.
fn take_commit(tx: &mut Tx<'_>, query: &mut SearchQuery) -> Result<(), StoreError> {
    for place in 0..query.words.len() {
        let digits = query.words[place].commit_digits();
        let Some(digits) = digits.filter(|digits| digits.bytes().any(|byte| byte.is_ascii_digit())) else {
            continue;
        };
        if !search::keys(tx, Indexed::Commit, digits, 1)?.is_empty() {
            query.commit = Some(query.words.remove(place).text);
            return Ok(());
        }
    }
    Ok(())
}

/// The numbers between which the builds are: from the first to below the second.
fn bounds(tx: &mut Tx<'_>, query: &SearchQuery, before: Option<BuildId>) -> Result<[BuildId; 2], StoreError> {
    let from = match query.after {
        None => BuildId(0),
        Some(after) => search::first_since(tx, after.before(CLOCK_STEP_MAX))?,
    };
    let mut below = before.unwrap_or(BuildId(i64::MAX));
    if let Some(moment) = query.before {
        below = below.min(search::first_since(tx, moment.after(CLOCK_STEP_MAX))?);
    }
    Ok([from, below])
}

/// A search through builds.
struct BuildSearch<'a> {
    query: &'a SearchQuery,
    projects: &'a [Known],
    /// The one that is wanted.
    project: Option<ProjectId>,
    source: Source,
    part: Part,
    rows_max: u32,
}

impl BuildSearch<'_> {
    fn run(
        &self,
        tx: &mut Tx<'_>,
        [from, mut below]: [BuildId; 2],
        results: &mut SearchResults,
    ) -> Result<(), StoreError> {
        let texts: HashMap<ProjectId, &str> =
            self.projects.iter().map(|project| (project.id, project.text.as_str())).collect();
        let mut found: Vec<BuildId> = Vec::new();
        let mut noted = 0;
        'all: loop {
            let piece = search::piece(tx, &self.source, [from, below], PIECE_ROWS.min(self.rows_max))?;
            results.looked_at += piece.looked_at;
            for build in &piece.builds {
                let text = build.project.and_then(|id| texts.get(&id).copied()).unwrap_or_default();
                if noted == NOTED_MAX {
                    (results.next, results.is_stopped) = (Some(below), true);
                    break 'all;
                }
                if self.fits(tx, build, text, &mut noted)? {
                    if found.len() == self.part.limit as usize {
                        results.next = found.last().copied();
                        break 'all;
                    }
                    found.push(build.id);
                }
                below = build.id;
            }
            if piece.is_last {
                break;
            }
            if results.looked_at >= self.rows_max {
                (results.next, results.is_stopped) = (Some(below), true);
                break;
            }
        }
        results.items = builds::of_numbers(tx, &found)?;
        Ok(())
    }

    /// Whether a build fits, of whose project `project` is the text; `noted` counts those whose notes are read for that.
    fn fits(
        &self,
        tx: &mut Tx<'_>,
        build: &SearchedBuild,
        project: &str,
        noted: &mut u32,
    ) -> Result<bool, StoreError> {
        if self.project.is_some_and(|wanted| build.project != Some(wanted)) || !self.query.admits(build) {
            return Ok(false);
        }
        let missing = self.query.missing(build, project);
        if missing.is_empty() || !build.has_notes {
            return Ok(missing.is_empty());
        }
        *noted += 1;
        let notes: Vec<_> = search::notes(tx, build.id, NOTES_MAX)?.iter().map(|words| fold(words)).collect();
        Ok(missing.iter().all(|word| notes.iter().any(|note| note.contains(&word.text))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_lab_model::clock::Moment;
    use prony_lab_model::{BuildState, BuildVerdict, Monitor, MonitorId};
    use prony_lab_store::fixture::on_both;
    use prony_lab_store::past::{Measured, Past};
    use prony_lab_store::{Store, figures, values};

    const DAY_MS: i64 = 86_400_000;

    /// Builds of a project whose title is "Our Größe": reference, commit, author and subject, a day apart from 1970 on.
    fn filled(store: &Store, all: &[[&'static str; 4]]) {
        let past = Past::new(store);
        let measured = || Measured::default();
        past.builds(
            all.iter()
                .map(|[reference, commit, ..]| ((*reference).into(), (*commit).into(), measured()))
                .collect(),
        );
        let all: Vec<_> = all.iter().map(|[_, _, author, subject]| (*author, *subject)).collect();
        store
            .write_blocking(move |tx| {
                tx.execute("UPDATE builds SET requested_at = (id - 1) * 86400000", &[])?;
                for (place, (author, subject)) in all.into_iter().enumerate() {
                    tx.execute(
                        "UPDATE builds SET commit_author = $2, commit_subject = $3 WHERE id = $1",
                        values![place as u64 + 1, author, subject],
                    )?;
                }
                let text = format!("title = \"Our Größe\"\n{}", prony_lab_store::past::DEFINITION);
                projects::register(tx, &"web".parse().expect("a name"), &text, Moment(1))?;
                tx.execute("UPDATE builds SET project_id = 2 WHERE id = 1", &[])
            })
            .expect("filled");
    }

    fn search(store: &Store, text: &str, before: Option<i64>, limit: u32, rows_max: u32) -> SearchResults {
        let query = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let part = Part { before: before.map(BuildId), limit, role: Role::Viewer };
        let find = |tx: &mut Tx<'_>| find_within(tx, &Definitions::default(), query, part, rows_max);
        store.read_blocking(find).expect("read")
    }

    fn ids(found: &SearchResults) -> Vec<i64> {
        found.items.iter().map(|build| build.id.0).collect()
    }

    const SIX: [[&str; 4]; 6] = [
        ["main", "3f2a000000", "Ann Lee", "Begin"],
        ["Feature/x", "3f2b000000", "Änne", "Use 100% of a larger_buffer"],
        ["main", "ee2b000000", "Kim", "Undo 3f2a000000"],
        ["main", "0000000006", "Ann Lee", "Facade"],
        ["feature/y", "facade0000", "Kim", "Slow path"],
        ["main", "3f2a000000", "Ann Lee", "Begin"],
    ];

    #[test]
    fn builds_are_found_by_what_is_known_of_them() {
        on_both(|store| {
            filled(store, &SIX);
            store
                .write_blocking(|tx| {
                    figures::add_note(tx, BuildId(2), "kim", "the disk was full", Moment(9))?;
                    figures::add_note(tx, BuildId(2), "kim", "again: 50_%", Moment(9))?;
                    builds::set_verdict(tx, BuildId(3), BuildVerdict::Slower, None)?;
                    tx.execute(
                        "UPDATE builds SET state = $1 WHERE id = 5",
                        values![BuildState::Failed.name()],
                    )
                })
                .expect("written");
            let check = |text: &str, expected: &[i64]| {
                let found = search(store, text, None, 50, ROWS_MAX);
                assert_eq!(
                    (ids(&found), found.next, found.is_stopped),
                    (expected.to_vec(), None, false),
                    "{text}"
                );
            };
            check("ann", &[6, 4, 1]);
            check("ÄNNE", &[2]);
            check("author:kim feature", &[5]);
            check("größe", &[1]);
            check("web", &[1]);
            check("project:web", &[1]);
            check("project:none", &[]);
            check("FEATURE/", &[5, 2]);
            check("branch:feature/*", &[5, 2]);
            check("branch:FEATURE/X", &[2]);
            check("branch:feature", &[]);
            check("branch:größe", &[]);
            // A commit, wherever else its digits stand; in quotes a text.
            check("3f2a", &[6, 1]);
            check("\"3f2a\"", &[3]);
            check("3f2a begin", &[6, 1]);
            check("commit:3f2a ann", &[6, 1]);
            check("commit:3f2a000000000", &[]);
            check("facade", &[5, 4]);
            check("commit:facade", &[5]);
            check("\"larger_buffer\" 100%", &[2]);
            check("r_b", &[2]);
            check("r%b", &[]);
            check("disk again", &[2]);
            check("50_%", &[2]);
            check("disk ann", &[]);
            check("verdict:slower", &[3]);
            check("state:failed", &[5]);
            check("state:failed kim branch:main", &[]);
            check("after:1970-01-05", &[6, 5]);
            check("after:1970-01-02 before:1970-01-04 kim", &[3]);
            check("before:1970-01-01", &[]);
            check("#5", &[5]);
            check("7", &[]);
        });
    }

    #[test]
    fn a_number_leads_to_its_build_and_else_is_a_text() {
        on_both(|store| {
            filled(store, &SIX);
            let found = search(store, "#4", None, 50, ROWS_MAX);
            assert_eq!((found.number, ids(&found)), (Some(BuildId(4)), vec![4]));
            let found = search(store, "100", None, 50, ROWS_MAX);
            assert_eq!((found.number, ids(&found)), (None, vec![2]), "no build, but a subject");
        });
    }

    #[test]
    fn a_search_stops_at_its_bound_and_goes_on_from_there() {
        on_both(|store| {
            filled(store, &SIX);
            let found = search(store, "änne", None, 50, 2);
            assert_eq!(
                (ids(&found), found.next, found.is_stopped, found.looked_at),
                (vec![], Some(BuildId(5)), true, 2)
            );
            let found = search(store, "änne", Some(5), 50, 2);
            assert_eq!((ids(&found), found.next, found.is_stopped), (vec![], Some(BuildId(3)), true));
            let found = search(store, "änne", Some(3), 50, 3);
            assert_eq!((ids(&found), found.next, found.is_stopped), (vec![2], None, false));
            // Operators with an index reach the oldest builds at once.
            assert_eq!(ids(&search(store, "commit:3f2b", None, 50, 1)), [2]);
            assert_eq!(ids(&search(store, "branch:feature/x", None, 50, 1)), [2]);
            assert_eq!(ids(&search(store, "project:web", None, 50, 2)), [1]);
            assert_eq!(ids(&search(store, "before:1970-01-02", Some(3), 50, 2)), [1]);
        });
    }

    #[test]
    fn pages_follow_one_another_without_gap_or_repetition() {
        on_both(|store| {
            filled(store, &SIX);
            for (text, rows_max, all) in [
                ("begin", 2, vec![6, 1]),
                ("branch:*", 4, vec![6, 5, 4, 3, 2, 1]),
                ("3f2a", 1, vec![6, 1]),
                ("a", 9, vec![6, 5, 4, 3, 2, 1]),
            ] {
                let (mut seen, mut before) = (Vec::new(), None);
                for _ in 0..20 {
                    let found = search(store, text, before, 1, rows_max);
                    seen.extend(ids(&found));
                    before = found.next.map(|id| id.0);
                    if before.is_none() {
                        break;
                    }
                }
                assert_eq!((seen, before), (all, None), "{text}");
            }
        });
    }

    #[test]
    fn names_are_found_and_users_by_administrators_alone() {
        on_both(|store| {
            filled(store, &SIX);
            store
                .write_blocking(|tx| {
                    let monitor = Monitor {
                        id: MonitorId(0),
                        name: "webshop".to_owned(),
                        url: "http://127.0.0.1:1/".to_owned(),
                        every_ms: 60_000,
                        timeout_ms: 1_000,
                        fail_after: 3,
                        expected_status: None,
                        email: None,
                        tls: prony_lab_model::MonitorTls::default(),
                        created_by: "kim".to_owned(),
                        created_at: Moment(1),
                    };
                    monitors::add(tx, &monitor)?;
                    users::set_password(tx, &"webster".parse().expect("a name"), Role::Viewer, "x", Moment(1))
                })
                .expect("written");
            let as_role = |text: &str, role| {
                let query = text.parse().expect("a search");
                let part = Part { before: None, limit: 9, role };
                store.read_blocking(|tx| find(tx, &Definitions::default(), query, part)).expect("read")
            };
            let found = as_role("WEB", Role::Admin);
            let names: Vec<_> = found.projects.iter().map(|project| project.title.as_str()).collect();
            assert_eq!((names, found.users), (vec!["Our Größe"], vec!["webster".to_owned()]));
            assert_eq!(found.monitors[0].name, "webshop");
            assert_eq!(as_role("feat", Role::Viewer).branches, ["feature/x", "feature/y"]);
            for role in [Role::Viewer, Role::Runner] {
                let found = as_role("web", role);
                assert!(found.users.is_empty() && !found.monitors.is_empty(), "{role}");
            }
            assert!(as_role("web state:failed", Role::Admin).is_empty(), "operators are about builds");
        });
    }

    #[test]
    fn a_clock_that_was_set_back_a_little_hides_nothing() {
        on_both(|store| {
            filled(store, &SIX);
            store
                .write_blocking(|tx| {
                    tx.execute("UPDATE builds SET requested_at = $1 WHERE id = 4", values![2 * DAY_MS - 1])
                })
                .expect("written");
            assert_eq!(ids(&search(store, "before:1970-01-03", None, 50, ROWS_MAX)), [4, 2, 1]);
            assert_eq!(ids(&search(store, "after:1970-01-03", None, 50, ROWS_MAX)), [6, 5, 3]);
        });
    }
}
