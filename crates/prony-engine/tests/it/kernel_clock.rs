//! The kernel's own time stamps: they are there, they are of the right request, and they separate the client's delays
//! from the server's.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use prony_engine::Control;
use prony_model::{
    BodyCheck, Checks, DriverChoice, ErrorKind, FindingCode, KernelClock, RequestPlan, RunEvent, RunPlan,
    RunResult, SampleRecord,
};
use prony_targets::truth;

use crate::plans::{closed, failures, finding, get, has_finding, open, plan, requests, run, run_with};
use crate::server::{Peer, Server, ok};
use crate::truth::{Over, measure};

/// What the two clocks of one machine may differ by when they are compared, and a rounding.
const SLACK_NS: u64 = 11_000;

/// Whether the kernel has all that is asked for, as the run itself finds out.
pub(crate) fn has_kernel_clock(result: &RunResult) -> bool {
    let is_there = result.kernel_clock.arrivals;
    if !is_there {
        prony_testing::skip("the kernel's clock", &result.kernel_clock.reason);
    }
    is_there
}

/// Runs `plan` and returns each sample with the result.
fn sampled(driver: DriverChoice, plan: RunPlan) -> (RunResult, Vec<SampleRecord>) {
    let mut samples = Vec::new();
    let plan = RunPlan { samples: true, ..plan };
    let result = run_with(driver, plan, &Control::default(), &mut |event| {
        if let RunEvent::Samples(more) = event {
            samples.extend(more);
        }
    });
    (result, samples)
}

/// The moments of each sample come in their order, where the kernel reported them. Returns how many departures and
/// arrivals it reported.
fn check_order(samples: &[SampleRecord]) -> (usize, usize) {
    let mut stamped = (0, 0);
    for sample in samples {
        let last = sample.done_ns + SLACK_NS;
        for stamp in [sample.tx_ns, sample.rx_ns].into_iter().filter(|stamp| *stamp != 0) {
            assert!(stamp + SLACK_NS >= sample.sent_ns && stamp <= last, "{sample:?}");
        }
        if sample.tx_ns != 0 && sample.rx_ns != 0 {
            assert!(sample.tx_ns <= sample.rx_ns + SLACK_NS, "{sample:?}");
        }
        stamped.0 += usize::from(sample.tx_ns != 0);
        stamped.1 += usize::from(sample.rx_ns != 0);
    }
    stamped
}

/// `count` of `of` are nearly all. Those of a moment in which somebody set this machine's clock are discarded.
fn assert_nearly_all(count: usize, of: usize, result: &RunResult) {
    let discarded = usize::try_from(result.kernel_clock.discarded).expect("few");
    assert!((count + discarded) * 100 >= of * 99, "{count} of {of}: {:?}", result.kernel_clock);
}

/// Descriptors of this process that are connected to `server`, and which stamps each has asked for.
fn asked_for(server: SocketAddr) -> Vec<u32> {
    let numbers = fs::read_dir("/proc/self/fd").expect("Linux has it").flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|number| peer_port(*number) == Some(server.port())).map(stamping).collect()
}

/// The port that descriptor `number` is connected to, if it is an IPv4 socket.
#[allow(unsafe_code, reason = "a descriptor of another thread can only be asked by its number")]
fn peer_port(number: libc::c_int) -> Option<u16> {
    let mut length = libc::socklen_t::try_from(size_of::<libc::sockaddr_in>()).expect("16 bytes");
    // SAFETY: an address of zeros is valid, and the kernel writes at most `length` bytes to it during the call.
    unsafe {
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        let result = libc::getpeername(number, (&raw mut address).cast(), &raw mut length);
        let is_ipv4 = i32::from(address.sin_family) == libc::AF_INET;
        (result == 0 && is_ipv4).then(|| u16::from_be(address.sin_port))
    }
}

/// The value of SO_TIMESTAMPING of descriptor `number`.
#[allow(unsafe_code, reason = "a descriptor of another thread can only be asked by its number")]
fn stamping(number: libc::c_int) -> u32 {
    let mut value = 0_u32;
    let mut length = libc::socklen_t::try_from(size_of_val(&value)).expect("4 bytes");
    // SAFETY: the kernel writes at most `length` bytes to `value` during the call.
    unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
        libc::getsockopt(number, level, name, (&raw mut value).cast(), &raw mut length);
    }
    value
}

