//! Messages for the tests of this module.

use bytes::{BufMut, Bytes};

use super::block::Block;
use crate::wire::{length_key, put_bytes, varint};

/// A message for a topic: an ordering key (empty: none) and a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) topic: u32,
    pub(super) key: String,
    pub(super) payload: Vec<u8>,
}

impl Sample {
    pub(super) fn new(topic: u32, key: &str, payload: impl Into<Vec<u8>>) -> Self {
        Self {
            topic,
            key: key.to_owned(),
            payload: payload.into(),
        }
    }
}

/// Data and index as the writer hands them over.
pub(super) fn encode(samples: &[Sample]) -> (Bytes, Vec<i32>) {
    let mut data = Vec::new();
    let mut index = Vec::new();
    for sample in samples {
        let mut message = Vec::new();
        put_bytes(&mut message, 1, &sample.payload);
        let key_in_message = if sample.key.is_empty() {
            0
        } else {
            put_bytes(&mut message, 5, sample.key.as_bytes());
            message.len() - sample.key.len()
        };
        put_bytes(&mut data, 2, &message);
        let start = data.len() - message.len();
        index.extend([
            data.len() as i32,
            sample.topic as i32,
            if sample.key.is_empty() {
                0
            } else {
                (start + key_in_message) as i32
            },
            sample.key.len() as i32,
        ]);
    }
    (data.into(), index)
}

pub(super) fn block(samples: &[Sample]) -> Block {
    let (data, index) = encode(samples);
    Block::new(data, &index, samples.len(), u32::MAX, true).unwrap()
}

/// Topic, and key and payload of each message, of an encoded request.
pub(super) fn decode(request: &[u8]) -> (String, Vec<(String, Vec<u8>)>) {
    let mut topic = String::new();
    let mut messages = Vec::new();
    for (field, value) in fields(request) {
        match field {
            1 => topic = String::from_utf8(value.to_vec()).unwrap(),
            2 => {
                let mut message = (String::new(), Vec::new());
                for (field, value) in fields(value) {
                    match field {
                        1 => message.1 = value.to_vec(),
                        5 => message.0 = String::from_utf8(value.to_vec()).unwrap(),
                        _ => panic!("field {field} of a message"),
                    }
                }
                messages.push(message);
            }
            _ => panic!("field {field} of a request"),
        }
    }
    (topic, messages)
}

fn fields(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut fields = Vec::new();
    while let Some(key) = bytes.first() {
        let field = key >> 3;
        assert_eq!(*key, length_key(field));
        let mut at = 1;
        let len = varint(bytes, &mut at).unwrap() as usize;
        fields.push((field, &bytes[at..at + len]));
        bytes = &bytes[at + len..];
    }
    fields
}

/// Slices in one piece.
pub(super) fn concat(slices: &[Bytes]) -> Vec<u8> {
    let mut whole = Vec::new();
    for slice in slices {
        whole.put_slice(slice);
    }
    whole
}
