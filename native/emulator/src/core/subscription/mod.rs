//! One subscription: its backlog, its leases and the streams that consume it.

mod answer;
mod delivery;
mod rewrite;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1::Subscription as Proto;

use super::lease::{LeaseId, Leases};
use super::message::Message;
use super::ordered::Ordered;
use super::settings::Settings;
use super::stream::{Stream, StreamId, StreamOptions, Streams};
use super::unordered::{Queued, Unordered};
use crate::time::Time;

/// One message on its way to a subscriber.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// What to ack it by.
    pub lease: LeaseId,
    /// The message.
    pub message: Arc<Message>,
    /// How often it was delivered, this time included.
    pub attempt: u32,
}

/// How many messages there were and are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Waiting to be delivered.
    pub backlog: u64,
    /// Leased.
    pub outstanding: u64,
    /// Acked, since the subscription exists.
    pub acked: u64,
    /// Delivered, each time counted.
    pub delivered: u64,
    /// Nacked.
    pub nacked: u64,
    /// Leases that ended without an answer.
    pub expired: u64,
    /// Forwarded to the dead-letter topic.
    pub dead_lettered: u64,
    /// Acked by the filter.
    pub filtered: u64,
}

/// A message that is to be forwarded to the dead-letter topic.
pub(crate) struct DeadLettered {
    pub message: Arc<Message>,
    pub attempts: u32,
}

/// How many acked messages are remembered for the control interface.
const HISTORY: usize = 100_000;

/// A subscription. Time comes in as an argument; what must happen outside of it is left in
/// `dead_lettered` and `news` for the owner to fetch after each call.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub id: u32,
    pub name: String,
    pub proto: Proto,
    pub settings: Settings,
    pub last_active: Time,
    pub counts: Counts,
    /// Whether the dead-letter topic exists, as the owner knows.
    pub can_dead_letter: bool,
    /// Whether acked messages are remembered although nobody asked to retain them.
    pub remember_acked: bool,
    unordered: Unordered,
    ordered: Ordered,
    leases: Leases,
    streams: Streams,
    retained: BTreeMap<u64, Arc<Message>>,
    history: VecDeque<(u64, u32)>,
    dead_lettered: Vec<(Arc<Message>, u32)>,
    news: bool,
    next_sweep: Option<Time>,
}

impl Subscription {
    pub fn new(id: u32, proto: Proto, settings: Settings, now: Time) -> Self {
        Subscription {
            id,
            name: proto.name.clone(),
            proto,
            settings,
            last_active: now,
            counts: Counts::default(),
            can_dead_letter: false,
            remember_acked: false,
            unordered: Unordered::default(),
            ordered: Ordered::default(),
            leases: Leases::default(),
            streams: Streams::default(),
            retained: BTreeMap::new(),
            history: VecDeque::new(),
            dead_lettered: Vec::new(),
            news: false,
            next_sweep: None,
        }
    }

    /// What is to be forwarded since the last call.
    pub fn take_dead_lettered(&mut self) -> Vec<DeadLettered> {
        self.dead_lettered
            .drain(..)
            .map(|(message, attempts)| DeadLettered { message, attempts })
            .collect()
    }

    /// Whether somebody who waits may find a message since the last call.
    pub fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    /// Adds a published message that passed the filter.
    pub fn offer(&mut self, message: Arc<Message>, now: Time) {
        self.enqueue(Queued {
            message,
            attempts: 0,
        });
        self.plan_sweep(now);
        self.news = true;
    }

    fn enqueue(&mut self, queued: Queued) {
        match &queued.message.ordering_key {
            Some(key) if self.settings.ordered => {
                let message = queued.message.clone();
                self.ordered.push(key, message, queued.attempts);
            }
            _ => self.unordered.push(queued),
        }
    }

    pub fn open_stream(&mut self, options: StreamOptions, now: Time) -> StreamId {
        self.last_active = now;
        let id = self.streams.open(options);
        self.ordered.open_stream(id);
        id
    }

    /// Closes a stream. What it holds stays leased until acked, nacked or expired.
    pub fn close_stream(&mut self, id: StreamId, now: Time) {
        self.last_active = now;
        self.streams.close(id);
        self.ordered.close_stream(id);
        self.news = true;
    }

    pub fn stream_deadline(&mut self, id: StreamId, deadline: Duration) {
        if let Some(stream) = self.streams.get_mut(id) {
            stream.options.ack_deadline = deadline;
        }
    }

    pub fn streams(&self) -> impl Iterator<Item = (StreamId, &Stream)> {
        self.streams.iter()
    }

    fn oldest_kept(&self, now: Time) -> Time {
        now.minus(self.settings.retention)
    }

    fn plan_sweep(&mut self, now: Time) {
        if self.next_sweep.is_none() {
            // Often enough that a tenth more than the retention is held at most.
            self.next_sweep = Some(now.plus(self.settings.retention / 10));
        }
    }

    /// Does what is due: ends leases and rests, drops what has outlived its retention.
    pub fn tick(&mut self, now: Time) {
        while let Some((_, lease)) = self.leases.pop_expired(now) {
            self.counts.expired += 1;
            self.give_back(lease, now);
        }
        self.news |= self.unordered.wake(now);
        self.news |= self.ordered.wake(now);
        if self.next_sweep.is_some_and(|at| at <= now) {
            let oldest = self.oldest_kept(now);
            self.unordered.retain(|m| m.publish_time >= oldest);
            self.ordered.retain(|m| m.publish_time >= oldest);
            self.retained.retain(|_, m| m.publish_time >= oldest);
            self.next_sweep = None;
            if self.unordered.len() + self.ordered.waiting() + self.retained.len() > 0 {
                self.plan_sweep(now);
            }
        }
    }

    /// When it expires for want of use.
    pub fn expires_at(&self) -> Option<Time> {
        let used = self.streams.len() > 0;
        self.settings
            .expiration
            .filter(|_| !used)
            .map(|ttl| self.last_active.plus(ttl))
    }

    /// Nothing is due before this.
    pub fn next_timer(&self) -> Option<Time> {
        [
            self.leases.next_deadline(),
            self.unordered.next_wake(),
            self.ordered.next_wake(),
            self.next_sweep,
            self.expires_at(),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
