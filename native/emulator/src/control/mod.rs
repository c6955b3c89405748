//! The control interface: make things go wrong, move the time, look inside.
//!
//! [`Control`] is the Rust side; [`http`] serves the same as HTTP/JSON.

pub mod http;
mod json;
mod page;

use std::sync::Arc;
use std::time::Duration;

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1::PubsubMessage;

use crate::clock::Clock;
use crate::core::ack_id::{MAX_LEN, MIN_LEN};
use crate::core::{self, Counts, MessageView, SubscriptionView, TopicView};
use crate::fault::{Action, Faults, Rule};
use crate::record::{RecordLimits, Recorder};
use crate::seed::Seed;
use crate::server::{Command, Connections};
use crate::service::{Hub, Method, OpenStreams, Permissions, ResponseLimits};

/// Controls one server. Cheap to clone; all methods may be called from any thread and take effect
/// before they return.
#[derive(Clone, Debug)]
pub struct Control {
    hub: Arc<Hub>,
    faults: Arc<Faults>,
    recorder: Arc<Recorder>,
    streams: Arc<OpenStreams>,
    limits: Arc<ResponseLimits>,
    permissions: Arc<Permissions>,
    connections: Arc<Connections>,
}

/// The largest limit of a response's bytes. One message may still go beyond.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// The id of the rule that [`Control::freeze_acks`] adds.
const FREEZE: &str = "freeze-acks";

impl Control {
    pub(crate) fn new(service: &crate::service::PubSub, connections: Arc<Connections>) -> Self {
        Control {
            hub: service.hub.clone(),
            faults: service.faults.clone(),
            recorder: service.recorder.clone(),
            streams: service.streams.clone(),
            limits: service.limits.clone(),
            permissions: service.permissions.clone(),
            connections,
        }
    }

    /// The fault rules.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// What each bearer token may do.
    pub fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    /// The record of requests.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The clock. After moving it by hand, [`Control::advance`] has done what was due; this has not.
    pub fn clock(&self) -> &Clock {
        self.hub.clock()
    }

    /// Moves the time forward and does what is due by then: leases end, rests are over.
    pub fn advance(&self, by: Duration) {
        self.hub.clock().advance(by);
        self.hub.tick();
    }

    /// Switches the record of requests on or off, and with it the memory of acked messages.
    pub fn record(&self, on: bool, limits: RecordLimits) {
        self.recorder.set(on, limits);
        self.hub.with(|state, _| state.remember_acked(on));
    }

    /// Holds back Acknowledge calls, of one subscription or all: they are neither done nor answered
    /// until [`Control::release_acks`].
    pub fn freeze_acks(&self, subscription: Option<&str>) -> Result<(), String> {
        let rule = Rule {
            id: FREEZE.into(),
            resource: subscription.map(str::to_owned),
            ..Rule::new(Method::Acknowledge, Action::Hold)
        };
        self.faults.add(rule).map(drop)
    }

    /// Lets held Acknowledge calls go on; false when none were frozen.
    pub fn release_acks(&self) -> bool {
        self.faults.remove(FREEZE)
    }

    /// Does something to the open streams of a subscription, or to all; returns how many there are.
    pub fn act_on_streams(&self, subscription: Option<&str>, action: &Action) -> usize {
        self.streams.act(subscription, action)
    }

    /// Does something to all open connections; returns how many there are.
    pub fn act_on_connections(&self, command: Command) -> usize {
        self.connections.command_all(command)
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        self.connections.count()
    }

    /// Ends leases as if their deadlines had passed, so that the messages are delivered again under
    /// new ack ids: of the messages with these ids, or of all. Returns how many ended.
    pub fn redeliver(&self, subscription: &str, messages: Option<&[u64]>) -> core::Result<usize> {
        self.hub
            .with(|state, now| state.expire_leases(subscription, messages, now))
    }

    /// From now on, ack ids have this many bytes.
    pub fn set_ack_id_len(&self, len: usize) -> Result<(), String> {
        if !(MIN_LEN..=MAX_LEN).contains(&len) {
            return Err(format!(
                "length: {len} is not within {MIN_LEN} and {MAX_LEN}"
            ));
        }
        self.hub.with(|state, _| state.set_ack_id_len(len));
        Ok(())
    }

    /// From now on, a response on a stream holds at most `messages` messages, and none is added once
    /// it has `bytes` bytes. Defaults: 1,000 and 512 KiB.
    pub fn set_response_limits(&self, messages: usize, bytes: usize) -> Result<(), String> {
        let max = MAX_RESPONSE_BYTES;
        if messages == 0 {
            return Err("messages: must be at least 1".into());
        }
        if !(1..=max).contains(&bytes) {
            return Err(format!("bytes: {bytes} is not within 1 and {max}"));
        }
        self.limits.set(messages, bytes);
        Ok(())
    }

    /// Publishes messages; returns their ids.
    pub fn publish(&self, topic: &str, messages: Vec<PubsubMessage>) -> core::Result<Vec<u64>> {
        self.hub
            .with(|state, now| state.publish(topic, &messages, now))
    }

    /// Creates topics, subscriptions and messages.
    pub fn seed(&self, seed: &Seed) -> Result<(), String> {
        self.hub.with(|state, now| seed.apply(state, now))
    }

    /// The messages of a subscription, see [`core::State::messages`].
    pub fn messages(&self, subscription: &str) -> core::Result<Vec<MessageView>> {
        self.hub.with(|state, _| state.messages(subscription))
    }

    /// The numbers of a subscription.
    pub fn counts(&self, subscription: &str) -> core::Result<Counts> {
        self.hub.with(|state, _| state.counts(subscription))
    }

    /// All subscriptions, by name.
    pub fn subscriptions(&self) -> Vec<SubscriptionView> {
        self.hub.with(|state, _| state.subscription_views())
    }

    /// All topics, by name.
    pub fn topics(&self) -> Vec<TopicView> {
        self.hub.with(|state, _| state.topic_views())
    }

    /// Deletes all topics, subscriptions, snapshots, rules, roles and records. Open streams end with
    /// `NOT_FOUND`, held calls go on, responses have their usual size. The clock stays as it is.
    pub fn reset(&self) {
        self.faults.clear();
        self.recorder.clear();
        self.permissions.clear();
        self.limits
            .set(ResponseLimits::MESSAGES, ResponseLimits::BYTES);
        self.hub.with(|state, _| state.clear());
    }
}
