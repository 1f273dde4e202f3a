//! The keys of a study file, as serde reads them and as docs/schema/study-v1.json shows them. Everything may be left
//! out here: what is missing is reported by those who need it, with its place.

mod load;

use std::collections::BTreeMap;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use load::LoadKeys;
pub(super) use load::{
    BodyLength, CapacityKeys, DriverKey, ExecKeys, HeaderText, IgnoredFailures, KernelClockKey, OneOrMore,
    OutputKey, ProbeKeys, RunKeys,
};

use super::agents::{AgentsKey, ServerAgentKey};
use super::scalar::{CountU32, DurationArg, Scalar, Share, Statuses};
use super::tls::TlsKeys;

/// A study of web servers for `prony study`, in TOML.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(title = "Study")]
pub(super) struct StudyKeys {
    /// Name of the study's folder and files; that of the file, if absent.
    pub(super) name: Option<String>,
    /// Title of the report.
    pub(super) title: Option<String>,
    /// Where the published figures are from.
    pub(super) source: Option<String>,
    /// What the study is about; paragraphs are separated by empty lines.
    pub(super) intro: Option<String>,
    /// How often each cell is run; 1 if absent.
    pub(super) repeats: Option<CountU32>,
    /// Invalid runs of a cell that are made again at most; 3 if absent.
    pub(super) retries: Option<CountU32>,
    /// Seed of the order and of the loads; from the system if absent.
    pub(super) seed: Option<u64>,
    /// In which order cells are run.
    pub(super) order: Option<OrderKey>,
    /// How long a target lives.
    pub(super) restart: Option<RestartKey>,
    /// From one run to the next; 200ms if absent.
    pub(super) pause: Option<DurationArg>,
    /// Agents that share the load of every run: how many, or their names; those of a load come first.
    pub(super) agents: Option<AgentsKey>,
    /// The agent on the targets' host that measures what they use, beside `agents`.
    pub(super) server_agent: Option<ServerAgentKey>,
    /// The NATS server between this process and agents; nats://127.0.0.1:4222 if absent.
    pub(super) nats: Option<String>,
    /// What is required of every cell that has the figure, such as "response.p99 < 50ms" and "checks > 99.9%".
    #[serde(default)]
    pub(super) thresholds: Vec<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: each target is read on its own")]
    targets: SchemaOnly<BTreeMap<String, TargetKeys>>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: each service is read on its own")]
    services: SchemaOnly<BTreeMap<String, TargetKeys>>,
    #[serde(default)]
    #[expect(
        dead_code,
        clippy::zero_sized_map_values,
        reason = "for the schema: each load is read on its own"
    )]
    loads: SchemaOnly<BTreeMap<String, LoadKeys>>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: the matrix is read on its own")]
    matrix: SchemaOnly<MatrixKeys>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: each comparison is read on its own")]
    compare: SchemaOnly<Vec<CompareKeys>>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: each threshold is read on its own")]
    threshold: SchemaOnly<Vec<ThresholdKeys>>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: each published figure is read on its own")]
    published: SchemaOnly<Vec<PublishedKeys>>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: each text is read on its own")]
    text: SchemaOnly<Vec<TextKeys>>,
    #[serde(default)]
    #[expect(dead_code, reason = "for the schema: it is laid over the rest")]
    short: SchemaOnly<ShortKeys>,
}

/// A part of the file with the shape of `T`, which is read on its own.
#[derive(Debug)]
pub(super) struct SchemaOnly<T>(PhantomData<T>);

impl<T> Default for SchemaOnly<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T> Deserialize<'de> for SchemaOnly<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self::default())
    }
}

impl<T: JsonSchema> JsonSchema for SchemaOnly<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// What `--short` changes: tables are merged into the study's, everything else is replaced.
#[derive(Debug)]
struct ShortKeys;

impl JsonSchema for ShortKeys {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Short".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"$ref": "#"})
    }
}

/// In which order cells are run.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OrderKey {
    /// Every repeat holds every cell once, shuffled (the default).
    Random,
    /// Every repeat holds every cell once, in the order of the file.
    Interleaved,
    /// All repeats of a cell after one another.
    Sequential,
}

/// How long a target lives.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RestartKey {
    /// For one run.
    Run,
    /// For one repeat of all cells that use it (the default).
    Repeat,
    /// For the study.
    Never,
}

/// A server to load, or a service that servers need: `serve`, `command`, or a `url` alone.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Target")]
pub(super) struct TargetKeys {
    /// One of Prony's own servers with its flags, as after `prony serve`.
    pub(super) serve: Option<String>,
    /// A program with its arguments; no shell.
    pub(super) command: Option<String>,
    /// Its address; `http://127.0.0.1:{port}`, or `https://…` with `serve = "… --tls"`, if absent.
    pub(super) url: Option<String>,
    /// A port of its own; a free one if absent.
    pub(super) port: Option<u16>,
    /// How it is reached over TLS.
    pub(super) tls: Option<TlsKeys>,
    /// Commands that make it, once for the study.
    pub(super) build: Option<OneOrMore>,
    /// All of `build` at most this long; 10m if absent.
    pub(super) build_within: Option<DurationArg>,
    /// Working folder, relative to the study file.
    pub(super) folder: Option<String>,
    /// Added to the environment.
    #[serde(default)]
    pub(super) environment: BTreeMap<String, Scalar>,
    /// Services that must run before it.
    #[serde(default)]
    #[expect(dead_code, reason = "for its type: who needs what is found out before the axes are filled in")]
    needs: Vec<String>,
    /// When it may be loaded.
    pub(super) ready: Option<ReadyKeys>,
    /// How it is stopped.
    pub(super) stop: Option<StopKeys>,
    /// Requests before every load.
    #[serde(default)]
    pub(super) prepare: Vec<AskKeys>,
    /// What it is: a commit or a version, for the report.
    pub(super) commit: Option<String>,
}

