//! `prony exec`: time commands that take turns, report which is faster and how much of it is start-up.

use std::time::Duration;

use prony_exec::Control;
use prony_model::{ExecEvent, ExecPlan, ExecResult};
use prony_report::{hyperfine, seconds};

use crate::args::ExecArgs;
use crate::cli_error::CliError;
use crate::cmd::run::seed;
use crate::exit::Exit;
use crate::progress::{ProgressLine, StatusLine};
use crate::render::render_exec;
use crate::resolve::{Export, ResolvedExec, resolve_exec};
use crate::{commit, output, signals, terminal};

/// The line is rewritten so often at most; each time costs the machine that is measured a little.
const BETWEEN_LINES: Duration = Duration::from_millis(100);

/// Times what `args` mean.
pub(crate) fn exec(args: &ExecArgs) -> Result<Exit, CliError> {
    let ResolvedExec { plan, format, files, quiet } = resolve_exec(args, seed()?)?;
    let result = time(&plan, quiet)?;
    // The report first: should a file fail now, the numbers are at least seen.
    output::print(&render_exec(&result, format, &terminal::style()))?;
    for (export, destination) in files {
        destination.write(match export {
            Export::Own => prony_model::exec_to_json(&result),
            Export::Json => hyperfine::json(&result),
            Export::Markdown => hyperfine::markdown(&result),
            Export::Csv => hyperfine::csv(&result),
        })?;
    }
    Ok(Exit::of_exec(&result))
}

/// Times the commands of `plan`, with a line that shows how far it is.
pub(super) fn time(plan: &ExecPlan, quiet: bool) -> Result<ExecResult, CliError> {
    let control = Control::new()?;
    let (on_interrupt, on_leaving) = (control.clone(), control.clone());
    let stop = move || {
        on_interrupt.stop();
        ProgressLine::stopping();
    };
    signals::on_interrupts(stop, move || on_leaving.kill())?;
    let mut line = SeriesLine::new(plan, quiet);
    let mut environment = prony_engine::environment();
    commit::note(&mut environment);
    let result = prony_exec::run(plan, environment, &control, &mut |event| line.update(event));
    drop(line);
    let mut result = result.map_err(|error| CliError::from(error).about(plan))?;
    result.environment.load_average_after = prony_engine::load_average();
    Ok(result)
}

/// The line that shows how far the series is.
struct SeriesLine<'a> {
    line: StatusLine,
    plan: &'a ExecPlan,
    /// When the line was written last, since the first round began.
    written: Option<Duration>,
}

impl<'a> SeriesLine<'a> {
    fn new(plan: &'a ExecPlan, quiet: bool) -> Self {
        // What commands print to the same terminal would be written over.
        let quiet = quiet || plan.output == prony_model::ExecOutput::Inherit;
        Self { line: StatusLine::new(quiet), plan, written: None }
    }

    fn update(&mut self, event: &ExecEvent) {
        if let ExecEvent::Run { elapsed, .. } = event {
            if self.written.is_some_and(|written| elapsed.saturating_sub(written) < BETWEEN_LINES) {
                return;
            }
            self.written = Some(*elapsed);
        }
        // `prepare` and `conclude` come with every run, whose line shows more; the shell's starts are too quick.
        let is_news = match event {
            ExecEvent::Around { what } => !matches!(*what, "prepare" | "conclude"),
            ExecEvent::Shell { done, .. } => *done == 0,
            ExecEvent::Warmup { .. } | ExecEvent::Run { .. } => true,
        };
        if is_news {
            self.line.write(&self.describe(event));
        }
    }

    fn describe(&self, event: &ExecEvent) -> String {
        let name = |command: usize| prony_report::clean(&self.plan.commands[command].name);
        match event {
            ExecEvent::Shell { total, .. } => format!("timing the shell's start, {total} times"),
            ExecEvent::Around { what } => (*what).to_owned(),
            ExecEvent::Warmup { done, total, command } => {
                format!("warm-up {} of {total} · {}", done + 1, name(*command))
            }
            ExecEvent::Run { done, expected, command, last, .. } => {
                let what = command.map_or_else(|| "start-up".to_owned(), name);
                let last = last.map(|last| format!(" · {}", seconds(last.as_secs_f64()))).unwrap_or_default();
                format!("round {} of {expected}{last} · {what}", done + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_where_the_series_is() {
        let args = ExecArgs { commands: vec!["sleep 1".to_owned()], ..ExecArgs::default() };
        let plan = resolve_exec(&args, 1).expect("a plan").plan;
        let line = SeriesLine::new(&plan, true);
        let run = ExecEvent::Run {
            elapsed: Duration::from_secs(4),
            done: 4,
            expected: 10,
            command: Some(0),
            last: Some(Duration::from_millis(1003)),
        };
        assert_eq!(line.describe(&run), "round 5 of 10 · 1 s · sleep 1");
        assert_eq!(
            line.describe(&ExecEvent::Warmup { done: 0, total: 3, command: 0 }),
            "warm-up 1 of 3 · sleep 1"
        );
    }
}
