//! The keys of a scenario file, as serde reads them and as docs/schema/scenario-v1.json shows them. What is missing is
//! reported by those who need it, with its place.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::keys::{HeaderText, OneOrMore, SchemaOnly};
use crate::file::scalar::{BackoffArg, CountU32, DurationArg, Failures, Scalar, Share, Statuses};

/// Sessions of several requests for `prony run` and studies, in TOML.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(title = "Scenario")]
pub(super) struct ScenarioKeys {
    /// What reports call it; the name of the file, if absent.
    pub(super) name: Option<String>,
    /// Where all paths begin, such as http://127.0.0.1:3000; a command line or a study may say otherwise.
    pub(super) base: Option<String>,
    /// Whether a session keeps cookies; true if absent.
    pub(super) cookies: Option<bool>,
    /// Whose connections a session's requests go over; shared if absent.
    pub(super) connections: Option<ConnectionsKey>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: defaults are read on their own")]
    defaults: SchemaOnly<DefaultKeys>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: retries are read on their own")]
    retries: SchemaOnly<RetryKeys>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: each feed is read on its own")]
    feeds: SchemaOnly<BTreeMap<String, FeedKeys>>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: each flow is read on its own")]
    flow: SchemaOnly<Vec<FlowKeys>>,
}

/// Whose connections a session's requests go over.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Connections")]
pub(super) enum ConnectionsKey {
    /// Whichever is free (the default).
    Shared,
    /// Its own, from its first step to its end.
    Session,
}

/// What holds for every step that does not say otherwise.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Defaults")]
pub(super) struct DefaultKeys {
    /// Headers; those of a step with the same name replace them.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, HeaderText>,
    /// Good status codes.
    pub(super) expect_status: Option<Statuses>,
    /// From the end of a step to when the next one is due.
    pub(super) think: Option<ThinkKeys>,
    /// Redirects that a step follows.
    pub(super) redirects: Option<CountU32>,
}

/// Which failed requests are sent again, where a command line or a load of a study doesn't say.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Retries")]
pub(super) struct RetryKeys {
    /// Send a failed request again, up to so many times.
    pub(super) max: Option<CountU32>,
    /// What is retried: connect, reset, timeout, status codes as 503 or 5xx, with commas between.
    pub(super) on: Option<Failures>,
    /// Longest waits before a first retry and before any; 100ms..2s if absent.
    pub(super) backoff: Option<BackoffArg>,
    /// Retries as a share of the requests, beyond ten that are always granted; no limit if absent.
    pub(super) budget: Option<Share>,
    /// Wait this long for the response to one attempt; as the load's timeout if absent, which is for the request and its
    /// retries.
    pub(super) attempt_timeout: Option<DurationArg>,
}

/// A file of rows, of which each session takes one.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Feed")]
pub(super) struct FeedKeys {
    /// The file, relative to the scenario: CSV (RFC 4180), or JSON lines if its name ends with .jsonl or .ndjson.
    pub(super) file: Option<String>,
    /// Which row a session takes; the next one if absent.
    pub(super) order: Option<FeedOrderKey>,
    /// What happens after the last row; repeat if absent, or stop for unique.
    pub(super) at_end: Option<FeedEndKey>,
    /// Names of the columns of a CSV file that has no line with them.
    pub(super) columns: Option<Vec<String>>,
    /// What separates the values of a CSV file; a comma if absent.
    pub(super) separator: Option<String>,
}

/// Which row a session takes.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FeedOrderKey {
    /// The next one, over all threads (the default).
    Sequential,
    /// Any one.
    Random,
    /// The next one, and none twice in a run.
    Unique,
}

/// What happens after the last row of a feed.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FeedEndKey {
    /// It begins again (the default).
    Repeat,
    /// The run ends (the default of unique).
    Stop,
}

/// One kind of session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Flow")]
pub(super) struct FlowKeys {
    /// Its name.
    pub(super) name: Option<String>,
    /// Its share of the sessions is this part of all weights; 1 if absent.
    pub(super) weight: Option<CountU32>,
    /// In a closed loop: from the beginning of a session to that of the next one, at least.
    pub(super) pacing: Option<DurationArg>,
    /// Values that are made when a session begins.
    #[serde(default)]
    pub(super) variables: BTreeMap<String, Scalar>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: each step is read on its own")]
    step: SchemaOnly<Vec<StepKeys>>,
}

