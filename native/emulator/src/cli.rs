//! The command line.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use pubsub_emulator::seed::Seed;
use pubsub_emulator::service::TokenCheck;
use pubsub_emulator::{Options, bench};
use tracing::Level;

/// An in-memory Google Cloud Pub/Sub server for development and tests.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub struct Args {
    /// A special mode instead of the server
    #[command(subcommand)]
    pub mode: Option<Mode>,
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// Options of the server.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// YAML or JSON file with topics, subscriptions and messages to begin with
    #[arg(long, value_name = "FILE")]
    pub seed: Option<PathBuf>,
    /// Serve gRPC over TLS with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Refuse calls without a bearer token; with a value, calls without this one
    #[arg(long, value_name = "TOKEN", num_args = 0..=1, default_missing_value = "")]
    pub require_token: Option<String>,
    /// Bytes of each ack id, 24 to 65536
    #[arg(long, value_name = "BYTES")]
    pub ack_id_bytes: Option<usize>,
    /// Record requests from the start, to be read at the control port
    #[arg(long)]
    pub record: bool,
}

impl ServeArgs {
    /// How to start the server, without its addresses.
    pub fn options(&self) -> io::Result<Options> {
        Ok(Options {
            tls: self.tls_cert.clone().zip(self.tls_key.clone()),
            token: self.require_token.clone().map(|token| {
                if token.is_empty() {
                    TokenCheck::Any
                } else {
                    TokenCheck::Exactly(token)
                }
            }),
            seed: self
                .seed
                .as_deref()
                .map(Seed::read)
                .transpose()?
                .unwrap_or_default(),
            ack_id_len: self.ack_id_bytes,
            record: self.record,
            ..Options::default()
        })
    }
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
    /// Log only errors
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log more
    #[arg(long, short, global = true)]
    pub verbose: bool,
    /// Format of the logs, which go to standard error
    #[arg(long, value_enum, default_value_t = LogFormat::Text, global = true)]
    pub log_format: LogFormat,
    /// Exit when standard input ends, that is, with the process that started this one
    #[arg(long, global = true)]
    pub exit_on_stdin_close: bool,
}

/// Formats of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line of text each
    Text,
    /// One JSON object each
    Json,
}

impl Common {
    /// Sends logs to standard error.
    pub fn start_logs(&self) {
        let level = match (self.quiet, self.verbose) {
            (true, _) => Level::ERROR,
            (_, true) => Level::DEBUG,
            _ => Level::INFO,
        };
        let logs = tracing_subscriber::fmt()
            .with_writer(io::stderr)
            .with_max_level(level);
        match self.log_format {
            LogFormat::Text => logs.with_ansi(false).with_target(false).init(),
            LogFormat::Json => logs.json().init(),
        }
    }

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
