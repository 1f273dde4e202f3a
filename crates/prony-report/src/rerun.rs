//! The command that repeats a run, from its plan.

use std::time::Duration;

use prony_model::{
    Arrivals, BodyCheck, DriverChoice, End, KernelClock, Load, RetryPlan, RunPlan, Stages, StatusSet, Target,
    Timeouts, TlsVersions, Version, is_secret_header, parse_percent,
};

/// The command, and what a result does not store of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rerun {
    /// The words of the command line, the program first.
    pub words: Vec<String>,
    /// What is missing from it, a sentence each.
    pub missing: Vec<String>,
}

impl Rerun {
    /// The command as a shell reads it.
    pub fn shell(&self) -> String {
        self.words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    fn flag(&mut self, flag: &str, value: impl Into<String>) {
        self.words.extend([flag.to_owned(), value.into()]);
    }

    fn switch(&mut self, flag: &str, is_on: bool) {
        if is_on {
            self.words.push(flag.to_owned());
        }
    }

    fn missing(&mut self, what: &str) {
        self.missing.push(what.to_owned());
    }
}

/// The command for `plan`, with the same seed. Secrets and bodies are not part of it.
pub fn rerun(plan: &RunPlan) -> Rerun {
    let mut rerun = Rerun { words: vec!["prony".to_owned()], missing: Vec::new() };
    command(&mut rerun, plan);
    rerun.flag("--connections", plan.load.connections().to_string());
    load(&mut rerun, plan);
    if plan.threads != 1 {
        rerun.flag("--threads", plan.threads.to_string());
    }
    request(&mut rerun, plan);
    route(&mut rerun, &plan.target);
    rerun.words.extend(plan.sources.iter().flat_map(|source| ["--source".to_owned(), source.to_string()]));
    self::timeouts(&mut rerun, plan.timeouts);
    checks(&mut rerun, plan);
    if let Some(retries) = &plan.retries {
        self::retries(&mut rerun, retries, plan.timeouts.request);
    }
    if let Some(trace) = &plan.trace {
        rerun.switch("--trace", true);
        rerun.flag("--trace-share", percent(trace.share));
        if let Some(url) = &trace.url {
            rerun.flag("--trace-url", url);
        }
    }
    match plan.driver {
        DriverChoice::Auto => {}
        DriverChoice::Epoll => rerun.flag("--driver", "epoll"),
        DriverChoice::IoUring => rerun.flag("--driver", "io_uring"),
    }
    if plan.kernel_clock == KernelClock::Off {
        rerun.flag("--kernel-clock", "off");
    }
    rerun.flag("--seed", plan.seed.to_string());
    rerun
}

/// The command and what it loads.
fn command(rerun: &mut Rerun, plan: &RunPlan) {
    if plan.replay.is_some() {
        let file = plan.recorded.as_ref().map_or("FILE", |recorded| recorded.file.as_str());
        rerun.words.extend(["replay".to_owned(), file.to_owned()]);
        rerun.flag("--to", &plan.target.url);
        rerun.missing("What was selected from the file is not stored: add the same --since, --until, --for, --methods and --host.");
        return;
    }
    rerun.words.push("run".to_owned());
    match &plan.scenario {
        Some(scenario) => {
            rerun.words.push(scenario.name.clone());
            rerun.flag("--base", &plan.target.url);
            rerun.missing("It needs the file of the scenario.");
        }
        None => rerun.words.push(plan.target.url.clone()),
    }
}

fn load(rerun: &mut Rerun, plan: &RunPlan) {
    if let Some(replay) = &plan.replay {
        if (replay.speed - 1.0).abs() > f64::EPSILON {
            rerun.flag("--speed", replay.speed.to_string());
        }
        return;
    }
    match (plan.load, &plan.recorded) {
        (_, Some(recorded)) => rerun.flag("--arrivals-file", &recorded.file),
        (Load::Closed { .. }, None) => {}
        (Load::Open { rate_per_s, arrivals, .. }, None) => {
            match &plan.stages {
                Some(stages) => rerun.flag("--stages", self::stages(stages)),
                None => rerun.flag("--rate", rate_per_s.as_per_second().to_string()),
            }
            match arrivals {
                Arrivals::Constant | Arrivals::Recorded => {}
                Arrivals::Poisson => rerun.flag("--arrivals", "poisson"),
                Arrivals::Bursty { factor, mean } => {
                    rerun.flag("--arrivals", format!("bursty:{factor}x,{}", time(mean)));
                }
            }
        }
    }
    if plan.stages.is_none() && plan.recorded.is_none() {
        match plan.end {
            End::Duration(duration) => rerun.flag("--duration", time(duration)),
            End::Requests(requests) => rerun.flag("--requests", requests.to_string()),
            End::First { duration, requests } => {
                rerun.flag("--duration", time(duration));
                rerun.missing.push(format!("It would also have ended after {requests} requests."));
            }
        }
    }
    if plan.recorded.is_none() {
        rerun.flag("--warmup", time(plan.warmup));
    }
}

/// As `--stages` reads them.
fn stages(stages: &Stages) -> String {
    let each = stages.0.iter().map(|stage| {
        let name = stage.name.as_ref().map_or_else(String::new, |name| format!("{name}="));
        let rate = if stage.is_steady() {
            stage.from_per_s.to_string()
        } else {
            format!("{}..{}", stage.from_per_s, stage.to_per_s)
        };
        format!("{name}{rate}/s:{}", time(stage.duration))
    });
    each.collect::<Vec<_>>().join(",")
}

fn request(rerun: &mut Rerun, plan: &RunPlan) {
    let request = &plan.request;
    let has_body = !request.body.bytes.is_empty();
    if plan.scenario.is_none() {
        if request.method != if has_body { "POST" } else { "GET" } {
            rerun.flag("--method", &request.method);
        }
        for (name, value) in &request.headers {
            let is_secret = is_secret_header(name);
            rerun.flag("--header", format!("{name}: {}", if is_secret { "[redacted]" } else { value }));
            if is_secret {
                rerun.missing.push(format!("The value of {name} is not stored."));
            }
        }
        if has_body {
            rerun.flag("--body-file", "BODY");
            rerun.missing.push(format!(
                "BODY is a file with the request's body of {} bytes.",
                request.body.bytes.len()
            ));
        }
        if request.verbatim {
            rerun.missing("These were all headers, as of a curl command (--curl).");
        }
    }
    rerun.switch("--no-keepalive", !request.keep_alive);
    match request.version {
        Version::Http10 => rerun.switch("--http1.0", true),
        Version::Http11 => {}
        Version::Http2 if plan.target.tls.is_some() => rerun.switch("--http2", true),
        Version::Http2 => rerun.switch("--http2-prior-knowledge", true),
    }
    if request.pipeline > 1 {
        rerun.flag(&format!("--{}", request.version.in_flight_setting()), request.pipeline.to_string());
    }
    rerun.switch("--events", plan.events);
}

/// Ways to the server that its URL does not name.
fn route(rerun: &mut Rerun, target: &Target) {
    if let Some(path) = &target.unix {
        rerun.flag("--unix", path.display().to_string());
    }
    if !target.connect_to.is_empty() {
        let addresses: Vec<String> = target.connect_to.iter().map(ToString::to_string).collect();
        rerun.flag("--connect-to", addresses.join(","));
    }
    if let Some(proxy) = &target.proxy {
        rerun.missing.push(format!("It went through the proxy {proxy}."));
    }
    let Some(tls) = &target.tls else { return };
    for file in &tls.ca_files {
        rerun.flag("--cacert", file.display().to_string());
    }
    if let Some(files) = &tls.client_certificate {
        rerun.flag("--cert", files.chain.display().to_string());
        rerun.flag("--key", files.key.display().to_string());
    }
    rerun.switch("--insecure", tls.insecure);
    if let Some(name) = &tls.server_name {
        rerun.flag("--sni", name);
    }
    match tls.versions {
        TlsVersions::Any => {}
        TlsVersions::Tls12 => rerun.flag("--tls", "1.2"),
        TlsVersions::Tls13 => rerun.flag("--tls", "1.3"),
    }
    rerun.switch("--no-resumption", !tls.resumption);
}

/// Timeouts that are not the usual ones.
fn timeouts(rerun: &mut Rerun, timeouts: Timeouts) {
    let usual = Timeouts::default();
    for (flag, own, usual) in [
        ("--timeout", timeouts.request, usual.request),
        ("--connect-timeout", timeouts.connect, usual.connect),
        ("--drain", timeouts.drain, usual.drain),
    ] {
        if own != usual {
            rerun.flag(flag, time(own));
        }
    }
}

fn checks(rerun: &mut Rerun, plan: &RunPlan) {
    let checks = &plan.checks;
    // Those of recorded requests follow from the file.
    if plan.replay.is_some() {
        return;
    }
    if checks.status != StatusSet::default() {
        rerun.flag("--expect-status", statuses(&checks.status));
    }
    match &checks.body {
        None => {}
        Some(BodyCheck::Exact(text)) => rerun.flag("--expect-body", text),
        Some(BodyCheck::Regex(pattern)) => rerun.flag("--expect-body-regex", pattern),
    }
    if checks.same_length {
        rerun.flag("--expect-length", "same");
    }
}

fn retries(rerun: &mut Rerun, retries: &RetryPlan, timeout: Duration) {
    let on = &retries.on;
    let kinds = [("connect", on.connect), ("reset", on.reset), ("timeout", on.timeout)];
    let kinds = kinds.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name.to_owned());
    let statuses = (!on.statuses.0.is_empty()).then(|| statuses(&on.statuses));
    rerun.flag("--retries", retries.retries.to_string());
    rerun.flag("--retry-on", kinds.chain(statuses).collect::<Vec<_>>().join(","));
    rerun.flag("--retry-backoff", format!("{}..{}", time(retries.backoff.first), time(retries.backoff.max)));
    if let Some(budget) = retries.budget {
        rerun.flag("--retry-budget", percent(budget));
    }
    if retries.attempt_timeout != timeout {
        rerun.flag("--attempt-timeout", time(retries.attempt_timeout));
    }
}

