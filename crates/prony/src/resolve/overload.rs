//! What is meant by `prony overload`.

use std::time::Duration;

use prony_model::{Backoff, Rate, RetryOn, RetryPlan, RunPlan, StatusSet};
use prony_study::{LiveOverload, part_length};

use super::outputs::outputs;
use super::{fewer_connections, plan as run_plan, repeated_work};
use crate::args::{CapacityFormat, Clients, LoadArgs, OverloadArgs, RunArgs};
use crate::cli_error::CliError;
use crate::output::Destination;

/// The pulse, as a multiple of the capacity.
const TIMES: f64 = 2.0;
/// Length of the pulse, and of the load before it.
const PULSE: Duration = Duration::from_secs(10);
/// Length of the load after the pulse, in pulses: what is still down then is metastable.
const AFTER_PULSES: u32 = 10;
/// A shorter pulse fills no queue, a longer one is a mistake.
const LEAST_PULSE: Duration = Duration::from_millis(500);
const PULSE_MAX: Duration = Duration::from_mins(10);
/// What a response may take.
const SLO: Duration = Duration::from_secs(1);
/// What common clients do.
const RETRIES: u32 = 3;
/// Connections, unless so many or so few can't be needed.
const CONNECTIONS: std::ops::RangeInclusive<f64> = 1_000.0..=10_000.0;

/// An overload, and what to do with its result.
#[derive(Debug)]
pub(crate) struct ResolvedArgs {
    pub(crate) live: Box<LiveOverload>,
    /// What the user should know before the load.
    pub(crate) note: Option<String>,
    /// Whether runs are compared with what is known of this machine.
    pub(crate) calibrated: bool,
    pub(crate) format: CapacityFormat,
    pub(crate) destination: Option<Destination>,
    pub(crate) quiet: bool,
}

/// What `args` mean. `seed` stands in for one that was not typed.
pub(crate) fn resolve(args: &OverloadArgs, seed: u64) -> Result<ResolvedArgs, CliError> {
    let Some(base) = args.rate else {
        return Err(CliError::usage("an overload needs a rate that the server carries")
            .hint("name it: --rate 500")
            .hint("or find it: prony capacity URL --slo 'response.p99 < 50ms'"));
    };
    let clients = clients(args)?;
    let pulse = pulse(args, base)?;
    let pulse_length = args.pulse.unwrap_or(PULSE);
    if !(LEAST_PULSE..=PULSE_MAX).contains(&pulse_length) {
        return Err(
            CliError::usage("--pulse must be 500ms to 10m").hint("10s fills most queues: --pulse 10s")
        );
    }
    let lengths = [("--before", args.before), ("--after", args.after)];
    if let Some((flag, _)) =
        lengths.into_iter().find(|(_, length)| length.is_some_and(|length| length < LEAST_PULSE))
    {
        return Err(CliError::usage(format!("{flag} must be 500ms at least")).hint("leave it out"));
    }
    let attempt = args.http.retries.attempt_timeout.or(args.slo).unwrap_or(SLO);
    let (mut plan, timeout) = plan(args, pulse, attempt, seed)?;
    let note = repeated_work(&plan);
    let policy = plan.retries.take();
    plan.timeouts.request = attempt;
    let live = LiveOverload {
        plan,
        plain: clients != Clients::Retrying,
        retrying: policy.filter(|_| clients != Clients::Plain).map(|policy| (policy, timeout)),
        base,
        pulse,
        capacity_per_s: args.capacity.map(Rate::as_per_second),
        before: args.before.unwrap_or(PULSE),
        pulse_length,
        after: args.after.unwrap_or(pulse_length * AFTER_PULSES),
        good_within: args.slo.unwrap_or(attempt),
        part: part_length(base.as_per_second(), pulse_length).map_err(CliError::from)?,
    };
    live.check().map_err(CliError::from)?;
    let (format, file) = outputs(args.json.as_deref(), "--output", args.output)?;
    let destination = file.map(|path| Destination::prepare("--json", path, args.force)).transpose()?;
    let note = note.filter(|_| live.retrying.is_some());
    let (live, calibrated) = (Box::new(live), !args.no_calibration);
    Ok(ResolvedArgs { live, note, calibrated, format, destination, quiet: args.quiet })
}

