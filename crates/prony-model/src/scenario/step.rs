//! A step: one request of a session, what must come back, and what is taken from it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Body, BodyCheck, StatusSet};

/// One request of a session. Texts marked so are templates ([`super::Template`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Step {
    /// Its name, unlike those of all other steps of the scenario; thresholds and reports use it.
    pub name: String,
    /// `GET`, `POST`, …
    pub method: String,
    /// Path and query, a template. Values are percent-encoded.
    pub path: String,
    /// Headers beyond those that Prony writes itself; values are templates. Secret ones are stored as `[redacted]`.
    #[serde(serialize_with = "crate::redact::headers")]
    pub headers: Vec<(String, String)>,
    /// What is sent with it.
    pub body: StepBody,
    /// What makes its response good.
    pub checks: StepChecks,
    /// What is taken from its response, in this order.
    pub extract: Vec<Extraction>,
    /// Redirects that it follows; with 0 the redirect itself is the response.
    pub redirects: u32,
    /// Whether the session goes on when this step fails; otherwise it ends there.
    pub go_on: bool,
    /// From the end of this step to when the next one is due.
    pub think: Think,
}

impl Step {
    /// A request without headers, body, checks and name, after which the next one is due at once.
    pub fn bare(method: &str, path: String) -> Self {
        Self {
            name: String::new(),
            method: method.to_owned(),
            path,
            headers: Vec::new(),
            body: StepBody::None,
            checks: StepChecks::default(),
            extract: Vec::new(),
            redirects: 0,
            go_on: false,
            think: Think::None,
        }
    }

    /// All its texts that are templates.
    pub(super) fn templates(&self) -> Vec<&str> {
        let mut texts = vec![self.path.as_str()];
        texts.extend(self.headers.iter().map(|(_, value)| value.as_str()));
        match &self.body {
            StepBody::None | StepBody::File(_) => {}
            StepBody::Text(text) | StepBody::Json(text) => texts.push(text),
            StepBody::Form(fields) => texts.extend(fields.iter().map(|(_, value)| value.as_str())),
            StepBody::Multipart(parts) => texts.extend(parts.iter().filter_map(|part| match &part.content {
                PartContent::Text(text) => Some(text.as_str()),
                PartContent::File(_) => None,
            })),
        }
        texts.extend(self.checks.headers.iter().map(|(_, value)| value.as_str()));
        texts.extend(self.checks.contains.iter().map(String::as_str));
        texts.extend(self.checks.json.iter().filter_map(|(_, value)| match value {
            ExpectedValue::Text(text) => Some(text.as_str()),
            ExpectedValue::Logical(_) | ExpectedValue::Number(_) => None,
        }));
        texts
    }
}

/// What is sent with a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StepBody {
    /// Nothing.
    #[default]
    None,
    /// A template; values go in as they are.
    Text(String),
    /// A template of JSON; values are escaped as within a string. `Content-Type: application/json` unless given.
    Json(String),
    /// Names and templates, sent as `application/x-www-form-urlencoded`.
    Form(Vec<(String, String)>),
    /// Sent as `multipart/form-data`.
    Multipart(Vec<Part>),
    /// The bytes of a file.
    File(StepFile),
}

/// A file that was read before the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepFile {
    /// As the scenario names it.
    pub path: String,
    /// Its content.
    pub content: Body,
}

/// One part of `multipart/form-data`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Part {
    /// The field's name.
    pub name: String,
    /// What it holds.
    pub content: PartContent,
    /// The name that it has as a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
    /// Its `Content-Type`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

/// What a part holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PartContent {
    /// A template; values go in as they are.
    Text(String),
    /// The bytes of a file.
    File(StepFile),
}

/// How long a session waits before its next step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Think {
    /// Not at all.
    #[default]
    None,
    /// As long each time, in seconds.
    Constant {
        /// This long.
        #[serde(rename = "time_s", with = "crate::duration")]
        #[cfg_attr(test, schemars(with = "f64"))]
        time: Duration,
    },
    /// Evenly spread between two times.
    Uniform {
        /// At least this long, in seconds.
        #[serde(rename = "min_s", with = "crate::duration")]
        #[cfg_attr(test, schemars(with = "f64"))]
        min: Duration,
        /// At most this long, in seconds.
        #[serde(rename = "max_s", with = "crate::duration")]
        #[cfg_attr(test, schemars(with = "f64"))]
        max: Duration,
    },
    /// Exponentially distributed, and never longer than ten times the mean.
    Exponential {
        /// The mean, in seconds.
        #[serde(rename = "mean_s", with = "crate::duration")]
        #[cfg_attr(test, schemars(with = "f64"))]
        mean: Duration,
    },
}

impl Think {
    /// The longest that it can be.
    pub fn longest(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Constant { time } => time,
            Self::Uniform { max, .. } => max,
            Self::Exponential { mean } => mean.saturating_mul(10),
        }
    }
}

/// What makes a step's response good, beyond being complete.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepChecks {
    /// Status codes that are good.
    pub status: StatusSet,
    /// Header fields that must have exactly these values; values are templates.
    pub headers: Vec<(String, String)>,
    /// What the body must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyCheck>,
    /// Texts that the body must contain; templates.
    pub contains: Vec<String>,
    /// What the body, as JSON, must have at these pointers (RFC 6901).
    pub json: Vec<(String, ExpectedValue)>,
}

impl StepChecks {
    /// Whether they read the body.
    pub fn reads_body(&self) -> bool {
        self.body.is_some() || !self.contains.is_empty() || !self.json.is_empty()
    }
}

/// A value that a body must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ExpectedValue {
    /// `true` or `false`.
    Logical(bool),
    /// A number.
    Number(f64),
    /// A text, a template.
    Text(String),
}

/// A value that is taken from a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Extraction {
    /// The name that templates use.
    pub name: String,
    /// Where it stands.
    pub from: ExtractionSource,
    /// What it is where nothing is found; without this, the step has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Where a value stands in a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExtractionSource {
    /// At this pointer (RFC 6901) of the body, as JSON: a text without its quotes, anything else as it is written.
    Json(String),
    /// In the first match of a regular expression in the body: the group of this number, 0 for the whole match.
    Regex {
        /// The expression.
        pattern: String,
        /// The group.
        group: u32,
    },
    /// In the first header field of this name.
    Header(String),
    /// In the cookie of this name that the response sets.
    Cookie(String),
}

impl ExtractionSource {
    /// Whether it reads the body.
    pub fn reads_body(&self) -> bool {
        matches!(self, Self::Json(_) | Self::Regex { .. })
    }
}
