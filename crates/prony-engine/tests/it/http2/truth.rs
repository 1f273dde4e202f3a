//! Truth in, truth out: what a server knows of its own time is what is measured.

use std::thread;
use std::time::Duration;

use super::{Frames, answer, load};
use crate::plans::run;
use crate::server::Server;

/// What each round takes the server.
const DELAY: Duration = Duration::from_millis(20);

on_both_drivers! {
    fn rounds_of_a_known_length_are_found_again_on_both_clocks(driver) {
        let server = Server::start(move |peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            // The first one of a connection goes alone; after it, all ten streams are answered at once.
            let mut wanted = 1;
            let mut waiting = Vec::new();
            while let Some(stream) = frames.request() {
                waiting.push(stream);
                assert!(waiting.len() <= 10, "{waiting:?}");
                if waiting.len() == wanted {
                    thread::sleep(DELAY);
                    for stream in waiting.drain(..) {
                        frames.peer.answer(&answer(stream, b"hello"));
                    }
                    wanted = 10;
                }
            }
        });
        let result = run(driver, load(server.url(), 1, 10, 201));
        assert_eq!(result.requests.done, 201, "{:?}", result.errors);
        for latency in [&result.latency.response, &result.latency.service] {
            // Nothing is answered sooner than the server did it, and with ten in flight no more than ten are answered in
            // the time that one takes.
            let (min_ms, mean_ms) = (latency.min_ms.expect("one ended"), latency.mean_ms.expect("one ended"));
            let (delay_ms, measured_ms) = (DELAY.as_secs_f64() * 1e3, result.timing.measured_s * 1e3);
            assert!(min_ms >= delay_ms, "{latency:?}");
            assert!(mean_ms * 201.0 <= measured_ms * 10.0, "{mean_ms} ms each within {measured_ms} ms");
            assert!(latency.quantiles_ms["0.5"] >= Some(delay_ms), "{latency:?}");
        }
    }
}