/// Whose load: `--retries 0` is another way to ask for clients without retries.
fn clients(args: &OverloadArgs) -> Result<Clients, CliError> {
    match (args.clients, args.http.retries.retries) {
        (Some(Clients::Retrying | Clients::Both), Some(0)) => {
            Err(CliError::usage("--retries 0 leaves no clients that retry")
                .hint("leave out --clients, or ask for retries: --retries 3"))
        }
        (_, Some(0)) => Ok(Clients::Plain),
        (clients, _) => Ok(clients.unwrap_or_default()),
    }
}

/// The rate of the pulse.
fn pulse(args: &OverloadArgs, base: Rate) -> Result<Rate, CliError> {
    let times = args.times.unwrap_or(TIMES);
    let of = args.capacity.unwrap_or(base).as_per_second();
    let usage = || CliError::usage("--times must be a factor above 0").hint("twice is usual: --times 2");
    if !(times.is_finite() && times > 0.0) {
        return Err(usage());
    }
    Rate::per_second(of * times).ok_or_else(usage)
}

/// The plan of a run with retries, but for its stages, and the timeout of a request with all its attempts.
fn plan(
    args: &OverloadArgs,
    pulse: Rate,
    attempt: Duration,
    seed: u64,
) -> Result<(RunPlan, Duration), CliError> {
    let retries = args.http.retries.retries.filter(|retries| *retries > 0).unwrap_or(RETRIES);
    let backoff = args.http.retries.retry_backoff.unwrap_or_default();
    let timeout = args.http.request.timeout.unwrap_or_else(|| whole_timeout(retries, attempt, backoff));
    if timeout < attempt {
        return Err(CliError::usage(
            "--timeout is for a request with its retries, and less than one attempt has",
        )
        .hint("leave it out, or shorten the attempts: --attempt-timeout 500ms"));
    }
    let mut http = args.http.clone();
    http.request.timeout = Some(timeout);
    let typed = &mut http.retries;
    typed.retries = Some(retries);
    typed.attempt_timeout = Some(attempt);
    typed.retry_on.get_or_insert_with(common_failures);
    let attempts = f64::from(retries.min(RetryPlan::RETRIES_MAX)) + 1.0;
    let under_way = pulse.as_per_second() * attempt.as_secs_f64() * attempts;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let needed = under_way.clamp(*CONNECTIONS.start(), *CONNECTIONS.end()) as u32;
    let allowed = fewer_connections(args.pace.threads).map_or(needed, |allowed| needed.min(allowed));
    let run = RunArgs {
        url: Some(args.url.clone()),
        connections: Some(args.connections.unwrap_or(allowed)),
        load: LoadArgs { rate: Some(pulse), pace: args.pace },
        http,
        ..RunArgs::default()
    };
    Ok((run_plan(&run, None, None, seed)?, timeout))
}

/// As long as all attempts and the waits between them can take.
fn whole_timeout(retries: u32, attempt: Duration, backoff: Backoff) -> Duration {
    attempt.saturating_mul(retries.saturating_add(1)).saturating_add(backoff.max.saturating_mul(retries))
}

fn common_failures() -> RetryOn {
    RetryOn { connect: true, reset: true, timeout: true, statuses: StatusSet(vec![(500, 599)]) }
}

#[cfg(test)]
mod tests {
    use prony_model::{Arrivals, Load};

    use super::*;
    use crate::args::PaceArgs;

    fn args(rate: f64) -> OverloadArgs {
        OverloadArgs {
            url: "http://127.0.0.1:3000/".to_owned(),
            rate: Rate::per_second(rate),
            ..OverloadArgs::default()
        }
    }

    fn live(args: &OverloadArgs) -> LiveOverload {
        *resolve(args, 7).expect("an overload").live
    }

