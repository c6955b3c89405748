//! The two calls that publishing needs.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use prost::Message as _;
use tonic::transport::Channel;

use super::options::TopicSettings;
use crate::connect::Connection;
use crate::error::{Code, Error};
use crate::grpc::{self, Message, Routing};
use crate::wire::{length_key, varint};

/// Creating a topic may take its time.
const CREATE_TIMEOUT: Duration = Duration::from_secs(60);

/// The service, or what a test puts in its place.
pub(super) trait Transport: Send + Sync + 'static {
    /// Publishes one encoded request of `messages` messages.
    fn publish(
        &self,
        topic: &str,
        request: Message,
        messages: usize,
        timeout: Duration,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Creates a topic.
    fn create(
        &self,
        topic: &str,
        settings: &TopicSettings,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A connection of its own to the service: what is uploaded must not hold up acknowledgements.
pub(super) struct Service {
    pub(super) connection: Connection,
    pub(super) channel: Channel,
}

impl Transport for Service {
    async fn publish(
        &self,
        topic: &str,
        request: Message,
        messages: usize,
        timeout: Duration,
    ) -> Result<(), Error> {
        let answer = grpc::unary_on(
            &self.connection,
            &self.channel,
            "/google.pubsub.v1.Publisher/Publish",
            Routing::new("topic", topic),
            request,
            timeout,
        )
        .await?;
        check_answer(&answer, messages).map_err(|e| e.with_resource(topic))
    }

    async fn create(&self, topic: &str, settings: &TopicSettings) -> Result<(), Error> {
        let request = create_request(topic, settings);
        grpc::unary(
            &self.connection,
            "/google.pubsub.v1.Publisher/CreateTopic",
            Routing::new("name", topic),
            request.encode_to_vec(),
            CREATE_TIMEOUT,
        )
        .await
        .map(|_| ())
    }
}

fn create_request(topic: &str, settings: &TopicSettings) -> pb::Topic {
    let storage = pb::MessageStoragePolicy {
        allowed_persistence_regions: settings.allowed_regions.clone(),
        enforce_in_transit: settings.enforce_in_transit,
    };
    pb::Topic {
        name: topic.to_owned(),
        labels: settings.labels.iter().cloned().collect(),
        message_storage_policy: (!settings.allowed_regions.is_empty()).then_some(storage),
        kms_key_name: settings.kms_key_name.clone().unwrap_or_default(),
        message_retention_duration: settings.message_retention.map(|retention| {
            prost_types::Duration {
                seconds: retention.as_secs() as i64,
                nanos: retention.subsec_nanos() as i32,
            }
        }),
        ..pb::Topic::default()
    }
}

/// Checks that a `PublishResponse` (field 1: one message id each) confirms every message.
fn check_answer(answer: &Bytes, messages: usize) -> Result<(), Error> {
    match count_ids(answer) {
        Some(confirmed) if confirmed == messages => Ok(()),
        Some(confirmed) => Err(wrong_answer(format!(
            "{confirmed} message ids for {messages} messages"
        ))),
        None => Err(wrong_answer("a malformed answer")),
    }
}

/// Not retryable: the messages may have been published.
fn wrong_answer(what: impl std::fmt::Display) -> Error {
    Error::new(Code::DataLoss, format!("the server sent {what}"))
}

fn count_ids(answer: &[u8]) -> Option<usize> {
    let (mut at, mut ids) = (0, 0);
    while at < answer.len() {
        if answer[at] != length_key(1) {
            // A field of a later version: let the generated code judge.
            return Some(pb::PublishResponse::decode(answer).ok()?.message_ids.len());
        }
        at += 1;
        let len = usize::try_from(varint(answer, &mut at)?).ok()?;
        at = at.checked_add(len).filter(|end| *end <= answer.len())?;
        ids += 1;
    }
    Some(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_must_confirm_every_message() {
        let answer = |ids: &[&str]| -> Bytes {
            let message_ids = ids.iter().map(|id| (*id).to_owned()).collect();
            pb::PublishResponse { message_ids }.encode_to_vec().into()
        };
        assert!(check_answer(&answer(&["1", "22", ""]), 3).is_ok());
        let error = check_answer(&answer(&["1"]), 2).unwrap_err();
        assert_eq!(
            error.message(),
            "the server sent 1 message ids for 2 messages"
        );
        assert!(!error.is_retryable());
        let mut later = answer(&["1"]).to_vec();
        later.extend_from_slice(&[0x18, 1]);
        assert!(check_answer(&later.into(), 1).is_ok());
        for broken in [&[0x0a][..], &[0x0a, 5, 1], &[0x0a, 255, 255], &[0xff]] {
            let error = check_answer(&Bytes::copy_from_slice(broken), 1).unwrap_err();
            assert_eq!(error.message(), "the server sent a malformed answer");
        }
    }

    #[test]
    fn topic_settings_arrive_in_the_request() {
        let settings = TopicSettings {
            message_retention: Some(Duration::from_millis(600_500)),
            kms_key_name: Some("k".into()),
            allowed_regions: vec!["r".into()],
            enforce_in_transit: true,
            labels: vec![("a".into(), "b".into())],
        };
        let request = create_request("projects/p/topics/t", &settings);
        assert_eq!(request.name, "projects/p/topics/t");
        assert_eq!(request.labels["a"], "b");
        assert_eq!(request.kms_key_name, "k");
        let policy = request.message_storage_policy.unwrap();
        assert_eq!(policy.allowed_persistence_regions, ["r"]);
        assert!(policy.enforce_in_transit);
        let retention = request.message_retention_duration.unwrap();
        assert_eq!((retention.seconds, retention.nanos), (600, 500_000_000));
        let plain = create_request("t", &TopicSettings::default());
        assert_eq!(
            plain,
            pb::Topic {
                name: "t".into(),
                ..pb::Topic::default()
            }
        );
    }
}
