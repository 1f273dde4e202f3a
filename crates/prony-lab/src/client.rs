//! The client of a lab for scripts: requests a build, waits for it, returns its result (`gate.rs`).

mod gate;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use prony_model::Problem;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use prony_lab_model::auth::{ApiToken, Secret, TokenError};
use prony_lab_model::clock;
use prony_lab_model::describe_mistakes;
use prony_lab_model::{
    Build, BuildDetail, BuildId, BuildRequest, BuildState, FieldMistake, Role, SearchResults, is_this_machine,
};

pub use gate::GateStep;

/// How long one exchange may take.
const EXCHANGE: Duration = Duration::from_secs(30);
/// Between two polls of a build: a person doesn't notice, and a lab not at all.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a lab may be away while somebody waits: it is started again, or moves.
const AWAY_MAX: Duration = Duration::from_mins(2);
/// How often a request is sent that may not have arrived; the lab knows it again by its key.
const TRIES: u32 = 5;
/// An answer is some kilobytes; one with a long definition some hundred.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// A lab somewhere, and the token to ask it with.
#[derive(Debug)]
pub struct Client {
    agent: ureq::Agent,
    base: String,
    bearer: String,
    token_id: String,
}

/// Who a token belongs to.
#[derive(Debug, Clone, Deserialize)]
pub struct Me {
    /// Their name.
    pub name: String,
    /// What they may do, at most what the token may.
    pub role: Role,
}

/// Why a lab can't be asked, or does not do what it is asked.
#[derive(Debug)]
pub enum ClientError {
    /// Not an address of a lab.
    Address(String),
    /// The token would be readable on the way.
    Clear(String),
    /// Not a token.
    Token(TokenError),
    /// Nothing answers.
    Unreachable {
        /// Where it should be.
        address: String,
        /// Why not.
        why: String,
    },
    /// The lab says no.
    Refused {
        /// The status of its answer.
        status: u16,
        /// Its words.
        detail: String,
        /// What is wrong with which field.
        mistakes: Vec<FieldMistake>,
    },
    /// Something answers, but not as a lab does.
    Foreign {
        /// Where.
        address: String,
        /// What is odd.
        why: String,
    },
    /// It takes longer than somebody would wait.
    TimedOut {
        /// Which build.
        id: BuildId,
        /// How far it is.
        state: BuildState,
    },
}

impl ClientError {
    /// What is wrong, and what to try.
    pub fn problem(&self) -> Problem {
        match self {
            Self::Address(text) => Problem::new(
                format!("`{text}` is no address of a lab"),
                "write it as http://127.0.0.1:3000 or https://lab.example.org",
            ),
            Self::Clear(host) => {
                Problem::new(format!("the token would go to {host} in the clear"), "use https://")
            }
            Self::Token(error) => error.problem(),
            Self::Unreachable { address, why } => {
                Problem::new(format!("no lab answers at {address} ({why})"), "is it running?")
            }
            Self::Refused { status, detail, mistakes } => {
                Problem::new(format!("the lab refuses ({status})"), describe(detail, mistakes))
            }
            Self::Foreign { address, why } => {
                Problem::new(format!("what answers at {address} is no lab ({why})"), "check --lab")
            }
            Self::TimedOut { id, state } => {
                Problem::new(format!("build {id} is {} still", state.name()), "wait longer with --timeout")
            }
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem().fmt(formatter)
    }
}

impl std::error::Error for ClientError {}

impl From<TokenError> for ClientError {
    fn from(error: TokenError) -> Self {
        Self::Token(error)
    }
}

fn url(text: &str) -> Result<url::Url, ClientError> {
    let wrong = || ClientError::Address(text.to_owned());
    let url = url::Url::parse(text).map_err(|_| wrong())?;
    let is_bare = url.path() == "/" && url.query().is_none() && url.username().is_empty();
    let is_lab = is_bare && url.host_str().is_some() && matches!(url.scheme(), "http" | "https");
    if is_lab { Ok(url) } else { Err(wrong()) }
}

/// What was wrong with fields, or `detail` where it was none.
fn describe(detail: &str, mistakes: &[FieldMistake]) -> String {
    if mistakes.is_empty() { detail.to_owned() } else { describe_mistakes(mistakes) }
}

#[derive(Deserialize)]
struct Answer {
    detail: String,
    #[serde(default)]
    mistakes: Vec<FieldMistake>,
}

impl Client {
    /// The address of a lab as `text` says it, in its only writing, without a slash at its end.
    pub fn address(text: &str) -> Result<String, ClientError> {
        url(text).map(|url| url.as_str().trim_end_matches('/').to_owned())
    }

    /// The page of the lab at `address` on which people make tokens, with `label` in the form.
    pub fn token_page(address: &str, label: &str) -> Result<String, ClientError> {
        let mut page = url(address)?;
        page.set_path("/account");
        page.query_pairs_mut().append_pair("label", label);
        page.set_fragment(Some("tokens"));
        Ok(page.into())
    }

