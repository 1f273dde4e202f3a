//! Monitors: URLs that are checked on a schedule.

use std::time::Duration;

use prony_model::{Target, TlsChoices, parse_duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::build::email;
use super::{Contradiction, FieldMistake, MonitorId, Name};
use crate::clock::Moment;

/// More often is a load, and that is what a run is for.
const LEAST_EVERY: Duration = Duration::from_secs(5);
/// Less often is of no use.
const EVERY_MAX: Duration = Duration::from_hours(24);
/// The default interval.
const EVERY: Duration = Duration::from_mins(1);
/// Who waits longer has left.
const TIMEOUT_MAX: Duration = Duration::from_secs(30);
/// The default timeout of an answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The default number of failures in a row before an alert: one alone may be a packet that got lost.
const FAIL_AFTER: u32 = 3;
/// An alert that needs more comes too late.
const FAIL_AFTER_MAX: u32 = 100;

/// What a monitor is asked to be, as a form or a script says it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MonitorRequest {
    /// Its name.
    pub name: String,
    /// What is looked at.
    pub url: String,
    /// How often, such as `60s`; empty is once a minute.
    pub every: String,
    /// How long an answer may take, such as `10s`; empty is ten seconds.
    pub timeout: String,
    /// So many failures in a row raise an alert; empty is 3.
    pub fail_after: String,
    /// The status that is good; empty is any from 200 to 399.
    pub expected_status: String,
    /// Who is notified of alerts; empty is nobody.
    pub email: String,
    /// The authority to trust instead of the public ones, by its name in the target policy; empty is the public ones.
    pub cacert: String,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// The name to ask for and to verify; empty is the URL's host.
    pub sni: String,
}

/// A URL that is looked at on a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Monitor {
    /// Its number; 0 before it has one.
    pub id: MonitorId,
    /// Its name.
    pub name: String,
    /// What is looked at.
    pub url: String,
    /// How often, milliseconds.
    pub every_ms: u64,
    /// How long an answer may take, milliseconds.
    pub timeout_ms: u64,
    /// So many failures in a row raise an alert.
    pub fail_after: u32,
    /// The status that is good; absent: any from 200 to 399.
    pub expected_status: Option<u16>,
    /// Who is notified of alerts.
    pub email: Option<String>,
    /// How an https server is reached.
    #[serde(default)]
    pub tls: MonitorTls,
    /// Who asked for it.
    pub created_by: String,
    /// When.
    pub created_at: Moment,
}

/// How an https server is reached, where that is not the usual way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MonitorTls {
    /// The authority to trust instead of the public ones, by its name in the target policy.
    pub cacert: Option<String>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// The name to ask for and to verify instead of the URL's host.
    pub sni: Option<String>,
}

/// One look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// When it began.
    pub at: Moment,
    /// Whether the answer was good.
    pub is_good: bool,
    /// Its status.
    pub status: Option<u16>,
    /// From the start, with name and connection, to the head of the answer, microseconds.
    pub latency_us: Option<u64>,
    /// Why there was no answer.
    pub error: Option<String>,
}

impl Monitor {
    /// How often.
    pub fn every(&self) -> Duration {
        Duration::from_millis(self.every_ms)
    }

    /// How long an answer may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Whether an answer with `status` is good.
    pub fn is_good(&self, status: u16) -> bool {
        self.expected_status.map_or((200..400).contains(&status), |expected| status == expected)
    }
}

impl Check {
    /// What came, for people.
    pub fn words(&self) -> String {
        match (&self.error, self.status) {
            (Some(error), _) => error.clone(),
            (None, Some(status)) => format!("status {status}"),
            (None, None) => "nothing".to_owned(),
        }
    }
}

impl MonitorRequest {
    /// The monitor that this asks for.
    pub fn checked(&self, by: &str, now: Moment) -> Result<Monitor, Contradiction> {
        let mut mistakes = Vec::new();
        let mut kept = |field: &str, message: String| {
            mistakes.push(FieldMistake { field: field.to_owned(), message });
        };
        let name = self.name.trim().parse::<Name>().map_err(|error| kept("name", error.to_string())).ok();
        let url = super::check_url(&self.url).map_err(|error| kept("url", error)).ok();
        let every =
            time(&self.every, EVERY, LEAST_EVERY, EVERY_MAX).map_err(|error| kept("every", error)).ok();
        let least = Duration::from_millis(1);
        let timeout =
            time(&self.timeout, TIMEOUT, least, TIMEOUT_MAX).map_err(|error| kept("timeout", error)).ok();
        let fail_after =
            number(&self.fail_after, 1, FAIL_AFTER_MAX).map_err(|error| kept("fail_after", error)).ok();
        let expected_status =
            number(&self.expected_status, 100, 599).map_err(|error| kept("expected_status", error)).ok();
        let email = email(&self.email).map_err(|error| kept("email", error)).ok();
        let tls = url.as_deref().map(|url| self.tls(url).map_err(|(field, error)| kept(&field, error)).ok());
        let (Some(name), Some(url), Some(every), Some(timeout)) = (name, url, every, timeout) else {
            return Err(mistakes);
        };
        let (Some(fail_after), Some(expected_status), Some(email), Some(tls)) =
            (fail_after, expected_status, email, tls.flatten())
        else {
            return Err(mistakes);
        };
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Ok(Monitor {
            id: MonitorId(0),
            name: name.to_string(),
            url,
            every_ms: millis(every),
            timeout_ms: millis(timeout),
            fail_after: fail_after.unwrap_or(FAIL_AFTER),
            expected_status: expected_status.and_then(|status| u16::try_from(status).ok()),
            email,
            tls,
            created_by: by.to_owned(),
            created_at: now,
        })
    }
}

