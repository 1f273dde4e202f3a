//! How cells and loads are called: for people, and for files.

use std::collections::BTreeSet;

use prony_model::words::{length, percent, plural, times};
use prony_model::{Arrivals, End, ExecPlan, Load, ProbePlan, RequestPlan, RunPlan, Version};

use super::matrix::{CHOOSING, Matrix, Point};
use crate::capacity::LiveCapacity;

/// Letters of a slug: with place and repeat a file name stays far below the 255 bytes that file systems take.
const SLUG_MAX: usize = 60;

/// The name of a point: its value on every axis of more than one value, or all of them where there is one point only.
pub(super) fn name(point: &Point<'_>, matrix: &Matrix<'_>) -> String {
    let joined = |all: bool| {
        let axes = matrix.axes.iter().filter(|axis| all || axis.values.len() > 1);
        let values = axes.filter_map(|axis| {
            let text = point.text(&axis.name)?;
            let bare = CHOOSING.contains(&axis.name.as_str());
            Some(if bare { text.to_owned() } else { format!("{} {text}", axis.name) })
        });
        values.collect::<Vec<_>>().join(" · ")
    };
    Some(joined(false)).filter(|name| !name.is_empty()).unwrap_or_else(|| joined(true))
}

/// `name` for a file, different from those in `taken`, which it joins.
pub(super) fn slug(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut slug = String::new();
    for character in name.chars() {
        if character.is_ascii_alphanumeric() || character == '.' && !slug.is_empty() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
        if slug.len() >= SLUG_MAX {
            break;
        }
    }
    let slug = slug.trim_end_matches(['-', '.']);
    let slug = if slug.is_empty() { "cell" } else { slug };
    // Beginning there, for a thousand names that are cut off alike would be compared a million times from 2 on.
    let numbered = (taken.len() + 1..).map(|number| format!("{slug}-{number}"));
    let mut free = std::iter::once(slug.to_owned()).chain(numbered).filter(|slug| !taken.contains(slug));
    let free = free.next().expect("invariant: numbers don't end");
    taken.insert(free.clone());
    free
}

/// "GET /test, closed loop, 400 connections, 30 s"
pub(super) fn of_run(path: &str, plan: &RunPlan) -> String {
    let unit = if plan.scenario.is_some() { "session" } else { "request" };
    let mut words = vec![match &plan.scenario {
        Some(scenario) => format!("sessions of {}", scenario.name),
        None => request(path, &plan.request),
    }];
    match plan.load {
        Load::Closed { connections } => {
            words.push("closed loop".to_owned());
            words.push(plural(u64::from(connections), "connection"));
        }
        Load::Open { rate_per_s, arrivals, max_connections } => {
            let gaps = match arrivals {
                Arrivals::Constant => String::new(),
                arrivals => format!(" ({arrivals})"),
            };
            let stages = plan
                .stages
                .as_ref()
                .map(|stages| format!("{} up to ", plural(stages.0.len() as u64, "stage")));
            let stages = stages.unwrap_or_default();
            words.push(format!("open loop, {stages}{} /s{gaps}", rate_per_s.as_per_second()));
            words.push(format!("at most {}", plural(u64::from(max_connections), "connection")));
        }
    }
    words.extend(traits(&plan.request));
    if let Some(retries) = &plan.retries {
        words.push(format!("up to {} on {}", plural_retries(retries.retries), retries.on));
    }
    if let Some(trace) = &plan.trace {
        words.push(format!("{} of the requests traced", percent(trace.share)));
    }
    if plan.threads > 1 {
        words.push(plural(u64::from(plan.threads), "thread"));
    }
    words.push(match plan.end {
        End::Duration(duration) => length(duration),
        End::Requests(requests) => plural(requests, unit),
        End::First { duration, requests } => {
            format!("{} or {}", length(duration), plural(requests, unit))
        }
    });
    words.join(", ")
}

