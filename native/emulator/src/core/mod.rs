//! Topics, subscriptions, leases, order: everything Pub/Sub means, as a plain struct.
//!
//! No clock, no socket, no lock, no task: every method takes the time it happens at and returns what
//! comes of it. Whoever drives a [`State`] calls [`State::tick`] when [`State::next_timer`] has come,
//! and tells the consumers of the subscriptions that [`State::take_news`] names.

pub mod ack_id;
mod error;
pub mod filter;
mod incoming;
mod inspect;
mod lease;
pub mod limits;
mod message;
mod names;
mod ordered;
mod page;
mod pull;
mod settings;
mod snapshots;
mod stream;
mod subscription;
mod subscriptions;
mod topics;
mod unordered;
mod validate;

pub use error::{Error, Result};
pub use inspect::{MessageState, MessageView, SubscriptionView, TopicView};
pub use lease::LeaseId;
pub use message::Message;
pub use pull::{AckResult, StreamRef, check_stream_deadline};
pub use snapshots::Target;
pub use stream::{StreamId, StreamOptions};
pub use subscription::{Counts, Delivery};

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::{HashMap, HashSet};

use ack_id::AckIds;
use snapshots::Snapshot;
use subscription::Subscription;
use topics::Topic;

use crate::time::Time;

/// What a subscription's topic is called once the topic is deleted.
pub const DELETED_TOPIC: &str = "_deleted-topic_";

/// The whole state of the server.
#[derive(Debug, Default)]
pub struct State {
    topics: BTreeMap<String, Topic>,
    names: BTreeMap<String, u32>,
    subscriptions: HashMap<u32, Subscription>,
    snapshots: BTreeMap<String, Snapshot>,
    timers: BTreeSet<(Time, u32)>,
    timer_of: HashMap<u32, Time>,
    news: HashSet<u32>,
    last_subscription: u32,
    last_message: u64,
    ack_ids: AckIds,
    remember_acked: bool,
}

impl State {
    /// An empty server.
    pub fn new() -> Self {
        // Ids as long as the service's; the first digits tell restarts of a test apart.
        State {
            last_message: 1_000_000_000_000,
            ..State::default()
        }
    }

    /// From now on, ack ids have this many bytes.
    pub fn set_ack_id_len(&mut self, len: usize) {
        self.ack_ids = AckIds::with_len(len);
    }

    /// What ack ids are written with.
    pub fn ack_ids(&self) -> &AckIds {
        &self.ack_ids
    }

    /// Whether acked messages are remembered for [`State::messages`] although nobody retains them.
    pub fn remember_acked(&mut self, on: bool) {
        self.remember_acked = on;
        for subscription in self.subscriptions.values_mut() {
            subscription.remember_acked = on;
        }
    }

    /// Deletes everything. Ids are not used again.
    pub fn clear(&mut self) {
        let gone = self.subscriptions.keys().copied().collect();
        *self = State {
            last_subscription: self.last_subscription,
            last_message: self.last_message,
            ack_ids: self.ack_ids.clone(),
            remember_acked: self.remember_acked,
            ..State::default()
        };
        self.news = gone;
    }

    /// The subscriptions whose waiting consumers should look again, since the last call.
    pub fn take_news(&mut self) -> impl Iterator<Item = u32> + use<> {
        std::mem::take(&mut self.news).into_iter()
    }

    /// Nothing is due before this.
    pub fn next_timer(&self) -> Option<Time> {
        let snapshot = self.snapshots.values().map(|s| s.expires).min();
        self.timers
            .first()
            .map(|(at, _)| *at)
            .into_iter()
            .chain(snapshot)
            .min()
    }

    /// Does what is due at `now`.
    pub fn tick(&mut self, now: Time) {
        while let Some((at, id)) = self.timers.first().copied() {
            if at > now {
                break;
            }
            self.timers.pop_first();
            self.timer_of.remove(&id);
            let Some(subscription) = self.subscriptions.get_mut(&id) else {
                continue;
            };
            if subscription.expires_at().is_some_and(|at| at <= now) {
                let name = subscription.name.clone();
                self.remove_subscription(&name);
                continue;
            }
            self.with(id, now, |subscription| subscription.tick(now));
        }
        self.snapshots.retain(|_, snapshot| snapshot.expires > now);
        let topics = self.topics.values_mut();
        topics.for_each(|topic| topic.sweep(now));
    }

    fn subscription_id(&self, name: &str) -> Result<u32> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| Error::not_found(name))
    }

    fn subscription(&self, name: &str) -> Result<&Subscription> {
        let id = self.subscription_id(name)?;
        self.subscriptions
            .get(&id)
            .ok_or_else(|| Error::not_found(name))
    }

    /// Works on a subscription, then forwards, reports and plans what came of it.
    fn with<R>(
        &mut self,
        id: u32,
        now: Time,
        work: impl FnOnce(&mut Subscription) -> R,
    ) -> Option<R> {
        let subscription = self.subscriptions.get_mut(&id)?;
        if let Some(policy) = &subscription.settings.dead_letter {
            subscription.can_dead_letter = self.topics.contains_key(&policy.topic);
        }
        let result = work(subscription);
        self.settle(id, now);
        Some(result)
    }

    fn settle(&mut self, id: u32, now: Time) {
        let Some(subscription) = self.subscriptions.get_mut(&id) else {
            return;
        };
        if subscription.take_news() {
            self.news.insert(id);
        }
        let next = subscription.next_timer();
        let planned = self.timer_of.get(&id).copied();
        // A timer that comes too early finds nothing to do and plans itself anew.
        if let Some(next) = next
            && planned.is_none_or(|planned| next < planned)
        {
            if let Some(planned) = planned {
                self.timers.remove(&(planned, id));
            }
            self.timers.insert((next, id));
            self.timer_of.insert(id, next);
        }
        let forward = subscription.take_dead_lettered();
        if !forward.is_empty() {
            self.forward_dead_letters(id, forward, now);
        }
    }
}

#[cfg(test)]
mod tests;
