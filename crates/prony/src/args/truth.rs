//! The flags of `prony serve truth` and `prony truth-log`.

use std::path::PathBuf;
use std::time::Duration;

use prony_model::{Problem, parse_bytes, parse_count_u32, parse_duration};
use prony_targets::truth::{Delay, SlowBody};

use super::ListenArgs;

/// `prony serve truth`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Delays:\n  \
    const:1ms                  always the same\n  \
    bimodal:1ms,20ms,0.1       the second with that probability\n  \
    exponential:2ms            by its mean\n  \
    pareto:1ms,1.5,500ms       scale, shape, cap\n  \
    single:1ms                 one request at a time\n  \
    freeze:1ms,10s,1s          the first, but every 10 s nothing for 1 s\n  \
    batch:1ms,20ms             the first, then released together every 20 ms\n\n\
    Examples:\n  \
    prony serve truth --port 3000\n  \
    prony serve truth --delay exponential:2ms --seed 7 --log truth.log")]
pub(crate) struct TruthArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// How long each answer takes
    #[arg(long, value_name = "DELAY", default_value = "const:1ms", value_parser = delay)]
    pub(crate) delay: Delay,
    /// Seed of delays and endings
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Share of the requests that get a 500
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) error_share: f64,
    /// Share of the requests that get a reset
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) reset_share: f64,
    /// Send bodies slowly: in this many pieces over this time
    #[arg(long, value_name = "PIECES,TIME", value_parser = slow_body)]
    pub(crate) slow_body: Option<SlowBody>,
    /// Length of a body
    #[arg(long, value_name = "SIZE", default_value = "12", value_parser = parse_bytes)]
    pub(crate) body_bytes: u64,
    /// Close each connection after one answer
    #[arg(long)]
    pub(crate) close: bool,
    /// Speak HTTP/2 only: by prior knowledge, or over TLS
    #[arg(long, conflicts_with = "close")]
    pub(crate) http2: bool,
    /// Threads
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count_u32)]
    pub(crate) workers: u32,
    /// Busy-wait this long before an answer is due, instead of sleeping
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = parse_duration)]
    pub(crate) spin: Duration,
    /// Write what was done with each request to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

/// `prony truth-log`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:\n  prony truth-log truth.log")]
pub(crate) struct TruthLogArgs {
    /// The log that `prony serve truth --log FILE` wrote
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// `KIND:NUMBERS`, as in the help.
fn delay(text: &str) -> Result<Delay, Problem> {
    let usage = || {
        let advice = "write const:1ms, bimodal:1ms,20ms,0.1, exponential:2ms, pareto:1ms,1.5,500ms, single:1ms, \
                      freeze:1ms,10s,1s or batch:1ms,20ms";
        Problem::new(format!("`{text}` is no delay"), advice)
    };
    let time = parse_duration;
    let number = |text: &str| text.parse::<f64>().map_err(|_| usage());
    let (kind, rest) = text.split_once(':').ok_or_else(usage)?;
    let parts: Vec<&str> = rest.split(',').map(str::trim).collect();
    Ok(match (kind, &parts[..]) {
        ("const", [base]) => Delay::Const(time(base)?),
        ("bimodal", [a, b, p]) => Delay::Bimodal { a: time(a)?, b: time(b)?, p: number(p)? },
        ("exponential", [mean]) => Delay::Exponential { mean: time(mean)? },
        ("pareto", [scale, shape, cap]) => {
            Delay::CappedPareto { scale: time(scale)?, shape: number(shape)?, cap: time(cap)? }
        }
        ("single", [service]) => Delay::SingleWorker { service: time(service)? },
        ("freeze", [base, every, stall]) => {
            Delay::Freeze { base: time(base)?, every: time(every)?, stall: time(stall)? }
        }
        ("batch", [base, every]) => Delay::Batch { base: time(base)?, every: time(every)? },
        _ => return Err(usage()),
    })
}

/// `PIECES,TIME`
fn slow_body(text: &str) -> Result<SlowBody, Problem> {
    let usage = || Problem::new(format!("`{text}` is not pieces and a time"), "write 10,500ms");
    let (pieces, over) = text.split_once(',').ok_or_else(usage)?;
    let pieces = pieces.trim().parse().map_err(|_| usage())?;
    Ok(SlowBody { pieces, over: parse_duration(over.trim())? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<Delay>) {
        assert_eq!(delay(text).ok(), expected, "{text}");
    }

    #[test]
    fn delays() {
        let ms = Duration::from_millis;
        check("const:1ms", Some(Delay::Const(ms(1))));
        check("bimodal:1ms, 20ms, 0.1", Some(Delay::Bimodal { a: ms(1), b: ms(20), p: 0.1 }));
        check("exponential:2ms", Some(Delay::Exponential { mean: ms(2) }));
        check("pareto:1ms,1.5,500ms", Some(Delay::CappedPareto { scale: ms(1), shape: 1.5, cap: ms(500) }));
        check("single:1ms", Some(Delay::SingleWorker { service: ms(1) }));
        check("freeze:1ms,10s,1s", Some(Delay::Freeze { base: ms(1), every: ms(10_000), stall: ms(1_000) }));
        check("batch:1ms,20ms", Some(Delay::Batch { base: ms(1), every: ms(20) }));
        for wrong in [
            "",
            "1ms",
            "const",
            "const:1",
            "const:1ms,2ms",
            "bimodal:1ms,2ms",
            "pareto:1ms,x,1s",
            "often:1ms",
        ] {
            check(wrong, None);
        }
    }
}
