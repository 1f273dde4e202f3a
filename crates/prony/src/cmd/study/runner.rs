//! The engine, for studies: what `prony run`, `probe` and `exec` do, without their reports.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_fleet::controller::Event;
use prony_fleet::protocol::Live;
use prony_model::{
    ExecEvent, ExecPlan, ExecResult, ProbePlan, ProbeResult, Progress, RunAgents, RunEvent, RunPlan,
    RunResult,
};
use prony_study::{Led, Runner, RunnerError, Study};
use prony_supervisor::Watchdog;

use crate::cli_error::CliError;
use crate::fleet::Leader;
use crate::progress::ProgressLine;
use crate::{calibration, commit, signals};

/// Measures on this machine, and leads agents on others.
pub(super) struct Host {
    control: prony_engine::Control,
    series: prony_exec::Control,
    /// Started with the first command.
    watchdog: Option<Watchdog>,
    /// Where the study has agents.
    leader: Option<Leader>,
}

impl Host {
    /// One that the first Ctrl-C ends, and the second one for good.
    pub(super) fn new(leader: Option<Leader>) -> Result<Self, CliError> {
        let local = Self {
            control: prony_engine::Control::default(),
            series: prony_exec::Control::new()?,
            watchdog: None,
            leader,
        };
        let stop_agents = local.leader.as_ref().map(Leader::stopper);
        let (control, series, leaving) = (local.control.clone(), local.series.clone(), local.series.clone());
        let stop = move || {
            control.stop();
            series.stop();
            if let Some(stop_agents) = &stop_agents {
                stop_agents();
            }
            ProgressLine::stopping();
        };
        // Targets need no word: their guardians see that this process is gone.
        signals::on_interrupts(stop, move || leaving.kill())?;
        Ok(local)
    }

    /// Finds the agents of `study`: where one is missing, nothing is begun.
    pub(super) fn find_agents(&mut self, study: &Study) -> Result<(), CliError> {
        self.leader.as_mut().map_or(Ok(()), |leader| leader.find(&study.agents()))
    }

    fn leading(&mut self) -> &mut Leader {
        self.leader.as_mut().expect("invariant: a study with agents has who leads them")
    }

    /// What decides whether the study is to end.
    pub(super) fn control(&self) -> prony_engine::Control {
        self.control.clone()
    }
}

impl Runner for Host {
    fn run(
        &mut self,
        plan: &RunPlan,
        calibration: bool,
        sink: &mut dyn FnMut(RunEvent),
    ) -> Result<RunResult, RunnerError> {
        let mut result = prony_engine::run(plan, &self.control, &mut |event| sink(event)).map_err(refused)?;
        commit::note(&mut result.environment);
        if calibration {
            calibration::compare(&mut result);
        }
        Ok(result)
    }

    fn find_agents(&mut self, agents: &RunAgents) -> Result<Vec<String>, RunnerError> {
        let leader = self.leading();
        if leader.names(agents).is_empty() {
            leader.find(&[agents]).map_err(refused)?;
        }
        Ok(leader.names(agents))
    }

    fn run_on_agents(
        &mut self,
        plan: &RunPlan,
        agents: &RunAgents,
        sink: &mut dyn FnMut(RunEvent),
    ) -> Result<Led, RunnerError> {
        let mut lives = BTreeMap::new();
        let led = self.leading().lead(plan, agents, &mut |event| {
            if let Event::Live(name, live) = event {
                lives.insert(name, live);
                sink(RunEvent::Progress(progress(lives.values())));
            }
        });
        led.map_err(refused)
    }

    fn stored(&mut self) {
        if let Some(leader) = &mut self.leader {
            leader.reported();
        }
    }

    fn probe(&mut self, plan: &ProbePlan) -> Result<ProbeResult, RunnerError> {
        let mut result = prony_engine::probe(plan, &self.control, None, &mut |_| ()).map_err(refused)?;
        commit::note(&mut result.environment);
        Ok(result)
    }

    fn exec(&mut self, plan: &ExecPlan, sink: &mut dyn FnMut(&ExecEvent)) -> Result<ExecResult, RunnerError> {
        if self.watchdog.is_none() {
            let failed = |error| RunnerError(format!("can't start a process beside the command ({error})"));
            let (watchdog, ledger) = Watchdog::start().map_err(failed)?;
            self.series.note_in(ledger);
            self.watchdog = Some(watchdog);
        }
        let mut environment = prony_engine::environment();
        commit::note(&mut environment);
        let mut result =
            prony_exec::run(plan, environment, &self.series, &mut |event| sink(event)).map_err(refused)?;
        result.environment.load_average_after = prony_engine::load_average();
        Ok(result)
    }
}

/// How far all agents are together.
fn progress<'a>(lives: impl Iterator<Item = &'a Live> + Clone) -> Progress {
    let elapsed_ms = lives.clone().map(|live| live.elapsed_ms).max().unwrap_or_default();
    Progress {
        elapsed: Duration::from_millis(elapsed_ms),
        done: lives.clone().map(|live| live.done).sum(),
        failed: lives.clone().map(|live| live.failed).sum(),
        rate_per_s: lives.map(|live| live.rate_per_s).sum(),
        median: None,
        in_flight: 0.0,
        open: 0,
    }
}

/// What a command of its own would have reported.
fn refused(error: impl Into<CliError>) -> RunnerError {
    RunnerError(error.into().problem().to_string())
}
