//! What a server used for each request: its CPU time, sampled by anyone, and the answers that clients counted meanwhile.

use prony_model::words::{grouped, whole};
use prony_model::{
    Evidence, Finding, FindingCode, Interval, MemoryGrowth, ServerFigure, ServerSection, ServerUse, Severity,
};
use prony_stats::{BATCHES, ratio_interval};

/// Below this much CPU time a figure has no interval, seconds: the kernel counts a running thread's time at its ticks
/// only, so a section may be off by 10 ms for each core.
const SECTION_CPU_MIN_S: f64 = 0.05;
/// Requests from which growth says something.
const LEAK_REQUESTS_MIN: u64 = 100;
/// Bytes of a mebibyte.
const MIB: f64 = (1_u64 << 20) as f64;

/// Adds to `found` what follows from the answers: `answered_until` has how many there were until so many seconds after
/// the first sample of the server. Between two moments at which they were counted, they go by the time.
pub fn add_requests(found: &mut ServerUse, answered_until: &dyn Fn(f64) -> f64) {
    let requests = answered_until(found.wall_s) - answered_until(0.0);
    found.requests = count(requests);
    for section in &mut found.sections {
        section.requests = answered_until(section.start_s + section.wall_s) - answered_until(section.start_s);
    }
    if let Some(growth) = &mut found.memory_growth_bytes_per_h {
        let grown = growth.value * found.wall_s / 3600.0;
        growth.bytes_per_request = grown / found.requests.max(1) as f64;
        growth.is_leak &= found.requests >= LEAK_REQUESTS_MIN;
    }
    let cpu_s = found.own.cpu_s;
    if requests < 1.0 || cpu_s <= 0.0 {
        return;
    }
    let figure = |value: f64, interval: Option<prony_stats::Interval>| ServerFigure {
        value,
        interval: interval.map(|interval| Interval {
            low: interval.low,
            high: interval.high,
            indicative: false,
        }),
        requests: found.requests,
    };
    let sections = &found.sections;
    let ratio = |of: &dyn Fn(&ServerSection) -> f64, to: &dyn Fn(&ServerSection) -> f64| {
        let part = |read: &dyn Fn(&ServerSection) -> f64| -> Option<[f64; BATCHES]> {
            sections.iter().map(read).collect::<Vec<_>>().try_into().ok()
        };
        let enough = sections.iter().all(|section| section.cpu_s >= SECTION_CPU_MIN_S);
        ratio_interval(&part(of)?, &part(to)?).filter(|_| enough)
    };
    let cpu_us = |section: &ServerSection| section.cpu_s * 1e6;
    let answers = |section: &ServerSection| section.requests;
    let cpu_per_request_us = figure(cpu_s * 1e6 / requests, ratio(&cpu_us, &answers));
    let requests_per_cpu_s = figure(requests / cpu_s, ratio(&answers, &|section| section.cpu_s));
    let with_dependants = (!found.dependants.is_empty()).then(|| {
        let all: f64 = found.dependants.iter().map(|dependant| dependant.processes.cpu_s).sum();
        let both = |section: &ServerSection| (section.cpu_s + section.dependants_cpu_s) * 1e6;
        figure((cpu_s + all) * 1e6 / requests, ratio(&both, &answers))
    });
    let instructions = found.counters.instructions.map(|instructions| {
        let per_section = |section: &ServerSection| section.instructions.unwrap_or(0) as f64;
        figure(instructions as f64 / requests, ratio(&per_section, &answers))
    });
    found.cpu_per_request_us = Some(cpu_per_request_us);
    found.requests_per_cpu_s = Some(requests_per_cpu_s);
    found.cpu_with_dependants_per_request_us = with_dependants;
    found.instructions_per_request = instructions;
}

