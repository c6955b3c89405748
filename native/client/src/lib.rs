//! The Pub/Sub client a stream processor needs.

#![forbid(unsafe_code)]

pub mod admin;
pub mod auth;
pub mod clock;
pub mod connect;
pub mod error;
pub mod grpc;
mod held;
pub mod ids;
pub mod lease;
pub mod ledger;
pub mod options;
mod order;
pub mod publish;
pub mod retry;
pub mod scan;
pub mod subscribe;
pub mod unconfirmed;
mod wire;
