//! A whole series: setups, the shell's own time, warm-up, rounds, cleanups.

use std::io;
use std::ops::Range;
use std::time::Duration;

use prony_model::{
    CommandExit, CommandRun, Environment, ExecEvent, ExecOrder, ExecPlan, ExecResult, ShellUse,
    StartUpSource, StartUpTry,
};

use crate::control::Control;
use crate::error::{ExecError, How};
use crate::launch::{self, Purpose};
use crate::process::{End, Ended, Limits, Runner};
use crate::schedule::{Orders, expected, goes_on};
use crate::start_up::{self, StartUp};
use crate::{clock, summary};

/// Starts of the shell that are timed, as hyperfine does: their mean is within a few percent.
const SHELL_RUNS: u32 = 50;
/// The exit code of shells for a command that they can't find (POSIX, 2.8.2).
const NOT_FOUND: i32 = 127;

/// Runs the series that `plan` describes, on the calling thread, and reports its progress to `sink`.
///
/// `environment` goes into the result as it is. A series that is stopped through `control` has a result all the
/// same; one that fails has none, and its cleanups have run.
pub fn run(
    plan: &ExecPlan,
    environment: Environment,
    control: &Control,
    sink: &mut dyn FnMut(&ExecEvent),
) -> Result<ExecResult, ExecError> {
    plan.check()?;
    let started_at = clock::wall();
    let mut series = Series {
        plan,
        control,
        sink,
        runner: Runner::new(control),
        begun: clock::now(),
        shell: None,
        start_ups: Vec::new(),
        runs: vec![Vec::new(); plan.commands.len()],
        rounds: 0,
        cleanups: Vec::new(),
        unclean: Vec::new(),
    };
    let outcome = series.all();
    series.clean();
    let interrupted = match outcome {
        Err(Halt::Failed(error)) => return Err(*error),
        Err(Halt::Stopped) => true,
        Ok(()) => false,
    };
    let Series { begun, shell, start_ups, runs, rounds, unclean, .. } = series;
    let measured = summary::Measured {
        started_at,
        total: clock::since(begun),
        interrupted,
        shell,
        start_ups,
        runs,
        rounds,
        unclean,
    };
    Ok(summary::result(plan, measured, environment))
}

/// Why a series ends before its end.
enum Halt {
    Stopped,
    Failed(Box<ExecError>),
}

impl From<ExecError> for Halt {
    fn from(error: ExecError) -> Self {
        Self::Failed(Box::new(error))
    }
}

struct Series<'a> {
    plan: &'a ExecPlan,
    control: &'a Control,
    sink: &'a mut dyn FnMut(&ExecEvent),
    runner: Runner<'a>,
    begun: Duration,
    shell: Option<ShellUse>,
    start_ups: Vec<StartUp>,
    runs: Vec<Vec<CommandRun>>,
    rounds: u32,
    /// Cleanups of what was set up.
    cleanups: Vec<&'a str>,
    /// What went wrong with them.
    unclean: Vec<String>,
}

