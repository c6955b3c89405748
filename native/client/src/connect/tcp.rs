//! TCP connections, as they are below TLS.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;

use super::coalesce::{Coalescing, FULL};
use super::route::Route;

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector {
    route: Route,
    /// Bytes that a connection holds back to write them together.
    full: usize,
}

impl Connector {
    /// For connections that much is written to.
    pub(super) fn for_writing(route: Route) -> Self {
        Self { route, full: FULL }
    }

    /// For connections that little is written to, and that at once.
    pub(super) fn for_reading(route: Route) -> Self {
        Self { route, full: 0 }
    }
}

type Connecting<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl Service<Uri> for Connector {
    type Response = TokioIo<Coalescing<TcpStream>>;
    type Error = <Route as Service<Uri>>::Error;
    type Future = Connecting<Self::Response, Self::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.route.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.route.call(uri);
        let full = self.full;
        Box::pin(async move {
            let stream = connecting.await?.into_inner();
            Ok(TokioIo::new(Coalescing::new(stream, full)))
        })
    }
}
