//! The report of ApacheBench (httpd 2.4's `ab`), line for line, so that what reads ab's output can read ours.
//!
//! [`head`] comes before the load, [`heartbeat`] says when to print the progress, [`Requests`] takes the single
//! requests in, and [`report`] draws them after it; [`csv`] and [`gnuplot`] are the files of `-e` and `-g`.
//! What ab's whole milliseconds hide is a finding: [`resolution`].
//!
//! Two things differ on purpose: the median is that of the sample (ab takes the wrong neighbours), and of the
//! HTML table's row “Processing” all three numbers are measured (ab subtracts one extreme from another).

mod files;
mod html;
mod notes;
mod requests;
mod text;
mod times;

pub use files::{csv, gnuplot};
pub use notes::{across_all, resolution};
pub use requests::{Failures, Requests};

use prony_model::RunResult;

use crate::clean;

/// ab's own version, which parsers look for.
const AB_VERSION: &str = "2.3";
/// ab prints nothing of its progress up to so many requests.
const QUIET_UP_TO: u64 = 150;
/// ab prints its progress after a tenth of the requests, but not more often than after so many.
const HEARTBEAT_AT_LEAST: u64 = 100;

/// What was asked of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of ab, and none depends on another")]
pub struct Options {
    /// Host of the URL.
    pub host: String,
    /// Port of the URL.
    pub port: u16,
    /// Path and query of the URL.
    pub path: String,
    /// The proxy in between, `HOST:PORT`.
    pub proxy: Option<String>,
    /// `-k`: whether connections were to be kept open.
    pub keep_alive: bool,
    /// `-p`, `-u`: whether a body was sent.
    pub sends_body: bool,
    /// Not `-d`: whether the percentiles are shown.
    pub percentiles: bool,
    /// Not `-S`: whether standard deviation, median and warnings are shown.
    pub confidence: bool,
    /// `-l`: whether bodies may differ in length.
    pub variable_length: bool,
    /// Whether progress is printed on stderr; see [`heartbeat`].
    pub progress: bool,
    /// `-w`: HTML instead of text.
    pub html: Option<Attributes>,
}

/// The attributes of the HTML table's elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    /// `-x`, of the table.
    pub table: String,
    /// `-y`, of its rows.
    pub row: String,
    /// `-z`, of its cells.
    pub cell: String,
}

impl Default for Attributes {
    /// What ab writes when nobody says otherwise.
    fn default() -> Self {
        Self { table: String::new(), row: String::new(), cell: "bgcolor=white".to_owned() }
    }
}

/// After how many requests ab prints its progress; `None` where a run of `requests` is too short for that.
pub fn heartbeat(requests: u64) -> Option<u64> {
    (requests > QUIET_UP_TO).then(|| (requests / 10).max(HEARTBEAT_AT_LEAST))
}

/// The three lines that name the program; `program` is Prony with its version.
pub fn banner(program: &str, html: bool) -> String {
    if html {
        return html::banner(program);
    }
    format!(
        "This is ApacheBench, Version {AB_VERSION} <{program}>\n\
         Measured by Prony, which is not ApacheBench but writes its report\n\
         Prony's own verdict and findings go to stderr\n\n"
    )
}

/// What stands on stdout before the load: the banner, and what is loaded.
pub fn head(program: &str, options: &Options) -> String {
    let banner = banner(program, options.html.is_some());
    if options.html.is_some() {
        return banner;
    }
    let proxy = options.proxy.as_ref().map(|proxy| format!("[through {proxy}] ")).unwrap_or_default();
    let end = if options.progress { "\n" } else { "..." };
    format!("{banner}Benchmarking {} {proxy}(be patient){end}", clean(&options.host))
}

/// What stands on stdout after the load.
pub fn report(result: &RunResult, requests: &Requests, options: &Options) -> String {
    let done = if options.progress { "" } else { "..done\n" };
    let facts = Facts { result, requests, options };
    let report = match &options.html {
        None => text::report(&facts),
        Some(attributes) => html::report(&facts, attributes),
    };
    format!("{done}\n\n{report}")
}

/// All that a report is made of.
struct Facts<'a> {
    result: &'a RunResult,
    requests: &'a Requests,
    options: &'a Options,
}

impl Facts<'_> {
    /// ab's clock runs until the last answer is in: the measured part and the wait for what was outstanding.
    fn took_s(&self) -> f64 {
        self.result.timing.measured_s + self.result.timing.drain_s
    }

    /// What the server calls itself, up to the first space, as ab reads it.
    fn server(&self) -> String {
        let server = self.result.first_response.as_ref().and_then(|first| first.server.as_deref());
        clean(server.and_then(|server| server.split_whitespace().next()).unwrap_or_default())
    }

    /// `Variable`, or the length of the first body.
    fn document_length(&self) -> String {
        if self.options.variable_length {
            "Variable".to_owned()
        } else {
            format!("{} bytes", self.requests.document_bytes().unwrap_or_default())
        }
    }

    /// ab's connections, which it calls concurrency.
    fn concurrency(&self) -> u32 {
        self.result.plan.load.connections()
    }

    /// Answers of a status that is not 2xx.
    fn non_2xx(&self) -> u64 {
        let others = self.result.statuses.iter().filter(|(status, _)| !(200..=299).contains(*status));
        others.map(|(_, count)| count).sum()
    }

    /// Answers after which the connection stayed open.
    fn kept_alive(&self) -> u64 {
        self.result.requests.answered.saturating_sub(self.result.connections.closed_by_server)
    }

    /// Requests that ended, but for those that found no connection.
    fn complete(&self) -> u64 {
        self.requests.complete()
    }

    /// What failed in ab's sense: an unexpected status is no failure there.
    fn failures(&self) -> Failures {
        self.requests.failures(self.options.variable_length)
    }

    /// Per second of [`Self::took_s`]; ab leaves rates out where nothing was done.
    fn per_s(&self, count: u64) -> Option<f64> {
        let took_s = self.took_s();
        (took_s > 0.0 && self.complete() > 0).then(|| count as f64 / took_s)
    }
}
