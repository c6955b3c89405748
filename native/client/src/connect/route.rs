//! How a TCP connection to the service is made: directly, or through the proxy that the environment names.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tonic::Code;
use tower::Service;

use super::CONNECT_TIMEOUT;
use crate::error::Error;

/// Connections without a call are probed by TCP alone: gRPC servers answer HTTP/2 pings on an idle
/// connection by closing it.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);
const TCP_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const TCP_KEEPALIVE_RETRIES: u32 = 3;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Makes connections to one endpoint.
#[derive(Clone)]
pub(super) struct Route {
    http: HttpConnector,
    proxies: Option<Arc<Matcher>>,
}

impl Route {
    /// Straight to the server.
    pub(super) fn direct() -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        http.set_keepalive(Some(TCP_KEEPALIVE));
        http.set_keepalive_interval(Some(TCP_KEEPALIVE_INTERVAL));
        http.set_keepalive_retries(Some(TCP_KEEPALIVE_RETRIES));
        Self {
            http,
            proxies: None,
        }
    }

    /// As `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` have it, in upper or lower case. Refuses a proxy
    /// that cannot be used.
    pub(super) fn by_environment(endpoint: &Uri) -> Result<Self, Error> {
        let matcher = Matcher::from_env();
        if let Some(proxy) = matcher.intercept(endpoint)
            && proxy.uri().scheme_str() != Some("http")
        {
            let kind = proxy.uri().scheme_str().unwrap_or_default();
            return Err(Error::new(
                Code::FailedPrecondition,
                format!(
                    "HTTPS_PROXY or ALL_PROXY names a proxy of the kind {kind}://, but only http:// is \
                     supported: name such a one, or except the endpoint with NO_PROXY"
                ),
            ));
        }
        Ok(Self {
            proxies: Some(Arc::new(matcher)),
            ..Self::direct()
        })
    }
}

impl Service<Uri> for Route {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.http.poll_ready(context).map_err(BoxError::from)
    }

    fn call(&mut self, endpoint: Uri) -> Self::Future {
        let proxy = self
            .proxies
            .as_ref()
            .and_then(|proxies| proxies.intercept(&endpoint));
        let Some(proxy) = proxy else {
            let connecting = self.http.call(endpoint);
            return Box::pin(async move { connecting.await.map_err(BoxError::from) });
        };
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.http.clone());
        if let Some(credentials) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(credentials.clone());
        }
        let connecting = tunnel.call(endpoint);
        Box::pin(async move {
            connecting.await.map_err(|cause| {
                // Without the user and the password.
                let host = proxy.uri().host().unwrap_or_default();
                let port = proxy.uri().port_u16().unwrap_or(80);
                BoxError::from(ProxyError {
                    proxy: format!("{host}:{port}"),
                    cause: cause.into(),
                })
            })
        })
    }
}

/// What went wrong between here and the far end of a proxy.
#[derive(Debug)]
struct ProxyError {
    proxy: String,
    cause: BoxError,
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "through the proxy {}", self.proxy)
    }
}

impl std::error::Error for ProxyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.cause)
    }
}
