//! What the driver and the writer's threads tell each other.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes};

use super::core::{Outcome, Terminal};
use crate::error::{Code, Error};
use crate::grpc::Backlog;

/// [`Event::bits`]: a failure is there to be taken.
const FAILURE: i32 = 1;
/// [`Event::bits`]: the target is reached.
const TARGET_REACHED: i32 = 2;
/// [`Event::bits`]: the publisher is closed.
const CLOSED: i32 = 4;

/// What a watcher was woken for. All are false when its time was over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Event {
    /// A failure is there to be taken.
    pub failure: bool,
    /// There is at most as much in flight as the target says; the target is no longer set.
    pub target_reached: bool,
    /// The publisher is closed.
    pub closed: bool,
}

impl Event {
    /// 1 for a failure, 2 for the target, 4 for the end, added up.
    pub fn bits(self) -> i32 {
        let bit = |on: bool, bit: i32| if on { bit } else { 0 };
        bit(self.failure, FAILURE)
            | bit(self.target_reached, TARGET_REACHED)
            | bit(self.closed, CLOSED)
    }
}

/// Figures of a publisher. All count from its start or hold for this moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PublisherState {
    /// Accepted, and neither confirmed by the service nor taken as a failure.
    pub in_flight_messages: u64,
    /// The same in encoded bytes.
    pub in_flight_bytes: u64,
    /// Confirmed by the service.
    pub published_messages: u64,
    /// The same in encoded bytes.
    pub published_bytes: u64,
    /// Refused by the service, or part of a request that failed for good.
    pub failed_messages: u64,
    /// Requests that were sent again.
    pub publish_retries: u64,
    /// In flight, and waiting for their topic to be created.
    pub parked_messages: u64,
    /// Created by this publisher.
    pub topics_created: u64,
    /// Topics whose state is held.
    pub active_topics: u64,
    /// Requests without an answer.
    pub requests_in_flight: u64,
    /// Encoded bytes of these requests that are not written to the connection yet.
    pub unwritten_bytes: u64,
}

impl PublisherState {
    /// The figures in the order in which they cross the boundary.
    pub fn to_array(self) -> [u64; 11] {
        [
            self.in_flight_messages,
            self.in_flight_bytes,
            self.published_messages,
            self.published_bytes,
            self.failed_messages,
            self.publish_retries,
            self.parked_messages,
            self.topics_created,
            self.active_topics,
            self.requests_in_flight,
            self.unwritten_bytes,
        ]
    }
}

/// How little is to be in flight for a watcher to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// See [`PublisherState::in_flight_messages`].
    pub messages: u64,
    /// See [`PublisherState::in_flight_bytes`].
    pub bytes: u64,
    /// See [`PublisherState::unwritten_bytes`].
    pub unwritten: u64,
}

impl Target {
    /// Whatever is written of it.
    pub fn in_flight(messages: u64, bytes: u64) -> Self {
        Self {
            messages,
            bytes,
            unwritten: u64::MAX,
        }
    }
}

/// Something that could not be published.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The topic's number; `None` when the failure is about all topics.
    pub topic: Option<u32>,
    /// What the service said.
    pub error: Error,
    /// The refused message as field 2 of `PublishRequest`; `None` when nothing can be published any
    /// more.
    pub message: Option<Bytes>,
}

impl Failure {
    /// The descriptor that crosses the boundary: status code, topic number (-1 for all), kind (0 the
    /// end, 1 one message), then text and message with their lengths; big-endian.
    pub fn encode(&self) -> Vec<u8> {
        let text = self.error.to_string();
        let message = self.message.as_deref().unwrap_or_default();
        let mut out = Vec::with_capacity(17 + text.len() + message.len());
        out.put_i32(self.error.code() as i32);
        out.put_i32(self.topic.map_or(-1, |topic| topic as i32));
        out.put_u8(u8::from(self.message.is_some()));
        out.put_u32(text.len() as u32);
        out.put_slice(text.as_bytes());
        out.put_u32(message.len() as u32);
        out.put_slice(message);
        out
    }
}

/// Shared by the driver and all threads of the writer.
#[derive(Debug, Default)]
pub(super) struct Signals {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    state: PublisherState,
    failures: VecDeque<Failure>,
    /// A failure has come since a watcher was last told.
    fresh: bool,
    terminal: Option<Error>,
    target: Option<Target>,
    closed: bool,
    /// The driver has ended.
    ended: bool,
}

impl Inner {
    fn target_reached(&self) -> bool {
        self.target.is_some_and(|target| {
            let state = &self.state;
            state.in_flight_messages <= target.messages
                && state.in_flight_bytes <= target.bytes
                && state.unwritten_bytes <= target.unwritten
        })
    }