/// "GET /, capacity with response.p99 < 50ms, at most 1000 connections, 10 min at most"
pub(super) fn of_capacity(path: &str, live: &LiveCapacity) -> String {
    let plan = &live.plan;
    let mut words = vec![match &plan.scenario {
        Some(scenario) => format!("sessions of {}", scenario.name),
        None => request(path, &plan.request),
    }];
    let objectives: Vec<String> = live.objectives.thresholds.iter().map(ToString::to_string).collect();
    words.push(format!("capacity with {}", objectives.join(" and ")));
    let errors = percent(live.objectives.errors_max);
    words.push(format!("at most {errors} without a good answer"));
    if let Load::Open { arrivals, max_connections, .. } = plan.load {
        words.extend((arrivals != Arrivals::Constant).then(|| format!("{arrivals} arrivals")));
        words.push(format!("at most {}", plural(u64::from(max_connections), "connection")));
    }
    words.extend(traits(&plan.request));
    if plan.threads > 1 {
        words.push(plural(u64::from(plan.threads), "thread"));
    }
    words.push(format!("{} at most", length(live.time)));
    words.join(", ")
}

/// "GET /, 5 single requests"
pub(super) fn of_probe(path: &str, plan: &ProbePlan) -> String {
    let connections = if plan.reuse { " on one connection" } else { "" };
    let mut words = vec![
        request(path, &plan.request),
        format!("{}{connections}", plural(u64::from(plan.count), "single request")),
    ];
    words.extend(traits(&plan.request).into_iter().filter(|_| plan.request.version != Version::Http11));
    words.join(", ")
}

/// "wget -q -O - {url}/build/3, 100 times"
pub(super) fn of_exec(plan: &ExecPlan) -> String {
    let name = plan.commands.first().map(|command| command.name.as_str()).unwrap_or_default();
    let runs = plan.runs;
    if runs.least == runs.most {
        format!("{name}, {}", times(u64::from(runs.least)))
    } else {
        format!("{name}, at least {} and {}", times(u64::from(runs.least)), length(runs.least_time))
    }
}

/// The key of a setting of this plain name.
pub(super) fn key(setting: &str) -> &str {
    match setting {
        "no-keepalive" => "keepalive",
        "http1.0" => "http10",
        "http2-prior-knowledge" => "http2",
        "header" => "headers",
        key => key,
    }
}

/// A setting of this plain name, as study files have it.
pub(super) fn spelled(setting: &str) -> String {
    match setting {
        "no-keepalive" => "`keepalive = false`".to_owned(),
        setting => format!("`{}`", key(setting)),
    }
}

fn request(path: &str, request: &RequestPlan) -> String {
    format!("{} {path}", request.method)
}

fn plural_retries(number: u32) -> String {
    if number == 1 { "1 retry".to_owned() } else { format!("{number} retries") }
}

/// What is unusual about the connections of a request.
fn traits(request: &RequestPlan) -> Vec<String> {
    let mut words = Vec::new();
    if request.version != Version::Http11 {
        words.push(request.version.name().to_owned());
    }
    if !request.keep_alive {
        words.push("no keep-alive".to_owned());
    }
    match request.version {
        Version::Http2 if request.pipeline > 1 => words.push(format!("{} streams", request.pipeline)),
        _ if request.pipeline > 1 => words.push(format!("pipeline of {}", request.pipeline)),
        _ => {}
    }
    words
}

#[cfg(test)]
mod tests {
    use prony_model::PlanError;

    use super::*;

    #[test]
    fn slugs_differ() {
        let mut taken = BTreeSet::new();
        let mut check = |name: &str, expected: &str| assert_eq!(slug(name, &mut taken), expected, "{name}");
        check("KV · wrk · workers 2", "kv-wrk-workers-2");
        check("kv · wrk · workers: 2", "kv-wrk-workers-2-2");
        check("../../etc", "etc");
        check("···", "cell");
        check("rate 2.5", "rate-2.5");
    }

    #[test]
    fn settings_are_keys() {
        assert_eq!(
            PlanError::PipelineWithoutKeepAlive { setting: "pipeline" }.problem(spelled).to_string(),
            "`pipeline` needs connections that stay open: leave out `keepalive = false` (and `http10`)"
        );
        assert_eq!(key("header"), "headers");
    }
}
