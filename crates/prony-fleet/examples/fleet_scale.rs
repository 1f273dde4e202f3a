//! Many agents in one process, and a controller that leads them through a real broker, in another: what
//! bench/fleet-scale measures. Agents and controller are the real ones; loads wait, and return a stored result.
//!
//! `fleet_scale key FILE`, then `fleet_scale agents FILE URL COUNT STATE RESULT`, then
//! `fleet_scale lead FILE URL COUNT SECONDS RUNS`, which prints what it took as JSON.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for a bench")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use prony_fleet::Load;
use prony_fleet::agent::{self, AgentSettings, Identity, serve};
use prony_fleet::bus::{Bus, BusError, BusEvent, NatsBus, NatsOptions};
use prony_fleet::clock::now_ns;
use prony_fleet::controller::{self, Event, RunFolder, RunSettings, Signer, Wanted, drive};
use prony_fleet::protocol::{AgentName, ControllerKey, Live, ResultKind, RunName, Subject, WirePlan};
use prony_model::{RunOptions, RunPlan, Target};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["key", file] => {
            fs::write(file, ControllerKey::generate().expect("random numbers")).expect("it can be written");
        }
        ["agents", key, url, count, state, result] => agents(key, url, number(count), state, result),
        ["lead", key, url, count, seconds, runs] => lead(key, url, number(count), number(seconds), runs),
        _ => eprintln!("fleet_scale key | agents | lead: see its first lines"),
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

fn read_key(file: &str) -> ControllerKey {
    ControllerKey::read(fs::read_to_string(file).expect("a key").trim()).expect("a key")
}

fn options(url: &str, name: String, patient: bool) -> NatsOptions {
    NatsOptions { url: url.to_owned(), nkey: None, ca_file: None, name, patient }
}

/// A load of so many seconds, of which nothing is sent.
struct Waits {
    result: Arc<Vec<u8>>,
    stopped: AtomicBool,
}

impl Load for Waits {
    fn prepare(&self, plan: RunPlan) -> Result<RunPlan, String> {
        Ok(plan)
    }

    fn run(&self, plan: &RunPlan, at_ns: u64, live: &mut dyn FnMut(Live)) -> Result<Vec<u8>, String> {
        self.stopped.store(false, Ordering::Relaxed);
        let length = plan.end.duration().expect("the bench has one");
        let end_ns = at_ns + u64::try_from(length.as_nanos()).expect("short");
        thread::sleep(Duration::from_nanos(at_ns.saturating_sub(now_ns())));
        while now_ns() < end_ns && !self.stopped.load(Ordering::Relaxed) {
            let elapsed_ms = now_ns().saturating_sub(at_ns) / 1_000_000;
            let phase = "measure".to_owned();
            live(Live { phase, elapsed_ms, done: elapsed_ms, failed: 0, rate_per_s: 1_000.0 });
            thread::sleep(Duration::from_millis(250));
        }
        Ok(self.result.to_vec())
    }

    fn prepare_observation(&self, _: RunPlan) -> Result<RunPlan, String> {
        Err("there is no server".to_owned())
    }

    fn observe(&self, _: &RunPlan, _: u64) -> Result<Vec<u8>, String> {
        unreachable!("it was not prepared")
    }

