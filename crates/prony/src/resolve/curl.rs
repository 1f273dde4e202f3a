//! `--curl`: the flags that a curl command stands for, below those that were typed.

use std::io::Read as _;

use prony_import::{HttpVersion, Imported, read_curl};
use prony_model::Http2Choice;

use crate::args::{ConnectionArgs, Http2Args, HttpArgs, RequestArgs, RunArgs, WireArgs};
use crate::cli_error::CliError;

/// Bytes of a command that are read from stdin, as many as one may have.
const COMMAND_BYTES_MAX: u64 = prony_import::shell::COMMAND_BYTES_MAX as u64;

/// A command line with its `--curl` resolved.
pub(super) struct WithCurl {
    pub(super) args: RunArgs,
    /// The command's body, unless another one was typed.
    pub(super) body: Option<Vec<u8>>,
    /// What of the command is not in it.
    pub(super) notes: Vec<String>,
}

/// `args`, completed by its curl command where there is one.
pub(super) fn with_curl(args: &RunArgs) -> Result<WithCurl, CliError> {
    let Some(typed) = &args.curl else {
        return Ok(WithCurl { args: args.clone(), body: None, notes: Vec::new() });
    };
    if let Some(url) = &args.url {
        return Err(CliError::usage(format!("--curl and {url} are two servers for one run"))
            .hint("leave out the URL: the curl command has its own"));
    }
    let text = if typed == "-" { from_stdin(args)? } else { typed.clone() };
    let imported = read_curl(&text).map_err(|problem| CliError::from(problem.after("--curl: ")))?;
    let notes = imported.left_out.iter().map(|part| format!("--curl: {part}")).collect();
    let body_typed = args.http.request.body.is_some() || args.http.request.body_file.is_some();
    let body = imported.body.clone().filter(|_| !body_typed);
    Ok(WithCurl { args: merged(args, imported), body, notes })
}

fn from_stdin(args: &RunArgs) -> Result<String, CliError> {
    if args.http.request.body_file.as_deref().is_some_and(|path| path == std::path::Path::new("-")) {
        return Err(CliError::usage("--curl - and --body-file - both read stdin")
            .hint("give the command as text: --curl \"curl …\""));
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().take(COMMAND_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| {
        CliError::usage(format!("can't read the curl command from stdin ({error})"))
            .hint("paste the command and end it with Ctrl-D")
    })?;
    Ok(text)
}

/// What was typed wins.
fn merged(args: &RunArgs, imported: Imported) -> RunArgs {
    let typed = &args.http.request;
    let name = |header: &str| header.split_once(':').map_or(header, |(name, _)| name).to_ascii_lowercase();
    let replaced: Vec<String> = typed.headers.iter().map(|header| name(header)).collect();
    let kept = imported.headers.iter().filter(|(name, _)| !replaced.contains(&name.to_ascii_lowercase()));
    let headers = kept.map(|(name, value)| format!("{name}: {value}")).chain(typed.headers.iter().cloned());
    let connect_to = if args.connect_to.is_empty() { imported.connect_to } else { args.connect_to.clone() };
    let version = version(args, imported.version);
    let request = RequestArgs {
        method: typed.method.clone().or(imported.method),
        headers: headers.collect(),
        timeout: typed.timeout.or(imported.timeout),
        connect_timeout: typed.connect_timeout.or(imported.connect_timeout),
        ..typed.clone()
    };
    let connection = ConnectionArgs {
        http10: args.http.connection.http10 || version == HttpVersion::Http10,
        ..args.http.connection
    };
    let http2 = Http2Args {
        http2: version == HttpVersion::Http2,
        http2_prior_knowledge: version == HttpVersion::Http2PriorKnowledge,
    };
    let wire = WireArgs { http2, ..args.http.wire.clone() };
    RunArgs {
        url: Some(imported.url),
        curl: None,
        http: HttpArgs { request, connection, wire, ..args.http.clone() },
        unix: args.unix.clone().or(imported.unix),
        connect_to,
        ..args.clone()
    }
}

/// The version of HTTP that was typed, else that of the command.
fn version(args: &RunArgs, imported: HttpVersion) -> HttpVersion {
    match args.http.wire.http2.choice() {
        Http2Choice::Off if args.http.connection.http10 => HttpVersion::Http10,
        Http2Choice::Negotiated => HttpVersion::Http2,
        Http2Choice::PriorKnowledge => HttpVersion::Http2PriorKnowledge,
        Http2Choice::Off | Http2Choice::ByUrl => imported,
    }
}
