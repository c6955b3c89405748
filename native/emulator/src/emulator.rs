//! The server as a library.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;

use crate::clock::Clock;
use crate::control::{self, Control};
use crate::record::RecordLimits;
use crate::seed::Seed;
use crate::server::{Server, tls};
use crate::service::{Hub, PubSub, TokenCheck};

/// How to start an [`Emulator`].
#[derive(Debug)]
pub struct Options {
    /// Where to listen for gRPC. Default: a free port of 127.0.0.1.
    pub address: SocketAddr,
    /// Where to serve the control interface over HTTP. Default: nowhere; [`Emulator::control`] needs none.
    pub control_address: Option<SocketAddr>,
    /// The clock to live by. Default: one that follows the system clock.
    pub clock: Clock,
    /// Certificate chain and key, in PEM files, to serve gRPC over TLS. Default: plaintext.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The bearer token that each call must have. Default: none.
    pub token: Option<TokenCheck>,
    /// What to create at the start.
    pub seed: Seed,
    /// Bytes of each ack id, 24 to 65,536. Default: 180, about what the service uses.
    pub ack_id_len: Option<usize>,
    /// Record requests from the start.
    pub record: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            control_address: None,
            clock: Clock::running(),
            tls: None,
            token: None,
            seed: Seed::default(),
            ack_id_len: None,
            record: false,
        }
    }
}

/// A running Pub/Sub server. Dropping it closes all its connections.
#[derive(Debug)]
pub struct Emulator {
    hub: Arc<Hub>,
    server: Server,
    control: Control,
    control_http: Option<(SocketAddr, tokio::task::JoinHandle<()>)>,
}

impl Emulator {
    /// Starts a server. Must be called within a Tokio runtime that has I/O and time enabled.
    pub async fn start(options: Options) -> io::Result<Self> {
        let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidInput, message);
        let tls = match &options.tls {
            Some((certificate, key)) => Some(tls::acceptor(certificate, key)?),
            None => None,
        };
        let hub = Hub::start(Arc::new(options.clock));
        let service = Arc::new(PubSub::new(hub.clone(), options.token));
        // Filled before the first client can come.
        hub.with(|state, now| options.seed.apply(state, now))
            .map_err(invalid)?;
        let cannot = |address: SocketAddr, e: io::Error| {
            io::Error::new(e.kind(), format!("cannot listen on {address}: {e}"))
        };
        let server = Server::start(options.address, tls, service.clone()).await;
        let server = server.map_err(|e| cannot(options.address, e))?;
        let control = Control::new(&service, server.connections().clone());
        if let Some(len) = options.ack_id_len {
            control.set_ack_id_len(len).map_err(invalid)?;
        }
        if options.record {
            control.record(true, RecordLimits::default());
        }
        let control_http = match options.control_address {
            None => None,
            Some(address) => {
                let listener = TcpListener::bind(address)
                    .await
                    .map_err(|e| cannot(address, e))?;
                let address = listener.local_addr()?;
                let router = control::http::router(control.clone(), server.address());
                let serving = tokio::spawn(async move {
                    if let Err(e) = axum::serve(listener, router).await {
                        tracing::error!(error = %e, "the control interface ended");
                    }
                });
                Some((address, serving))
            }
        };
        Ok(Emulator {
            hub,
            server,
            control,
            control_http,
        })
    }

    /// Where it listens: the value for `PUBSUB_EMULATOR_HOST`.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Where the control interface listens, if it does.
    pub fn control_address(&self) -> Option<SocketAddr> {
        self.control_http.as_ref().map(|(address, _)| *address)
    }

    /// The control interface.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Its state.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Its clock.
    pub fn clock(&self) -> &Clock {
        self.hub.clock()
    }

    /// Ends the calls in progress and closes all connections.
    pub async fn stop(mut self) {
        if let Some((_, serving)) = self.control_http.take() {
            serving.abort();
        }
        self.server.stop().await;
    }
}
