//! `/agents`: who runs builds. For now it is this lab's own worker.

use askama::Template;
use axum::extract::State;
use axum::response::Html;

use super::{Frame, conditions, format};
use crate::http::{Principal, WebError};
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_model::{Build, BuildState};
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
    };
    Ok(Html(page.render()?))
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
