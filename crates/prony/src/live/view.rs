//! The thread that draws. The run's own thread only leaves word of what happened: a terminal that is slow, or stopped
//! with Ctrl-S, holds up nothing but the picture.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use prony_model::{RunEvent, RunPlan};
use prony_report::live;

use super::paint::Painter;
use super::screen;
use super::state::State;
use crate::cli_error::CliError;
use crate::terminal;

/// Time between two frames: what changes faster can't be read.
const FRAME_EVERY: Duration = Duration::from_millis(200);
/// After so many frames every line is written again, in case keys or another process wrote over them.
const REPAINT_FRAMES: u32 = 10;

/// A screen that shows a run until it is dropped.
pub(crate) struct View {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<Known>,
    changed: Condvar,
}

struct Known {
    run: State,
    is_over: bool,
}

impl View {
    /// For a run of `plan`.
    pub(crate) fn new(plan: &RunPlan) -> Result<Self, CliError> {
        let known = Known { run: State::new(plan), is_over: false };
        let shared = Arc::new(Shared { state: Mutex::new(known), changed: Condvar::new() });
        let drawn = Arc::clone(&shared);
        screen::enter()?;
        let view = Self { shared };
        let draw = thread::Builder::new().name("live".to_owned()).spawn(move || drawn.draw());
        draw.map_err(|error| CliError::internal(format!("can't start a thread ({error})")))?;
        Ok(view)
    }

    /// Takes `event`.
    pub(crate) fn update(&self, event: RunEvent) {
        self.shared.lock().run.update(event);
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        // The thread may be in the middle of a frame: what it writes afterwards goes nowhere.
        screen::leave();
    }
}

impl Shared {
    /// Draws until the run is over.
    fn draw(&self) {
        let mut painter = Painter::default();
        for frame in 1_u32.. {
            let size = terminal::screen_size();
            if screen::take_new() {
                painter.reset();
            }
            if frame.is_multiple_of(REPAINT_FRAMES) {
                painter.forget();
            }
            let known = self.lock();
            if known.is_over {
                return;
            }
            let moment = known.run.moment(screen::is_stopping());
            let style = terminal::live_style(size.columns);
            let lines = live::screen(&moment, &style, size.rows);
            drop(known);
            screen::draw(&painter.paint(lines, size));
            let known = self.lock();
            let wait = self.changed.wait_timeout_while(known, FRAME_EVERY, |known| !known.is_over);
            drop(wait.unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
