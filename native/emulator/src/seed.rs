//! Topics, subscriptions and messages to begin with, from a YAML or JSON file.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use serde::Deserialize;

use crate::core::State;
use crate::time::{Time, duration_to_proto};

/// What to create. Names are full resource names, or ids of the `project`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    /// The project of all names that are only ids.
    #[serde(default)]
    pub project: Option<String>,
    /// Topics.
    #[serde(default)]
    pub topics: Vec<TopicOrName>,
    /// Subscriptions.
    #[serde(default)]
    pub subscriptions: Vec<Subscription>,
    /// Messages, published last.
    #[serde(default)]
    pub messages: Vec<Message>,
}

/// A topic: its name, or more.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum TopicOrName {
    /// Only its name.
    Name(String),
    /// With its settings.
    Topic(Topic),
}

/// A topic with its settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// How long it retains messages.
    #[serde(default)]
    pub message_retention_seconds: Option<u64>,
    /// Its labels.
    #[serde(default)]
    pub labels: HashMap<String, String>,
}

/// A subscription with its settings. What is absent has the service's default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Subscription {
    /// Its name.
    pub name: String,
    /// Its topic.
    pub topic: String,
    /// Its ack deadline.
    pub ack_deadline_seconds: i32,
    /// Deliver in order of the ordering keys.
    pub enable_message_ordering: bool,
    /// Deliver exactly once.
    pub enable_exactly_once_delivery: bool,
    /// Keep acked messages to seek back to.
    pub retain_acked_messages: bool,
    /// How long messages are kept.
    pub message_retention_seconds: Option<u64>,
    /// Which messages to deliver.
    pub filter: String,
    /// Where messages go that fail too often.
    pub dead_letter_topic: Option<String>,
    /// How often a message is delivered before.
    pub max_delivery_attempts: i32,
    /// Shortest rest between deliveries.
    pub minimum_backoff_seconds: Option<u64>,
    /// Longest rest between deliveries.
    pub maximum_backoff_seconds: Option<u64>,
    /// Deleted after so long without use; 0 is never.
    pub expiration_seconds: Option<u64>,
    /// Its labels.
    pub labels: HashMap<String, String>,
}

/// A message to publish.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Message {
    /// The topic.
    pub topic: String,
    /// Its data as text.
    pub data: String,
    /// Its data in base64, instead of text.
    pub data_base64: Option<String>,
    /// Its attributes.
    pub attributes: HashMap<String, String>,
    /// Its ordering key.
    pub ordering_key: String,
    /// How often to publish it. Default: once.
    pub count: Option<u64>,
}

impl Message {
    /// In the form it is published in.
    pub(crate) fn to_proto(&self) -> Result<pb::PubsubMessage, String> {
        let data = match &self.data_base64 {
            None => self.data.clone().into_bytes(),
            Some(text) => {
                let decoded = base64::engine::general_purpose::STANDARD.decode(text);
                decoded.map_err(|e| format!("data_base64: {e}"))?
            }
        };
        Ok(pb::PubsubMessage {
            data: data.into(),
            attributes: self.attributes.clone(),
            ordering_key: self.ordering_key.clone(),
            ..Default::default()
        })
    }
}

