//! The command line.

use std::net::{IpAddr, SocketAddr};

use clap::{Parser, Subcommand};
use pubsub_emulator::bench;

/// An in-memory Google Cloud Pub/Sub server for development and tests.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Args {
    /// A special mode instead of the server
    #[command(subcommand)]
    pub mode: Option<Mode>,
    #[command(flatten)]
    pub common: Common,
}

/// What all modes have.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// Address to listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1", global = true)]
    pub host: IpAddr,
    /// Port of the gRPC services; 0 takes a free one
    #[arg(long, default_value_t = 8085, global = true)]
    pub port: u16,
    /// Port of the control interface; 0 takes a free one
    #[arg(long, default_value_t = 0, global = true)]
    pub control_port: u16,
    /// Threads that serve; 0 is one per core. Default: 0, and 1 for bench
    #[arg(long, value_name = "N", global = true)]
    pub threads: Option<usize>,
    /// Exit when standard input ends, that is, with the process that started this one
    #[arg(long, global = true)]
    pub exit_on_stdin_close: bool,
}

impl Common {
    /// Where to serve gRPC.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.host, self.port)
    }

    /// Where to serve the control interface.
    pub fn control_address(&self) -> SocketAddr {
        SocketAddr::new(self.host, self.control_port)
    }
}

/// Special modes.
#[derive(Debug, Subcommand)]
pub enum Mode {
    /// A server to measure clients with: endless messages, nothing kept, next to no cost
    Bench(BenchArgs),
}

/// Options of the bench mode.
#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    /// Bytes of data of each message
    #[arg(long, default_value_t = 1024)]
    pub payload_bytes: usize,
    /// Attributes of each message
    #[arg(long, default_value_t = 2)]
    pub attributes: usize,
    /// Bytes of each ack id, at least 16
    #[arg(long, default_value_t = 180)]
    pub ack_id_bytes: usize,
    /// Ordering keys to spread the messages over; 0 for none
    #[arg(long, default_value_t = 0)]
    pub ordering_keys: usize,
    /// Messages of one response, at most; about 1 MB ends it earlier
    #[arg(long, default_value_t = 1000)]
    pub response_messages: usize,
    /// Messages to send in all, then silence
    #[arg(long)]
    pub messages: Option<u64>,
}

impl BenchArgs {
    /// What the messages look like.
    pub fn shape(&self) -> bench::Shape {
        bench::Shape {
            payload_bytes: self.payload_bytes,
            attributes: self.attributes,
            ack_id_bytes: self.ack_id_bytes,
            ordering_keys: self.ordering_keys,
            response_messages: self.response_messages,
        }
    }
}
