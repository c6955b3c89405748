//! Ack ids in requests: one splitter for acks, lease extensions, nacks, retries and close.
//!
//! The service refuses an Acknowledge or ModifyAckDeadline request above 524,288 encoded bytes, and nothing is said
//! about how long an id is. Ids are therefore kept as they go over the wire, and requests are cut by size and count.

use crate::wire::{self, length_key};
use bytes::{BufMut, Bytes, BytesMut};
use std::ops::Range;

/// The most ids in one request. The service has no documented count, only a size; 1,000 is what its own clients use.
pub const MAX_IDS: usize = 1_000;

/// The service's bound on one encoded request, in bytes.
pub const MAX_REQUEST_BYTES: usize = 524_288;

/// Field of the ids in `AcknowledgeRequest`; ids are kept with this key.
const ACK_IDS: u8 = 2;
/// Field of the deadline in `ModifyAckDeadlineRequest`.
const DEADLINE: u8 = 3;
/// Field of the ids in `ModifyAckDeadlineRequest`.
const MODIFY_IDS: u8 = 4;

/// Ids of neighbouring messages of one split, encoded one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Fields of `AcknowledgeRequest`.
    pub encoded: Bytes,
    /// The messages whose ids these are.
    pub sequences: Range<u64>,
}

/// The ids of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdSet {
    /// Runs, in the order of the messages.
    pub runs: Vec<Run>,
    bytes: usize,
    count: usize,
}

impl IdSet {
    /// Number of ids.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no id.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The slices of an encoded `AcknowledgeRequest`; no id is copied.
    pub fn acknowledge(&self, subscription: &str) -> Vec<Bytes> {
        let mut slices = Vec::with_capacity(1 + self.runs.len());
        slices.push(wire::encoded_field(1, subscription.as_bytes()));
        slices.extend(self.runs.iter().map(|run| run.encoded.clone()));
        slices
    }

    /// An encoded `ModifyAckDeadlineRequest`; a deadline of 0 seconds is a nack.
    pub fn modify_deadline(&self, subscription: &str, seconds: u32) -> Bytes {
        let mut out = BytesMut::with_capacity(self.bytes + subscription.len() + 32);
        wire::put_bytes(&mut out, 1, subscription.as_bytes());
        wire::put_int(&mut out, DEADLINE, u64::from(seconds));
        for id in self.ids() {
            wire::put_bytes(&mut out, MODIFY_IDS, id);
        }
        out.freeze()
    }

    /// The ids, one by one.
    pub fn ids(&self) -> impl Iterator<Item = &[u8]> {
        self.runs.iter().flat_map(|run| Ids {
            encoded: &run.encoded,
            at: 0,
        })
    }

    /// The same set with only the ids that `keep` accepts, each in a run of its own.
    pub fn filtered(&self, keep: impl Fn(&[u8]) -> bool) -> IdSet {
        let mut kept = IdSet::default();
        for run in &self.runs {
            let mut sequence = run.sequences.start;
            let mut ids = Ids {
                encoded: &run.encoded,
                at: 0,
            };
            loop {
                let start = ids.at;
                let Some(id) = ids.next() else { break };
                if keep(id) {
                    kept.push(
                        Run {
                            encoded: run.encoded.slice(start..ids.at),
                            sequences: sequence..sequence + 1,
                        },
                        1,
                    );
                }
                sequence += 1;
            }
        }
        kept
    }

    /// Adds the ids of `other`; the caller sees to the size.
    pub(crate) fn append(&mut self, other: IdSet) {
        self.bytes += other.bytes;
        self.count += other.count;
        self.runs.extend(other.runs);
    }

    fn push(&mut self, run: Run, count: usize) {
        self.bytes += run.encoded.len();
        self.count += count;
        self.runs.push(run);
    }
}

/// Walks encoded ids; they were encoded here, so they are well formed.
struct Ids<'a> {
    encoded: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Ids<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.at += usize::from(self.at < self.encoded.len());
        let len = wire::varint(self.encoded, &mut self.at)? as usize;
        let id = self.encoded.get(self.at..self.at + len)?;
        self.at += len;
        Some(id)
    }
}