impl Seed {
    /// Reads a file. JSON is YAML, too.
    pub fn read(path: &Path) -> std::io::Result<Seed> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
        serde_norway::from_str(&text).map_err(|e| {
            std::io::Error::new(
                std::io::ErrorKind::InvalidData,
                format!("{}: {e}", path.display()),
            )
        })
    }

    fn name(&self, field: &str, collection: &str, name: &str) -> Result<String, String> {
        if name.contains('/') {
            return Ok(name.to_owned());
        }
        match &self.project {
            Some(project) => Ok(format!("projects/{project}/{collection}/{name}")),
            None => Err(format!(
                "{field}: {name:?} is only an id, and no project is given"
            )),
        }
    }

    /// Creates everything, in order; stops at the first thing that is refused.
    pub(crate) fn apply(&self, state: &mut State, now: Time) -> Result<(), String> {
        let seconds = |s: u64| duration_to_proto(Duration::from_secs(s));
        for topic in &self.topics {
            let topic = match topic {
                TopicOrName::Name(name) => Topic {
                    name: name.clone(),
                    message_retention_seconds: None,
                    labels: HashMap::new(),
                },
                TopicOrName::Topic(topic) => topic.clone(),
            };
            let proto = pb::Topic {
                name: self.name("topics", "topics", &topic.name)?,
                message_retention_duration: topic.message_retention_seconds.map(seconds),
                labels: topic.labels,
                ..Default::default()
            };
            state
                .create_topic(proto)
                .map_err(|e| format!("topics: {e}"))?;
        }
        for s in &self.subscriptions {
            let topic = |name: &String| self.name("subscriptions", "topics", name);
            let dead_letter_policy = match &s.dead_letter_topic {
                None => None,
                Some(name) => Some(pb::DeadLetterPolicy {
                    dead_letter_topic: topic(name)?,
                    max_delivery_attempts: s.max_delivery_attempts,
                }),
            };
            let backs_off =
                s.minimum_backoff_seconds.is_some() || s.maximum_backoff_seconds.is_some();
            let proto = pb::Subscription {
                name: self.name("subscriptions", "subscriptions", &s.name)?,
                topic: topic(&s.topic)?,
                ack_deadline_seconds: s.ack_deadline_seconds,
                enable_message_ordering: s.enable_message_ordering,
                enable_exactly_once_delivery: s.enable_exactly_once_delivery,
                retain_acked_messages: s.retain_acked_messages,
                message_retention_duration: s.message_retention_seconds.map(seconds),
                filter: s.filter.clone(),
                dead_letter_policy,
                retry_policy: backs_off.then(|| pb::RetryPolicy {
                    minimum_backoff: s.minimum_backoff_seconds.map(seconds),
                    maximum_backoff: s.maximum_backoff_seconds.map(seconds),
                }),
                expiration_policy: s.expiration_seconds.map(|ttl| pb::ExpirationPolicy {
                    ttl: (ttl > 0).then(|| seconds(ttl)),
                }),
                labels: s.labels.clone(),
                ..Default::default()
            };
            state
                .create_subscription(proto, now)
                .map_err(|e| format!("subscriptions: {e}"))?;
        }
        for message in &self.messages {
            let topic = self.name("messages", "topics", &message.topic)?;
            let proto = message.to_proto()?;
            let mut left = message.count.unwrap_or(1);
            while left > 0 {
                let n = left.min(100);
                let batch = vec![proto.clone(); n as usize];
                state
                    .publish(&topic, &batch, now)
                    .map_err(|e| format!("messages: {e}"))?;
                left -= n;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Seed {
        serde_norway::from_str(text).unwrap()
    }

    #[test]
    fn yaml_and_json_say_the_same() {
        let yaml = "
project: demo
topics:
  - orders
  - name: projects/other/topics/returns
    message_retention_seconds: 3600
subscriptions:
  - name: orders-sub
    topic: orders
    ack_deadline_seconds: 60
    enable_message_ordering: true
    expiration_seconds: 0
messages:
  - topic: orders
    data: hello
    attributes: {a: '1'}
    count: 150
";
        let json = r#"{"project":"demo","topics":["orders",{"name":"projects/other/topics/returns",
            "message_retention_seconds":3600}],"subscriptions":[{"name":"orders-sub","topic":"orders",
            "ack_deadline_seconds":60,"enable_message_ordering":true,"expiration_seconds":0}],
            "messages":[{"topic":"orders","data":"hello","attributes":{"a":"1"},"count":150}]}"#;
        for text in [yaml, json] {
            let mut state = State::new();
            parse(text).apply(&mut state, Time::from_secs(1)).unwrap();
            let name = "projects/demo/subscriptions/orders-sub";
            let subscription = state.get_subscription(name).unwrap();
            assert_eq!(subscription.ack_deadline_seconds, 60);
            assert!(subscription.enable_message_ordering);
            assert_eq!(subscription.expiration_policy.unwrap().ttl, None);
            assert_eq!(state.counts(name).unwrap().backlog, 150);
            assert!(state.get_topic("projects/other/topics/returns").is_ok());
        }
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text| {
            parse(text)
                .apply(&mut State::new(), Time::from_secs(1))
                .unwrap_err()
        };
        assert!(error("topics: [orders]").contains("no project"));
        assert!(
            error("{project: demo, subscriptions: [{name: sub, topic: orders}]}")
                .contains("orders")
        );
        assert!(
            error("{project: demo, messages: [{topic: abc, data_base64: '*'}]}")
                .contains("data_base64")
        );
        assert!(serde_norway::from_str::<Seed>("{projct: demo}").is_err());
    }
}
