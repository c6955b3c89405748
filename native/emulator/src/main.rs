//! The command `pubsub-emulator`.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use pubsub_emulator::clock::Clock;
use pubsub_emulator::server::Server;
use pubsub_emulator::service::{Hub, PubSub};
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{SignalKind, signal};

/// An in-memory Google Cloud Pub/Sub server for development and tests.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    host: std::net::IpAddr,
    /// Port of the gRPC services; 0 takes a free one.
    #[arg(long, default_value_t = 8085)]
    port: u16,
    /// Port of the control interface; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    control_port: u16,
    /// Exit when standard input ends, that is, with the process that started this one.
    #[arg(long)]
    exit_on_stdin_close: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(e) => {
            eprintln!("pubsub-emulator: cannot start: {e}");
            return ExitCode::FAILURE;
        }
    };
    let code = match runtime.block_on(run(args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("pubsub-emulator: {e}");
            ExitCode::FAILURE
        }
    };
    // A read of standard input cannot be taken back.
    runtime.shutdown_background();
    code
}

async fn run(args: Args) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let hub = Hub::start(Arc::new(Clock::running()));
    let server = Server::start(
        SocketAddr::new(args.host, args.port),
        Arc::new(PubSub::new(hub)),
    )
    .await?;
    println!(
        "pubsub-emulator listening on {} control 127.0.0.1:0",
        server.address()
    );
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = stdin_end(), if args.exit_on_stdin_close => {}
    }
    server.stop().await;
    Ok(())
}

async fn stdin_end() {
    let mut stdin = tokio::io::stdin();
    let mut buf = [0; 1024];
    while let Ok(1..) = stdin.read(&mut buf).await {}
}
