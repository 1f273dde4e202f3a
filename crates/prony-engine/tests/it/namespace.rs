//! Findings that need a network of their own: few local ports, and an interface that goes away.
#![allow(unsafe_code, reason = "no crate wraps the call that switches an interface on")]

use std::os::fd::AsRawFd as _;
use std::thread;
use std::time::Duration;

use prony_model::{ErrorKind, FindingCode, RunPlan, Severity, Verdict};
use rustix::net::{AddressFamily, SocketType, socket};

use crate::alone::in_a_network_of_its_own;
use crate::descriptors::{path, test};
use crate::plans::{closed, failures, finding, for_ms, plan, requests, run};
use crate::server::{Server, ok};

/// Where servers listen: ports of a network of one's own are all free.
const ADDRESS: &str = "127.0.0.1:8080";

/// Switches the loopback interface on or off (netdevice(7), SIOCSIFFLAGS).
fn switch_loopback(on: bool) {
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None).expect("a descriptor is free");
    // SAFETY: a request of zeros is one without a name, and the name is set below.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, letter) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = letter.cast_signed();
    }
    let up = libc::c_short::try_from(libc::IFF_UP).expect("a small flag");
    request.ifr_ifru.ifru_flags = if on { up } else { 0 };
    // SAFETY: the kernel reads `request` during the call only, and it lives until the call returns.
    let result = unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

fn server() -> Server {
    let listener = std::net::TcpListener::bind(ADDRESS).expect("nobody else is in this network");
    Server::on(listener, |peer| while peer.request().is_some() && peer.answer(&ok("hello")) {})
}

on_both_drivers! {
    fn ports_that_run_out(driver) {
        let name = format!("{}::{}", path(module_path!()), test(driver));
        in_a_network_of_its_own(&name, || {
            switch_loopback(true);
            std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40019").expect("it is our network");
            let server = server();
            let result = run(driver, RunPlan { load: closed(50), end: requests(500), ..plan(server.url()) });
            // The engine's check whether anybody is there may still hold one of the twenty.
            assert!(failures(&result, ErrorKind::NoPort).count >= 30, "{:?}", result.errors);
            assert!(result.requests.done > 0 && result.connections.reached <= 20, "{:?}", result.connections);
            let found = finding(&result, FindingCode::Ports);
            assert_eq!((found.severity, result.verdict), (Severity::Invalid, Verdict::Invalid));
            assert!(found.message.contains("there are 20 ports"), "{}", found.message);
        });
    }

    fn segments_that_get_lost(driver) {
        let name = format!("{}::{}", path(module_path!()), test(driver));
        in_a_network_of_its_own(&name, || {
            switch_loopback(true);
            let server = server();
            let cut = thread::spawn(|| {
                thread::sleep(Duration::from_millis(300));
                switch_loopback(false);
                thread::sleep(Duration::from_millis(100));
                switch_loopback(true);
            });
            let result = run(driver, RunPlan { load: closed(2), end: for_ms(1500), ..plan(server.url()) });
            cut.join().expect("no panic");
            // Which side had a segment on its way decides whether it is more than a note.
            let found = finding(&result, FindingCode::Retransmissions);
            let again = found.evidence.iter().find(|evidence| evidence.name == "retransmitted");
            assert!(again.is_some_and(|again| again.value >= 1.0), "{found:?}");
        });
    }
}
