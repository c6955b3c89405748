//! The only task of a publisher: it tells the core the time and the answers, and does what it says.

use std::future::Future;
use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::{Arc, RwLock};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::block::Block;
use super::core::{Action, Core, Terminal};
use super::flight::Flight;
use super::options::{PublisherOptions, TopicSettings};
use super::signals::Signals;
use super::transport::Transport;
use crate::error::{Code, Error};
use crate::grpc::Message;

/// What the writer asks for.
#[derive(Debug)]
pub(super) enum Command {
    Append { block: Block, since: Instant },
    Flush,
    Run(fn()),
}

/// The names of topics by their numbers.
pub(super) type Names = Arc<RwLock<super::topics::Topics>>;

enum Answer {
    Published(Box<Flight>, Result<(), Error>),
    Created(u32, Result<(), Error>),
}

type Call = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Runs until the writer is gone or it is aborted; tells the signals when everything it held is gone, also when it was
/// aborted before it began.
pub(super) fn run<T: Transport>(
    transport: Arc<T>,
    options: PublisherOptions,
    names: Names,
    signals: Arc<Signals>,
    commands: mpsc::UnboundedReceiver<Command>,
    random: impl Fn() -> f64,
) -> impl Future<Output = ()> {
    let end = End(signals.clone());
    let driving = drive(transport, options, names, signals.clone(), commands, random);
    // In this order they are dropped.
    let held = (driving, end);
    async move {
        let (driving, _end) = held;
        if let Err(panic) = AssertUnwindSafe(driving).catch_unwind().await {
            signals.fail(Terminal {
                topic: None,
                error: Error::panic(panic.as_ref()),
                messages: 0,
            });
        }
    }
}

async fn drive<T: Transport>(
    transport: Arc<T>,
    options: PublisherOptions,
    names: Names,
    signals: Arc<Signals>,
    mut commands: mpsc::UnboundedReceiver<Command>,
    random: impl Fn() -> f64,
) {
    let compression = options.compression_threshold;
    let settings = options.create_topics.clone().unwrap_or_default();
    let mut core = Core::new(options);
    let mut calls: FuturesUnordered<Call> = FuturesUnordered::new();
    let mut timer = pin!(tokio::time::sleep_until(Instant::now()));
    loop {
        let now = Instant::now();
        while let Some(action) = core.next(now) {
            calls.push(match action {
                Action::Publish(flight) => Box::pin(publish(
                    transport.clone(),
                    flight,
                    compression,
                    signals.clone(),
                )),
                Action::Create(topic) => {
                    let name = name(&names, topic);
                    Box::pin(create(transport.clone(), topic, name, settings.clone()))
                }
            });
        }
        report(&mut core, &signals);
        let deadline = core.deadline();
        if let Some(deadline) = deadline
            && timer.deadline() != deadline
        {
            timer.as_mut().reset(deadline);
        }
        tokio::select! {
            command = commands.recv() => {
                let Some(command) = command else { return };
                obey(&mut core, command, &names);
                // What else is there costs no further round.
                while let Ok(command) = commands.try_recv() {
                    obey(&mut core, command, &names);
                }
            }
            Some(answer) = calls.next(), if !calls.is_empty() => {
                let now = Instant::now();
                match answer {
                    Answer::Published(flight, result) => {
                        if let Err(e) = &result {
                            tracing::debug!(attempt = flight.attempts, "publish: {e}");
                        }
                        core.published(flight, result, now, random());
                    }
                    Answer::Created(topic, result) => core.created(topic, result, now, random()),
                }
            }
            () = timer.as_mut(), if deadline.is_some() => {}
        }
    }
}

fn obey(core: &mut Core, command: Command, names: &Names) {
    match command {
        Command::Append { block, since } => {
            core.append(&block, since, Instant::now(), |topic| name(names, topic));
        }
        Command::Flush => core.flush(),
        Command::Run(run) => run(),
    }
}

fn report(core: &mut Core, signals: &Signals) {
    let outcome = core.take_outcome();
    if let Some(text) = &outcome.warning {
        tracing::warn!("{text}");
    }
    signals.apply(
        outcome,
        core.parked_messages(),
        core.active_topics() as u64,
        core.running() as u64,
    );
}

fn name(names: &Names, topic: u32) -> Arc<str> {
    let names = names.read().unwrap_or_else(|e| e.into_inner());
    names.name(topic)
}

async fn publish<T: Transport>(
    transport: Arc<T>,
    mut flight: Box<Flight>,
    compression: Option<usize>,
    signals: Arc<Signals>,
) -> Answer {
    if compression.is_some_and(|threshold| flight.message.len() >= threshold)
        && let Err(e) = compress(&mut flight).await
    {
        return Answer::Published(flight, Err(e));
    }
    let request = flight.message.clone().told_to(signals);
    let messages = flight.batch.count();
    let result = transport
        .publish(&flight.name, request, messages, flight.timeout)
        .await;
    Answer::Published(flight, result)
}

async fn create<T: Transport>(
    transport: Arc<T>,
    topic: u32,
    name: Arc<str>,
    settings: TopicSettings,
) -> Answer {
    let result = transport.create(&name, &settings).await;
    match &result {
        Ok(()) => tracing::info!("created {name}"),
        Err(e) => tracing::debug!("{e}"),
    }
    Answer::Created(topic, result)
}

/// Compresses the request, once; on a thread that may be busy for a while.
async fn compress(flight: &mut Flight) -> Result<(), Error> {
    if flight.message.is_gzip() {
        return Ok(());
    }
    let message = flight.message.clone();
    let gzip = tokio::task::spawn_blocking(move || gzip(&message)).await;
    match gzip {
        Ok(Ok(data)) => {
            flight.message = Message::gzipped(data);
            Ok(())
        }
        Ok(Err(e)) => Err(Error::new(Code::Internal, format!("gzip: {e}"))),
        Err(e) => Err(Error::new(Code::Internal, format!("gzip: {e}"))),
    }
}

fn gzip(message: &Message) -> std::io::Result<Bytes> {
    let out = Vec::with_capacity(message.len() / 4);
    let mut encoder = GzEncoder::new(out, Compression::fast());
    for slice in message.slices() {
        encoder.write_all(slice)?;
    }
    encoder.finish().map(Bytes::from)
}

/// Tells that the driver has ended, also when it was aborted.
struct End(Arc<Signals>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.ended();
    }
}
