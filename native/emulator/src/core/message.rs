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
    /// The message that is encoded, with its id and publish time, in `encoded`.
    pub(crate) fn encoded(seq: u64, publish_time: Time, key: &str, encoded: Vec<u8>) -> Arc<Self> {
        let ordering_key = (!key.is_empty()).then(|| key.into());
        Arc::new(Message {
            seq,
            publish_time,
            ordering_key,
            encoded: encoded.into(),
        })
    }

    /// An empty message, for tests of what holds messages.
    #[cfg(test)]
    pub(crate) fn numbered(seq: u64) -> Arc<Self> {
        Self::encoded(seq, Time::default(), "", Vec::new())
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
