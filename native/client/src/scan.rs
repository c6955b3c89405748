//! One pass over an encoded `StreamingPullResponse`: where everything is, without building anything.
//!
//! Field numbers are those of `google/pubsub/v1/pubsub.proto`. Unknown fields are passed over. Where a field that
//! should come once comes twice, the last one counts.

use crate::wire::{self, FIXED32, FIXED64, LENGTH, VARINT, length_key};
use bytes::Bytes;
use thiserror::Error;

/// A place in the scanned bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub at: u32,
    /// Number of bytes.
    pub len: u32,
}

impl Span {
    /// The bytes that this span names in `scanned`.
    #[inline]
    pub fn of(self, scanned: &[u8]) -> &[u8] {
        &scanned[self.at as usize..][..self.len as usize]
    }
}

/// Where the parts of one received message are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The id that acks, extends or gives back this delivery.
    pub ack_id: Span,
    /// The whole encoded `PubsubMessage`.
    pub message: Span,
    /// The payload; empty where the message has none.
    pub payload: Span,
    /// The id that the service gave to the message.
    pub message_id: Span,
    /// The ordering key; empty where the message has none.
    pub ordering_key: Span,
    /// Publish time: whole seconds since the epoch.
    pub publish_seconds: i64,
    /// Publish time: nanoseconds of the second.
    pub publish_nanos: i32,
    /// How often the message was delivered; 0 where the service does not count.
    pub delivery_attempt: i32,
    /// Number of attributes.
    pub attributes: u32,
}

impl Received {
    /// Publish time: whole seconds since the epoch, and nanoseconds.
    #[inline]
    pub fn published(&self) -> (i64, i32) {
        (self.publish_seconds, self.publish_nanos)
    }
}

/// What the service says about the subscription in a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// Acks of this subscription are answered id by id, and a delivery is ours only once it was confirmed.
    pub exactly_once: bool,
    /// Messages with an ordering key come in order.
    pub ordering: bool,
}

/// The bytes are not a `StreamingPullResponse`.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("not a StreamingPullResponse: {what} at byte {at}")]
pub struct ScanError {
    what: &'static str,
    at: usize,
}

/// Calls `each` for every received message of the response in `bytes`; spans count from the start of `bytes`.
#[inline]
pub fn scan(bytes: &[u8], mut each: impl FnMut(Received)) -> Result<(), ScanError> {
    if bytes.len() > u32::MAX as usize {
        return Err(error("more than 4 GiB", 0));
    }
    let mut fields = Fields::new(bytes, 0, bytes.len());
    while let Some(field) = fields.next()? {
        if field.key == length_key(1) {
            each(received(bytes, field.value)?);
        }
    }
    Ok(())
}

/// What a response holds beside its messages, found by hopping over these.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Number of received messages.
    pub messages: u32,
    /// Properties of the subscription, where the response has them.
    pub properties: Option<Properties>,
}

/// Reads the outline of a response that lies in several pieces. It touches a few bytes a message.
pub fn outline(frames: &[Bytes]) -> Result<Outline, ScanError> {
    let mut outline = Outline::default();
    let mut pieces = Pieces {
        frames,
        index: 0,
        at: 0,
        passed: 0,
    };
    while let Some(key) = pieces.key()? {
        match key {
            k if k == u64::from(length_key(1)) => {
                outline.messages += 1;
                let len = pieces.varint()?;
                pieces.skip(len)?;
            }
            k if k == u64::from(length_key(4)) => {
                let len = pieces.varint()?;
                let value = pieces.take(len)?;
                outline.properties = Some(properties(&value)?);
            }
            key => match (key & 7) as u8 {
                VARINT => {
                    pieces.varint()?;
                }
                FIXED64 => pieces.skip(8)?,
                LENGTH => {
                    let len = pieces.varint()?;
                    pieces.skip(len)?;
                }
                FIXED32 => pieces.skip(4)?,
                _ => return Err(error("wire type", pieces.position())),
            },
        }
    }
    Ok(outline)
}

