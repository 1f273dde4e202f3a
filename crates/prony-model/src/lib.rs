//! The words and units of Prony: what a run is asked to do ([`RunPlan`]), what it reports while it runs
//! ([`RunEvent`]), what it found out ([`RunResult`]) and what makes a number doubtful ([`Finding`]); and what a
//! machine can do as a client ([`Calibration`]).
//!
//! This crate holds data and its file format only. It never opens a socket, reads a clock or a file,
//! and never computes a statistic: `prony-engine` measures, `prony-stats` computes, `prony-report` draws.

mod advice;
mod agents;
mod calibration;
mod capacity;
mod check;
mod clean;
mod clock;
mod comparison;
mod core_use;
pub mod duration;
mod environment;
mod event;
mod event_streams;
mod exec;
mod external;
mod finding;
mod fleet;
mod format;
mod http2;
mod latency;
mod limiter;
mod moment;
mod options;
mod outcome;
mod overload;
mod plan;
mod probe;
mod problem;
mod redact;
mod replay;
mod result;
mod retries;
mod scenario;
mod server;
mod slowest;
mod source;
mod stage_result;
mod status;
mod study;
mod target;
mod threshold;
mod tls;
mod tls_choices;
mod trace;
mod traffic;
mod units;
pub mod words;

pub use advice::nearest;
pub use agents::{AgentChoice, RunAgents, check_agent_name, is_name_part};
pub use calibration::{
    CALIBRATION_FORMAT, CALIBRATION_VERSION, Calibration, CalibrationError, CalibrationLimit,
    CalibrationNoise, CalibrationPoint, CalibrationSetting, evaluate,
};
pub use capacity::{
    CAPACITY_FORMAT, CAPACITY_VERSION, CapacityBounds, CapacityLimit, CapacityMethod, CapacityOutcome,
    CapacityResult, CapacityTrial, Confirmation, Scaling, ScalingFigure, ScalingFit, ScalingPoint,
    TrialOutcome, TrialPurpose, TrialTimes, Varied, capacity_from_json, capacity_to_json,
};
pub use check::Contradiction;
pub use clean::{CLEAN_SHARE_MIN, CleanParts, CutReason, Figures};
pub use clock::{Clock, KERNEL_P99};
pub use comparison::{
    BlockOrder, COMPARISON_FORMAT, COMPARISON_VERSION, ChangeInterval, ComparedBlock, ComparedPair,
    ComparedSide, ComparisonKind, ComparisonMethod, ComparisonOutcome, ComparisonResult, Look, LookPlan,
    Metric, MetricComparison, comparison_from_json, comparison_to_json,
};
pub use core_use::CoreUse;
pub use environment::Environment;
pub use event::{Phase, Progress, RunCounts, RunEvent, SampleRecord, SliceCounts};
pub use event_streams::EventStreams;
pub use exec::{
    CommandComparison, CommandExit, CommandResult, CommandRun, EXEC_FORMAT, EXEC_VERSION, ExecCommand,
    ExecEvent, ExecOrder, ExecOutput, ExecPlan, ExecPlanError, ExecResult, ExecRuns, ExecTiming,
    ExpectedExits, MemorySummary, ShellUse, StartUpShare, StartUpSource, StartUpTry, TimeSummary,
    exec_from_json, exec_to_json,
};
pub use external::{
    EXTERNAL_FORMAT, EXTERNAL_VERSION, ExternalClock, ExternalQuantile, ExternalResult, ExternalSeries,
    ExternalTool, external_from_json, external_to_json,
};
pub use finding::{Evidence, Finding, FindingCode, Severity, Verdict, is_disturbed};
pub use fleet::{
    Absence, AbsenceKind, AgentOutcome, ClockOffset, FLEET_FORMAT, FLEET_VERSION, FleetAgent, FleetResult,
    ServerAgent, ServerAgentOutcome, StartSpread, fleet_from_json, fleet_to_json,
};
pub use format::{FORMAT, FormatError, VERSION, from_json, stored_format, stored_pieces, to_json};
pub use http2::Http2Use;
pub use latency::{HistogramData, Histograms, Latencies, LatencySummary, QUANTILES, QuantileNote};
pub use limiter::{Limiter, LimiterKind, SoloRequests};
pub use moment::{rfc3339, since_1970};
pub use options::{
    ExecOptions, Http2Choice, OPEN_CONNECTIONS, OptionsError, RequestOptions, RunOptions, is_token,
};
pub use outcome::{ErrorKind, Outcome, StatusClass};
pub use overload::{
    LoadPhase, OVERLOAD_FORMAT, OVERLOAD_VERSION, OverloadAttempts, OverloadMethod, OverloadOutcome,
    OverloadPart, OverloadPhase, OverloadResult, OverloadRun, overload_from_json, overload_to_json,
};
pub use plan::{
    AGENTS_MAX, Arrivals, Body, BodyCheck, Checks, DriverChoice, End, KernelClock, Load, PlanError,
    RequestPlan, RunPlan, Share, Stage, Stages, StatusSet, Timeouts, Version, split,
};
pub use probe::{
    BodyFraming, FailedAddress, InterimResponse, KernelTcp, LaterPhases, PROBE_FORMAT, PROBE_VERSION,
    PhaseSummary, PhaseTimes, ProbeFailure, ProbePhase, ProbePlan, ProbeResult, ProbedRequest,
    ProbedResponse, ProbedTls, ServerMetric, ServerTimes, probe_from_json, probe_to_json,
};
pub use problem::{Problem, Spelling, plain_spelling};
pub use redact::{is_secret_header, without_secrets};
pub use replay::{Moments, RecordedArrivals, Replay, ReplayResult, ReplayRows, StatusPair};
pub use result::{
    Bytes, CalibrationUse, Client, Connections, DriverUsed, ErrorSummary, FirstResponse, Interval,
    KernelClockUse, LatencyDrift, MachineUse, OutcomeSummary, RateSummary, Requests, RunResult, SecondPoint,
    Start, ThreadUse, TimePieces, Timing,
};
pub use retries::{Backoff, RetryError, RetryOn, RetryOptions, RetryPlan, RetryUse};
pub use scenario::{
    Decoding, Escape, ExpectedValue, Extraction, ExtractionSource, Feed, FeedEnd, FeedOrder, FeedRows,
    FeedRowsError, Flow, FlowResult, Generated, Misplaced, Part, PartContent, Piece as TemplatePiece,
    Place as ScenarioPlace, Scenario, ScenarioResult, SessionConnections, SessionCounts, Step, StepBody,
    StepChecks, StepFile, StepPoint, StepResult, Template, Think, Value as TemplateValue,
};
pub use server::{
    CgroupUse, CounterUse, Dependant, ListenerUse, MemoryGrowth, ProcessesUse, ServerFigure, ServerFoundBy,
    ServerHint, ServerObservation, ServerProcess, ServerSampling, ServerSection, ServerThread, ServerUse,
};
pub use slowest::{RequestConnection, RequestPhases, SlowRequest};
pub use source::{SourceError, source_addresses};
pub use stage_result::StageResult;
pub use status::status_name;
pub use study::{
    CurvePoint, Execution, FigureBasis, FindingPlace, HistogramBin, LoadKind, PublishedFigure, RetriedRun,
    STUDY_FORMAT, STUDY_VERSION, StudyAgents, StudyAxis, StudyCell, StudyComparison, StudyFailure,
    StudyFigure, StudyFinding, StudyFlow, StudyMetric, StudyResult, StudyRun, StudyScenario, StudySearch,
    StudyStage, StudyStep, StudyTarget, StudyText, StudyThreshold, Timeline, TimelinePoint, study_from_json,
    study_to_json,
};
pub use target::{Target, TargetError};
pub use threshold::{
    Amount, Bound, EvaluatedThreshold, Figure, Level, Operator, PlainFigure, Reading, StepFigure, StepName,
    Threshold, ThresholdError, ThresholdOutcome, Unit,
};
pub use tls::{ClientCertificate, Handshakes, ServerCertificate, TlsOptions, TlsUse, TlsVersions};
pub use tls_choices::{TlsChoices, TlsChoicesError};
pub use trace::{TRACEPARENT, TraceError, TraceOptions, TracePlan, Traces, is_traceparent};
pub use traffic::{Traffic, TrafficPart};
pub use units::{Rate, parse_bytes, parse_count, parse_count_u32, parse_duration, parse_percent};
