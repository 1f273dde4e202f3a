//! Whether agents measured the same. Where they did not, times depend on the client, and those of all together describe the
//! mixture of clients more than the server.

use prony_model::words::{milliseconds, percent};
use prony_model::{Evidence, Finding, FindingCode, FleetAgent, Severity};
use prony_stats::{BATCHES, Farthest, Histogram, farthest};

use super::pieces::{Grid, Pieces};

/// The quantiles of service time that are compared, and how many values a tenth of the run needs of each agent: ten beyond
/// the quantile.
const COMPARED: [(&str, f64, u64); 2] = [("p50", 0.5, 20), ("p99", 0.99, 1_000)];
/// An agent is unlike the others where that would be chance once in so many runs, over both quantiles (Bonferroni);
const P_MAX: f64 = 0.05 / COMPARED.len() as f64;
/// and where it is off by more than this share: less does not change what a report says;
const SHARE_MIN: f64 = 0.1;
/// and by more than this: two machines of one rack differ by less.
const DIFFERENCE_MIN_NS: f64 = 50_000.0;

/// The compared quantiles of one agent by part of the time, nanoseconds.
pub(super) type Batches = Vec<Option<Vec<f64>>>;

/// Those of the agent with these `pieces`.
pub(super) fn batches(pieces: &Pieces, grid: Grid, scratch: &mut Histogram) -> Batches {
    pieces.by_batch(grid, &COMPARED.map(|(_, q, least)| (q, least)), scratch)
}

/// The agent that is unlike the others, if there is one. `batches` are those of `agents`, in their order.
pub(super) fn agents_disagree(
    agents: &[FleetAgent],
    batches: &[Option<Batches>],
    seed: u64,
) -> Option<Finding> {
    let known = || agents.iter().zip(batches).filter_map(|(agent, found)| Some((agent, found.as_ref()?)));
    let names: Vec<&str> = known().map(|(agent, _)| agent.name.as_str()).collect();
    let found = COMPARED.iter().enumerate().filter_map(|(at, &(label, ..))| {
        let agents: Vec<&Vec<f64>> = known().map(|(_, found)| found[at].as_ref()).collect::<Option<_>>()?;
        let batch = |number: usize| agents.iter().map(|values| values[number]).collect();
        let seen: Vec<Vec<f64>> = (0..BATCHES).map(batch).collect();
        Some(Compared { label, found: different(&seen, seed)?, seen })
    });
    let worst =
        found.max_by(|one, other| one.found.difference.abs().total_cmp(&other.found.difference.abs()))?;
    Some(worst.finding(&names))
}

/// A quantile in which an agent is unlike the others.
struct Compared {
    label: &'static str,
    /// By batch and agent, nanoseconds.
    seen: Vec<Vec<f64>>,
    /// On the logarithmic scale.
    found: Farthest,
}

/// The agent that is unlike the others by more than chance and by more than matters. Durations vary by factors: what is
/// compared are their logarithms.
fn different(seen: &[Vec<f64>], seed: u64) -> Option<Farthest> {
    let logarithms: Vec<Vec<f64>> =
        seen.iter().map(|batch| batch.iter().map(|nanos| nanos.max(1.0).ln()).collect()).collect();
    let found = farthest(&logarithms, seed)?;
    let (own, others) = means(seen, found.observer);
    let is_large = found.difference.abs() > SHARE_MIN.ln_1p() && (own - others).abs() > DIFFERENCE_MIN_NS;
    (found.p <= P_MAX && is_large).then_some(found)
}

/// Geometric means of one agent and of the others.
fn means(seen: &[Vec<f64>], agent: usize) -> (f64, f64) {
    let mean = |is_own: bool| {
        let values = seen.iter().flat_map(|batch| batch.iter().enumerate());
        let chosen = values.filter(|(at, _)| (*at == agent) == is_own).map(|(_, nanos)| nanos.max(1.0).ln());
        let (count, sum) = chosen.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
        (sum / f64::from(count.max(1))).exp()
    };
    (mean(true), mean(false))
}

impl Compared {
    fn finding(&self, names: &[&str]) -> Finding {
        let Farthest { observer, difference, p } = self.found;
        let name = names.get(observer).copied().unwrap_or_default();
        let (own, others) = means(&self.seen, observer);
        let (own_ms, others_ms) = (own / 1e6, others / 1e6);
        let share = difference.exp_m1();
        let others_are = if names.len() == 2 { "the other has" } else { "the others have" };
        Finding {
            code: FindingCode::AgentsDisagree,
            severity: Severity::Warning,
            evidence: vec![
                Evidence::new("agent_service", own_ms, "ms"),
                Evidence::new("others_service", others_ms, "ms"),
                Evidence::new("difference", share, "share"),
                Evidence::new("p", p, "share"),
            ],
            message: format!(
                "service time depends on the client: its {} on agent {name} is {}, {others_are} {} ({}{}); quantiles of \
                 all agents together are withheld",
                self.label,
                milliseconds(own_ms),
                milliseconds(others_ms),
                if share > 0.0 { "+" } else { "" },
                percent(share),
            ),
            advice: "read the agents one by one below; look at what their machines and ways to the server have that \
                     others don't, or leave the one out that differs"
                .to_owned(),
        }
    }
}
