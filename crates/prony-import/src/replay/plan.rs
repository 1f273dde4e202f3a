//! What is sent, and when: a recording as a scenario of one flow for each route, with the moments of its requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use prony_model::{
    Feed, FeedEnd, FeedOrder, Flow, Problem, RecordedArrivals, Replay, ReplayRows, Scenario,
    SessionConnections, Step, StepBody,
};
use rand::Rng as _;
use rand_pcg::Pcg64;

use super::har;
use super::recording::Recording;
use super::requests::Requests;
use super::route::{name, pattern};
use super::stamp::written;

/// The stream of the run's seed that moments within a second are drawn from; those of threads and sessions are others.
const STREAM: u128 = 1 << 96;
const SECOND: i64 = 1_000_000_000;
/// The pattern of routes that are too rare to be measured one by one.
const OTHERS: &str = "(other paths)";
/// Bytes of a scenario's name.
const NAME_MAX: usize = 80;

/// How a recording is replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayOptions {
    /// The file, as it was named.
    pub file: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Time in the file passes so many times as fast.
    pub speed: f64,
    /// For moments that the file does not have.
    pub seed: u64,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
}

/// A recording as a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// What the requests are.
    pub scenario: Scenario,
    /// When they are due.
    pub recorded: RecordedArrivals,
    /// Which of them is due when, and where they come from.
    pub replay: Replay,
}

impl Recording {
    /// The load that this recording is.
    ///
    /// # Errors
    /// A speed that is no positive number.
    pub fn plan(mut self, options: &ReplayOptions) -> Result<Planned, Problem> {
        if !options.speed.is_finite() || !(0.001..=1000.0).contains(&options.speed) {
            let what = format!("a speed of {} is none", options.speed);
            return Err(Problem::new(what, "use 0.001 to 1000: 2 is twice as fast").about("speed"));
        }
        let (from, to) = (self.stamps.iter().min().copied(), self.stamps.iter().max().copied());
        let made_up_moments = self.place(options.seed);
        let start = self.stamps.first().copied().unwrap_or_default();
        let Self { lines, out_of_order, jump_back, .. } = self;
        let (format, left_out, unreadable_lines) = (
            std::mem::take(&mut self.format),
            std::mem::take(&mut self.left_out),
            std::mem::take(&mut self.unreadable_lines),
        );
        let (stamps, request_of, statuses, requests) = self.into_parts();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative; the cast saturates, and a run of centuries is refused"
        )]
        let due = |stamp: i64| (stamp.saturating_sub(start) as f64 / options.speed).round() as u64;
        let recorded = RecordedArrivals::new(
            options.file.clone(),
            options.sha256.clone(),
            stamps.iter().map(|stamp| due(*stamp)).collect(),
        );
        drop(stamps);
        let routes = Routes::of(&requests, &request_of);
        let scenario = scenario(options, &routes, requests);
        let replay = Replay {
            format,
            speed: options.speed,
            from: written(from.unwrap_or_default()),
            to: written(to.unwrap_or_default()),
            lines,
            left_out,
            unreadable_lines,
            out_of_order,
            jump_back_s: jump_back as f64 / 1e9,
            made_up_moments,
            routes: routes
                .all
                .into_iter()
                .map(|route| format!("{} {}", route.method, route.pattern))
                .collect(),
            rows: Arc::new(ReplayRows { requests: request_of, statuses, flows: routes.flow_of }),
        };
        Ok(Planned { scenario, recorded, replay })
    }

    /// Puts the requests into the order of their beginnings: whole seconds are spread over their second, and what a request
    /// took is subtracted. Returns how many moments are made up.
    fn place(&mut self, seed: u64) -> u64 {
        self.sort();
        let mut random = Pcg64::new(u128::from(seed), STREAM);
        let (mut at, mut made_up) = (0, 0);
        let mut within: Vec<i64> = Vec::new();
        while at < self.len() {
            let second = self.stamps[at];
            let mut end = at + 1;
            while end < self.len() && self.stamps[end] == second {
                end += 1;
            }
            let whole: Vec<usize> = (at..end).filter(|row| self.is_whole_second(*row)).collect();
            // Uniform moments in order: those of independent users, in the order of the file.
            within.clear();
            within.extend((0..whole.len()).map(|_| below_a_second(&mut random)));
            within.sort_unstable();
            for (row, part) in whole.iter().zip(&within) {
                self.stamps[*row] = second.saturating_add(*part);
            }
            made_up += whole.len() as u64;
            at = end;
        }
        for row in 0..self.len() {
            self.stamps[row] = self.stamps[row].saturating_sub(self.took(row));
        }
        self.sort();
        made_up
    }

    /// Sorts by stamp; equal ones keep the order of the file.
    fn sort(&mut self) {
        if self.stamps.is_sorted() {
            return;
        }
        let mut order: Vec<u32> = (0..).take(self.len()).collect();
        order.sort_by_key(|row| self.stamps[*row as usize]);
        self.reorder(&order);
    }
}

