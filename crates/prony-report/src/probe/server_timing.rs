//! The server's own times, set against what the client saw.

use prony_model::{ServerMetric, ServerTimes};

use crate::probe::facts::ms;

/// By its name a metric that holds the others. The specification has no such thing, but many servers send it.
const WHOLE: &str = "total";
/// Metrics that are listed one by one; more make a line that nobody reads, and JSON has all of them.
const LISTED_MAX: usize = 12;

/// What `times` say of a server's phase that took `server_ms` for the client.
pub(crate) fn sentence(server_ms: Option<f64>, times: &ServerTimes) -> Option<String> {
    let timed = |metric: &&ServerMetric| metric.duration_ms.is_some();
    let whole = times.metrics.iter().find(|metric| timed(metric) && metric.name.eq_ignore_ascii_case(WHOLE));
    let is_whole = |metric: &ServerMetric| whole.is_some_and(|whole| std::ptr::eq(whole, metric));
    let parts: Vec<&ServerMetric> =
        times.metrics.iter().filter(timed).filter(|metric| !is_whole(metric)).collect();
    let untimed: Vec<&ServerMetric> =
        times.metrics.iter().filter(|metric| metric.duration_ms.is_none()).collect();
    let stated = match (whole.and_then(|whole| whole.duration_ms), parts.as_slice()) {
        (None, []) => None,
        (None, parts) => Some((listed(parts), parts.iter().filter_map(|part| part.duration_ms).sum())),
        (Some(whole_ms), []) => Some((format!("{} in total", ms(whole_ms)), whole_ms)),
        (Some(whole_ms), parts) => Some((format!("{} in total ({})", ms(whole_ms), listed(parts)), whole_ms)),
    };
    let untimed = (!untimed.is_empty()).then(|| format!("without a time: {}", listed(&untimed)));
    let compared_text = match stated {
        None => return untimed.map(|untimed| format!("the server names metrics {untimed}")),
        Some((words, stated_ms)) => compared(server_ms, &words, stated_ms),
    };
    Some(std::iter::once(compared_text).chain(untimed).collect::<Vec<_>>().join("; "))
}

/// The client's time, what the server says in `words`, and what is left.
fn compared(server_ms: Option<f64>, words: &str, stated_ms: f64) -> String {
    match server_ms {
        None => format!("the server says {words}"),
        Some(server_ms) if stated_ms <= server_ms => format!(
            "{}, of which the server says {words}; {} unexplained: the network, queues, and what has no name",
            ms(server_ms),
            ms(server_ms - stated_ms)
        ),
        Some(server_ms) => format!(
            "{} for the client, but the server says {words}: together {}, which is more; its times overlap, hold \
             one another, or go on after the first byte",
            ms(server_ms),
            ms(stated_ms)
        ),
    }
}

/// `db 8.20 ms, cache “a hit” 0.100 ms`
fn listed(metrics: &[&ServerMetric]) -> String {
    let listed = metrics.iter().take(LISTED_MAX).map(|metric| {
        let description = metric.description.as_ref().filter(|text| !text.is_empty());
        let description = description.map(|text| format!(" “{text}”")).unwrap_or_default();
        let duration = metric.duration_ms.map(|duration_ms| format!(" {}", ms(duration_ms)));
        format!("{}{description}{}", metric.name, duration.unwrap_or_default())
    });
    let more = metrics.len().saturating_sub(LISTED_MAX);
    listed.chain((more > 0).then(|| format!("and {more} more"))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(server_ms: Option<f64>, metrics: &[(&str, Option<f64>, Option<&str>)], expected: Option<&str>) {
        let metrics = metrics.iter().map(|(name, duration_ms, description)| ServerMetric {
            name: (*name).to_owned(),
            duration_ms: *duration_ms,
            description: description.map(str::to_owned),
        });
        let times = ServerTimes { metrics: metrics.collect(), problems: Vec::new() };
        assert_eq!(sentence(server_ms, &times).as_deref(), expected, "{times:?}");
    }

    #[test]
    fn parts_and_what_they_leave() {
        check(Some(12.1), &[], None);
        check(
            Some(12.1),
            &[("db", Some(8.2), None), ("app", Some(3.1), None)],
            Some(
                "12.1 ms, of which the server says db 8.20 ms, app 3.10 ms; 0.800 ms unexplained: the network, \
                 queues, and what has no name",
            ),
        );
        check(
            Some(12.1),
            &[("db", Some(8.2), Some("two queries")), ("cache", None, Some("miss")), ("x", None, None)],
            Some(
                "12.1 ms, of which the server says db “two queries” 8.20 ms; 3.90 ms unexplained: the network, \
                 queues, and what has no name; without a time: cache “miss”, x",
            ),
        );
        check(
            Some(1.0),
            &[("cache", None, Some("hit"))],
            Some("the server names metrics without a time: cache “hit”"),
        );
        check(None, &[("db", Some(8.2), None)], Some("the server says db 8.20 ms"));
    }

    #[test]
    fn a_total_holds_the_others() {
        check(
            Some(12.1),
            &[("db", Some(8.0), None), ("Total", Some(11.1), None)],
            Some(
                "12.1 ms, of which the server says 11.1 ms in total (db 8.00 ms); 1.00 ms unexplained: the network, \
                 queues, and what has no name",
            ),
        );
        check(
            Some(12.0),
            &[("total", Some(12.0), None)],
            Some(
                "12.0 ms, of which the server says 12.0 ms in total; 0 ms unexplained: the network, queues, and \
                 what has no name",
            ),
        );
    }

    #[test]
    fn more_than_the_client_saw() {
        check(
            Some(12.1),
            &[("db", Some(8.2), None), ("app", Some(11.8), None)],
            Some(
                "12.1 ms for the client, but the server says db 8.20 ms, app 11.8 ms: together 20.0 ms, which is \
                 more; its times overlap, hold one another, or go on after the first byte",
            ),
        );
    }

    #[test]
    fn long_lists_are_cut() {
        let metrics: Vec<_> = (0..15).map(|_| ("a", None, None)).collect();
        let expected = format!("the server names metrics without a time: {}and 3 more", "a, ".repeat(12));
        check(Some(1.0), &metrics, Some(&expected));
    }
}
