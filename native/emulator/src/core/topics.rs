//! Topics: administration and publishing.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1::{PubsubMessage, Topic as Proto, topic};
use prost::Message as _;

use super::error::{Error, Result};
use super::incoming::{self, Incoming};
use super::message::Message;
use super::names::{self, Kind};
use super::page::page;
use super::subscription::DeadLettered;
use super::{DELETED_TOPIC, State, limits, validate};
use crate::time::Time;

#[derive(Debug)]
pub(crate) struct Topic {
    pub proto: Proto,
    pub retention: Option<Duration>,
    /// In order of their names' creation, by id.
    pub subscriptions: BTreeSet<u32>,
    /// What the topic itself retains, oldest first.
    pub retained: VecDeque<Arc<Message>>,
    pub published: u64,
}

impl Topic {
    pub fn sweep(&mut self, now: Time) {
        let Some(retention) = self.retention else {
            return;
        };
        let oldest = now.minus(retention);
        while self
            .retained
            .front()
            .is_some_and(|m| m.publish_time < oldest)
        {
            self.retained.pop_front();
        }
    }
}

fn check(proto: &mut Proto) -> Result<Option<Duration>> {
    names::check("topic.name", Kind::Topic, &proto.name)?;
    validate::labels("topic.labels", &proto.labels)?;
    if proto.schema_settings.is_some() {
        return Err(Error::unimplemented(
            "Schema validation (topic.schema_settings)",
        ));
    }
    if proto.ingestion_data_source_settings.is_some() {
        return Err(Error::unimplemented(
            "Ingestion (topic.ingestion_data_source_settings)",
        ));
    }
    if !proto.message_transforms.is_empty() {
        return Err(Error::unimplemented(
            "Message transformation (topic.message_transforms)",
        ));
    }
    proto.state = topic::State::Active.into();
    proto
        .message_retention_duration
        .as_ref()
        .map(|d| {
            validate::duration_in(
                "topic.message_retention_duration",
                d,
                limits::TOPIC_RETENTION,
            )
        })
        .transpose()
}

impl State {
    /// CreateTopic.
    pub fn create_topic(&mut self, mut proto: Proto) -> Result<Proto> {
        let retention = check(&mut proto)?;
        if self.topics.contains_key(&proto.name) {
            return Err(Error::already_exists(&proto.name));
        }
        let topic = Topic {
            proto: proto.clone(),
            retention,
            subscriptions: BTreeSet::new(),
            retained: VecDeque::new(),
            published: 0,
        };
        self.topics.insert(proto.name.clone(), topic);
        Ok(proto)
    }

    pub(super) fn topic(&self, name: &str) -> Result<&Topic> {
        self.topics.get(name).ok_or_else(|| Error::not_found(name))
    }

    /// GetTopic.
    pub fn get_topic(&self, name: &str) -> Result<Proto> {
        names::check("topic", Kind::Topic, name)?;
        Ok(self.topic(name)?.proto.clone())
    }

    /// UpdateTopic: sets the fields that `mask` names.
    pub fn update_topic(&mut self, update: &Proto, mask: &[String]) -> Result<Proto> {
        names::check("topic.name", Kind::Topic, &update.name)?;
        let topic = self
            .topics
            .get_mut(&update.name)
            .ok_or_else(|| Error::not_found(&update.name))?;
        let mut proto = topic.proto.clone();
        if mask.is_empty() {
            return Err(Error::invalid(
                "update_mask",
                "must name at least one field",
            ));
        }
        for path in mask {
            match path.as_str() {
                "labels" => proto.labels = update.labels.clone(),
                "message_retention_duration" => {
                    proto.message_retention_duration = update.message_retention_duration;
                }
                "message_storage_policy" => {
                    proto.message_storage_policy = update.message_storage_policy.clone()
                }
                "message_storage_policy.allowed_persistence_regions" => {
                    proto
                        .message_storage_policy
                        .get_or_insert_default()
                        .allowed_persistence_regions = update
                        .message_storage_policy
                        .as_ref()
                        .map(|p| p.allowed_persistence_regions.clone())
                        .unwrap_or_default();
                }
                "message_storage_policy.enforce_in_transit" => {
                    proto
                        .message_storage_policy
                        .get_or_insert_default()
                        .enforce_in_transit = update
                        .message_storage_policy
                        .as_ref()
                        .is_some_and(|p| p.enforce_in_transit);
                }
                "kms_key_name" => proto.kms_key_name = update.kms_key_name.clone(),
                "schema_settings" => proto.schema_settings = update.schema_settings.clone(),
                "ingestion_data_source_settings" => {
                    proto.ingestion_data_source_settings =
                        update.ingestion_data_source_settings.clone();
                }
                "message_transforms" => {
                    proto.message_transforms = update.message_transforms.clone()
                }
                "name" => {
                    return Err(Error::invalid(
                        "update_mask",
                        "the field name cannot be changed",
                    ));
                }
                other => {
                    return Err(Error::invalid(
                        "update_mask",
                        format!("a topic has no field {other:?}"),
                    ));
                }
            }
        }
        topic.retention = check(&mut proto)?;
        if topic.retention.is_none() {
            topic.retained.clear();
        }
        topic.proto = proto.clone();
        let subscriptions = topic.subscriptions.clone();
        for id in subscriptions {
            if let Some(subscription) = self.subscriptions.get_mut(&id) {
                subscription.proto.topic_message_retention_duration =
                    proto.message_retention_duration;
            }
        }
        Ok(proto)
    }

