//! `prony calibrate`: what this machine can do as a client, measured against a server that does nothing.

mod measure;
mod server;
mod steps;

use std::time::Duration;

use prony_engine::Control;
use prony_model::{Calibration, CalibrationNoise, CalibrationPoint, Environment, Target, since_1970};
use prony_report::age;
use prony_study::{CalibrationOptions, CalibrationStep, calibration_steps};

use self::measure::Manner;
use self::steps::{Steps, name};
use crate::args::CalibrateArgs;
use crate::calibration::{self, Place};
use crate::cli_error::CliError;
use crate::cmd::run::seed;
use crate::exit::Exit;
use crate::output::Outlet;
use crate::resolve::driver;
use crate::{clock, output, signals, terminal};

const DURATION: Duration = Duration::from_secs(2);
/// Enough answers for a median at the floor's rate.
const QUICK_DURATION: Duration = Duration::from_millis(500);
/// What a setting takes beyond its duration: warm-up, start and stop of the server.
const OVERHEAD: Duration = Duration::from_millis(350);
/// How often a setting is measured until others leave it alone.
const ATTEMPTS: u32 = 2;
/// Doubts that are listed one by one; the table marks all.
const LISTED_DOUBTS: usize = 3;

/// Measures, prints, and keeps what `args` ask for.
pub(crate) fn calibrate(args: &CalibrateArgs) -> Result<Exit, CliError> {
    let environment = prony_engine::environment();
    let json = args.json.as_deref().map(|path| Outlet::prepare("--json", path, args.force)).transpose()?;
    let place = Place::of(&environment)?;
    if args.show {
        return show(&environment, &place, json.as_ref());
    }
    place.prepare()?;
    let Session { measured, noise, is_whole } = session(args, &environment)?;
    let mut known = calibration::load(&environment).unwrap_or_else(|| Calibration::new(environment.clone()));
    known.environment = environment;
    let mut kept = 0;
    for (_, point) in &measured {
        if is_whole && (point.doubt.is_none() || args.force) {
            known.keep(point.clone());
            kept += 1;
        }
    }
    if is_whole && !noise.is_empty() {
        known.noise = noise;
    }
    if kept > 0 {
        place.keep(&known)?;
    }
    match json {
        Some(json) => json.write(known.to_json().as_bytes())?,
        None => report(&measured, kept, is_whole, &place)?,
    }
    Ok(if !is_whole {
        Exit::Interrupted
    } else if kept < measured.len() {
        Exit::Invalid
    } else {
        Exit::Good
    })
}

/// What was measured, and whether that is all.
struct Session {
    measured: Vec<(CalibrationStep, CalibrationPoint)>,
    noise: Vec<CalibrationNoise>,
    is_whole: bool,
}

/// Every setting that `args` ask for, until Ctrl-C.
fn session(args: &CalibrateArgs, environment: &Environment) -> Result<Session, CliError> {
    let target = args.target.as_deref().map(Target::parse).transpose();
    let manner = Manner {
        duration: args.duration.unwrap_or(if args.quick { QUICK_DURATION } else { DURATION }),
        driver: driver(args.driver),
        target: target?,
        cpus: environment.cpus,
        seed: seed()?,
    };
    let steps = calibration_steps(&options(args), environment.cpus);
    manner.check(&steps)?;
    let control = signals::control()?;
    let progress = Steps::new(steps.len(), manner.duration + OVERHEAD, args.quiet);
    let mut done = Vec::new();
    for step in steps {
        progress.begin(done.len(), &step);
        let Some(point) = undisturbed(&manner, &step, &control)? else {
            progress.clear();
            return Ok(Session { measured: done, noise: Vec::new(), is_whole: false });
        };
        progress.end(done.len() + 1, &step, point.rate_per_s);
        done.push((step, point));
    }
    // Of the machine, not of a setting: measured with the whole grid only.
    let noise = if is_whole_grid(args) { manner.noise(&control)? } else { Some(Vec::new()) };
    progress.clear();
    let is_whole = noise.is_some();
    Ok(Session { measured: done, noise: noise.unwrap_or_default(), is_whole })
}

