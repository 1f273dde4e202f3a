//! What a server that freezes at regular intervals must look like to a client that doesn't wait for it.

use crate::quantile::Quantile;
use std::time::Duration;

/// Quantile `q` of response times under steady arrivals when every request takes `base` and the server
/// stalls for `stall` once every `period`: Q(q) = base + max(0, stall − period·(1 − q)).
///
/// Of a period's arrivals, those within the stall wait for its end: a share stall/period of them, the
/// wait uniform over 0..stall. It holds as long as the backlog drains at once. A client that waits for
/// answers before sending shows only one slow request per stall: coordinated omission, in closed form.
pub fn freeze_quantile(base: Duration, stall: Duration, period: Duration, q: Quantile) -> Duration {
    base + stall.saturating_sub(period.mul_f64(1.0 - q.value()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;

    #[test]
    fn the_closed_form_is_what_steady_arrivals_see() {
        let (base, stall, period) = (2_000_000_u64, 200_000_000_u64, 1_000_000_000_u64);
        // 10 000 arrivals, evenly over one period that begins with the stall.
        let seen: Histogram =
            (0..10_000_u64).map(|i| base + stall.saturating_sub(i * (period / 10_000))).collect();
        for q in Quantile::STANDARD {
            let expected = freeze_quantile(
                Duration::from_nanos(base),
                Duration::from_nanos(stall),
                Duration::from_nanos(period),
                q,
            );
            let actual = seen.value_at_quantile(q.value()).unwrap() as f64;
            let expected = expected.as_nanos() as f64;
            assert!(
                (actual - expected).abs() <= 0.001 * expected + 100_000.0,
                "{q}: {actual} is not {expected}"
            );
        }
    }
}
