//! Messages as publishers send them: checked and taken over without being decoded.

use std::sync::Arc;

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1::PubsubMessage;
use prost::Message as _;

use super::error::{Error, Result};
use super::limits;
use super::message::Message;
use crate::time::Time;
use crate::wire::{Field, Fields, Malformed, put_varint};

// Field numbers of PubsubMessage.
const DATA: u64 = 1;
const ATTRIBUTES: u64 = 2;
const MESSAGE_ID: u64 = 3;
const PUBLISH_TIME: u64 = 4;
const ORDERING_KEY: u64 = 5;

/// One message of a Publish request, checked against every limit.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    encoded: &'a [u8],
    pub ordering_key: &'a str,
    /// It holds fields that only the server sets.
    has_server_fields: bool,
}

/// Checks all messages of a request; the error names the message and the field.
pub(crate) fn check_all<'a>(messages: &[&'a [u8]]) -> Result<Vec<Incoming<'a>>> {
    if messages.is_empty() {
        return Err(Error::invalid("messages", "the request holds no message"));
    }
    if messages.len() > limits::PUBLISH_MESSAGES {
        let problem = format!(
            "{} messages in one request, at most {} are allowed",
            messages.len(),
            limits::PUBLISH_MESSAGES
        );
        return Err(Error::invalid("messages", problem));
    }
    let checked = messages.iter().enumerate().map(|(i, encoded)| {
        Incoming::check(encoded)
            .map_err(|(field, problem)| Error::invalid(&format!("messages[{i}].{field}"), problem))
    });
    let checked = checked.collect::<Result<Vec<_>>>()?;
    // Every message of a request carries the same key, or none.
    if let Some(i) = checked
        .iter()
        .position(|m| m.ordering_key != checked[0].ordering_key)
    {
        return Err(Error::invalid(
            &format!("messages[{i}].ordering_key"),
            "all messages of a request must have the same ordering key",
        ));
    }
    Ok(checked)
}

