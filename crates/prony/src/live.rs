//! `--live`: a run, a comparison or a study while it is on. A screen on a terminal that can show one, lines elsewhere; both on stderr, so that
//! stdout keeps the report.
//!
//! Reading order: `state.rs` (what is known of the run), `view.rs` (the thread that draws it), `paint.rs` (what is
//! written for a new frame), `screen.rs` (the terminal, and how it is given back), `lines.rs` (without a screen), `pairs.rs`
//! (a comparison). A study's is `cmd/study/live.rs`, beside its other progress.

mod lines;
mod paint;
pub(crate) mod pairs;
pub(crate) mod screen;
mod state;
pub(crate) mod view;

use std::time::Duration;

use prony_model::{RunEvent, RunPlan};

use crate::cli_error::CliError;
use crate::live::lines::Lines;
pub(crate) use crate::live::paint::Size;
use crate::live::state::State;
use crate::live::view::View;
use crate::terminal;

/// How often the engine is asked for the result so far.
pub(crate) const SO_FAR_EVERY: Duration = Duration::from_millis(500);

/// Shows a run.
pub(crate) enum Live {
    /// On a terminal.
    View(View<State>),
    /// In a pipe, a file, or on a terminal where nothing can be written over.
    Lines(Box<Lines>),
}

impl Live {
    /// For a run of `plan`.
    pub(crate) fn new(plan: &RunPlan) -> Result<Self, CliError> {
        if terminal::has_progress_line() {
            View::new(State::new(plan)).map(Self::View)
        } else {
            Ok(Self::Lines(Box::new(Lines::new(plan))))
        }
    }

    /// Takes `event`.
    pub(crate) fn update(&mut self, event: RunEvent) {
        match self {
            Self::View(view) => {
                view.update(|state| state.update(event));
            }
            Self::Lines(lines) => lines.update(event),
        }
    }
}
