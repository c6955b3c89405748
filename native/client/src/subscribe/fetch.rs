//! The last step on the Rust side: responses are copied into memory of the caller's and described there.

use std::sync::Arc;

use super::buffer::Response;
use super::split::Split;
use crate::error::Error;
use crate::scan::{self, Received, Span};

/// Ints that describe one message; `docs/boundary.md` has their meaning.
pub const INDEX_STRIDE: usize = 12;

/// The bit of the last int that says: count it, do not emit it.
const SKIP: i32 = 1 << 8;

/// Responses of one split that were taken out of its buffer to be fetched.
#[derive(Debug)]
pub struct Fetch {
    split: Arc<Split>,
    responses: Vec<Response>,
    bytes: usize,
    messages: usize,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The split's number.
    pub split: u32,
    /// The sequence number of the first message.
    pub first: u64,
    /// Number of messages.
    pub messages: usize,
    /// Bytes of `data` in use.
    pub bytes: usize,
}

impl Fetch {
    pub(crate) fn new(split: Arc<Split>, responses: Vec<Response>) -> Self {
        Self {
            split,
            bytes: responses.iter().map(|response| response.len).sum(),
            messages: responses
                .iter()
                .map(|response| response.messages as usize)
                .sum(),
            responses,
        }
    }

    /// Copies the responses into `data` and describes their messages in `index`.
    ///
    /// Both must be large enough: the caller told their sizes when it asked for this fetch. It makes no call that
    /// blocks, apart from the ledger's lock, which is never held across one.
    pub fn write(self, data: &mut [u8], index: &mut [i32]) -> Result<Written, Error> {
        let split = &self.split;
        if data.len() < self.bytes || index.len() < self.messages * INDEX_STRIDE {
            return Err(Error::argument("the fetch does not fit"));
        }
        let mut ledger = split.ledger();
        let first = self.responses.first().and_then(|response| response.first);
        let first = first.unwrap_or_else(|| ledger.next_sequence());
        let (mut used, mut written) = (0, 0);
        for response in &self.responses {
            let base = used;
            for frame in &response.frames {
                data[used..used + frame.len()].copy_from_slice(frame);
                used += frame.len();
            }
            let bytes = &data[base..used];
            let slots = &mut index[written * INDEX_STRIDE..];
            let mut count = 0;
            let mut put = |found: &Received| {
                if let Some(slot) = slots[count * INDEX_STRIDE..].first_chunk_mut() {
                    describe(slot, found, base as u32);
                    count += 1;
                }
            };
            let scanned = if let Some(first) = response.first {
                let scanned = scan::scan(bytes, |found| put(&found));
                for (at, slot) in slots.chunks_exact_mut(INDEX_STRIDE).take(count).enumerate() {
                    if ledger.is_dead(first + at as u64) {
                        skip(slot);
                    }
                }
                scanned
            } else {
                let mut registration = ledger.register(
                    response.messages as usize,
                    response.received,
                    response.lease,
                );
                let scanned = scan::scan(bytes, |found| {
                    let (ack_id, message_id) = (found.ack_id.of(bytes), found.message_id.of(bytes));
                    let (key, published) = (found.ordering_key.of(bytes), found.published());
                    registration.push_keyed(ack_id, message_id, found.message.len, key, published);
                    put(&found);
                });
                for at in registration.finish() {
                    skip(&mut slots[at as usize * INDEX_STRIDE..]);
                }
                scanned
            };
            written += count;
            scanned.map_err(|e| split.unreadable(&e))?;
        }
        let last = self.responses.last().and_then(|response| response.first);
        let end = match last {
            Some(first) => first + self.responses.last().map_or(0, |r| u64::from(r.messages)),
            None => ledger.next_sequence(),
        };
        ledger.fetched(end);
        drop(ledger);
        split.send_late_acks();
        Ok(Written {
            split: split.number,
            first,
            messages: written,
            bytes: used,
        })
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.split.fetch_ended();
    }
}

#[inline]
fn describe(slot: &mut [i32; INDEX_STRIDE], found: &Received, base: u32) {
    let at = |span: Span| (span.at + base) as i32;
    let attempt = (found.delivery_attempt.max(0) as u32) << 9;
    *slot = [
        at(found.payload),
        found.payload.len as i32,
        at(found.message_id),
        found.message_id.len as i32,
        at(found.ordering_key),
        found.ordering_key.len as i32,
        at(found.message),
        found.message.len as i32,
        (found.publish_seconds >> 32) as i32,
        found.publish_seconds as i32,
        found.publish_nanos,
        (attempt | found.attributes.min(255)) as i32,
    ];
}

fn skip(slot: &mut [i32]) {
    slot[INDEX_STRIDE - 1] |= SKIP;
}
