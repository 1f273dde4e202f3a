//! One check of one site: does it answer, with what status, how soon.

use std::fmt;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send, socket_with,
    sockopt,
};

use super::monitor::Target;
use crate::clock::{SECOND_NS, monotonic_ns, to_timespec};
use crate::stop::Stop;

/// How long a check may take, as in the original.
const CHECK_LIMIT_NS: u64 = 5 * SECOND_NS;
/// A status line is found within so many bytes or not at all: `HTTP/1.1 200 `.
const STATUS_BYTES: usize = 13;

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// There was none yet.
    Nothing,
    Answer {
        status: u16,
        took_ns: u64,
    },
    /// It answered with something that is not HTTP, or ended before it did.
    NoHttp,
    TimedOut,
    Refused,
    /// Any other fault of the connection.
    Fault(Errno),
}

/// Why a check ends before the status is known.
enum Broken {
    Stopped,
    TimedOut,
    Fault(Errno),
}

impl fmt::Display for Found {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => out.write_str("not checked yet"),
            Self::Answer { status, took_ns } => {
                let word = if (200..400).contains(status) { "up" } else { "down" };
                write!(out, "{word} ({status} in {} ms)", took_ns / 1_000_000)
            }
            Self::NoHttp => out.write_str("down (no HTTP answer)"),
            Self::TimedOut => write!(out, "down (no answer in {} s)", CHECK_LIMIT_NS / SECOND_NS),
            Self::Refused => out.write_str("down (connection refused)"),
            Self::Fault(errno) => write!(out, "down ({})", std::io::Error::from(*errno).kind()),
        }
    }
}

/// Asks a site, one address after the other until one can be connected to; `None` when the server stops meanwhile.
pub(super) fn check(target: &Target, stop: &Stop) -> Option<Found> {
    let began_ns = monotonic_ns();
    let deadline_ns = began_ns + CHECK_LIMIT_NS;
    let mut found = Found::Refused;
    for address in &target.addresses {
        let asked = Call { stop, deadline_ns }.ask(*address, &target.request);
        found = match asked {
            Ok(Some(status)) => Found::Answer { status, took_ns: monotonic_ns() - began_ns },
            Ok(None) => Found::NoHttp,
            Err(Broken::Stopped) => return None,
            Err(Broken::TimedOut) => Found::TimedOut,
            Err(Broken::Fault(Errno::CONNREFUSED)) => Found::Refused,
            Err(Broken::Fault(errno)) => Found::Fault(errno),
        };
        if !matches!(found, Found::Refused | Found::Fault(_)) {
            break;
        }
    }
    Some(found)
}

/// Calls that block until the deadline or the stop at most.
struct Call<'a> {
    stop: &'a Stop,
    deadline_ns: u64,
}

impl Call<'_> {
    fn ask(&self, address: SocketAddr, request: &str) -> Result<Option<u16>, Broken> {
        let socket = self.connect(address)?;
        let mut left = request.as_bytes();
        while !left.is_empty() {
            let sent =
                self.when_ready(&socket, PollFlags::OUT, || send(&socket, left, SendFlags::NOSIGNAL))?;
            left = &left[sent..];
        }
        let (mut answer, mut filled) = ([0; STATUS_BYTES], 0);
        while filled < STATUS_BYTES {
            let rest = &mut answer[filled..];
            let (count, _) =
                self.when_ready(&socket, PollFlags::IN, || recv(&socket, &mut *rest, RecvFlags::empty()))?;
            if count == 0 {
                break;
            }
            filled += count;
        }
        Ok(status_of(&answer[..filled]))
    }

    fn connect(&self, address: SocketAddr) -> Result<OwnedFd, Broken> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP)).map_err(Broken::Fault)?;
        match connect(&socket, &address) {
            Ok(()) => {}
            Err(Errno::INPROGRESS) => {
                self.wait(&socket, PollFlags::OUT)?;
                sockopt::socket_error(&socket).and_then(|error| error).map_err(Broken::Fault)?;
            }
            Err(errno) => return Err(Broken::Fault(errno)),
        }
        Ok(socket)
    }

    fn when_ready<T>(
        &self,
        socket: &OwnedFd,
        readiness: PollFlags,
        mut call: impl FnMut() -> Result<T, Errno>,
    ) -> Result<T, Broken> {
        loop {
            match call() {
                Ok(value) => return Ok(value),
                Err(Errno::AGAIN) => self.wait(socket, readiness)?,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Broken::Fault(errno)),
            }
        }
    }

    /// Until the socket is ready.
    fn wait(&self, socket: &OwnedFd, readiness: PollFlags) -> Result<(), Broken> {
        loop {
            if self.stop.is_raised() {
                return Err(Broken::Stopped);
            }
            let left_ns = self.deadline_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                return Err(Broken::TimedOut);
            }
            let mut both = [PollFd::new(socket, readiness), PollFd::new(self.stop, PollFlags::IN)];
            // An interrupted wait is handled like any other.
            let _ = poll(&mut both, Some(&to_timespec(left_ns)));
            if !both[0].revents().is_empty() {
                return Ok(());
            }
        }
    }
}

/// The status of an answer that begins so.
fn status_of(answer: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(answer).ok()?;
    let (version, rest) = text.split_once(' ')?;
    version.strip_prefix("HTTP/1.")?;
    let code = rest.get(..3).filter(|code| code.bytes().all(|byte| byte.is_ascii_digit()))?;
    code.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_three_digits_behind_a_version() {
        let check = |answer: &str, expected| assert_eq!(status_of(answer.as_bytes()), expected, "{answer}");
        check("HTTP/1.1 200 ", Some(200));
        check("HTTP/1.0 503\r\n", Some(503));
        check("HTTP/1.1 20", None);
        check("HTTP/1.1 +20 ", None);
        check("SSH-2.0-x 200", None);
        check("", None);
    }

    #[test]
    fn what_was_found_in_words() {
        let check = |found: Found, expected: &str| assert_eq!(found.to_string(), expected);
        check(Found::Nothing, "not checked yet");
        check(Found::Answer { status: 301, took_ns: 3_900_000 }, "up (301 in 3 ms)");
        check(Found::Answer { status: 503, took_ns: 0 }, "down (503 in 0 ms)");
        check(Found::TimedOut, "down (no answer in 5 s)");
        check(Found::Fault(Errno::HOSTUNREACH), "down (host unreachable)");
    }
}
