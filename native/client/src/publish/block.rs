//! What the writer hands over: encoded messages, one behind the other, and where each one ends.

use bytes::Bytes;

use crate::error::Error;
use crate::wire::{length_key, varint};

/// Field 2 of `PublishRequest`: one message.
const MESSAGE_KEY: u8 = length_key(2);
/// Numbers of the index per message.
const STRIDE: usize = 4;

/// Messages in the order in which they were written, checked against their index.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) data: Bytes,
    /// Exclusive end of each message in `data`.
    pub(super) ends: Vec<u32>,
    /// Neighbours with the same topic and ordering key; together they are all messages.
    pub(super) runs: Vec<Run>,
}

/// Messages one behind the other that may share a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) topic: u32,
    /// Index of the first message.
    pub(super) first: usize,
    /// Index behind the last message.
    pub(super) end: usize,
    /// Where the ordering key's bytes are in the data; empty when there is none.
    pub(super) key: std::ops::Range<usize>,
}

impl Block {
    /// Checks `index` against `data`: four numbers per message, which are the exclusive end of the
    /// message, its topic, and offset and length of its ordering key within the message.
    ///
    /// Every message must be a whole field 2 of `PublishRequest`; what is in it is not looked at.
    pub(super) fn new(
        data: Bytes,
        index: &[i32],
        count: usize,
        topics: u32,
        ordering: bool,
    ) -> Result<Self, Error> {
        if index.len() / STRIDE < count {
            return Err(Error::argument(format!(
                "an index of {} numbers for {count} messages",
                index.len()
            )));
        }
        let mut ends = Vec::with_capacity(count);
        let mut runs: Vec<Run> = Vec::new();
        let mut start = 0;
        for (i, entry) in index.chunks_exact(STRIDE).take(count).enumerate() {
            let refuse = |what: &str| Err(Error::argument(format!("message {i}: {what}")));
            let [end, topic, key, key_len] = [entry[0], entry[1], entry[2], entry[3]];
            let end = match usize::try_from(end) {
                Ok(end) if end > start && end <= data.len() => end,
                _ => return refuse("its end is not behind its start and within the data"),
            };
            if !is_message(&data[start..end]) {
                return refuse("it is not one whole message");
            }
            let topic = match u32::try_from(topic) {
                Ok(topic) if topic < topics => topic,
                _ => return refuse("its topic is unknown"),
            };
            let key = match (usize::try_from(key), usize::try_from(key_len)) {
                (_, Ok(0)) => start..start,
                (Ok(at), Ok(len)) if at >= start && len <= end - start && at <= end - len => {
                    at..at + len
                }
                _ => return refuse("its ordering key is not within it"),
            };
            if !key.is_empty() && !ordering {
                return refuse("it has an ordering key, but enableMessageOrdering is off");
            }
            match runs.last_mut() {
                Some(run) if run.topic == topic && data[run.key.clone()] == data[key.clone()] => {
                    run.end = i + 1;
                }
                _ => runs.push(Run {
                    topic,
                    first: i,
                    end: i + 1,
                    key,
                }),
            }
            ends.push(end as u32);
            start = end;
        }
        if start != data.len() {
            return Err(Error::argument(format!(
                "{} bytes of messages, but the index ends at {start}",
                data.len()
            )));
        }
        Ok(Self { data, ends, runs })
    }

    /// Where message `i` starts in the data.
    pub(super) fn start(&self, i: usize) -> usize {
        match i {
            0 => 0,
            _ => self.ends[i - 1] as usize,
        }
    }
}

/// Whether the bytes are the key of field 2, a length, and so many bytes.
fn is_message(bytes: &[u8]) -> bool {
    let mut at = 1;
    bytes.first() == Some(&MESSAGE_KEY)
        && varint(bytes, &mut at).is_some_and(|len| len == (bytes.len() - at) as u64)
}

