//! An in-memory Google Cloud Pub/Sub server for development and tests.
//!
//! It does what the service documents: leases that expire, order per key, redelivery, dead letters,
//! exactly-once acks, filters, retention and seek, flow control. What it leaves out it refuses.
//!
//! A message's way: [`server`] (sockets, HTTP/2, gRPC) → [`service`] (requests) → [`core`] (what
//! Pub/Sub means, a plain struct) and back. [`control`] makes things go wrong on demand, moves the
//! time and looks inside. [`mod@bench`] is another server, which does next to nothing, to measure clients.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! use pubsub_emulator::{Emulator, Options};
//!
//! let emulator = Emulator::start(Options::default()).await?;
//! println!("PUBSUB_EMULATOR_HOST={}", emulator.address());
//! emulator.control().advance(std::time::Duration::from_secs(600));
//! emulator.stop().await;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod bench;
pub mod clock;
pub mod control;
pub mod core;
mod emulator;
pub mod fault;
pub mod record;
pub mod seed;
pub mod server;
pub mod service;
pub mod time;
pub mod wire;

pub use emulator::{Emulator, Options};
