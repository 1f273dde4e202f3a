//! Why options mean no plan, and what to try.

use crate::problem::shown_as_problem;
use crate::{PlanError, Problem, Spelling};

/// Options that contradict one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionsError {
    /// Two ends.
    TwoEnds,
    /// A setting that stages have their own of; by its plain name.
    WithStages(&'static str),
    /// Two ways to arrive.
    TwoArrivals,
    /// Gaps of no rate.
    PoissonWithoutRate,
    /// Arrivals without a rate.
    ArrivalsWithoutRate,
    /// Not a method.
    Method(String),
    /// Not a header.
    Header(String),
    /// Two versions of HTTP.
    TwoVersions {
        /// The plain names of their settings.
        settings: [&'static str; 2],
    },
    /// HTTP/2 that is chosen in a TLS handshake, without TLS.
    Http2WithoutTls {
        /// The target.
        url: String,
    },
    /// HTTP/2 with prior knowledge, over TLS.
    PriorKnowledgeOverTls {
        /// The target.
        url: String,
    },
    /// Streams in HTTP/1.
    StreamsWithoutHttp2,
    /// A pipeline in HTTP/2.
    PipelineInHttp2,
    /// A setting of a single request, beside a scenario; by its plain name.
    WithScenario(&'static str),
    /// A setting that says how much, how long or when, beside a file that does; by its plain name.
    WithRecorded(&'static str),
    /// A flow with a pacing, where the clock sets the pace.
    PacingWithRate(String),
    /// A plan that can't be.
    Plan(PlanError),
}

impl OptionsError {
    /// What is wrong, and what to try.
    pub fn problem(&self, spelled: Spelling) -> Problem {
        match self {
            Self::TwoEnds => {
                let [duration, requests] = ["duration", "requests"].map(spelled);
                let what = format!("{duration} and {requests} both say when the run ends");
                Problem::new(what, "leave out one of them").about("duration")
            }
            Self::WithStages(setting) => {
                let [setting_text, stages] = [setting, "stages"].map(spelled);
                let what = match *setting {
                    "rate" => format!("{setting_text} and {stages} both say how high the rate is"),
                    _ => format!("{setting_text} and {stages} both say when the run ends"),
                };
                Problem::new(what, "leave out one of them").about(setting)
            }
            Self::TwoArrivals => {
                let [poisson, arrivals] = ["poisson", "arrivals"].map(spelled);
                let what = format!("{poisson} and {arrivals} both say how requests arrive");
                Problem::new(what, "leave out one of them").about("arrivals")
            }
            Self::ArrivalsWithoutRate => {
                let [arrivals, rate, stages] = ["arrivals", "rate", "stages"].map(spelled);
                let what = format!("{arrivals} spreads the requests of a rate, and there is no rate");
                Problem::new(what, format!("add {rate} 500, or {stages}")).about("arrivals")
            }
            Self::PoissonWithoutRate => {
                let [poisson, rate] = ["poisson", "rate"].map(spelled);
                let what = format!("{poisson} spreads the requests of a rate, and there is no rate");
                Problem::new(what, format!("add one: {rate} 500 {poisson}")).about("poisson")
            }
            Self::Method(typed) => Problem::new(
                format!("`{typed}` is not an HTTP method"),
                "write one word such as GET, POST or DELETE",
            )
            .about("method"),
            Self::Header(typed) => Problem::new(
                format!("`{typed}` is not a header"),
                "write a name, a colon and a value, `Accept: text/html`",
            )
            .about("header"),
            Self::TwoVersions { settings: [one, other] } => {
                let what = format!("{} and {} are two versions of HTTP", spelled(one), spelled(other));
                Problem::new(what, "leave out one of them").about(one)
            }
            Self::Http2WithoutTls { url } => Problem::new(
                format!("{} is negotiated in the TLS handshake, and {url} has none", spelled("http2")),
                format!("use an https URL, or {}", spelled("http2-prior-knowledge")),
            )
            .about("http2"),
            Self::PriorKnowledgeOverTls { url } => Problem::new(
                format!("{} is for http, and {url} has TLS", spelled("http2-prior-knowledge")),
                format!("use {}", spelled("http2")),
            )
            .about("http2-prior-knowledge"),
            Self::StreamsWithoutHttp2 => {
                let [streams, http2, pipeline] = ["streams", "http2", "pipeline"].map(spelled);
                let what = format!("{streams} counts requests in flight in HTTP/2, and this is HTTP/1.1");
                Problem::new(what, format!("add {http2}, or use {pipeline}")).about("streams")
            }
            Self::PipelineInHttp2 => {
                let [pipeline, streams] = ["pipeline", "streams"].map(spelled);
                Problem::new(format!("{pipeline} is for HTTP/1.1"), format!("use {streams}"))
                    .about("pipeline")
            }
            Self::WithScenario(setting) => {
                let what =
                    format!("{} is about a single request, and a scenario has its own", spelled(setting));
                Problem::new(what, "leave it out, and write it into the scenario's steps").about(setting)
            }
            Self::WithRecorded(setting) => {
                let what = format!("{} and the file both say when requests are due", spelled(setting));
                Problem::new(what, "leave it out").about(setting)
            }
            Self::PacingWithRate(flow) => {
                let what = format!(
                    "the flow `{flow}` has a pacing, and {} decides when sessions begin",
                    spelled("rate")
                );
                Problem::new(what, "leave out one of them").about("rate")
            }
            Self::Plan(error) => error.problem(spelled),
        }
    }
}

shown_as_problem!(OptionsError);

impl From<PlanError> for OptionsError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}
