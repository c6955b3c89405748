//! Reading: `stream → scan → ledger → fetch`, and acks back.
//!
//! A [`Subscriber`] serves one source reader. Its methods are called by the reader's threads and never wait for the
//! network, but for [`Subscriber::fetch`], which waits for messages, and [`Subscriber::close`]; both are bounded.

mod acks;
mod buffer;
mod confirm;
mod counters;
mod fetch;
mod options;
mod pending;
mod requests;
mod split;
mod stream;
mod trouble;

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::Instant;

use self::confirm::Confirmations;
use self::counters::Counters;
pub use self::counters::Counts;
pub use self::fetch::{Fetch, INDEX_STRIDE, Written};
pub use self::options::SubscriberOptions;
use self::split::Split;
use crate::clock::Clock;
use crate::connect::Connection;
use crate::error::Error;
use crate::lease::Millis;

/// How often leases are looked after; far below the shortest lease's margin.
const LEASE_TICK: Millis = 500;

/// Small responses are merged up to this size, in bytes. Merging saves work when responses are small, and costs
/// nothing when they are not, for these are not merged.
const MERGE_BYTES: usize = 256 << 10;

/// Calls that are given up end at once; this bounds the wait all the same.
const GIVING_UP: Duration = Duration::from_millis(100);

/// What [`Subscriber::fetch`] answers.
#[derive(Debug)]
pub enum Fetched {
    /// Messages, to be written into the caller's memory.
    Messages(Fetch),
    /// The next messages need more room; nothing was taken.
    TooSmall {
        /// Bytes that are needed.
        bytes: usize,
        /// Messages that are to be described.
        messages: usize,
    },
    /// Time over, or woken.
    Nothing,
}

/// See the module.
#[derive(Debug)]
pub struct Subscriber {
    shared: Arc<Shared>,
    confirmations: Mutex<Confirmations>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    connection: Connection,
    options: Arc<SubscriberOptions>,
    counters: Arc<Counters>,
    clock: Clock,
    splits: Mutex<Vec<Arc<Split>>>,
    line: Mutex<Line>,
    /// Wakes the thread that waits for messages.
    ready: Condvar,
}

/// Splits that have something to fetch, in turn.
#[derive(Debug, Default)]
struct Line {
    splits: VecDeque<Arc<Split>>,
    woken: bool,
    closed: bool,
    failed: Option<Error>,
}

impl Shared {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn splits(&self) -> MutexGuard<'_, Vec<Arc<Split>>> {
        self.splits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a task of the subscriber. A task that panics is a defect, but not one that may go unseen: the subscriber
    /// fails with it.
    fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let shared = Arc::downgrade(self);
        self.connection.runtime().spawn(async move {
            if let Err(panic) = AssertUnwindSafe(task).catch_unwind().await
                && let Some(shared) = shared.upgrade()
            {
                shared.fail(Error::panic(panic.as_ref()));
            }
        });
    }

    /// The split has something to fetch.
    pub(crate) fn stand_in_line(&self, split: &Arc<Split>) {
        let mut buffer = split.buffer();
        if buffer.in_line || buffer.paused || buffer.responses.is_empty() {
            return;
        }
        buffer.in_line = true;
        drop(buffer);
        self.line().splits.push_back(Arc::clone(split));
        self.ready.notify_one();
    }

    /// The subscriber cannot go on; the first error is the one that is told.
    pub(crate) fn fail(&self, error: Error) {
        self.line().failed.get_or_insert(error);
        self.ready.notify_all();
    }
}

impl Subscriber {
    /// A subscriber without splits. Starts nothing yet.
    pub fn open(connection: Connection, options: SubscriberOptions) -> Self {
        Self::open_with_clock(connection, options, Clock::running())
    }

    /// The same, by a clock of the caller's. What concerns the network alone keeps to the system's.
    pub fn open_with_clock(
        connection: Connection,
        options: SubscriberOptions,
        clock: Clock,
    ) -> Self {
        let shared = Arc::new(Shared {
            connection,
            options: Arc::new(options),
            counters: Arc::default(),
            clock,
            splits: Mutex::default(),
            line: Mutex::default(),
            ready: Condvar::new(),
        });
        let tended = Arc::downgrade(&shared);
        shared.spawn(async move {
            loop {
                let Some(shared) = tended.upgrade() else {
                    return;
                };
                if shared.line().closed {
                    return;
                }
                let clock = shared.clock.clone();
                // Read before the look: what becomes due during it waits for the next one only.
                let next = clock.now() + LEASE_TICK;
                let splits = shared.splits().clone();
                for split in splits {
                    if let Err(error) = split.tend_leases() {
                        shared.fail(error);
                    }
                }
                drop(shared);
                clock.sleep_until(next).await;
            }
        });
        Self {
            shared,
            confirmations: Mutex::default(),
        }
    }

