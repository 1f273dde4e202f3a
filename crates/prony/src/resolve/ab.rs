//! What the flags of `prony ab` mean.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_model::{
    Body, End, Load, RequestPlan, RunPlan, Target, Timeouts, TlsChoices, TlsVersions, Version, is_token,
    source_addresses,
};
use prony_report::ab::{Attributes, Options, heartbeat};

use super::{header, read};
use crate::args::AbArgs;
use crate::cli_error::CliError;
use crate::output::Destination;

/// ab's requests with a time limit, when no number is given.
const REQUESTS_IN_TIME: u64 = 50_000;
/// ab's patience with a connection, and with a response.
const TIMEOUT_S: u64 = 30;
/// Each request takes 24 bytes until the report is drawn: these are 2.4 GB.
const REQUESTS_MAX: u64 = 100_000_000;
/// What ab calls itself.
const USER_AGENT: &str = "ApacheBench/2.3";

/// A run, and what to do with its result.
#[derive(Debug)]
pub(crate) struct Ab {
    pub(crate) plan: RunPlan,
    pub(crate) options: Options,
    pub(crate) csv: Option<Destination>,
    pub(crate) gnuplot: Option<Destination>,
    /// `-r`: broken connections don't end ab.
    pub(crate) resilient: bool,
    /// What was typed without effect.
    pub(crate) notes: Vec<String>,
}

/// What `args` mean.
pub(crate) fn ab(args: &AbArgs, seed: u64) -> Result<Ab, CliError> {
    refuse(args)?;
    let typed = args.url.as_deref().unwrap_or_default();
    let target = tls(args)?.applied_to(Target::parse(typed)?).map_err(|error| error.problem(flag))?;
    let (end, connections) = amounts(args)?;
    let timeout = Duration::from_secs(match &args.timeout {
        None => TIMEOUT_S,
        Some(typed) => positive("-s", typed)?,
    });
    let proxy = args.proxy.as_deref().map(proxy).transpose()?;
    let destination = |flag: &str, file: &Option<std::path::PathBuf>| {
        file.as_deref().map(|path| Destination::prepare(flag, path, args.force)).transpose()
    };
    if args.csv.is_some() && args.csv == args.gnuplot {
        return Err(CliError::usage("-e and -g both want the same file").hint("give each a file of its own"));
    }
    let options = options(args, &target, proxy.as_ref(), end);
    let (csv, gnuplot) = (destination("-e", &args.csv)?, destination("-g", &args.gnuplot)?);
    let request = request(args, &target)?;
    let target = match &proxy {
        Some(proxy) => target.through(proxy)?,
        None => target,
    };
    let plan = RunPlan {
        request,
        timeouts: Timeouts { connect: timeout, request: timeout, ..Timeouts::default() },
        sources: source_addresses(args.source.as_slice())?,
        samples: true,
        ..RunPlan::new(target, Load::Closed { connections }, end, seed)
    };
    plan.check()?;
    Ok(Ab { plan, options, csv, gnuplot, resilient: args.resilient, notes: notes(args) })
}

/// Refuses what ab can and prony can't: nothing is left out in silence.
fn refuse(args: &AbArgs) -> Result<(), CliError> {
    if args.tls_no_sni {
        return Err(CliError::usage("-I is not supported: the server is always asked for by its name")
            .hint("leave it out; for another name: prony run URL --sni NAME"));
    }
    if args.tls_ciphers.is_some() {
        return Err(CliError::usage(
            "-Z is not supported: every cipher suite that is not known to be weak is offered",
        )
        .hint("leave it out, and choose the cipher suite on the server"));
    }
    if args.window.is_some() {
        return Err(CliError::usage("-b is not supported: the kernel sizes socket buffers as it needs them")
            .hint("leave it out, or bound them for the whole machine: sysctl net.ipv4.tcp_rmem"));
    }
    if let Some(typed) = &args.verbosity
        && whole("-v", typed)? > 1
    {
        return Err(CliError::usage(format!(
            "-v {typed} prints every response, which a load has no time for"
        ))
        .hint("for one exchange in full: curl -v URL"));
    }
    let methods = [("-i", args.head), ("-p", args.post_file.is_some()), ("-u", args.put_file.is_some())];
    let mut typed = methods.into_iter().filter_map(|(flag, is_there)| is_there.then_some(flag));
    match (typed.next(), typed.next(), &args.method) {
        (Some(first), Some(second), _) => Err(two_methods(first, second)),
        (Some("-i"), None, Some(_)) => Err(two_methods("-i", "-m")),
        _ => Ok(()),
    }
}

