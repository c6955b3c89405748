//! A published message as the server keeps it.

use std::sync::Arc;

use bytes::Bytes;
use googleapis_tonic_google_pubsub_v1::google::pubsub::v1::PubsubMessage;
use prost::Message as _;

use crate::time::Time;

/// A published message, shared by all who hold it: the topic, its subscriptions, snapshots.
/// Kept in its encoded form, because that is how it leaves again.
#[derive(Debug)]
pub struct Message {
    /// Its number; the message id is its decimal form. Later messages have larger ones.
    pub seq: u64,
    /// When it was published.
    pub publish_time: Time,
    /// Its ordering key; `None` when it has none.
    pub ordering_key: Option<Box<str>>,
    /// The `PubsubMessage`, encoded, with its id and publish time.
    pub encoded: Bytes,
}

impl Message {
    /// Takes over what a publisher has sent.
    pub(crate) fn new(seq: u64, publish_time: Time, mut message: PubsubMessage) -> Arc<Self> {
        message.message_id = seq.to_string();
        message.publish_time = Some(publish_time.to_proto());
        // A copy of its own: a slice would hold on to the whole request.
        let encoded = message.encode_to_vec().into();
        let ordering_key =
            (!message.ordering_key.is_empty()).then(|| message.ordering_key.into_boxed_str());
        Arc::new(Message {
            seq,
            publish_time,
            ordering_key,
            encoded,
        })
    }

    /// Bytes it counts for in flow control.
    pub fn size(&self) -> usize {
        self.encoded.len()
    }

    /// The message in its decoded form.
    pub fn decode(&self) -> PubsubMessage {
        // It was encoded by `new`.
        PubsubMessage::decode(self.encoded.clone()).unwrap_or_default()
    }
}
