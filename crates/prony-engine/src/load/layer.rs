//! Between driver and HTTP/1.1 in plain, where connections carry something else: TLS, HTTP/2, or both. Decisions 020 and
//! 021 have the reasons.
//!
//! A connection over TLS that was opened is `Securing` until its handshake is complete. From then on what it carries is
//! decrypted before it goes where plain bytes go, and what is sent is encrypted before it goes to the driver. HTTP/2 is
//! beside, in `http2/`.

use prony_http::tls::{TlsBuffers, TlsClient, TlsError, TlsSession};
use prony_model::ErrorKind;

use crate::clock::{self, Nanos};
use crate::load::conn::State;
use crate::load::driver::{Carries, Io, Slot};
use crate::load::http2::Http2;
use crate::load::http2::refused::Outgoing;
use crate::load::worker::Worker;
use crate::record::failure_detail::{Detail, Piece};

/// The layer of one worker.
pub(crate) struct Layer {
    tls: Option<Tls>,
    /// HTTP/2, where it is spoken.
    pub(crate) http2: Option<Http2>,
    /// The request of HTTP/1.1, in plain.
    request: Box<[u8]>,
    /// Bytes that were handed to the driver, by slot, modulo 2^32: the kernel's stamps name bytes by this count.
    written: Box<[u32]>,
}

/// What connections over TLS need.
struct Tls {
    client: TlsClient,
    sessions: Box<[Option<Box<TlsSession>>]>,
    /// Shared by all connections.
    buffers: TlsBuffers,
}

/// Bytes that were handed to the driver.
pub(crate) struct Sent {
    /// When, as `Io::write` says.
    pub at: Option<Nanos>,
    /// How many they are on the wire.
    pub bytes: usize,
    /// The number of bytes of the connection up to their end, modulo 2^32.
    pub end: u32,
}

impl Layer {
    /// HTTP/1.1 over TLS, for so many connections, which repeat `request`.
    pub(crate) fn http1(client: TlsClient, request: &[u8], slots: u32) -> Self {
        let written = vec![0; slots as usize].into_boxed_slice();
        Self { tls: Some(Tls::new(client, slots)), http2: None, request: request.into(), written }
    }

    /// HTTP/2, over TLS where there is a `client` for that.
    pub(crate) fn http2(client: Option<TlsClient>, http2: Http2, slots: u32) -> Self {
        let written = vec![0; slots as usize].into_boxed_slice();
        let tls = client.map(|client| Tls::new(client, slots));
        Self { tls, http2: Some(http2), request: Box::default(), written }
    }

    /// Sends the request that is repeated, in HTTP/1.1.
    #[inline]
    fn send<I: Io>(&mut self, io: &mut I, slot: Slot) -> Sent {
        encrypted(io, slot, &self.request, Carries::Request, &mut self.tls, &mut self.written)
    }

    /// Sends `request` instead.
    #[inline]
    pub(crate) fn send_bytes<I: Io>(&mut self, io: &mut I, slot: Slot, request: &[u8]) -> Sent {
        encrypted(io, slot, request, Carries::Request, &mut self.tls, &mut self.written)
    }

    /// Whether the keys of `slot` have been used for as long as they may be.
    #[inline]
    pub(crate) fn is_worn(&self, slot: Slot) -> bool {
        let session = self.tls.as_ref().and_then(|tls| tls.sessions[slot as usize].as_ref());
        session.is_some_and(|session| session.is_worn())
    }

    /// `slot` has no connection any more.
    pub(crate) fn forget(&mut self, slot: Slot) {
        self.written[slot as usize] = 0;
        if let Some(tls) = &mut self.tls {
            tls.sessions[slot as usize] = None;
        }
        if let Some(http2) = &mut self.http2 {
            http2.forget(slot);
        }
    }

    /// Hands what TLS itself has to say to the driver; returns how many bytes that are.
    #[inline]
    fn flush_handshake<I: Io>(&mut self, io: &mut I, slot: Slot) -> usize {
        let Some(Tls { buffers, .. }) = &mut self.tls else { return 0 };
        if buffers.out.is_empty() {
            return 0;
        }
        // The moment is of no interest: no request ends with these bytes.
        let sent = hand_over(io, slot, &buffers.out, Carries::Control, &mut self.written);
        buffers.out.clear();
        sent.bytes
    }

    /// Hands the frames that wait to the driver; returns how many bytes that are.
    #[inline]
    fn flush_frames<I: Io>(&mut self, io: &mut I) -> usize {
        let Some(http2) = &mut self.http2 else { return 0 };
        let Some((slot, frames, carries)) = http2.to_send() else { return 0 };
        let sent = encrypted(io, slot, frames, carries, &mut self.tls, &mut self.written);
        http2.sent(&sent, carries == Carries::Request && io.sampled());
        sent.bytes
    }
}

impl Tls {
    fn new(client: TlsClient, slots: u32) -> Self {
        Self { client, sessions: (0..slots).map(|_| None).collect(), buffers: TlsBuffers::default() }
    }
}

/// Hands `plain` to the driver, encrypted where there is TLS.
#[inline]
fn encrypted<I: Io>(
    io: &mut I,
    slot: Slot,
    plain: &[u8],
    carries: Carries,
    tls: &mut Option<Tls>,
    written: &mut [u32],
) -> Sent {
    let Some(Tls { sessions, buffers, .. }) = tls else {
        return hand_over(io, slot, plain, carries, written);
    };
    let nothing = Sent { at: None, bytes: 0, end: written[slot as usize] };
    let Some(session) = &mut sessions[slot as usize] else { return nothing };
    if session.write(plain, &mut buffers.out).is_err() {
        // Only with keys that are used up, and such a connection is replaced before (`is_worn`).
        return nothing;
    }
    let sent = hand_over(io, slot, &buffers.out, carries, written);
    buffers.out.clear();
    sent
}

