//! Calls that describe, create, seek and delete. They are rare, so they use Google's generated messages and answer
//! in pairs of texts, the form in which settings cross the boundary.
//!
//! Every call is tried again on retryable codes until [`LIMIT`] is over.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use prost::Message;
use prost_types::Timestamp;
use tokio::time::Instant;
use tonic::Code;

use crate::connect::Connection;
use crate::error::Error;
use crate::grpc::{self, Routing};
use crate::lease::{MAX_LEASE, MIN_LEASE};
use crate::options::Options;
use crate::retry::{self, Backoff, BackoffPolicy};

/// All attempts at one call.
pub const LIMIT: Duration = Duration::from_secs(20);
/// One attempt.
const ATTEMPT: Duration = Duration::from_secs(10);
const BACKOFF: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(100),
    multiplier: 2.0,
    max: Duration::from_secs(5),
};

const GET_TOPIC: &str = "/google.pubsub.v1.Publisher/GetTopic";

macro_rules! subscriber {
    ($method:literal) => {
        concat!("/google.pubsub.v1.Subscriber/", $method)
    };
}

/// Where [`Admin::seek`] puts a subscription.
#[derive(Clone, Debug, PartialEq)]
pub enum Position {
    /// Everything published before counts as acked, everything at or after it as unacked, as far as it is retained.
    Time {
        /// Seconds since the epoch.
        seconds: i64,
        /// Nanoseconds of the second.
        nanos: i32,
    },
    /// The state that the snapshot of this resource name holds.
    Snapshot(String),
}

/// Admin calls over a connection. Its methods block the calling thread, which must not be one of the runtime's.
#[derive(Clone, Debug)]
pub struct Admin {
    connection: Connection,
}

impl Admin {
    /// Calls over `connection`.
    pub fn new(connection: Connection) -> Self {
        Self { connection }
    }

    /// What the service says of a subscription.
    ///
    /// Keys: `topic`, `ack-deadline-seconds`, `ordering`, `exactly-once`, `retain-acked-messages`, `detached`, and, where they
    /// are set, `filter`, `message-retention-ms`, `topic-message-retention-ms`, `dead-letter-topic`,
    /// `max-delivery-attempts`, `expiration-ttl-ms` (`0` = never).
    pub fn describe_subscription(&self, name: &str) -> Result<Vec<(String, String)>, Error> {
        let request = pb::GetSubscriptionRequest {
            subscription: name.to_owned(),
        };
        let found = self.call(
            subscriber!("GetSubscription"),
            "subscription",
            name,
            &request,
        )?;
        Ok(described(found))
    }

