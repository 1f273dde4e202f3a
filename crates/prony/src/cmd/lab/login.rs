//! `prony lab login` and `logout`: a token for a lab, made on its page and kept in a file that this user alone reads.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::process::{Command, Stdio};

use prony_lab::Client;
use prony_report::clean;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::ask::{address, cli_error};
use super::tokens::Tokens;
use crate::args::{LabLoginArgs, LabLogoutArgs};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// A token has about 90 bytes; what is longer is none.
const TOKEN_BYTES_MAX: u64 = 4096;

/// Has a token made, and keeps it.
pub(super) fn login(args: &LabLoginArgs) -> Result<Exit, CliError> {
    let lab = address(args.lab.as_deref())?;
    let label = args.label.clone().unwrap_or_else(machine_name);
    let page = Client::token_page(&lab, &label).map_err(|error| cli_error(&error))?;
    let token = if io::stdin().is_terminal() {
        output::write_stderr(&format!("make a token on this page and paste it here:\n  {page}\n"));
        if !args.no_browser {
            open(&page);
        }
        typed()?
    } else {
        let mut text = String::new();
        io::stdin().take(TOKEN_BYTES_MAX).read_to_string(&mut text).map_err(|error| unreadable(&error))?;
        text
    };
    if token.trim().is_empty() {
        return Err(CliError::usage("no token was given").hint(format!("make one at {page}")));
    }
    let client = Client::new(&lab, &token).map_err(|error| cli_error(&error))?;
    let me = client.me().map_err(|error| cli_error(&error))?;
    let mut tokens = Tokens::read()?;
    tokens.set(&lab, token.trim());
    tokens.write()?;
    output::write_stderr(&format!(
        "logged in at {lab} as {} ({}); the token is in {}\n",
        clean(&me.name),
        me.role,
        tokens.path().display()
    ));
    Ok(Exit::Good)
}

/// Makes the kept token void, and forgets it.
pub(super) fn logout(args: &LabLogoutArgs) -> Result<Exit, CliError> {
    let lab = address(args.lab.as_deref())?;
    let mut tokens = Tokens::read()?;
    let Some(token) = tokens.remove(&lab) else {
        return Err(CliError::usage(format!("there is no login for {lab} in {}", tokens.path().display()))
            .hint("name the lab as `prony lab login` did"));
    };
    let revoked = Client::new(&lab, &token).and_then(|client| client.revoke_own_token());
    tokens.write()?;
    match revoked {
        Ok(()) => output::write_stderr(&format!("logged out of {lab}; the token is void\n")),
        Err(error) => output::write_stderr(&format!(
            "the token is forgotten here, but the lab did not revoke it ({error}): do that on its page \
             /account\n"
        )),
    }
    Ok(Exit::Good)
}

/// Opens a page in the user's browser, where there is a screen. That it can't is no matter: the address was printed.
fn open(page: &str) {
    if std::env::var_os("DISPLAY").is_none() && std::env::var_os("WAYLAND_DISPLAY").is_none() {
        return;
    }
    let mut command = Command::new("xdg-open");
    let _ = command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}

/// A line from the terminal, which doesn't show it.
fn typed() -> Result<String, CliError> {
    let stdin = io::stdin();
    let before = tcgetattr(&stdin).ok();
    if let Some(before) = &before {
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        let _ = tcsetattr(&stdin, OptionalActions::Flush, &hidden);
    }
    let mut line = String::new();
    let read = stdin.lock().take(TOKEN_BYTES_MAX).read_line(&mut line);
    if let Some(before) = &before {
        let _ = tcsetattr(&stdin, OptionalActions::Now, before);
    }
    read.map_err(|error| unreadable(&error))?;
    Ok(line)
}

fn unreadable(error: &io::Error) -> CliError {
    CliError::usage(format!("can't read the token from stdin ({error})"))
}

/// The name of this machine.
fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
