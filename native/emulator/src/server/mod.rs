//! Sockets, connections and the gRPC wire format. Knows no Pub/Sub.

mod connection;
pub mod grpc;
pub mod wire;

pub use connection::{Command, Connection};

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{Request, Response};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Answers HTTP/2 requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request that came in on `connection`.
    fn call(
        self: &Arc<Self>,
        request: Request<Incoming>,
        connection: Arc<Connection>,
    ) -> impl Future<Output = Response<grpc::ResponseBody>> + Send;
}

/// A listening socket and the connections it has accepted. Dropping it closes them all.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Listens on `address` (port 0 takes a free one) and answers with `handler` until stopped.
    /// Must be called within a Tokio runtime.
    pub async fn start<H: Handler>(address: SocketAddr, handler: Arc<H>) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let accepting = tokio::spawn(accept(listener, handler, stopped));
        Ok(Server {
            address,
            stop,
            accepting,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
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

async fn accept<H: Handler>(
    listener: TcpListener,
    handler: Arc<H>,
    mut stopped: watch::Receiver<bool>,
) {
    let ids = AtomicU64::new(1);
    loop {
        let accepted = tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let id = ids.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(connection::serve(
                    stream,
                    peer,
                    id,
                    handler.clone(),
                    stopped.clone(),
                ));
            }
            Err(e) => {
                // Out of file descriptors, mostly: waiting lets connections end.
                tracing::warn!(error = %e, "cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
}
