//! One io_uring instance of one worker thread.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, IntoRawFd as _, OwnedFd};

use io_uring::types::{Fd, Fixed, TimeoutFlags, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::net::SocketAddrAny;
use rustix::net::addr::SocketAddrArg as _;

use super::buffers::{BufferGroups, GROUP, STAMPED_GROUP};
use super::entrance::Entrance;
use super::lent::Lent;
use super::refusals::Refusals;
use super::timestamping::{CONTROL_BYTES, arrival};
use crate::clock::{self, NEVER, Nanos, Wall};

/// What a ring is made for.
pub(crate) struct RingSetup {
    /// Connections at most.
    pub connections: u32,
    /// The bytes that every send takes its part of.
    pub payload: Box<[u8]>,
    /// Whether connections send bytes of their own, too.
    pub writes: bool,
    /// Where connections may go.
    pub peers: Box<[SocketAddrAny]>,
    /// Whether sockets stay for long, so that it pays to register them with the ring.
    pub long_lived: bool,
    /// Whether receives of such sockets report when they arrived.
    pub stamped: u32,
}

/// A connection's socket, by its two names.
#[derive(Clone, Copy)]
pub(crate) struct Socket<'a> {
    /// With the ring, where sockets are registered.
    pub slot: u32,
    /// With the process.
    pub fd: BorrowedFd<'a>,
}

/// How to receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receive {
    /// One piece.
    Once,
    /// Piece after piece.
    Again,
    /// Piece after piece, each with when it arrived: see [`received`].
    Stamped,
}

/// What the kernel has finished.
#[derive(Clone, Copy)]
pub(crate) struct Completion {
    /// The number that came with the request.
    pub user_data: u64,
    /// Bytes, or a negative error number.
    pub result: i32,
    /// The buffer that holds the bytes, if one was picked.
    pub buffer: Option<u16>,
    /// Whether the kernel goes on filling that buffer.
    pub buffer_more: bool,
    /// Whether a multishot request goes on.
    pub more: bool,
}

/// Submission and completion queue, and the memory that requests point into.
pub(crate) struct Ring {
    // Dropped first: afterwards the kernel uses none of the memory below.
    io: IoUring,
    entrance: Entrance,
    ticker: Ticker,
    payload: Box<[u8]>,
    lent: Lent,
    peers: Box<[SocketAddrAny]>,
    /// What receives that report when they arrived look like: no name, and room for a stamp.
    stamped: Box<libc::msghdr>,
    batch: Box<[std::mem::MaybeUninit<cqueue::Entry>]>,
    /// Whether sockets are registered under the number of their slot, which spares each request a look-up.
    registered: bool,
    /// When what was queued had to be handed over before the next `enter`; taken by `handed_over`.
    early: Option<Nanos>,
    refusals: Refusals,
    /// Why a request could not be queued: the next `enter` returns it.
    failed: Option<io::Error>,
}

/// A timeout that comes again and again: a loop that would set one with each call, and hardly ever needs it, waits
/// without.
struct Ticker {
    /// The kernel reads it when the ticker is started.
    length: Box<Timespec>,
    runs: bool,
    last: Nanos,
}

/// Time between two ticks: the kernel wakes an idle worker a hundred times a second.
const TICK_NS: u32 = 10_000_000;
/// What a tick may be late by.
const TICK_SLACK: Nanos = 1_000_000;

/// Entries of the submission queue at least and at most: what a batch of completions leads to, and what a
/// whole round of sends needs. A full queue is handed over at once, so this bounds a batch only.
const SUBMISSIONS: (u32, u32) = (8 * BATCH_U32, 4096);
/// Entries of the completion queue at most (the kernel keeps an overflow list beyond it).
const COMPLETIONS_MAX: u32 = 65_536;
/// Completions handled between two checks of the pacer and the clock.
pub(crate) const BATCH: usize = BATCH_U32 as usize;
const BATCH_U32: u32 = 64;

