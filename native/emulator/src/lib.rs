//! An in-memory Google Cloud Pub/Sub server.

pub mod bench;
pub mod clock;
pub mod core;
mod emulator;
pub mod server;
pub mod service;
pub mod time;

pub use emulator::{Emulator, Options};