#[inline]
fn received(bytes: &[u8], span: Span) -> Result<Received, ScanError> {
    let mut found = Received::default();
    let mut fields = Fields::within(bytes, span);
    while let Some(field) = fields.next()? {
        match field.key {
            k if k == length_key(1) => found.ack_id = field.value,
            k if k == length_key(2) => {
                let fresh = Received {
                    ack_id: found.ack_id,
                    delivery_attempt: found.delivery_attempt,
                    message: field.value,
                    ..Received::default()
                };
                found = message(bytes, fresh)?;
            }
            k if k == 3 << 3 | VARINT => found.delivery_attempt = field.int as i32,
            _ => {}
        }
    }
    Ok(found)
}

#[inline]
fn message(bytes: &[u8], mut found: Received) -> Result<Received, ScanError> {
    let mut fields = Fields::within(bytes, found.message);
    while let Some(field) = fields.next()? {
        match field.key {
            k if k == length_key(1) => found.payload = field.value,
            k if k == length_key(2) => found.attributes += 1,
            k if k == length_key(3) => found.message_id = field.value,
            k if k == length_key(4) => {
                let mut time = Fields::within(bytes, field.value);
                while let Some(part) = time.next()? {
                    match part.key {
                        k if k == 1 << 3 | VARINT => found.publish_seconds = part.int as i64,
                        k if k == 2 << 3 | VARINT => found.publish_nanos = part.int as i32,
                        _ => {}
                    }
                }
            }
            k if k == length_key(5) => found.ordering_key = field.value,
            _ => {}
        }
    }
    Ok(found)
}

fn properties(bytes: &[u8]) -> Result<Properties, ScanError> {
    let mut found = Properties::default();
    let mut fields = Fields::new(bytes, 0, bytes.len());
    while let Some(field) = fields.next()? {
        match field.key {
            k if k == 1 << 3 | VARINT => found.exactly_once = field.int != 0,
            k if k == 2 << 3 | VARINT => found.ordering = field.int != 0,
            _ => {}
        }
    }
    Ok(found)
}

/// One field: its key, and its value as an integer or as a place.
struct Field {
    /// The key's first byte, or 0 for a key of several bytes: no field of these messages has one.
    key: u8,
    value: Span,
    int: u64,
}

struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    #[inline(always)]
    fn new(bytes: &'a [u8], at: usize, end: usize) -> Self {
        Fields {
            bytes: &bytes[..end],
            at,
        }
    }

    #[inline(always)]
    fn within(bytes: &'a [u8], span: Span) -> Self {
        Self::new(bytes, span.at as usize, (span.at + span.len) as usize)
    }

    #[inline(always)]
    fn next(&mut self) -> Result<Option<Field>, ScanError> {
        let start = self.at;
        if start == self.bytes.len() {
            return Ok(None);
        }
        let key = wire::varint(self.bytes, &mut self.at).ok_or(error("key", start))?;
        let mut field = Field {
            key: if key < 0x80 { key as u8 } else { 0 },
            value: Span::default(),
            int: 0,
        };
        let len = match (key & 7) as u8 {
            LENGTH => wire::varint(self.bytes, &mut self.at).ok_or(error("length", start))?,
            VARINT => {
                field.int =
                    wire::varint(self.bytes, &mut self.at).ok_or(error("integer", start))?;
                return Ok(Some(field));
            }
            FIXED64 => 8,
            FIXED32 => 4,
            _ => return Err(error("wire type", start)),
        };
        if len > (self.bytes.len() - self.at) as u64 {
            return Err(error("length beyond the end", start));
        }
        field.value = Span {
            at: self.at as u32,
            len: len as u32,
        };
        self.at += len as usize;
        Ok(Some(field))
    }
}

#[cold]
const fn error(what: &'static str, at: usize) -> ScanError {
    ScanError { what, at }
}

/// A reader over bytes that lie in several pieces.
struct Pieces<'a> {
    frames: &'a [Bytes],
    index: usize,
    at: usize,
    passed: usize,
}

