//! Where metrics go, checked before the load.

use std::fmt;

use percent_encoding::percent_decode_str;
use prony_model::Problem;
use ureq::http::{HeaderName, HeaderValue};
use url::{Host, Url};

/// Headers that a receiver may need: credentials, a tenant.
const HEADERS_MAX: usize = 32;
/// Labels of a run: each is on every series.
const LABELS_MAX: usize = 32;
/// Bytes of a label's name or value.
const LABEL_BYTES_MAX: usize = 200;
/// Labels that Prony sets itself.
const OWN_LABELS: [&str; 10] =
    ["run", "target", "outcome", "good", "status", "kind", "quantile", "verdict", "severity", "le"];
/// Headers that the protocol sets.
const OWN_HEADERS: [&str; 8] = [
    "host",
    "connection",
    "content-length",
    "content-type",
    "content-encoding",
    "transfer-encoding",
    "user-agent",
    "x-prometheus-remote-write-version",
];

/// How metrics are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Prometheus remote write, version 1.
    RemoteWrite,
    /// OTLP over HTTP, in protobuf.
    Otlp,
}

impl Protocol {
    /// Where receivers listen, if a URL doesn't say.
    fn path(self) -> &'static str {
        match self {
            Self::RemoteWrite => "/api/v1/write",
            Self::Otlp => "/v1/metrics",
        }
    }

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::RemoteWrite => "Prometheus remote write",
            Self::Otlp => "OTLP",
        }
    }
}

/// A header of every request; its value is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    pub(crate) name: HeaderName,
    pub(crate) value: HeaderValue,
}

impl Header {
    /// `name: value`; an error never shows the value.
    pub fn new(name: &str, value: &str) -> Result<Self, Problem> {
        let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| {
            Problem::new("that is no name of a header", "write NAME: VALUE, one header a line")
        })?;
        if OWN_HEADERS.contains(&name.as_str()) {
            return Err(Problem::new(format!("the header `{name}` is set by the protocol"), "leave it out"));
        }
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| {
            Problem::new(
                format!("the value of the header `{name}` has characters that no header has"),
                "is it cut or quoted wrongly?",
            )
        })?;
        value.set_sensitive(true);
        Ok(Self { name, value })
    }

    /// Of a text with a header on each line, `NAME: VALUE`; empty lines and those with `#` in front are skipped.
    pub fn lines(text: &str) -> Result<Vec<Self>, Problem> {
        let lines =
            text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
        let headers = lines.map(|(line, number)| {
            let (name, value) = line.split_once(':').ok_or_else(|| {
                Problem::new("there is no colon", "write NAME: VALUE, one header a line")
                    .after(&format!("line {number}: "))
            })?;
            Self::new(name, value).map_err(|problem| problem.after(&format!("line {number}: ")))
        });
        bounded(headers.collect::<Result<Vec<_>, _>>()?)
    }

    /// Of OpenTelemetry's variables (`OTEL_EXPORTER_OTLP_HEADERS`): `name=value,name=value`, values percent-encoded.
    pub fn pairs(text: &str) -> Result<Vec<Self>, Problem> {
        let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
        let headers = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                Problem::new("a header has no `=`", "write NAME=VALUE, with commas between several")
            })?;
            Self::new(name, &percent_decode_str(value).decode_utf8_lossy())
        });
        bounded(headers.collect::<Result<Vec<_>, _>>()?)
    }

    /// Whether its name is that of a credential.
    fn is_secret(&self) -> bool {
        let name = self.name.as_str();
        ["authorization", "cookie", "key", "token", "secret"].iter().any(|word| name.contains(word))
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: [redacted]", self.name)
    }
}

fn bounded(headers: Vec<Header>) -> Result<Vec<Header>, Problem> {
    if headers.len() > HEADERS_MAX {
        let what = format!("{} headers are more than {HEADERS_MAX}", headers.len());
        return Err(Problem::new(what, "leave out what the receiver doesn't need"));
    }
    Ok(headers)
}

/// Whether `url` leads to this machine: what is sent there in the clear is read by nobody on the way.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Where metrics go.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub(crate) protocol: Protocol,
    pub(crate) url: String,
    pub(crate) headers: Vec<Header>,
    shown: String,
}

impl Endpoint {
    /// `text` is the URL; without a path, it gets that of the protocol.
    pub fn new(protocol: Protocol, text: &str, headers: Vec<Header>) -> Result<Self, Problem> {
        let example = format!("write it as http://127.0.0.1:9090{}", protocol.path());
        let wrong = |why: &str| Problem::new(format!("that is no address of a receiver ({why})"), &example);
        let mut url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("it has to begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Problem::new(
                "the URL has a user name or a password in it, which every process of this machine could read",
                "put a line `Authorization: Basic …` into a file for --push-headers",
            ));
        }
        if url.path() == "/" {
            url.set_path(protocol.path());
        }
        url.set_fragment(None);
        if url.scheme() == "http"
            && !is_this_machine(&url)
            && let Some(secret) = headers.iter().find(|header| header.is_secret())
        {
            let host = url.host_str().unwrap_or_default();
            let what = format!("the header `{}` would go to {host} in the clear", secret.name);
            return Err(Problem::new(what, "use https://"));
        }
        let mut shown = url.clone();
        shown.set_query(None);
        Ok(Self { protocol, url: url.into(), headers, shown: shown.into() })
    }

    /// What it is called in reports: without its query, which may have secrets.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// Labels of the whole run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels(Vec<(String, String)>);