/// When a target may be loaded.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "a table such as { path = \"/\", within = \"20s\" }"
)]
#[schemars(rename = "Ready")]
pub(super) struct ReadyKeys {
    /// A GET of this path gets a good answer; if absent, the port takes connections.
    pub(super) path: Option<String>,
    /// A good answer; 200-399 if absent.
    pub(super) status: Option<Statuses>,
    /// At most this long; 30s if absent.
    pub(super) within: Option<DurationArg>,
}

/// How a target is stopped.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "a table such as { signal = \"TERM\", within = \"5s\" }"
)]
#[schemars(rename = "Stop")]
pub(super) struct StopKeys {
    /// Which signal asks it to end; TERM if absent.
    pub(super) signal: Option<SignalKey>,
    /// After this long it is killed; 5s if absent.
    pub(super) within: Option<DurationArg>,
}

/// A signal that asks a program to end.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub(super) enum SignalKey {
    /// Terminate.
    #[serde(rename = "TERM")]
    Terminate,
    /// Interrupt, as Ctrl-C.
    #[serde(rename = "INT")]
    Interrupt,
    /// Quit: what PostgreSQL calls immediate.
    #[serde(rename = "QUIT")]
    Quit,
    /// Hang up.
    #[serde(rename = "HUP")]
    HangUp,
    /// For the program's own use.
    #[serde(rename = "USR1")]
    First,
    /// For the program's own use.
    #[serde(rename = "USR2")]
    Second,
    /// Kill: nothing can be tidied up.
    #[serde(rename = "KILL")]
    Kill,
}

/// A request before every load.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "a table such as { method = \"PUT\", path = \"/key\", body = \"value\" }"
)]
#[schemars(rename = "Ask")]
pub(super) struct AskKeys {
    /// GET, or POST with a body, if absent.
    pub(super) method: Option<String>,
    /// Path and query; / if absent.
    pub(super) path: Option<String>,
    /// Headers.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, HeaderText>,
    /// Body.
    pub(super) body: Option<String>,
    /// A good answer; 200-399 if absent.
    pub(super) status: Option<Statuses>,
}

/// What is combined with what. An axis named like a key of a load sets it; any other name fills `{name}`.
#[derive(Debug)]
struct MatrixKeys;

impl JsonSchema for MatrixKeys {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Matrix".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names = generator.subschema_for::<Vec<String>>();
        let values = generator.subschema_for::<Vec<Scalar>>();
        let points = generator.subschema_for::<Vec<BTreeMap<String, Scalar>>>();
        json_schema!({
            "description": "What is combined with what. An axis named like a key of a load sets it; any other name fills {name}.",
            "type": "object",
            "properties": {
                "target": names,
                "load": names,
                "exclude": points,
                "include": points
            },
            "additionalProperties": values
        })
    }
}

/// Cells by their values on axes; a list is any of its values.
pub(super) type WhereKeys = BTreeMap<String, OneOrMoreScalars>;

/// A value, or any of several.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a value of the axis, or a list of them")]
#[schemars(rename = "Values")]
pub(super) enum OneOrMoreScalars {
    /// One.
    One(Scalar),
    /// Any of them.
    More(Vec<Scalar>),
}

/// B against A, for every combination of the other axes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Compare")]
pub(super) struct CompareKeys {
    /// What is asked, in words.
    pub(super) title: Option<String>,
    /// What B is compared with.
    #[serde(default)]
    pub(super) a: WhereKeys,
    /// What is compared.
    #[serde(default)]
    pub(super) b: WhereKeys,
    /// The primary metric: rate, p50, p90, p99 or p99.9; by the load if absent.
    pub(super) metric: Option<String>,
    /// Take changes below this for none; 2% if absent.
    pub(super) margin: Option<Share>,
}

/// A threshold; the exit code is 1 if it is not met.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Threshold")]
pub(super) struct ThresholdKeys {
    /// On which cells; all that have the metric if absent.
    #[serde(default, rename = "where")]
    pub(super) cells: WhereKeys,
    /// What is required, such as "response.p99 < 50ms"; or:
    pub(super) require: Option<String>,
    /// Of what: rate, success, p99, wall, …
    pub(super) metric: Option<String>,
    /// The least that is good.
    pub(super) at_least: Option<Scalar>,
    /// The most that is good.
    pub(super) at_most: Option<Scalar>,
}

/// A published number, to stand beside ours.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Published")]
pub(super) struct PublishedKeys {
    /// The cells that stand for it.
    #[serde(default, rename = "where")]
    pub(super) cells: WhereKeys,
    /// Of what: rate, success, p99, wall, …
    pub(super) metric: Option<String>,
    /// How much: in the metric's unit, or as text with a unit.
    pub(super) value: Option<Scalar>,
    /// Where, if not in the study's source.
    pub(super) source: Option<String>,
    /// What the write-up could not see.
    pub(super) note: Option<String>,
}

/// A section of the report.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Text")]
pub(super) struct TextKeys {
    /// Heading.
    pub(super) title: Option<String>,
    /// Paragraphs are separated by empty lines.
    pub(super) body: Option<String>,
}
