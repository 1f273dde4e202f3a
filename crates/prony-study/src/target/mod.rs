//! Targets: made once, started when a run needs them, watched, and stopped when none does any more.
//!
//! Everything that is started is started through a guardian (prony-supervisor), so that nothing outlives Prony. Reading
//! order: this file, then `process.rs` (one process), `confinement.rs` (where it runs), `ready.rs`, `port.rs` and
//! `fill.rs`.

mod confinement;
mod error;
mod fill;
mod port;
mod process;
mod ready;

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use std::time::Duration;

use prony_model::{RequestOptions, TlsChoices};

pub use confinement::{Confinement, ConfinementError};
pub use error::{TargetError, TargetFailure};
pub(crate) use fill::{Values, fill};
use port::Ports;
use process::{Order, Process};
use ready::Door;
pub(crate) use ready::parsed;

use crate::clock;
use crate::execute::{StudyEvent, Watch};
use crate::study::{Ask, Build, Launch, Stop, Study, Target};

/// How often a wait looks whether it was given up.
const LOOK: Duration = Duration::from_millis(50);
/// A build ends with this signal, SIGTERM, and is killed soon after: there is nothing that it could save.
const STOP_BUILD: Stop = Stop { signal: 15, within: Duration::from_secs(1) };

/// Starts of one target, each on another port, where another process takes the port before the target does.
const STARTS_MAX: u32 = 3;

/// Why there is no target: it failed, or nobody wants it any more.
#[derive(Debug)]
pub(crate) enum NoTarget {
    Failed(TargetFailure),
    Interrupted,
}

impl NoTarget {
    /// Whether the target ended before it was ready.
    fn is_early_end(&self) -> bool {
        matches!(self, Self::Failed(TargetFailure { why: TargetError::EndedEarly { .. }, .. }))
    }
}

impl From<TargetError> for NoTarget {
    fn from(why: TargetError) -> Self {
        Self::Failed(why.into())
    }
}

/// The targets of a study, those that live and those that don't.
#[derive(Debug)]
pub(crate) struct Targets<'a> {
    study: &'a Study,
    confinement: &'a Confinement,
    logs: PathBuf,
    ports: Ports,
    /// What was built, and how that went. Targets that differ in their start only share it.
    built: Vec<(PathBuf, &'a Build, Option<TargetFailure>)>,
    live: BTreeMap<usize, Live>,
    /// The number of the last log of each name.
    last_logs: BTreeMap<String, u32>,
}

/// A target that can be loaded.
#[derive(Debug)]
struct Live {
    /// None for one that runs already.
    process: Option<Process>,
    /// As it was started, for messages.
    line: String,
    /// A port that must be given back.
    lent: Option<u16>,
    /// `port` and `url`.
    values: Values,
    /// How it is reached over TLS.
    tls: TlsChoices,
}

impl<'a> Targets<'a> {
    /// Of `study`, none of them alive. They will run in `confinement`, and their logs go to the folder `logs`.
    pub(crate) fn new(study: &'a Study, confinement: &'a Confinement, logs: PathBuf) -> Self {
        let last_logs = last_logs(&logs);
        // Process numbers aren't enough: two namespaces have the same ones.
        let ports = Ports::new(RandomState::new().hash_one(std::process::id()));
        Self { study, confinement, logs, ports, built: Vec::new(), live: BTreeMap::new(), last_logs }
    }

    /// Sees to it that the target `index` can be loaded, with all that it needs.
    pub(crate) fn ensure(&mut self, index: usize, watch: &mut Watch<'_>) -> Result<(), NoTarget> {
        let target = &self.study.targets[index];
        for service in &target.needs {
            self.ensure(*service, watch)?;
        }
        if self.live.contains_key(&index) {
            return self.still_lives(index, "between runs").map_err(NoTarget::Failed);
        }
        if let Launch::Command { build, folder, .. } = &target.launch {
            self.build(&target.name, build, folder, watch)?;
        }
        let live = self.start(target, watch)?;
        self.live.insert(index, live);
        Ok(())
    }

    /// Sends the requests that come before every load of target `index`.
    pub(crate) fn prepare(&self, index: usize, watch: &mut Watch<'_>) -> Result<(), NoTarget> {
        let target = &self.study.targets[index];
        let Some(live) = self.live.get(&index) else { return Ok(()) };
        for ask in &target.prepare {
            send(&target.name, live, ask, watch)?;
        }
        Ok(())
    }

