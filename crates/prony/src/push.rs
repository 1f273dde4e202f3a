//! Metrics while a run is on: from the flags to endpoints, and from the events of a run to their queues.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prony_model::{Evidence, Finding, FindingCode, RunEvent, RunResult, Severity, Verdict};
use prony_push::{Delivery, Endpoint, Header, HistogramForm, Labels, Protocol, Pusher};
use prony_report::clean;

use crate::args::{PushArgs, PushHistograms};
use crate::cli_error::CliError;
use crate::output;

/// A glance at a dashboard: a second.
const EVERY: Duration = Duration::from_secs(1);
/// More often costs the machine that measures more than 1 % of a core.
const EVERY_MIN: Duration = Duration::from_millis(100);
/// Most endpoints: each has a thread.
const ENDPOINTS_MAX: usize = 4;
/// How long the report waits for the final values to arrive.
const FINAL_WAIT: Duration = Duration::from_secs(5);
/// Credentials are short.
const HEADER_BYTES_MAX: u64 = 64 << 10;
/// Where a receiver listens by OpenTelemetry's defaults.
const OTLP_DEFAULT: &str = "http://127.0.0.1:4318";

/// What is to be pushed, checked.
#[derive(Debug)]
pub(crate) struct Push {
    endpoints: Vec<Endpoint>,
    labels: Labels,
    form: HistogramForm,
    every: Duration,
}

/// What `args` mean; `None` where nothing is to be pushed. `variable` is the environment.
pub(crate) fn resolve(
    args: &PushArgs,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Push>, CliError> {
    refuse_settings_of_nothing(args)?;
    if args.prometheus_rw.is_empty() && args.otlp.is_empty() {
        return Ok(None);
    }
    let count = args.prometheus_rw.len() + args.otlp.len();
    if count > ENDPOINTS_MAX {
        return Err(CliError::usage(format!(
            "metrics can go to {ENDPOINTS_MAX} receivers, and {count} are given"
        ))
        .hint("send them to a collector that passes them on"));
    }
    let every = args.push_every.unwrap_or(EVERY);
    if every < EVERY_MIN {
        return Err(CliError::usage("--push-every is below 100 ms").hint("use --push-every 1s"));
    }
    let mut labels = Labels::default();
    for text in &args.labels {
        labels.add(text).map_err(|problem| CliError::from(problem.after("--label: ")))?;
    }
    let from_file = args.push_headers.as_deref().map(header_file).transpose()?.unwrap_or_default();
    let mut endpoints = Vec::with_capacity(count);
    for url in &args.prometheus_rw {
        let endpoint = Endpoint::new(Protocol::RemoteWrite, url, from_file.clone());
        endpoints.push(endpoint.map_err(|problem| CliError::from(problem.after("--prometheus-rw: ")))?);
    }
    for url in &args.otlp {
        let mut headers = otlp_headers(&variable)?;
        headers.extend(from_file.iter().cloned());
        let url = if url == "env" { otlp_url(&variable) } else { url.clone() };
        let endpoint = Endpoint::new(Protocol::Otlp, &url, headers);
        endpoints.push(endpoint.map_err(|problem| CliError::from(problem.after("--otlp: ")))?);
    }
    let form = match args.push_histograms {
        None | Some(PushHistograms::Native) => HistogramForm::Native,
        Some(PushHistograms::Classic) => HistogramForm::Classic,
    };
    Ok(Some(Push { endpoints, labels, form, every }))
}

/// Settings without a receiver are a receiver that was forgotten.
fn refuse_settings_of_nothing(args: &PushArgs) -> Result<(), CliError> {
    let settings = [
        (args.push_every.is_some(), "--push-every"),
        (args.push_headers.is_some(), "--push-headers"),
        (args.push_histograms.is_some(), "--push-histograms"),
        (!args.labels.is_empty(), "--label"),
    ];
    match settings.iter().find(|(given, _)| *given) {
        Some((_, flag)) if args.prometheus_rw.is_empty() && args.otlp.is_empty() => {
            Err(CliError::usage(format!("{flag} has no receiver of metrics"))
                .hint("add --prometheus-rw URL or --otlp URL"))
        }
        _ => Ok(()),
    }
}

/// OpenTelemetry's variables: that for metrics is a whole URL, the common one gets the path.
fn otlp_url(variable: &impl Fn(&str) -> Option<String>) -> String {
    variable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT").unwrap_or_else(|| {
        let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT").unwrap_or_else(|| OTLP_DEFAULT.to_owned());
        format!("{}/v1/metrics", base.trim_end_matches('/'))
    })
}