    fn refused(args: &OverloadArgs, expected: &str) {
        let text = resolve(args, 7).expect_err("it can't be done").text();
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn the_pulse_is_a_multiple_of_the_capacity_or_of_the_rate() {
        let pulse = |args: OverloadArgs| Some(live(&args).pulse);
        assert_eq!(pulse(args(100.0)), Rate::per_second(200.0));
        assert_eq!(pulse(OverloadArgs { times: Some(3.0), ..args(100.0) }), Rate::per_second(300.0));
        let capacity = Rate::per_second(150.0);
        assert_eq!(pulse(OverloadArgs { capacity, ..args(100.0) }), Rate::per_second(300.0));
        assert_eq!(
            pulse(OverloadArgs { capacity, times: Some(1.5), ..args(100.0) }),
            Rate::per_second(225.0)
        );
    }

    #[test]
    fn clients_wait_for_an_attempt_as_long_as_a_good_response_may_take() {
        let plain = live(&args(100.0));
        assert_eq!((plain.good_within, plain.plan.timeouts.request), (SLO, SLO));
        assert!(plain.plain && plain.plan.retries.is_none());
        let (policy, timeout) = plain.retrying.expect("both");
        assert_eq!((policy.retries, policy.attempt_timeout), (3, SLO));
        // Four attempts of a second, three waits of up to two.
        assert_eq!(timeout, Duration::from_secs(10));
        let slo = Some(Duration::from_millis(200));
        let fast = live(&OverloadArgs { slo, ..args(100.0) });
        assert_eq!(fast.plan.timeouts.request, Duration::from_millis(200));
        assert_eq!(fast.after, Duration::from_secs(100));
    }

    #[test]
    fn arrivals_are_those_of_many_users_where_that_is_asked_for() {
        let arrivals = |pace: PaceArgs| match live(&OverloadArgs { pace, ..args(100.0) }).plan.load {
            Load::Open { arrivals, .. } => arrivals,
            load @ Load::Closed { .. } => panic!("{load:?}"),
        };
        assert_eq!(arrivals(PaceArgs::default()), Arrivals::Constant);
        assert_eq!(arrivals(PaceArgs { poisson: true, ..PaceArgs::default() }), Arrivals::Poisson);
        let bursty = Arrivals::parse("bursty:5x,50ms").ok();
        assert_eq!(Some(arrivals(PaceArgs { arrivals: bursty, ..PaceArgs::default() })), bursty);
    }

    #[test]
    fn clients_are_chosen() {
        let of = |clients, retries| {
            let mut typed = OverloadArgs { clients, ..args(100.0) };
            typed.http.retries.retries = retries;
            resolve(&typed, 7).map(|resolved| (resolved.live.plain, resolved.live.retrying.is_some()))
        };
        assert_eq!(of(None, None).ok(), Some((true, true)));
        assert_eq!(of(None, Some(0)).ok(), Some((true, false)));
        assert_eq!(of(Some(Clients::Plain), Some(2)).ok(), Some((true, false)));
        assert_eq!(of(Some(Clients::Retrying), None).ok(), Some((false, true)));
        assert!(of(Some(Clients::Retrying), Some(0)).is_err());
    }

    #[test]
    fn contradictions() {
        let length = |seconds| Some(Duration::from_secs(seconds));
        refused(&OverloadArgs { rate: None, ..args(1.0) }, "needs a rate that the server carries");
        refused(&OverloadArgs { times: Some(0.0), ..args(100.0) }, "--times must be a factor");
        refused(&OverloadArgs { times: Some(f64::NAN), ..args(100.0) }, "--times must be a factor");
        refused(&OverloadArgs { times: Some(1.0), ..args(100.0) }, "is no higher than the base");
        let capacity = Rate::per_second(50.0);
        refused(&OverloadArgs { capacity, ..args(100.0) }, "is no higher than the base");
        refused(&OverloadArgs { pulse: length(3600), ..args(100.0) }, "--pulse must be");
        refused(&OverloadArgs { after: length(0), ..args(100.0) }, "--after must be");
        refused(&args(1.0), "a pulse takes");
        refused(&OverloadArgs { pulse: length(600), ..args(1e5) }, "shorten it");
        let mut typed = args(100.0);
        typed.http.request.timeout = Some(Duration::from_millis(1));
        refused(&typed, "--timeout is for a request with its retries");
        refused(&OverloadArgs { url: "ftp://x/".to_owned(), ..args(100.0) }, "ftp");
    }
}