    /// Whether target `index`, and all that it needs, still lives. What does not is forgotten.
    pub(crate) fn still_lives(&mut self, index: usize, when: &'static str) -> Result<(), TargetFailure> {
        for service in &self.study.targets[index].needs {
            self.still_lives(*service, when)?;
        }
        let name = &self.study.targets[index].name;
        let Some(live) = self.live.get_mut(&index) else { return Ok(()) };
        let Some(process) = &mut live.process else { return Ok(()) };
        let Some(how) = process.ended(Duration::ZERO).map(|ended| ended.to_string()) else { return Ok(()) };
        let log_tail = process.log_tail();
        let line = live.line.clone();
        self.forget(index);
        Err(TargetFailure { why: TargetError::Ended { target: name.clone(), line, how, when }, log_tail })
    }

    /// What placeholders mean for a load on target `index`.
    pub(crate) fn values(&self, index: usize) -> Values {
        let mut values = self.services(&self.study.targets[index]);
        values.extend(self.live.get(&index).map(|live| live.values.clone()).unwrap_or_default());
        values
    }

    /// How target `index` is reached over TLS.
    pub(crate) fn tls(&self, index: usize) -> TlsChoices {
        self.live.get(&index).map(|live| live.tls.clone()).unwrap_or_default()
    }

    /// The last lines that target `index` wrote.
    pub(crate) fn log_tail(&self, index: usize) -> String {
        let process = self.live.get(&index).and_then(|live| live.process.as_ref());
        process.map(Process::log_tail).unwrap_or_default()
    }

    /// Stops every target that `is_needed` says no to, and then the services that no target needs any more.
    pub(crate) fn stop_unless(&mut self, is_needed: impl Fn(usize) -> bool, watch: &mut Watch<'_>) {
        let mut kept: Vec<usize> = self.live.keys().copied().filter(|index| is_needed(*index)).collect();
        let mut at = 0;
        while let Some(index) = kept.get(at) {
            for service in &self.study.targets[*index].needs {
                if !kept.contains(service) {
                    kept.push(*service);
                }
            }
            at += 1;
        }
        // Services come before the targets that need them.
        let ended: Vec<usize> =
            self.live.keys().rev().copied().filter(|index| !kept.contains(index)).collect();
        for index in ended {
            watch.report(StudyEvent::Stopping { target: &self.study.targets[index].name });
            self.stop(index);
        }
    }

    /// Stops target `index` in its own way.
    pub(crate) fn stop(&mut self, index: usize) {
        if let Some(process) = self.live.get_mut(&index).and_then(|live| live.process.take()) {
            process.stop();
        }
        self.forget(index);
    }

    /// Takes target `index` for dead, and with it those that needed it: they know its port only.
    fn forget(&mut self, index: usize) {
        if let Some(port) = self.live.remove(&index).and_then(|live| live.lent) {
            self.ports.give_back(port);
        }
        let needs_it = |other: &usize| self.study.targets[*other].needs.contains(&index);
        let bereft: Vec<usize> = self.live.keys().copied().filter(needs_it).collect();
        for other in bereft {
            self.stop(other);
        }
    }

    /// Makes a target, once.
    fn build(
        &mut self,
        name: &str,
        build: &'a Build,
        folder: &std::path::Path,
        watch: &mut Watch<'_>,
    ) -> Result<(), NoTarget> {
        let done = self.built.iter().find(|(at, done, _)| at == folder && *done == build);
        if let Some((_, _, failure)) = done {
            return failure.clone().map_or(Ok(()), |failure| Err(NoTarget::Failed(failure)));
        }
        let until = clock::now() + build.within;
        let mut failure = None;
        for line in &build.lines {
            match self.build_line(name, line, build, folder, until, watch) {
                Ok(()) => {}
                Err(NoTarget::Interrupted) => return Err(NoTarget::Interrupted),
                Err(NoTarget::Failed(why)) => {
                    failure = Some(why);
                    break;
                }
            }
        }
        self.built.push((folder.to_owned(), build, failure.clone()));
        failure.map_or(Ok(()), |failure| Err(NoTarget::Failed(failure)))
    }

