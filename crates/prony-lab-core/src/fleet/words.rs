//! What happens while a load is led, in lines.

use prony_fleet::controller::Event;
use prony_fleet::protocol::AgentName;
use prony_report::{count, rate, seconds};

/// An event as a line.
pub fn describe(event: &Event) -> String {
    match event {
        Event::Chosen { agents, observer } => {
            let names: Vec<&str> = agents.iter().map(AgentName::as_str).collect();
            let observer = observer.as_ref().map(|name| format!(", server measured by {name}"));
            format!("agents: {}{}", names.join(", "), observer.unwrap_or_default())
        }
        Event::Ready(name, offset) => {
            format!("{name}: clock known to ± {}", seconds(offset.bound_ns as f64 / 1e9))
        }
        Event::Starting { in_ns, .. } => format!("all start in {}", seconds(*in_ns as f64 / 1e9)),
        Event::Live(name, live) => format!(
            "{name}: {} {} · {} /s · {} errors",
            live.phase,
            seconds((live.elapsed_ms / 1_000) as f64),
            rate(live.rate_per_s),
            count(live.failed)
        ),
        Event::Suspect(name) => format!("{name}: not heard for 3 s"),
        Event::Back(name) => format!("{name}: heard again"),
        Event::Result(name) => format!("{name}: result is here"),
        Event::ObserverLost(why) => format!("{why}; the run goes on without figures of the server"),
        Event::GivenUp(why) => format!("given up: {why}"),
        Event::Connection(what) => what.clone(),
    }
}
