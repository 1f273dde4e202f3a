//! What a server over TLS did with each request, held against what was reported of it.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use prony_engine::Control;
use prony_model::{RequestPlan, RunEvent, RunPlan, SampleRecord};

use super::{VERSIONS, config, with};
use crate::plans::{get, requests, run_with};
use crate::server::{Server, now, ok};

/// One connection's requests, and how long the server had each, in order.
fn measure(driver: prony_model::DriverChoice, keep_alive: bool) {
    for (versions, _) in VERSIONS {
        let residences = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&residences);
        let server = Server::over_tls(config("server"), move |peer| {
            while let Some(request) = peer.request() {
                let began = now();
                thread::sleep(Duration::from_millis(request.number % 5));
                log.lock().expect("no panic").push(began.elapsed());
                if !peer.answer(&ok("hello")) {
                    return;
                }
            }
        });
        let request = RequestPlan { keep_alive, ..get() };
        let plan = with(server.url(), |options| options.versions = versions);
        let plan = RunPlan { samples: true, request, end: requests(100), ..plan };
        let mut samples: Vec<SampleRecord> = Vec::new();
        let result = run_with(driver, plan, &Control::default(), &mut |event| {
            if let RunEvent::Samples(more) = event {
                samples.extend(more);
            }
        });
        let residences = residences.lock().expect("no panic");
        assert_eq!([result.requests.done, server.requests()], [100; 2], "{:?}", result.errors);
        assert_eq!([samples.len(), residences.len()], [100; 2]);
        samples.sort_by_key(|sample| sample.done_ns);
        for (sample, residence) in samples.iter().zip(residences.iter()) {
            let service = u128::from(sample.done_ns - sample.sent_ns);
            assert!(service >= residence.as_nanos(), "{residence:?}: {sample:?}");
            assert!(sample.intended_ns <= sample.ready_ns && sample.ready_ns <= sample.sent_ns, "{sample:?}");
            assert!(
                sample.first_byte_ns <= sample.done_ns && sample.sent_ns < sample.first_byte_ns,
                "{sample:?}"
            );
            if sample.tx_ns != 0 {
                assert!((sample.sent_ns..sample.done_ns).contains(&sample.tx_ns), "{sample:?}");
            }
        }
        // The time to open a connection is that of TCP and of the handshake.
        let opened: Vec<u64> =
            samples.iter().map(|sample| sample.connect_ns).filter(|took| *took > 0).collect();
        assert_eq!(opened.len() as u64, result.connections.opened);
        let connect_ms = result.latency.connect.mean_ms.expect("connections") * opened.len() as f64;
        let handshakes = result.tls.expect("TLS was used").handshakes;
        let sum =
            |summary: &prony_model::LatencySummary| summary.mean_ms.unwrap_or(0.0) * summary.count as f64;
        let all = connect_ms + sum(&handshakes.full_latency) + sum(&handshakes.resumed_latency);
        let seen = opened.iter().sum::<u64>() as f64 / 1e6;
        assert!((all - seen).abs() < 1e-3, "{all} ms in all, {seen} ms in samples");
    }
}

on_both_drivers! {
    fn each_request_of_a_connection(driver) {
        measure(driver, true);
    }

    fn a_connection_for_each(driver) {
        measure(driver, false);
    }
}
