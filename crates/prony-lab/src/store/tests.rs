//! What must hold whatever the database.

use super::fixture::{on_both, on_both_addresses};
use super::{Store, StoreError, builds, projects};
use crate::clock::Moment;
use crate::model::{BuildId, BuildRequest, BuildState, Definition, NewBuild};

fn new_build(tx: &mut super::Tx<'_>) -> Result<NewBuild, StoreError> {
    let text = "folder = \"/srv/a\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"";
    let project = projects::register(tx, &"a".parse().expect("a name"), text, Moment(1))?;
    let definition = Definition::read(text).expect("a definition");
    Ok(BuildRequest::default().checked(project, &definition, "kim", Moment(5)).expect("a request"))
}

fn accepted(store: &Store) -> BuildId {
    store
        .write_blocking(|tx| {
            let new = new_build(tx)?;
            builds::accept(tx, &new)
        })
        .expect("accepted")
}

#[test]
fn what_was_accepted_is_there_after_the_end_of_the_store() {
    on_both_addresses(|address| {
        let store = Store::open(address).expect("a store");
        let id = accepted(&store);
        drop(store);
        let store = Store::open(address).expect("the same store");
        let found = store.read_blocking(|tx| builds::one(tx, id)).expect("read").expect("there");
        assert_eq!(found.build.state, BuildState::Queued);
        assert_eq!(found.build.project_name.as_deref(), Some("a"));
        let names: Vec<_> = found.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["checkout", "compile"]);
    });
}

#[test]
fn an_error_undoes_its_own_write_alone() {
    on_both(|store| {
        let version = store.version();
        let failed = store.write_blocking(|tx| {
            let new = new_build(tx)?;
            builds::accept(tx, &new)?;
            Err::<(), _>(StoreError::Missing("it".to_owned()))
        });
        assert_eq!(failed, Err(StoreError::Missing("it".to_owned())));
        let kept = accepted(store);
        let all = store
            .read_blocking(|tx| builds::list(tx, &builds::Filter::default(), builds::Page::Newest, 10))
            .expect("read");
        assert_eq!(all.iter().map(|build| build.id).collect::<Vec<_>>(), [kept]);
        assert!(store.version() > version);
    });
}

#[test]
fn only_one_of_two_moves_a_build() {
    on_both(|store| {
        let id = accepted(store);
        let advance = || {
            store.write_blocking(move |tx| {
                builds::advance(tx, id, BuildState::Queued, BuildState::Assigned, None, Moment(9))
            })
        };
        assert_eq!(advance(), Ok(()));
        assert!(matches!(advance(), Err(StoreError::Conflict(_))));
    });
}

#[test]
fn a_fault_of_ours_takes_nobody_elses_write_with_it() {
    on_both(|store| {
        let failed = store.write_blocking(|tx| tx.execute("INSERT INTO nowhere VALUES (1)", &[]));
        assert!(matches!(failed, Err(StoreError::Fault(_))), "{failed:?}");
        let panicked = store.write_blocking(|_| -> Result<(), StoreError> { panic!("on purpose") });
        assert!(matches!(panicked, Err(StoreError::Fault(_))), "{panicked:?}");
        accepted(store);
    });
}

#[test]
fn pages_go_both_ways() {
    on_both(|store| {
        let ids: Vec<_> = (0..5).map(|_| accepted(store)).collect();
        let page = |page| {
            let found = store.read_blocking(|tx| builds::list(tx, &builds::Filter::default(), page, 2));
            found.expect("read").iter().map(|build| build.id).collect::<Vec<_>>()
        };
        assert_eq!(page(builds::Page::Newest), [ids[4], ids[3]]);
        assert_eq!(page(builds::Page::Before(ids[3])), [ids[2], ids[1]]);
        assert_eq!(page(builds::Page::After(ids[0])), [ids[2], ids[1]]);
    });
}
