//! The thread that draws. The measuring thread only leaves word of what happened: a terminal that is slow, or stopped
//! with Ctrl-S, holds up nothing but the picture.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use prony_report::Style;

use super::paint::Painter;
use super::screen;
use crate::cli_error::CliError;
use crate::terminal;

/// Time between two frames: what changes faster can't be read.
const FRAME_EVERY: Duration = Duration::from_millis(200);
/// After so many frames every line is written again, in case keys or another process wrote over them.
const REPAINT_FRAMES: u32 = 10;

/// What a screen shows.
pub(crate) trait Shown: Send + 'static {
    /// It as at most `rows` lines; `stopping` where it was asked to end.
    fn screen(&self, style: &Style, rows: usize, stopping: bool) -> Vec<String>;
}

/// A screen that shows something until it is dropped.
pub(crate) struct View<S> {
    shared: Arc<Shared<S>>,
}

struct Shared<S> {
    state: Mutex<Known<S>>,
    changed: Condvar,
}

struct Known<S> {
    shown: S,
    is_over: bool,
}

impl<S: Shown> View<S> {
    /// That shows `shown`.
    pub(crate) fn new(shown: S) -> Result<Self, CliError> {
        let known = Known { shown, is_over: false };
        let shared = Arc::new(Shared { state: Mutex::new(known), changed: Condvar::new() });
        let drawn = Arc::clone(&shared);
        screen::enter()?;
        let view = Self { shared };
        let draw = thread::Builder::new().name("live".to_owned()).spawn(move || drawn.draw());
        draw.map_err(|error| CliError::internal(format!("can't start a thread ({error})")))?;
        Ok(view)
    }

    /// Has `change` note what is new.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut S) -> R) -> R {
        change(&mut self.shared.lock().shown)
    }
}

impl<S> Drop for View<S> {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        // The thread may be in the middle of a frame: what it writes afterwards goes nowhere.
        screen::leave();
    }
}

impl<S: Shown> Shared<S> {
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
            let style = terminal::live_style(size.columns);
            let lines = known.shown.screen(&style, size.rows, screen::is_stopping());
            drop(known);
            screen::draw(&painter.paint(lines, size));
            let known = self.lock();
            let wait = self.changed.wait_timeout_while(known, FRAME_EVERY, |known| !known.is_over);
            drop(wait.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl<S> Shared<S> {
    fn lock(&self) -> MutexGuard<'_, Known<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