    /// Adds a split that reads `subscription`, a resource name, and opens its streams. Answers its number.
    pub fn add_split(&self, subscription: &str) -> Result<u32, Error> {
        self.check_open()?;
        let shared = &self.shared;
        let mut splits = shared.splits();
        let split = Arc::new(Split::new(
            splits.len() as u32,
            subscription,
            Arc::clone(&shared.options),
            shared.connection.clone(),
            Arc::clone(&shared.counters),
            shared.clock.clone(),
            Arc::downgrade(shared),
        ));
        splits.push(Arc::clone(&split));
        drop(splits);
        for number in 0..shared.options.parallel_pull_count {
            let task = stream::run(Arc::clone(shared), Arc::clone(&split), number);
            shared.spawn(task);
        }
        Ok(split.number)
    }

    /// Removes a split: its streams end, and what was not fetched is given back. What was fetched can still be sealed and
    /// acked.
    pub fn remove_split(&self, split: u32) -> Result<(), Error> {
        let split = self.split(split)?;
        split.stop();
        self.shared.spawn(async move {
            split.streams.none().await;
            split.give_back_held(false);
        });
        Ok(())
    }

    /// Stops or resumes reading a split.
    pub fn pause(&self, split: u32, paused: bool) -> Result<(), Error> {
        let split = self.split(split)?;
        split.buffer().paused = paused;
        split.changed.notify_waiters();
        self.shared.stand_in_line(&split);
        Ok(())
    }

    /// Waits at most `timeout` for messages, which are taken if they need no more than `bytes` bytes and describe no
    /// more than `messages` messages. One thread at a time calls this.
    ///
    /// Fails when the stream of any split has failed for good, and again at each further call.
    pub fn fetch(
        &self,
        timeout: Duration,
        bytes: usize,
        messages: usize,
    ) -> Result<Fetched, Error> {
        // The clock of std: this thread belongs to no runtime.
        let deadline = std::time::Instant::now() + timeout;
        loop {
            let Some(split) = self.next_in_line(deadline)? else {
                return Ok(Fetched::Nothing);
            };
            match self.take(&split, bytes, messages) {
                Some(fetched) => return Ok(fetched),
                // Paused, closed or expired since it stood in line.
                None => continue,
            }
        }
    }

