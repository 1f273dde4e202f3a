//! Cards of projects on the first page: how the branch of each is, beside what was good before.

use std::cmp::Reverse;

use askama::Template;

use super::build::figure;
use super::build::main_figures::SPARK_BUILDS;
use super::build::paired::{Paired, difference};
use super::format;
use prony_lab_core::ansi_stripper;
use prony_lab_core::definitions::Definitions;
use prony_lab_model::{BuildId, BuildState};
use prony_lab_store::builds::{self, Finished};
use prony_lab_store::figures::{self, Figure};
use prony_lab_store::projects::{self, Project};
use prony_lab_store::{StoreError, Tx, alerts, series};

/// Cards on the page, those of the projects of which a build began last: each is a dozen reads of the store.
const CARDS_MAX: usize = 6;
/// Figures of a card.
const FIGURES_OF_CARD_MAX: usize = 2;
/// Builds among which the newest with figures is looked for: a project without a study has none.
const LOOKED_AT_MAX: usize = 5;
/// Figures of a build among which those of its card are looked for.
const FIGURES_READ_MAX: u32 = 24;

#[derive(Template)]
#[template(path = "cards.html")]
pub(super) struct Cards {
    cards: Vec<Card>,
    /// Projects that are not archived.
    all: usize,
}

struct Card {
    name: String,
    title: String,
    branch: String,
    last: Option<Finished>,
    rows: Vec<Line>,
    /// The build that has the figures, and the last good one before it.
    measured: Option<BuildId>,
    previous: Option<BuildId>,
    alerts: i64,
}

struct Line {
    name: String,
    link: String,
    value: String,
    spark: String,
    change: String,
}

impl Cards {
    pub(super) fn read(tx: &mut Tx<'_>, definitions: &Definitions) -> Result<Self, StoreError> {
        let mut newest = builds::newest_of_projects(tx)?;
        let all = newest.len();
        newest.sort_by_key(|(project, build)| (Reverse(*build), *project));
        newest.truncate(CARDS_MAX);
        let alerts = alerts::open_of_projects(tx)?;
        let mut cards = Vec::new();
        for (id, _) in newest {
            let Some(project) = projects::by_id(tx, id)? else { continue };
            let open = alerts.get(&id).copied().unwrap_or_default();
            cards.push(Card::read(tx, &project, definitions, open)?);
        }
        Ok(Self { cards, all })
    }
}

impl Card {
    fn read(
        tx: &mut Tx<'_>,
        project: &Project,
        definitions: &Definitions,
        alerts: i64,
    ) -> Result<Self, StoreError> {
        let mut card = Self {
            name: project.name.clone(),
            title: String::new(),
            branch: String::new(),
            last: None,
            rows: Vec::new(),
            measured: None,
            previous: None,
            alerts,
        };
        // A definition of an older prony may not be readable any more; the page of the project says why.
        let Ok(definition) = definitions.of(project) else { return Ok(card) };
        card.title = ansi_stripper::line(&definition.title);
        card.branch = ansi_stripper::line(&definition.branch);
        let newest = BuildId(i64::MAX);
        let finished = builds::finished_of_branch(tx, project.id, &definition.branch, newest, SPARK_BUILDS)?;
        card.last = finished.first().cloned();
        let measured = finished.iter().enumerate().filter(|(_, build)| build.state != BuildState::Failed);
        for (place, measured) in measured.take(LOOKED_AT_MAX) {
            let found = figures::of(tx, measured.id, FIGURES_READ_MAX)?;
            if found.is_empty() {
                continue;
            }
            card.measured = Some(measured.id);
            let is_like = |build: &&Finished| build.is_good() && build.variant == measured.variant;
            let previous = finished[place + 1..].iter().find(is_like);
            card.previous = previous.map(|build| build.id);
            let builds: Vec<BuildId> = finished[place..].iter().map(|build| build.id).collect();
            let paired = Paired::read(tx, measured.id, card.previous)?;
            for found in figure::main(found, |_| false, FIGURES_OF_CARD_MAX) {
                let mut row = Line::read(tx, project, &found, card.previous, &builds)?;
                if let Some(metric) = paired.exact(&found) {
                    row.change = difference(metric);
                }
                card.rows.push(row);
            }
            break;
        }
        Ok(card)
    }
}

