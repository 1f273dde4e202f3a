//! The models in which a thread handles one connection at a time: who accepts, and who handles.

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

use super::THREAD_LIMIT;
use super::gate::{Gate, Permit};
use super::handler::Handler;
use super::refused::Refused;
use crate::StartError;
use crate::clock::{SECOND_NS, monotonic_ns, to_timespec};
use crate::counters::count;
use crate::listen::Listener;
use crate::running::Running;
use crate::tls::Socket;

/// A handler's stack: its deepest frame holds 8 KiB of buffers, the rest is calls.
const STACK_BYTES: usize = 128 * 1024;
/// How long to wait before an accept that the kernel had refused is tried again.
const RETRY_NS: u64 = SECOND_NS / 10;

/// `workers` threads that each accept for themselves when they are free: all others wait in the listen queue.
/// With one worker it is the original server.
pub(super) fn spawn_holding(
    running: &mut Running,
    listener: Listener,
    handler: &Arc<Handler>,
    workers: usize,
) -> Result<(), StartError> {
    let listener = Arc::new(listener);
    running.close_on_stop(Arc::clone(&listener));
    for _ in 0..workers {
        let (listener, handler) = (Arc::clone(&listener), Arc::clone(handler));
        running.spawn("rudy", move || {
            while let Some(mut socket) = accept(&listener, &handler, &mut Refused::default()) {
                handler.serve(&mut socket);
            }
        })?;
    }
    Ok(())
}

/// One thread that accepts, and one more for each connection.
pub(super) fn spawn_per_connection(
    running: &mut Running,
    listener: Listener,
    handler: Arc<Handler>,
) -> Result<(), StartError> {
    let listener = Arc::new(listener);
    running.close_on_stop(Arc::clone(&listener));
    running.spawn("rudy-accept", move || {
        let gate = Gate::new(THREAD_LIMIT);
        loop {
            let permit = gate.pass();
            let Some(mut socket) = accept(&listener, &handler, &mut Refused::default()) else { break };
            let server = Arc::clone(&handler);
            let body = move || {
                server.serve(&mut socket);
                drop(socket);
                drop(permit);
            };
            let thread = std::thread::Builder::new().name("rudy".to_owned()).stack_size(STACK_BYTES);
            if thread.spawn(body).is_err() {
                // No thread to be had: the client sees its connection closed.
                count(&handler.counters.broken);
            }
        }
        gate.wait_for_all();
    })
}

/// One thread that accepts and turns away, and `workers` that handle.
pub(super) fn spawn_refusing(
    running: &mut Running,
    listener: Listener,
    handler: &Arc<Handler>,
    workers: usize,
) -> Result<(), StartError> {
    // Its bound is never reached: who is sent holds one of as many permits.
    let (give, take) = sync_channel::<(Socket, Permit)>(workers);
    let take = Arc::new(Mutex::new(take));
    for _ in 0..workers {
        let (take, handler) = (Arc::clone(&take), Arc::clone(handler));
        running.spawn("rudy", move || {
            while let Some((mut socket, permit)) = next_of(&take) {
                handler.serve(&mut socket);
                drop(socket);
                drop(permit);
            }
        })?;
    }
    let handler = Arc::clone(handler);
    let listener = Arc::new(listener);
    running.close_on_stop(Arc::clone(&listener));
    running.spawn("rudy-accept", move || {
        let gate = Gate::new(workers);
        let mut refused = Refused::default();
        while let Some(socket) = accept(&listener, &handler, &mut refused) {
            let Some(permit) = gate.try_pass() else {
                count(&handler.counters.refused);
                refused.turn_away(socket, monotonic_ns());
                continue;
            };
            give.send((socket, permit)).expect("invariant: the workers outlive their sender");
        }
    })
}

fn next_of(take: &Mutex<Receiver<(Socket, Permit)>>) -> Option<(Socket, Permit)> {
    take.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// The next connection; `None` when the server stops. Meanwhile it looks after the refused.
fn accept(listener: &Listener, handler: &Handler, refused: &mut Refused) -> Option<Socket> {
    loop {
        if handler.stop.is_raised() {
            return None;
        }
        let now_ns = monotonic_ns();
        refused.tidy(now_ns);
        let mut until_ns = refused.next_ns().unwrap_or(u64::MAX);
        match accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok(socket) => {
                count(&handler.counters.connections);
                return Some(listener.socket(socket));
            }
            Err(Errno::AGAIN) if handler.accept_every_ns > 0 => {
                handler.stop.comes_before(now_ns.saturating_add(handler.accept_every_ns));
                continue;
            }
            Err(Errno::AGAIN) => {}
            Err(Errno::CONNABORTED | Errno::INTR) => continue,
            // MFILE, NFILE, NOBUFS: until something is closed the listener stays readable, so it is left alone.
            Err(_) => {
                handler.stop.sleep_until(now_ns + RETRY_NS);
                continue;
            }
        }
        let mut watched =
            vec![PollFd::new(listener, PollFlags::IN), PollFd::new(&*handler.stop, PollFlags::IN)];
        watched.extend(refused.sockets().map(|socket| PollFd::new(socket, PollFlags::IN)));
        until_ns = until_ns.max(now_ns);
        let _ = poll(&mut watched, Some(&to_timespec(until_ns - now_ns)));
    }
}