/// The settings that `args` ask for.
fn options(args: &CalibrateArgs) -> CalibrationOptions {
    CalibrationOptions {
        connections: args.connections.clone(),
        threads: args.threads,
        no_keepalive: args.connection.no_keepalive,
        http10: args.connection.http10,
        pipeline: args.connection.pipeline,
        request_bytes: args.request_bytes,
        response_bytes: args.response_bytes,
        is_elsewhere: args.target.is_some(),
    }
}

/// Whether `args` ask for nothing special.
fn is_whole_grid(args: &CalibrateArgs) -> bool {
    args.connections.is_empty() && args.target.is_none() && !args.quick
}

/// Measures `step` until nothing disturbs it, but not forever; `None` if it was interrupted.
fn undisturbed(
    manner: &Manner,
    step: &CalibrationStep,
    control: &Control,
) -> Result<Option<CalibrationPoint>, CliError> {
    let mut point = manner.measure(step, control)?;
    for _ in 1..ATTEMPTS {
        if point.as_ref().is_some_and(|point| point.doubt.is_some()) {
            point = manner.measure(step, control)?;
        }
    }
    Ok(point)
}

/// The table, and what became of it.
fn report(
    measured: &[(CalibrationStep, CalibrationPoint)],
    kept: usize,
    is_whole: bool,
    place: &Place,
) -> Result<(), CliError> {
    let points: Vec<CalibrationPoint> = measured.iter().map(|(_, point)| point.clone()).collect();
    let mut doubts: Vec<String> = measured
        .iter()
        .filter_map(|(step, point)| Some(format!("{}: {}", name(step), point.doubt.as_ref()?)))
        .collect();
    let more = doubts.len().saturating_sub(LISTED_DOUBTS);
    if more > 0 {
        doubts.truncate(LISTED_DOUBTS);
        doubts.push(format!("and {more} more"));
    }
    let text = prony_report::calibration::text(&points, Some(&doubts), &terminal::style());
    let end = if !is_whole {
        "stopped by hand: nothing was kept\n".to_owned()
    } else if kept == measured.len() {
        format!("kept in {}; runs on this machine are compared with it\n", place.path().display())
    } else {
        let what = match kept {
            0 => "nothing was kept".to_owned(),
            kept => format!("the other {kept} are kept in {}", place.path().display()),
        };
        format!(
            "{what}\nthe machine was busy: stop what else runs on it and calibrate again; --force keeps it all the \
             same\n"
        )
    };
    output::print(&format!("{text}\n{end}"))
}

/// What is known of this machine.
fn show(environment: &Environment, place: &Place, json: Option<&Outlet>) -> Result<Exit, CliError> {
    let known = calibration::load(environment).ok_or_else(|| {
        CliError::usage("this machine has not been calibrated")
            .hint("`prony calibrate` does it, in under a minute")
    })?;
    if let Some(json) = json {
        json.write(known.to_json().as_bytes())?;
        return Ok(Exit::Good);
    }
    let text = prony_report::calibration::text(&known.points, None, &terminal::style());
    let now = clock::wall();
    let ago = |point: Option<&CalibrationPoint>| {
        let measured = point.and_then(|point| since_1970(&point.measured_at));
        measured.map_or_else(
            || "some time ago".to_owned(),
            |measured| age(now.saturating_sub(measured).as_secs_f64()),
        )
    };
    // They are kept in the order in which they were measured.
    let (oldest, newest) = (ago(known.points.first()), ago(known.points.last()));
    let when = if oldest == newest { newest } else { format!("{oldest} to {newest}") };
    output::print(&format!("{text}\nmeasured {when}; kept in {}\n", place.path().display()))?;
    Ok(Exit::Good)
}
