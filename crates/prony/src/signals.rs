//! Ctrl-C, SIGTERM and SIGHUP: the first one ends the work and lets it report, the second one leaves at once.

use std::io::Write as _;
use std::thread;

use prony_engine::Control;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::live::screen;
use crate::progress::ProgressLine;

/// What ends a run, a probe or a series of them at the first signal.
pub(crate) fn control() -> Result<Control, CliError> {
    let control = Control::default();
    let stopped = control.clone();
    on_interrupt(move || {
        stopped.stop();
        ProgressLine::stopping();
    })?;
    Ok(control)
}

/// Calls `stop` at the first signal; must be called once, before the work starts.
pub(crate) fn on_interrupt(stop: impl FnOnce() + Send + 'static) -> Result<(), CliError> {
    on_interrupts(stop, || ())
}

/// The same, and calls `leave` at the second signal, just before the exit.
pub(crate) fn on_interrupts(
    stop: impl FnOnce() + Send + 'static,
    leave: impl FnOnce() + Send + 'static,
) -> Result<(), CliError> {
    let failed = |error: std::io::Error| CliError::internal(format!("can't listen for Ctrl-C ({error})"));
    // Under nohup a terminal that closes is to end nothing.
    let hang_up = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    let mut signals = Signals::new([SIGINT, SIGTERM].into_iter().chain(hang_up)).map_err(failed)?;
    let listen = move || {
        let mut arrived = signals.forever();
        if arrived.next().is_some() {
            stop();
        }
        if arrived.next().is_some() {
            leave();
            screen::leave();
            // The progress line may be unfinished.
            let _ = std::io::stderr().write_all(b"\n");
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop).map_err(failed)
}

/// Whether the parent process had it ignore `signal`.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
