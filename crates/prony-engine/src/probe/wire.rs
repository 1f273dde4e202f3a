//! The bytes of a connection, over TLS or not.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use prony_http::tls::{Negotiated, TlsBuffers, TlsClient, TlsError, TlsSession};
use prony_model::{ErrorKind, ProbedTls, Target};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::wait::{Waited, wait};
use crate::clock::Nanos;
use crate::record::failure_detail::kind_of;
use crate::resolve::plain;
use crate::{Control, RunError, tls};

/// Bytes that one read takes at most: as much as the kernel gives at once on most connections.
const READ_BYTES: usize = 64 * 1024;
/// Content that is encrypted at once: that of a record.
const CHUNK_BYTES: usize = 16 * 1024;

/// A socket, with the session on it.
pub(super) struct Wire {
    socket: OwnedFd,
    session: Option<Box<Secure>>,
}

struct Secure {
    session: TlsSession,
    buffers: TlsBuffers,
    /// What was read, before it is decrypted.
    input: Vec<u8>,
    /// Bytes that were encrypted while the kernel had no room for all of them. They are reported as sent when it has:
    /// until then the caller offers them again.
    unreported: usize,
    /// The server has ended its side as it should (close_notify).
    ended: bool,
}

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// So many bytes, at the beginning of the buffer.
    Bytes(usize),
    /// Nothing that could be read.
    Nothing,
    /// The server will send no more. Over TLS a close without close_notify may have cut off what came before.
    End {
        /// Whether it announced that.
        clean: bool,
    },
}

/// Why a connection is of no more use.
#[derive(Debug)]
pub(super) enum Broken {
    System(Errno),
    Tls(TlsError, Option<String>),
}

/// Why there is no session.
pub(super) enum NoSession {
    Broken(Broken),
    TimedOut,
    Stopped,
}

impl Broken {
    /// The kind of failure, and the words for it.
    pub(super) fn describe(&self) -> (ErrorKind, String) {
        match self {
            Self::System(error) => (kind_of(*error), plain(&(*error).into())),
            Self::Tls(error, details) => {
                let kind = if error.is_certificate() { ErrorKind::Certificate } else { ErrorKind::Tls };
                (kind, details.clone().unwrap_or_else(|| error.to_string()))
            }
        }
    }

    /// The same as what keeps a probe of `address` from beginning.
    pub(super) fn run_error(self, address: &str) -> RunError {
        let address = address.to_owned();
        match self {
            Self::System(error) => {
                let why = format!("{} in the TLS handshake", plain(&error.into()));
                RunError::NothingAnswers { address, why }
            }
            Self::Tls(error, details) => {
                let why = details.unwrap_or_else(|| error.to_string());
                RunError::Tls { address, why, error: Box::new(error) }
            }
        }
    }
}

impl Wire {
    /// Bytes as they are.
    pub(super) fn plain(socket: OwnedFd) -> Self {
        Self { socket, session: None }
    }

    /// Makes a handshake.
    pub(super) fn secured(
        socket: OwnedFd,
        client: &TlsClient,
        deadline: Nanos,
        control: &Control,
    ) -> Result<Self, NoSession> {
        let broken = |error| NoSession::Broken(Broken::Tls(error, None));
        let mut buffers = TlsBuffers::default();
        let session = TlsSession::new(client, &mut buffers).map_err(broken)?;
        let mut secure = Secure { session, buffers, input: Vec::new(), unreported: 0, ended: false };
        while !secure.session.is_secured() {
            let unsent = match secure.flush(&socket) {
                Ok(()) => PollFlags::empty(),
                Err(Errno::AGAIN) => PollFlags::OUT,
                Err(error) => return Err(NoSession::Broken(Broken::System(error))),
            };
            let waited = wait(&socket, PollFlags::IN | unsent, deadline, control)
                .map_err(|error| NoSession::Broken(Broken::System(error)))?;
            match waited {
                Waited::Ready(_) => {}
                Waited::TimedOut => return Err(NoSession::TimedOut),
                Waited::Stopped => return Err(NoSession::Stopped),
            }
            let received = secure.read(&socket).map_err(NoSession::Broken)?;
            if matches!(received, Received::End { .. }) {
                return Err(broken(TlsError::ClosedInHandshake));
            }
        }
        match secure.flush(&socket) {
            Ok(()) | Err(Errno::AGAIN) => {}
            Err(error) => return Err(NoSession::Broken(Broken::System(error))),
        }
        Ok(Self { socket, session: Some(Box::new(secure)) })
    }

