//! A line of a log that is an object of JSON: what nginx, Caddy, Traefik, Envoy and most frameworks call its parts.

use serde_json::{Map, Value};

use super::lines::{Parts, seconds, status};
use super::stamp::stamp;

const TIMES: [&str; 11] = [
    "time",
    "timestamp",
    "@timestamp",
    "time_iso8601",
    "time_local",
    "ts",
    "msec",
    "StartUTC",
    "start_time",
    "date",
    "datetime",
];
const METHODS: [&str; 6] = ["method", "request_method", "http_method", "verb", "RequestMethod", "httpMethod"];
const TARGETS: [&str; 8] =
    ["request_uri", "uri", "path", "url", "target", "RequestPath", "original_path", "requestUrl"];
const QUERIES: [&str; 4] = ["args", "query", "query_string", "querystring"];
const STATUSES: [&str; 6] =
    ["status", "status_code", "response_code", "DownstreamStatus", "code", "statusCode"];

/// Reads `line`; `None` if it is no object with a time and a request.
pub(super) fn read(line: &[u8]) -> Option<Parts<'static>> {
    let Value::Object(object) = serde_json::from_slice(line).ok()? else { return None };
    // Caddy has the request in an object of its own, and so has Google's format.
    let inner = ["request", "httpRequest"].iter().find_map(|key| object.get(*key)?.as_object());
    let text =
        |object: &Map<String, Value>, keys: &[&str]| keys.iter().find_map(|key| as_text(object.get(*key)?));
    let bytes = |keys: &[&str]| {
        let found = inner.and_then(|inner| text(inner, keys)).or_else(|| text(&object, keys));
        found.map(|text| text.into_bytes().into())
    };
    let status_text = text(&object, &STATUSES).or_else(|| text(inner?, &STATUSES));
    Some(Parts {
        stamp: Some(stamp(&text(&object, &TIMES)?)?),
        request: object.get("request").and_then(Value::as_str).map(|line| line.as_bytes().to_vec().into()),
        method: bytes(&METHODS),
        target: bytes(&TARGETS),
        query: bytes(&QUERIES).filter(|query: &std::borrow::Cow<'_, [u8]>| !matches!(&**query, b"" | b"-")),
        status: status_text.as_deref().map_or(Some(0), status)?,
        // Only where the unit is known.
        took: text(&object, &["request_time"])
            .or_else(|| inner.and_then(|_| text(&object, &["duration"])))
            .and_then(|took| seconds(&took)),
    })
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::LogFormat;
    use super::super::lines;

    #[track_caller]
    fn check(line: &str, expected: Option<(&str, &str, u16, Option<u64>)>) {
        let found = lines::read(&LogFormat::Json, line.as_bytes());
        let found = found.as_ref().map(|line| {
            (line.method.as_ref(), std::str::from_utf8(&line.target).expect("text"), line.status, line.took)
        });
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn objects_of_several_servers() {
        check(
            r#"{"time_local":"10/Oct/2000:13:55:36 -0700","request":"GET /a?b=1 HTTP/1.1","status":"200","request_time":"0.5"}"#,
            Some(("GET", "/a?b=1", 200, Some(500_000_000))),
        );
        check(
            r#"{"ts":971211336.125,"request":{"method":"HEAD","uri":"/x?y=1"},"status":404,"duration":0.25}"#,
            Some(("HEAD", "/x?y=1", 404, Some(250_000_000))),
        );
        check(
            r#"{"timestamp":"2000-10-10T20:55:36.5Z","method":"GET","path":"/p","query":"q=1","status_code":200,"duration":3}"#,
            Some(("GET", "/p?q=1", 200, None)),
        );
        check(r#"{"time":"2000-10-10T20:55:36Z","msg":"started"}"#, None);
        check(r#"{"request":"GET / HTTP/1.1"}"#, None);
        check("[1]", None);
        check("{", None);
    }
}
