//! Publishing: messages are collected into batches and sent, several at a time, until the service
//! has confirmed each of them or it is known that it never will.
//!
//! The way of a message: [`Publisher::append`] → block → batcher → core → flight → driver →
//! transport. The core decides and the driver acts.

mod batch;
mod batcher;
mod block;
mod buffers;
mod core;
mod driver;
mod flight;
mod idle;
mod options;
mod progress;
mod recovery;
#[cfg(test)]
mod samples;
mod signals;
mod topics;
mod transport;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use self::block::Block;
pub use self::buffers::Buffer;
use self::buffers::Buffers;
use self::driver::{Command, Names};
pub use self::options::{MAX_REQUEST_BYTES, MAX_REQUEST_MESSAGES, PublisherOptions, TopicSettings};
use self::signals::Signals;
pub use self::signals::{Event, Failure, PublisherState, Target};
use self::transport::{Service, Transport};
use crate::connect::{Connection, Windows};
use crate::error::Error;

/// Answers to publishing are small.
const WINDOWS: Windows = Windows {
    stream: 1 << 20,
    connection: 4 << 20,
};
/// Memory that is kept for [`Publisher::buffer`], in bytes, unless less may be in flight.
const KEPT_BUFFERS: u64 = 32 << 20;
/// How long the end of the task is waited for, once nothing is left to do.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// What is in flight after [`Publisher::append`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    /// Accepted, and neither confirmed nor taken as a failure.
    pub messages: u64,
    /// The same in encoded bytes.
    pub bytes: u64,
    /// See [`PublisherState::unwritten_bytes`].
    pub unwritten: u64,
}

/// Publishes to any number of topics.
///
/// Messages without an ordering key may overtake each other, those of one key never do. Any thread
/// may call any method; none waits for the network but [`Publisher::await_event`] and
/// [`Publisher::close`]. Dropping it drops what is not published yet.
pub struct Publisher {
    options: PublisherOptions,
    names: Names,
    signals: Arc<Signals>,
    buffers: Arc<Buffers>,
    commands: mpsc::UnboundedSender<Command>,
    task: AbortHandle,
}

impl Publisher {
    /// Starts a publisher on the runtime of the connection. No call is made before there is a
    /// message.
    pub fn open(connection: &Connection, options: PublisherOptions) -> Self {
        let service = Service {
            channel: connection.stream_channel(WINDOWS),
            connection: connection.clone(),
        };
        Self::start(connection.runtime(), service, options, crate::retry::random)
    }

    fn start<T: Transport>(
        runtime: &Handle,
        transport: T,
        options: PublisherOptions,
        random: impl Fn() -> f64 + Send + 'static,
    ) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let signals = Arc::new(Signals::default());
        let names = Arc::new(RwLock::default());
        let task = runtime.spawn(driver::run(
            Arc::new(transport),
            options.clone(),
            Arc::clone(&names),
            signals.clone(),
            receiver,
            random,
        ));
        let kept = options.max_in_flight_bytes.min(KEPT_BUFFERS);
        Self {
            options,
            names,
            signals,
            buffers: Buffers::new(kept as usize),
            commands,
            task: task.abort_handle(),
        }
    }

    /// The number of a topic, `projects/p/topics/t`; no call to the service.
    pub fn topic(&self, name: &str) -> Result<u32, Error> {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        names.number(name)
    }

    /// A buffer to be filled with `len` bytes of messages for [`Publisher::append`]. What is in it at
    /// first is unspecified. Its memory is used again once the messages are confirmed.
    pub fn buffer(&self, len: usize) -> Buffer {
        self.buffers.take(len)
    }

    /// Accepts `count` messages.
    ///
    /// `data` holds them one behind the other, each as field 2 of `PublishRequest`. `index` has four
    /// numbers a message: its exclusive end in `data`, its topic's number, and offset and length of
    /// its ordering key's bytes in `data` (length 0: none). `age` is how long the oldest of them has
    /// waited already. When the two do not fit to each other, nothing is accepted.
    ///
    /// It never refuses because of what is in flight: the caller waits with
    /// [`Publisher::set_target`]. At the limits of the options nothing waits for a batch to fill.
    ///
    /// # Errors
    ///
    /// The first terminal failure; and what is wrong with the arguments.
    pub fn append(
        &self,
        data: Bytes,
        index: &[i32],
        count: usize,
        age: Duration,
    ) -> Result<InFlight, Error> {
        let topics = self
            .names
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len();
        let bytes = data.len() as u64;
        let block = Block::new(data, index, count, topics, self.options.ordering)?;
        let state = self.signals.accept(count as u64, bytes)?;
        if count > 0 {
            let now = Instant::now();
            let since = now.checked_sub(age).unwrap_or(now);
            self.command(Command::Append { block, since });
        }
        if state.in_flight_messages >= self.options.max_in_flight_messages
            || state.in_flight_bytes >= self.options.max_in_flight_bytes
        {
            self.command(Command::Flush);
        }
        Ok(InFlight {
            messages: state.in_flight_messages,
            bytes: state.in_flight_bytes,
            unwritten: state.unwritten_bytes,
        })
    }

    /// Makes everything accepted so far due now, and does not wait for it.
    ///
    /// # Errors
    ///
    /// The first terminal failure.
    pub fn flush(&self) -> Result<(), Error> {
        self.signals.check()?;
        self.command(Command::Flush);
        Ok(())
    }

    /// Sets how much may be in flight for [`Publisher::await_event`] to end; `None` waits for failures
    /// alone.
    pub fn set_target(&self, target: Option<Target>) {
        self.signals.set_target(target);
    }

    /// Waits for a failure that no call has told of yet, the target, the end of the publisher, or
    /// the time. The answer tells of untaken failures in any case.
    pub fn await_event(&self, timeout: Duration) -> Event {
        self.signals.wait(timeout)
    }

    /// The figures of this moment.
    pub fn state(&self) -> PublisherState {
        self.signals.state()
    }

    /// The next failure. A refused message leaves flight when it is taken.
    pub fn take_failure(&self) -> Option<Failure> {
        self.signals.take_failure()
    }

    /// Publishes what it can within the time, drops the rest and ends. A second call waits for
    /// nothing. Afterwards nothing is accepted and waiting ends at once.
    pub fn close(&self, timeout: Duration) {
        if !self.signals.close() {
            return;
        }
        let now = std::time::Instant::now();
        self.command(Command::Flush);
        // A timeout beyond what a clock can tell is a day.
        let later = |timeout| {
            now.checked_add(timeout)
                .unwrap_or_else(|| now + Duration::from_secs(86_400))
        };
        self.signals.wait_published(later(timeout));
        self.task.abort();
        self.signals
            .wait_ended(std::time::Instant::now() + END_TIMEOUT);
    }

    /// Runs something in the task, as all of the publisher's work is run.
    #[doc(hidden)]
    pub fn run_in_task(&self, run: fn()) {
        self.command(Command::Run(run));
    }

    /// A task that has ended takes no commands; its failure is told by the signals.
    fn command(&self, command: Command) {
        let _ = self.commands.send(command);
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.signals.close();
        self.task.abort();
    }
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher")
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "publish/publisher_tests.rs"]
mod tests;