fn two_methods(first: &str, second: &str) -> CliError {
    CliError::usage(format!("{first} and {second} both say the method")).hint("leave out one of them")
}

/// ab's flags for TLS, and those of prony that it takes.
fn tls(args: &AbArgs) -> Result<TlsChoices, CliError> {
    let versions = match args.tls_protocol.as_deref() {
        None => TlsVersions::Any,
        Some(typed) => match typed.to_ascii_uppercase().as_str() {
            "ALL" => TlsVersions::Any,
            "TLS1.2" => TlsVersions::Tls12,
            "TLS1.3" => TlsVersions::Tls13,
            "SSL2" | "SSL3" | "TLS1" | "TLS1.1" => {
                return Err(CliError::usage(format!("-f {typed} is not supported: it is broken (RFC 8996)"))
                    .hint("use -f TLS1.2, -f TLS1.3 or -f ALL"));
            }
            _ => {
                return Err(CliError::usage(format!("-f `{typed}` is not a version of TLS"))
                    .hint("use -f TLS1.2, -f TLS1.3 or -f ALL"));
            }
        },
    };
    Ok(TlsChoices {
        ca_files: args.cacert.clone(),
        certificate: args.tls_certificate.clone(),
        insecure: args.insecure,
        versions,
        ..TlsChoices::default()
    })
}

/// How ab writes a setting.
fn flag(name: &str) -> String {
    match name {
        "cert" | "key" => "-E".to_owned(),
        "tls" => "-f".to_owned(),
        other => format!("--{other}"),
    }
}

/// When the run ends, and how many connections it has.
fn amounts(args: &AbArgs) -> Result<(End, u32), CliError> {
    let requests = args.requests.as_deref().map(|typed| positive("-n", typed)).transpose()?;
    let limit_s = args.time_limit.as_deref().map(|typed| positive("-t", typed)).transpose()?;
    let (end, requests) = match limit_s {
        None => {
            let requests = requests.unwrap_or(1);
            (End::Requests(requests), requests)
        }
        Some(limit_s) => {
            let requests = requests.filter(|_| args.requests_follow_limit).unwrap_or(REQUESTS_IN_TIME);
            (End::First { duration: Duration::from_secs(limit_s), requests }, requests)
        }
    };
    if requests > REQUESTS_MAX {
        return Err(CliError::usage(format!("-n {requests} is more than {REQUESTS_MAX}"))
            .hint("ab's report keeps every request in memory; prony run doesn't: prony run URL -n 1G"));
    }
    let connections = args.concurrency.as_deref().map_or(Ok(1), |typed| positive("-c", typed))?;
    if connections > requests {
        return Err(CliError::usage(format!("-c {connections} is more than -n {requests}"))
            .hint(format!("every connection needs a request: use -n {connections} or more")));
    }
    let connections = u32::try_from(connections)
        .map_err(|_| CliError::usage(format!("-c {connections} are more than one run can hold")))?;
    Ok((end, connections))
}

/// A whole number, in digits as ab reads them.
pub(super) fn whole(flag: &str, typed: &str) -> Result<u64, CliError> {
    typed.trim().parse().map_err(|_| {
        CliError::usage(format!("{flag} `{typed}` is not a whole number"))
            .hint(format!("write it in digits: {flag} 100"))
    })
}

fn positive(flag: &str, typed: &str) -> Result<u64, CliError> {
    match whole(flag, typed)? {
        0 => Err(CliError::usage(format!("{flag} 0 is no load")).hint(format!("use {flag} 1 or more"))),
        number => Ok(number),
    }
}

fn proxy(typed: &str) -> Result<Target, CliError> {
    Target::parse(typed).ok().filter(|proxy| proxy.path == "/").ok_or_else(|| {
        CliError::usage(format!("-X `{typed}` is not a proxy")).hint("write host and port: -X 127.0.0.1:3128")
    })
}