impl Ring {
    /// Sets up a ring for the calling thread, with its receive buffers.
    pub(crate) fn new(setup: RingSetup) -> io::Result<(Self, BufferGroups)> {
        let wanted = setup.connections.saturating_mul(2).next_power_of_two();
        let submissions = wanted.clamp(SUBMISSIONS.0, SUBMISSIONS.1);
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_cqsize(wanted.saturating_mul(2).clamp(2 * submissions, COMPLETIONS_MAX))
            .setup_clamp()
            .build(submissions)?;
        let entrance = Entrance::new(&ring);
        let submitter = ring.submitter();
        let stamped = Box::new(message_with_stamp());
        let buffers = BufferGroups::register(&submitter, setup.connections, setup.stamped)?;
        let batch = Box::new_uninit_slice(BATCH);
        let registered =
            setup.long_lived && ring.submitter().register_files_sparse(setup.connections).is_ok();
        Ok((
            Self {
                io: ring,
                entrance,
                ticker: Ticker { length: Box::new(Timespec::new().nsec(TICK_NS)), runs: false, last: 0 },
                payload: setup.payload,
                lent: Lent::new(if setup.writes { setup.connections } else { 0 }),
                peers: setup.peers,
                stamped,
                batch,
                registered,
                early: None,
                refusals: Refusals::default(),
                failed: None,
            },
            buffers,
        ))
    }

    /// Registers `socket` under the number of its `slot`.
    pub(crate) fn register(&mut self, slot: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        if self.registered {
            self.io.submitter().register_files_update(slot, &[socket.as_raw_fd()])?;
        }
        Ok(())
    }

    /// Queues the sending of `payload[start..start + length]`; without `report`, only a failure completes.
    #[inline]
    pub(crate) fn send(
        &mut self,
        socket: Socket<'_>,
        start: usize,
        length: usize,
        user_data: u64,
        report: bool,
    ) {
        let flags = if report { squeue::Flags::empty() } else { squeue::Flags::SKIP_SUCCESS };
        // `flags` adds to those of a registered file.
        let entry =
            sending(self.registered, socket, &self.payload[start..start + length], user_data).flags(flags);
        // SAFETY: the bytes are part of `self.payload`, which is never changed and is dropped after the ring.
        let _queued = unsafe { self.push(&entry) };
    }

    /// Queues the sending of a copy of `bytes`, which is kept until [`Self::given_back`].
    pub(crate) fn write(&mut self, socket: Socket<'_>, bytes: &[u8], user_data: u64) {
        let entry =
            sending(self.registered, socket, self.lent.lend(socket.slot, bytes, user_data), user_data);
        self.push_lent(socket.slot, &entry, user_data);
    }

    /// The same of what was written last on this connection and is given back, without its first `taken` bytes.
    pub(crate) fn write_rest(&mut self, socket: Socket<'_>, taken: usize, user_data: u64) {
        let entry =
            sending(self.registered, socket, self.lent.lend_rest(socket.slot, taken, user_data), user_data);
        self.push_lent(socket.slot, &entry, user_data);
    }

    fn push_lent(&mut self, slot: u32, entry: &squeue::Entry, user_data: u64) {
        // SAFETY: `self.lent` neither changes nor frees the bytes before the request completes, and is dropped after
        // the ring.
        if !unsafe { self.push(entry) } {
            self.lent.give_back(slot, user_data);
        }
    }

    /// The writing with the number `user_data` of a connection of `slot` has completed. Returns how many bytes it had.
    pub(crate) fn given_back(&mut self, slot: u32, user_data: u64) -> usize {
        self.lent.give_back(slot, user_data)
    }

