//! One client connection and what can be done to it.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};

use super::Handler;

/// What can be done to a connection from within a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Sends GOAWAY: no new calls, the running ones may end by themselves.
    GoAway,
    /// Closes the socket at once.
    Close,
    /// Closes the socket with a TCP reset.
    Reset,
}

/// A handle on a connection, given to every call that comes in on it.
#[derive(Debug)]
pub struct Connection {
    id: u64,
    peer: SocketAddr,
    commands: mpsc::UnboundedSender<Command>,
    reset_on_close: Arc<AtomicBool>,
}

impl Connection {
    /// A number that no other connection of this server has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The other end.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Does `command`; nothing happens when the connection is gone already.
    pub fn command(&self, command: Command) {
        let _ = self.commands.send(command);
    }
}

/// How long the calls of a connection may go on after the server was told to stop.
const STOP_GRACE: Duration = Duration::from_millis(500);

pub(super) type Commands = mpsc::UnboundedReceiver<Command>;

pub(super) fn open(
    stream: TcpStream,
    peer: SocketAddr,
    id: u64,
) -> (Socket, Arc<Connection>, Commands) {
    let _ = stream.set_nodelay(true);
    let (commands, received) = mpsc::unbounded_channel();
    let reset_on_close = Arc::new(AtomicBool::new(false));
    let connection = Connection {
        id,
        peer,
        commands,
        reset_on_close: reset_on_close.clone(),
    };
    let socket = Socket {
        stream,
        reset_on_close,
    };
    (socket, Arc::new(connection), received)
}

pub(super) async fn serve<H: Handler>(
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    connection: Arc<Connection>,
    mut received: Commands,
    handler: Arc<H>,
    mut stopped: watch::Receiver<bool>,
) {
    let service = service_fn(|request| {
        let handler = handler.clone();
        let connection = connection.clone();
        async move { Ok::<_, std::convert::Infallible>(handler.call(request, connection).await) }
    });
    let served = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        // A publish request of 10 MB must not need a round trip per 64 KiB.
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .max_frame_size(64 << 10)
        .max_send_buf_size(1 << 20)
        .max_header_list_size(1 << 20)
        .max_concurrent_streams(10_000)
        .max_pending_accept_reset_streams(10_000)
        .serve_connection(TokioIo::new(io), service);
    tokio::pin!(served);
    let mut stopping = false;
    loop {
        tokio::select! {
            result = served.as_mut() => {
                if let Err(e) = result {
                    tracing::debug!(connection = connection.id, error = %e, "connection ended");
                }
                return;
            }
            Some(command) = received.recv() => match command {
                Command::GoAway => served.as_mut().graceful_shutdown(),
                Command::Close => return,
                Command::Reset => {
                    connection.reset_on_close.store(true, Ordering::Relaxed);
                    return;
                }
            },
            _ = stopped.wait_for(|stopped| *stopped), if !stopping => {
                stopping = true;
                served.as_mut().graceful_shutdown();
            }
            () = tokio::time::sleep(STOP_GRACE), if stopping => return,
        }
    }
}

/// The socket, which can be told to end with a TCP reset.
pub(super) struct Socket {
    stream: TcpStream,
    reset_on_close: Arc<AtomicBool>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.reset_on_close.load(Ordering::Relaxed) {
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
