//! A connection whose other end must go on reading: a response that nobody takes ends it (S13).

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Wraps a stream.
pub(super) struct WriteTimeout<S> {
    stream: S,
    /// How long nothing of a response may be taken.
    stall: Duration,
    /// Runs while the other end takes nothing.
    deadline: Pin<Box<Sleep>>,
    is_stalled: bool,
}

impl<S> WriteTimeout<S> {
    /// Ends where nothing is taken for `stall`.
    pub(super) fn new(stream: S, stall: Duration) -> Self {
        Self { stream, stall, deadline: Box::pin(sleep(stall)), is_stalled: false }
    }

    /// Looks after the clock while `written` is pending.
    fn watched<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.is_stalled = false;
            return written;
        }
        if !self.is_stalled {
            self.is_stalled = true;
            self.deadline = Box::pin(sleep(self.stall));
        }
        ready!(self.deadline.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other end takes nothing")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watched(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watched(context, shut)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.watched(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn who_takes_nothing_is_left_alone() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let ended = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            let address = listener.local_addr().expect("an address");
            let client = TcpStream::connect(address).await.expect("a connection");
            let (stream, _) = listener.accept().await.expect("a connection");
            let mut stream = WriteTimeout::new(stream, Duration::from_millis(50));
            let bytes = vec![0; 1 << 20];
            let ended = loop {
                if let Err(error) = poll_fn(|context| Pin::new(&mut stream).poll_write(context, &bytes)).await
                {
                    break error.kind();
                }
            };
            drop(client);
            ended
        });
        assert_eq!(ended, io::ErrorKind::TimedOut);
    }
}
