//! What has no safe wrapper: receiving with the kernel's own time of arrival (rustix reads no SCM_TIMESTAMPNS), and
//! something to do between fork and exec.

#![allow(
    unsafe_code,
    reason = "recvmsg's control messages and pre_exec have no safe wrapper; nothing else is here"
)]

use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::ptr;

use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

use crate::clock::SECOND_NS;

/// Room for control messages: a time stamp takes 32 bytes. Aligned as `cmsghdr` wants it.
#[repr(align(8))]
struct Control([u8; 64]);

/// Asks the kernel to say, with each read, when the last byte of it arrived. Accepted sockets inherit it from
/// their listener, so that the first segment is stamped too.
pub(crate) fn stamp_arrivals(socket: &OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    let length = libc::socklen_t::try_from(size_of::<libc::c_int>()).expect("invariant: 4");
    // SAFETY: the kernel reads `length` bytes at `on`, which lives until the call returns.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            ptr::from_ref(&on).cast(),
            length,
        )
    };
    if result == 0 { Ok(()) } else { Err(last_error()) }
}

/// Reads what has come, and when on the realtime clock the last byte of it reached the machine, if the kernel
/// says so.
pub(crate) fn recv_stamped(socket: &OwnedFd, buffer: &mut [u8]) -> Result<(usize, Option<u64>), Errno> {
    let mut control = Control([0; 64]);
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all zeroes are a valid msghdr: null pointers with lengths of zero.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len();
    // SAFETY: `message` points to `piece` and `control`, `piece` to `buffer`; all live, unmoved and otherwise
    // unused, until the call returns, and the lengths are theirs.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let count = usize::try_from(count).map_err(|_| last_error())?;
    Ok((count, stamp_of(&message)))
}

/// The time stamp among the control messages of a message that was just received.
fn stamp_of(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has set `msg_controllen` to what it wrote at `msg_control`, which the caller keeps
    // alive; the macro functions stay within that.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: not null, so it points to a whole header in the control buffer.
        let cmsghdr = unsafe { &*header };
        if cmsghdr.cmsg_level == libc::SOL_SOCKET && cmsghdr.cmsg_type == libc::SCM_TIMESTAMPNS {
            // SAFETY: the data of a message of this type is a timespec; it may lie unaligned.
            let time: libc::timespec = unsafe { ptr::read_unaligned(libc::CMSG_DATA(header).cast()) };
            let seconds = u64::try_from(time.tv_sec).ok()?;
            return Some(seconds * SECOND_NS + u64::try_from(time.tv_nsec).ok()?);
        }
        // SAFETY: as for the first.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    None
}

/// Has the kernel send `signal` to what `command` starts when the thread that starts it ends, even by SIGKILL.
pub(crate) fn end_with_parent(command: &mut Command, signal: Signal) {
    let parent = getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(signal))?;
        // A parent that ended before the line above has sent nothing.
        if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec it makes two system calls; it neither allocates nor takes a lock, and owns
    // nothing that the parent still uses.
    unsafe { command.pre_exec(tie) };
}

fn last_error() -> Errno {
    std::io::Error::last_os_error().raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::clock::clocks;
    use crate::timed::wait_until_stamped;

    #[test]
    fn bytes_that_came_before_accept_are_stamped_with_their_arrival() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let listener = OwnedFd::from(listener);
        stamp_arrivals(&listener).unwrap();
        wait_until_stamped();
        let before = clocks();
        TcpStream::connect(address).unwrap().write_all(b"abc").unwrap();
        let after = clocks();
        let socket = rustix::net::accept(&listener).unwrap();
        let mut buffer = [0; 16];
        let (count, stamp_ns) = recv_stamped(&socket, &mut buffer).unwrap();
        assert_eq!(&buffer[..count], b"abc");
        let stamp_ns = stamp_ns.expect("a stamp");
        assert!((before.realtime_ns..=after.realtime_ns).contains(&stamp_ns));
    }

    #[test]
    fn without_asking_there_is_no_stamp_and_errors_are_the_kernels() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        let server = OwnedFd::from(server);
        let mut buffer = [0; 16];
        assert_eq!(recv_stamped(&server, &mut buffer), Err(Errno::AGAIN));
        client.write_all(b"abc").unwrap();
        rustix::io::ioctl_fionbio(&server, false).unwrap();
        assert_eq!(recv_stamped(&server, &mut buffer), Ok((3, None)));
    }
}
