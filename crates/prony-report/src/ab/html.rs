//! ab's report as an HTML table.

use askama::Template;
use prony_model::Bytes;

use super::times::Row;
use super::{AB_VERSION, Attributes, Facts, Failures};

#[derive(Template)]
#[template(path = "ab_banner.html")]
struct Banner<'a> {
    version: &'a str,
    program: &'a str,
}

#[derive(Template)]
#[template(path = "ab.html")]
struct Report<'a> {
    /// Attributes of the elements.
    table: &'a str,
    row: &'a str,
    cell: &'a str,
    facts: &'a Facts<'a>,
    failures: Failures,
    bytes: &'a Bytes,
    rates: Option<Rates>,
    /// Each with its name.
    times: Vec<(&'static str, Row)>,
}

/// Requests, and bytes in each direction, per second.
struct Rates {
    requests: String,
    received: String,
    sent: String,
    total: String,
}

/// The lines that name the program.
pub(super) fn banner(program: &str) -> String {
    Banner { version: AB_VERSION, program }.to_string()
}

/// The whole table.
pub(super) fn report(facts: &Facts<'_>, Attributes { table, row, cell }: &Attributes) -> String {
    let bytes = &facts.result.bytes;
    let rates = facts.per_s(facts.complete()).map(|per_s| {
        let of = |bytes| format!("{:.2} kb/s", facts.per_s(bytes).unwrap_or_default() / 1024.0);
        Rates {
            requests: format!("{per_s:.2}"),
            received: of(bytes.received),
            sent: of(bytes.sent),
            total: of(bytes.received + bytes.sent),
        }
    });
    let times = facts.requests.times().map_or_else(Vec::new, |times| {
        vec![("Connect", times.connect()), ("Processing", times.processing()), ("Total", times.total())]
    });
    Report { table, row, cell, facts, failures: facts.failures(), bytes, rates, times }.to_string()
}