impl Pieces<'_> {
    fn position(&self) -> usize {
        self.passed + self.at
    }

    /// The rest of the current piece, empty only at the end of all of them.
    #[inline(always)]
    fn rest(&mut self) -> &[u8] {
        while let Some(frame) = self.frames.get(self.index) {
            if self.at < frame.len() {
                return &frame[self.at..];
            }
            self.passed += frame.len();
            self.at = 0;
            self.index += 1;
        }
        &[]
    }

    #[inline(always)]
    fn key(&mut self) -> Result<Option<u64>, ScanError> {
        if self.rest().is_empty() {
            return Ok(None);
        }
        self.varint().map(Some)
    }

    #[inline(always)]
    fn varint(&mut self) -> Result<u64, ScanError> {
        let rest = self.rest();
        if rest.len() >= wire::MAX_VARINT || rest.first().is_some_and(|&byte| byte < 0x80) {
            let mut used = 0;
            let value = wire::varint(rest, &mut used);
            self.at += used;
            return value.ok_or(error("integer", self.position()));
        }
        let mut value = 0u64;
        for i in 0..wire::MAX_VARINT {
            let position = self.position();
            let &byte = self.rest().first().ok_or(error("integer", position))?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(error("integer", self.position()))
    }

    #[inline(always)]
    fn skip(&mut self, mut len: u64) -> Result<(), ScanError> {
        while len > 0 {
            let position = self.position();
            let rest = self.rest().len() as u64;
            if rest == 0 {
                return Err(error("length beyond the end", position));
            }
            let step = rest.min(len);
            self.at += step as usize;
            len -= step;
        }
        Ok(())
    }

    fn take(&mut self, len: u64) -> Result<Vec<u8>, ScanError> {
        let mut out = Vec::new();
        while (out.len() as u64) < len {
            let position = self.position();
            let missing = (len - out.len() as u64) as usize;
            let rest = self.rest();
            if rest.is_empty() {
                return Err(error("length beyond the end", position));
            }
            let step = rest.len().min(missing);
            out.extend_from_slice(&rest[..step]);
            self.at += step;
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
    use proptest::prelude::*;
    use prost::Message as _;
    use std::collections::HashMap;

    prop_compose! {
        fn any_message()(
            ack_id in "[ -~]{0,300}",
            data in prop::collection::vec(any::<u8>(), 0..300),
            attributes in prop::collection::hash_map(".{0,20}", ".{0,20}", 0..4),
            message_id in "[0-9]{0,20}",
            seconds in any::<i64>(),
            nanos in any::<i32>(),
            ordering_key in ".{0,10}",
            delivery_attempt in any::<i32>(),
            has_time in any::<bool>(),
        ) -> pb::ReceivedMessage {
            pb::ReceivedMessage {
                ack_id,
                message: Some(pb::PubsubMessage {
                    data: data.into(),
                    attributes,
                    message_id,
                    publish_time: has_time.then_some(prost_types::Timestamp { seconds, nanos }),
                    ordering_key,
                }),
                delivery_attempt,
            }
        }
    }

    fn response(
        messages: Vec<pb::ReceivedMessage>,
        properties: Option<(bool, bool)>,
    ) -> pb::StreamingPullResponse {
        pb::StreamingPullResponse {
            received_messages: messages,
            subscription_properties: properties.map(|(exactly_once, ordering)| {
                pb::streaming_pull_response::SubscriptionProperties {
                    exactly_once_delivery_enabled: exactly_once,
                    message_ordering_enabled: ordering,
                }
            }),
            ..Default::default()
        }
    }

    fn decode(bytes: &[u8], found: &Received) -> pb::ReceivedMessage {
        let text = |span: Span| String::from_utf8(span.of(bytes).to_vec()).unwrap();
        let whole = pb::PubsubMessage::decode(found.message.of(bytes)).unwrap();
        assert_eq!(whole.attributes.len() as u32, found.attributes);
        pb::ReceivedMessage {
            ack_id: text(found.ack_id),
            message: Some(pb::PubsubMessage {
                data: Bytes::copy_from_slice(found.payload.of(bytes)),
                attributes: whole.attributes,
                message_id: text(found.message_id),
                publish_time: whole.publish_time.map(|_| prost_types::Timestamp {
                    seconds: found.publish_seconds,
                    nanos: found.publish_nanos,
                }),
                ordering_key: text(found.ordering_key),
            }),
            delivery_attempt: found.delivery_attempt,
        }
    }

    fn has_readable_properties(bytes: &[u8]) -> bool {
        let mut fields = Fields::new(bytes, 0, bytes.len());
        while let Ok(Some(field)) = fields.next() {
            if field.key == length_key(4) && super::properties(field.value.of(bytes)).is_err() {
                return false;
            }
        }
        true
    }

    /// Cuts `bytes` at the given places, which wrap around.
    fn pieces(bytes: &[u8], cuts: &[usize]) -> Vec<Bytes> {
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        places
            .windows(2)
            .map(|pair| Bytes::copy_from_slice(&bytes[pair[0]..pair[1]]))
            .collect()
    }

    proptest! {
        #[test]
        fn finds_what_the_generated_code_finds(
            messages in prop::collection::vec(any_message(), 0..6),
            properties: Option<(bool, bool)>,
            cuts in prop::collection::vec(any::<usize>(), 0..8),
        ) {
            let bytes = response(messages.clone(), properties).encode_to_vec();
            let mut found = Vec::new();
            scan(&bytes, |message| found.push(decode(&bytes, &message))).unwrap();
            prop_assert_eq!(&found, &messages);
            let outline = outline(&pieces(&bytes, &cuts)).unwrap();
            prop_assert_eq!(outline.messages as usize, messages.len());
            let properties = properties.map(|(exactly_once, ordering)| Properties { exactly_once, ordering });
            prop_assert_eq!(outline.properties, properties);
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            cuts in prop::collection::vec(any::<usize>(), 0..8),
        ) {
            let mut count = 0;
            let scanned = scan(&bytes, |message| {
                count += 1;
                for span in [message.ack_id, message.message, message.payload, message.message_id, message.ordering_key] {
                    assert!(span.of(&bytes).len() <= bytes.len());
                }
            });
            let outline = outline(&pieces(&bytes, &cuts));
            // The scan leaves the properties to the outline.
            if scanned.is_ok() && has_readable_properties(&bytes) {
                prop_assert_eq!(outline.unwrap().messages, count);
            }
        }

        #[test]
        fn a_cut_response_is_refused_or_shorter(messages in prop::collection::vec(any_message(), 1..4), cut: usize) {
            let bytes = response(messages.clone(), None).encode_to_vec();
            let cut = cut % bytes.len();
            let mut count = 0;
            if scan(&bytes[..cut], |_| count += 1).is_ok() {
                prop_assert!(count < messages.len());
            }
        }
    }

    #[test]
    fn fields_of_later_versions_are_passed_over() {
        let mut bytes = vec![
            0xfa, 0x01, 3, 1, 2, 3, 0x7d, 1, 2, 3, 4, 0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x78, 0x96,
            0x01,
        ];
        let message = pb::ReceivedMessage {
            ack_id: "a".into(),
            message: Some(pb::PubsubMessage {
                attributes: HashMap::from([("k".into(), "v".into())]),
                ..Default::default()
            }),
            delivery_attempt: 7,
        };
        bytes.extend(response(vec![message], None).encode_to_vec());
        let mut found = Vec::new();
        scan(&bytes, |message| found.push(message)).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].attributes, found[0].delivery_attempt), (1, 7));
        assert_eq!(found[0].ack_id.of(&bytes), b"a");
        assert_eq!(outline(&[Bytes::from(bytes)]).unwrap().messages, 1);
    }

    #[test]
    fn unreadable_properties_are_refused_by_the_outline() {
        let bytes = [length_key(4), 1, 0x0b];
        scan(&bytes, |_| ()).unwrap();
        let error = outline(&[Bytes::copy_from_slice(&bytes)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not a StreamingPullResponse: wire type at byte 0"
        );
    }

    #[test]
    fn groups_and_lengths_beyond_the_end_are_named() {
        assert_eq!(
            scan(&[0x0b], |_| ()).unwrap_err().to_string(),
            "not a StreamingPullResponse: wire type at byte 0"
        );
        assert_eq!(
            scan(&[0x0a, 5, 1], |_| ()).unwrap_err().to_string(),
            "not a StreamingPullResponse: length beyond the end at byte 0"
        );
    }
}