    /// What the handshake came to.
    pub(super) fn negotiated(&self, target: &Target) -> Option<ProbedTls> {
        let negotiated = self.session.as_ref()?.session.negotiated();
        let used = tls::used(&negotiated, target);
        let Negotiated { resumed, .. } = negotiated;
        Some(ProbedTls {
            version: used.version,
            cipher_suite: used.cipher_suite,
            key_exchange: used.key_exchange,
            alpn: used.alpn,
            resumed,
            verified: used.verified,
            certificate: used.certificate,
        })
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Hands over as much of `bytes` as there is room for. After [`Errno::AGAIN`] the next call must begin with the same
    /// bytes.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        let Some(secure) = &mut self.session else { return send(&self.socket, bytes, SendFlags::NOSIGNAL) };
        secure.flush(&self.socket)?;
        if secure.unreported == 0 {
            let chunk = &bytes[..bytes.len().min(CHUNK_BYTES)];
            let Secure { session, buffers, .. } = &mut **secure;
            session.write(chunk, &mut buffers.out).map_err(|_| Errno::PROTO)?;
            secure.unreported = chunk.len();
            secure.flush(&self.socket)?;
        }
        Ok(std::mem::take(&mut secure.unreported))
    }

    /// Reads what has come into `buffer`, which grows as needed.
    pub(super) fn receive(&mut self, buffer: &mut Vec<u8>) -> Result<Received, Broken> {
        let Some(secure) = &mut self.session else {
            buffer.resize(buffer.len().max(READ_BYTES), 0);
            return match recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((0, _)) => Ok(Received::End { clean: true }),
                Ok((count, _)) => Ok(Received::Bytes(count)),
                Err(Errno::AGAIN | Errno::INTR) => Ok(Received::Nothing),
                Err(error) => Err(Broken::System(error)),
            };
        };
        let received = secure.read(&self.socket)?;
        if let Received::Bytes(count) = received {
            buffer.clear();
            buffer.extend_from_slice(&secure.buffers.plain[..count]);
        }
        Ok(received)
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Secure {
    /// Reads what has come; the content is in the buffers.
    fn read(&mut self, socket: &OwnedFd) -> Result<Received, Broken> {
        self.input.resize(READ_BYTES, 0);
        let count = match recv(socket, &mut self.input[..], RecvFlags::empty()) {
            Ok((0, _)) => return Ok(Received::End { clean: self.ended }),
            Ok((count, _)) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Received::Nothing),
            Err(error) => return Err(Broken::System(error)),
        };
        let progress = self.session.read(&self.input[..count], &mut self.buffers);
        // The server is to know why, and gets what the session owes it; whether it takes that shows with the next write.
        let _unsent = self.flush(socket);
        let progress = progress.map_err(|error| Broken::Tls(error, self.session.details()))?;
        self.ended |= progress.ended;
        Ok(match self.buffers.plain.len() {
            0 if self.ended => Received::End { clean: true },
            0 => Received::Nothing,
            count => Received::Bytes(count),
        })
    }

    /// Hands what is encrypted to the kernel.
    fn flush(&mut self, socket: &OwnedFd) -> Result<(), Errno> {
        let out = &mut self.buffers.out;
        while !out.is_empty() {
            match send(socket, out, SendFlags::NOSIGNAL) {
                Ok(count) => drop(out.drain(..count)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