/// Nanoseconds, fewer than a second of them; the bias of the remainder is below 10^-10.
fn below_a_second(random: &mut Pcg64) -> i64 {
    i64::try_from(random.next_u64() % SECOND as u64).expect("invariant: below 10^9")
}

/// A route of the replayed requests.
struct Route {
    method: String,
    pattern: String,
    /// Whether its requests have a body.
    has_body: bool,
    count: u64,
}

struct Routes {
    /// The most frequent first.
    all: Vec<Route>,
    /// By distinct request.
    flow_of: Vec<u16>,
}

impl Routes {
    fn of(requests: &Requests, request_of: &[u32]) -> Self {
        let mut counts = vec![0_u64; requests.len()];
        for request in request_of {
            counts[*request as usize] += 1;
        }
        let key = |request: usize| {
            let has_body = !requests.value(request, har::BODY).is_empty();
            (requests.method_of(request).to_owned(), pattern(requests.value(request, 0)), has_body)
        };
        let mut by_key: BTreeMap<(String, String, bool), u64> = BTreeMap::new();
        for (request, count) in counts.iter().enumerate() {
            // Requests of which a window has left nothing are none of its routes.
            if *count > 0 {
                *by_key.entry(key(request)).or_default() += count;
            }
        }
        let mut keys: Vec<_> = by_key.into_iter().collect();
        keys.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let mut all: Vec<Route> = Vec::new();
        let mut flows: BTreeMap<(String, String, bool), u16> = BTreeMap::new();
        for (at, ((method, pattern, has_body), count)) in keys.into_iter().enumerate() {
            let shown = if at < Replay::ROUTES_MAX { pattern.as_str() } else { OTHERS };
            let known = all.iter().position(|route| {
                route.method == method && route.pattern == shown && route.has_body == has_body
            });
            let flow = known.unwrap_or_else(|| {
                all.push(Route { method: method.clone(), pattern: shown.to_owned(), has_body, count: 0 });
                all.len() - 1
            });
            all[flow].count += count;
            flows.insert((method, pattern, has_body), u16::try_from(flow).unwrap_or(u16::MAX));
        }
        let flow_of =
            (0..requests.len()).map(|request| flows.get(&key(request)).copied().unwrap_or_default());
        let flow_of = flow_of.collect();
        Self { all, flow_of }
    }
}

/// The scenario whose sessions are the requests.
fn scenario(options: &ReplayOptions, routes: &Routes, requests: Requests) -> Scenario {
    let data = requests.into_rows();
    let columns: Vec<String> = har::COLUMNS[..data.columns().min(har::COLUMNS.len())]
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    let is_archive = columns.len() > 1;
    let value = |column: &str| format!("{{raw({}.{column})}}", Replay::FEED);
    let mut names: Vec<String> = Vec::new();
    let mut flows = Vec::new();
    for route in &routes.all {
        let name = name(&route.method, &route.pattern, &names);
        names.push(name.clone());
        let mut headers = options.headers.clone();
        let mut add = |header: &str, text: String| {
            if !headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(header)) {
                headers.push((header.to_owned(), text));
            }
        };
        if is_archive {
            add("Accept", value(har::COLUMNS[har::ACCEPT]));
        }
        let body = if route.has_body {
            add("Content-Type", value(har::COLUMNS[har::CONTENT_TYPE]));
            StepBody::Text(value(har::COLUMNS[har::BODY]))
        } else {
            StepBody::None
        };
        let step = Step {
            name: name.clone(),
            headers,
            body,
            ..Step::bare(&route.method, value(har::COLUMNS[har::TARGET]))
        };
        flows.push(Flow {
            name,
            weight: u32::try_from(route.count).unwrap_or(u32::MAX).clamp(1, Scenario::WEIGHT_MAX),
            pacing: std::time::Duration::ZERO,
            variables: Vec::new(),
            steps: vec![step],
        });
    }
    let feed = Feed {
        name: Replay::FEED.to_owned(),
        file: options.file.clone(),
        sha256: options.sha256.clone(),
        rows: data.len() as u64,
        columns,
        order: FeedOrder::Sequential,
        at_end: FeedEnd::Stop,
        data: Arc::new(data),
    };
    Scenario {
        name: options.file.chars().take(NAME_MAX).collect(),
        cookies: false,
        connections: SessionConnections::Shared,
        feeds: vec![feed],
        flows,
    }
}
