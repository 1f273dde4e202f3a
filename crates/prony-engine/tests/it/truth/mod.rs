//! The truth suite: known truth in, reported truth out.
//!
//! A truth server logs what it did with each request, the engine reports what it saw of each request, and the
//! result is held against both: exactly (a reported number is the order statistic of the run's own samples),
//! request by request (what the client saw is what the server did, and never less), and as a whole (no request
//! of a freeze is left out). How near the client comes to the truth is a matter of time, which no test measures:
//! that is `bench/accuracy`. `mutations/` proves that this suite can fail.

/// Makes of each function that takes a driver and what is spoken eight tests: `name::plain::epoll`, …
macro_rules! over_all {
    ($(fn $name:ident($driver:ident, $over:ident) $body:block)*) => {
        $(mod $name {
            use super::*;

            fn body($driver: prony_model::DriverChoice, $over: $crate::truth::Over) $body

            on_both_drivers! {
                fn plain(driver) {
                    super::body(driver, $crate::truth::Over::Tcp);
                }

                fn tls(driver) {
                    super::body(driver, $crate::truth::Over::Tls);
                }

                fn http2(driver) {
                    super::body(driver, $crate::truth::Over::Http2 { streams: 1 });
                }

                fn streams(driver) {
                    super::body(driver, $crate::truth::Over::Http2 { streams: 5 });
                }
            }
        })*
    };
}

mod exact;
mod per_request;
mod whole;

use std::collections::HashMap;
use std::sync::mpsc::sync_channel;

use prony_engine::Control;
use prony_model::{DriverChoice, RunEvent, RunPlan, RunResult, SampleRecord};
use prony_targets::tls::Tls;
use prony_targets::truth::log::Record;
use prony_targets::truth::{Config, start};

use crate::http2::streams;
use crate::plans::{plan, run_with};
use crate::tls::{file, trusting};

/// More requests than any of these runs makes.
const RECORDS_MAX: usize = 100_000;

/// A run, as reported, as seen and as served.
pub(crate) struct Measured {
    /// What was reported.
    pub(crate) result: RunResult,
    /// What the client saw of each request.
    pub(crate) samples: Vec<SampleRecord>,
    /// What the server did with each request.
    pub(crate) records: Vec<Record>,
    /// Complete responses, as counted slice by slice.
    pub(crate) answered_in_slices: u64,
}

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// HTTP/1.1.
    Tcp,
    /// HTTP/1.1 over TLS.
    Tls,
    /// HTTP/2 without TLS, with so many requests in flight on each connection.
    Http2 { streams: u32 },
}

/// Runs what `change` makes of a plan against a truth server of `config`.
pub(crate) fn measure(
    driver: DriverChoice,
    over: Over,
    config: Config,
    change: impl FnOnce(RunPlan) -> RunPlan,
) -> Measured {
    let (give, take) = sync_channel(RECORDS_MAX);
    let tls =
        || Tls::from_files(&file("server.pem"), &file("server.pem")).expect("a certificate and its key");
    let tls = (over == Over::Tls).then(tls);
    let http2 = matches!(over, Over::Http2 { .. });
    let server =
        start(Config { records: Some(give), tls, http2, ..config }).expect("a truth server can be started");
    let address = server.local_addr();
    let plan = match over {
        Over::Tcp => plan(&format!("http://{address}/")),
        Over::Http2 { streams: each } => {
            RunPlan { request: streams(each), ..plan(&format!("http://{address}/")) }
        }
        Over::Tls => trusting(&format!("https://{address}/")),
    };
    let plan = change(RunPlan { samples: true, ..plan });
    let (mut samples, mut answered_in_slices) = (Vec::new(), 0);
    let result = run_with(driver, plan, &Control::default(), &mut |event| match event {
        RunEvent::Samples(more) => samples.extend(more),
        RunEvent::SamplesLost(lost) => panic!("{lost} samples were lost"),
        RunEvent::Slice(slice) => answered_in_slices += slice.answered,
        RunEvent::Starting { .. }
        | RunEvent::Phase(_)
        | RunEvent::Progress(_)
        | RunEvent::Counts(_)
        | RunEvent::SoFar(_) => {}
    });
    let report = server.stop();
    assert_eq!(report.counts.records_lost, 0);
    Measured { result, samples, records: take.try_iter().collect(), answered_in_slices }
}

impl Measured {
    /// Each sample with the record of the same request: the n-th that ended on a connection is the n-th that was answered
    /// on it. Only for runs in which every request that was sent is among the samples.
    pub(crate) fn pairs(&self) -> Vec<(SampleRecord, Record)> {
        let mut served: HashMap<u16, Vec<Record>> = HashMap::new();
        let mut records = self.records.clone();
        records.sort_by_key(|record| std::cmp::Reverse(record.last_ns));
        for record in records {
            served.entry(record.peer_port).or_default().push(record);
        }
        let mut samples = self.samples.clone();
        // Answers of several streams that are read at once end at the same time, and stay in their order.
        samples.sort_by_key(|sample| sample.done_ns);
        let pairs = samples.into_iter().map(|sample| {
            let record = served.get_mut(&sample.port).and_then(Vec::pop);
            (sample, record.unwrap_or_else(|| panic!("the server did not see {sample:?}")))
        });
        let pairs: Vec<_> = pairs.collect();
        let left: usize = served.values().map(Vec::len).sum();
        assert_eq!(left, 0, "the client did not report {left} requests that were served");
        pairs
    }
}
