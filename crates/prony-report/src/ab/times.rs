//! Statistics of single requests, in the units and roundings of ab.

use super::requests::Request;

/// The percentages of ab's table.
const SERVED: [u64; 9] = [50, 66, 75, 80, 90, 95, 98, 99, 100];

/// The requests of a run, sorted by their total time; at least one.
#[derive(Debug)]
pub(super) struct Times<'a> {
    requests: &'a [Request],
}

/// A distribution, in whole milliseconds but for the standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_field_names, reason = "units stand last, also where all are the same")]
pub(super) struct Row {
    pub(super) min_ms: u64,
    pub(super) mean_ms: u64,
    pub(super) deviation_ms: f64,
    pub(super) median_ms: u64,
    pub(super) max_ms: u64,
}

impl<'a> Times<'a> {
    /// Of `requests` in order; `None` without any.
    pub(super) fn of(requests: &'a [Request]) -> Option<Self> {
        debug_assert!(requests.is_sorted_by_key(|request| request.total_us), "invariant: sorted before");
        (!requests.is_empty()).then_some(Self { requests })
    }

    /// The requests, the quickest first.
    pub(super) fn requests(&self) -> &'a [Request] {
        self.requests
    }

    pub(super) fn connect(&self) -> Row {
        self.row(|request| request.connect_us)
    }

    pub(super) fn processing(&self) -> Row {
        self.row(Request::processing_us)
    }

    pub(super) fn waiting(&self) -> Row {
        self.row(|request| request.wait_us)
    }

    pub(super) fn total(&self) -> Row {
        self.row(|request| request.total_us)
    }

    /// ab's table: a percentage and the whole milliseconds within which so many were served.
    pub(super) fn served(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        SERVED.into_iter().map(|percent| (percent, round_ms(u64::from(self.served_us(percent)))))
    }

    /// The total time at ab's position for a percentage: that many hundredths of the way, the fraction cut off.
    pub(super) fn served_us(&self, percent: u64) -> u32 {
        let count = self.requests.len() as u64;
        self.at(count * percent / 100)
    }

    /// The same at the position for the file of `-e`, which is rounded.
    pub(super) fn exported_us(&self, percent: u64) -> u32 {
        let count = self.requests.len() as u64;
        self.at((count * percent + 50) / 100 * u64::from(percent > 0))
    }

    /// The total time at a position; the last one for any beyond.
    fn at(&self, position: u64) -> u32 {
        let last = self.requests.len() - 1;
        self.requests[usize::try_from(position).map_or(last, |position| position.min(last))].total_us
    }

    fn row(&self, time_us: impl Fn(&Request) -> u32) -> Row {
        let mut times: Vec<u64> = self.requests.iter().map(|request| u64::from(time_us(request))).collect();
        times.sort_unstable();
        let count = times.len() as u64;
        let mean_us = times.iter().sum::<u64>() / count;
        let squares: f64 = times.iter().map(|time| (*time as f64 - mean_us as f64).powi(2)).sum();
        let deviation_us = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        let middle = times.len() / 2;
        let median_us = if times.len() % 2 == 1 {
            times[middle]
        } else {
            u64::midpoint(times[middle - 1], times[middle])
        };
        Row {
            min_ms: round_ms(times[0]),
            mean_ms: round_ms(mean_us),
            deviation_ms: deviation_us / 1000.0,
            median_ms: round_ms(median_us),
            max_ms: round_ms(times[times.len() - 1]),
        }
    }
}

/// Whole milliseconds, halves up.
pub(super) fn round_ms(time_us: u64) -> u64 {
    (time_us + 500) / 1000
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(total_us: u32) -> Request {
        Request { began_ns: 0, connect_us: total_us / 3, total_us, wait_us: total_us / 2 }
    }

    fn requests(totals_us: impl IntoIterator<Item = u32>) -> Vec<Request> {
        let mut requests: Vec<Request> = totals_us.into_iter().map(request).collect();
        requests.sort_by_key(|request| request.total_us);
        requests
    }

    fn check_served(count: u32, percent: u64, expected_us: u32) {
        let requests = requests(0..count);
        let times = Times::of(&requests).expect("at least one");
        assert_eq!(times.served_us(percent), expected_us, "{percent} % of {count}");
    }

    /// Positions as ab counts them: from 0, at count times percent over 100.
    #[test]
    fn percentages_are_abs() {
        check_served(10, 50, 5);
        check_served(10, 66, 6);
        check_served(10, 99, 9);
        check_served(10, 100, 9);
        check_served(3, 50, 1);
        check_served(1000, 98, 980);
    }

    #[test]
    fn exported_percentages_are_abs() {
        let requests = requests(0..10);
        let times = Times::of(&requests).expect("at least one");
        let exported = [0, 1, 5, 14, 15, 50, 95, 100].map(|percent| times.exported_us(percent));
        assert_eq!(exported, [0, 0, 1, 1, 2, 5, 9, 9]);
    }

    #[test]
    fn milliseconds_round_halves_up() {
        assert_eq!([0, 499, 500, 1499, 1500].map(round_ms), [0, 0, 1, 1, 2]);
        let total = |totals_us: &[u32]| {
            let requests = requests(totals_us.iter().copied());
            Times::of(&requests).expect("at least one").total()
        };
        let row = total(&[1_000, 2_000, 9_000]);
        assert_eq!((row.min_ms, row.mean_ms, row.median_ms, row.max_ms), (1, 4, 2, 9));
        assert!((row.deviation_ms - 4.358_898_9).abs() < 1e-6, "{row:?}");
        assert_eq!(total(&[7_000]).deviation_ms.to_bits(), 0.0_f64.to_bits());
        assert_eq!(total(&[1_000, 2_000]).median_ms, 2);
    }

    proptest! {
        #[test]
        fn numbers_are_in_order(totals in prop::collection::vec(any::<u32>(), 1..200)) {
            let requests = requests(totals);
            let times = Times::of(&requests).expect("at least one");
            for row in [times.connect(), times.processing(), times.waiting(), times.total()] {
                prop_assert!(row.min_ms <= row.mean_ms && row.mean_ms <= row.max_ms, "{:?}", row);
                prop_assert!(row.min_ms <= row.median_ms && row.median_ms <= row.max_ms, "{:?}", row);
            }
            let served: Vec<u64> = times.served().map(|(_, ms)| ms).collect();
            prop_assert!(served.is_sorted(), "{:?}", served);
            let exported: Vec<u32> = (0..=100).map(|percent| times.exported_us(percent)).collect();
            prop_assert!(exported.is_sorted(), "{:?}", exported);
        }
    }
}