    fn build_line(
        &mut self,
        name: &str,
        words: &[String],
        build: &Build,
        folder: &std::path::Path,
        until: Duration,
        watch: &mut Watch<'_>,
    ) -> Result<(), NoTarget> {
        let line = words.join(" ");
        watch.report(StudyEvent::Building { target: name, line: &line });
        let order = Order {
            words: words.to_vec(),
            folder: Some(folder),
            environment: BTreeMap::new(),
            stop: &STOP_BUILD,
            log: self.next_log(&format!("{name}-build")),
            authority: None,
        };
        let target = name.to_owned();
        let mut process = started(&order, self.confinement, &target, &line)?;
        loop {
            if let Some(ended) = process.ended(LOOK) {
                if ended.is_good() {
                    return Ok(());
                }
                let why = TargetError::Build { target, line, how: ended.to_string() };
                return Err(NoTarget::Failed(TargetFailure { why, log_tail: process.log_tail() }));
            }
            if watch.is_stopped() {
                process.stop();
                return Err(NoTarget::Interrupted);
            }
            if clock::now() >= until {
                let log_tail = process.log_tail();
                process.stop();
                let why = TargetError::SlowBuild { target, line, within: build.within };
                return Err(NoTarget::Failed(TargetFailure { why, log_tail }));
            }
        }
    }

    /// Starts a target and waits until it is ready.
    fn start(&mut self, target: &Target, watch: &mut Watch<'_>) -> Result<Live, NoTarget> {
        let own = match (&target.launch, target.port) {
            (Launch::Running, port) => return self.start_at(target, port, None, watch),
            (_, Some(port)) if !port::is_free(port) => {
                let holder = port::holder(port);
                return Err(TargetError::PortTaken { target: target.name.clone(), port, holder }.into());
            }
            (_, port) => port,
        };
        if own.is_some() {
            return self.start_at(target, own, None, watch);
        }
        let mut starts = 0;
        loop {
            starts += 1;
            let port =
                self.ports.free().ok_or_else(|| TargetError::NoPort { target: target.name.clone() })?;
            let started = self.start_at(target, Some(port), Some(port), watch);
            let Err(why) = started else { return started };
            // A port that was taken in the meantime stays lent, so that it isn't tried again.
            if why.is_early_end() && !port::is_free(port) && starts < STARTS_MAX {
                continue;
            }
            self.ports.give_back(port);
            return Err(why);
        }
    }

    fn start_at(
        &mut self,
        target: &Target,
        port: Option<u16>,
        lent: Option<u16>,
        watch: &mut Watch<'_>,
    ) -> Result<Live, NoTarget> {
        watch.report(StudyEvent::Starting { target: &target.name });
        let mut values = self.services(target);
        values.extend(port.map(|port| ("port".to_owned(), port.to_string())));
        let url = target.url.filled(&values);
        values.insert("url".to_owned(), url.clone());
        let order = self.order(target, &values);
        let line = order.as_ref().map(|order| shell_words::join(&order.words)).unwrap_or_default();
        let own_log = order
            .as_ref()
            .filter(|_| matches!(target.launch, Launch::Serve(_)))
            .map(|order| order.log.clone());
        let mut process = match &order {
            Some(order) => Some(started(order, self.confinement, &target.name, &line)?),
            None => None,
        };
        let authority = order.as_ref().and_then(|order| order.authority.clone());
        let tls = TlsChoices {
            ca_files: authority.map_or_else(|| target.tls.ca_files.clone(), |authority| vec![authority]),
            ..target.tls.clone()
        };
        let door = Door::of(target, &url, &tls, port, own_log)?;
        until_ready(target, &line, &door, process.as_mut(), watch)?;
        values.retain(|name, _| name == "port" || name == "url");
        Ok(Live { process, line, lent, values, tls })
    }

    /// What is to be started for `target`; nothing where it runs already.
    fn order<'b>(&mut self, target: &'b Target, values: &Values) -> Option<Order<'b>> {
        let log = self.next_log(&target.name);
        let mut authority = None;
        let (words, folder, environment) = match &target.launch {
            Launch::Running => return None,
            Launch::Serve(arguments) => {
                let mut words = vec![prony_supervisor::SELF.to_owned(), "serve".to_owned()];
                words.extend(arguments.iter().map(|argument| argument.filled(values)));
                let has_port =
                    words.iter().any(|word| word == "--port" || word == "-p" || word.starts_with("--port="));
                if let Some(port) = values.get("port").filter(|_| !has_port) {
                    words.extend(["--port".to_owned(), port.clone()]);
                }
                // Its certificate is new at each start: it is trusted unless the file says whom to trust.
                let is = |flag: &str| words.iter().any(|word| word.split('=').next() == Some(flag));
                let trusts = target.tls.insecure || !target.tls.ca_files.is_empty();
                if is("--tls") && !is("--tls-cert") && !is("--tls-ca") && !trusts {
                    let file = log.with_extension("pem");
                    words.extend(["--tls-ca".to_owned(), file.display().to_string()]);
                    authority = Some(file);
                }
                (words, None, BTreeMap::new())
            }
            Launch::Command { line, folder, environment, .. } => {
                let words = line.iter().map(|word| word.filled(values)).collect();
                let filled =
                    |(name, value): (&String, &crate::Template)| (name.clone(), value.filled(values));
                (words, Some(folder.as_path()), environment.iter().map(filled).collect())
            }
        };
        Some(Order { words, folder, environment, stop: &target.stop, log, authority })
    }

    /// `NAME.port` and `NAME.url` of everything that `target` needs.
    fn services(&self, target: &Target) -> Values {
        let mut values = Values::new();
        for service in &target.needs {
            let name = &self.study.targets[*service].name;
            let own = self.live.get(service).into_iter().flat_map(|live| &live.values);
            values.extend(own.map(|(key, value)| (format!("{name}.{key}"), value.clone())));
        }
        values
    }

    /// A file for the next log of `name`, after those that are there already.
    fn next_log(&mut self, name: &str) -> PathBuf {
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        let name = name.replace(|character| !is_plain(character), "-");
        let number = self.last_logs.entry(name.clone()).or_default();
        *number = number.saturating_add(1);
        self.logs.join(format!("{name}-{number}.log"))
    }
}

