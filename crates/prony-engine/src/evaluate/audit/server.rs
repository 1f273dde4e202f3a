//! What the server's own use of the machine says of it.

use prony_model::words::{grouped, whole};
use prony_model::{Finding, FindingCode, MemoryGrowth, ServerUse, Severity};

use super::{Facts, finding};

/// Bytes of a mebibyte.
const MIB: f64 = (1_u64 << 20) as f64;

/// The server's memory grew all along.
pub(super) fn memory_growth(facts: &Facts<'_>) -> Option<Finding> {
    growth(facts.result.server.as_ref()?)
}

fn growth(server: &ServerUse) -> Option<Finding> {
    let MemoryGrowth { value, interval, samples, bytes_per_request, .. } =
        server.memory_growth_bytes_per_h.filter(|growth| growth.is_leak)?;
    let grown = value * server.wall_s / 3600.0;
    let range = interval.map_or_else(String::new, |interval| {
        format!(" [{}, {}]", whole(interval.low / MIB), whole(interval.high / MIB))
    });
    Some(finding(
        FindingCode::MemoryGrowth,
        Severity::Note,
        &[
            ("per_hour", value, "bytes"),
            ("per_request", bytes_per_request, "bytes"),
            ("samples", samples as f64, "count"),
        ],
        format!(
            "the server's memory grew all along, by {} MiB in {} requests: {} bytes each, {} MiB per hour{range} at this \
             load",
            whole(grown / MIB),
            grouped(server.requests),
            whole(bytes_per_request),
            whole(value / MIB),
        ),
        "run it for longer (--duration 10m): a heap or a cache reaches its limit and stays there, a leak goes on",
    ))
}

#[cfg(test)]
mod tests {
    use prony_model::Interval;

    use super::*;

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
        assert_eq!(growth(&growth_of(false)), None);
        assert_eq!(growth(&ServerUse::default()), None);
        let found = growth(&growth_of(true)).expect("it leaks");
        assert_eq!((found.code, found.severity), (FindingCode::MemoryGrowth, Severity::Note));
        for words in ["10 MiB in 10,240 requests", "1,024 bytes each", "3,600 MiB per hour [3,500, 3,700]"] {
            assert!(found.message.contains(words), "{} has no `{words}`", found.message);
        }
    }
}
