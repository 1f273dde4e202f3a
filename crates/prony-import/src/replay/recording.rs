//! What comes out of a file: requests with their moments, and what of the file is not among them.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{FeedRowsError, Problem, RecordedArrivals, Replay, is_token};

use super::requests::{Requests, target};
use super::stamp::Stamp;

/// Methods that are counted by name when they are left out.
const METHODS_MAX: usize = 20;
/// Marks a status whose line has a stamp of whole seconds.
const WHOLE_SECOND: u16 = 1 << 15;

/// Which requests are replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// These methods; all, if there is none.
    pub methods: Vec<String>,
    /// From this moment on, nanoseconds since 1970.
    pub since: Option<i64>,
    /// Before this one.
    pub until: Option<i64>,
    /// As long as this from the first one on.
    pub length: Option<Duration>,
    /// Of an archive, requests to these hosts; without any, to that of its first request.
    pub hosts: Vec<String>,
}

impl Default for Selection {
    /// GET and HEAD: what changes nothing at the server.
    fn default() -> Self {
        Self {
            methods: vec!["GET".to_owned(), "HEAD".to_owned()],
            since: None,
            until: None,
            length: None,
            hosts: Vec::new(),
        }
    }
}

/// A recording in memory: 14 bytes for each request, 18 where the log says how long each took.
#[derive(Debug, Default)]
pub struct Recording {
    /// What the file was read as.
    pub format: String,
    /// The distinct requests.
    pub(super) requests: Requests,
    /// By line: when the request ended (or began, in an archive), nanoseconds since 1970.
    pub(super) stamps: Vec<i64>,
    /// By line: which request it is.
    pub(super) request_of: Vec<u32>,
    /// By line: its status, 0 for none, and [`WHOLE_SECOND`].
    statuses: Vec<u16>,
    /// By line: how long it took, microseconds up to 71 minutes; empty where no line says.
    took: Vec<u32>,
    /// Lines or entries of the file.
    pub lines: u64,
    /// Those that are not replayed, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// The first lines that can't be read, from 1.
    pub unreadable_lines: Vec<u64>,
    /// Lines with an earlier stamp than the one before.
    pub out_of_order: u64,
    /// The furthest of them, nanoseconds.
    pub jump_back: i64,
    last_stamp: Option<i64>,
}

/// A request as a file has it.
pub(super) struct Recorded<'a> {
    pub(super) stamp: Stamp,
    pub(super) method: &'a str,
    pub(super) target: &'a [u8],
    /// Further values of an archive.
    pub(super) values: &'a [&'a [u8]],
    pub(super) status: u16,
    /// How long it took, nanoseconds, where the stamp is of its end.
    pub(super) took: Option<u64>,
}

impl Recording {
    /// Nothing yet, of requests with so many values beside their target.
    pub(super) fn new(format: &str, values: usize) -> Self {
        Self { format: format.to_owned(), requests: Requests::new(values + 1), ..Self::default() }
    }

    /// How many requests there are.
    pub fn len(&self) -> usize {
        self.stamps.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.stamps.is_empty()
    }

    /// Whether a request's moment within its second is unknown.
    pub(super) fn is_whole_second(&self, row: usize) -> bool {
        self.statuses[row] & WHOLE_SECOND != 0
    }

    /// How long it took, nanoseconds.
    pub(super) fn took(&self, row: usize) -> i64 {
        self.took.get(row).map_or(0, |micros| i64::from(*micros) * 1000)
    }

    /// A line is not replayed.
    pub(super) fn leave_out(&mut self, reason: impl Into<String>) {
        *self.left_out.entry(reason.into()).or_default() += 1;
    }

    /// A line can't be read.
    pub(super) fn unreadable(&mut self, number: u64) {
        self.leave_out("not in the format");
        if self.unreadable_lines.len() < Replay::UNREADABLE_MAX {
            self.unreadable_lines.push(number);
        }
    }