    /// Creates a subscription. Answers whether this call made it: `ALREADY_EXISTS` is success.
    ///
    /// Keys: `topic` (required), `ack-deadline-seconds`, `ordering`, `exactly-once`, `retain-acked-messages`, `filter`,
    /// `message-retention-ms`, `expiration-ttl-ms` (`0` = never), `dead-letter-topic`, `max-delivery-attempts`,
    /// `label.<name>`.
    pub fn create_subscription(&self, name: &str, settings: Options) -> Result<bool, Error> {
        let request = requested(name, settings)?;
        match self.call::<pb::Subscription>(
            subscriber!("CreateSubscription"),
            "name",
            name,
            &request,
        ) {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Code::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes a subscription. Answers whether there was one.
    pub fn delete_subscription(&self, name: &str) -> Result<bool, Error> {
        let request = pb::DeleteSubscriptionRequest {
            subscription: name.to_owned(),
        };
        match self.call::<()>(
            subscriber!("DeleteSubscription"),
            "subscription",
            name,
            &request,
        ) {
            Ok(()) => Ok(true),
            Err(error) if error.code() == Code::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Moves a subscription for all its consumers. The service does it in the background: messages of the old position
    /// may come for a while.
    pub fn seek(&self, name: &str, position: &Position) -> Result<(), Error> {
        let target = match position {
            Position::Time { seconds, nanos } => pb::seek_request::Target::Time(Timestamp {
                seconds: *seconds,
                nanos: *nanos,
            }),
            Position::Snapshot(snapshot) => pb::seek_request::Target::Snapshot(snapshot.clone()),
        };
        let request = pb::SeekRequest {
            subscription: name.to_owned(),
            target: Some(target),
        };
        self.call::<pb::SeekResponse>(subscriber!("Seek"), "subscription", name, &request)?;
        Ok(())
    }

    /// What the service says of a topic. Key, where it is set: `message-retention-ms`.
    pub fn describe_topic(&self, name: &str) -> Result<Vec<(String, String)>, Error> {
        let request = pb::GetTopicRequest {
            topic: name.to_owned(),
        };
        let topic: pb::Topic = self.call(GET_TOPIC, "topic", name, &request)?;
        let retention = topic.message_retention_duration.map(millis);
        Ok(retention
            .map(|millis| ("message-retention-ms".to_owned(), millis))
            .into_iter()
            .collect())
    }

    /// Makes a call about the resource `name`, which the request has in `field`.
    fn call<T: Message + Default>(
        &self,
        path: &'static str,
        field: &'static str,
        name: &str,
        request: &impl Message,
    ) -> Result<T, Error> {
        let request = Bytes::from(request.encode_to_vec());
        self.connection.runtime().block_on(async {
            let give_up = Instant::now() + LIMIT;
            let mut backoff = Backoff::new(BACKOFF);
            loop {
                let routing = Routing::new(field, name);
                let answer =
                    grpc::unary(&self.connection, path, routing, request.clone(), ATTEMPT).await;
                let error = match answer {
                    Ok(answer) => return decoded(answer, name),
                    Err(error) => error,
                };
                let wait = backoff.next(retry::random());
                if !error.is_retryable() || Instant::now() + wait >= give_up {
                    return Err(error);
                }
                tracing::debug!(resource = name, %error, "will ask again");
                tokio::time::sleep(wait).await;
            }
        })
    }
}

fn decoded<T: Message + Default>(answer: Bytes, name: &str) -> Result<T, Error> {
    T::decode(answer).map_err(|e| {
        Error::new(Code::Internal, format!("the answer cannot be read: {e}")).with_resource(name)
    })
}

fn described(found: pb::Subscription) -> Vec<(String, String)> {
    let mut pairs = vec![
        ("topic", found.topic),
        (
            "ack-deadline-seconds",
            found.ack_deadline_seconds.to_string(),
        ),
        ("ordering", found.enable_message_ordering.to_string()),
        (
            "exactly-once",
            found.enable_exactly_once_delivery.to_string(),
        ),
        (
            "retain-acked-messages",
            found.retain_acked_messages.to_string(),
        ),
        ("detached", found.detached.to_string()),
    ];
    if !found.filter.is_empty() {
        pairs.push(("filter", found.filter));
    }
    if let Some(retention) = found.message_retention_duration {
        pairs.push(("message-retention-ms", millis(retention)));
    }
    if let Some(retention) = found.topic_message_retention_duration {
        pairs.push(("topic-message-retention-ms", millis(retention)));
    }
    if let Some(policy) = found.dead_letter_policy {
        pairs.push(("dead-letter-topic", policy.dead_letter_topic));
        pairs.push((
            "max-delivery-attempts",
            policy.max_delivery_attempts.to_string(),
        ));
    }
    if let Some(expiration) = found.expiration_policy {
        let never = "0".to_owned();
        pairs.push(("expiration-ttl-ms", expiration.ttl.map_or(never, millis)));
    }
    pairs
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

fn requested(name: &str, mut settings: Options) -> Result<pb::Subscription, Error> {
    let deadline = settings.take_u64(
        "ack-deadline-seconds",
        MIN_LEASE / 1_000..=MAX_LEASE / 1_000,
    )?;
    let any = 0..=i64::MAX as u64;
    let retention = settings.take_millis("message-retention-ms", any.clone())?;
    let expiration = settings.take_millis("expiration-ttl-ms", any)?;
    let attempts = settings.take_u64("max-delivery-attempts", 5..=100)?;
    let dead_letter_policy = match (settings.take("dead-letter-topic"), attempts) {
        (Some(dead_letter_topic), attempts) => Some(pb::DeadLetterPolicy {
            dead_letter_topic,
            // 0 is the service's default.
            max_delivery_attempts: attempts.unwrap_or_default() as i32,
        }),
        (None, Some(_)) => {
            return Err(Error::option(
                "max-delivery-attempts",
                "there is no dead-letter-topic",
            ));
        }
        (None, None) => None,
    };
    let request = pb::Subscription {
        name: name.to_owned(),
        topic: settings.required("topic")?,
        ack_deadline_seconds: deadline.unwrap_or_default() as i32,
        enable_message_ordering: settings.take_bool("ordering")?.unwrap_or_default(),
        enable_exactly_once_delivery: settings.take_bool("exactly-once")?.unwrap_or_default(),
        retain_acked_messages: settings
            .take_bool("retain-acked-messages")?
            .unwrap_or_default(),
        filter: settings.take("filter").unwrap_or_default(),
        message_retention_duration: retention.map(duration),
        expiration_policy: expiration.map(|ttl| pb::ExpirationPolicy {
            ttl: (!ttl.is_zero()).then(|| duration(ttl)),
        }),
        dead_letter_policy,
        labels: settings
            .take_prefixed("label.")
            .into_iter()
            .collect::<HashMap<_, _>>(),
        ..pb::Subscription::default()
    };
    settings.finish()?;
    Ok(request)
}

fn duration(duration: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: duration.as_secs() as i64,
        nanos: duration.subsec_nanos() as i32,
    }
}

fn millis(duration: prost_types::Duration) -> String {
    (duration.seconds * 1_000 + i64::from(duration.nanos) / 1_000_000).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "projects/p/subscriptions/s";

    fn settings(pairs: &[(&str, &str)]) -> Options {
        Options::from_pairs(pairs.iter().map(|&(k, v)| (k.to_owned(), v.to_owned()))).unwrap()
    }

    #[test]
    fn what_is_requested_is_what_is_described() {
        let pairs = [
            ("topic", "projects/p/topics/t"),
            ("ack-deadline-seconds", "60"),
            ("ordering", "true"),
            ("exactly-once", "true"),
            ("retain-acked-messages", "true"),
            ("detached", "false"),
            ("filter", "attributes:a"),
            ("message-retention-ms", "600000"),
            ("dead-letter-topic", "projects/p/topics/dead"),
            ("max-delivery-attempts", "7"),
            ("expiration-ttl-ms", "0"),
        ];
        let request: Vec<_> = pairs
            .iter()
            .copied()
            .filter(|pair| pair.0 != "detached")
            .collect();
        let requested = requested(NAME, settings(&request)).unwrap();
        assert_eq!(requested.name, NAME);
        let described = described(requested);
        let described: Vec<_> = described
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        assert_eq!(described, pairs);
    }

    #[test]
    fn defaults_are_left_to_the_service() {
        let pairs = settings(&[("topic", "projects/p/topics/t"), ("label.team", "data")]);
        let expected = pb::Subscription {
            name: NAME.to_owned(),
            topic: "projects/p/topics/t".to_owned(),
            labels: HashMap::from([("team".to_owned(), "data".to_owned())]),
            ..pb::Subscription::default()
        };
        assert_eq!(requested(NAME, pairs).unwrap(), expected);
    }

    #[test]
    fn what_the_service_would_refuse_is_named() {
        let refused =
            |pairs: &[(&str, &str)]| requested(NAME, settings(pairs)).unwrap_err().to_string();
        assert!(refused(&[]).contains("topic"));
        let topic = ("topic", "projects/p/topics/t");
        for (key, value) in [
            ("ack-deadline-seconds", "9"),
            ("ack-deadline-seconds", "601"),
            ("max-delivery-attempts", "4"),
            ("max-delivery-attempts", "50"),
            ("unknown", "x"),
        ] {
            assert!(refused(&[topic, (key, value)]).contains(key), "{key}");
        }
    }
}
