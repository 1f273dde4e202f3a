//! Serves one reference server until its standard input ends, then prints what it counted: for measuring the
//! servers themselves, before there is a command line around them.
//!
//! `serve null 8080 [WORKERS]`

#![allow(clippy::print_stdout, reason = "a program for a person at a terminal")]

use std::error::Error;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};

use prony_targets::null;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize| arguments.get(index).map(String::as_str);
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, word(1).unwrap_or("0").parse()?));
    let running = match word(0) {
        Some("null") => {
            let workers = word(2).unwrap_or("1").parse()?;
            null::start(null::Config { listen, workers, ..null::Config::default() })?
        }
        _ => return Err("serve what? null".into()),
    };
    println!("http://{}/", running.local_addr());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    println!("{:#?}", running.stop());
    Ok(())
}
