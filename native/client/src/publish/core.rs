//! The publisher's mind: what to send next, and what to make of an answer. It has no clock, no
//! socket and no lock; the driver tells it the time and the answers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tonic::Code;

use super::batcher::{Batcher, Limits};
use super::block::Block;
use super::flight::Flight;
use super::options::PublisherOptions;
use super::progress::Progress;
use super::recovery::{Recoveries, Step};
use crate::error::{Error, code_name};

/// Requests under way at the same time. Servers allow about a hundred per connection.
pub(super) const MAX_REQUESTS: usize = 96;

/// How long a server that has never been heard of is looked for. A wrong endpoint is told soon; a
/// server that was there may stay away for as long as the options allow.
const FIRST_CONTACT: Duration = Duration::from_secs(30);

/// What the driver has to do.
#[derive(Debug)]
pub(super) enum Action {
    /// Send the request and report to [`Core::published`].
    Publish(Box<Flight>),
    /// Create the topic and report to [`Core::created`].
    Create(u32),
}

/// What has happened since it was last asked for.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) published_messages: u64,
    pub(super) published_bytes: u64,
    pub(super) rejected: Vec<Rejected>,
    /// Nothing is sent any more.
    pub(super) terminal: Option<Terminal>,
    pub(super) retries: u64,
    pub(super) topics_created: u64,
    /// To be logged.
    pub(super) warning: Option<String>,
}

/// One message that the service refused.
#[derive(Debug)]
pub(super) struct Rejected {
    pub(super) topic: u32,
    pub(super) error: Error,
    /// Field 2 of `PublishRequest`.
    pub(super) message: Bytes,
}

/// The failure after which the publisher is of no use.
#[derive(Debug, Clone)]
pub(super) struct Terminal {
    /// Absent when it is about all topics.
    pub(super) topic: Option<u32>,
    pub(super) error: Error,
    /// Messages of the request that failed.
    pub(super) messages: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Core {
    options: PublisherOptions,
    batcher: Batcher,
    recoveries: Recoveries,
    /// Requests that wait for their next attempt.
    delayed: BTreeMap<(Instant, u64), Box<Flight>>,
    /// Requests whose next attempt is due.
    resend: VecDeque<Box<Flight>>,
    running: usize,
    numbers: u64,
    answers: u64,
    progress: Progress,
    last_error: Option<Error>,
    /// The server has answered something.
    heard: bool,
    failed: bool,
    outcome: Outcome,
}

impl Core {
    pub(super) fn new(options: PublisherOptions) -> Self {
        Self {
            batcher: Batcher::new(Limits {
                messages: options.batch_messages,
                bytes: options.batch_bytes,
                delay: options.batch_delay,
                active_topics: options.max_active_topics,
                idle_timeout: options.topic_idle_timeout,
            }),
            recoveries: Recoveries::new(options.recovery, options.recovery_max_attempts),
            delayed: BTreeMap::new(),
            resend: VecDeque::new(),
            running: 0,
            numbers: 0,
            answers: 0,
            progress: Progress::new(options.progress_timeout),
            last_error: None,
            heard: false,
            failed: false,
            outcome: Outcome::default(),
            options,
        }
    }

    /// Takes messages whose oldest has waited since `since`.
    pub(super) fn append(
        &mut self,
        block: &Block,
        since: Instant,
        now: Instant,
        name: impl FnMut(u32) -> Arc<str>,
    ) {
        self.progress.accepted(block.ends.len() as u64, now);
        self.batcher.append(block, since, now, name);
    }

    /// Makes everything due that has been appended so far.
    pub(super) fn flush(&mut self) {
        self.batcher.flush();
    }

