//! The terminal of the live view, and how it is given back: at the end, by signals that end or stop the process, and in a
//! panic. Input modes stay as they are: keys are not read, and Ctrl-C is the terminal's own.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, TryLockError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGCONT, SIGQUIT, SIGTSTP};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::cli_error::CliError;

/// The other screen, without a cursor; lines that are too long are cut, not wrapped.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
/// As it was before.
const LEAVE: &str = "\x1b[?2026l\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Attempts to give back a terminal that takes nothing, before it is left as it is,
const LEAVE_ATTEMPTS_MAX: u32 = 100;
/// and the time between two of them.
const LEAVE_AGAIN: Duration = Duration::from_millis(10);

/// Whether our screen is shown. The lock is held while something is written to it.
static SHOWN: Mutex<bool> = Mutex::new(false);
/// Whether the screen was cleared and shown again, and is empty.
static IS_NEW: AtomicBool = AtomicBool::new(false);
/// Whether the run was asked to end.
static STOPPING: AtomicBool = AtomicBool::new(false);

/// Shows our screen.
pub(super) fn enter() -> Result<(), CliError> {
    static WATCHED: Once = Once::new();
    let mut failed = None;
    WATCHED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            previous(panic);
        }));
        failed = watch_signals().err();
    });
    if let Some(error) = failed {
        return Err(CliError::internal(format!("can't listen for Ctrl-Z ({error})")));
    }
    show();
    Ok(())
}

fn show() {
    let mut shown = lock();
    *shown = true;
    IS_NEW.store(true, Ordering::Relaxed);
    write(ENTER);
}

/// Gives the terminal back; nothing where it is not ours.
pub(crate) fn leave() {
    // A terminal that takes nothing must not keep the process from ending.
    for _ in 0..LEAVE_ATTEMPTS_MAX {
        let mut shown = match SHOWN.try_lock() {
            Ok(shown) => shown,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                thread::sleep(LEAVE_AGAIN);
                continue;
            }
        };
        if std::mem::replace(&mut *shown, false) {
            write(LEAVE);
        }
        return;
    }
}

/// Writes `text` to our screen; nothing while it is not shown.
pub(super) fn draw(text: &str) {
    if *lock() {
        write(text);
    }
}

/// Whether the screen is empty, since it was cleared and shown again.
pub(super) fn take_new() -> bool {
    IS_NEW.swap(false, Ordering::Relaxed)
}

/// Notes that the run is about to end early; returns whether our screen shows that.
pub(crate) fn note_stopping() -> bool {
    STOPPING.store(true, Ordering::Relaxed);
    *lock()
}

/// Whether the run is about to end early.
pub(super) fn is_stopping() -> bool {
    STOPPING.load(Ordering::Relaxed)
}

/// Gives the terminal back before Ctrl-Z stops the process or Ctrl-\ ends it, and takes it again afterwards.
fn watch_signals() -> std::io::Result<()> {
    let mut signals = Signals::new([SIGTSTP, SIGQUIT, SIGCONT])?;
    let watch = move || {
        let mut was_shown = false;
        for signal in signals.forever() {
            if signal == SIGCONT {
                if std::mem::replace(&mut was_shown, false) {
                    show();
                }
                continue;
            }
            was_shown = *lock();
            leave();
            // It returns when the process goes on; what can't be done is not done.
            let _ = emulate_default_handler(signal);
        }
    };
    thread::Builder::new().name("screen".to_owned()).spawn(watch).map(drop)
}

fn lock() -> MutexGuard<'static, bool> {
    SHOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A frame that can't be written is not missed.
fn write(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