type Problem = (&'static str, String);

fn too_long(what: &str, len: usize, max: usize) -> String {
    format!("{what}{len} bytes, at most {max} are allowed")
}

fn text<'a>(field: &'static str, bytes: &'a [u8]) -> std::result::Result<&'a str, Problem> {
    std::str::from_utf8(bytes).map_err(|_| (field, "is not valid UTF-8".to_owned()))
}

fn malformed(_: Malformed) -> Problem {
    ("data", "the message is not a protobuf message".to_owned())
}

impl<'a> Incoming<'a> {
    fn check(encoded: &'a [u8]) -> std::result::Result<Self, Problem> {
        let mut incoming = Incoming {
            encoded,
            ordering_key: "",
            has_server_fields: false,
        };
        let mut data = 0;
        let mut attributes = 0;
        for field in Fields::new(encoded) {
            match field.map_err(malformed)? {
                (DATA, Field::Bytes(bytes)) => data = bytes.len(),
                (ATTRIBUTES, Field::Bytes(entry)) => {
                    attributes += 1;
                    check_attribute(entry)?;
                }
                (ORDERING_KEY, Field::Bytes(key)) => {
                    incoming.ordering_key = text("ordering_key", key)?
                }
                (MESSAGE_ID | PUBLISH_TIME, _) => incoming.has_server_fields = true,
                _ => {}
            }
        }
        if data == 0 && attributes == 0 {
            return Err((
                "data",
                "a message needs data or at least one attribute".into(),
            ));
        }
        if data > limits::MESSAGE_DATA_BYTES {
            return Err(("data", too_long("", data, limits::MESSAGE_DATA_BYTES)));
        }
        if attributes > limits::ATTRIBUTES {
            let problem = format!(
                "{attributes} attributes, at most {} are allowed",
                limits::ATTRIBUTES
            );
            return Err(("attributes", problem));
        }
        let key = incoming.ordering_key.len();
        if key > limits::ORDERING_KEY_BYTES {
            return Err((
                "ordering_key",
                too_long("", key, limits::ORDERING_KEY_BYTES),
            ));
        }
        Ok(incoming)
    }

    /// A message that needs no check and has no id and time yet.
    pub fn trusted(encoded: &'a [u8], ordering_key: &'a str) -> Self {
        Incoming {
            encoded,
            ordering_key,
            has_server_fields: false,
        }
    }

    /// The message in its decoded form, for filters.
    pub fn decode(&self) -> PubsubMessage {
        PubsubMessage::decode(self.encoded).unwrap_or_default()
    }

    /// Takes the message over under its number and time.
    pub fn publish(&self, seq: u64, now: Time) -> Arc<Message> {
        let cleaned = self.has_server_fields.then(|| {
            let mut message = self.decode();
            message.message_id.clear();
            message.publish_time = None;
            message.encode_to_vec()
        });
        let encoded = cleaned.as_deref().unwrap_or(self.encoded);
        let id = seq.to_string();
        let time = now.to_proto();
        let mut all = Vec::with_capacity(encoded.len() + 2 + id.len() + 2 + time.encoded_len());
        // A copy of its own: a slice would hold on to the whole request.
        all.extend_from_slice(encoded);
        put_varint(&mut all, MESSAGE_ID << 3 | 2);
        put_varint(&mut all, id.len() as u64);
        all.extend_from_slice(id.as_bytes());
        put_varint(&mut all, PUBLISH_TIME << 3 | 2);
        put_varint(&mut all, time.encoded_len() as u64);
        // Only a full buffer can fail, and this one grows.
        let _ = time.encode(&mut all);
        Message::encoded(seq, now, self.ordering_key, all)
    }
}

fn check_attribute(entry: &[u8]) -> std::result::Result<(), Problem> {
    let (mut key, mut value) = ("", "");
    for field in Fields::new(entry) {
        match field.map_err(malformed)? {
            (1, Field::Bytes(bytes)) => key = text("attributes", bytes)?,
            (2, Field::Bytes(bytes)) => value = text("attributes", bytes)?,
            _ => {}
        }
    }
    let problem = if key.is_empty() {
        "an attribute's key is empty".to_owned()
    } else if key.len() > limits::ATTRIBUTE_KEY_BYTES {
        too_long("key of ", key.len(), limits::ATTRIBUTE_KEY_BYTES)
    } else if key.starts_with("goog") {
        format!("the key {key:?} starts with the reserved goog")
    } else if value.len() > limits::ATTRIBUTE_VALUE_BYTES {
        too_long(
            &format!("value of {key:?} of "),
            value.len(),
            limits::ATTRIBUTE_VALUE_BYTES,
        )
    } else {
        return Ok(());
    };
    Err(("attributes", problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_message_is_what_was_sent_with_its_id_and_time() {
        let sent = PubsubMessage {
            data: b"abc".to_vec().into(),
            attributes: [
                ("a".to_owned(), "1".to_owned()),
                ("b".to_owned(), String::new()),
            ]
            .into(),
            ordering_key: "k".into(),
            ..Default::default()
        };
        let forged = PubsubMessage {
            message_id: "7".into(),
            publish_time: Some(Time::from_secs(1).to_proto()),
            ..sent.clone()
        };
        let now = Time::from_nanos(1_800_000_000_000_000_001);
        for message in [&sent, &forged] {
            let encoded = message.encode_to_vec();
            let incoming = check_all(&[&encoded]).unwrap().remove(0);
            let published = incoming.publish(42, now);
            let expected = PubsubMessage {
                message_id: "42".into(),
                publish_time: Some(now.to_proto()),
                ..sent.clone()
            };
            assert_eq!(published.decode(), expected);
            assert_eq!(
                (published.seq, published.ordering_key.as_deref()),
                (42, Some("k"))
            );
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for (bytes, field) in [
            (&b"\xff"[..], "messages[0].data: "),
            (b"\x2a\x02\xff\xfe", "messages[0].ordering_key: "),
            (b"\x12\x04\x0a\x02\xff\xfe", "messages[0].attributes: "),
            (b"\x12\x03\x12\x01x", "messages[0].attributes: "),
        ] {
            let error = check_all(&[bytes]).unwrap_err();
            assert!(error.message.starts_with(field), "{error}");
        }
    }
}
