//! `prony demo`: one server that does one thing at a time and one that overlaps its waiting, under the same load.

use std::time::Duration;

use prony_engine::Control;
use prony_model::{End, Load, RequestPlan, RunPlan, RunResult, Target};
use prony_report::{rate, seconds};
use prony_targets::rudy;

use crate::args::DemoArgs;
use crate::cli_error::CliError;
use crate::cmd::{run::seed, serve};
use crate::exit::Exit;
use crate::progress::ProgressLine;
use crate::{calibration, output, signals, terminal};

/// What Rudy sleeps in each reply.
const DELAY: Duration = Duration::from_millis(40);
/// Enough to fill every connection's queue once: the first round of a closed loop is quicker than the rest.
const WARMUP: Duration = Duration::from_secs(1);

/// Columns before the lesson's lines.
const INDENT: usize = 2;

/// Loads both servers, prints both reports, and what they teach.
pub(crate) fn demo(args: &DemoArgs) -> Result<Exit, CliError> {
    let control = signals::control()?;
    let seed = seed()?;
    let models =
        [(rudy::Model::Sequential, "one request at a time"), (rudy::Model::Async, "all requests at once")];
    let mut results = Vec::new();
    for (number, (model, what)) in models.into_iter().enumerate() {
        let title = format!(
            "{}. Rudy takes {} for a page and serves {what}",
            number + 1,
            seconds(DELAY.as_secs_f64())
        );
        output::print(&format!("{title}\n\n"))?;
        let result = measure(model, args, seed, &control)?;
        output::print(&format!("{}\n", prony_report::text::run(&result, &terminal::style())))?;
        if result.timing.interrupted {
            return Ok(Exit::Interrupted);
        }
        results.push(result);
    }
    if let [sequential, overlapped] = results.as_slice() {
        output::print(&lesson(args.connections, sequential, overlapped))?;
    }
    Ok(results.iter().map(Exit::of_run).find(|exit| *exit != Exit::Good).unwrap_or(Exit::Good))
}

/// Starts Rudy on a free port, loads it, stops it.
fn measure(model: rudy::Model, args: &DemoArgs, seed: u64, control: &Control) -> Result<RunResult, CliError> {
    let server = rudy::start(rudy::Config { model, delay: DELAY, ..rudy::Config::default() })
        .map_err(|error| serve::cli_error(&error))?;
    let target = Target::parse(&format!("http://{}/", server.local_addr()))?;
    let load = Load::Closed { connections: args.connections };
    let plan = RunPlan {
        // The original closes after each reply, too.
        request: RequestPlan { keep_alive: false, ..RequestPlan::get() },
        warmup: WARMUP,
        ..RunPlan::new(target, load, End::Duration(args.duration), seed)
    };
    plan.check()?;
    let mut progress = ProgressLine::new(&plan, false);
    let mut result = prony_engine::run(&plan, control, &mut |event| progress.update(&event))?;
    calibration::compare(&mut result);
    Ok(result)
}

/// The one thing to remember, in the numbers of these two runs.
fn lesson(connections: u32, sequential: &RunResult, overlapped: &RunResult) -> String {
    let delay_s = DELAY.as_secs_f64();
    let mean = |result: &RunResult| {
        result.latency.response.mean_ms.map_or_else(|| "–".to_owned(), |mean_ms| seconds(mean_ms / 1e3))
    };
    let delay = seconds(delay_s);
    let paragraphs = [
        format!("Both servers need {delay} for a page, and {connections} clients asked them without a pause."),
        format!(
            "One at a time: {} /s. A page every {delay} makes {} /s at most, however many clients wait; so each \
             waited {} on average, which is {connections} clients times {delay}. That is a property of the load, \
             not of the page: with twice the clients it is twice as long.",
            rate(sequential.rate.done_per_s),
            rate(1.0 / delay_s),
            mean(sequential)
        ),
        format!(
            "All at once: {} /s. Each of {connections} clients gets a page every {delay}, which makes {} /s at \
             most, and each waited {} on average.",
            rate(overlapped.rate.done_per_s),
            rate(f64::from(connections) / delay_s),
            mean(overlapped)
        ),
        "In a closed loop the response time follows from the number of clients. To see a server at a load that \
         you choose, use --rate."
            .to_owned(),
    ];
    let columns = terminal::style().width.saturating_sub(INDENT);
    let lines = paragraphs.iter().flat_map(|paragraph| prony_report::wrap(paragraph, columns));
    std::iter::once("What this shows\n".to_owned())
        .chain(lines.map(|line| format!("{}{line}\n", " ".repeat(INDENT))))
        .collect()
}
