//! `bottleneck`: its limits are what they are set to.

use std::time::{Duration, Instant};

use prony_targets::StartError;
use prony_targets::bottleneck::{Config, start};
use rustix::time::{ClockId, clock_gettime};

use crate::client::Client;

/// CPU time of this process, server included.
fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

#[test]
fn each_request_burns_its_cpu_time() {
    let server =
        start(Config { burn: Duration::from_millis(5), workers: 3, busy: Some(1), ..Config::default() });
    let server = server.unwrap();
    let mut client = Client::connect(server.local_addr());
    let before = process_cpu();
    for _ in 0..10 {
        assert_eq!(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").reply().text(), "done\n");
    }
    // The tests beside this one use CPU time of the same process: there is no upper bound.
    assert!(process_cpu() >= before + Duration::from_millis(50));
    assert_eq!(server.stop().counts.requests, 10);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the time is what is asked about")]
fn requests_pass_the_lock_one_at_a_time() {
    let hold = Duration::from_millis(5);
    let server = start(Config { hold, workers: 4, ..Config::default() }).unwrap();
    let address = server.local_addr();
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = Client::connect(address);
                for _ in 0..3 {
                    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").reply();
                }
            });
        }
    });
    assert!(began.elapsed() >= hold * 12, "12 requests of 5 ms took {:?}", began.elapsed());
    server.stop();
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    for busy in [0, 3] {
        let error = start(Config { workers: 2, busy: Some(busy), ..Config::default() }).unwrap_err();
        assert!(matches!(error, StartError::Setting { setting: "busy", .. }), "{error}");
    }
    let error = start(Config { workers: 0, ..Config::default() }).unwrap_err();
    assert!(matches!(error, StartError::Setting { setting: "workers", .. }), "{error}");
}
