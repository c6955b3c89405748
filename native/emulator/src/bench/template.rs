//! A StreamingPullResponse that is encoded once and made new by writing over its ids and times.

use bytes::BytesMut;

use crate::server::grpc;
use crate::time::Time;
use crate::wire::put_varint;

/// What the messages of a bench server look like.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Bytes of data of each message.
    pub payload_bytes: usize,
    /// Attributes of each message.
    pub attributes: usize,
    /// Bytes of each ack id.
    pub ack_id_bytes: usize,
    /// Number of ordering keys over which the messages are spread; 0 for none.
    pub ordering_keys: usize,
    /// Messages of one response, at most; about a megabyte ends it earlier.
    pub response_messages: usize,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            payload_bytes: 1024,
            attributes: 2,
            ack_id_bytes: 180,
            ordering_keys: 0,
            response_messages: 1000,
        }
    }
}

/// Digits of a message id, and of the part of an ack id that is written over.
const ID_DIGITS: usize = 16;
/// Encoded bytes of one response, about.
const RESPONSE_BYTES: usize = 1 << 20;

/// The encoded response and where in it each message has what.
#[derive(Clone, Debug)]
pub(super) struct Template {
    /// With the gRPC prefix.
    pub bytes: Vec<u8>,
    messages: Vec<Offsets>,
}

#[derive(Clone, Copy, Debug)]
struct Offsets {
    ack_id: usize,
    message_id: usize,
    publish_time: usize,
    end: usize,
}

impl Template {
    /// A response of at most `max` messages.
    pub fn new(shape: &Shape, max: usize) -> Self {
        let mut bytes = vec![0; grpc::PREFIX];
        let mut messages = Vec::new();
        let max = max.min(shape.response_messages).max(1);
        while messages.len() < max && (messages.is_empty() || bytes.len() < RESPONSE_BYTES) {
            messages.push(append(&mut bytes, shape, messages.len()));
        }
        let mut template = Template { bytes, messages };
        template.set_len();
        template
    }

    fn set_len(&mut self) {
        let len = self.bytes.len() - grpc::PREFIX;
        let mut prefix = BytesMut::new();
        grpc::put_prefix(&mut prefix, len);
        self.bytes[..grpc::PREFIX].copy_from_slice(&prefix);
    }

    /// How many messages it holds.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Keeps only the first `n` messages.
    pub fn truncate(&mut self, n: usize) {
        self.messages.truncate(n);
        self.bytes
            .truncate(self.messages.last().map_or(grpc::PREFIX, |m| m.end));
        self.set_len();
    }

    /// Writes into `copy`, which has the bytes of this template, the ids from `first` on and the time.
    pub fn renew(&self, copy: &mut [u8], first: u64, now: Time) {
        let mut time = [0; TIME_BYTES];
        write_time(&mut time, now);
        for (message, id) in self.messages.iter().zip(first..) {
            write_hex(&mut copy[message.ack_id..message.ack_id + ID_DIGITS], id);
            write_decimal(
                &mut copy[message.message_id..message.message_id + ID_DIGITS],
                id,
            );
            copy[message.publish_time..message.publish_time + TIME_BYTES].copy_from_slice(&time);
        }
    }
}