fn statuses(set: &StatusSet) -> String {
    let range =
        |(low, high): &(u16, u16)| if low == high { low.to_string() } else { format!("{low}-{high}") };
    set.0.iter().map(range).collect::<Vec<_>>().join(",")
}

/// A length of time as flags read it: `10s`, `250ms`.
fn time(time: Duration) -> String {
    match time.as_nanos() {
        nanos if nanos.is_multiple_of(1_000_000_000) => format!("{}s", time.as_secs()),
        nanos if nanos.is_multiple_of(1_000_000) => format!("{}ms", time.as_millis()),
        _ => format!("{}s", time.as_secs_f64()),
    }
}

/// A share as flags read it, `7%`: the shortest text that means the same.
fn percent(share: f64) -> String {
    let texts = (0..=f64::DIGITS as usize).map(|decimals| format!("{:.decimals$}%", share * 100.0));
    let is_same = |text: &String| parse_percent(text).is_ok_and(|read| read.total_cmp(&share).is_eq());
    texts.into_iter().find(is_same).unwrap_or_else(|| format!("{}%", share * 100.0))
}

/// `word` so that a shell takes it as it is. What can't be seen stands as an escape, which only bash and zsh read.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=,@%+".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if word.chars().any(char::is_control) {
        let escaped: String = word
            .chars()
            .map(|character| match character {
                '\'' | '\\' => format!("\\{character}"),
                character if character.is_control() => format!("\\u{:04x}", u32::from(character)),
                character => character.to_string(),
            })
            .collect();
        return format!("$'{escaped}'");
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        let check = |word: &str, expected: &str| assert_eq!(quoted(word), expected);
        check("http://127.0.0.1:3000/a=b", "http://127.0.0.1:3000/a=b");
        check("http://host/?a=1&b=2", "'http://host/?a=1&b=2'");
        check("it's $(reboot)", r"'it'\''s $(reboot)'");
        check("", "''");
        check("a\nb'", r"$'a\u000ab\''");
    }

    #[test]
    fn shares_as_flags_read_them() {
        let all = [0.01, 0.07, 0.001, 0.29, 1.0, 0.000_123].map(percent);
        assert_eq!(all, ["1%", "7%", "0.1%", "29%", "100%", "0.0123%"]);
        let third = 1.0 / 3.0;
        assert!((parse_percent(&percent(third)).expect("a share") - third).abs() < 1e-15);
    }

    #[test]
    fn times_as_flags_read_them() {
        let all = [0, 10_000_000, 250_000_000, 90_000_000_000, 1_500].map(Duration::from_nanos).map(time);
        assert_eq!(all, ["0s", "10ms", "250ms", "90s", "0.0000015s"]);
    }
}
