//! `/agents`: who runs builds, which is this lab's own worker, and the agents on other machines that share loads.

use std::borrow::Borrow;

use askama::Template;
use axum::extract::State;
use axum::response::{Html, Redirect};

use super::{Frame, conditions, format};
use crate::http::{Principal, WebError};
use crate::web::fields::PathParam;
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_model::{AgentClock, Agents, Build, BuildState, Role};
use prony_lab_store::builds;

/// Of the queue: whether a hundred or a thousand wait makes no difference to the reader.
const OPEN: u32 = 100;

#[derive(Template)]
#[template(path = "agents.html")]
struct Page {
    frame: Frame,
    has_worker: bool,
    busy: Option<Build>,
    waiting: usize,
    is_cut: bool,
    sandbox: Option<String>,
    /// What an operator has to know.
    conditions: Vec<String>,
    version: &'static str,
    /// Of the machine.
    facts: Vec<(&'static str, String)>,
    /// The agents on other machines.
    fleet: Agents,
}

/// Shows it.
pub(crate) async fn show(State(lab): State<Lab>, principal: Principal) -> Result<Html<String>, WebError> {
    let open = lab.store.read(|tx| builds::open(tx, OPEN)).await?;
    let waiting = open.iter().filter(|build| build.state == BuildState::Queued).count();
    let page = Page {
        frame: Frame::of(&principal).at("/agents"),
        has_worker: lab.options.has_worker,
        is_cut: open.len() == OPEN as usize,
        busy: open.into_iter().find(|build| build.state.is_active()),
        waiting,
        sandbox: lab.workplace.get().map(|text| ansi_stripper::line(text)),
        conditions: conditions(&lab),
        version: env!("CARGO_PKG_VERSION"),
        facts: facts(),
        fleet: lab.agents(),
    };
    Ok(Html(page.render()?))
}

/// Ends all loads on all agents, and has new ones refused.
pub(crate) async fn stop(State(lab): State<Lab>, principal: Principal) -> Result<Redirect, WebError> {
    principal.require(Role::Runner)?;
    lab.stop_agents(principal.actor()).await?;
    Ok(Redirect::to("/agents"))
}

/// Has agents take loads again.
pub(crate) async fn lift(State(lab): State<Lab>, principal: Principal) -> Result<Redirect, WebError> {
    principal.require(Role::Admin)?;
    lab.lift_agents(principal.actor()).await?;
    Ok(Redirect::to("/agents"))
}

/// Has an agent end what it does and take no new load.
pub(crate) async fn drain(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(name): PathParam<String>,
) -> Result<Redirect, WebError> {
    principal.require(Role::Runner)?;
    set_drained(&lab, &principal, &name, true).await
}

/// Has a drained agent take loads again.
pub(crate) async fn resume(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(name): PathParam<String>,
) -> Result<Redirect, WebError> {
    principal.require(Role::Admin)?;
    set_drained(&lab, &principal, &name, false).await
}

async fn set_drained(
    lab: &Lab,
    principal: &Principal,
    name: &str,
    is_drained: bool,
) -> Result<Redirect, WebError> {
    match lab.drain_agent(principal.actor(), name, is_drained).await? {
        Some(_) => Ok(Redirect::to("/agents#others-title")),
        None => Err(WebError::Missing(format!("agent {}", ansi_stripper::line(name)))),
    }
}

/// The state of an agent: markup.
fn state_word(state: &str) -> &'static str {
    match state {
        "idle" => "<span class=\"word good\"><span aria-hidden=\"true\">✓</span> idle</span>",
        "busy" => "<span class=\"word busy\"><span aria-hidden=\"true\">◐</span> busy</span>",
        "draining" => "<span class=\"word care\"><span aria-hidden=\"true\">△</span> about to end</span>",
        "suspect" => "<span class=\"word care\"><span aria-hidden=\"true\">△</span> not heard for 3 s</span>",
        "doubled" => "<span class=\"word bad\"><span aria-hidden=\"true\">✕</span> two have this name</span>",
        _ => "<span class=\"word bad\"><span aria-hidden=\"true\">✕</span> lost</span>",
    }
}

