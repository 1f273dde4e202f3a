//! What each request gets.

use std::convert::Infallible;
use std::sync::Arc;

use serde_json::Value;

use super::Board;
use super::reports::Refused;
use crate::lines::{Lines, on_one_line};
use crate::service::{Owed, Request, Service, Then};

/// One worker's service.
#[derive(Debug)]
pub(super) struct Dashboard {
    pub(super) board: Arc<Board>,
    pub(super) log: Option<Lines>,
}

/// A status and a text.
type Answer = (&'static str, &'static str);

impl Service for Dashboard {
    type Outcome = Infallible;
    type Stream = Infallible;

    fn answer(&mut self, request: &Request<'_>, out: &mut Vec<u8>) -> Then<Infallible> {
        let target = request.path_and_query();
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        let owed = request.owed;
        let took_ns = match path {
            "/" => plain(owed, ("200 OK", "Welcome to the Status Dashboard!"), out),
            "/status" => {
                let title = b"Current Service Status:\n";
                let mut page = title.to_vec();
                self.board.reports.write(&mut page);
                self.board.monitor.write(&mut page);
                if page.len() == title.len() {
                    page.extend_from_slice(b"- No reports available.");
                }
                let reply = owed.reply("200 OK", &page);
                reply.write(out);
                reply.took_ns
            }
            "/report" if request.verb == "POST" => plain(owed, self.take_report(request.body), out),
            "/report" => {
                let mut reply = owed.reply("405 Method Not Allowed", b"Method Not Allowed");
                reply.fields = "Allow: POST\r\n";
                reply.write(out);
                reply.took_ns
            }
            _ => plain(owed, ("404 Not Found", "Page not found."), out),
        };
        if let Some(log) = &mut self.log {
            log.add(format_args!("{} {path} processed in {} ms\n", request.verb, took_ns / 1_000_000));
        }
        Then::Next
    }

    fn conclude(&mut self, outcome: Infallible, _owed: Owed, _out: &mut Vec<u8>) {
        match outcome {}
    }

    fn pause(&mut self) {
        if let Some(log) = &mut self.log {
            log.write();
        }
    }
}

impl Dashboard {
    fn take_report(&mut self, body: &[u8]) -> Answer {
        let Ok(report) = serde_json::from_slice::<Value>(body) else {
            return ("400 Bad Request", "Invalid JSON.");
        };
        let Some(name) = report.get("name").and_then(Value::as_str) else {
            return ("400 Bad Request", "Missing 'name' field.");
        };
        let Some(status) = report.get("status").and_then(Value::as_str) else {
            return ("400 Bad Request", "Missing 'status' field.");
        };
        match self.board.reports.put(name, status) {
            Err(Refused::TooLong) => ("413 Content Too Large", "Name or status too long."),
            Err(Refused::TooMany) => ("507 Insufficient Storage", "Too many names."),
            Ok(()) => {
                if let Some(log) = &mut self.log {
                    log.add(format_args!(
                        "Received report: {} is {}\n",
                        on_one_line(name),
                        on_one_line(status)
                    ));
                }
                ("200 OK", "Report received.")
            }
        }
    }
}

/// Writes a short reply; what it took.
fn plain(owed: Owed, (status, text): Answer, out: &mut Vec<u8>) -> u64 {
    let reply = owed.reply(status, text.as_bytes());
    reply.write(out);
    reply.took_ns
}