    fn check(&self) -> Result<(), Error> {
        if let Some(error) = &self.terminal {
            return Err(error.clone());
        }
        if self.closed {
            return Err(Error::new(
                Code::FailedPrecondition,
                "the publisher is closed",
            ));
        }
        Ok(())
    }
}

impl Signals {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The terminal failure, or that the publisher is closed.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.lock().check()
    }

    /// Counts accepted messages; answers what is in flight now.
    pub(super) fn accept(&self, messages: u64, bytes: u64) -> Result<PublisherState, Error> {
        let mut inner = self.lock();
        inner.check()?;
        inner.state.in_flight_messages += messages;
        inner.state.in_flight_bytes += bytes;
        Ok(inner.state)
    }

    /// The figures of this moment.
    pub(super) fn state(&self) -> PublisherState {
        self.lock().state
    }

    /// Takes over what the driver has learnt, with its gauges.
    pub(super) fn apply(&self, outcome: Outcome, parked: u64, topics: u64, requests: u64) {
        let mut inner = self.lock();
        let state = &mut inner.state;
        state.published_messages += outcome.published_messages;
        state.published_bytes += outcome.published_bytes;
        state.in_flight_messages -= outcome.published_messages;
        state.in_flight_bytes -= outcome.published_bytes;
        state.failed_messages += outcome.rejected.len() as u64;
        state.publish_retries += outcome.retries;
        state.topics_created += outcome.topics_created;
        state.parked_messages = parked;
        state.active_topics = topics;
        state.requests_in_flight = requests;
        for rejected in outcome.rejected {
            inner.fresh = true;
            inner.failures.push_back(Failure {
                topic: Some(rejected.topic),
                error: rejected.error,
                message: Some(rejected.message),
            });
        }
        if let Some(terminal) = outcome.terminal {
            Self::end(&mut inner, terminal);
        }
        if inner.fresh || inner.target_reached() || inner.closed {
            self.changed.notify_all();
        }
    }

    /// Records the failure after which nothing works; only the first counts.
    pub(super) fn fail(&self, terminal: Terminal) {
        Self::end(&mut self.lock(), terminal);
        self.changed.notify_all();
    }

    fn end(inner: &mut Inner, terminal: Terminal) {
        if inner.terminal.is_some() {
            return;
        }
        inner.state.failed_messages += terminal.messages;
        inner.terminal = Some(terminal.error.clone());
        inner.fresh = true;
        inner.failures.push_back(Failure {
            topic: terminal.topic,
            error: terminal.error,
            message: None,
        });
    }

    /// Takes the next failure; a refused message leaves flight with it.
    pub(super) fn take_failure(&self) -> Option<Failure> {
        let mut inner = self.lock();
        let failure = inner.failures.pop_front()?;
        if let Some(message) = &failure.message {
            inner.state.in_flight_messages -= 1;
            inner.state.in_flight_bytes -= message.len() as u64;
            if inner.target_reached() || inner.closed {
                self.changed.notify_all();
            }
        }
        Some(failure)
    }

    /// Sets or removes the target.
    pub(super) fn set_target(&self, target: Option<Target>) {
        let mut inner = self.lock();
        inner.target = target;
        if inner.target_reached() {
            self.changed.notify_all();
        }
    }

    /// Waits for a new failure, the target or the end.
    pub(super) fn wait(&self, timeout: Duration) -> Event {
        let inner = self.lock();
        let (mut inner, _) = self
            .changed
            .wait_timeout_while(inner, timeout, |inner| {
                !inner.fresh && !inner.closed && !inner.target_reached()
            })
            .unwrap_or_else(PoisonError::into_inner);
        inner.fresh = false;
        let target_reached = inner.target_reached();
        if target_reached {
            inner.target = None;
        }
        Event {
            failure: !inner.failures.is_empty(),
            target_reached,
            closed: inner.closed,
        }
    }

    /// Refuses further messages and wakes all watchers. False when it was closed already.
    pub(super) fn close(&self) -> bool {
        let mut inner = self.lock();
        self.changed.notify_all();
        !std::mem::replace(&mut inner.closed, true)
    }

    /// Waits until nothing is in flight but what waits to be taken as a failure, or nothing can be
    /// published any more.
    pub(super) fn wait_published(&self, deadline: Instant) {
        self.wait_until(deadline, |inner| {
            let refused = inner
                .failures
                .iter()
                .filter(|f| f.message.is_some())
                .count();
            inner.terminal.is_some()
                || inner.ended
                || inner.state.in_flight_messages <= refused as u64
        });
    }

    /// Waits until the driver has ended.
    pub(super) fn wait_ended(&self, deadline: Instant) {
        self.wait_until(deadline, |inner| inner.ended);
    }

    fn wait_until(&self, deadline: Instant, done: impl Fn(&Inner) -> bool) {
        let timeout = deadline.saturating_duration_since(Instant::now());
        let _ = self
            .changed
            .wait_timeout_while(self.lock(), timeout, |inner| !done(inner));
    }

    /// The driver has ended.
    pub(super) fn ended(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }
}

