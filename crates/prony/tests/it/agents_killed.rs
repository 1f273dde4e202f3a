//! kill -9 of an agent, the broker or the controller at moments that follow from a seed, with real processes. What was
//! acknowledged is somewhere, nothing is counted twice, no load is left. `PRONY_KILL_ROUNDS=N` asks for more rounds than the
//! few of an ordinary test, `PRONY_KILL_SEED=N` for others.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::process::{ChildStdout, Stdio};
use std::thread;
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::binary::program_output;
use crate::fleet::{Fleet, Process, ended, json, started};
use crate::server::Server;

/// Rounds where nobody asks for more: one for each victim.
const ROUNDS: u64 = 3;
/// Worlds at once, where there are many rounds: they wait more than they work.
const WORLDS: u64 = 4;
/// A round is over by then, if nothing is killed.
const ROUND_MS: u64 = 7_000;
/// Attempts to collect everything.
const ATTEMPTS_MAX: usize = 20;
const AGENTS: [&str; 2] = ["a", "b"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Agent,
    Broker,
    Controller,
}

const VICTIMS: [Victim; 3] = [Victim::Agent, Victim::Broker, Victim::Controller];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn nothing_acknowledged_is_lost_or_counted_twice_whoever_is_killed() {
    if Fleet::new("rounds of kill -9").is_none() {
        return;
    }
    let (rounds, seed) = (number("PRONY_KILL_ROUNDS", ROUNDS), number("PRONY_KILL_SEED", 1));
    let worlds = if rounds > 2 * WORLDS { WORLDS } else { 1 };
    let each = rounds.div_ceil(worlds);
    let worlds: Vec<_> = (0..worlds)
        .map(|world| thread::spawn(move || World::new(world).live(seed * 1_000 + world, each)))
        .collect();
    let seen: Vec<Seen> =
        worlds.into_iter().map(|world| world.join().expect("a world without a fault")).collect();
    let sum = |of: fn(&Seen) -> usize| seen.iter().map(of).sum::<usize>();
    eprintln!(
        "{} rounds: {} runs were reported, {} results were acknowledged, {} were collected later",
        sum(|seen| seen.rounds),
        sum(|seen| seen.reported),
        sum(|seen| seen.acknowledged),
        sum(|seen| seen.collected)
    );
}

/// What a world has seen.
struct Seen {
    rounds: usize,
    reported: usize,
    acknowledged: usize,
    collected: usize,
}

struct World {
    number: u64,
    fleet: Fleet,
    server: Server,
    agents: BTreeMap<&'static str, Process<ChildStdout>>,
    /// All lines of agents that have ended.
    lines: BTreeMap<&'static str, String>,
    /// Requests in the results of each agent of each run, as a report has them.
    reported: BTreeMap<(String, String), u64>,
}

impl World {
    fn new(number: u64) -> Self {
        let fleet = Fleet::with_broker(&format!("kill rounds {number}")).expect("there is a nats-server");
        let server = Server::good();
        let (agents, lines, reported) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut world = Self { number, fleet, server, agents, lines, reported };
        for name in AGENTS {
            world.start(name);
        }
        world
    }

    fn start(&mut self, name: &'static str) {
        self.agents.insert(name, self.fleet.connected(name));
    }

    /// Ends an agent, and keeps what it wrote.
    fn end(&mut self, name: &'static str, signal: Signal) {
        let mut agent = self.agents.remove(name).expect("it was started");
        kill_process(agent.pid(), signal).expect("it is there");
        let mut text = String::new();
        agent.lines.read_to_string(&mut text).expect("text");
        agent.child.wait().expect("it ended");
        self.lines.entry(name).or_default().push_str(&text);
    }

    fn live(mut self, seed: u64, rounds: u64) -> Seen {
        let mut rng = Pcg64::seed_from_u64(seed);
        let mut served = 0;
        for round in 0..rounds {
            let victim = VICTIMS[usize::try_from(round).expect("few") % VICTIMS.len()];
            let after = Duration::from_millis(rng.random_range(0..ROUND_MS));
            self.round(victim, after, rng.random_range(0..AGENTS.len()), round);
            served += self.server.requests.try_iter().count() as u64;
        }
        // Agents that are idle put no load on anybody.
        self.collect();
        assert_eq!(self.server.requests.try_iter().count(), 0, "a load is left");
        for name in AGENTS {
            self.end(name, Signal::TERM);
        }
        self.check(usize::try_from(rounds).expect("few"), served)
    }

