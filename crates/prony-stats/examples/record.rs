//! One million `Histogram::record`, for counting its instructions:
//!
//! ```text
//! cargo build -p prony-stats --release --example record
//! valgrind --tool=callgrind --toggle-collect='*record_all*' target/release/examples/record
//! ```
//!
//! The collected instructions over one million are the cost per value, the loop around it included
//! (about 6 instructions).

use prony_stats::Histogram;
use std::hint::black_box;

const VALUES: u64 = 1_000_000;

fn main() {
    let mut histogram = Histogram::new();
    record_all(&mut histogram);
    black_box(histogram.count());
}

/// Values spread over 0 to 16 ms by a multiplicative step (Knuth, TAOCP 3.3.4), which costs next to
/// nothing and is not monotone.
#[inline(never)]
fn record_all(histogram: &mut Histogram) {
    let mut state = 0_u64;
    for _ in 0..VALUES {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        // Hidden, so that the totals live in memory as they do in a worker and not in registers.
        black_box(&mut *histogram).record(state >> 40);
    }
}