    /// The next thing to do at this time.
    pub(super) fn next(&mut self, now: Instant) -> Option<Action> {
        self.check_progress(now);
        if self.failed {
            return None;
        }
        self.batcher.evict(now);
        if let Some(topic) = self.recoveries.next_creation(now) {
            return Some(Action::Create(topic));
        }
        while let Some(first) = self.delayed.first_entry() {
            if first.key().0 > now {
                break;
            }
            self.resend.push_back(first.remove());
        }
        if self.running == MAX_REQUESTS {
            return None;
        }
        if let Some(probe) = self.recoveries.next_probe(now) {
            return Some(self.send(probe, now));
        }
        while let Some(flight) = self.resend.pop_front() {
            if flight.probe {
                return Some(self.send(flight, now));
            }
            if let Some(flight) = self.recoveries.park(flight) {
                return Some(self.send(flight, now));
            }
        }
        let ready = self.batcher.next(now)?;
        self.numbers += 1;
        let flight = Flight::new(self.numbers, ready, self.options.retry, now);
        Some(self.send(Box::new(flight), now))
    }

    /// When [`Core::next`] may answer something without further events.
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        if self.failed {
            return None;
        }
        [
            self.progress.deadline(),
            self.batcher.deadline(),
            self.recoveries.deadline(),
            self.delayed.first_key_value().map(|((at, _), _)| *at),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The answer to a request. `random` in [0, 1) spreads the waits.
    pub(super) fn published(
        &mut self,
        flight: Box<Flight>,
        result: Result<(), Error>,
        now: Instant,
        random: f64,
    ) {
        self.running -= 1;
        self.answers += 1;
        self.heard |= !matches!(&result, Err(e) if e.is_unanswered());
        match result {
            Ok(()) => {
                self.last_error = None;
                if flight.probe {
                    self.topic_is_there(flight.topic, now);
                }
                self.outcome.published_messages += flight.batch.count() as u64;
                self.outcome.published_bytes += flight.batch.bytes() as u64;
                self.batcher.done(flight.lane);
                self.release(flight.topic, flight.batch.count(), now);
            }
            Err(e) if e.is_option() => self.fail(&flight, e),
            Err(e) if e.code() == Code::NotFound => self.missing(flight, e, now, random),
            Err(e) if e.code() == Code::InvalidArgument && self.options.isolate_rejected => {
                self.refused(flight, e, now);
            }
            Err(e) if e.is_retryable() => self.retry(flight, e, now, random),
            Err(e) => self.fail(&flight, e),
        }
    }

    /// How creating a topic went.
    pub(super) fn created(
        &mut self,
        topic: u32,
        result: Result<(), Error>,
        now: Instant,
        random: f64,
    ) {
        self.outcome.topics_created += u64::from(result.is_ok());
        if let Step::Failed(e) = self.recoveries.created(topic, result, now, random) {
            let text = format!(
                "the topic is missing and cannot be created: {}",
                e.message()
            );
            self.terminal(Some(topic), e.with_message(text), 0);
        }
    }

    /// What has happened since the last call.
    pub(super) fn take_outcome(&mut self) -> Outcome {
        std::mem::take(&mut self.outcome)
    }

    /// Requests under way.
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// Topics that are remembered.
    pub(super) fn active_topics(&self) -> usize {
        self.batcher.active_topics()
    }

    /// Messages whose topic is being created.
    pub(super) fn parked_messages(&self) -> u64 {
        self.batcher.blocked_messages()
    }

    fn send(&mut self, mut flight: Box<Flight>, now: Instant) -> Action {
        self.running += 1;
        flight.attempts += 1;
        flight.sent_at = self.answers;
        let end = flight.first_sent + self.options.retry_total_timeout;
        let left = end.saturating_duration_since(now);
        // The first attempt is made in any case.
        flight.timeout = if left.is_zero() {
            self.options.request_timeout
        } else {
            self.options.request_timeout.min(left)
        };
        Action::Publish(flight)
    }

    fn retry(&mut self, mut flight: Box<Flight>, error: Error, now: Instant, random: f64) {
        let wait = flight.backoff.next(random);
        let mut total = self.options.retry_total_timeout;
        if !self.heard {
            total = total.min(FIRST_CONTACT);
        }
        if now + wait > flight.first_sent + total {
            let (message, attempts) = (error.message(), flight.attempts);
            let mut text = format!("{message}; gave up after {attempts} attempts within {total:?}");
            if !self.heard {
                text += ", in which no server answered: check the endpoint";
            }
            return self.fail(&flight, error.with_message(text));
        }
        self.outcome.retries += 1;
        self.last_error = Some(error);
        self.delayed.insert((now + wait, flight.number), flight);
    }

    fn missing(&mut self, flight: Box<Flight>, error: Error, now: Instant, random: f64) {
        let topic = flight.topic;
        if self.options.create_topics.is_none() {
            let text = format!(
                "{}; it is not created because createDisposition is CREATE_NEVER",
                error.message()
            );
            return self.fail(&flight, error.with_message(text));
        }
        self.last_error = Some(error.clone());
        if flight.probe {
            let messages = flight.batch.count() as u64;
            let step = self.recoveries.probe_refused(flight, error, now, random);
            if let Step::Failed(e) = step {
                let text = format!("{}; it was created, but is still not known", e.message());
                self.terminal(Some(topic), e.with_message(text), messages);
            }
            return;
        }
        let Some(flight) = self.recoveries.park(flight) else {
            return;
        };
        // Sent before the topic was found to be there, so it says nothing new.
        if flight.sent_at < self.batcher.marked(topic) {
            return self.retry(flight, error, now, random);
        }
        self.recoveries.start(flight);
        self.batcher.block(topic);
    }

    fn topic_is_there(&mut self, topic: u32, now: Instant) {
        for mut flight in self.recoveries.finish(topic) {
            flight.restart(now);
            self.resend.push_back(flight);
        }
        self.batcher.unblock(topic, now);
        self.batcher.mark(topic, self.answers);
    }

    fn refused(&mut self, flight: Box<Flight>, error: Error, now: Instant) {
        if flight.probe {
            self.topic_is_there(flight.topic, now);
        }
        let Flight {
            lane, topic, batch, ..
        } = *flight;
        if batch.count() > 1 {
            return self.batcher.isolate(lane, batch);
        }
        self.outcome.rejected.push(Rejected {
            topic,
            error,
            message: batch.into_bytes(),
        });
        self.batcher.done(lane);
        self.release(topic, 1, now);
    }

    fn release(&mut self, topic: u32, messages: usize, now: Instant) {
        self.progress.completed(messages as u64, now);
        self.batcher.release(topic, messages, now);
    }

    fn fail(&mut self, flight: &Flight, error: Error) {
        self.terminal(Some(flight.topic), error, flight.batch.count() as u64);
    }

    fn terminal(&mut self, topic: Option<u32>, error: Error, messages: u64) {
        if self.failed {
            return;
        }
        self.failed = true;
        self.outcome.terminal = Some(Terminal {
            topic,
            error,
            messages,
        });
    }

    fn check_progress(&mut self, now: Instant) {
        if self.failed {
            return;
        }
        if let Some(waited) = self.progress.warning(now) {
            self.outcome.warning = Some(self.stall(waited));
        }
        if let Some(waited) = self.progress.failure(now) {
            let code = self
                .last_error
                .as_ref()
                .map_or(Code::DeadlineExceeded, Error::code);
            let text = format!("{}; publishProgressTimeout is over", self.stall(waited));
            let error = Error::new(code, text);
            let topic = self.batcher.waiting_topic().map(|(number, _)| number);
            self.terminal(topic, error, 0);
        }
    }

    fn stall(&self, waited: Duration) -> String {
        let waited = Duration::from_millis(waited.as_millis() as u64);
        let mut text = format!(
            "no publish completed for {waited:?}: {} messages in flight, {} requests under way, \
             {} waiting to be tried again, {} messages waiting for their topic, {} topics active",
            self.progress.outstanding(),
            self.running,
            self.delayed.len() + self.resend.len(),
            self.parked_messages(),
            self.active_topics(),
        );
        if let Some((_, name)) = self.batcher.waiting_topic() {
            text += &format!(", {name} among them");
        }
        if let Some(e) = &self.last_error {
            let resource = e.resource().unwrap_or("a topic");
            text += &format!(
                "; last answer {} on {resource}: {}",
                code_name(e.code()),
                e.message()
            );
        }
        text
    }
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