impl Labels {
    /// Adds `name=value`.
    pub fn add(&mut self, text: &str) -> Result<(), Problem> {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Problem::new(format!("`{text}` is no label"), "write NAME=VALUE, such as --label version=1.2")
        })?;
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !name.starts_with("__")
        };
        let refuse = |what: String, advice: &str| Err(Problem::new(what, advice));
        if !is_name(name) {
            let advice = "use letters, digits and underscores, and no digit in front";
            return refuse(format!("`{name}` can't be the name of a label"), advice);
        }
        if OWN_LABELS.contains(&name) {
            return refuse(format!("the label `{name}` is Prony's own"), "use another name");
        }
        if name.len() > LABEL_BYTES_MAX || value.len() > LABEL_BYTES_MAX {
            return refuse(
                format!("the label `{name:.40}` is longer than {LABEL_BYTES_MAX} bytes"),
                "shorten it",
            );
        }
        if self.0.iter().any(|(known, _)| known == name) {
            return refuse(format!("the label `{name}` is given twice"), "give each name once");
        }
        if self.0.len() == LABELS_MAX {
            return refuse(
                format!("more than {LABELS_MAX} labels"),
                "each is on every series: leave some out",
            );
        }
        self.0.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(text: &str, headers: &str) -> Result<Endpoint, String> {
        let headers = Header::lines(headers).expect("headers");
        Endpoint::new(Protocol::Otlp, text, headers).map_err(|problem| problem.sentence())
    }

    #[test]
    fn a_url_without_a_path_gets_the_protocols() {
        let check = |text: &str, url: &str, shown: &str| {
            let found = endpoint(text, "").expect(text);
            assert_eq!((found.url.as_str(), found.shown()), (url, shown));
        };
        check("http://h:4318", "http://h:4318/v1/metrics", "http://h:4318/v1/metrics");
        check("https://h/own?key=1#x", "https://h/own?key=1", "https://h/own");
    }

    #[test]
    fn secrets_stay_out_of_urls_clear_text_and_errors() {
        let refused = |text: &str, headers: &str| endpoint(text, headers).expect_err(text);
        assert!(refused("http://me:pass@h/", "").contains("--push-headers"));
        assert!(refused("ftp://h/", "").contains("http:// or https://"));
        assert!(refused("nonsense", "").contains("no address of a receiver"));
        let why = refused("http://collector/", "X-Api-Key: geheim");
        assert!(why.contains("`x-api-key` would go to collector in the clear") && !why.contains("geheim"));
        endpoint("http://collector/", "X-Scope-OrgID: team").expect("a tenant is no secret");
        let local = endpoint("http://127.0.0.1/", "Authorization: Bearer geheim").expect("this machine");
        assert!(!format!("{local:?}").contains("geheim"));
    }

    #[test]
    fn headers_are_lines_or_pairs() {
        let names = |found: Vec<Header>| {
            found
                .iter()
                .map(|one| format!("{}={}", one.name, one.value.to_str().expect("text")))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(Header::lines("# mine\n\nA: b: c\r\nd:e\n").expect("two")), ["a=b: c", "d=e"]);
        assert_eq!(names(Header::pairs("a=b%20c%3D,d=Basic x=").expect("two")), ["a=b c=", "d=Basic x="]);
        for (text, expected) in
            [("a", "line 1: there is no colon"), ("\nHost: x", "line 2: the header `host`")]
        {
            let why = Header::lines(text).expect_err(text).to_string();
            assert!(why.starts_with(expected), "{why}");
        }
        let why = Header::pairs("a=x%0d%0ab: c").expect_err("a line break").to_string();
        assert!(why.contains("`a` has characters"), "{why}");
        let many = "h: x\n".repeat(33);
        Header::lines(&many).expect_err("too many");
    }

    #[test]
    fn labels_are_names_that_nobody_else_uses() {
        let mut labels = Labels::default();
        for good in ["version=1.2=rc", "Team_1=", "job=nightly"] {
            labels.add(good).expect(good);
        }
        let long = format!("a={}", "x".repeat(201));
        for bad in ["version", "version=2", "1a=x", "__name__=x", "a-b=x", "=x", "le=1", "run=x", &long] {
            labels.add(bad).expect_err(bad);
        }
        assert_eq!(labels.iter().next(), Some(("version", "1.2=rc")));
    }
}
