//! The limit on open files, in processes of their own.

use std::fs::File;

use prony_engine::RunError;
use prony_model::{ErrorKind, FindingCode, RequestPlan, RunPlan, Severity, Verdict};

use crate::alone::alone;
use crate::plans::{closed, failures, finding, get, plan, refused, requests, run};
use crate::server::{Server, ok};

on_both_drivers! {
    fn more_connections_than_descriptors_are_refused_before_the_load(driver) {
        let name = format!("{}::{}", path(module_path!()), test(driver));
        let server = Server::answering(&ok("hello"));
        alone(&name, 200, server.url(), |url| {
            let error = refused(driver, RunPlan { load: closed(150), end: requests(150), ..plan(url) });
            let RunError::Descriptors { needed, needed_files, allowed } = error else {
                panic!("{error:?}");
            };
            assert_eq!((needed, allowed), (150, 200));
            assert!(needed_files > allowed, "{needed_files}");
        });
        assert_eq!(server.requests(), 0);
    }

    fn descriptors_that_run_out_in_the_load_are_the_clients_fault(driver) {
        let name = format!("{}::{}", path(module_path!()), test(driver));
        let server = Server::answering(&ok("hello"));
        alone(&name, 200, server.url(), |url| {
            // Somebody else in the process holds more files than a run reckons with.
            let held: Vec<File> = (0..150).map(|_| File::open("/dev/null").expect("there is room")).collect();
            let result = run(driver, RunPlan { load: closed(100), end: requests(300), ..plan(url) });
            drop(held);
            assert!(failures(&result, ErrorKind::NoDescriptor).count >= 50, "{:?}", result.errors);
            assert!(result.requests.done > 0);
            assert_eq!(finding(&result, FindingCode::Descriptors).severity, Severity::Invalid);
            assert_eq!(result.verdict, Verdict::Invalid);
        });
    }

    fn every_descriptor_is_closed_when_a_run_is_over(driver) {
        let name = format!("{}::{}", path(module_path!()), test(driver));
        let server = Server::start(|peer| {
            if peer.request().is_some() {
                peer.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
            }
        });
        alone(&name, 200, server.url(), |url| {
            let open = || std::fs::read_dir("/proc/self/fd").expect("a process has it").count();
            let request = RequestPlan { keep_alive: false, ..get() };
            let once = || run(driver, RunPlan { load: closed(8), end: requests(40), request: request.clone(), ..plan(url) });
            let before = open();
            for _ in 0..3 {
                assert_eq!(once().requests.done, 40);
            }
            assert_eq!(open(), before, "descriptors after three runs");
        });
    }
}

/// The path of a test within its binary.
pub(crate) fn path(module: &str) -> &str {
    module.split_once("::").map_or(module, |(_, path)| path)
}

/// The name of the test of `driver`.
pub(crate) fn test(driver: prony_model::DriverChoice) -> &'static str {
    if driver == prony_model::DriverChoice::Epoll { "epoll" } else { "io_uring" }
}
