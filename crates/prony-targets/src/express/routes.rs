//! What each request gets.

use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::mpsc::Sender;

use super::database::{Job, Outcome};
use super::error::Failure;
use super::queries::Answer;
use super::reply::{Page, Replies, cannot};
use crate::service::{Mailbox, Owed, Request, Service, Then};

/// What is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Hello,
    NewConnection,
    Pooled,
    PooledAtOnce,
    Users,
    UsersAtOnce,
    Promise,
}

const ROUTES: [(&str, Route); 7] = [
    ("/", Route::Hello),
    ("/pg1", Route::NewConnection),
    ("/pg2", Route::Pooled),
    ("/pg3", Route::PooledAtOnce),
    ("/seq1", Route::Users),
    ("/seq2", Route::UsersAtOnce),
    ("/promise", Route::Promise),
];

impl Route {
    /// As Express compares: in any case, and with a slash behind it or not.
    fn of(path: &str) -> Option<Self> {
        let path = path.strip_suffix('/').filter(|rest| rest.len() > 1).unwrap_or(path);
        ROUTES.iter().find(|(known, _)| known.eq_ignore_ascii_case(path)).map(|(_, route)| *route)
    }

    /// What its requests wait for before the query.
    fn waits_for(self) -> &'static str {
        if self == Self::NewConnection { "connect" } else { "pool" }
    }
}

/// One worker's service.
#[derive(Debug)]
pub(super) struct Express {
    /// Where requests go that need time or the database.
    pub(super) jobs: Sender<Job>,
    pub(super) mailbox: Arc<Mailbox<Outcome>>,
    pub(super) replies: Replies,
    /// An error has the status of an error.
    pub(super) errors_500: bool,
}

impl Service for Express {
    type Outcome = Outcome;
    type Stream = Infallible;

    fn answer(&mut self, request: &Request<'_>, out: &mut Vec<u8>) -> Then<Infallible> {
        let target = request.path_and_query();
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        let (owed, known) = (request.owed, request.if_none_match);
        match (Route::of(path), request.verb) {
            (Some(Route::Hello), "GET" | "HEAD") => {
                self.replies.write(&Page::text("Hello World!"), owed, known, out);
            }
            (Some(route), "GET" | "HEAD") => return self.hand_over(route, request, out),
            (Some(_), "OPTIONS") => {
                let page = Page { fields: "Allow: GET,HEAD\r\n", ..Page::text("GET,HEAD") };
                self.replies.write(&page, owed, None, out);
            }
            (_, verb) => self.replies.write(&Page::missing(&cannot(verb, path)), owed, None, out),
        }
        Then::Next
    }

    fn conclude(&mut self, outcome: Outcome, owed: Owed, out: &mut Vec<u8>) {
        let Outcome { route, answer, spans, if_none_match } = outcome;
        let spans = spans.map(|spans| (route.waits_for(), spans));
        let failed;
        let page = match &answer {
            Ok(Answer::Text(body)) => Page::text(body),
            Ok(Answer::Json(body)) => Page::json(body),
            Err(failure) => {
                failed = failure.body();
                Page { status: self.status_of(failure), ..Page::json(&failed) }
            }
        };
        self.replies.write(&Page { spans, ..page }, owed, if_none_match.as_deref(), out);
    }
}

impl Express {
    fn hand_over(&mut self, route: Route, request: &Request<'_>, out: &mut Vec<u8>) -> Then<Infallible> {
        let if_none_match = request.if_none_match.map(Box::from);
        let job = Job { route, ticket: request.from, mailbox: Arc::clone(&self.mailbox), if_none_match };
        if self.jobs.try_send(job).is_ok() {
            return Then::Later;
        }
        let failure = Failure::busy();
        let body = failure.body();
        let page = Page { status: self.status_of(&failure), ..Page::json(&body) };
        self.replies.write(&page, request.owed, None, out);
        Then::Next
    }

    /// The original answers errors as if they were none.
    fn status_of(&self, failure: &Failure) -> &'static str {
        if self.errors_500 { failure.status } else { "200 OK" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_as_express_does() {
        let check = |path, expected| assert_eq!(Route::of(path), expected, "{path}");
        check("/", Some(Route::Hello));
        check("/PG2", Some(Route::Pooled));
        check("/seq1/", Some(Route::Users));
        check("/seq1//", None);
        check("//", None);
        check("", None);
        check("/pg", None);
    }
}