    /// ListTopics.
    pub fn list_topics(
        &self,
        project: &str,
        size: i32,
        token: &str,
    ) -> Result<(Vec<Proto>, String)> {
        let prefix = names::listing_prefix(Kind::Topic, project)?;
        let topics = self
            .topics
            .range(prefix.clone()..)
            .map(|(_, topic)| &topic.proto);
        let topics = topics
            .take_while(|proto| proto.name.starts_with(&prefix))
            .cloned();
        page(topics, |proto| &proto.name, size, token)
    }

    /// ListTopicSubscriptions.
    pub fn list_topic_subscriptions(
        &self,
        topic: &str,
        size: i32,
        token: &str,
    ) -> Result<(Vec<String>, String)> {
        names::check("topic", Kind::Topic, topic)?;
        let ids = &self.topic(topic)?.subscriptions;
        let mut names: Vec<_> = ids
            .iter()
            .filter_map(|id| self.subscriptions.get(id))
            .map(|s| s.name.clone())
            .collect();
        names.sort_unstable();
        page(names.into_iter(), |name| name, size, token)
    }

    /// ListTopicSnapshots.
    pub fn list_topic_snapshots(
        &self,
        topic: &str,
        size: i32,
        token: &str,
    ) -> Result<(Vec<String>, String)> {
        names::check("topic", Kind::Topic, topic)?;
        self.topic(topic)?;
        let names = self
            .snapshots
            .values()
            .filter(|s| s.proto.topic == topic)
            .map(|s| s.proto.name.clone());
        page(names, |name| name, size, token)
    }

    /// DeleteTopic: its subscriptions stay, without a topic.
    pub fn delete_topic(&mut self, name: &str) -> Result<()> {
        names::check("topic", Kind::Topic, name)?;
        let topic = self
            .topics
            .remove(name)
            .ok_or_else(|| Error::not_found(name))?;
        for id in topic.subscriptions {
            if let Some(subscription) = self.subscriptions.get_mut(&id) {
                subscription.proto.topic = DELETED_TOPIC.into();
                subscription.proto.topic_message_retention_duration = None;
            }
        }
        for snapshot in self
            .snapshots
            .values_mut()
            .filter(|s| s.proto.topic == name)
        {
            snapshot.proto.topic = DELETED_TOPIC.into();
        }
        Ok(())
    }

    /// Publish: all messages or none. Returns their numbers, whose decimal forms are the message ids.
    pub fn publish(
        &mut self,
        topic: &str,
        messages: &[PubsubMessage],
        now: Time,
    ) -> Result<Vec<u64>> {
        let encoded: Vec<_> = messages.iter().map(PubsubMessage::encode_to_vec).collect();
        let slices: Vec<_> = encoded.iter().map(Vec::as_slice).collect();
        self.publish_encoded(topic, &slices, now)
    }

    /// The same with encoded messages, which are not decoded.
    pub fn publish_encoded(
        &mut self,
        topic: &str,
        messages: &[&[u8]],
        now: Time,
    ) -> Result<Vec<u64>> {
        names::check("topic", Kind::Topic, topic)?;
        self.topic(topic)?;
        let messages = incoming::check_all(messages)?;
        let numbers = messages
            .iter()
            .map(|message| self.publish_one(topic, message, now))
            .collect();
        self.settle_topic(topic, now);
        Ok(numbers)
    }

    /// Gives one message to all who want it.
    fn publish_one(&mut self, topic: &str, incoming: &Incoming<'_>, now: Time) -> u64 {
        self.last_message += 1;
        let message = incoming.publish(self.last_message, now);
        let Some(entry) = self.topics.get_mut(topic) else {
            return self.last_message;
        };
        entry.published += 1;
        // Decoded for filters only.
        let mut decoded = None;
        for id in &entry.subscriptions {
            let Some(subscription) = self.subscriptions.get_mut(id) else {
                continue;
            };
            if let Some(filter) = &subscription.settings.filter {
                let decoded = decoded.get_or_insert_with(|| incoming.decode());
                if !filter.matches(&decoded.attributes) {
                    subscription.counts.filtered += 1;
                    continue;
                }
            }
            subscription.offer(message.clone(), now);
        }
        for snapshot in self.snapshots.values_mut() {
            if snapshot.proto.topic == topic {
                snapshot.later.push(message.clone());
            }
        }
        if entry.retention.is_some() {
            entry.retained.push_back(message);
        }
        self.last_message
    }

    fn settle_topic(&mut self, topic: &str, now: Time) {
        let Some(entry) = self.topics.get_mut(topic) else {
            return;
        };
        entry.sweep(now);
        for id in entry.subscriptions.clone() {
            self.settle(id, now);
        }
    }

    /// Publishes what a subscription gave up, with where it came from in its attributes.
    pub(super) fn forward_dead_letters(&mut self, id: u32, letters: Vec<DeadLettered>, now: Time) {
        let Some(subscription) = self.subscriptions.get(&id) else {
            return;
        };
        let Some(policy) = &subscription.settings.dead_letter else {
            return;
        };
        let topic = policy.topic.clone();
        let (project, short) = names::project_and_id(&subscription.name);
        let (project, short) = (project.to_owned(), short.to_owned());
        for letter in letters {
            let mut message = letter.message.decode();
            for (key, value) in [
                ("DeliveryCount", letter.attempts.to_string()),
                ("Subscription", short.clone()),
                ("SubscriptionProject", project.clone()),
                (
                    "TopicPublishTime",
                    letter.message.publish_time.to_proto().to_string(),
                ),
            ] {
                message
                    .attributes
                    .insert(format!("CloudPubSubDeadLetterSource{key}"), value);
            }
            // Not checked: the attributes above may well be too many.
            message.message_id.clear();
            message.publish_time = None;
            let encoded = message.encode_to_vec();
            let incoming = Incoming::trusted(&encoded, &message.ordering_key);
            self.publish_one(&topic, &incoming, now);
        }
        self.settle_topic(&topic, now);
    }
}