impl Series<'_> {
    fn all(&mut self) -> Result<(), Halt> {
        self.time_shell()?;
        let all = 0..self.plan.commands.len();
        match self.plan.order {
            ExecOrder::Interleaved => self.part(all, &mut Orders::new(self.plan.seed))?,
            ExecOrder::Sequential => {
                let mut orders = Orders::new(self.plan.seed);
                for command in all {
                    self.part(command..command + 1, &mut orders)?;
                    self.clean();
                }
            }
        }
        Ok(())
    }

    /// Sets up, warms up and measures `commands` together.
    fn part(&mut self, commands: Range<usize>, orders: &mut Orders) -> Result<(), Halt> {
        let plan = self.plan;
        let lines = &plan.commands[commands.clone()];
        for line in distinct(lines.iter().filter_map(|command| command.cleanup.as_deref())) {
            self.cleanups.push(line);
        }
        for line in distinct(lines.iter().filter_map(|command| command.setup.as_deref())) {
            self.around("setup", line, true)?;
        }
        self.find_start_ups(commands.clone())?;
        let total = plan.runs.warmup;
        for done in 0..total {
            for at in orders.next(commands.len()) {
                let command = commands.start + at;
                (self.sink)(&ExecEvent::Warmup { done, total, command });
                self.measure(command, &format!("warm-up run {}", done + 1))?;
            }
        }
        self.rounds(commands, orders)
    }

    /// Measures `commands` in rounds until it is enough.
    fn rounds(&mut self, commands: Range<usize>, orders: &mut Orders) -> Result<(), Halt> {
        let plan = self.plan;
        let (begun, mut rounds) = (clock::now(), 0);
        while goes_on(&plan.runs, rounds, commands.len(), clock::since(begun)) {
            let expected = expected(&plan.runs, rounds, commands.len(), clock::since(begun));
            let start_ups: Vec<usize> = (0..self.start_ups.len())
                .filter(|at| self.start_ups[*at].commands.iter().any(|command| commands.contains(command)))
                .filter(|at| !self.start_ups[*at].is_done())
                .collect();
            let mut place = 0;
            for at in orders.next(commands.len() + start_ups.len()) {
                if let Some(start_up) = at.checked_sub(commands.len()).map(|at| start_ups[at]) {
                    (self.sink)(&ExecEvent::Run {
                        elapsed: clock::since(begun),
                        done: rounds,
                        expected,
                        command: None,
                        last: None,
                    });
                    self.time_start_up(start_up)?;
                    continue;
                }
                let command = commands.start + at;
                let last = self.runs[command].last().map(|run| Duration::from_secs_f64(run.wall_s));
                (self.sink)(&ExecEvent::Run {
                    elapsed: clock::since(begun),
                    done: rounds,
                    expected,
                    command: Some(command),
                    last,
                });
                let at = clock::since(self.begun);
                let (ended, exit) = self.measure(command, &format!("run {}", rounds + 1))?;
                let run = self.run_of(&ended, exit, rounds, place, at);
                self.runs[command].push(run);
                place += 1;
            }
            rounds += 1;
            self.rounds = self.rounds.max(rounds);
        }
        Ok(())
    }

    /// One run of a command, with what belongs before and after it.
    fn measure(&mut self, command: usize, when: &str) -> Result<(Ended, CommandExit), Halt> {
        let plan = self.plan;
        let command = &plan.commands[command];
        if let Some(line) = &command.prepare {
            self.around("prepare", line, true)?;
        }
        let limits = Limits { timeout: plan.timeout, cancellable: true, ends_group: true };
        let (ended, exit) = self.process(&command.line, Purpose::Measured, limits)?;
        self.check_exit(&command.line, exit, &ended, when)?;
        if let Some(line) = &command.conclude {
            self.around("conclude", line, true)?;
        }
        Ok((ended, exit))
    }

    /// Refuses runs that failed, unless they are to be ignored.
    fn check_exit(&self, line: &str, exit: CommandExit, ended: &Ended, when: &str) -> Result<(), ExecError> {
        let exits = &self.plan.exits;
        match exit {
            exit if exits.is_good(exit) => Ok(()),
            CommandExit::Code(NOT_FOUND) if self.plan.shell.is_some() && is_missing(&ended.stderr) => {
                Err(ExecError::NotFound { program: launch::first_word(line) })
            }
            _ if exits.go_on => Ok(()),
            _ => Err(failed(line, exit, when, true, ended)),
        }
    }

    /// Runs what belongs around the runs; it may leave processes behind.
    fn around(&mut self, what: &'static str, line: &str, cancellable: bool) -> Result<(), Halt> {
        (self.sink)(&ExecEvent::Around { what });
        let limits = Limits { timeout: self.plan.timeout, cancellable, ends_group: false };
        match self.process(line, Purpose::Around, limits)? {
            (_, CommandExit::Code(0)) => Ok(()),
            (ended, exit) => Err(failed(line, exit, what, false, &ended).into()),
        }
    }

    /// Runs the cleanups that are due, also after a failure or a stop. One that fails takes no number away.
    fn clean(&mut self) {
        for line in std::mem::take(&mut self.cleanups) {
            if let Err(Halt::Failed(error)) = self.around("cleanup", line, false) {
                self.unclean.push(error.to_string());
            }
        }
    }

    /// Times the shell with nothing to do.
    fn time_shell(&mut self) -> Result<(), Halt> {
        let Some(shell) = &self.plan.shell else { return Ok(()) };
        let limits = Limits { timeout: self.plan.timeout, cancellable: true, ends_group: true };
        let mut sums = [Duration::ZERO; 3];
        for done in 0..SHELL_RUNS {
            (self.sink)(&ExecEvent::Shell { done, total: SHELL_RUNS });
            let (ended, exit) = self.process("", Purpose::Around, limits)?;
            if exit != CommandExit::Code(0) {
                return Err(ExecError::Shell { shell: shell.join(" ") }.into());
            }
            for (sum, part) in sums.iter_mut().zip([ended.wall, ended.user, ended.system]) {
                *sum += part;
            }
        }
        let [wall_s, user_s, system_s] = sums.map(|sum| sum.as_secs_f64() / f64::from(SHELL_RUNS));
        self.shell = Some(ShellUse { runs: SHELL_RUNS, wall_s, user_s, system_s });
        Ok(())
    }

    /// Finds out for each of `commands` what measures the time of its start.
    fn find_start_ups(&mut self, commands: Range<usize>) -> Result<(), Halt> {
        let plan = self.plan;
        for command in commands {
            for StartUpTry { line, source } in &plan.commands[command].start_up {
                if self.stands_for_start(command, line, *source)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Tries `line`, once for all commands, and notes it for `command` if it works.
    fn stands_for_start(&mut self, command: usize, line: &str, source: StartUpSource) -> Result<bool, Halt> {
        let is_same = |known: &&mut StartUp| known.line == line && known.source == source;
        if let Some(known) = self.start_ups.iter_mut().find(is_same) {
            known.commands.push(command);
            return Ok(true);
        }
        let named = source == StartUpSource::Named;
        let timeout = if named { self.plan.timeout } else { start_up::PATIENCE.min(self.plan.timeout) };
        let limits = Limits { timeout, cancellable: true, ends_group: true };
        let (ended, exit) = self.process(line, Purpose::Looked, limits)?;
        let stands = start_up::is_start(&ended, source);
        if stands {
            let line = line.to_owned();
            self.start_ups.push(StartUp { line, source, commands: vec![command], times_s: Vec::new() });
        } else if named {
            return Err(failed(line, exit, "start-up", false, &ended).into());
        }
        Ok(stands)
    }

    fn time_start_up(&mut self, at: usize) -> Result<(), Halt> {
        let line = self.start_ups[at].line.clone();
        let limits = Limits { timeout: self.plan.timeout, cancellable: true, ends_group: true };
        let (ended, exit) = self.process(&line, Purpose::StartUp, limits)?;
        if exit == CommandExit::Code(0) {
            let time_s = without(ended.wall, self.shell.map(|shell| shell.wall_s));
            self.start_ups[at].times_s.push(time_s);
        }
        Ok(())
    }

    /// One process, whatever for. An end by hand ends the series.
    fn process(
        &mut self,
        line: &str,
        purpose: Purpose,
        limits: Limits,
    ) -> Result<(Ended, CommandExit), Halt> {
        if limits.cancellable && self.control.is_stopped() {
            return Err(Halt::Stopped);
        }
        let mut command = launch::command(self.plan, line, purpose)?;
        let ended = self.runner.run(&mut command, limits).map_err(|source| {
            let program = launch::program(self.plan, line);
            match source.kind() {
                io::ErrorKind::NotFound => ExecError::NotFound { program },
                _ => ExecError::Start { program, source },
            }
        })?;
        match ended.end {
            End::Stopped => Err(Halt::Stopped),
            End::Terminal => Err(ExecError::Terminal { line: line.to_owned() }.into()),
            End::Own(exit) => Ok((ended, exit)),
        }
    }

    fn run_of(&self, ended: &Ended, exit: CommandExit, round: u32, place: u32, at: Duration) -> CommandRun {
        let shell = self.shell.as_ref();
        CommandRun {
            round,
            place,
            at_s: at.as_secs_f64(),
            wall_s: without(ended.wall, shell.map(|shell| shell.wall_s)),
            wall_with_shell_s: ended.wall.as_secs_f64(),
            user_s: without(ended.user, shell.map(|shell| shell.user_s)),
            system_s: without(ended.system, shell.map(|shell| shell.system_s)),
            peak_memory_bytes: ended.peak_memory_bytes,
            exit,
        }
    }
}

/// `time` in seconds without the shell's share, which on average is `share_s`; never below 0.
fn without(time: Duration, share_s: Option<f64>) -> f64 {
    (time.as_secs_f64() - share_s.unwrap_or_default()).max(0.0)
}

/// Whether the end of stderr reports that there is no such command; scripts use 127 for other things, too.
fn is_missing(stderr: &[u8]) -> bool {
    let text = String::from_utf8_lossy(stderr);
    text.lines().last().is_none_or(|line| line.contains("not found") || line.contains("No such file"))
}

fn failed(line: &str, exit: CommandExit, when: &str, measured: bool, ended: &Ended) -> ExecError {
    ExecError::Failed {
        line: line.to_owned(),
        how: How(exit),
        when: when.to_owned(),
        measured,
        stderr: String::from_utf8_lossy(&ended.stderr).trim_end().to_owned(),
    }
}

/// Each of `lines` once, in the order of its first place.
fn distinct<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for line in lines {
        if !seen.contains(&line) {
            seen.push(line);
        }
    }
    seen
}