/// The length of the message, with its key and length, at the start of `bytes`.
pub(super) fn message_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    if bytes.first() != Some(&MESSAGE_KEY) {
        return None;
    }
    let len = usize::try_from(varint(bytes, &mut at)?).ok()?;
    len.checked_add(at).filter(|whole| *whole <= bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One message without key, of `len` bytes in all; `len` from 2 to 129.
    fn message(len: usize) -> Vec<u8> {
        let mut bytes = vec![0x12, (len - 2) as u8];
        bytes.resize(len, 7);
        bytes
    }

    #[test]
    fn neighbours_with_the_same_topic_and_key_are_one_run() {
        let data: Bytes = [message(4), message(4), message(4), message(4), message(4)]
            .concat()
            .into();
        let index = [
            4, 0, 0, 0, 8, 0, 0, 0, 12, 1, 0, 0, 16, 1, 14, 1, 20, 1, 18, 1,
        ];
        let block = Block::new(data, &index, 5, 2, true).unwrap();
        let run = |topic, first, end, key| Run {
            topic,
            first,
            end,
            key,
        };
        assert_eq!(
            block.runs,
            [run(0, 0, 2, 0..0), run(1, 2, 3, 8..8), run(1, 3, 5, 14..15)]
        );
        assert_eq!(block.ends, [4, 8, 12, 16, 20]);
        assert_eq!((block.start(0), block.start(4)), (0, 16));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let text = |data: &[u8], index: &[i32], count| {
            let error =
                Block::new(Bytes::copy_from_slice(data), index, count, 1, false).unwrap_err();
            assert!(error.is_option());
            error.to_string()
        };
        let four = message(4);
        assert_eq!(
            text(&four, &[4, 0, 0], 1),
            "an index of 3 numbers for 1 messages"
        );
        assert_eq!(
            text(&four, &[5, 0, 0, 0], 1),
            "message 0: its end is not behind its start and within the data"
        );
        assert_eq!(
            text(&four, &[3, 0, 0, 0], 1),
            "message 0: it is not one whole message"
        );
        assert_eq!(
            text(&four, &[4, 1, 0, 0], 1),
            "message 0: its topic is unknown"
        );
        assert_eq!(
            text(&four, &[4, -1, 0, 0], 1),
            "message 0: its topic is unknown"
        );
        assert_eq!(
            text(&four, &[4, 0, 3, 2], 1),
            "message 0: its ordering key is not within it"
        );
        assert_eq!(
            text(&four, &[4, 0, 2, 2], 1),
            "message 0: it has an ordering key, but enableMessageOrdering is off"
        );
        assert_eq!(
            text(&four, &[], 0),
            "4 bytes of messages, but the index ends at 0"
        );
    }

    proptest! {
        #[test]
        fn any_index_is_taken_or_refused(
            data in proptest::collection::vec(0u8..20, 0..40),
            index in proptest::collection::vec(-3i32..45, 0..40),
            count in 0usize..12,
            ordering: bool,
        ) {
            if let Ok(block) = Block::new(data.into(), &index, count, 3, ordering) {
                prop_assert_eq!(block.ends.len(), count);
                prop_assert_eq!(block.runs.iter().map(|r| r.end - r.first).sum::<usize>(), count);
                for i in 0..count {
                    let bytes = &block.data[block.start(i)..block.ends[i] as usize];
                    prop_assert_eq!(message_len(bytes), Some(bytes.len()));
                }
            }
        }

        #[test]
        fn extreme_numbers_are_refused(index in proptest::collection::vec(any::<i32>(), 4)) {
            let data = Bytes::from(message(100));
            let result = Block::new(data, &index, 1, 1, true);
            prop_assert_eq!(
                result.is_ok(),
                index[0] == 100
                    && index[1] == 0
                    && (index[3] == 0
                        || (index[2] >= 0 && index[3] > 0 && index[2] as i64 + index[3] as i64 <= 100))
            );
        }
    }
}