/// The server's memory grew all along.
pub fn memory_growth(server: &ServerUse) -> Option<Finding> {
    let MemoryGrowth { value, interval, samples, bytes_per_request, .. } =
        server.memory_growth_bytes_per_h.filter(|growth| growth.is_leak)?;
    let grown = value * server.wall_s / 3600.0;
    let range = interval.map_or_else(String::new, |interval| {
        format!(" [{}, {}]", whole(interval.low / MIB), whole(interval.high / MIB))
    });
    Some(Finding {
        code: FindingCode::MemoryGrowth,
        severity: Severity::Note,
        evidence: vec![
            Evidence::new("per_hour", value, "bytes"),
            Evidence::new("per_request", bytes_per_request, "bytes"),
            Evidence::new("samples", samples as f64, "count"),
        ],
        message: format!(
            "the server's memory grew all along, by {} MiB in {} requests: {} bytes each, {} MiB per hour{range} at this \
             load",
            whole(grown / MIB),
            grouped(server.requests),
            whole(bytes_per_request),
            whole(value / MIB),
        ),
        advice: "run it for longer (--duration 10m): a heap or a cache reaches its limit and stays there, a leak goes on"
            .to_owned(),
    })
}

/// To the nearest whole number; none below 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of answers is far below 2^53, and casts to integers saturate"
)]
fn count(requests: f64) -> u64 {
    requests.round() as u64
}

#[cfg(test)]
mod tests {
    use prony_model::ProcessesUse;

    use super::*;

    /// A server that used 2 ms of CPU time for each of 1,000 requests a second, in ten sections of a second.
    fn used() -> ServerUse {
        let section = |number: u32| ServerSection {
            start_s: f64::from(number),
            wall_s: 1.0,
            cpu_s: 2.0,
            ..ServerSection::default()
        };
        ServerUse {
            wall_s: 10.0,
            own: ProcessesUse { cpu_s: 20.0, ..ProcessesUse::default() },
            sections: (0..10).map(section).collect(),
            ..ServerUse::default()
        }
    }

    #[test]
    fn cpu_time_per_request_is_exact() {
        let mut found = used();
        add_requests(&mut found, &|at_s| 500.0 + at_s * 1000.0);
        let figure = found.cpu_per_request_us.expect("there were answers");
        assert_eq!((found.requests, figure.requests), (10_000, 10_000));
        assert!((figure.value - 2_000.0).abs() < 1e-9, "{figure:?}");
        let interval = figure.interval.expect("ten sections");
        assert!(interval.low <= figure.value && figure.value <= interval.high, "{figure:?}");
        assert!((found.requests_per_cpu_s.expect("there were answers").value - 500.0).abs() < 1e-9);
        assert!(found.sections.iter().all(|section| (section.requests - 1000.0).abs() < 1e-6), "{found:?}");
        assert_eq!(found.cpu_with_dependants_per_request_us, None);
    }

    #[test]
    fn without_answers_or_cpu_time_there_are_no_figures() {
        let mut found = used();
        add_requests(&mut found, &|_| 7.0);
        assert_eq!((found.requests, found.cpu_per_request_us), (0, None));
        let mut idle = ServerUse { own: ProcessesUse::default(), ..used() };
        add_requests(&mut idle, &|at_s| at_s);
        assert_eq!((idle.requests, idle.cpu_per_request_us), (10, None));
    }

    #[test]
    fn a_leak_is_a_note_with_its_size() {
        let growth_of = |is_leak| ServerUse {
            wall_s: 10.0,
            requests: 10_240,
            memory_growth_bytes_per_h: Some(MemoryGrowth {
                value: 360.0 * 10.0 * MIB,
                interval: Some(Interval { low: 3500.0 * MIB, high: 3700.0 * MIB, indicative: false }),
                samples: 50,
                bytes_per_request: 1024.0,
                is_leak,
            }),
            ..ServerUse::default()
        };
        assert_eq!(memory_growth(&growth_of(false)), None);
        assert_eq!(memory_growth(&ServerUse::default()), None);
        let found = memory_growth(&growth_of(true)).expect("it leaks");
        assert_eq!((found.code, found.severity), (FindingCode::MemoryGrowth, Severity::Note));
        for words in ["10 MiB in 10,240 requests", "1,024 bytes each", "3,600 MiB per hour [3,500, 3,700]"] {
            assert!(found.message.contains(words), "{} has no `{words}`", found.message);
        }
        // Too few requests, and the size of each follows from them.
        let mut few = growth_of(true);
        add_requests(&mut few, &|at_s| at_s * 5.0);
        let growth = few.memory_growth_bytes_per_h.expect("it was there");
        assert!(!growth.is_leak && (growth.bytes_per_request / (10.0 * MIB / 50.0) - 1.0).abs() < 1e-9);
    }
}
