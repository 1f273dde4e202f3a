//! When bytes came, on the monotonic clock, from stamps that are on the realtime clock.

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::clock::{Clocks, clocks, monotonic_ns};
use crate::sys;
use crate::tls::Socket;

/// A realtime clock that moves further than this between two reads (a second at most) is worth a mark.
const MOVE_LIMIT_NS: u64 = 10_000;

/// When bytes came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Arrival {
    /// When they reached the machine, by the kernel; if unknown, when they were read.
    pub(super) at_ns: u64,
    pub(super) read_ns: u64,
    /// The time is the kernel's.
    pub(super) stamped: bool,
    /// The clocks moved against each other by more than 10 µs since they were last compared.
    pub(super) clock_moved: bool,
}

/// Dates arrivals. A stamp is turned into an age at the moment of reading, and the age is taken from the
/// monotonic clock: so a slow drift hardly matters, whatever it adds up to (0.5 % of an age of 20 µs is 0.1 µs),
/// and a step of the realtime clock spoils only what was waiting to be read just then.
#[derive(Debug)]
pub(super) struct Stamps {
    /// The kernel was asked for them.
    asked: bool,
    reference_offset_ns: i64,
}

impl Stamps {
    pub(super) fn new(asked: bool) -> Self {
        Self { asked, reference_offset_ns: clocks().offset_ns() }
    }

    /// To be called once a second.
    pub(super) fn compare_clocks(&mut self) {
        self.reference_offset_ns = clocks().offset_ns();
    }

    /// Reads what has come, and when that was: with TLS when its last record came, and `None` for what had been read
    /// with an earlier one.
    pub(super) fn receive(
        &self,
        socket: &mut Socket,
        buffer: &mut [u8],
    ) -> Result<(usize, Option<Arrival>), Errno> {
        socket.recv_with(buffer, |fd, bytes| {
            if self.asked {
                let (count, stamp_ns) = sys::recv_stamped(fd, bytes)?;
                return Ok((count, self.date(stamp_ns)));
            }
            let (count, _) = recv(fd, bytes, RecvFlags::empty())?;
            let read_ns = monotonic_ns();
            Ok((count, Arrival { at_ns: read_ns, read_ns, stamped: false, clock_moved: false }))
        })
    }

    /// When bytes came that are being read now.
    fn date(&self, stamp_ns: Option<u64>) -> Arrival {
        self.date_at(stamp_ns, clocks())
    }

    fn date_at(&self, stamp_ns: Option<u64>, now: Clocks) -> Arrival {
        let read_ns = now.monotonic_ns;
        let clock_moved = now.offset_ns().abs_diff(self.reference_offset_ns) > MOVE_LIMIT_NS;
        // A stamp from the future or from before the machine started shows a step: no age is to be had.
        let at_ns = stamp_ns
            .and_then(|stamp_ns| now.realtime_ns.checked_sub(stamp_ns))
            .and_then(|age_ns| read_ns.checked_sub(age_ns));
        Arrival { at_ns: at_ns.unwrap_or(read_ns), read_ns, stamped: at_ns.is_some(), clock_moved }
    }
}

/// Waits until the kernel stamps what arrives. The first socket that asks for stamps gets none at first: the
/// kernel switches them on for the whole machine, and not at once. If it takes too long, or can't be tried, the
/// server runs without, and each record notes that.
pub(crate) fn wait_until_stamped() {
    // The switch takes less than a millisecond on an idle machine. It is thrown by a kernel thread on this
    // processor, so the processor is left to it meanwhile.
    const TRIES: usize = 1000;
    const PAUSE: Duration = Duration::from_millis(1);
    let Ok((mut sender, receiver)) = stamped_pair() else { return };
    for _ in 0..TRIES {
        let mut byte = [0];
        let tried = sender.write_all(&byte).map(|()| sys::recv_stamped(&receiver, &mut byte));
        match tried {
            Ok(Ok((1, None))) => std::thread::sleep(PAUSE),
            _ => return,
        }
    }
}

/// A connection of the server with itself, whose far end asks for stamps.
fn stamped_pair() -> io::Result<(TcpStream, OwnedFd)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    sender.set_nodelay(true)?;
    let receiver = OwnedFd::from(listener.accept()?.0);
    sys::stamp_arrivals(&receiver)?;
    Ok((sender, receiver))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stamp_ns: Option<u64>, now: (u64, u64), expected: (u64, bool, bool)) {
        let stamps = Stamps { asked: true, reference_offset_ns: 1_000_000_000 };
        let now = Clocks { monotonic_ns: now.0, realtime_ns: now.1 };
        let Arrival { at_ns, stamped, clock_moved, read_ns } = stamps.date_at(stamp_ns, now);
        assert_eq!((at_ns, stamped, clock_moved), expected, "{stamp_ns:?} {now:?}");
        assert_eq!(read_ns, now.monotonic_ns);
    }

    #[test]
    fn an_arrival_is_as_old_as_its_stamp() {
        check(Some(1_000_400_000), (500_000, 1_000_500_000), (400_000, true, false));
        check(None, (500_000, 1_000_500_000), (500_000, false, false));
    }

    #[test]
    fn a_clock_that_moved_is_marked_and_a_stamp_from_the_future_dropped() {
        check(Some(1_000_410_001), (500_000, 1_000_510_001), (400_000, true, true));
        check(Some(1_000_389_999), (500_000, 1_000_489_999), (400_000, true, true));
        check(Some(1_000_500_001), (500_000, 1_000_500_000), (500_000, false, false));
        check(Some(0), (500_000, 1_000_500_000), (500_000, false, false));
    }
}
