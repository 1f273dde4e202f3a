//! The slowest requests of a run, one by one: which they were, and where their time went.

use serde::{Deserialize, Serialize};

/// One of the slowest requests of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SlowRequest {
    /// The id of its trace, 32 hexadecimal digits; absent without traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Whether the server was asked to record that trace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_sampled: bool,
    /// The agent that sent it, in the result of several agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it was due: seconds since the measured part began.
    #[serde(default)]
    pub due_s: f64,
    /// When it was sent, for the last time if it was retried: RFC 3339 in UTC, to the millisecond, by the client's clock.
    pub sent_at: String,
    /// From the moment it was due until it had ended.
    pub response_ms: f64,
    /// From the moment it was sent, for the last time, until it had ended.
    pub service_ms: f64,
    /// Where the response time went; absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<RequestPhases>,
    /// `2xx`, `unexpected-5xx`, `timeout`, …; `unfinished` where it was outstanding when the run ended, so that its times
    /// are lower bounds.
    pub outcome: String,
    /// The status of its response; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How often it was sent: a retry is another span of the same trace; 0 where it never got a connection.
    pub attempts: u32,
    /// The step of a scenario that it was, as `flow/step`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The connection that carried it, the last time; absent where it got none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<RequestConnection>,
}

/// Where the response time of a request went: parts that add up to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequestPhases {
    /// It waited for a connection that was free. Where it was retried: attempts before the last one and their backoffs, too.
    pub waited_ms: f64,
    /// Its connection was opened while it waited. Where it got none: until that failed, TLS included.
    pub connect_ms: f64,
    /// TLS was negotiated on that connection.
    pub tls_ms: f64,
    /// The client itself was late: in sending, and in reading what had arrived, where the kernel says when.
    pub client_ms: f64,
    /// From sending to the first byte of the answer; to the end, if none came.
    pub first_byte_ms: f64,
    /// From there to the last byte.
    pub rest_ms: f64,
}

/// A connection that carried a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequestConnection {
    /// The number of its thread, from 0.
    pub thread: u32,
    /// Its local port.
    pub port: u16,
    /// Whether the request was the first one on it.
    pub is_new: bool,
}

impl SlowRequest {
    /// Requests that a result lists.
    pub const LISTED_MAX: usize = 10;
    /// The outcome of a request that was outstanding when the run ended.
    pub const UNFINISHED: &str = "unfinished";

    /// The slowest of `requests`, which are of several clients, the slowest first.
    pub fn slowest(mut requests: Vec<Self>) -> Vec<Self> {
        requests.sort_by(|one, other| other.response_ms.total_cmp(&one.response_ms));
        requests.truncate(Self::LISTED_MAX);
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_all_clients_are_listed() {
        let of = |times: &[f64]| -> Vec<SlowRequest> {
            let request = |response_ms: &f64| SlowRequest {
                trace_id: None,
                is_sampled: false,
                agent: None,
                due_s: 0.0,
                sent_at: String::new(),
                response_ms: *response_ms,
                service_ms: *response_ms,
                phases: None,
                outcome: "2xx".to_owned(),
                status: Some(200),
                attempts: 1,
                step: None,
                connection: None,
            };
            times.iter().map(request).collect()
        };
        let all = [of(&[9.0, 7.0, 5.0, 3.0, 1.0, 0.5]), of(&[8.0, 6.0, 4.0, 2.0, 0.2, 0.1])].concat();
        let listed: Vec<f64> = SlowRequest::slowest(all).iter().map(|request| request.response_ms).collect();
        assert_eq!(listed, [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.5]);
    }

    #[test]
    fn those_of_older_versions_are_read() {
        let old = r#"{"trace_id":"0af7651916cd43dd8448eb211c80319c","sent_at":"2026-11-23T19:31:25.110Z",
            "response_ms":812.4,"service_ms":811.9,"outcome":"2xx","status":200,"attempts":1}"#;
        let request: SlowRequest = serde_json::from_str(old).unwrap();
        assert_eq!((request.phases, request.connection, request.is_sampled), (None, None, false));
    }
}