    /// Adds a request, or counts why it is left out.
    ///
    /// # Errors
    /// More than can be kept in memory.
    pub(super) fn add(&mut self, recorded: &Recorded<'_>, selection: &Selection) -> Result<(), Problem> {
        let nanos = recorded.stamp.nanos;
        if let Some(jump) = self.last_stamp.map(|last| last - nanos).filter(|jump| *jump > 0) {
            self.out_of_order += 1;
            self.jump_back = self.jump_back.max(jump);
        }
        self.last_stamp = Some(nanos);
        if selection.since.is_some_and(|since| nanos < since)
            || selection.until.is_some_and(|until| nanos >= until)
        {
            self.leave_out("outside of the window");
            return Ok(());
        }
        let target = match target(recorded.target) {
            Ok(target) => target,
            Err(reason) => {
                self.leave_out(reason);
                return Ok(());
            }
        };
        let method = if recorded.method.is_empty() { "GET" } else { recorded.method };
        if !is_token(method) || method.len() > 16 {
            self.leave_out("no request in the line");
            return Ok(());
        }
        if !selection.methods.is_empty() && !selection.methods.iter().any(|wanted| wanted == method) {
            let named = format!("method {method}");
            let is_known = self.left_out.len() < METHODS_MAX || self.left_out.contains_key(&named);
            self.leave_out(if is_known { named } else { "other methods".to_owned() });
            return Ok(());
        }
        if self.len() >= RecordedArrivals::COUNT_MAX {
            let what = format!("more than {} requests", RecordedArrivals::COUNT_MAX);
            return Err(Problem::new(what, "choose a part of them, with --since, --until or --for"));
        }
        let values: Vec<&[u8]> = [&*target].into_iter().chain(recorded.values.iter().copied()).collect();
        let request = self.requests.add(method, &values).map_err(|error| match error {
            FeedRowsError::TooLarge => Problem::new(
                "the distinct requests have more than 256 MiB",
                "choose a part of them, with --since, --until or --for",
            ),
            FeedRowsError::Uneven { values, columns } => Problem::new(
                format!("{values} values for {columns} columns"),
                "this is a fault of prony: report it",
            ),
        })?;
        if let Some(took) = recorded.took {
            self.took.resize(self.len(), 0);
            self.took.push(u32::try_from(took / 1000).unwrap_or(u32::MAX));
        } else if !self.took.is_empty() {
            self.took.push(0);
        }
        let mark = if recorded.stamp.is_whole_second { WHOLE_SECOND } else { 0 };
        self.statuses.push(recorded.status | mark);
        self.stamps.push(nanos);
        self.request_of.push(request);
        Ok(())
    }

    /// All was read: what is beyond the length that was asked for is left out, too.
    pub(super) fn finish(&mut self, selection: &Selection) {
        let Some(first) = self.stamps.iter().min().copied() else { return };
        let Some(length) = selection.length else { return };
        let end = first.saturating_add(i64::try_from(length.as_nanos()).unwrap_or(i64::MAX));
        let kept: Vec<bool> = self.stamps.iter().map(|stamp| *stamp < end).collect();
        let before = self.len();
        let mut keep = kept.iter();
        self.stamps.retain(|_| *keep.next().unwrap_or(&true));
        let mut keep = kept.iter();
        self.request_of.retain(|_| *keep.next().unwrap_or(&true));
        let mut keep = kept.iter();
        self.statuses.retain(|_| *keep.next().unwrap_or(&true));
        let mut keep = kept.iter();
        self.took.retain(|_| *keep.next().unwrap_or(&true));
        let cut = before - self.len();
        if cut > 0 {
            *self.left_out.entry("outside of the window".to_owned()).or_default() += cut as u64;
        }
    }

    /// Moves the requests into the order of `order`, which names each row once.
    pub(super) fn reorder(&mut self, order: &[u32]) {
        fn by<T: Copy>(values: &mut Vec<T>, order: &[u32]) {
            if !values.is_empty() {
                *values = order.iter().map(|row| values[*row as usize]).collect();
            }
        }
        by(&mut self.stamps, order);
        by(&mut self.request_of, order);
        by(&mut self.statuses, order);
        by(&mut self.took, order);
    }

    /// Moments, requests, statuses and the distinct requests.
    pub(super) fn into_parts(mut self) -> (Vec<i64>, Vec<u32>, Vec<u16>, Requests) {
        self.statuses.iter_mut().for_each(|status| *status &= !WHOLE_SECOND);
        (self.stamps, self.request_of, self.statuses, self.requests)
    }
}