fn otlp_headers(variable: &impl Fn(&str) -> Option<String>) -> Result<Vec<Header>, CliError> {
    let names = ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
    let Some((name, text)) = names.iter().find_map(|name| Some((name, variable(name)?))) else {
        return Ok(Vec::new());
    };
    Header::pairs(&text).map_err(|problem| problem.after(&format!("{name}: ")).into())
}

fn header_file(path: &Path) -> Result<Vec<Header>, CliError> {
    let shown = path.display();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(HEADER_BYTES_MAX + 1).read_to_string(&mut text));
    match read {
        Err(error) => Err(CliError::usage(format!("--push-headers: {shown} can't be read ({error})"))),
        Ok(bytes) if bytes as u64 > HEADER_BYTES_MAX => {
            Err(CliError::usage(format!("--push-headers: {shown} is larger than 64 KiB"))
                .hint("it has one header a line: NAME: VALUE"))
        }
        Ok(_) => Header::lines(&text).map_err(|problem| problem.after(&format!("{shown}, ")).into()),
    }
}

/// Pushes that are on.
pub(crate) struct Pushing {
    pushers: Vec<Pusher>,
    every: Duration,
    /// Of the measured part, when the next result is due.
    next: Duration,
}

impl Pushing {
    /// Starts a thread for each endpoint.
    pub(crate) fn start(push: Push) -> Result<Self, CliError> {
        let Push { endpoints, labels, form, every } = push;
        let pushers = endpoints.into_iter().map(|endpoint| Pusher::start(endpoint, labels.clone(), form));
        let pushers = pushers.collect::<Result<Vec<_>, _>>();
        let pushers =
            pushers.map_err(|error| CliError::internal(format!("can't start a thread ({error})")))?;
        Ok(Self { pushers, every, next: every })
    }

    /// How often a result so far is needed.
    pub(crate) fn every(&self) -> Duration {
        self.every
    }

    /// Queues `event`, if it is a result that is due. Returns what the user should know now.
    pub(crate) fn update(&mut self, event: &RunEvent) -> Option<String> {
        if let RunEvent::SoFar(result) = event {
            let measured = Duration::try_from_secs_f64(result.timing.measured_s).unwrap_or_default();
            // Results come a little early or late.
            if measured + self.every / 4 >= self.next {
                self.next = measured + self.every;
                let result = Arc::new((**result).clone());
                for pusher in &self.pushers {
                    pusher.push(Arc::clone(&result));
                }
            }
        }
        self.pushers.iter().find_map(Pusher::take_warning)
    }

    /// Pushes the final values and notes in `result` what did not arrive.
    pub(crate) fn finish(self, result: &mut RunResult) {
        let last = Arc::new(result.clone());
        let finishing: Vec<_> = self
            .pushers
            .into_iter()
            .map(|pusher| {
                let last = Arc::clone(&last);
                std::thread::spawn(move || pusher.finish(last, FINAL_WAIT))
            })
            .collect();
        let deliveries = finishing.into_iter().map(|one| one.join().expect("invariant: it doesn't panic"));
        result.findings.extend(deliveries.filter_map(|delivery| finding(&delivery)));
        result.findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
        result.verdict = Verdict::from_findings(&result.findings);
    }
}

/// Writes a warning while the run is on.
pub(crate) fn warn(warning: &str) {
    output::write_stderr(&format!("warning: {}\n", clean(warning)));
}

