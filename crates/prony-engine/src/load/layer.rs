//! Between driver and HTTP, where connections don't carry HTTP as it is: TLS. Decision 020 has the reasons.
//!
//! A connection that was opened is `Securing` until its handshake is complete. From then on what it carries is
//! decrypted before it goes where plain bytes go, and requests are encrypted before they go to the driver.

use prony_http::tls::{TlsBuffers, TlsClient, TlsError, TlsSession};
use prony_model::ErrorKind;

use crate::clock::{self, Nanos};
use crate::load::conn::State;
use crate::load::driver::{Carries, Io, Slot};
use crate::load::worker::Worker;
use crate::record::failure_detail::{Detail, Piece};

/// The layer of one worker.
pub(crate) struct Layer {
    client: TlsClient,
    /// The request in plain.
    request: Box<[u8]>,
    connections: Box<[Option<Box<Secured>>]>,
    /// Shared by all connections.
    buffers: TlsBuffers,
}

/// One connection in it.
struct Secured {
    session: TlsSession,
    /// Bytes that were handed to the driver, modulo 2^32: the kernel's stamps name bytes by this count.
    written: u32,
}

impl Layer {
    /// For so many connections, which repeat `request`.
    pub(crate) fn new(client: TlsClient, request: &[u8], slots: u32) -> Self {
        Self {
            client,
            request: request.into(),
            connections: (0..slots).map(|_| None).collect(),
            buffers: TlsBuffers::default(),
        }
    }

    /// Sends one more request. Returns when it was sent, as `Io::send` does, its bytes on the wire, and the number of
    /// bytes up to its end.
    #[inline]
    pub(crate) fn send<I: Io>(&mut self, io: &mut I, slot: Slot) -> (Option<Nanos>, u64, u32) {
        let Some(secured) = &mut self.connections[slot as usize] else { return (None, 0, 0) };
        let out = &mut self.buffers.out;
        if secured.session.write(&self.request, out).is_err() {
            // Only with keys that are used up, and such a connection is replaced before (`is_worn`).
            return (None, 0, secured.written);
        }
        secured.count(out);
        let bytes = out.len() as u64;
        let sent = io.write(slot, out, Carries::Request);
        out.clear();
        (sent, bytes, secured.written)
    }

    /// Whether the keys of `slot` have been used for as long as they may be.
    #[inline]
    pub(crate) fn is_worn(&self, slot: Slot) -> bool {
        self.connections[slot as usize].as_ref().is_some_and(|secured| secured.session.is_worn())
    }

    /// `slot` has no connection any more.
    pub(crate) fn forget(&mut self, slot: Slot) {
        self.connections[slot as usize] = None;
    }

    /// Sends what the protocol itself has to say; returns how many bytes that are.
    #[inline]
    fn flush<I: Io>(&mut self, io: &mut I, slot: Slot) -> usize {
        let out = &mut self.buffers.out;
        let bytes = out.len();
        if bytes > 0 {
            if let Some(secured) = &mut self.connections[slot as usize] {
                secured.count(out);
            }
            // The moment is of no interest: no request ends with these bytes.
            let _sent = io.write(slot, out, Carries::Control);
            out.clear();
        }
        bytes
    }
}

impl Secured {
    #[inline]
    fn count(&mut self, bytes: &[u8]) {
        #[expect(clippy::cast_possible_truncation, reason = "the kernel counts modulo 2^32, too")]
        let bytes = bytes.len() as u32;
        self.written = self.written.wrapping_add(bytes);
    }
}

impl Worker {
    /// TCP is open: begins the handshake.
    pub(crate) fn secure<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        let Some(layer) = &mut self.layer else { return };
        self.connections[slot as usize].state = State::Securing;
        match TlsSession::new(&layer.client, &mut layer.buffers) {
            Ok(session) => {
                layer.connections[slot as usize] = Some(Box::new(Secured { session, written: 0 }));
                let bytes = layer.flush(io, slot);
                self.recorder.wrote(bytes);
            }
            Err(error) => self.not_secured(io, slot, kind(error), Detail::Tls(error), now),
        }
    }

    /// Bytes have come on a connection that is secured or on its way to be.
    pub(crate) fn received_secured<I: Io>(&mut self, io: &mut I, slot: Slot, bytes: &[u8], now: Nanos) {
        let state = self.connections[slot as usize].state;
        let Some(layer) = &mut self.layer else { return };
        let Some(secured) = &mut layer.connections[slot as usize] else { return };
        if !matches!(state, State::Securing | State::Open) {
            return;
        }
        let result = secured.session.read(bytes, &mut layer.buffers);
        let resumed = secured.session.is_resumed();
        let written = layer.flush(io, slot);
        self.recorder.wrote(written);
        match result {
            Ok(progress) => {
                if progress.secured {
                    self.secured(io, slot, resumed, now);
                }
                self.received_plain(io, slot, now);
                if progress.ended {
                    self.ended(io, slot, true, now);
                }
            }
            Err(error) => {
                // Records before the one that is wrong count: the server may have answered and then gone wrong.
                if state == State::Open {
                    self.received_plain(io, slot, now);
                }
                let detail = match error {
                    TlsError::NotTls => Detail::NotTls(Piece::of(bytes)),
                    error => Detail::Tls(error),
                };
                self.failed_secured(io, slot, kind(error), detail, now);
            }
        }
    }

    /// Handles what the layer has decrypted.
    #[inline]
    fn received_plain<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        let Some(layer) = &mut self.layer else { return };
        if layer.buffers.plain.is_empty() {
            return;
        }
        let mut plain = std::mem::take(&mut layer.buffers.plain);
        self.answers(io, slot, &plain, now);
        plain.clear();
        if let Some(layer) = &mut self.layer {
            layer.buffers.plain = plain;
        }
    }

    /// The handshake is complete.
    fn secured<I: Io>(&mut self, io: &mut I, slot: Slot, resumed: bool, now: Nanos) {
        // Verifying a certificate takes long enough to be no part of the request's time.
        let now = clock::now().max(now);
        let connection = &self.connections[slot as usize];
        let took = now.saturating_sub(connection.since).saturating_sub(connection.took);
        self.recorder.secured(resumed, took);
        self.opened(io, slot, now);
    }

    /// A session has failed, in the handshake or later.
    fn failed_secured<I: Io>(&mut self, io: &mut I, slot: Slot, kind: ErrorKind, detail: Detail, now: Nanos) {
        match self.connections[slot as usize].state {
            State::Securing => self.not_secured(io, slot, kind, detail, now),
            State::Open => self.lose_or_drop(io, slot, kind, detail, now),
            State::Closed | State::Connecting => {}
        }
    }

    /// A connection ended before its handshake did.
    pub(crate) fn not_secured<I: Io>(
        &mut self,
        io: &mut I,
        slot: Slot,
        kind: ErrorKind,
        detail: Detail,
        now: Nanos,
    ) {
        io.close(slot);
        self.connecting -= 1;
        self.recorder.handshake_failed();
        self.not_connected(slot, kind, detail, now);
    }

    /// `slot` has no connection any more.
    #[inline]
    pub(crate) fn forget_layer(&mut self, slot: Slot) {
        if let Some(layer) = &mut self.layer {
            layer.forget(slot);
        }
    }
}

/// What kind of failure `error` is.
fn kind(error: TlsError) -> ErrorKind {
    if error.is_certificate() { ErrorKind::Certificate } else { ErrorKind::Tls }
}