/// One request of a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Step")]
pub(super) struct StepKeys {
    /// Its name; that of the flow with a number, if absent.
    pub(super) name: Option<String>,
    /// GET, or POST with a body, if absent.
    pub(super) method: Option<String>,
    /// Path and query; / if absent.
    pub(super) path: Option<String>,
    /// Headers: a text for each name, or a list of them.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, HeaderText>,
    /// The body, as it is.
    pub(super) body: Option<String>,
    /// The body, as a text of JSON.
    pub(super) json: Option<String>,
    /// The body, as the fields of a form.
    pub(super) form: Option<BTreeMap<String, HeaderText>>,
    /// The body, as multipart/form-data.
    pub(super) multipart: Option<Vec<PartKeys>>,
    /// The body, from a file, relative to the scenario.
    pub(super) body_file: Option<String>,
    /// From the end of this step to when the next one is due.
    pub(super) think: Option<ThinkKeys>,
    /// Redirects that it follows; 0 if absent.
    pub(super) redirects: Option<CountU32>,
    /// Whether a session goes on when this step fails; false if absent.
    pub(super) go_on: Option<bool>,
    /// Good status codes; 200-399 if absent.
    pub(super) expect_status: Option<Statuses>,
    /// Good is a response with these header fields.
    #[serde(default)]
    pub(super) expect_header: BTreeMap<String, Scalar>,
    /// Good is a body of exactly this text.
    pub(super) expect_body: Option<String>,
    /// Good is a body that this regular expression matches somewhere.
    pub(super) expect_body_regex: Option<String>,
    /// Good is a body that contains this text, or all of these.
    pub(super) expect_body_contains: Option<OneOrMore>,
    /// Good is a body of JSON with these values at these pointers (RFC 6901).
    #[serde(default)]
    pub(super) expect_json: BTreeMap<String, Scalar>,
    /// What is taken from the response, by name.
    #[serde(default)]
    pub(super) extract: BTreeMap<String, ExtractKeys>,
}

/// A part of multipart/form-data.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Part")]
pub(super) struct PartKeys {
    /// The field's name.
    pub(super) name: String,
    /// Its value; or:
    pub(super) value: Option<String>,
    /// a file with it, relative to the scenario.
    pub(super) file: Option<String>,
    /// The name that it has as a file; that of `file` if absent.
    pub(super) file_name: Option<String>,
    /// Its Content-Type.
    #[serde(rename = "type")]
    pub(super) content_type: Option<String>,
}

/// A time, or how times are spread.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a time such as \"500ms\", { min = \"1s\", max = \"3s\" } or { mean = \"2s\" }"
)]
#[schemars(rename = "Think")]
pub(super) enum ThinkKeys {
    /// As long each time.
    Constant(DurationArg),
    /// Evenly between two times, or exponentially with a mean.
    Spread(SpreadKeys),
}

/// How times are spread.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Spread")]
pub(super) struct SpreadKeys {
    /// At least this long.
    pub(super) min: Option<DurationArg>,
    /// At most this long.
    pub(super) max: Option<DurationArg>,
    /// Exponentially distributed with this mean.
    pub(super) mean: Option<DurationArg>,
}

/// A value that is taken from a response: one of json, regex, header and cookie.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "a table such as { json = \"/token\" }, { regex = 'id=(\\d+)' }, { header = \"Location\" } or { cookie = \"sid\" }"
)]
#[schemars(rename = "Extract")]
pub(super) struct ExtractKeys {
    /// At this pointer (RFC 6901) of the body.
    pub(super) json: Option<String>,
    /// In the first match of this regular expression in the body.
    pub(super) regex: Option<String>,
    /// The group of the expression; 1 if absent, or the whole match where it has none.
    pub(super) group: Option<CountU32>,
    /// In this header field.
    pub(super) header: Option<String>,
    /// In this cookie.
    pub(super) cookie: Option<String>,
    /// What it is where nothing is found; if absent, the step has failed then.
    pub(super) default: Option<String>,
}