fn options(args: &AbArgs, target: &Target, proxy: Option<&Target>, end: End) -> Options {
    let attributes = [&args.table_attributes, &args.row_attributes, &args.cell_attributes];
    let html = args.html || attributes.iter().any(|attribute| attribute.is_some());
    let default = Attributes::default();
    let or = |typed: &Option<String>, default: String| typed.clone().unwrap_or(default);
    Options {
        host: target.host.clone(),
        port: target.port,
        path: target.path.clone(),
        proxy: proxy.map(|proxy| format!("{}:{}", proxy.host, proxy.port)),
        keep_alive: args.keep_alive,
        sends_body: args.post_file.is_some() || args.put_file.is_some(),
        percentiles: !args.no_percentiles,
        confidence: !args.no_confidence,
        variable_length: args.variable_length,
        progress: !args.quiet && end.requests().and_then(heartbeat).is_some(),
        html: html.then(|| Attributes {
            table: or(&args.table_attributes, default.table),
            row: or(&args.row_attributes, default.row),
            cell: or(&args.cell_attributes, default.cell),
        }),
    }
}

/// The request that ab sends, field for field.
fn request(args: &AbArgs, target: &Target) -> Result<RequestPlan, CliError> {
    let file = args.post_file.as_deref().or(args.put_file.as_deref());
    let method = match (&args.method, file) {
        (Some(method), _) if !is_token(method) => {
            return Err(CliError::usage(format!("-m `{method}` is not an HTTP method"))
                .hint("write one word such as PATCH or DELETE"));
        }
        (Some(method), _) => method.as_str(),
        (None, None) if args.head => "HEAD",
        (None, None) => "GET",
        (None, Some(_)) if args.post_file.is_some() => "POST",
        (None, Some(_)) => "PUT",
    };
    let mut headers = ahead_of_the_body(args)?;
    let typed = args.headers.iter().map(|typed| header(typed)).collect::<Result<Vec<_>, _>>()?;
    let bytes = file.map(body).transpose()?;
    let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
    if let Some(bytes) = &bytes {
        add("Content-length", &bytes.len().to_string());
        add("Content-type", args.content_type.as_deref().unwrap_or("text/plain"));
    }
    let is_typed = |name: &str| typed.iter().any(|(typed, _)| typed.eq_ignore_ascii_case(name));
    for (name, value) in &typed {
        add(name, value);
    }
    for (name, value) in [("Host", target.authority.as_str()), ("User-Agent", USER_AGENT), ("Accept", "*/*")]
    {
        if !is_typed(name) {
            add(name, value);
        }
    }
    Ok(RequestPlan {
        method: method.to_owned(),
        headers,
        verbatim: true,
        body: Body { bytes: bytes.unwrap_or_default() },
        version: Version::Http10,
        keep_alive: args.keep_alive,
        pipeline: 1,
    })
}

/// The fields that ab sends first.
fn ahead_of_the_body(args: &AbArgs) -> Result<Vec<(String, String)>, CliError> {
    let mut headers = Vec::new();
    if args.keep_alive {
        headers.push(("Connection".to_owned(), "Keep-Alive".to_owned()));
    }
    if !args.cookies.is_empty() {
        headers.push(header(&format!("Cookie: {}", args.cookies.join("; ")))?);
    }
    for (name, credentials) in
        [("Authorization", &args.credentials), ("Proxy-Authorization", &args.proxy_credentials)]
    {
        if let Some(credentials) = credentials {
            let encoded = STANDARD.encode(credentials.trim_start());
            headers.push((name.to_owned(), format!("Basic {encoded}")));
        }
    }
    Ok(headers)
}

fn body(path: &Path) -> Result<Vec<u8>, CliError> {
    if path == Path::new("-") {
        // To ab that is the name of a file; to prony run it is stdin.
        return read(Path::new("./-"));
    }
    read(path)
}

fn notes(args: &AbArgs) -> Vec<String> {
    let has_body = args.post_file.is_some() || args.put_file.is_some();
    let mut notes = Vec::new();
    if args.content_type.is_some() && !has_body {
        notes.push("-T was not sent: it is the type of a body, and there is none (-p or -u)".to_owned());
    }
    if args.requests.is_some() && args.time_limit.is_some() && !args.requests_follow_limit {
        notes.push(format!(
            "-t stands behind -n and implies -n {REQUESTS_IN_TIME}: write -n last to have your own"
        ));
    }
    notes
}
