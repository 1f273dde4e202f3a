//! Every request one by one, as CSV, while the run is on.

use std::fmt::Write as _;
use std::io::Write as _;

use prony_model::{RunEvent, SampleRecord};

use crate::cli_error::CliError;
use crate::output::{Destination, Growing};

/// docs/measuring.md explains the columns.
const HEADER: &str = "thread,port,intended_ns,ready_ns,sent_ns,tx_ns,rx_ns,first_byte_ns,done_ns,connect_ns,\
                      outcome,status,body_bytes\n";

/// A file of samples that grows.
pub(crate) struct SampleFile<'a> {
    file: Growing<'a>,
    line: String,
    lost: u64,
}

impl<'a> SampleFile<'a> {
    /// Begins the file.
    pub(crate) fn new(destination: &'a Destination) -> Result<Self, CliError> {
        let mut file = destination.open()?;
        file.write(HEADER.as_bytes());
        Ok(Self { file, line: String::new(), lost: 0 })
    }

    /// Writes the samples that `event` has.
    pub(crate) fn write(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Samples(samples) => {
                for sample in samples {
                    self.line.clear();
                    line(sample, &mut self.line);
                    self.file.write(self.line.as_bytes());
                }
            }
            RunEvent::SamplesLost(lost) => self.lost += lost,
            RunEvent::Starting { .. }
            | RunEvent::Phase(_)
            | RunEvent::Progress(_)
            | RunEvent::Slice(_)
            | RunEvent::Counts(_)
            | RunEvent::SoFar(_) => {}
        }
    }

    /// Gives the file its name, and reports on stderr what is missing in it.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        if self.lost > 0 {
            let warning =
                format!("warning: {} requests found no room and are not in the samples\n", self.lost);
            // stderr is closed: nobody reads it.
            let _ = std::io::stderr().write_all(warning.as_bytes());
        }
        self.file.finish()
    }
}

fn line(sample: &SampleRecord, out: &mut String) {
    let written = writeln!(
        out,
        "{},{},{},{},{},{},{},{},{},{},{},{},{}",
        sample.thread,
        sample.port,
        sample.intended_ns,
        sample.ready_ns,
        sample.sent_ns,
        sample.tx_ns,
        sample.rx_ns,
        sample.first_byte_ns,
        sample.done_ns,
        sample.connect_ns,
        sample.outcome.name(),
        sample.status,
        sample.body_bytes
    );
    written.expect("invariant: a string takes all that is written");
}