    fn stop(&self, _: &str) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

fn agents(key: &str, url: &str, count: usize, state: &str, result: &str) {
    let controller = read_key(key).public();
    let result = Arc::new(fs::read(result).expect("a result"));
    let mut threads = Vec::new();
    for place in 0..count {
        let name = AgentName::new(&format!("a{place}")).expect("a name");
        let (sender, events) = sync_channel(64);
        let arrived = sender.clone();
        let sink = move |event| drop(arrived.try_send(agent::Line::Bus(event)));
        let patterns = Subject::of_agent(&name);
        let bus = NatsBus::connect(options(url, name.to_string(), true), &patterns, Box::new(sink))
            .expect("a broker");
        let identity = Identity {
            instance: format!("i{place}"),
            version: "bench".to_owned(),
            cores: 1,
            controller,
            name,
        };
        let settings =
            AgentSettings { identity, state: PathBuf::from(state).join(format!("{place}")), once: false };
        let load: Arc<dyn Load> =
            Arc::new(Waits { result: Arc::clone(&result), stopped: AtomicBool::new(false) });
        let work = move || serve(settings, &load, &bus, &sender, &events, &mut |_| ());
        threads.push(thread::Builder::new().stack_size(256 << 10).spawn(work).expect("a thread"));
        // A broker on a busy machine takes so many connections and no more.
        thread::sleep(Duration::from_millis(2));
    }
    println!("{count} agents");
    for thread in threads {
        if let Err(error) = thread.join().expect("no panic") {
            eprintln!("{error}");
        }
    }
}

/// A bus that counts what it is given.
struct Counted {
    bus: Arc<dyn Bus>,
    messages: AtomicU64,
    bytes: AtomicU64,
    refused: AtomicU64,
}

impl Bus for Counted {
    fn publish(&self, subject: &Subject, payload: Vec<u8>) -> Result<(), BusError> {
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(payload.len() as u64, Ordering::Relaxed);
        let published = self.bus.publish(subject, payload);
        self.refused.fetch_add(u64::from(published.is_err()), Ordering::Relaxed);
        published
    }
}

/// CPU seconds of this process so far, and its peak of memory in MiB.
fn used() -> (f64, u64) {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    let ticks: f64 = [11, 12].iter().map(|at| fields[*at].parse::<f64>().expect("a number")).sum();
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    let kib: u64 = line.split_whitespace().next().and_then(|text| text.parse().ok()).expect("a number");
    (ticks / 100.0, kib / 1024)
}

fn lead(key: &str, url: &str, count: usize, seconds: usize, runs: &str) {
    let key = read_key(key);
    let (sender, events) = sync_channel(controller::EVENTS_MAX);
    let arrived = Arc::new([const { AtomicU64::new(0) }; 3]);
    let counts = Arc::clone(&arrived);
    let sink = move |event| {
        if let BusEvent::Message { payload, .. } = &event {
            counts[0].fetch_add(1, Ordering::Relaxed);
            counts[1].fetch_add(payload.len() as u64, Ordering::Relaxed);
        }
        let lost = sender.try_send(controller::Line::Bus(event)).is_err();
        counts[2].fetch_add(u64::from(lost), Ordering::Relaxed);
    };
    let patterns = Subject::OF_CONTROLLER.map(str::to_owned);
    let bus = NatsBus::connect(options(url, "lead".to_owned(), false), &patterns, Box::new(sink))
        .expect("a broker");
    let counted = Arc::new(Counted {
        bus,
        messages: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        refused: AtomicU64::new(0),
    });
    let length = Duration::from_secs(seconds as u64);
    let options = RunOptions { duration: Some(length), ..RunOptions::default() };
    let plan = options.plan(Target::parse("http://127.0.0.1:1/").expect("a URL"), 7).expect("a plan");
    let epoch = now_ns();
    let run = RunName::new(&format!("r{epoch}")).expect("a name");
    let folder = RunFolder::open(&PathBuf::from(runs), &run).expect("a folder").expect("it is new");
    let settings = RunSettings {
        run,
        signer: Arc::new(Signer::new(Arc::new(key), epoch)),
        wanted: Wanted::Any(count),
        drained: BTreeSet::new(),
        plans: vec![WirePlan::pack(plan); count],
        observer: None,
        version: "bench".to_owned(),
        deadline_ms: seconds as u64 * 1_000 + 30_000,
        max_unattended_ms: 60_000,
    };
    let begin_ns = now_ns();
    let since = |at_ns: u64| at_ns.saturating_sub(begin_ns) as f64 / 1e9;
    let marks = Mutex::new(Vec::new());
    let note = |name: &'static str| {
        let counts = [&arrived[0], &arrived[1], &counted.messages, &counted.bytes];
        let counts = counts.map(|count| count.load(Ordering::Relaxed));
        marks.lock().expect("no panic").push((name, since(now_ns()), used(), counts));
    };
    let mut stored_bytes = 0;
    let (mut results, mut suspects) = (0, 0);
    let as_bus: Arc<dyn Bus> = Arc::clone(&counted) as Arc<dyn Bus>;
    let mut store = |result: &controller::Arrived| {
        stored_bytes += result.bytes.len() as u64;
        if results == 0 {
            note("first result");
        }
        results += 1;
        folder.store(result).is_ok()
    };
    let outcome = drive(settings, &as_bus, &events, &mut store, &mut |event| match event {
        Event::Chosen { .. } => note("chosen"),
        Event::Starting { .. } => note("starting"),
        Event::Suspect(_) => suspects += 1,
        Event::GivenUp(why) | Event::Connection(why) => eprintln!("{why}"),
        _ => {}
    });
    note("done");
    let there = outcome.agents.iter().filter(|agent| agent.result == Some(ResultKind::Finished)).count();
    println!(
        "{{\"agents\": {count}, \"results\": {there}, \"result_bytes\": {stored_bytes}, \"suspects\": {suspects},"
    );
    println!(
        "  \"events_lost\": {}, \"publishes_refused\": {},",
        arrived[2].load(Ordering::Relaxed),
        counted.refused.load(Ordering::Relaxed)
    );
    println!("  \"failure\": {:?}, \"marks\": [", outcome.failure.unwrap_or_default());
    let marks = marks.into_inner().expect("no panic");
    let rows = marks.iter().map(|(name, at_s, (cpu_s, mib), counts)| {
        format!(
            "    {{\"name\": \"{name}\", \"at_s\": {at_s:.3}, \"cpu_s\": {cpu_s:.2}, \"peak_mib\": {mib}, \"messages_in\": {}, \
             \"bytes_in\": {}, \"messages_out\": {}, \"bytes_out\": {}}}",
            counts[0], counts[1], counts[2], counts[3]
        )
    });
    println!("{}\n  ]}}", rows.collect::<Vec<_>>().join(",\n"));
    fs::remove_dir_all(folder.path()).expect("it is ours");
}
