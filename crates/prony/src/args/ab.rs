//! The flags of `prony ab`: those of httpd 2.4's `ab`, letter for letter, with `--force` and `--strict`.

use std::path::PathBuf;

use clap::{ArgAction, ArgMatches};

/// `prony ab`, as typed: `None` where nothing was.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(
    // As getopt has it: the last of several wins.
    args_override_self = true,
    override_usage = "prony ab [OPTIONS] http[s]://HOST[:PORT]/PATH",
    after_help = EXAMPLES,
    after_long_help = DETAILS
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is there or not: nothing is inferred here"
)]
pub(crate) struct AbArgs {
    /// The server and the document
    #[arg(value_name = "URL", required_unless_present = "version")]
    pub(crate) url: Option<String>,
    /// Requests [default: 1; 50000 with -t]
    #[arg(short = 'n', value_name = "N", allow_hyphen_values = true)]
    pub(crate) requests: Option<String>,
    /// Connections [default: 1]
    #[arg(short = 'c', value_name = "N", allow_hyphen_values = true)]
    pub(crate) concurrency: Option<String>,
    /// Stop after this long; -n counts only if it follows
    #[arg(short = 't', value_name = "SECONDS", allow_hyphen_values = true)]
    pub(crate) time_limit: Option<String>,
    /// Wait this long for a connection or a response [default: 30]
    #[arg(short = 's', value_name = "SECONDS", allow_hyphen_values = true)]
    pub(crate) timeout: Option<String>,
    /// Keep connections open
    #[arg(short = 'k')]
    pub(crate) keep_alive: bool,
    /// POST the content of this file; see -T
    #[arg(short = 'p', value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) post_file: Option<PathBuf>,
    /// PUT the content of this file; see -T
    #[arg(short = 'u', value_name = "FILE", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) put_file: Option<PathBuf>,
    /// Content-type of the body [default: text/plain]
    #[arg(short = 'T', value_name = "TYPE", allow_hyphen_values = true)]
    pub(crate) content_type: Option<String>,
    /// HEAD instead of GET
    #[arg(short = 'i', hide_short_help = true)]
    pub(crate) head: bool,
    /// Any other method
    #[arg(short = 'm', value_name = "METHOD", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) method: Option<String>,
    /// A header, `Name: value`; may be repeated
    #[arg(short = 'H', value_name = "HEADER", allow_hyphen_values = true)]
    pub(crate) headers: Vec<String>,
    /// A cookie, `name=value`; may be repeated, and all are sent (ab sends the last)
    #[arg(short = 'C', value_name = "COOKIE", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) cookies: Vec<String>,
    /// Basic authentication, `user:password`
    #[arg(short = 'A', value_name = "USER:PASSWORD", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) credentials: Option<String>,
    /// The same for the proxy
    #[arg(short = 'P', value_name = "USER:PASSWORD", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) proxy_credentials: Option<String>,
    /// Ask this forward proxy
    #[arg(short = 'X', value_name = "PROXY:PORT", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) proxy: Option<String>,
    /// Connect from this local address
    #[arg(short = 'B', value_name = "ADDRESS", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) source: Option<String>,
    /// Bodies may differ in length
    #[arg(short = 'l')]
    pub(crate) variable_length: bool,
    /// Go on after broken connections: prony always does
    #[arg(short = 'r', hide_short_help = true)]
    pub(crate) resilient: bool,
    /// No table of percentages
    #[arg(short = 'd', hide_short_help = true)]
    pub(crate) no_percentiles: bool,
    /// No standard deviation, median and warnings
    #[arg(short = 'S', hide_short_help = true)]
    pub(crate) no_confidence: bool,
    /// No progress on stderr
    #[arg(short = 'q', hide_short_help = true)]
    pub(crate) quiet: bool,
    /// Write the percentages to this file, as CSV
    #[arg(short = 'e', value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) csv: Option<PathBuf>,
    /// Write every request to this file, for gnuplot; moments in UTC
    #[arg(short = 'g', value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) gnuplot: Option<PathBuf>,
    /// Replace the files of -e and -g if they exist, as ab does
    #[arg(long)]
    pub(crate) force: bool,
    /// Report as an HTML table
    #[arg(short = 'w', hide_short_help = true)]
    pub(crate) html: bool,
    /// Attributes of the table; -w
    #[arg(short = 'x', value_name = "ATTRIBUTES", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) table_attributes: Option<String>,
    /// Attributes of its rows; -w
    #[arg(short = 'y', value_name = "ATTRIBUTES", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) row_attributes: Option<String>,
    /// Attributes of its cells; -w
    #[arg(short = 'z', value_name = "ATTRIBUTES", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) cell_attributes: Option<String>,
    /// Verbosity: 0 or 1; more is refused
    #[arg(short = 'v', value_name = "LEVEL", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) verbosity: Option<String>,
    /// Print the version
    #[arg(short = 'V', hide_short_help = true)]
    pub(crate) version: bool,
    /// Refused: socket buffers are the kernel's
    #[arg(short = 'b', value_name = "BYTES", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) window: Option<String>,
    /// Refused: TLS asks for the name of the URL
    #[arg(short = 'I', action = ArgAction::SetTrue, hide_short_help = true)]
    pub(crate) tls_no_sni: bool,
    /// Refused: all cipher suites of TLS 1.2 and 1.3 that are not known to be weak are offered
    #[arg(short = 'Z', value_name = "CIPHERS", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) tls_ciphers: Option<String>,
    /// Offer this version of TLS only: TLS1.2 or TLS1.3; ALL is both [default: ALL]
    #[arg(short = 'f', value_name = "PROTOCOL", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) tls_protocol: Option<String>,
    /// Client certificate and its key, in one PEM file
    #[arg(short = 'E', value_name = "FILE", allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// Trust the certificates in this PEM file instead of the system's; may be repeated
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) cacert: Vec<PathBuf>,
    /// Accept any certificate, as ab does
    #[arg(long, hide_short_help = true)]
    pub(crate) insecure: bool,
    /// End with prony's exit codes: 3 if the run is invalid, 4 if no answer was good
    #[arg(long)]
    pub(crate) strict: bool,
    /// Whether -n stands behind -t, and so counts.
    #[arg(skip)]
    pub(crate) requests_follow_limit: bool,
}

const EXAMPLES: &str = "\
Examples:
  prony ab -n 1000 -c 10 http://127.0.0.1:3000/
  prony ab -kc 10 -t 10 http://127.0.0.1:3000/
  prony ab -n 100 -p body.json -T application/json http://127.0.0.1:3000/add";

const DETAILS: &str = "\
The report on stdout is ab's, line for line; the verdict and what speaks against
the numbers are on stderr.

What differs from ab:
  Broken connections and missing answers are counted, and the load goes on: -r
  is always on. With -t, answers to what was sent in time are awaited for up to
  a second, and the time until the last of them counts.
  With --strict exit codes are prony's own (prony --help-all); without it, a
  load that was made ends with 0, as ab's does, whatever was answered.
  Files that exist are not replaced without --force.
  -T without -p or -u changes nothing, as in ab, and is reported.
  Certificates are verified; ab accepts any, as prony does with --insecure.
  Refused: -b; -I; -Z; -f below TLS1.2; -v from 2 on.";

impl AbArgs {
    /// Fills in what depends on the order of the words.
    pub(super) fn note_order(&mut self, matches: &ArgMatches) {
        let last = |name: &str| matches.indices_of(name).and_then(Iterator::max);
        self.requests_follow_limit = last("requests") > last("time_limit");
    }
}