/// Answers three requests on each connection and closes it.
fn answer_three(peer: &mut Peer) {
    for left in (0..3).rev() {
        if peer.request().is_none() {
            return;
        }
        let close = if left == 0 { "Connection: close\r\n" } else { "" };
        peer.answer(format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 0\r\n\r\n").as_bytes());
    }
}

on_both_drivers! {
    fn each_request_of_an_open_loop_has_both_stamps(driver) {
        let server = Server::answering(&ok("hello"));
        // One connection: the kernel keeps no more than about 150 stamps that nobody has taken.
        let (result, samples) =
            sampled(driver, RunPlan { load: open(1000.0, 1), end: requests(600), ..plan(server.url()) });
        if !has_kernel_clock(&result) {
            return;
        }
        let (departures, arrivals) = check_order(&samples);
        assert_nearly_all(departures, 600, &result);
        assert_nearly_all(arrivals, 600, &result);
        let used = &result.kernel_clock;
        assert_eq!(used.departures_one_in, 1);
        assert_eq!((used.departures_stamped, used.arrivals_stamped), (departures as u64, arrivals as u64));
        assert_eq!(result.latency.departure.count, used.departures_stamped);
        assert_eq!(result.latency.arrival.count, used.arrivals_stamped);
        assert!(result.latency.network.count <= used.departures_stamped);
        assert_eq!(used.responses_asked, 600, "all of them are picked, stamped or not");
        assert_eq!(result.latency.kernel_response.count, used.responses_stamped);
        assert_nearly_all(usize::try_from(used.responses_stamped).expect("600 at most"), 600, &result);
        assert!(result.latency.network.max_ms <= result.latency.service.max_ms.map(|max| max + 0.011));
    }

    fn a_closed_loop_is_asked_about_one_departure_in_64(driver) {
        let server = Server::answering(&ok("hello"));
        let count = 64 * 20;
        let (result, samples) =
            sampled(driver, RunPlan { load: closed(4), end: requests(count), ..plan(server.url()) });
        if !has_kernel_clock(&result) {
            return;
        }
        let (departures, arrivals) = check_order(&samples);
        assert_eq!(result.kernel_clock.departures_one_in, 64);
        assert!((4..=60).contains(&departures) || result.kernel_clock.discarded > 0, "{departures}");
        assert_eq!(result.kernel_clock.arrivals_one_in, 32);
        let used = &result.kernel_clock;
        assert!((4..=60).contains(&used.responses_asked), "one in 64, picked before it was sent: {used:?}");
        assert!(used.responses_stamped * 100 >= used.responses_asked * 99 || used.discarded > 0, "{used:?}");
        // One connection of these four stands for all: it has about as many as each of the others.
        let share = arrivals as f64 / samples.len() as f64;
        assert!((0.05..0.75).contains(&share) || result.kernel_clock.discarded > 0, "{share}");
    }

    /* One connection for more requests than it can carry: each waits for the answer of the one before, and not for the
       client to look at it. */
    fn a_wait_for_a_connection_ends_when_the_answer_arrived_that_frees_it(driver) {
        let delay = truth::Delay::Const(Duration::from_millis(1));
        let measured = measure(driver, Over::Tcp, truth::Config { delay, ..truth::Config::default() }, |plan| {
            RunPlan { load: open(5000.0, 1), end: requests(300), ..plan }
        });
        if !has_kernel_clock(&measured.result) || measured.result.kernel_clock.discarded > 0 {
            return;
        }
        let mut samples = measured.samples;
        samples.sort_by_key(|sample| sample.sent_ns);
        let waited: Vec<_> =
            samples.windows(2).filter(|pair| pair[1].intended_ns < pair[0].sent_ns).collect();
        assert!(waited.len() > 200, "five requests are due while one is served: {}", waited.len());
        // A stamp a hair behind the moment at which the client polled is not taken: the clocks differ by more.
        for pair in waited.into_iter().filter(|pair| pair[0].rx_ns != 0 && pair[0].rx_ns <= pair[0].done_ns) {
            assert_eq!(pair[1].ready_ns, pair[0].rx_ns, "{pair:?}");
        }
    }

    /* By the kernel's clock on both sides, no request is quicker than the server was. */
    fn network_and_server_take_as_long_as_the_server_says(driver) {
        let delay = truth::Delay::Const(Duration::from_millis(2));
        let measured = measure(driver, Over::Tcp, truth::Config { delay, ..truth::Config::default() }, |plan| {
            RunPlan { load: open(400.0, 4), end: requests(200), ..plan }
        });
        if !has_kernel_clock(&measured.result) {
            return;
        }
        let mut compared = 0;
        for (sample, record) in measured.pairs() {
            if sample.tx_ns == 0 || sample.rx_ns == 0 || !record.stamped || record.clock_moved {
                continue;
            }
            let network = sample.rx_ns - sample.tx_ns;
            assert!(network + SLACK_NS >= record.residence_ns(), "{sample:?} {record:?}");
            assert!(sample.tx_ns <= record.arrival_ns + SLACK_NS, "{sample:?} {record:?}");
            assert!(sample.rx_ns + SLACK_NS >= record.first_ns, "{sample:?} {record:?}");
            compared += 1;
        }
        assert_nearly_all(compared, 200, &measured.result);
    }

    fn in_a_pipeline_stamps_find_their_requests(driver) {
        let server = Server::answering(&ok("hello"));
        let request = RequestPlan { pipeline: 4, ..get() };
        let load = open(4000.0, 1);
        let plan = RunPlan { request, load, end: requests(800), ..plan(server.url()) };
        let (result, samples) = sampled(driver, plan);
        if !has_kernel_clock(&result) {
            return;
        }
        let (departures, arrivals) = check_order(&samples);
        // Requests that leave together have one stamp, which is the last one's.
        assert!(departures * 4 >= samples.len() || result.kernel_clock.discarded > 0, "{departures}");
        assert_nearly_all(arrivals, samples.len(), &result);
    }

    fn requests_longer_than_a_packet_have_the_stamp_of_their_last_byte(driver) {
        let server = Server::answering(&ok("hello"));
        let request = RequestPlan {
            method: "POST".to_owned(),
            body: prony_model::Body { bytes: vec![b'x'; 300_000] },
            ..get()
        };
        let load = open(100.0, 1);
        let plan = RunPlan { request, load, end: requests(30), ..plan(server.url()) };
        let (result, samples) = sampled(driver, plan);
        if has_kernel_clock(&result) {
            assert!(check_order(&samples).0 >= 29 || result.kernel_clock.discarded > 0, "{samples:?}");
        }
    }

    fn a_slot_that_is_used_again_takes_no_stamp_of_the_connection_before(driver) {
        let server = Server::start(answer_three);
        let (result, samples) =
            sampled(driver, RunPlan { load: open(1000.0, 2), end: requests(300), ..plan(server.url()) });
        if !has_kernel_clock(&result) {
            return;
        }
        let (departures, arrivals) = check_order(&samples);
        // A request may meet a connection that is being closed: it fails, and has no answer.
        let done = usize::try_from(result.requests.done).expect("300 at most");
        assert!(departures >= done * 99 / 100 && arrivals >= done * 99 / 100, "{departures} {arrivals}");
        assert!(result.connections.opened >= 100, "{:?}", result.connections);
    }

    fn without_keep_alive_epoll_has_stamps_and_io_uring_says_why_not(driver) {
        let server = Server::answering(&ok("hello"));
        let request = RequestPlan { keep_alive: false, ..get() };
        let load = open(500.0, 4);
        let plan = RunPlan { request, load, end: requests(100), ..plan(server.url()) };
        let (result, samples) = sampled(driver, plan);
        assert_eq!(result.requests.done, 100);
        if driver == DriverChoice::IoUring {
            assert!(result.kernel_clock.reason.starts_with("io_uring"), "{:?}", result.kernel_clock);
            assert_eq!(check_order(&samples), (0, 0));
        } else if has_kernel_clock(&result) {
            let (departures, arrivals) = check_order(&samples);
            assert_nearly_all(departures, 100, &result);
            assert_nearly_all(arrivals, 100, &result);
        }
    }

    /* Stamps lie in the socket's error queue, which is no error; a reset is one. */
    fn a_reset_is_not_taken_for_a_stamp(driver) {
        let server = Server::start(|peer| {
            for _ in 0..4 {
                if peer.request().is_none() {
                    return;
                }
                peer.answer(&ok("hello"));
            }
            peer.request();
            peer.reset();
        });
        let result = run(driver, RunPlan { load: open(500.0, 1), end: requests(50), ..plan(server.url()) });
        assert_eq!([result.requests.done, result.requests.failed], [40, 10]);
        assert_eq!(failures(&result, ErrorKind::Reset).count, 10);
    }

    fn sockets_are_set_to_stamp_or_left_alone(driver) {
        for (kernel_clock, stamps) in [(KernelClock::Auto, true), (KernelClock::Off, false)] {
            let server = Server::answering(&ok("hello"));
            let plan =
                RunPlan { kernel_clock, load: open(100.0, 1), end: requests(40), ..plan(server.url()) };
            let mut seen = Vec::new();
            let result = run_with(driver, plan, &Control::default(), &mut |event| {
                if let RunEvent::Progress(_) = event {
                    seen.extend(asked_for(server.address()));
                }
            });
            assert!(!seen.is_empty(), "the client has a connection while it runs");
            let used = &result.kernel_clock;
            if stamps && has_kernel_clock(&result) {
                assert!(seen.iter().any(|flags| flags & libc::SOF_TIMESTAMPING_RX_SOFTWARE != 0), "{seen:?}");
                assert!(used.arrivals_stamped > 0 && used.departures_stamped > 0, "{used:?}");
            } else if !stamps {
                assert!(seen.iter().all(|flags| *flags == 0), "{seen:?}");
                assert_eq!(used.reason, "asked for");
                let counts = [used.arrivals_stamped, used.departures_stamped, used.discarded];
                assert_eq!((used.arrivals, used.departures_one_in, counts), (false, 0, [0; 3]));
                assert_eq!(result.latency.network.count, 0);
            }
        }
    }

    /* A server that takes 2 ms, and a client that is slower: it looks through every body, connection by connection,
       while the answers of the others wait. The p99 is the client's, and it says so. */
    fn a_client_that_makes_its_own_p99_says_so(driver) {
        let config = truth::Config {
            delay: truth::Delay::Const(Duration::from_millis(2)),
            body_bytes: BODY_BYTES,
            ..truth::Config::default()
        };
        let server = truth::start(config).expect("loopback has free ports");
        let url = format!("http://{}/", server.local_addr());
        let checks = Checks { body: Some(BodyCheck::Regex(SLOW.to_owned())), ..Checks::default() };
        let plan = RunPlan { checks, load: closed(64), end: requests(2000), ..plan(&url) };
        let result = run(driver, plan);
        assert_eq!(result.requests.done, 2000, "{:?}", result.errors);
        if has_kernel_clock(&result) {
            let found = finding(&result, FindingCode::TailBlame);
            assert!(found.message.contains("the client made"), "{found:?}");
            assert!(has_finding(&result, FindingCode::ReceiveDelay), "{:#?}", result.findings);
            assert!(result.latency.network.mean_ms < result.latency.response.mean_ms, "{:?}", result.latency);
        }
    }
}

/// A body, and a pattern with which a client looks through it for 300 µs: the second branch, which never matches, has
/// so many states that the faster kinds of search don't take it.
pub(crate) const BODY_BYTES: usize = 8 * 1024;
pub(crate) const SLOW: &str = "(?-u)^(?:[Helo Wrd!]+|Z(?:.{500}){200})$";

/// The tests above must not pass by doing nothing where the kernel has stamps: OPT_ID_TCP is there from 6.2 on.
#[test]
fn the_kernel_has_a_clock_from_linux_6_2_on() {
    let server = Server::answering(&ok("hello"));
    let result = run(DriverChoice::Epoll, plan(server.url()));
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split('.').map(|part| part.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    assert_eq!(has_kernel_clock(&result), version >= (6, 2), "Linux {release}: {:?}", result.kernel_clock);
}

#[test]
fn a_unix_socket_has_no_stamps() {
    let folder = std::env::temp_dir().join(format!("prony-kernel-clock-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for temporary files");
    let path = folder.join("socket");
    let server =
        Server::on_unix(&path, |peer| while peer.request().is_some() && peer.answer(&ok("hello")) {});
    let mut plan = RunPlan { end: requests(10), ..plan(server.url()) };
    plan.target.unix = Some(path);
    let result = run(DriverChoice::Epoll, plan);
    assert_eq!(result.requests.done, 10);
    assert_eq!(result.kernel_clock.reason, "a Unix socket has no stamps");
    assert_eq!(result.kernel_clock.arrivals_stamped, 0);
    drop(server);
    fs::remove_dir_all(folder).expect("it is ours");
}
