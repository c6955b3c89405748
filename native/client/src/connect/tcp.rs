//! TCP connections, as they are below TLS.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;

use super::coalesce::{Coalescing, FULL};

/// Connections without a call are probed by TCP alone: gRPC servers answer HTTP/2 pings on an idle
/// connection by closing it.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;

/// Makes connections.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    http: HttpConnector,
    /// Bytes that a connection holds back to write them together.
    full: usize,
}

impl Connector {
    /// For connections that much is written to. `timeout` is for one connection, all addresses of its host together.
    pub(super) fn for_writing(timeout: Duration) -> Self {
        Self {
            full: FULL,
            ..Self::for_reading(timeout)
        }
    }

    /// For connections that little is written to, and that at once.
    pub(super) fn for_reading(timeout: Duration) -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(timeout));
        http.set_keepalive(Some(KEEPALIVE));
        http.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
        http.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
        Self { http, full: 0 }
    }
}

type Connecting<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl Service<Uri> for Connector {
    type Response = TokioIo<Coalescing<TcpStream>>;
    type Error = <HttpConnector as Service<Uri>>::Error;
    type Future = Connecting<Self::Response, Self::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.http.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.http.call(uri);
        let full = self.full;
        Box::pin(async move {
            let stream = connecting.await?.into_inner();
            Ok(TokioIo::new(Coalescing::new(stream, full)))
        })
    }
}