/// How a clock stands to that of the lab's machine, and how well that is known.
fn clock(clock: impl Borrow<Option<AgentClock>>) -> String {
    let Some(clock) = clock.borrow() else { return "–".to_owned() };
    let bound = prony_report::seconds(clock.bound_ns as f64 / 1e9);
    let sign = if clock.offset_ns < 0 { "−" } else { "+" };
    let offset = prony_report::seconds(clock.offset_ns.unsigned_abs() as f64 / 1e9);
    format!("{sign}{offset} ± {bound}")
}

/// How long ago something was.
fn silence(ms: impl Borrow<u64>) -> String {
    let ms = *ms.borrow();
    match ms / 1_000 {
        0..2 => "now".to_owned(),
        seconds @ 2..120 => format!("{seconds} s ago"),
        seconds => prony_report::age(seconds as f64),
    }
}

/// How many agents are in which state, in a line; nothing where this lab leads none.
pub(super) fn summary(fleet: &Agents) -> Option<String> {
    if !fleet.has_broker {
        return None;
    }
    let states = ["idle", "busy", "draining", "suspect", "lost", "doubled"];
    let counts = states.map(|state| (fleet.count(state), state));
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, state)| format!("{count} {state}"))
        .collect();
    let there = if counts.is_empty() { "none heard".to_owned() } else { counts.join(", ") };
    let broker = if fleet.is_connected { "" } else { "; no connection to the broker" };
    let stopped = if fleet.stopped.is_some() { "; all loads are stopped" } else { "" };
    Some(format!("{there}{broker}{stopped}"))
}

/// Facts about the machine from the kernel.
fn facts() -> Vec<(&'static str, String)> {
    let system = rustix::system::uname();
    let kernel = format!(
        "{} {} {}",
        system.sysname().to_string_lossy(),
        system.release().to_string_lossy(),
        system.machine().to_string_lossy()
    );
    let mut facts = vec![("Kernel", ansi_stripper::line(&kernel))];
    if let Ok(cores) = std::thread::available_parallelism() {
        facts.push(("Cores", cores.to_string()));
    }
    let info = rustix::system::sysinfo();
    let unit = u64::from(info.mem_unit);
    let load = info.loads[0] as f64 / 65_536.0;
    facts.push(("Memory", format::bytes(info.totalram.saturating_mul(unit))));
    facts.push(("Load", format!("{load:.2} over the last minute")));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_summed_up_in_a_line() {
        let row = |state: &str| prony_lab_model::AgentRow {
            name: state.to_owned(),
            state: state.to_owned(),
            is_drained: false,
            version: "1".to_owned(),
            is_same_version: true,
            cores: 1,
            clock: None,
            silence_ms: 0,
            spooled: 0,
            refused: 0,
        };
        let mut fleet = Agents::default();
        assert_eq!(summary(&fleet), None);
        fleet.has_broker = true;
        assert_eq!(summary(&fleet).as_deref(), Some("none heard; no connection to the broker"));
        fleet.is_connected = true;
        fleet.agents = ["idle", "lost", "idle"].map(row).into();
        assert_eq!(summary(&fleet).as_deref(), Some("2 idle, 1 lost"));
    }

    #[test]
    fn clocks_and_silences_have_units() {
        let known = AgentClock { offset_ns: -39_600, bound_ns: 288_000, age_ms: 0 };
        assert_eq!(clock(Some(known)), "−39.6 µs ± 288 µs");
        assert_eq!(clock(None), "–");
        let words = [0, 1_999, 2_000, 119_000].map(silence);
        assert_eq!(words, ["now", "now", "2 s ago", "119 s ago"]);
        assert!(silence(120_000_u64).ends_with("ago") && !silence(120_000_u64).ends_with("ago ago"));
    }
}