    fn round(&mut self, victim: Victim, after: Duration, agent: usize, round: u64) {
        let file = self.fleet.folder.0.join(format!("{round}.json")).to_str().expect("UTF-8").to_owned();
        let load = ["-c", "2", "-d", "1s", "--warmup", "0", "--rate", "200", "--json", &file];
        let run = started(self.fleet.run(&self.server.url, "a,b", &load));
        thread::sleep(after);
        match victim {
            Victim::Agent => {
                self.end(AGENTS[agent], Signal::KILL);
                self.start(AGENTS[agent]);
            }
            Victim::Broker => {
                self.fleet.broker.take().expect("it runs").kill();
                self.fleet.start_broker();
            }
            Victim::Controller => {
                kill_process(run.pid(), Signal::KILL).expect("nobody has waited for it");
            }
        }
        let (code, text) = ended(run);
        let epoch = std::fs::read_to_string(self.fleet.folder.0.join("config/prony/lab.epoch"));
        let run = format!("r{}", epoch.unwrap_or_default().trim());
        eprint_round(self.number, round, victim, after, code);
        if Path::new(&file).exists() {
            self.report(&run, &json(&file));
        }
        assert!(!text.contains("panicked"), "{text}");
        if victim == Victim::Controller {
            // An agent that waits for a start would do so for a minute.
            for name in AGENTS {
                self.end(name, Signal::KILL);
                self.start(name);
            }
        }
        self.collect();
    }

    /// Notes what a report has.
    fn report(&mut self, run: &str, fleet: &Value) {
        let mut sum = 0;
        for agent in fleet["agents"].as_array().expect("agents") {
            if let Some(done) = agent["result"]["requests"]["done"].as_u64() {
                let name = agent["name"].as_str().expect("a name").to_owned();
                let before = self.reported.insert((run.to_owned(), name), done);
                assert!(before.is_none_or(|before| before == done), "{run}: the same result, if any");
                sum += done;
            }
        }
        assert_eq!(fleet["merged"]["requests"]["done"].as_u64(), Some(sum), "{run}");
    }

    /// Collects what agents hold until they hold nothing.
    fn collect(&self) {
        let mut last = String::new();
        for _ in 0..ATTEMPTS_MAX {
            let mut results = self.fleet.prony();
            results.args(["agent", "results", "--nats", &self.fleet.url()]).stdin(Stdio::null());
            let output = program_output(results.output().expect("it runs"));
            match output.code {
                Some(0) => return,
                // Busy agents, or a broker that is not up yet.
                Some(3 | 4) => last = output.err,
                _ => panic!("{output:?}"),
            }
        }
        panic!("something is still held: {last}");
    }

    fn check(mut self, rounds: usize, served: u64) -> Seen {
        let runs = self.fleet.folder.0.join("state/prony/runs");
        let from_reports: Vec<(String, String)> = self.reported.keys().cloned().collect();
        let mut collected = 0;
        for entry in std::fs::read_dir(&runs).into_iter().flatten() {
            let folder = entry.expect("a folder").path();
            let run = folder.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
            if folder.join("fleet.json").exists() {
                let before = self.reported.len();
                self.report(&run, &json(folder.join("fleet.json").to_str().expect("UTF-8")));
                collected += self.reported.len() - before;
            }
            for name in AGENTS {
                let file = folder.join("results").join(format!("{name}.json"));
                if file.exists() {
                    let key = (run.clone(), name.to_owned());
                    assert!(!from_reports.contains(&key), "{key:?} is in a report and beside it");
                    let done = json(file.to_str().expect("UTF-8"))["requests"]["done"].as_u64();
                    let before = self.reported.insert(key, done.expect("a count"));
                    collected += usize::from(before.is_none());
                }
            }
        }
        let mut acknowledged = 0;
        for (name, lines) in &self.lines {
            for line in lines.lines().filter(|line| line.contains("is committed")) {
                let run = line.split(' ').find(|word| word.starts_with('r') && word.len() > 10);
                let key = (run.expect("the run's name").to_owned(), (*name).to_owned());
                assert!(self.reported.contains_key(&key), "{key:?} was acknowledged and is lost");
                acknowledged += 1;
            }
        }
        let counted: u64 = self.reported.values().sum();
        assert!(counted <= served, "{counted} requests are counted, and {served} were served");
        Seen { rounds, reported: from_reports.len(), acknowledged, collected }
    }
}

#[expect(clippy::print_stderr, reason = "a failing round is found by its line")]
fn eprint_round(world: u64, round: u64, victim: Victim, after: Duration, code: Option<i32>) {
    eprintln!("world {world} round {round}: {victim:?} killed after {} ms, code {code:?}", after.as_millis());
}