/// The greatest number of each name in the folder `logs`.
fn last_logs(logs: &std::path::Path) -> BTreeMap<String, u32> {
    let mut last = BTreeMap::new();
    for entry in fs::read_dir(logs).into_iter().flatten().flatten() {
        let file = entry.file_name();
        let parts = file.to_str().and_then(|file| file.strip_suffix(".log")?.rsplit_once('-'));
        if let Some((name, number)) =
            parts.and_then(|(name, number)| Some((name, number.parse::<u32>().ok()?)))
        {
            let known: &mut u32 = last.entry(name.to_owned()).or_default();
            *known = number.max(*known);
        }
    }
    last
}

fn started(
    order: &Order<'_>,
    confinement: &Confinement,
    target: &str,
    line: &str,
) -> Result<Process, TargetError> {
    Process::start(order, confinement).map_err(|error| TargetError::Start {
        target: target.to_owned(),
        line: line.to_owned(),
        reason: error.to_string(),
    })
}

/// Polls until the target can be loaded, has ended, or took too long.
fn until_ready(
    target: &Target,
    line: &str,
    door: &Door,
    mut process: Option<&mut Process>,
    watch: &mut Watch<'_>,
) -> Result<(), NoTarget> {
    let begun = clock::now();
    let mut pause = ready::FIRST_PAUSE;
    loop {
        let polled = door.poll(watch.runner());
        if watch.is_stopped() {
            return Err(NoTarget::Interrupted);
        }
        // Should it have ended, another may have answered in its place.
        let patience = if polled.is_ok() { Duration::ZERO } else { pause };
        let ended = if let Some(process) = &mut process {
            process.ended(patience).map(|ended| ended.to_string())
        } else {
            std::thread::sleep(patience);
            None
        };
        let log_tail = || process.as_ref().map(|process| process.log_tail()).unwrap_or_default();
        let (name, line) = (target.name.clone(), line.to_owned());
        if let Some(how) = ended {
            let why = TargetError::EndedEarly { target: name, line, how };
            return Err(NoTarget::Failed(TargetFailure { why, log_tail: log_tail() }));
        }
        let Err(last) = polled else {
            watch.report(StudyEvent::Ready { target: &target.name, took: clock::since(begun) });
            return Ok(());
        };
        if clock::since(begun) >= target.ready.within {
            let why = TargetError::NotReady { target: name, within: target.ready.within, last };
            return Err(NoTarget::Failed(TargetFailure { why, log_tail: log_tail() }));
        }
        pause = (pause * 2).min(ready::LAST_PAUSE);
    }
}

/// Sends one request before a load.
fn send(target: &str, live: &Live, ask: &Ask, watch: &mut Watch<'_>) -> Result<(), NoTarget> {
    let options = RequestOptions {
        method: Some(ask.method.clone()),
        headers: ask.headers.clone(),
        body: Some(ask.body.clone().into_bytes()),
        expect_status: Some(ask.status.clone()),
        ..RequestOptions::default()
    };
    let plan = ready::probe(target, &ready::joined(&live.values["url"], &ask.path), &live.tls, &options)?;
    let answer = watch.runner().probe(&plan).map_err(|error| error.to_string());
    if watch.is_stopped() {
        return Err(NoTarget::Interrupted);
    }
    answer.and_then(|result| ready::good(&result, &ask.status)).map_err(|why| {
        let (method, path) = (ask.method.clone(), ask.path.clone());
        TargetError::Prepare { target: target.to_owned(), method, path, why }.into()
    })
}
