//! What is meant by `prony probe`.

use std::path::Path;

use prony_model::{ProbePlan, Target, Timeouts, source_addresses};

use super::request;
use crate::args::{PageFormat, ProbeArgs, RunArgs};
use crate::complaint::Complaint;
use crate::output::Destination;

/// A probe, and what to do with its result.
#[derive(Debug)]
pub(crate) struct Meant {
    pub(crate) plan: ProbePlan,
    pub(crate) format: PageFormat,
    pub(crate) destination: Option<Destination>,
    pub(crate) body: Option<BodyTo>,
    pub(crate) quiet: bool,
}

/// Where the body of the first response goes.
#[derive(Debug)]
pub(crate) enum BodyTo {
    Stdout,
    File(Destination),
}

/// What `args` mean.
pub(crate) fn meant(args: &ProbeArgs) -> Result<Meant, Complaint> {
    let plan = plan(args)?;
    let stdout = Some(Path::new("-"));
    let (json, body) = (args.json.as_deref(), args.save_body.as_deref());
    let format = match (json == stdout, args.output) {
        (true, Some(PageFormat::Text | PageFormat::Markdown)) => {
            return Err(Complaint::usage("--json - and --output both want stdout")
                .hint("leave out one of them, or keep the JSON in a file: --json result.json"));
        }
        (true, _) => PageFormat::Json,
        (false, format) => format.unwrap_or(PageFormat::Text),
    };
    if json.is_some() && json == body {
        let both = if json == stdout { "stdout" } else { "the same file" };
        return Err(Complaint::usage(format!("--json and --save-body both want {both}"))
            .hint("give one of them a file of its own"));
    }
    let file = |flag, path: Option<&Path>| {
        let path = path.filter(|path| Some(*path) != stdout);
        path.map(|path| Destination::prepare(flag, path, args.force)).transpose()
    };
    let body =
        if body == stdout { Some(BodyTo::Stdout) } else { file("--save-body", body)?.map(BodyTo::File) };
    Ok(Meant { plan, format, destination: file("--json", json)?, body, quiet: args.quiet })
}

fn plan(args: &ProbeArgs) -> Result<ProbePlan, Complaint> {
    let mut target = Target::parse(&args.url).map_err(|error| Complaint::from_words(&error))?;
    target.unix.clone_from(&args.unix);
    let timeouts = Timeouts::default();
    let plan = ProbePlan {
        target,
        count: args.count.unwrap_or(1),
        reuse: args.reuse,
        timeouts: Timeouts {
            connect: args.connect_timeout.unwrap_or(timeouts.connect),
            request: args.timeout.unwrap_or(timeouts.request),
            ..timeouts
        },
        expected: args.expect_status.clone().unwrap_or_default(),
        sources: source_addresses(&args.sources).map_err(|error| Complaint::from_words(&error))?,
        // Last, because it may read stdin: everything that can be refused without it is.
        request: request(&RunArgs {
            method: args.method.clone(),
            headers: args.headers.clone(),
            body: args.body.clone(),
            body_file: args.body_file.clone(),
            http10: args.http10,
            // As browsers and curl do, HTTP/1.1 is spoken as if another request might come. In HTTP/1.0 it must be
            // asked for, and is where it is of use.
            no_keepalive: args.http10 && !args.reuse,
            ..RunArgs::default()
        })?,
    };
    plan.check().map_err(|error| Complaint::from_words(&error))?;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> ProbeArgs {
        ProbeArgs { url: "127.0.0.1:3000/a".to_owned(), ..ProbeArgs::default() }
    }

    fn refused(args: &ProbeArgs, expected: &str) {
        let text = meant(args).expect_err("it can't be done").text();
        assert!(text.starts_with(&format!("error: {expected}")), "{text}");
    }

    #[test]
    fn defaults() {
        let meant = meant(&args()).expect("a plan");
        assert_eq!((meant.plan.count, meant.plan.reuse, meant.format), (1, false, PageFormat::Text));
        assert_eq!(meant.plan.target.url, "http://127.0.0.1:3000/a");
        assert!(meant.plan.request.keep_alive && meant.destination.is_none() && meant.body.is_none());
    }

    #[test]
    fn connections_in_http_1_0() {
        for (reuse, keep_alive) in [(false, false), (true, true)] {
            let args = ProbeArgs { http10: true, reuse, ..args() };
            assert_eq!(meant(&args).expect("a plan").plan.request.keep_alive, keep_alive);
        }
    }

    #[test]
    fn only_one_thing_goes_to_stdout() {
        let (dash, file) = (|| Some("-".into()), || Some("/nonexistent/file".into()));
        let json = ProbeArgs { json: dash(), ..args() };
        assert_eq!(meant(&json).expect("a plan").format, PageFormat::Json);
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
        refused(&ProbeArgs { url: "https://h/".to_owned(), ..args() }, "https is not supported yet");
        let unix = ProbeArgs {
            unix: Some("/run/app.socket".into()),
            sources: vec!["127.0.0.2".to_owned()],
            ..args()
        };
        refused(&unix, "--source names a network address");
    }
}
