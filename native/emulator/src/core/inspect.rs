//! Reading the state, for the control interface and for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::Result;
use super::message::Message;
use super::subscription::Counts;
use super::{State, names};
use crate::time::Time;

/// Where a message stands in a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageState {
    /// Waits to be delivered.
    Waiting,
    /// Delivered and leased.
    Outstanding,
    /// Acked.
    Acked,
}

/// A message as seen from one subscription.
#[derive(Clone, Debug)]
pub struct MessageView {
    /// Its number; the message id is the decimal form.
    pub message: u64,
    /// Where it stands.
    pub state: MessageState,
    /// How often it was delivered.
    pub attempts: u32,
    /// When its lease ends; only for outstanding messages.
    pub deadline: Option<Time>,
    /// Its current ack id; only for outstanding messages.
    pub ack_id: Option<String>,
    /// The message itself, unless it is acked and only remembered.
    pub content: Option<Arc<Message>>,
}

/// A subscription at a glance.
#[derive(Clone, Debug)]
pub struct SubscriptionView {
    /// Its name.
    pub name: String,
    /// Its topic.
    pub topic: String,
    /// Its numbers.
    pub counts: Counts,
    /// Open streams: client id, messages out, bytes out.
    pub streams: Vec<(String, u64, u64)>,
}

/// A topic at a glance.
#[derive(Clone, Debug)]
pub struct TopicView {
    /// Its name.
    pub name: String,
    /// Messages published, since the topic exists.
    pub published: u64,
    /// Messages it retains itself.
    pub retained: usize,
    /// The number of its subscriptions.
    pub subscriptions: usize,
}

impl State {
    /// The messages of a subscription that are known, oldest first. Acked ones are among them as far
    /// as they are retained or remembered (see [`State::remember_acked`]).
    pub fn messages(&self, subscription: &str) -> Result<Vec<MessageView>> {
        names::check("subscription", names::Kind::Subscription, subscription)?;
        let subscription = self.subscription(subscription)?;
        let view = |message, state, attempts| MessageView {
            message,
            state,
            attempts,
            deadline: None,
            ack_id: None,
            content: None,
        };
        let mut views = BTreeMap::new();
        for (seq, attempts) in subscription.history() {
            views.insert(seq, view(seq, MessageState::Acked, attempts));
        }
        for (seq, message) in subscription.acked_and_retained() {
            let acked = views
                .entry(seq)
                .or_insert_with(|| view(seq, MessageState::Acked, 0));
            acked.content = Some(message);
        }
        for (seq, queued) in subscription.unacked() {
            let waiting = view(seq, MessageState::Waiting, queued.attempts);
            views.insert(
                seq,
                MessageView {
                    content: Some(queued.message),
                    ..waiting
                },
            );
        }
        for (id, lease) in subscription.leases() {
            let seq = lease.message.seq;
            let outstanding = MessageView {
                deadline: Some(lease.deadline),
                ack_id: Some(self.ack_ids.format(subscription.id, id)),
                content: Some(lease.message.clone()),
                ..view(seq, MessageState::Outstanding, lease.attempts)
            };
            views.insert(seq, outstanding);
        }
        Ok(views.into_values().collect())
    }

    /// The numbers of one subscription.
    pub fn counts(&self, subscription: &str) -> Result<Counts> {
        Ok(self.subscription(subscription)?.counts())
    }

    /// All subscriptions, by name.
    pub fn subscription_views(&self) -> Vec<SubscriptionView> {
        let subscriptions = self
            .names
            .values()
            .filter_map(|id| self.subscriptions.get(id));
        let views = subscriptions.map(|s| SubscriptionView {
            name: s.name.clone(),
            topic: s.proto.topic.clone(),
            counts: s.counts(),
            streams: s
                .streams()
                .map(|(_, st)| (st.options.client_id.clone(), st.messages, st.bytes))
                .collect(),
        });
        views.collect()
    }

    /// All topics, by name.
    pub fn topic_views(&self) -> Vec<TopicView> {
        let views = self.topics.values().map(|t| TopicView {
            name: t.proto.name.clone(),
            published: t.published,
            retained: t.retained.len(),
            subscriptions: t.subscriptions.len(),
        });
        views.collect()
    }
}
