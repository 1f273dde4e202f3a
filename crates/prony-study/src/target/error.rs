//! Why a target can't be loaded.

use std::time::Duration;

use prony_model::words::grouped;

/// Why a target can't be loaded, in words that end with what to try.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct TargetFailure {
    /// What went wrong.
    pub why: TargetError,
    /// The last lines that it wrote.
    pub log_tail: String,
}

/// What went wrong with a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// A command that should make it failed.
    #[error("{target}: `{line}` ended with {how}: mend that first; it was to make the target")]
    Build {
        /// Which target.
        target: String,
        /// The command.
        line: String,
        /// `exit code 1`, …
        how: String,
    },
    /// Its making takes too long.
    #[error("{target}: `{line}` had not ended after {}: give the build more time, or run it by hand once", describe(*within))]
    SlowBuild {
        /// Which target.
        target: String,
        /// The command.
        line: String,
        /// The time for all commands together.
        within: Duration,
    },
    /// Another server has its port.
    #[error("{target}: port {port} is taken{}: stop what listens there, or let Prony choose a port", by(holder.as_ref()))]
    PortTaken {
        /// Which target.
        target: String,
        /// The port.
        port: u16,
        /// Who has it, if that is known.
        holder: Option<String>,
    },
    /// No port was free.
    #[error("{target}: no free port was found: name one in the study file, port = 3000")]
    NoPort {
        /// Which target.
        target: String,
    },
    /// It can't be started.
    #[error(
        "{target}: `{line}` can't be started ({reason}): do its folder and its log exist, and may they be used?"
    )]
    Start {
        /// Which target.
        target: String,
        /// The command.
        line: String,
        /// The system's reason.
        reason: String,
    },
    /// It ended before it could be loaded.
    #[error("{target}: `{line}` ended with {how} before it was ready: {}", what_to_try(how))]
    EndedEarly {
        /// Which target.
        target: String,
        /// The command.
        line: String,
        /// `exit code 1`, …
        how: String,
    },
    /// It ended while it was loaded, or between loads.
    #[error("{target}: `{line}` ended with {how} {when}: it must run until it is stopped")]
    Ended {
        /// Which target.
        target: String,
        /// The command.
        line: String,
        /// `exit code 1`, …
        how: String,
        /// `during the run`, …
        when: &'static str,
    },
    /// It runs, and doesn't answer as it should.
    #[error("{target}: not ready after {}: {last}; give it more time with ready = {{ within = \"60s\" }}, or look at its log", describe(*within))]
    NotReady {
        /// Which target.
        target: String,
        /// How long it was waited for.
        within: Duration,
        /// What the last poll found.
        last: String,
    },
    /// A request before the load went wrong.
    #[error(
        "{target}: {method} {path} before the load went wrong ({why}): the load would have met another state"
    )]
    Prepare {
        /// Which target.
        target: String,
        /// The method.
        method: String,
        /// The path.
        path: String,
        /// What happened.
        why: String,
    },
    /// A URL that no request can be sent to.
    #[error("{target}: `{url}` can't be asked ({why}): write a URL such as http://127.0.0.1:{{port}}/")]
    Url {
        /// Which target, or which cell.
        target: String,
        /// The URL, placeholders filled in.
        url: String,
        /// Why not.
        why: String,
    },
}

impl From<TargetError> for TargetFailure {
    fn from(why: TargetError) -> Self {
        Self { why, log_tail: String::new() }
    }
}

fn describe(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if duration.subsec_nanos() == 0 {
        format!("{} s", grouped(seconds))
    } else {
        format!("{} ms", grouped(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }
}

fn by(holder: Option<&String>) -> String {
    holder.map(|holder| format!(" by {holder}")).unwrap_or_default()
}

fn what_to_try(how: &str) -> &'static str {
    match how {
        "exit code 0" => {
            "a server that goes into the background can't be watched; keep it in the foreground \
             (nginx: -g 'daemon off;')"
        }
        "exit code 127" => "is its program spelled right, and in PATH? a path begins at the target's folder",
        _ => "its last lines say more; start it by hand to see them all",
    }
}