/// Appends one id in the form in which ids are kept.
#[inline]
pub(crate) fn encode_id(out: &mut Vec<u8>, id: &[u8]) {
    if id.len() < 0x4000 {
        // Real ids take this way: key, a length of one or two bytes, and the id, in one reservation.
        out.reserve(id.len() + 3);
    }
    out.put_u8(length_key(ACK_IDS));
    wire::put_varint(out, id.len() as u64);
    out.extend_from_slice(id);
}

/// The id in one field that [`encode_id`] has made.
pub(crate) fn decode_id(encoded: &[u8]) -> &[u8] {
    Ids { encoded, at: 0 }.next().unwrap_or_default()
}

/// Collects ids into sets that are small enough for one request each.
#[derive(Debug)]
pub struct Splitter {
    sets: Vec<IdSet>,
    open: IdSet,
    max_bytes: usize,
}

impl Splitter {
    /// A splitter for requests that name `subscription`.
    pub fn new(subscription: &str) -> Self {
        // The name, the deadline and their keys; ModifyAckDeadline has the longer head. Its ids have keys as short as
        // those of Acknowledge, so one size serves both.
        let head = 1
            + wire::varint_len(subscription.len() as u64)
            + subscription.len()
            + 1
            + wire::MAX_VARINT;
        Splitter {
            sets: Vec::new(),
            open: IdSet::default(),
            max_bytes: MAX_REQUEST_BYTES - head,
        }
    }

    /// Adds the ids of the messages from `first` on; `end(i)` is where the i-th id ends in `encoded`.
    pub fn run(
        &mut self,
        encoded: &Bytes,
        range: Range<usize>,
        first: u64,
        end: impl Fn(usize) -> usize,
    ) {
        let start_of = |i: usize| if i == 0 { 0 } else { end(i - 1) };
        let mut from = range.start;
        while from < range.end {
            let start = start_of(from);
            let room = self.max_bytes.saturating_sub(self.open.bytes);
            let most = (range.end - from).min(MAX_IDS - self.open.count);
            let mut count = most;
            if end(from + count.max(1) - 1) - start > room {
                // The last id that still fits; ends only grow.
                let (mut low, mut high) = (0, count);
                while low < high {
                    let middle = (low + high).div_ceil(2);
                    if end(from + middle - 1) - start <= room {
                        low = middle
                    } else {
                        high = middle - 1
                    }
                }
                count = low;
            }
            if count == 0 {
                if self.open.is_empty() {
                    // An id longer than a whole request: the service made it, so let the service answer for it.
                    count = 1;
                } else {
                    self.close_open();
                    continue;
                }
            }
            let sequences =
                first + (from - range.start) as u64..first + (from - range.start + count) as u64;
            self.open.push(
                Run {
                    encoded: encoded.slice(start..end(from + count - 1)),
                    sequences,
                },
                count,
            );
            from += count;
            if self.open.count == MAX_IDS {
                self.close_open();
            }
        }
    }

    /// Adds one id that is not encoded yet.
    pub fn one(&mut self, id: &[u8], sequence: u64) {
        let mut encoded = Vec::new();
        encode_id(&mut encoded, id);
        let len = encoded.len();
        self.run(&Bytes::from(encoded), 0..1, sequence, |_| len);
    }

    /// Adds one id whose message was settled before: it belongs to no sequence number.
    pub fn late(&mut self, id: &[u8]) {
        self.one(id, 0);
        let set = if self.open.is_empty() {
            self.sets.last_mut()
        } else {
            Some(&mut self.open)
        };
        if let Some(run) = set.and_then(|set| set.runs.last_mut()) {
            run.sequences = 0..0;
        }
    }

    /// The sets; none is empty.
    pub fn finish(mut self) -> Vec<IdSet> {
        if !self.open.is_empty() {
            self.close_open();
        }
        self.sets
    }

