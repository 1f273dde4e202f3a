//! Connections that take too long, or never come.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::time::Duration;

use prony_model::{ErrorKind, RunPlan, Timeouts};
use rustix::net::{AddressFamily, SocketType, bind, listen, socket};

use crate::plans::{closed, failures, for_ms, impatient, open, plan, requests, run};
use crate::server::{Server, ok};

/// A listener on loopback whose queue has room for one connection more than `backlog`; the kernel ignores any
/// other that wants in before one is accepted.
pub(crate) fn listener(backlog: i32) -> TcpListener {
    let socket: OwnedFd =
        socket(AddressFamily::INET, SocketType::STREAM, None).expect("a descriptor is free");
    bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).expect("loopback has free ports");
    listen(&socket, backlog).expect("a bound socket can listen");
    TcpListener::from(socket)
}

/// A server that accepts no more than `connections` connections that are used.
pub(crate) fn server_for(connections: u64) -> Server {
    // And the engine's check whether anybody is there.
    Server::accepting(listener(0), connections + 1, |peer| {
        while peer.request().is_some() && peer.answer(&ok("hello")) {}
    })
}

on_both_drivers! {
    fn no_connection_in_time(driver) {
        // The engine's check whether anybody is there takes the one place.
        let listener = listener(0);
        let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
        let timeouts = impatient(60);
        let result =
            run(driver, RunPlan { load: closed(2), end: requests(4), timeouts, ..plan(&url) });
        let error = failures(&result, ErrorKind::ConnectTimeout);
        assert_eq!([error.count, result.requests.failed], [4; 2]);
        assert_eq!([result.connections.attempted, result.connections.opened], [4, 0]);
        let waited = &result.outcomes[0];
        assert_eq!(waited.outcome, "connect-timeout");
        assert!(waited.response.min_ms >= Some(60.0), "{waited:?}");
    }

    fn no_connection_in_time_in_an_open_loop(driver) {
        let listener = listener(0);
        let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
        let timeouts = impatient(60);
        let result =
            run(driver, RunPlan { load: open(200.0, 20), end: requests(10), timeouts, ..plan(&url) });
        assert_eq!(failures(&result, ErrorKind::ConnectTimeout).count, 10);
        assert_eq!(result.connections.opened, 0);
    }

    fn a_connection_that_hangs_at_the_end_is_counted(driver) {
        let listener = listener(0);
        let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
        // Shorter than the time to connect: until then these requests may still go.
        let timeouts = Timeouts { drain: Duration::from_millis(100), ..Timeouts::default() };
        let plan = RunPlan { load: closed(3), end: for_ms(100), timeouts, ..plan(&url) };
        let result = run(driver, plan);
        assert_eq!([result.requests.intended, result.requests.never_sent], [3; 2]);
    }

    fn more_connections_than_are_opened_at_once(driver) {
        let server = Server::answering(&ok("hello"));
        let plan = RunPlan { load: closed(200), end: requests(400), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!([result.requests.done, server.requests()], [400; 2]);
        assert_eq!(result.connections.reached, result.connections.opened);
    }
}