/// Hands `bytes` to the driver as they are.
#[inline]
pub(crate) fn hand_over<I: Io>(
    io: &mut I,
    slot: Slot,
    bytes: &[u8],
    carries: Carries,
    written: &mut [u32],
) -> Sent {
    let written = &mut written[slot as usize];
    #[expect(clippy::cast_possible_truncation, reason = "the kernel counts modulo 2^32, too")]
    let count = bytes.len() as u32;
    *written = written.wrapping_add(count);
    Sent { at: io.write(slot, bytes, carries), bytes: bytes.len(), end: *written }
}

impl Worker {
    /// TCP is open: begins the handshake, where there is one.
    pub(crate) fn connected_layered<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        let Some(layer) = &mut self.layer else { return };
        let Some(tls) = &mut layer.tls else {
            self.opened(io, slot, now);
            return self.flush_frames(io);
        };
        self.connections[slot as usize].state = State::Securing;
        match TlsSession::new(&tls.client, &mut tls.buffers) {
            Ok(session) => {
                tls.sessions[slot as usize] = Some(Box::new(session));
                let bytes = layer.flush_handshake(io, slot);
                self.recorder.wrote(bytes);
            }
            Err(error) => self.not_secured(io, slot, kind(error), Detail::Tls(error), now),
        }
    }

    /// As `send`, on a connection that does not carry plain HTTP/1.1.
    pub(crate) fn send_layered<I: Io>(&mut self, io: &mut I, slot: Slot, intended: Nanos, now: Nanos) {
        let Some(layer) = &mut self.layer else { return };
        if layer.http2.is_some() {
            return self.send_stream(io, slot, Outgoing::first(intended), now);
        }
        let (bytes, reused) = self.hand_over_layered(io, slot, intended);
        self.recorder.sent(intended, bytes, reused, now);
    }

    /// Hands a request to the driver, encrypted; returns its bytes, and whether its connection had carried one before.
    pub(crate) fn hand_over_layered<I: Io>(
        &mut self,
        io: &mut I,
        slot: Slot,
        intended: Nanos,
    ) -> (u64, bool) {
        let trace = self.begin_trace(slot);
        let reused = self.begin_flight(slot, intended, trace);
        let Some(layer) = &mut self.layer else { return (0, reused) };
        let sent = match &mut self.tracer {
            None => layer.send(io, slot),
            Some(tracer) => layer.send_bytes(io, slot, tracer.request(trace)),
        };
        self.flight_sent(io, slot, &sent);
        (sent.bytes as u64, reused)
    }

    /// The request that was begun last on `slot` was handed to the driver.
    pub(crate) fn flight_sent<I: Io>(&mut self, io: &I, slot: Slot, sent: &Sent) {
        let connection = &mut self.connections[slot as usize];
        self.flights.mark_end(slot, connection, sent.end);
        if let Some(at) = sent.at {
            self.flights.stamp(slot, connection, at);
        }
        if io.sampled() {
            self.flights.mark_sampled(slot, connection);
        }
        self.in_flight += 1;
    }

    /// Bytes have come.
    pub(crate) fn received_layered<I: Io>(&mut self, io: &mut I, slot: Slot, bytes: &[u8], now: Nanos) {
        if self.layer.as_ref().is_some_and(|layer| layer.tls.is_some()) {
            self.received_encrypted(io, slot, bytes, now);
        } else {
            self.frames(io, slot, bytes, now);
        }
        self.flush_frames(io);
    }

    /// Bytes have come on a connection that is secured or on its way to be.
    fn received_encrypted<I: Io>(&mut self, io: &mut I, slot: Slot, bytes: &[u8], now: Nanos) {
        let state = self.connections[slot as usize].state;
        let Some(layer) = &mut self.layer else { return };
        let Some(tls) = &mut layer.tls else { return };
        let Some(session) = &mut tls.sessions[slot as usize] else { return };
        if !matches!(state, State::Securing | State::Open) {
            return;
        }
        let result = session.read(bytes, &mut tls.buffers);
        let resumed = session.is_resumed();
        let is_wrong_protocol = layer.http2.is_some() && session.protocol() != Some(b"h2");
        let written = layer.flush_handshake(io, slot);
        self.recorder.wrote(written);
        match result {
            Ok(progress) if progress.secured && is_wrong_protocol => {
                self.not_secured(io, slot, ErrorKind::Protocol, Detail::NoHttp2, now);
            }
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

    /// Handles what TLS has decrypted.
    #[inline]
    fn received_plain<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        let Some(layer) = &mut self.layer else { return };
        let is_http2 = layer.http2.is_some();
        let Some(tls) = &mut layer.tls else { return };
        if tls.buffers.plain.is_empty() {
            return;
        }
        let mut plain = std::mem::take(&mut tls.buffers.plain);
        if is_http2 {
            self.frames(io, slot, &plain, now);
        } else {
            self.answers(io, slot, &plain, now);
        }
        plain.clear();
        if let Some(tls) = self.layer.as_mut().and_then(|layer| layer.tls.as_mut()) {
            tls.buffers.plain = plain;
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

    /// Hands over what waits to be sent in HTTP/2: several requests on one connection go out together.
    #[inline]
    pub(crate) fn flush_frames<I: Io>(&mut self, io: &mut I) {
        if let Some(layer) = &mut self.layer {
            let bytes = layer.flush_frames(io);
            self.recorder.wrote(bytes);
        }
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
