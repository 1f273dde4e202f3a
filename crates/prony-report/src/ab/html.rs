//! ab's report as an HTML table.

use std::fmt::Write as _;

use super::times::Row;
use super::{Attributes, Facts};

/// The whole table.
pub(super) fn report(facts: &Facts<'_>, attributes: &Attributes) -> String {
    let mut table = Table { attributes, text: format!("<table {}>\n", attributes.table) };
    what(&mut table, facts);
    counts(&mut table, facts);
    rates(&mut table, facts);
    times(&mut table, facts);
    table.text.push_str("</table>\n");
    table.text
}

/// A table under construction.
struct Table<'a> {
    attributes: &'a Attributes,
    text: String,
}

impl Table<'_> {
    /// A row of two cells over two columns each. `value` is escaped.
    fn row(&mut self, label: &str, value: &str) {
        let Attributes { row, cell, .. } = self.attributes;
        // Writing to a `String` can't fail.
        let _ = writeln!(
            self.text,
            "<tr {row}><th colspan=2 {cell}>{label}:</th><td colspan=2 {cell}>{}</td></tr>",
            escaped(value)
        );
    }

    /// A row that goes on with the one above.
    fn continued(&mut self, value: &str) {
        let Attributes { row, cell, .. } = self.attributes;
        let _ = writeln!(
            self.text,
            "<tr {row}><td colspan=2 {cell}>&nbsp;</td><td colspan=2 {cell}>{value}</td></tr>"
        );
    }

    /// A row of the table of times.
    fn times(&mut self, label: &str, times: &Row) {
        let Attributes { row, cell, .. } = self.attributes;
        let Row { min_ms, mean_ms, max_ms, .. } = times;
        let _ = writeln!(
            self.text,
            "<tr {row}><th {cell}>{label}:</th><td {cell}>{min_ms:5}</td><td {cell}>{mean_ms:5}</td>\
             <td {cell}>{max_ms:5}</td></tr>"
        );
    }
}

/// The server and the document.
fn what(table: &mut Table<'_>, facts: &Facts<'_>) {
    table.row("Server Software", &facts.server());
    table.row("Server Hostname", &facts.options.host);
    table.row("Server Port", &facts.options.port.to_string());
    table.row("Document Path", &facts.options.path);
    table.row("Document Length", &facts.document_length());
}

fn counts(table: &mut Table<'_>, facts: &Facts<'_>) {
    table.row("Concurrency Level", &facts.concurrency().to_string());
    table.row("Time taken for tests", &format!("{:.3} seconds", facts.took_s()));
    table.row("Complete requests", &facts.complete().to_string());
    let failures = facts.failures();
    table.row("Failed requests", &failures.total().to_string());
    if failures.total() > 0 {
        let Attributes { row, cell, .. } = table.attributes;
        // ab's table has no place for broken connections: they stand with the exceptions.
        let _ = writeln!(
            table.text,
            "<tr {row}><td colspan=4 {cell} >   (Connect: {}, Length: {}, Exceptions: {})</td></tr>",
            failures.connect,
            failures.length,
            failures.receive + failures.exceptions
        );
    }
    if facts.non_2xx() > 0 {
        table.row("Non-2xx responses", &facts.non_2xx().to_string());
    }
    if facts.options.keep_alive {
        table.row("Keep-Alive requests", &facts.kept_alive().to_string());
    }
    let bytes = &facts.result.bytes;
    table.row("Total transferred", &format!("{} bytes", bytes.received));
    if facts.options.sends_body {
        table.row("Total body sent", &bytes.sent.to_string());
    }
    table.row("HTML transferred", &format!("{} bytes", bytes.body_received));
}

fn rates(table: &mut Table<'_>, facts: &Facts<'_>) {
    let Some(per_s) = facts.per_s(facts.complete()) else { return };
    let bytes = &facts.result.bytes;
    let kilobytes_per_s = |bytes| facts.per_s(bytes).unwrap_or_default() / 1024.0;
    table.row("Requests per second", &format!("{per_s:.2}"));
    table.row("Transfer rate", &format!("{:.2} kb/s received", kilobytes_per_s(bytes.received)));
    if facts.options.sends_body {
        table.continued(&format!("{:.2} kb/s sent", kilobytes_per_s(bytes.sent)));
        table.continued(&format!("{:.2} kb/s total", kilobytes_per_s(bytes.received + bytes.sent)));
    }
}

fn times(table: &mut Table<'_>, facts: &Facts<'_>) {
    let Some(times) = facts.requests.times() else { return };
    let Attributes { row, cell, .. } = table.attributes;
    let _ = writeln!(
        table.text,
        "<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>\n\
         <tr {row}><th {cell}>&nbsp;</th> <th {cell}>min</th>   <th {cell}>avg</th>   <th {cell}>max</th></tr>"
    );
    table.times("Connect", &times.connect());
    table.times("Processing", &times.processing());
    table.times("Total", &times.total());
}

/// Text that a server or a person chose, as text of a page.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}
