//! Sockets, connections and the gRPC wire format. Knows no Pub/Sub.

mod connection;
pub mod grpc;
pub mod tls;

pub use connection::{Command, Connection};

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// Answers HTTP/2 requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request that came in on `connection`.
    fn call(
        self: &Arc<Self>,
        request: Request<Incoming>,
        connection: Arc<Connection>,
    ) -> impl Future<Output = Response<grpc::ResponseBody>> + Send;
}

/// The open connections of a server.
#[derive(Debug, Default)]
pub struct Connections {
    open: Mutex<HashMap<u64, Arc<Connection>>>,
}

impl Connections {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `command` on all connections; returns how many there are.
    pub fn command_all(&self, command: Command) -> usize {
        let open = self.lock();
        open.values()
            .for_each(|connection| connection.command(command));
        open.len()
    }

    /// How many connections are open.
    pub fn count(&self) -> usize {
        self.lock().len()
    }
}

/// A listening socket and the connections it has accepted. Dropping it closes them all.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    connections: Arc<Connections>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Listens on `address` (port 0 takes a free one) and answers with `handler` until stopped; with
    /// `tls`, over TLS. Must be called within a Tokio runtime.
    pub async fn start<H: Handler>(
        address: SocketAddr,
        tls: Option<TlsAcceptor>,
        handler: Arc<H>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let connections = Arc::<Connections>::default();
        let accepting = Accepting {
            handler,
            tls,
            stopped,
            connections: connections.clone(),
        };
        let accepting = tokio::spawn(accepting.run(listener));
        Ok(Server {
            address,
            stop,
            connections,
            accepting,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its open connections.
    pub fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    /// Stops accepting, says GOAWAY on every connection and closes it within a second.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        // Ends once every connection's receiver is gone.
        self.stop.closed().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        self.accepting.abort();
    }
}

struct Accepting<H> {
    handler: Arc<H>,
    tls: Option<TlsAcceptor>,
    stopped: watch::Receiver<bool>,
    connections: Arc<Connections>,
}

/// How long a client may take for its TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

impl<H: Handler> Accepting<H> {
    async fn run(mut self, listener: TcpListener) {
        let ids = AtomicU64::new(1);
        loop {
            let accepted = tokio::select! {
                _ = self.stopped.wait_for(|stopped| *stopped) => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.serve(stream, peer, ids.fetch_add(1, Ordering::Relaxed)),
                Err(e) => {
                    // Out of file descriptors, mostly: waiting lets connections end.
                    tracing::warn!(error = %e, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn serve(&self, stream: TcpStream, peer: SocketAddr, id: u64) {
        let (socket, connection, commands) = connection::open(stream, peer, id);
        let (handler, tls, stopped) =
            (self.handler.clone(), self.tls.clone(), self.stopped.clone());
        let connections = self.connections.clone();
        connections.lock().insert(id, connection.clone());
        tokio::spawn(async move {
            match tls {
                None => connection::serve(socket, connection, commands, handler, stopped).await,
                Some(tls) => {
                    match tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(socket)).await {
                        Ok(Ok(socket)) => {
                            connection::serve(socket, connection, commands, handler, stopped).await
                        }
                        Ok(Err(e)) => {
                            tracing::debug!(connection = id, error = %e, "TLS handshake failed")
                        }
                        Err(_) => tracing::debug!(connection = id, "TLS handshake took too long"),
                    }
                }
            }
            connections.lock().remove(&id);
        });
    }
}