/// What did not arrive, if anything.
fn finding(delivery: &Delivery) -> Option<Finding> {
    let lost = delivery.failed + delivery.dropped;
    if lost == 0 {
        return None;
    }
    let why = delivery.last_failure.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
    let end = if delivery.is_complete {
        "the final values did, with all counts"
    } else {
        "nor did the final values: the totals there are too low"
    };
    Some(Finding {
        code: FindingCode::MetricsNotPushed,
        severity: Severity::Note,
        evidence: vec![
            Evidence::new("arrived", delivery.arrived as f64, "count"),
            Evidence::new("failed", delivery.failed as f64, "count"),
            Evidence::new("dropped", delivery.dropped as f64, "count"),
        ],
        message: format!(
            "{lost} of {} pushes of metrics by {} to {} did not arrive{why}; {end}",
            lost + delivery.arrived,
            delivery.protocol.name(),
            delivery.endpoint,
        ),
        advice: "the report has everything; check the receiver, or push less often: --push-every 5s"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(args: &PushArgs, variables: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let resolved = resolve(args, variable).map_err(|error| error.in_a_line())?;
        Ok(resolved.into_iter().flat_map(|push| push.endpoints).map(|one| one.shown().to_owned()).collect())
    }

    fn otlp(url: &str) -> PushArgs {
        PushArgs { otlp: vec![url.to_owned()], ..PushArgs::default() }
    }

    #[test]
    fn the_environment_is_opentelemetrys() {
        let resolved = |variables: &[(&str, &str)]| check(&otlp("env"), variables).expect("endpoints");
        assert_eq!(resolved(&[]), ["http://127.0.0.1:4318/v1/metrics"]);
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c.example/otlp/");
        assert_eq!(resolved(&[base]), ["https://c.example/otlp/v1/metrics"]);
        let own = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "https://m.example/x");
        assert_eq!(resolved(&[base, own]), ["https://m.example/x"]);
        // Without the flag, variables that are set for other programs send nothing.
        assert_eq!(check(&PushArgs::default(), &[base, own]), Ok(Vec::new()));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused =
            |args: &PushArgs, variables: &[(&str, &str)]| check(args, variables).expect_err("no sense");
        let forgotten = PushArgs { labels: vec!["a=b".to_owned()], ..PushArgs::default() };
        assert!(refused(&forgotten, &[]).starts_with("--label has no receiver of metrics"));
        let often = PushArgs { push_every: Some(Duration::from_millis(99)), ..otlp("env") };
        assert!(refused(&often, &[]).starts_with("--push-every is below 100 ms"));
        let many = PushArgs { otlp: vec!["env".to_owned(); 5], ..PushArgs::default() };
        assert!(refused(&many, &[]).contains("can go to 4 receivers, and 5 are given"));
        let why = refused(&otlp("env"), &[("OTEL_EXPORTER_OTLP_HEADERS", "Bearer geheim")]);
        assert!(
            why.starts_with("OTEL_EXPORTER_OTLP_HEADERS: a header has no `=`") && !why.contains("geheim")
        );
        assert!(refused(&otlp("localhost:4318"), &[]).starts_with("--otlp: that is no address"));
        let label = PushArgs { labels: vec!["run=1".to_owned()], ..otlp("env") };
        assert!(refused(&label, &[]).starts_with("--label: the label `run` is Prony's own"));
        let file = PushArgs { push_headers: Some("/nowhere/at/all".into()), ..otlp("env") };
        assert!(refused(&file, &[]).starts_with("--push-headers: /nowhere/at/all can't be read"));
    }

    #[test]
    fn what_did_not_arrive_is_a_note() {
        let delivery = Delivery {
            endpoint: "http://h/v1/metrics".to_owned(),
            protocol: Protocol::Otlp,
            arrived: 9,
            failed: 2,
            dropped: 1,
            last_failure: Some("503 Service Unavailable".to_owned()),
            is_complete: true,
        };
        let found = finding(&delivery).expect("a finding");
        assert_eq!(found.severity, Severity::Note);
        assert_eq!(
            found.message,
            "3 of 12 pushes of metrics by OTLP to http://h/v1/metrics did not arrive (503 Service Unavailable); the \
             final values did, with all counts"
        );
        assert_eq!(finding(&Delivery { failed: 0, dropped: 0, ..delivery }), None);
    }
}
