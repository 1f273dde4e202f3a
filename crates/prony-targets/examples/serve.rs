//! Serves one reference server until its standard input ends, then prints what it counted: for measuring the
//! servers themselves, without a command line around them.
//!
//! `serve null PORT [WORKERS]`, `serve rudy PORT [sequential|thread|pool|async] [DELAY_MS]`, or
//! `serve truth PORT LOG [SPIN_US]` (1 ms always; prints how late the replies were), or
//! `serve postgres`: a private PostgreSQL, and the folder of its socket (for tests that share one).

#![allow(clippy::print_stdout, reason = "a program for a person at a terminal")]

use std::error::Error;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use prony_targets::postgres::{Options, Postgres};
use prony_targets::{Running, null, rudy, truth};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize| arguments.get(index).map(String::as_str);
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, word(1).unwrap_or("0").parse()?));
    let running = match word(0) {
        Some("null") => {
            let workers = word(2).unwrap_or("1").parse()?;
            null::start(null::Config { listen, workers, ..null::Config::default() })?
        }
        Some("rudy") => {
            let model = match word(2) {
                None | Some("sequential") => rudy::Model::Sequential,
                Some("thread") => rudy::Model::Thread,
                Some("pool") => rudy::Model::Pool { workers: 8, when_full: rudy::WhenFull::Hold },
                Some("async") => rudy::Model::Async,
                Some(_) => return Err("which model? sequential, thread, pool, async".into()),
            };
            let delay = Duration::from_millis(word(3).unwrap_or("40").parse()?);
            rudy::start(rudy::Config { listen, model, delay, ..rudy::Config::default() })?
        }
        Some("truth") => {
            let log = Some(word(2).ok_or("write the log where?")?.into());
            let spin = Duration::from_micros(word(3).unwrap_or("50").parse()?);
            truth::start(truth::Config { listen, log, spin, ..truth::Config::default() })?
        }
        Some("postgres") => return serve_postgres(),
        _ => return Err("serve what? null, rudy, truth, postgres".into()),
    };
    serve(running)?;
    if word(0) == Some("truth") { print_lateness(word(2).unwrap_or_default()) } else { Ok(()) }
}

fn serve(running: Running) -> Result<(), Box<dyn Error>> {
    println!("http://{}/", running.local_addr());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    println!("{:?}", running.stop());
    Ok(())
}

fn serve_postgres() -> Result<(), Box<dyn Error>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).collect();
    let postgres = Postgres::start(&Options { programs, temporary: std::env::temp_dir(), port: None })?;
    println!("{}", postgres.socket_folder().display());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Quantiles, in µs, of how much longer than drawn requests stayed, and of what the server took to notice them.
fn print_lateness(log: &str) -> Result<(), Box<dyn Error>> {
    let (mut late, mut unnoticed) = (Vec::new(), Vec::new());
    let (mut unstamped, mut moved) = (0, 0);
    for record in truth::log::read(log)? {
        unstamped += u32::from(!record.stamped);
        moved += u32::from(record.clock_moved);
        late.push(record.residence_ns().saturating_sub(record.delay_ns));
        unnoticed.push(record.read_ns.saturating_sub(record.arrival_ns));
    }
    println!("without the kernel's stamp: {unstamped}; while the clocks moved: {moved}");
    for (name, mut spans) in [("late", late), ("unnoticed", unnoticed)] {
        spans.sort_unstable();
        let at = |permille: usize| {
            spans.get(spans.len() * permille / 1000).map_or(f64::NAN, |ns| *ns as f64 / 1e3)
        };
        println!(
            "{name}: p10 {:.1} p50 {:.1} p90 {:.1} p99 {:.1} p99.9 {:.1} us",
            at(100),
            at(500),
            at(900),
            at(990),
            at(999)
        );
    }
    Ok(())
}
