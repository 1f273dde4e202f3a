//! The kernel's own time stamps of a TCP socket: asking for them, and reading them (SO_TIMESTAMPING,
//! Documentation/networking/timestamping.rst).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::io::Errno;

use crate::clock::Wall;

/// When requests left is reported on the error queue, by the number of their last byte (OPT_ID, OPT_ID_TCP) and without
/// their bytes (OPT_TSONLY). When answers arrived comes with their bytes.
const ARRIVALS: libc::c_uint = libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_ID_TCP
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;

/// Bytes of control data that come with received bytes: one `scm_timestamping` of three `timespec`.
pub(crate) const CONTROL_BYTES: usize = HEADER_BYTES + 3 * size_of::<libc::timespec>();
/// Bytes of control data that come with a message of the error queue: the same, and a `sock_extended_err` with an
/// IPv6 address at most (16 + 28 bytes); the rest is reserve.
const ERROR_CONTROL_BYTES: usize = 256;
/// Bytes of a `cmsghdr`, which is aligned like its data.
const HEADER_BYTES: usize = size_of::<libc::cmsghdr>();

/// Control data as the kernel aligns it.
#[repr(C, align(8))]
struct Control<const BYTES: usize>(MaybeUninit<[u8; BYTES]>);

/// When the last byte of what one send gave to the kernel left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Departure {
    /// The number of that byte since [`ask_for_stamps`], from 0, modulo 2^32.
    pub key: u32,
    /// When.
    pub at: Wall,
}

/// Asks for the arrivals of what is received on `socket`, and for the `departures` of what is sent from here on.
///
/// Bytes are counted from the first call on a socket, which must not come before it is connected.
pub(crate) fn ask_for_stamps(socket: BorrowedFd<'_>, departures: bool) -> io::Result<()> {
    let flags = if departures { ARRIVALS | libc::SOF_TIMESTAMPING_TX_SOFTWARE } else { ARRIVALS };
    let length = libc::socklen_t::try_from(size_of_val(&flags)).expect("invariant: an int has 4 bytes");
    // SAFETY: the kernel reads `length` bytes at `&flags` during the call only, and `flags` lives until it returns.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const flags).cast(),
            length,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Receives into the spare capacity of `buffer`. Returns how many bytes came, and when the last of them did; 0 for
/// unknown.
#[inline]
pub(crate) fn receive_stamped(socket: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> Result<(usize, Wall), Errno> {
    let spare = buffer.spare_capacity_mut();
    let mut piece = libc::iovec { iov_base: spare.as_mut_ptr().cast(), iov_len: spare.len() };
    let mut control = Control::<CONTROL_BYTES>(MaybeUninit::uninit());
    let (count, control_data) = receive(socket, &mut piece, &mut control, 0)?;
    let at = arrival(control_data);
    // SAFETY: the kernel has written `count` bytes to the spare capacity, which begins at the length.
    unsafe { buffer.set_len(buffer.len() + count) };
    Ok((count, at))
}

/// Takes the oldest message off the error queue of `socket`. `None` where there is none; a message that reports no
/// departure gives a key that is of no request.
pub(crate) fn departure(socket: BorrowedFd<'_>) -> Option<Departure> {
    let mut nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    let mut control = Control::<ERROR_CONTROL_BYTES>(MaybeUninit::uninit());
    let (_, control_data) = receive(socket, &mut nothing, &mut control, libc::MSG_ERRQUEUE).ok()?;
    let key = messages(control_data)
        .filter(|(level, kind, _)| {
            (*level, *kind) == (libc::SOL_IP, libc::IP_RECVERR)
                || (*level, *kind) == (libc::SOL_IPV6, libc::IPV6_RECVERR)
        })
        .find_map(|(_, _, error)| key(error));
    Some(
        key.map_or(Departure { key: 0, at: Wall::UNKNOWN }, |key| Departure {
            key,
            at: arrival(control_data),
        }),
    )
}

/// One `recvmsg`; returns the bytes that came and the control data that the kernel added.
fn receive<'a, const BYTES: usize>(
    socket: BorrowedFd<'_>,
    piece: &mut libc::iovec,
    control: &'a mut Control<BYTES>,
    flags: libc::c_int,
) -> Result<(usize, &'a [u8]), Errno> {
    // SAFETY: a `msghdr` of zeros is valid: no name, no pieces, no control data.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = piece;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = BYTES;
    // SAFETY: the kernel writes to the memory of `piece` and of `control`, at most as many bytes as each has, during
    // the call only; the callers make `piece` of memory that they hold exclusively.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags | libc::MSG_DONTWAIT) };
    let Ok(count) = usize::try_from(count) else {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO));
    };
    // SAFETY: the kernel has written `msg_controllen` bytes, which it never makes more than it was given.
    let control_data =
        unsafe { std::slice::from_raw_parts(control.0.as_ptr().cast(), message.msg_controllen) };
    Ok((count, control_data))
}