    fn next_in_line(&self, deadline: std::time::Instant) -> Result<Option<Arc<Split>>, Error> {
        let mut line = self.shared.line();
        loop {
            if let Some(error) = &line.failed {
                return Err(error.clone());
            }
            if std::mem::take(&mut line.woken) || line.closed {
                return Ok(None);
            }
            if let Some(split) = line.splits.pop_front() {
                return Ok(Some(split));
            }
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let waited = self.shared.ready.wait_timeout(line, left);
            line = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn take(&self, split: &Arc<Split>, bytes: usize, messages: usize) -> Option<Fetched> {
        let mut buffer = split.buffer();
        buffer.in_line = false;
        if buffer.paused || buffer.closed {
            return None;
        }
        let next = buffer.responses.front()?;
        let (mut size, mut count) = (next.len, next.messages as usize);
        if size > bytes || count > messages {
            buffer.in_line = true;
            self.shared.line().splits.push_front(Arc::clone(split));
            return Some(Fetched::TooSmall {
                bytes: size,
                messages: count,
            });
        }
        let most = messages.min(split.options.max_records_per_fetch as usize);
        let was_full = buffer.bytes >= split.options.max_buffered_bytes;
        let mut responses = vec![buffer.pop()?];
        while let Some(next) = buffer.responses.front() {
            size += next.len;
            count += next.messages as usize;
            if size > bytes.min(MERGE_BYTES)
                || count > most
                || !responses.last().is_none_or(|last| next.follows(last))
            {
                break;
            }
            responses.extend(buffer.pop());
        }
        if !buffer.responses.is_empty() {
            buffer.in_line = true;
            self.shared.line().splits.push_back(Arc::clone(split));
        }
        buffer.fetching = true;
        drop(buffer);
        if was_full {
            split.changed.notify_waiters();
        }
        Some(Fetched::Messages(Fetch::new(Arc::clone(split), responses)))
    }

    /// The running [`Subscriber::fetch`], or else the next one, returns at once.
    pub fn wake_up(&self) {
        self.shared.line().woken = true;
        self.shared.ready.notify_all();
    }

    /// Seals under `checkpoint`, for each named split, all messages below the given sequence number.
    pub fn snapshot(&self, checkpoint: i64, progress: &[(u32, u64)]) -> Result<(), Error> {
        for &(number, emitted) in progress {
            let split = self.split(number)?;
            let sealed = split.ledger().seal(checkpoint, emitted);
            sealed.map_err(|e| Error::argument(format!("split {number}: {e}")))?;
        }
        Ok(())
    }

    /// Acks all that is sealed at or below `checkpoint`. With `confirm`, [`Subscriber::confirmed`] tells what the service
    /// answers.
    ///
    /// # Errors
    ///
    /// When the stream of any split has failed for good; the acks are on their way all the same. Nobody may be calling
    /// [`Subscriber::fetch`] to hear of it.
    pub fn complete(&self, checkpoint: i64, confirm: bool) -> Result<(), Error> {
        let splits = self.shared.splits().clone();
        for split in splits {
            let answers = split.complete(checkpoint);
            if confirm {
                self.confirmations().expect(answers);
            }
        }
        match &self.shared.line().failed {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Whether the service has answered all acks of the calls of [`Subscriber::complete`] that asked for it; waits for
    /// that for at most `timeout`. One thread at a time calls this.
    ///
    /// # Errors
    ///
    /// What the service refused, or what became of an ack that was given up; once, when all are answered.
    pub fn confirmed(&self, timeout: Duration) -> Result<bool, Error> {
        let mut confirmations = self.confirmations();
        let runtime = self.shared.connection.runtime();
        runtime.block_on(async { confirmations.all(Instant::now() + timeout).await })
    }

    fn confirmations(&self) -> MutexGuard<'_, Confirmations> {
        let confirmations = self.confirmations.lock();
        confirmations.unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives back one message.
    pub fn nack(&self, split: u32, sequence: u64) -> Result<(), Error> {
        let split = self.split(split)?;
        let set = split.ledger().nack(sequence);
        split.spawn_nacks(set.into_iter().collect());
        Ok(())
    }

    /// Leaves one message alone: it is neither acked nor given back, and comes again when its lease has run out.
    pub fn leave(&self, split: u32, sequence: u64) -> Result<(), Error> {
        let split = self.split(split)?;
        split.ledger().leave(sequence);
        split.changed.notify_waiters();
        Ok(())
    }

    /// A reading of the counters.
    pub fn counts(&self) -> Counts {
        let counters = &self.shared.counters;
        let mut counts = Counts {
            messages_received: counters.received.get(),
            acks_requested: counters.acks_requested.get(),
            acks_confirmed: counters.acks_confirmed.get(),
            acks_failed: counters.acks_failed.get(),
            messages_nacked: counters.nacked.get(),
            lease_extensions: counters.extensions.get(),
            stream_reconnects: counters.reconnects.get(),
            ..Counts::default()
        };
        let splits = self.shared.splits().clone();
        for split in splits {
            let outstanding = split.outstanding();
            counts.outstanding_messages += outstanding.messages;
            counts.outstanding_bytes += outstanding.bytes;
            let (bytes, messages) = {
                let buffer = split.buffer();
                (buffer.bytes, buffer.messages)
            };
            counts.buffered_bytes += bytes;
            counts.buffered_messages += messages;
            let ledger = split.ledger();
            counts.redeliveries += ledger.counts().redeliveries;
            counts.leases_expired += ledger.counts().expired;
            let pending = ledger.pending_checkpoints() as u64;
            counts.pending_checkpoints = counts.pending_checkpoints.max(pending);
        }
        counts
    }

    /// Ends all streams, sends the acks that were decided and gives back the rest, within `timeout` for all of it. Ends a
    /// running [`Subscriber::fetch`]. Closing again does nothing.
    pub fn close(&self, timeout: Duration) {
        {
            let mut line = self.shared.line();
            if std::mem::replace(&mut line.closed, true) {
                return;
            }
            line.splits.clear();
        }
        self.shared.ready.notify_all();
        let splits = self.shared.splits().clone();
        for split in &splits {
            split.stop();
        }
        let runtime = self.shared.connection.runtime();
        let answered = runtime.block_on(async {
            let end = Instant::now() + timeout;
            let streams_ended = async {
                for split in &splits {
                    split.streams.none().await;
                }
            };
            // Whatever the streams do, half of the time is for giving back.
            let _ = tokio::time::timeout(timeout / 2, streams_ended).await;
            for split in &splits {
                split.give_back_held(true);
            }
            let all_answered = async {
                for split in &splits {
                    split.acks.pending.none().await;
                }
            };
            let answered = tokio::time::timeout_at(end, all_answered).await;
            if answered.is_err() {
                // Nobody needs the answers any more, but the counters shall say what became of all.
                for split in &splits {
                    split.acks.give_up();
                }
                let _ = tokio::time::timeout(GIVING_UP, async {
                    for split in &splits {
                        split.acks.pending.none().await;
                    }
                })
                .await;
            }
            answered
        });
        if answered.is_err() {
            tracing::warn!(
                "closed after {timeout:?} with acks or nacks unanswered: their messages may come again"
            );
        }
    }

    /// Runs something in a task, as all of the subscriber's work is run.
    #[doc(hidden)]
    pub fn run_in_task(&self, run: fn()) {
        self.shared.spawn(async move { run() });
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.shared.line().closed {
            return Err(Error::argument("the subscriber is closed"));
        }
        Ok(())
    }

    fn split(&self, number: u32) -> Result<Arc<Split>, Error> {
        let split = self.shared.splits().get(number as usize).cloned();
        split.ok_or_else(|| Error::argument(format!("there is no split {number}")))
    }
}

impl Drop for Subscriber {
    /// Whoever drops it without closing loses the time to give anything back; the streams end all the same.
    fn drop(&mut self) {
        self.shared.line().closed = true;
        for split in self.shared.splits().iter() {
            split.buffer().closed = true;
            split.acks.give_up();
            split.changed.notify_waiters();
        }
    }
}