    /// Queues a receive into a provided buffer.
    #[inline]
    pub(crate) fn receive(&mut self, socket: Socket<'_>, user_data: u64, how: Receive) {
        let fd = Fd(socket.fd.as_raw_fd());
        let message = std::ptr::from_ref(&*self.stamped);
        let entry = match (how, self.registered) {
            (Receive::Stamped, true) => {
                opcode::RecvMsgMulti::new(Fixed(socket.slot), message, STAMPED_GROUP).build()
            }
            (Receive::Stamped, false) => opcode::RecvMsgMulti::new(fd, message, STAMPED_GROUP).build(),
            (Receive::Again, true) => opcode::RecvMulti::new(Fixed(socket.slot), GROUP).build(),
            (Receive::Again, false) => opcode::RecvMulti::new(fd, GROUP).build(),
            (Receive::Once, _) => opcode::Recv::new(fd, std::ptr::null_mut(), 0)
                .buf_group(GROUP)
                .build()
                .flags(squeue::Flags::BUFFER_SELECT),
        };
        // SAFETY: the kernel writes into the registered buffers only, which outlive the ring, and reads `message`,
        // which is part of `self`, is never changed and is dropped after the ring.
        let _queued = unsafe { self.push(&entry.user_data(user_data)) };
    }

    /// Queues a connection to `peers[peer]`.
    pub(crate) fn connect(&mut self, socket: BorrowedFd<'_>, peer: usize, user_data: u64) {
        let address = &self.peers[peer];
        // SAFETY: the address is part of `self.peers`, which is never changed and is dropped after the ring.
        unsafe {
            let entry = address.with_sockaddr(|pointer, length| {
                opcode::Connect::new(Fd(socket.as_raw_fd()), pointer.cast(), length).build()
            });
            let _queued = self.push(&entry.user_data(user_data));
        }
    }

    /// Queues the cancelling of the request `target`; nothing completes but that request.
    pub(crate) fn cancel(&mut self, target: u64, user_data: u64) {
        let entry = opcode::AsyncCancel::new(target).build().user_data(user_data);
        // SAFETY: points to no memory.
        let _queued = unsafe { self.push(&entry) };
    }

    /// Forgets the socket of `slot`, which is to be closed.
    pub(crate) fn unregister(&mut self, slot: u32) {
        if self.registered {
            // What is queued must still meet this socket, not the next one of the slot.
            if let Err(error) = self.hand_over() {
                self.failed.get_or_insert(error);
            }
            let _as_before = self.io.submitter().register_files_update(slot, &[-1]);
        }
    }

    /// Queues the closing of `socket`; nothing completes.
    pub(crate) fn close(&mut self, socket: OwnedFd, user_data: u64) {
        let fd = socket.into_raw_fd();
        let entry = opcode::Close::new(Fd(fd)).build().user_data(user_data);
        // SAFETY: points to no memory; the descriptor is owned by this request from here on.
        if !unsafe { self.push(&entry.flags(squeue::Flags::SKIP_SUCCESS)) } {
            // SAFETY: the request that was to own the descriptor does not exist.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
        }
    }

