//! The Pub/Sub client a stream processor needs.

pub mod scan;
mod wire;
