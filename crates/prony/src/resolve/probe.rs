//! What is meant by `prony probe`.

use prony_model::{ProbePlan, RequestOptions};

use super::outputs::outputs;
use super::{body, request, target};
use crate::args::{ConnectionArgs, PageFormat, ProbeArgs};
use crate::cli_error::CliError;
use crate::output::{Destination, Outlet, is_stdout};

/// A probe, and what to do with its result.
#[derive(Debug)]
pub(crate) struct ResolvedArgs {
    pub(crate) plan: ProbePlan,
    pub(crate) format: PageFormat,
    pub(crate) destination: Option<Destination>,
    /// Where the body of the first response goes.
    pub(crate) body: Option<Outlet>,
    pub(crate) quiet: bool,
}

/// What `args` mean.
pub(crate) fn resolve(args: &ProbeArgs) -> Result<ResolvedArgs, CliError> {
    let plan = plan(args)?;
    let (format, file) = outputs(args.json.as_deref(), "--output", args.output)?;
    if let (Some(path), true) = (&args.json, args.json == args.save_body) {
        let both = if is_stdout(path) { "stdout" } else { "the same file" };
        return Err(CliError::usage(format!("--json and --save-body both want {both}"))
            .hint("give one of them a file of its own"));
    }
    let body =
        args.save_body.as_deref().map(|path| Outlet::prepare("--save-body", path, args.force)).transpose()?;
    let destination = file.map(|path| Destination::prepare("--json", path, args.force)).transpose()?;
    Ok(ResolvedArgs { plan, format, destination, body, quiet: args.quiet })
}

fn plan(args: &ProbeArgs) -> Result<ProbePlan, CliError> {
    let connection = ConnectionArgs {
        http10: args.http10,
        // As browsers and curl do, HTTP/1.1 is spoken as if another request might come. In HTTP/1.0 it must be
        // asked for, and is where it is of use.
        no_keepalive: args.http10 && !args.reuse,
        pipeline: None,
    };
    let target = target(&args.url, &args.tls, args.unix.as_deref(), &args.connect_to)?;
    let without_body =
        request(&args.request, connection, args.http2, &args.sources, args.expect_status.as_ref())?;
    let count = args.count.unwrap_or(1);
    let plan =
        |options: &RequestOptions| options.probe(target.clone(), count, args.reuse).map_err(CliError::from);
    // The body comes last, because it may be read from stdin: everything that can be refused without it is.
    plan(&without_body)?;
    plan(&RequestOptions { body: body(&args.request)?, ..without_body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::TlsArgs;

    fn args() -> ProbeArgs {
        ProbeArgs { url: "127.0.0.1:3000/a".to_owned(), ..ProbeArgs::default() }
    }

    fn refused(args: &ProbeArgs, expected: &str) {
        let text = resolve(args).expect_err("it can't be done").text();
        assert!(text.starts_with(&format!("error: {expected}")), "{text}");
    }

    #[test]
    fn defaults() {
        let resolved = resolve(&args()).expect("a plan");
        assert_eq!((resolved.plan.count, resolved.plan.reuse, resolved.format), (1, false, PageFormat::Text));
        assert_eq!(resolved.plan.target.url, "http://127.0.0.1:3000/a");
        assert!(
            resolved.plan.request.keep_alive && resolved.destination.is_none() && resolved.body.is_none()
        );
    }

    #[test]
    fn connections_in_http_1_0() {
        for (reuse, keep_alive) in [(false, false), (true, true)] {
            let args = ProbeArgs { http10: true, reuse, ..args() };
            assert_eq!(resolve(&args).expect("a plan").plan.request.keep_alive, keep_alive);
        }
    }

    #[test]
    fn only_one_thing_goes_to_stdout() {
        let (dash, file) = (|| Some("-".into()), || Some("/nonexistent/file".into()));
        let json = ProbeArgs { json: dash(), ..args() };
        assert_eq!(resolve(&json).expect("a plan").format, PageFormat::Json);
        refused(&ProbeArgs { save_body: dash(), ..json.clone() }, "--json and --save-body both want stdout");
        let text = ProbeArgs { output: Some(PageFormat::Text), ..json };
        refused(&text, "--json - and --output both want stdout");
        let same = ProbeArgs { json: file(), save_body: file(), ..args() };
        refused(&same, "--json and --save-body both want the same file");
        refused(&ProbeArgs { save_body: file(), ..args() }, "can't write /nonexistent/file");
    }

    #[test]
    fn contradictions() {
        refused(&ProbeArgs { count: Some(0), ..args() }, "0 requests are not a probe");
        let tls = TlsArgs { insecure: true, ..TlsArgs::default() };
        refused(&ProbeArgs { tls, ..args() }, "--insecure is for https, and http://127.0.0.1:3000/a is not");
        let unix = ProbeArgs {
            unix: Some("/run/app.socket".into()),
            sources: vec!["127.0.0.2".to_owned()],
            ..args()
        };
        refused(&unix, "--source names a network address");
    }
}