    /// Hands everything queued to the kernel and waits until something completes or `until` has come.
    pub(crate) fn enter(&mut self, until: Nanos) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        // The next tick comes before `until`.
        let ticks = self.ticker.runs && until > self.ticker.last + Nanos::from(TICK_NS) + TICK_SLACK;
        let queued = self.queued();
        let result = self.entrance.wait(queued, if ticks { NEVER } else { until });
        match result {
            Ok(_) => {
                self.refusals.reset();
                Ok(())
            }
            // Time is up.
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => {
                self.refusals.reset();
                Ok(())
            }
            Err(error) => self.refusals.note(error),
        }
    }

    /// Starts a ticker, whose completions have the number `user_data`: [`Self::ticked`] is to be called for each.
    pub(crate) fn start_ticker(&mut self, user_data: u64) {
        let timeout = opcode::Timeout::new(&raw const *self.ticker.length).flags(TimeoutFlags::MULTISHOT);
        // SAFETY: the length is part of `self`, is never changed and is dropped after the ring.
        self.ticker.runs = unsafe { self.push(&timeout.build().user_data(user_data)) };
        self.ticker.last = clock::now();
    }

    /// A tick has come. A kernel before 6.4 has none and says so at once: then each call has a timeout again.
    pub(crate) fn ticked(&mut self, more: bool) {
        self.ticker.runs = more;
        self.ticker.last = clock::now();
    }

    /// Takes up to [`BATCH`] completions and hands them to `each`, which may queue new requests.
    #[inline]
    pub(crate) fn completions(&mut self, out: &mut Vec<Completion>) {
        out.clear();
        let mut queue = self.io.completion();
        out.extend(queue.fill(&mut self.batch).iter().map(|entry| Completion {
            user_data: entry.user_data(),
            result: entry.result(),
            buffer: cqueue::buffer_select(entry.flags()),
            buffer_more: cqueue::buffer_more(entry.flags()),
            more: cqueue::more(entry.flags()),
        }));
    }

    /// When everything queued so far was handed over early, if it was since the last call.
    #[inline]
    pub(crate) fn handed_over(&mut self) -> Option<Nanos> {
        self.early.take()
    }

    /// Hands everything queued to the kernel without waiting. What it refuses for now goes with the next call.
    #[cold]
    fn hand_over(&mut self) -> io::Result<()> {
        self.early.get_or_insert_with(clock::now);
        let queued = self.queued();
        if queued == 0 {
            return Ok(());
        }
        match self.entrance.submit(queued) {
            Ok(0) => self.refusals.note(io::Error::from_raw_os_error(libc::EAGAIN)),
            Ok(_) => {
                self.refusals.reset();
                Ok(())
            }
            Err(error) => self.refusals.note(error),
        }
    }

    /// Requests in the submission queue.
    #[inline]
    fn queued(&mut self) -> u32 {
        u32::try_from(self.io.submission().len()).expect("invariant: a queue has 32-bit positions")
    }

    /// Queues `entry`. False if the queue is full and the kernel takes nothing of it any more.
    ///
    /// # Safety
    /// What the entry points to must stay valid until it completes.
    #[inline]
    unsafe fn push(&mut self, entry: &squeue::Entry) -> bool {
        // SAFETY: promised by the caller.
        while unsafe { self.io.submission().push(entry) }.is_err() {
            if self.failed.is_some() {
                return false;
            }
            if let Err(error) = self.hand_over() {
                self.failed = Some(error);
                return false;
            }
        }
        true
    }
}

impl Drop for Ring {
    /// Hands over what is queued: a descriptor that waits to be closed would otherwise stay open.
    fn drop(&mut self) {
        while !self.io.submission().is_empty() {
            if self.hand_over().is_err() {
                break;
            }
        }
        self.entrance.leave(&self.io);
    }
}

/// A request to send all of `bytes`.
#[inline]
fn sending(registered: bool, socket: Socket<'_>, bytes: &[u8], user_data: u64) -> squeue::Entry {
    let length = u32::try_from(bytes.len()).expect("invariant: the driver sends pieces below 4 GiB");
    let send = if registered {
        opcode::Send::new(Fixed(socket.slot), bytes.as_ptr(), length)
    } else {
        opcode::Send::new(Fd(socket.fd.as_raw_fd()), bytes.as_ptr(), length)
    };
    send.flags(libc::MSG_WAITALL | libc::MSG_NOSIGNAL).build().user_data(user_data)
}

/// Bytes of `struct io_uring_recvmsg_out`: the lengths of name, control data and payload, and flags, of 32 bits each.
const MESSAGE_HEADER_BYTES: usize = 16;

/// What is in the bytes of a completed [`Receive::Stamped`]: what the peer sent, and when that arrived.
#[inline]
pub(crate) fn received(bytes: &[u8]) -> (&[u8], Wall) {
    // A header of the kernel's, room for control data, and then what was sent.
    let Some((header, rest)) = bytes.split_first_chunk::<MESSAGE_HEADER_BYTES>() else {
        return (&[], Wall::UNKNOWN);
    };
    let (control, payload) = rest.split_at(rest.len().min(CONTROL_BYTES));
    let filled = u32::from_ne_bytes([header[4], header[5], header[6], header[7]]) as usize;
    (payload, arrival(&control[..control.len().min(filled)]))
}

/// A message without name, with room for a stamp; its bytes go to provided buffers.
fn message_with_stamp() -> libc::msghdr {
    // SAFETY: a `msghdr` of zeros is valid: no name, no pieces, no control data.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_controllen = CONTROL_BYTES;
    message
}
