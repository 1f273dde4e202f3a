//! The command that makes a run again, from its plan.

use std::time::Duration;

use prony_model::{
    Arrivals, BodyCheck, DriverChoice, End, KernelClock, Load, RetryPlan, RunPlan, Stages, StatusSet, Target,
    Timeouts, TlsVersions, Version, is_secret_header,
};

/// The command, and what a result does not keep of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// The words of the command line, the program first.
    pub words: Vec<String>,
    /// What is missing from it, a sentence each.
    pub missing: Vec<String>,
}

impl Again {
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
pub fn again(plan: &RunPlan) -> Again {
    let mut again = Again { words: vec!["prony".to_owned()], missing: Vec::new() };
    what(&mut again, plan);
    again.flag("--connections", plan.load.connections().to_string());
    load(&mut again, plan);
    if plan.threads != 1 {
        again.flag("--threads", plan.threads.to_string());
    }
    request(&mut again, plan);
    reached(&mut again, &plan.target);
    again.words.extend(plan.sources.iter().flat_map(|source| ["--source".to_owned(), source.to_string()]));
    waits(&mut again, plan.timeouts);
    checks(&mut again, plan);
    if let Some(retries) = &plan.retries {
        self::retries(&mut again, retries, plan.timeouts.request);
    }
    if let Some(trace) = &plan.trace {
        again.switch("--trace", true);
        again.flag("--trace-share", format!("{}%", trace.share * 100.0));
        if let Some(url) = &trace.url {
            again.flag("--trace-url", url);
        }
    }
    match plan.driver {
        DriverChoice::Auto => {}
        DriverChoice::Epoll => again.flag("--driver", "epoll"),
        DriverChoice::IoUring => again.flag("--driver", "io_uring"),
    }
    if plan.kernel_clock == KernelClock::Off {
        again.flag("--kernel-clock", "off");
    }
    again.flag("--seed", plan.seed.to_string());
    again
}

/// The command and what it loads.
fn what(again: &mut Again, plan: &RunPlan) {
    if plan.replay.is_some() {
        let file = plan.recorded.as_ref().map_or("FILE", |recorded| recorded.file.as_str());
        again.words.extend(["replay".to_owned(), file.to_owned()]);
        again.flag("--to", &plan.target.url);
        again.missing("What was chosen from the file is not stored: add --since, --until, --for, --methods and --host as then.");
        return;
    }
    again.words.push("run".to_owned());
    match &plan.scenario {
        Some(scenario) => {
            again.words.push(scenario.name.clone());
            again.flag("--base", &plan.target.url);
            again.missing("It needs the file of the scenario.");
        }
        None => again.words.push(plan.target.url.clone()),
    }
}

fn load(again: &mut Again, plan: &RunPlan) {
    if let Some(replay) = &plan.replay {
        if (replay.speed - 1.0).abs() > f64::EPSILON {
            again.flag("--speed", replay.speed.to_string());
        }
        return;
    }
    match (plan.load, &plan.recorded) {
        (_, Some(recorded)) => again.flag("--arrivals-file", &recorded.file),
        (Load::Closed { .. }, None) => {}
        (Load::Open { rate_per_s, arrivals, .. }, None) => {
            match &plan.stages {
                Some(stages) => again.flag("--stages", self::stages(stages)),
                None => again.flag("--rate", rate_per_s.as_per_second().to_string()),
            }
            match arrivals {
                Arrivals::Constant | Arrivals::Recorded => {}
                Arrivals::Poisson => again.flag("--arrivals", "poisson"),
                Arrivals::Bursty { factor, mean } => {
                    again.flag("--arrivals", format!("bursty:{factor}x,{}", time(mean)));
                }
            }
        }
    }
    if plan.stages.is_none() && plan.recorded.is_none() {
        match plan.end {
            End::Duration(duration) => again.flag("--duration", time(duration)),
            End::Requests(requests) => again.flag("--requests", requests.to_string()),
            End::First { duration, requests } => {
                again.flag("--duration", time(duration));
                again.missing.push(format!("It was also to end after {requests} requests."));
            }
        }
    }
    if plan.recorded.is_none() {
        again.flag("--warmup", time(plan.warmup));
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

fn request(again: &mut Again, plan: &RunPlan) {
    let request = &plan.request;
    let has_body = !request.body.bytes.is_empty();
    if plan.scenario.is_none() {
        if request.method != if has_body { "POST" } else { "GET" } {
            again.flag("--method", &request.method);
        }
        for (name, value) in &request.headers {
            let is_secret = is_secret_header(name);
            again.flag("--header", format!("{name}: {}", if is_secret { "[redacted]" } else { value }));
            if is_secret {
                again.missing.push(format!("The value of {name} is not stored."));
            }
        }
        if has_body {
            again.flag("--body-file", "BODY");
            again.missing.push(format!(
                "BODY is a file with the request's body of {} bytes.",
                request.body.bytes.len()
            ));
        }
        if request.verbatim {
            again.missing("These were all headers, as of a curl command (--curl).");
        }
    }
    again.switch("--no-keepalive", !request.keep_alive);
    match request.version {
        Version::Http10 => again.switch("--http1.0", true),
        Version::Http11 => {}
        Version::Http2 if plan.target.tls.is_some() => again.switch("--http2", true),
        Version::Http2 => again.switch("--http2-prior-knowledge", true),
    }
    if request.pipeline > 1 {
        again.flag(&format!("--{}", request.version.in_flight_setting()), request.pipeline.to_string());
    }
    again.switch("--events", plan.events);
}

/// Ways to the server that its URL does not name.
fn reached(again: &mut Again, target: &Target) {
    if let Some(path) = &target.unix {
        again.flag("--unix", path.display().to_string());
    }
    if !target.connect_to.is_empty() {
        let addresses: Vec<String> = target.connect_to.iter().map(ToString::to_string).collect();
        again.flag("--connect-to", addresses.join(","));
    }
    if let Some(proxy) = &target.proxy {
        again.missing.push(format!("It went through the proxy {proxy}."));
    }
    let Some(tls) = &target.tls else { return };
    for file in &tls.ca_files {
        again.flag("--cacert", file.display().to_string());
    }
    if let Some(files) = &tls.client_certificate {
        again.flag("--cert", files.chain.display().to_string());
        again.flag("--key", files.key.display().to_string());
    }
    again.switch("--insecure", tls.insecure);
    if let Some(name) = &tls.server_name {
        again.flag("--sni", name);
    }
    match tls.versions {
        TlsVersions::Any => {}
        TlsVersions::Tls12 => again.flag("--tls", "1.2"),
        TlsVersions::Tls13 => again.flag("--tls", "1.3"),
    }
    again.switch("--no-resumption", !tls.resumption);
}

/// Timeouts that are not the usual ones.
fn waits(again: &mut Again, timeouts: Timeouts) {
    let usual = Timeouts::default();
    for (flag, own, usual) in [
        ("--timeout", timeouts.request, usual.request),
        ("--connect-timeout", timeouts.connect, usual.connect),
        ("--drain", timeouts.drain, usual.drain),
    ] {
        if own != usual {
            again.flag(flag, time(own));
        }
    }
}

fn checks(again: &mut Again, plan: &RunPlan) {
    let checks = &plan.checks;
    // Those of recorded requests follow from the file.
    if plan.replay.is_some() {
        return;
    }
    if checks.status != StatusSet::default() {
        again.flag("--expect-status", statuses(&checks.status));
    }
    match &checks.body {
        None => {}
        Some(BodyCheck::Exact(text)) => again.flag("--expect-body", text),
        Some(BodyCheck::Regex(pattern)) => again.flag("--expect-body-regex", pattern),
    }
    if checks.same_length {
        again.flag("--expect-length", "same");
    }
}

fn retries(again: &mut Again, retries: &RetryPlan, timeout: Duration) {
    let on = &retries.on;
    let kinds = [("connect", on.connect), ("reset", on.reset), ("timeout", on.timeout)];
    let kinds = kinds.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name.to_owned());
    let statuses = (!on.statuses.0.is_empty()).then(|| statuses(&on.statuses));
    again.flag("--retries", retries.retries.to_string());
    again.flag("--retry-on", kinds.chain(statuses).collect::<Vec<_>>().join(","));
    again.flag("--retry-backoff", format!("{}..{}", time(retries.backoff.first), time(retries.backoff.max)));
    if let Some(budget) = retries.budget {
        again.flag("--retry-budget", format!("{}%", budget * 100.0));
    }
    if retries.attempt_timeout != timeout {
        again.flag("--attempt-timeout", time(retries.attempt_timeout));
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
    fn times_as_flags_read_them() {
        let all = [0, 10_000_000, 250_000_000, 90_000_000_000, 1_500].map(Duration::from_nanos).map(time);
        assert_eq!(all, ["0s", "10ms", "250ms", "90s", "0.0000015s"]);
    }
}
