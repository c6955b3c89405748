//! One subscription: its backlog, its leases and the streams that consume it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1::Subscription as Proto;

use super::lease::{Lease, LeaseId, Leases, Place};
use super::message::Message;
use super::ordered::{Ordered, State, Taker, Verdict};
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

    // --- streams ---

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

    // --- delivery ---

    /// Takes what a stream may have now: at most `max_messages`, and no more once `max_bytes` are reached.
    pub fn take_for_stream(
        &mut self,
        id: StreamId,
        max_messages: usize,
        max_bytes: usize,
        now: Time,
    ) -> Vec<Delivery> {
        let Some(stream) = self.streams.get(id) else {
            return Vec::new();
        };
        if !stream.has_capacity() {
            return Vec::new();
        }
        let deadline = now.plus(stream.options.ack_deadline);
        let left = |max: Option<u64>, used| {
            max.map_or(usize::MAX, |max: u64| {
                usize::try_from(max.saturating_sub(used)).unwrap_or(usize::MAX)
            })
        };
        let mut limit = max_messages.min(left(stream.options.max_messages, stream.messages));
        let bytes = max_bytes.min(left(stream.options.max_bytes, stream.bytes));
        let takers = self.streams.with_capacity();
        if takers > 1 {
            // A fair share, so that the first to ask does not get everything.
            let ready = self.unordered.ready() + self.ordered.ready();
            limit = limit.min(ready.div_ceil(takers).max(1));
        }
        let deliveries = self.take(Taker::Stream(id), limit, bytes, deadline, now);
        if let Some(stream) = self.streams.get_mut(id) {
            stream.hungry = deliveries.is_empty();
        }
        deliveries
    }

    /// Takes what a unary pull may have now.
    pub fn take_for_pull(
        &mut self,
        max_messages: usize,
        max_bytes: usize,
        now: Time,
    ) -> Vec<Delivery> {
        self.last_active = now;
        let deadline = now.plus(self.settings.ack_deadline);
        self.take(Taker::Pull, max_messages, max_bytes, deadline, now)
    }

    fn take(
        &mut self,
        taker: Taker,
        limit: usize,
        max_bytes: usize,
        deadline: Time,
        now: Time,
    ) -> Vec<Delivery> {
        let mut out = Vec::new();
        let mut bytes = 0;
        let stream = match taker {
            Taker::Stream(id) => Some(id),
            Taker::Pull => None,
        };
        let oldest = self.oldest_kept(now);
        if self.settings.ordered {
            // Half of the room at most, when there are messages without a key as well.
            let keyed = if self.unordered.ready() > 0 {
                limit.div_ceil(2)
            } else {
                limit
            };
            let Subscription {
                ordered,
                leases,
                streams,
                ..
            } = self;
            while out.len() < keyed && bytes < max_bytes {
                let yields_to = |id: StreamId| {
                    streams
                        .get(id)
                        .is_some_and(|s| s.hungry && s.has_capacity())
                };
                let found = ordered.take(taker, keyed - out.len(), yields_to, |taken| {
                    if taken.message.publish_time < oldest {
                        return Verdict::Drop;
                    }
                    if bytes >= max_bytes {
                        return Verdict::Stop;
                    }
                    bytes += taken.message.size();
                    let lease = leases.grant(Lease {
                        message: taken.message.clone(),
                        attempts: taken.attempts,
                        deadline,
                        stream,
                        place: Place::Key {
                            key: taken.key,
                            position: taken.position,
                        },
                    });
                    out.push(Delivery {
                        lease,
                        message: taken.message,
                        attempt: taken.attempts,
                    });
                    Verdict::Lease(lease)
                });
                if !found {
                    break;
                }
            }
        }
        while out.len() < limit && bytes < max_bytes {
            let Some(Queued { message, attempts }) = self.unordered.pop() else {
                break;
            };
            if message.publish_time < oldest {
                continue;
            }
            bytes += message.size();
            let attempts = attempts + 1;
            let lease = self.leases.grant(Lease {
                message: message.clone(),
                attempts,
                deadline,
                stream,
                place: Place::Unordered,
            });
            out.push(Delivery {
                lease,
                message,
                attempt: attempts,
            });
        }
        if let Some(id) = stream {
            for delivery in &out {
                self.streams.sent(id, delivery.message.size());
            }
        }
        self.counts.delivered += out.len() as u64;
        out
    }

    /// Gives a delivery a new lease id; the old one is dead. For duplicates on demand.
    pub fn rename_lease(&mut self, id: LeaseId) -> Option<LeaseId> {
        let renamed = self.leases.rename(id)?;
        if let Some(Lease {
            place: Place::Key { key, position },
            ..
        }) = self.leases.get(renamed)
        {
            self.ordered.rename(*key, *position, renamed);
        }
        Some(renamed)
    }

    // --- answers ---

    /// Acks one delivery; false when its lease has ended.
    pub fn ack(&mut self, id: LeaseId) -> bool {
        let Some(lease) = self.leases.release(id) else {
            return false;
        };
        self.stream_released(&lease);
        self.counts.acked += 1;
        if let Place::Key { key, position } = lease.place {
            self.ordered.done(key, position);
            self.news |= self.ordered.ready() > 0;
        }
        if self.settings.retain_acked {
            self.retained.insert(lease.message.seq, lease.message);
        } else if self.remember_acked {
            if self.history.len() == HISTORY {
                self.history.pop_front();
            }
            self.history.push_back((lease.message.seq, lease.attempts));
        }
        true
    }

    /// Sets a new deadline; false when the lease has ended.
    pub fn extend(&mut self, id: LeaseId, deadline: Time) -> bool {
        self.leases.extend(id, deadline)
    }

    /// Gives a delivery back; false when its lease has ended.
    pub fn nack(&mut self, id: LeaseId, now: Time) -> bool {
        let Some(lease) = self.leases.release(id) else {
            return false;
        };
        self.counts.nacked += 1;
        self.give_back(lease, now);
        true
    }

    /// Ends a lease as if its deadline had passed; false when it has ended already.
    pub fn expire(&mut self, id: LeaseId, now: Time) -> bool {
        let Some(lease) = self.leases.release(id) else {
            return false;
        };
        self.counts.expired += 1;
        self.give_back(lease, now);
        true
    }

    fn stream_released(&mut self, lease: &Lease) {
        if let Some(stream) = lease.stream
            && self.streams.released(stream, lease.message.size())
        {
            self.news = true;
        }
    }

    fn give_back(&mut self, lease: Lease, now: Time) {
        self.stream_released(&lease);
        self.news = true;
        let Lease {
            message,
            attempts,
            place,
            ..
        } = lease;
        let limit = self.settings.dead_letter.as_ref().map(|d| d.attempts);
        if self.can_dead_letter && limit.is_some_and(|limit| attempts >= limit) {
            self.counts.dead_lettered += 1;
            if let Place::Key { key, position } = place {
                self.ordered.done(key, position);
            }
            self.dead_lettered.push((message, attempts));
            return;
        }
        let until = self
            .settings
            .retry
            .as_ref()
            .map(|retry| now.plus(retry.after(attempts)));
        match place {
            Place::Unordered => self
                .unordered
                .push_again(Queued { message, attempts }, until),
            Place::Key { key, position } => {
                for ended in self
                    .ordered
                    .replay(key, position, until, self.settings.exactly_once)
                {
                    if let Some(lease) = self.leases.release(ended) {
                        self.stream_released(&lease);
                    }
                }
            }
        }
        self.plan_sweep(now);
    }

    // --- time ---

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

    // --- reading and rewriting the state ---

    pub fn counts(&self) -> Counts {
        Counts {
            backlog: (self.unordered.len() + self.ordered.waiting()) as u64,
            outstanding: self.leases.len() as u64,
            ..self.counts
        }
    }

    /// Every message that is not acked, oldest first.
    pub fn unacked(&self) -> BTreeMap<u64, Queued> {
        let ordered = self.ordered.iter().filter(|e| e.state != State::Acked);
        let ordered = ordered.map(|e| Queued {
            message: e.message.clone(),
            attempts: e.attempts,
        });
        let leased = self
            .leases
            .iter()
            .filter(|(_, l)| l.place == Place::Unordered);
        let leased = leased.map(|(_, l)| Queued {
            message: l.message.clone(),
            attempts: l.attempts,
        });
        let waiting = self.unordered.iter().cloned();
        ordered
            .chain(leased)
            .chain(waiting)
            .map(|q| (q.message.seq, q))
            .collect()
    }

    pub fn leases(&self) -> impl Iterator<Item = (LeaseId, &Lease)> {
        self.leases.iter()
    }

    /// Acked messages that are retained: by the subscription, or to be replayed because an earlier one
    /// of their ordering key is not acked yet.
    pub fn acked_and_retained(&self) -> BTreeMap<u64, Arc<Message>> {
        let replayed = self.ordered.iter().filter(|_| !self.settings.exactly_once);
        let replayed = replayed
            .filter(|e| e.state == State::Acked)
            .map(|e| &e.message);
        let all = replayed.chain(self.retained.values());
        all.map(|m| (m.seq, m.clone())).collect()
    }

    /// Number and attempts of messages acked, as far as they are remembered.
    pub fn history(&self) -> impl Iterator<Item = (u64, u32)> {
        self.history.iter().copied()
    }

    /// Makes `unacked` the whole backlog and `acked` the retained rest. Leases of messages without
    /// order live on when their message is still unacked; all others end.
    pub fn rewrite(
        &mut self,
        mut unacked: BTreeMap<u64, Queued>,
        acked: BTreeMap<u64, Arc<Message>>,
        now: Time,
    ) {
        let leases: Vec<_> = self
            .leases
            .iter()
            .map(|(id, l)| (id, l.message.seq, l.place))
            .collect();
        for (id, seq, place) in leases {
            if place == Place::Unordered && unacked.remove(&seq).is_some() {
                continue;
            }
            if let Some(lease) = self.leases.release(id) {
                self.stream_released(&lease);
            }
        }
        self.unordered.clear();
        self.ordered.clear();
        for queued in unacked.into_values() {
            self.enqueue(queued);
        }
        self.retained = if self.settings.retain_acked {
            acked
        } else {
            BTreeMap::new()
        };
        self.news = true;
        self.plan_sweep(now);
    }

    /// Forgets all messages; leases and ack ids end.
    pub fn drop_messages(&mut self, now: Time) {
        self.rewrite(BTreeMap::new(), BTreeMap::new(), now);
        self.retained.clear();
    }
}