impl Line {
    fn read(
        tx: &mut Tx<'_>,
        project: &Project,
        found: &Figure,
        previous: Option<BuildId>,
        builds: &[BuildId],
    ) -> Result<Self, StoreError> {
        let before = match previous {
            Some(previous) => figures::of_series(tx, previous, found.series)?,
            None => None,
        };
        Ok(Self {
            name: figure::title(found),
            link: format!("/history/{}/{}", project.name, found.series),
            value: figure::shown(found.value),
            spark: prony_report::series::spark(&series::values_in(tx, found.series, builds)?),
            change: figure::change(before.as_ref(), found),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_lab_model::BuildVerdict;
    use prony_lab_store::Store;
    use prony_lab_store::fixture::on_both;
    use prony_lab_store::past::{Measured, Past};

    fn cards(store: &Store) -> Cards {
        store.read_blocking(|tx| Cards::read(tx, &Definitions::default())).expect("read")
    }

    #[test]
    fn a_card_shows_the_last_build_beside_the_last_good_one() {
        on_both(|store| {
            let past = Past::new(store);
            let empty = cards(store);
            assert_eq!((empty.cards.len(), empty.all), (1, 1));
            assert!(empty.cards[0].last.is_none() && empty.cards[0].rows.is_empty());
            let with = |p99: f64, verdict: Option<(BuildVerdict, BuildId)>| Measured {
                results: vec![("p50", 1.0), ("p99", p99), ("rate", 900.0)],
                verdict,
                ..Measured::default()
            };
            let first = past.build("main", "c1", with(2.0, None));
            let invalid = past.build("main", "c2", with(9.0, Some((BuildVerdict::Invalid, first))));
            past.build("other", "c3", with(7.0, None));
            let last = past.build("main", "c4", with(2.2, Some((BuildVerdict::Slower, first))));
            let found = cards(store);
            let card = &found.cards[0];
            assert_eq!(card.last.as_ref().map(|last| last.id), Some(last));
            assert_eq!((card.measured, card.previous), (Some(last), Some(first)), "not {invalid}");
            let names: Vec<_> = card.rows.iter().map(|row| row.name.as_str()).collect();
            assert_eq!(names, ["p99 of GET /, ms", "rate of GET /, ms"]);
            assert!(card.rows[0].change.contains("+10 %"), "{}", card.rows[0].change);
            let page = found.render().expect("drawn");
            assert!(
                page.contains("SLOWER") && page.contains("<svg") && !page.contains("open alert"),
                "{page}"
            );
            assert!(page.contains(&format!("/compare?a={first}&amp;b={last}")), "{page}");
        });
    }

    #[test]
    fn there_are_only_so_many_cards_and_the_busiest_come_first() {
        on_both(|store| {
            let past = Past::new(store);
            store
                .write_blocking(|tx| {
                    for number in 0..2 * CARDS_MAX {
                        let name = format!("p{number:02}").parse().expect("a name");
                        projects::register(
                            tx,
                            &name,
                            prony_lab_store::past::DEFINITION,
                            prony_lab_model::clock::Moment(1),
                        )?;
                    }
                    let gone = projects::by_name(tx, "p00")?.expect("registered");
                    projects::archive(tx, gone.id, prony_lab_model::clock::Moment(2))
                })
                .expect("registered");
            past.build("main", "c1", Measured::default());
            let found = cards(store);
            assert_eq!((found.cards.len(), found.all), (CARDS_MAX, 2 * CARDS_MAX));
            assert_eq!(found.cards[0].name, "a", "a build of it began");
            assert_eq!(found.cards[1].name, "p01", "p00 is archived");
            let page = found.render().expect("drawn");
            assert!(page.contains(&format!("All projects ({})", 2 * CARDS_MAX)), "{page}");
        });
    }
}
