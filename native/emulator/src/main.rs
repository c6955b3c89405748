//! The command `pubsub-emulator`.

#![forbid(unsafe_code)]

mod cli;

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;
use cli::{Args, BenchArgs, Common, Mode, ServeArgs};
use pubsub_emulator::bench::{self, Bench};
use pubsub_emulator::{Emulator, Options};
use tokio::io::AsyncReadExt;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A backlog is filled by one thread and emptied by another; this allocator gives such memory back,
/// and costs less.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    let default_threads = if args.mode.is_some() { 1 } else { 0 };
    let result = runtime(args.common.threads.unwrap_or(default_threads)).and_then(|runtime| {
        let result = runtime.block_on(run(args));
        // A read of standard input cannot be taken back.
        runtime.shutdown_background();
        result
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("pubsub-emulator: {e}");
            ExitCode::FAILURE
        }
    }
}

fn runtime(threads: usize) -> io::Result<Runtime> {
    match threads {
        1 => Builder::new_current_thread().enable_all().build(),
        0 => Builder::new_multi_thread().enable_all().build(),
        n => Builder::new_multi_thread()
            .worker_threads(n)
            .enable_all()
            .build(),
    }
}

async fn run(args: Args) -> io::Result<()> {
    args.common.start_logs();
    match args.mode {
        None => serve(&args.common, &args.serve).await,
        Some(Mode::Bench(bench)) => serve_bench(&args.common, &bench).await,
    }
}

async fn serve(common: &Common, args: &ServeArgs) -> io::Result<()> {
    let stop = Stop::new(common)?;
    let options = Options {
        address: common.address(),
        control_address: Some(common.control_address()),
        ..args.options()?
    };
    let emulator = Emulator::start(options).await?;
    let control = emulator
        .control_address()
        .unwrap_or_else(|| common.control_address());
    ready(emulator.address(), control);
    stop.requested().await;
    emulator.stop().await;
    Ok(())
}

async fn serve_bench(common: &Common, args: &BenchArgs) -> io::Result<()> {
    let stop = Stop::new(common)?;
    let options = bench::Options {
        address: common.address(),
        shape: args.shape(),
        messages: args.messages,
    };
    let bench = Bench::start(options)
        .await
        .map_err(|e| cannot_listen(common, e))?;
    let control = bench.serve_control(common.control_address()).await?;
    ready(bench.address(), control);
    stop.requested().await;
    bench.stop().await;
    Ok(())
}

fn cannot_listen(common: &Common, e: io::Error) -> io::Error {
    io::Error::new(
        e.kind(),
        format!("cannot listen on {}: {e}", common.address()),
    )
}

/// The one line on standard output that others wait for.
fn ready(address: SocketAddr, control: SocketAddr) {
    println!("pubsub-emulator listening on {address} control {control}");
}

/// What ends the process. Made before it says that it is ready, so that no signal is missed.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
    with_stdin: bool,
}

impl Stop {
    fn new(common: &Common) -> io::Result<Self> {
        Ok(Stop {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            with_stdin: common.exit_on_stdin_close,
        })
    }

    /// Returns at SIGTERM, SIGINT and, when asked for, at the end of standard input.
    async fn requested(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = stdin_end(), if self.with_stdin => {}
        }
    }
}

async fn stdin_end() {
    let mut stdin = tokio::io::stdin();
    let mut buf = [0; 1024];
    while let Ok(1..) = stdin.read(&mut buf).await {}
}