/// Appends one message as `StreamingPullResponse.received_messages`.
fn append(bytes: &mut Vec<u8>, shape: &Shape, index: usize) -> Offsets {
    fn field(number: u64, content: &[u8], out: &mut Vec<u8>) -> usize {
        put_varint(out, number << 3 | 2);
        put_varint(out, content.len() as u64);
        out.extend_from_slice(content);
        out.len() - content.len()
    }
    // PubsubMessage: the fields in the order of their numbers, as other servers write them.
    let mut message = Vec::new();
    // Text, so that a client that makes a string of it meets no invalid character.
    let data: Vec<u8> = (0..shape.payload_bytes)
        .map(|i| b'a' + ((i * 7 + index) % 26) as u8)
        .collect();
    field(1, &data, &mut message);
    for i in 0..shape.attributes {
        let mut entry = Vec::new();
        field(1, format!("attribute-{i}").as_bytes(), &mut entry);
        field(2, format!("value-{index:06}").as_bytes(), &mut entry);
        field(2, &entry, &mut message);
    }
    let message_id = field(3, &[b'0'; ID_DIGITS], &mut message);
    let publish_time = field(4, &[0; TIME_BYTES], &mut message);
    if shape.ordering_keys > 0 {
        field(
            5,
            format!("key-{:06}", index % shape.ordering_keys).as_bytes(),
            &mut message,
        );
    }
    let mut received = Vec::new();
    let filler = b"-_QV5AwsrUVAfAw8XEFBbS1kDT1VYAA";
    let ack_id: Vec<u8> = [b'0'; ID_DIGITS]
        .into_iter()
        .chain(filler.iter().copied().cycle())
        .take(shape.ack_id_bytes.max(ID_DIGITS))
        .collect();
    let ack_id = field(1, &ack_id, &mut received);
    let inner = field(2, &message, &mut received);
    let start = field(1, &received, bytes);
    Offsets {
        ack_id: start + ack_id,
        message_id: start + inner + message_id,
        publish_time: start + inner + publish_time,
        end: bytes.len(),
    }
}

/// Bytes of a `Timestamp` whose two numbers take five bytes each, whatever their values.
const TIME_BYTES: usize = 12;

fn write_time(out: &mut [u8; TIME_BYTES], time: Time) {
    let proto = time.to_proto();
    for (at, (number, value)) in [(1u8, proto.seconds as u64), (2, proto.nanos as u64)]
        .into_iter()
        .enumerate()
    {
        let out = &mut out[at * 6..at * 6 + 6];
        out[0] = number << 3;
        for i in 0..5 {
            let more = if i < 4 { 0x80 } else { 0 };
            out[1 + i] = (value >> (7 * i)) as u8 & 0x7f | more;
        }
    }
}

/// Writes a number with leading zeros.
pub(super) fn write_decimal(out: &mut [u8], mut value: u64) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

fn write_hex(out: &mut [u8], mut value: u64) {
    for digit in out.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(value & 15) as usize];
        value >>= 4;
    }
}

/// Decodes what a template sends, for tests.
#[cfg(test)]
fn decode(
    bytes: &[u8],
) -> googleapis_tonic_google_pubsub_v1::google::pubsub::v1::StreamingPullResponse {
    prost::Message::decode(&bytes[grpc::PREFIX..]).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewed_template_is_a_response_with_new_ids() {
        let shape = Shape {
            ordering_keys: 3,
            ..Shape::default()
        };
        let mut template = Template::new(&shape, 100);
        assert_eq!(template.len(), 100);
        template.truncate(7);
        let mut copy = template.bytes.clone();
        let now = Time::from_nanos(1_800_000_000_000_000_042);
        template.renew(&mut copy, 1000, now);
        let response = decode(&copy);
        assert_eq!(response.received_messages.len(), 7);
        for (i, received) in response.received_messages.iter().enumerate() {
            let message = received.message.as_ref().unwrap();
            assert_eq!((received.ack_id.len(), message.data.len()), (180, 1024));
            assert!(received.ack_id.starts_with(&format!("{:016x}", 1000 + i)));
            assert_eq!(message.message_id, format!("{:016}", 1000 + i));
            assert_eq!(message.publish_time, Some(now.to_proto()));
            assert_eq!(message.attributes.len(), 2);
            assert_eq!(message.ordering_key, format!("key-{:06}", i % 3));
        }
        let prefix = u32::from_be_bytes(copy[1..5].try_into().unwrap());
        assert_eq!(prefix as usize, copy.len() - grpc::PREFIX);
    }

    #[test]
    fn a_response_holds_about_a_megabyte() {
        let big = Shape {
            payload_bytes: 100_000,
            ..Shape::default()
        };
        assert_eq!(Template::new(&big, 1000).len(), 11);
        let small = Shape {
            payload_bytes: 10,
            ..Shape::default()
        };
        assert_eq!(Template::new(&small, 1000).len(), 1000);
    }
}