impl MonitorRequest {
    /// How `url` is reached, by the rules of `prony run`; else the field that is wrong, and why.
    fn tls(&self, url: &str) -> Result<MonitorTls, (String, String)> {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let (cacert, sni) = (given(&self.cacert), given(&self.sni));
        let target = Target::parse(url).map_err(|error| ("url".to_owned(), error.to_string()))?;
        let choices = TlsChoices {
            ca_files: cacert.iter().map(Into::into).collect(),
            insecure: self.insecure,
            server_name: sni.clone(),
            ..TlsChoices::default()
        };
        choices.applied_to(target).map_err(|error| {
            let problem = error.problem(str::to_owned);
            (problem.field.clone().unwrap_or_else(|| "url".to_owned()), problem.to_string())
        })?;
        Ok(MonitorTls { cacert, insecure: self.insecure, sni })
    }
}

impl MonitorTls {
    /// What is not usual about it, for people; empty where nothing is.
    pub fn words(&self) -> String {
        let parts = [
            self.insecure.then(|| "the certificate is not verified".to_owned()),
            self.cacert.as_ref().map(|name| format!("trusts the authority {name} alone")),
            self.sni.as_ref().map(|name| format!("asks for the name {name}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

fn time(text: &str, default: Duration, least: Duration, most: Duration) -> Result<Duration, String> {
    if text.trim().is_empty() {
        return Ok(default);
    }
    let found = parse_duration(text.trim()).map_err(|error| error.to_string())?;
    if (least..=most).contains(&found) {
        Ok(found)
    } else {
        Err(format!("at least {}s and at most {}s", least.as_secs_f64(), most.as_secs()))
    }
}

/// `None` for an empty text.
fn number(text: &str, least: u32, most: u32) -> Result<Option<u32>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let found = text.trim().parse().ok().filter(|number| (least..=most).contains(number));
    found.map(Some).ok_or_else(|| format!("write a number from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> MonitorRequest {
        MonitorRequest {
            name: "home".to_owned(),
            url: "http://a.example/".to_owned(),
            ..MonitorRequest::default()
        }
    }

    #[test]
    fn a_short_request_has_every_default() {
        let monitor = request().checked("kim", Moment(1)).expect("good");
        assert_eq!((monitor.every(), monitor.timeout(), monitor.fail_after), (EVERY, TIMEOUT, FAIL_AFTER));
        assert!(monitor.is_good(204) && monitor.is_good(301) && !monitor.is_good(404));
        let exact =
            MonitorRequest { expected_status: "404".to_owned(), ..request() }.checked("kim", Moment(1));
        assert!(exact.is_ok_and(|monitor| monitor.is_good(404) && !monitor.is_good(200)));
    }

    #[test]
    fn mistakes_stand_beside_their_fields() {
        let wrong = MonitorRequest {
            name: "A b".to_owned(),
            url: "a".to_owned(),
            every: "1ms".to_owned(),
            timeout: "9h".to_owned(),
            fail_after: "0".to_owned(),
            expected_status: "ok".to_owned(),
            email: "kim".to_owned(),
            ..MonitorRequest::default()
        };
        let mistakes = wrong.checked("kim", Moment(1)).expect_err("wrong");
        let fields: Vec<_> = mistakes.iter().map(|mistake| mistake.field.as_str()).collect();
        assert_eq!(fields, ["name", "url", "every", "timeout", "fail_after", "expected_status", "email"]);
    }

    #[test]
    fn tls_is_for_https_and_says_what_it_does() {
        let secure = |change: &dyn Fn(&mut MonitorRequest)| {
            let mut request = MonitorRequest { url: "https://a.example/".to_owned(), ..request() };
            change(&mut request);
            request.checked("kim", Moment(1))
        };
        assert_eq!(secure(&|_| {}).map(|monitor| monitor.tls), Ok(MonitorTls::default()));
        let all = secure(&|request| {
            (request.cacert, request.sni) = (" inner ".to_owned(), "b.example".to_owned());
        });
        let words = all.expect("good").tls.words();
        assert_eq!(words, "trusts the authority inner alone, asks for the name b.example");
        let insecure = secure(&|request| request.insecure = true).expect("good");
        assert_eq!(insecure.tls.words(), "the certificate is not verified");

        let field = |change: &dyn Fn(&mut MonitorRequest)| {
            let mistakes = secure(change).expect_err("wrong");
            assert_eq!(mistakes.len(), 1, "{mistakes:?}");
            mistakes[0].field.clone()
        };
        assert_eq!(field(&|request| request.sni = "a b".to_owned()), "sni");
        assert_eq!(
            field(&|request| (request.insecure, request.cacert) = (true, "inner".to_owned())),
            "insecure"
        );
        for name in ["cacert", "insecure", "sni"] {
            let plain = |request: &mut MonitorRequest| {
                request.url = "http://a.example/".to_owned();
                match name {
                    "cacert" => request.cacert = "inner".to_owned(),
                    "insecure" => request.insecure = true,
                    _ => request.sni = "b.example".to_owned(),
                }
            };
            assert_eq!(field(&plain), name);
        }
    }

    #[test]
    fn a_monitor_without_tls_goes_on_being_read() {
        let old = r#"{"id": 1, "name": "home", "url": "http://a/", "every_ms": 1, "timeout_ms": 1, "fail_after": 1,
            "expected_status": null, "email": null, "created_by": "kim", "created_at": 1}"#;
        let read: Monitor = serde_json::from_str(old).expect("a monitor");
        assert_eq!(read.tls, MonitorTls::default());
    }
}