/// When what came with this `control` data came (or left, on the error queue); 0 for unknown.
#[inline]
pub(crate) fn arrival(control: &[u8]) -> Wall {
    let stamp = messages(control)
        .find(|(level, kind, _)| (*level, *kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING))
        .and_then(|(_, _, stamps)| {
            let seconds = i64::from_ne_bytes(stamps.get(..8)?.try_into().ok()?);
            let nanoseconds = i64::from_ne_bytes(stamps.get(8..16)?.try_into().ok()?);
            Wall::new(seconds, nanoseconds)
        });
    stamp.unwrap_or(Wall::UNKNOWN)
}

/// The number of the last byte, of a `sock_extended_err` that reports a software stamp of sending.
fn key(error: &[u8]) -> Option<u32> {
    let word = |at: usize| Some(u32::from_ne_bytes(error.get(at..at + 4)?.try_into().ok()?));
    // ee_errno, ee_origin, …, ee_info, ee_data.
    let is_stamp = word(0)? == libc::ENOMSG.cast_unsigned()
        && *error.get(4)? == libc::SO_EE_ORIGIN_TIMESTAMPING
        && word(8)? == SCM_TSTAMP_SND;
    if is_stamp { word(12) } else { None }
}

/// SCM_TSTAMP_SND of linux/errqueue.h: the stamp is of the handing over to the device.
const SCM_TSTAMP_SND: u32 = 0;

/// The control messages in `control`: level, type and data of each (cmsg(3)).
fn messages(control: &[u8]) -> impl Iterator<Item = (libc::c_int, libc::c_int, &[u8])> {
    let mut rest = control;
    std::iter::from_fn(move || {
        let (length, tail) = rest.split_first_chunk::<{ size_of::<usize>() }>()?;
        let (level, tail) = tail.split_first_chunk::<4>()?;
        let (kind, _) = tail.split_first_chunk::<4>()?;
        let length = usize::from_ne_bytes(*length);
        let data = rest.get(HEADER_BYTES..length)?;
        let next = length.next_multiple_of(size_of::<usize>()).min(rest.len());
        rest = &rest[next..];
        Some((libc::c_int::from_ne_bytes(*level), libc::c_int::from_ne_bytes(*kind), data))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A control message as the kernel writes it.
    fn message(level: libc::c_int, kind: libc::c_int, data: &[u8]) -> Vec<u8> {
        let mut bytes = (HEADER_BYTES + data.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn stamps(seconds: i64, nanoseconds: i64) -> Vec<u8> {
        let mut data = [seconds.to_ne_bytes(), nanoseconds.to_ne_bytes()].concat();
        data.resize(48, 0);
        message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &data)
    }

    #[test]
    fn the_stamp_is_found_wherever_it_stands() {
        let check = |control: &[u8], expected: u64| assert_eq!(arrival(control), Wall(expected));
        check(&stamps(2, 5), 2_000_000_005);
        check(&[message(1, 2, b"other"), stamps(3, 0)].concat(), 3_000_000_000);
        check(&[], 0);
        check(&stamps(0, 0), 0);
        check(&stamps(2, 5)[..20], 0);
        check(&message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, b"short"), 0);
        check(&[0; 64], 0);
    }

    #[test]
    fn only_software_stamps_of_sending_have_a_key() {
        let error = |errno: i32, origin: u8, info: u32, data: u32| {
            let mut bytes = errno.cast_unsigned().to_ne_bytes().to_vec();
            bytes.extend([origin, 0, 0, 0]);
            bytes.extend(info.to_ne_bytes());
            bytes.extend(data.to_ne_bytes());
            bytes
        };
        assert_eq!(key(&error(libc::ENOMSG, 4, 0, 77)), Some(77));
        assert_eq!(key(&error(libc::ENOMSG, 4, 2, 77)), None, "an acknowledgement");
        assert_eq!(key(&error(libc::ECONNREFUSED, 2, 0, 77)), None, "an ICMP message");
        assert_eq!(key(b"short"), None);
    }
}
