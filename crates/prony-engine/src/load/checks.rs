//! What makes a response good.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prony_model::{BodyCheck, Checks, ErrorKind, Outcome, StatusClass};
use regex::bytes::Regex;

use crate::RunError;
use crate::record::failure_detail::Detail;

/// Bodies up to this size are checked; a longer one fails the check, with this as the reason.
pub(crate) const BODY_MAX_BYTES: usize = 16 * 1024 * 1024;

/// The checks of one run, as each worker holds them.
#[derive(Clone)]
pub(crate) struct Checker {
    /// Whether a status is good, by status code.
    good: Box<[bool; 600]>,
    body: Option<Matcher>,
    /// Whether every body must be as long as the first one.
    same_length: bool,
    /// The length of the first good body of the run, over all workers.
    first_length: Arc<AtomicU64>,
    /// The same, once this worker knows it.
    known_length: u64,
}

#[derive(Clone)]
enum Matcher {
    Exact(Arc<[u8]>),
    Regex(Regex),
}

/// No body was seen yet.
const UNKNOWN: u64 = u64::MAX;

impl Checker {
    /// Prepares `checks`.
    pub(crate) fn new(checks: &Checks) -> Result<Self, RunError> {
        let mut good = Box::new([false; 600]);
        for (status, good) in good.iter_mut().enumerate() {
            *good = u16::try_from(status).is_ok_and(|status| checks.status.contains(status));
        }
        let body = match &checks.body {
            None => None,
            Some(BodyCheck::Exact(text)) => Some(Matcher::Exact(text.as_bytes().into())),
            Some(BodyCheck::Regex(pattern)) => {
                Some(Matcher::Regex(Regex::new(pattern).map_err(|error| RunError::Check(reason(&error)))?))
            }
        };
        Ok(Self {
            good,
            body,
            same_length: checks.same_length,
            first_length: Arc::new(AtomicU64::new(UNKNOWN)),
            known_length: UNKNOWN,
        })
    }

    /// Whether the body must be kept until the response is complete.
    #[inline]
    pub(crate) fn needs_body(&self) -> bool {
        self.body.is_some()
    }

    /// Evaluates a complete response; `body` is all of it where [`Self::needs_body`].
    #[inline]
    pub(crate) fn evaluate(&self, status: u16, body_bytes: u64, body: &[u8]) -> (Outcome, Detail) {
        let class = StatusClass::of(status);
        if !self.good.get(usize::from(status)).copied().unwrap_or(false) {
            return (Outcome::UnexpectedStatus(class), Detail::Status(status));
        }
        if self.body.is_none() && !self.same_length {
            return (Outcome::Done(class), Detail::None);
        }
        match self.failure(body_bytes, body) {
            None => (Outcome::Done(class), Detail::None),
            Some(detail) => (Outcome::Failed(ErrorKind::CheckFailed), detail),
        }
    }

    fn failure(&self, body_bytes: u64, body: &[u8]) -> Option<Detail> {
        let good = match &self.body {
            None => true,
            Some(_) if body_bytes > BODY_MAX_BYTES as u64 => return Some(Detail::BodyTooLong(body_bytes)),
            Some(Matcher::Exact(expected)) => **expected == *body,
            Some(Matcher::Regex(pattern)) => pattern.is_match(body),
        };
        if !good {
            return Some(Detail::body(body));
        }
        if !self.same_length {
            return None;
        }
        let expected = self.first_or(body_bytes);
        (expected != body_bytes).then_some(Detail::Length { expected, got: body_bytes })
    }

    /// The length of the first good body, if the length of this one differs from it.
    #[inline]
    pub(crate) fn other_length(&mut self, body_bytes: u64) -> Option<u64> {
        if body_bytes == self.known_length {
            return None;
        }
        self.known_length = self.first_or(body_bytes);
        (self.known_length != body_bytes).then_some(self.known_length)
    }

    /// The length of the first good body: this one's if there was none before.
    fn first_or(&self, body_bytes: u64) -> u64 {
        let first = &self.first_length;
        match first.compare_exchange(UNKNOWN, body_bytes, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => body_bytes,
            Err(first) => first,
        }
    }
}

/// Why a pattern is none, on one line: the error draws the pattern and a mark below it first.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use prony_model::StatusSet;

    use super::*;

    fn check(checks: &Checks, responses: &[(u16, &str)], expected: &[Option<ErrorKind>]) {
        let checker = Checker::new(checks).expect("the checks are sound");
        let got: Vec<Option<ErrorKind>> = responses
            .iter()
            .map(|(status, body)| {
                checker.evaluate(*status, body.len() as u64, body.as_bytes()).0.error_kind()
            })
            .collect();
        assert_eq!(got, expected, "{checks:?}");
    }

    #[test]
    fn statuses() {
        let status = Some(ErrorKind::Status);
        check(
            &Checks::default(),
            &[(200, ""), (302, ""), (404, ""), (500, "")],
            &[None, None, status, status],
        );
        let checks = Checks { status: StatusSet::parse("404").expect("a set"), ..Checks::default() };
        check(&checks, &[(200, ""), (404, "")], &[status, None]);
    }

    #[test]
    fn lengths_are_compared_with_the_first_one_of_all_workers() {
        let mut first = Checker::new(&Checks::default()).expect("the checks are sound");
        let mut second = first.clone();
        let check = |checker: &mut Checker, body_bytes: u64, expected: Option<u64>| {
            assert_eq!(checker.other_length(body_bytes), expected, "{body_bytes}");
        };
        check(&mut first, 5, None);
        check(&mut second, 7, Some(5));
        check(&mut second, 5, None);
        check(&mut first, 0, Some(5));
    }

    #[test]
    fn a_failed_check_is_a_failure_also_with_status_200() {
        let failed = Some(ErrorKind::CheckFailed);
        let checks = Checks { body: Some(BodyCheck::Exact("ok".to_owned())), ..Checks::default() };
        check(&checks, &[(200, "ok"), (200, "ok "), (200, "")], &[None, failed, failed]);
        let checks = Checks { body: Some(BodyCheck::Regex("^o+k".to_owned())), ..Checks::default() };
        check(&checks, &[(200, "ook!"), (200, "k")], &[None, failed]);
        let checks = Checks { same_length: true, ..Checks::default() };
        check(&checks, &[(200, "four"), (200, "4444"), (200, "five5")], &[None, None, failed]);
    }
}