    /// For the lab at `address`. A token goes by plain HTTP to this machine only.
    pub fn new(address: &str, token: &str) -> Result<Self, ClientError> {
        let url = url(address)?;
        if url.scheme() == "http" && !is_this_machine(&url) {
            return Err(ClientError::Clear(url.host_str().unwrap_or_default().to_owned()));
        }
        let token = ApiToken::read(token.trim())?;
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(EXCHANGE))
            // The token must not follow a redirect to somebody else.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(concat!("prony/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self {
            agent: config.new_agent(),
            base: url.as_str().trim_end_matches('/').to_owned(),
            bearer: format!("Bearer {}", token.text()),
            token_id: token.id().to_owned(),
        })
    }

    /// Who the token belongs to.
    pub fn me(&self) -> Result<Me, ClientError> {
        let url = format!("{}/api/v1/me", self.base);
        self.read(self.agent.get(url).header("Authorization", &self.bearer).call())
    }

    /// Makes the token void that the lab is asked with.
    pub fn revoke_own_token(&self) -> Result<(), ClientError> {
        let url = format!("{}/api/v1/tokens/{}", self.base, self.token_id);
        let sent = self.agent.delete(url).header("Authorization", &self.bearer).call();
        self.read::<serde::de::IgnoredAny>(sent).map(drop)
    }

    /// The page of a build, for people.
    pub fn page(&self, id: BuildId) -> String {
        format!("{}/build/{id}", self.base)
    }

    /// Requests a build. Where the answer gets lost it asks again, and the lab knows it for the same request.
    pub fn submit(&self, request: &BuildRequest) -> Result<BuildDetail, ClientError> {
        let body = serde_json::to_string(request).expect("invariant: a request is plain data");
        self.post("/builds", &body)
    }

    /// Sends `body` until there is an answer; the lab knows it for the same request.
    fn post<T: DeserializeOwned>(&self, path: &str, body: &str) -> Result<T, ClientError> {
        let key = Secret::new().text();
        let mut tries = 1;
        loop {
            let sent = self
                .agent
                .post(format!("{}/api/v1{path}", self.base))
                .header("Authorization", &self.bearer)
                .header("Content-Type", "application/json")
                .header("Idempotency-Key", &key)
                .send(body);
            match self.read(sent) {
                Err(error) if error.may_pass() && tries < TRIES => std::thread::sleep(LOOK_EVERY * tries),
                answer => return answer,
            }
            tries += 1;
        }
    }

    /// A build as it is now.
    pub fn build(&self, id: BuildId) -> Result<BuildDetail, ClientError> {
        let url = format!("{}/api/v1/builds/{id}", self.base);
        self.read(self.agent.get(url).header("Authorization", &self.bearer).call())
    }

    /// What the lab finds for `query`: at most `limit` builds, those before `before` only.
    pub fn search(
        &self,
        query: &str,
        before: Option<BuildId>,
        limit: u32,
    ) -> Result<SearchResults, ClientError> {
        let mut call = self
            .agent
            .get(format!("{}/api/v1/search", self.base))
            .header("Authorization", &self.bearer)
            .query("q", query)
            .query("limit", limit.to_string());
        if let Some(before) = before {
            call = call.query("before", before.to_string());
        }
        self.read(call.call())
    }

    /// Waits until a build is over, at most `patience`; `on_change` gets every change of its state. A lab that is away for
    /// a while is waited for, too.
    pub fn wait(
        &self,
        id: BuildId,
        patience: Duration,
        mut on_change: impl FnMut(&Build),
    ) -> Result<Build, ClientError> {
        let began = clock::steady();
        let mut answered = began;
        let mut last: Option<BuildState> = None;
        loop {
            match self.build(id) {
                Ok(detail) => {
                    answered = clock::steady();
                    if last.replace(detail.build.state) != Some(detail.build.state) {
                        on_change(&detail.build);
                    }
                    if detail.build.state.is_final() {
                        return Ok(detail.build);
                    }
                    if clock::steady().saturating_sub(began) >= patience {
                        return Err(ClientError::TimedOut { id, state: detail.build.state });
                    }
                }
                Err(error) => {
                    let away = clock::steady().saturating_sub(answered);
                    if last.is_none() || !error.may_pass() || away >= AWAY_MAX {
                        return Err(error);
                    }
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn read<T: DeserializeOwned>(
        &self,
        sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<T, ClientError> {
        let unreachable = |error: ureq::Error| ClientError::Unreachable {
            address: self.base.clone(),
            why: error.to_string(),
        };
        let mut answer = sent.map_err(unreachable)?;
        let status = answer.status();
        let text =
            answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string().map_err(unreachable)?;
        let foreign = |error: serde_json::Error| ClientError::Foreign {
            address: self.base.clone(),
            why: format!("{status}, {error}"),
        };
        if status.is_success() {
            return serde_json::from_str(&text).map_err(foreign);
        }
        let Answer { detail, mistakes } = serde_json::from_str(&text).map_err(foreign)?;
        Err(ClientError::Refused { status: status.as_u16(), detail, mistakes })
    }
}

impl ClientError {
    /// Whether it may go by itself.
    fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Refused { status: 503 | 429, .. })
    }
}
