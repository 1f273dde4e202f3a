//! A connected socket that speaks TLS or not, with the interface of a non-blocking one.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use rustls::ServerConnection;

use super::{HandshakeCounters, Tls};

/// A connection's end.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: OwnedFd,
    session: Option<Box<Session>>,
}

#[derive(Debug)]
struct Session {
    tls: ServerConnection,
    counters: Arc<HandshakeCounters>,
    /// The client has sent something.
    begun: bool,
    /// The handshake is over and counted.
    counted: bool,
    /// Bytes that were encrypted while the kernel had no room for them. They are reported as sent when it has: until
    /// then the caller offers them again, and waits for room, as it would without TLS.
    unreported: usize,
    /// The sending side is to be closed once the handshake allows it.
    finishes: bool,
}

impl Socket {
    /// A connection of a server with TLS, or without.
    pub(crate) fn new(fd: OwnedFd, tls: Option<&Tls>) -> Self {
        let session = tls.map(|Tls { config, counters }| {
            Box::new(Session {
                tls: ServerConnection::new(Arc::clone(config))
                    .expect("invariant: the configuration was tried when it was made"),
                counters: Arc::clone(counters),
                begun: false,
                counted: false,
                unreported: 0,
                finishes: false,
            })
        });
        Self { fd, session }
    }

    /// Reads what has come: 0 at the end. A buffer that is not filled means that nothing is left but perhaps the
    /// client's end.
    pub(crate) fn recv(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let plain = |fd: &OwnedFd, bytes: &mut [u8]| {
            recv(fd, bytes, RecvFlags::empty()).map(|(count, _)| (count, ()))
        };
        self.recv_with(buffer, plain).map(|(count, _)| count)
    }

    /// The same with a way of reading that also returns something about the bytes; `None` where they had been read
    /// before.
    pub(crate) fn recv_with<T>(
        &mut self,
        buffer: &mut [u8],
        mut read: impl FnMut(&OwnedFd, &mut [u8]) -> Result<(usize, T), Errno>,
    ) -> Result<(usize, Option<T>), Errno> {
        match &mut self.session {
            None => read(&self.fd, buffer).map(|(count, about)| (count, Some(about))),
            Some(session) => session.recv(&self.fd, buffer, read),
        }
    }

    /// Sends as much as there is room for. After [`Errno::AGAIN`] the next call must begin with the same bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        match &mut self.session {
            None => send(&self.fd, bytes, SendFlags::NOSIGNAL),
            Some(session) => session.send(&self.fd, bytes),
        }
    }

    /// Closes the sending side behind what was sent.
    pub(crate) fn finish_sending(&mut self) {
        match &mut self.session {
            None => {
                let _ = shutdown(&self.fd, Shutdown::Write);
            }
            Some(session) => {
                session.finishes = true;
                session.finish(&self.fd);
            }
        }
    }

    /// Closing it resets the connection.
    pub(crate) fn reset_on_close(&mut self) {
        // A linger time of zero makes closing a reset.
        let _ = rustix::net::sockopt::set_socket_linger(&self.fd, Some(std::time::Duration::ZERO));
        // Nothing is sent before it.
        self.session = None;
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Socket {
    /// A client learns from the alert that the end was meant (RFC 8446 section 6.1).
    fn drop(&mut self) {
        let Some(session) = &mut self.session else { return };
        if !session.tls.is_handshaking() && !session.finishes {
            session.tls.send_close_notify();
            let _ = session.flush(&self.fd);
        }
        if session.begun && !session.counted {
            session.counters.count(None);
        }
    }
}

impl Session {
    fn recv<T>(
        &mut self,
        fd: &OwnedFd,
        buffer: &mut [u8],
        mut read: impl FnMut(&OwnedFd, &mut [u8]) -> Result<(usize, T), Errno>,
    ) -> Result<(usize, Option<T>), Errno> {
        if let Err(errno) = self.flush(fd)
            && errno != Errno::AGAIN
        {
            return Err(errno);
        }
        let (mut filled, mut about, mut drained) = (0, None, false);
        loop {
            let ended = match self.tls.reader().read(&mut buffer[filled..]) {
                Ok(count) => {
                    filled += count;
                    count == 0
                }
                Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            };
            if ended || filled == buffer.len() || (filled > 0 && drained) {
                return Ok((filled, about));
            }
            let mut source = Source { fd, read: &mut read, about: &mut about, short: false, errno: None };
            let came = self.tls.read_tls(&mut source);
            match (came, source.errno) {
                (Ok(count), _) => {
                    self.begun |= count > 0;
                    drained = source.short;
                    self.process(fd)?;
                }
                (Err(_), Some(Errno::AGAIN)) if filled > 0 => return Ok((filled, about)),
                (Err(_), Some(Errno::INTR)) => {}
                (Err(_), errno) => return Err(errno.unwrap_or(Errno::PROTO)),
            }
        }
    }

    /// Takes in what was read, and sends what the handshake owes to it.
    fn process(&mut self, fd: &OwnedFd) -> Result<(), Errno> {
        let processed = self.tls.process_new_packets();
        // A fresh connection has room for a flight, and for the alert that names what is wrong.
        let sent = self.flush(fd);
        if processed.is_err() {
            return Err(Errno::PROTO);
        }
        if !self.counted && !self.tls.is_handshaking() {
            self.counted = true;
            self.counters.count(self.tls.handshake_kind());
        }
        self.finish(fd);
        match sent {
            Err(Errno::AGAIN) => Ok(()),
            sent => sent,
        }
    }

    fn send(&mut self, fd: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
        self.flush(fd)?;
        if self.unreported == 0 && !bytes.is_empty() {
            // Encrypted and buffered up to rustls's limit of 64 KiB.
            self.unreported = self.tls.writer().write(bytes).map_err(|_| Errno::PROTO)?;
            self.flush(fd)?;
        }
        Ok(std::mem::take(&mut self.unreported))
    }

    /// Hands what is encrypted to the kernel.
    fn flush(&mut self, fd: &OwnedFd) -> Result<(), Errno> {
        while self.tls.wants_write() {
            let mut sink = Sink { fd, errno: None };
            match (self.tls.write_tls(&mut sink), sink.errno) {
                (Ok(_), _) | (Err(_), Some(Errno::INTR)) => {}
                (Err(_), errno) => return Err(errno.unwrap_or(Errno::PROTO)),
            }
        }
        Ok(())
    }

    fn finish(&mut self, fd: &OwnedFd) {
        if self.finishes && !self.tls.is_handshaking() {
            self.tls.send_close_notify();
            let _ = self.flush(fd);
            let _ = shutdown(fd, Shutdown::Write);
        }
    }
}

/// The socket as rustls reads it.
struct Source<'a, T, R> {
    fd: &'a OwnedFd,
    read: &'a mut R,
    about: &'a mut Option<T>,
    /// Less came than there was room for.
    short: bool,
    errno: Option<Errno>,
}

impl<T, R: FnMut(&OwnedFd, &mut [u8]) -> Result<(usize, T), Errno>> io::Read for Source<'_, T, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match (self.read)(self.fd, buffer) {
            Ok((count, about)) => {
                *self.about = Some(about);
                self.short = count < buffer.len();
                Ok(count)
            }
            Err(errno) => {
                self.errno = Some(errno);
                Err(errno.into())
            }
        }
    }
}

/// The socket as rustls writes it.
struct Sink<'a> {
    fd: &'a OwnedFd,
    errno: Option<Errno>,
}

impl io::Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send(self.fd, bytes, SendFlags::NOSIGNAL).map_err(|errno| {
            self.errno = Some(errno);
            errno.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