impl Backlog for Signals {
    fn waits(&self, bytes: usize) {
        self.lock().state.unwritten_bytes += bytes as u64;
    }

    fn waits_no_more(&self, bytes: usize) {
        let mut inner = self.lock();
        inner.state.unwritten_bytes -= bytes as u64;
        if inner.target_reached() {
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(message: &'static [u8]) -> Outcome {
        Outcome {
            rejected: vec![super::super::core::Rejected {
                topic: 3,
                error: Error::new(Code::InvalidArgument, "bad é"),
                message: Bytes::from_static(message),
            }],
            ..Outcome::default()
        }
    }

    fn terminal(text: &str) -> Terminal {
        Terminal {
            topic: None,
            error: Error::new(Code::PermissionDenied, text),
            messages: 2,
        }
    }

    const NOTHING: Event = Event {
        failure: false,
        target_reached: false,
        closed: false,
    };

    #[test]
    fn a_refused_message_is_in_flight_until_it_is_taken() {
        let signals = Signals::default();
        signals.accept(2, 10).unwrap();
        signals.set_target(Some(Target::in_flight(0, u64::MAX)));
        signals.apply(rejected(b"abcd"), 0, 1, 0);
        let failure = Event {
            failure: true,
            ..NOTHING
        };
        assert_eq!(signals.wait(Duration::ZERO), failure);
        // Still there, and the target is not reached.
        assert_eq!(signals.wait(Duration::ZERO), failure);
        assert_eq!(signals.state().in_flight_messages, 2);
        let taken = signals.take_failure().unwrap();
        assert_eq!(
            taken.encode(),
            [
                &[0, 0, 0, 3, 0, 0, 0, 3, 1, 0, 0, 0, 24][..],
                "INVALID_ARGUMENT: bad é".as_bytes(),
                &[0, 0, 0, 4],
                b"abcd"
            ]
            .concat()
        );
        assert_eq!(signals.state().in_flight_bytes, 6);
        assert!(signals.take_failure().is_none());
        assert_eq!(signals.wait(Duration::ZERO), NOTHING);
        let published = Outcome {
            published_messages: 1,
            published_bytes: 6,
            ..Outcome::default()
        };
        signals.apply(published, 0, 1, 0);
        let reached = Event {
            target_reached: true,
            ..NOTHING
        };
        assert_eq!(signals.wait(Duration::ZERO), reached);
        assert_eq!(signals.wait(Duration::ZERO), NOTHING);
        let state = signals.state();
        assert_eq!(state.to_array(), [0, 0, 1, 6, 1, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn the_first_terminal_failure_is_thrown_ever_after() {
        let signals = Signals::default();
        signals.fail(terminal("first"));
        signals.fail(terminal("second"));
        assert_eq!(signals.accept(1, 1).unwrap_err().message(), "first");
        assert_eq!(signals.wait(Duration::ZERO).bits(), FAILURE);
        let failure = signals.take_failure().unwrap();
        assert_eq!(failure.encode()[..9], [0, 0, 0, 7, 255, 255, 255, 255, 0]);
        assert!(signals.take_failure().is_none());
        assert_eq!(signals.check().unwrap_err().message(), "first");
        assert_eq!(signals.state().failed_messages, 2);
    }

    #[test]
    fn a_target_may_be_about_what_is_written() {
        let signals = Signals::default();
        signals.accept(1, 10).unwrap();
        signals.waits(7);
        signals.waits(3);
        assert_eq!(signals.state().unwritten_bytes, 10);
        signals.set_target(Some(Target {
            unwritten: 5,
            ..Target::in_flight(u64::MAX, u64::MAX)
        }));
        signals.waits_no_more(3);
        assert_eq!(signals.wait(Duration::ZERO), NOTHING);
        signals.waits_no_more(7);
        assert!(signals.wait(Duration::ZERO).target_reached);
        assert_eq!(signals.state().unwritten_bytes, 0);
    }

    #[test]
    fn closing_wakes_a_watcher() {
        let signals = std::sync::Arc::new(Signals::default());
        let watcher = {
            let signals = signals.clone();
            std::thread::spawn(move || signals.wait(Duration::from_secs(60)))
        };
        assert!(signals.close());
        assert!(!signals.close());
        assert_eq!(
            watcher.join().unwrap(),
            Event {
                closed: true,
                ..NOTHING
            }
        );
        assert_eq!(
            signals.check().unwrap_err().code(),
            Code::FailedPrecondition
        );
    }
}