    fn close_open(&mut self) {
        self.sets.push(std::mem::take(&mut self.open));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use googleapis_tonic_google_pubsub_v1::google::pubsub::v1::{
        AcknowledgeRequest, ModifyAckDeadlineRequest,
    };
    use proptest::prelude::*;
    use prost::Message as _;

    fn split(subscription: &str, ids: &[Vec<u8>], runs: usize) -> Vec<IdSet> {
        let mut splitter = Splitter::new(subscription);
        let mut first = 0;
        for chunk in ids.chunks(ids.len().div_ceil(runs).max(1)) {
            let mut encoded = Vec::new();
            let ends: Vec<usize> = chunk
                .iter()
                .map(|id| {
                    encode_id(&mut encoded, id);
                    encoded.len()
                })
                .collect();
            splitter.run(&Bytes::from(encoded), 0..chunk.len(), first, |i| ends[i]);
            first += chunk.len() as u64;
        }
        splitter.finish()
    }

    fn check(subscription: &str, ids: &[Vec<u8>], sets: &[IdSet]) {
        let mut seen = Vec::new();
        let mut sequence = 0;
        for set in sets {
            assert!(!set.is_empty());
            assert!(set.len() <= MAX_IDS);
            let bytes = set.acknowledge(subscription).concat();
            let decoded = AcknowledgeRequest::decode(bytes.as_slice()).unwrap();
            assert_eq!(decoded.subscription, subscription);
            assert_eq!(decoded.ack_ids.len(), set.len());
            let modify = set.modify_deadline(subscription, 600);
            let extended = ModifyAckDeadlineRequest::decode(modify.clone()).unwrap();
            assert_eq!(extended.ack_ids, decoded.ack_ids);
            assert_eq!(
                (
                    extended.ack_deadline_seconds,
                    extended.subscription.as_str()
                ),
                (600, subscription)
            );
            if set.len() > 1 {
                assert!(bytes.len() <= MAX_REQUEST_BYTES, "{}", bytes.len());
                assert!(modify.len() <= MAX_REQUEST_BYTES, "{}", modify.len());
            }
            for run in &set.runs {
                assert_eq!(run.sequences.start, sequence);
                sequence = run.sequences.end;
            }
            seen.extend(decoded.ack_ids.into_iter().map(String::into_bytes));
        }
        assert_eq!(sequence, ids.len() as u64);
        assert_eq!(seen, ids);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
        #[test]
        fn every_id_goes_once_and_in_order(
            lengths in prop::collection::vec(prop_oneof![0usize..300, 5_000usize..20_000], 0..1_500),
            runs in 1usize..20,
        ) {
            let ids: Vec<Vec<u8>> = lengths.iter().map(|&len| vec![b'x'; len]).collect();
            check("projects/p/subscriptions/s", &ids, &split("projects/p/subscriptions/s", &ids, runs));
        }
    }

    #[test]
    fn six_thousand_long_ids_with_a_long_name_fit() {
        let subscription = format!("projects/p/subscriptions/{}", "s".repeat(255));
        let ids: Vec<Vec<u8>> = (0..6_000)
            .map(|i| format!("{i:0230}").into_bytes())
            .collect();
        let sets = split(&subscription, &ids, 7);
        check(&subscription, &ids, &sets);
        assert_eq!(sets.len(), 6);
        let ids: Vec<Vec<u8>> = (0..6_000)
            .map(|i| format!("{i:02300}").into_bytes())
            .collect();
        let sets = split(&subscription, &ids, 7);
        check(&subscription, &ids, &sets);
        assert_eq!(sets[0].len(), 227);
    }

    #[test]
    fn an_id_longer_than_a_request_goes_alone() {
        let ids = vec![
            vec![b'a'; 10],
            vec![b'b'; MAX_REQUEST_BYTES],
            vec![b'c'; 10],
        ];
        let sets = split("s", &ids, 1);
        check("s", &ids, &sets);
        assert_eq!(sets.iter().map(IdSet::len).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn a_filtered_set_keeps_the_sequences() {
        let ids: Vec<Vec<u8>> = (0..5).map(|i| format!("id-{i}").into_bytes()).collect();
        let set = split("s", &ids, 2).remove(0);
        let kept = set.filtered(|id| id == b"id-1" || id == b"id-4");
        assert_eq!(kept.ids().collect::<Vec<_>>(), [b"id-1", b"id-4"]);
        assert_eq!(
            kept.runs
                .iter()
                .map(|run| run.sequences.clone())
                .collect::<Vec<_>>(),
            [1..2, 4..5]
        );
        assert_eq!(kept.len(), 2);
    }

    #[test]
    fn a_nack_has_a_deadline_of_zero() {
        let set = split("s", &[b"a".to_vec()], 1).remove(0);
        let nack = ModifyAckDeadlineRequest::decode(set.modify_deadline("s", 0)).unwrap();
        assert_eq!(
            (nack.ack_deadline_seconds, nack.ack_ids),
            (0, vec!["a".to_string()])
        );
    }
}
