//! The server as a library.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use crate::clock::Clock;
use crate::server::Server;
use crate::service::{Hub, PubSub};

/// How to start an [`Emulator`].
#[derive(Debug)]
pub struct Options {
    /// Where to listen for gRPC. Default: a free port of 127.0.0.1.
    pub address: SocketAddr,
    /// The clock to live by. Default: one that follows the system clock.
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            clock: Clock::running(),
        }
    }
}

/// A running Pub/Sub server. Dropping it closes all its connections.
#[derive(Debug)]
pub struct Emulator {
    hub: Arc<Hub>,
    server: Server,
}

impl Emulator {
    /// Starts a server. Must be called within a Tokio runtime, which must have its I/O and time enabled.
    pub async fn start(options: Options) -> io::Result<Self> {
        let hub = Hub::start(Arc::new(options.clock));
        let server = Server::start(options.address, Arc::new(PubSub::new(hub.clone()))).await?;
        Ok(Emulator { hub, server })
    }

    /// Where it listens: the value for `PUBSUB_EMULATOR_HOST`.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
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
    pub async fn stop(self) {
        self.server.stop().await;
    }
}
