//! `prony probe`: one request, or a few, and where their time went.

use prony_engine::{BodyNotKept, KeptBody};
use prony_report::clean;

use crate::args::ProbeArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output::Outlet;
use crate::progress::StatusLine;
use crate::render::render_probe;
use crate::resolve::probe::{ResolvedArgs, resolve};
use crate::{commit, output, signals, terminal};

/// A body is kept in memory while its transfer is measured, so that no disk slows that down. Pages and most
/// downloads are smaller.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// Sends what `args` mean and reports.
pub(crate) fn probe(args: &ProbeArgs) -> Result<Exit, CliError> {
    let ResolvedArgs { plan, format, destination, body: body_to, quiet } = resolve(args)?;
    let control = signals::control()?;
    let mut body = body_to.as_ref().map(|_| KeptBody::new(BODY_BYTES_MAX));
    let status = StatusLine::new(quiet);
    let result = prony_engine::probe(&plan, &control, body.as_mut(), &mut |number| {
        let target = clean(&plan.target.to_string());
        status.write(&format!("request {} of {} · {target}", number + 1, plan.count));
    });
    drop(status);
    let mut result = result?;
    commit::note(&mut result.environment);
    // The report first: should a file fail now, the numbers are at least seen.
    if matches!(body_to, Some(Outlet::Stdout)) {
        output::write_stderr(&render_probe(&result, format, &terminal::error_style()));
    } else {
        output::print(&render_probe(&result, format, &terminal::style()))?;
    }
    if let Some(destination) = destination {
        destination.write(prony_model::probe_to_json(&result))?;
    }
    if let (Some(body), Some(to)) = (body, body_to) {
        save(body, &to)?;
    }
    Ok(Exit::of_probe(&result))
}

/// Writes the whole body, or nothing.
fn save(body: KeptBody, to: &Outlet) -> Result<(), CliError> {
    let bytes = match body.whole() {
        Ok(bytes) => bytes,
        Err(BodyNotKept::Incomplete) => {
            return Err(CliError::target_failed("the body was not saved: the response is not complete"));
        }
        Err(error @ BodyNotKept::TooLong { .. }) => {
            return Err(CliError::usage(format!("the body was not saved: {error}")).hint(
                "the report stands; a larger body is for a downloader, such as curl --output FILE URL",
            ));
        }
    };
    to.write(&bytes)
}
