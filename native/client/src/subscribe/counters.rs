//! What a subscriber counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// Sums over all splits of a subscriber, also over removed ones.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub received: Counter,
    pub acks_requested: Counter,
    pub acks_confirmed: Counter,
    pub acks_failed: Counter,
    pub nacked: Counter,
    pub extensions: Counter,
    pub reconnects: Counter,
}

/// A sum that any thread may add to.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A reading of the counters, in the order of `docs/boundary.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Deliveries that arrived.
    pub messages_received: u64,
    /// Acks that were decided.
    pub acks_requested: u64,
    /// Acks that the service answered with success.
    pub acks_confirmed: u64,
    /// Acks that failed for good: their messages will come again.
    pub acks_failed: u64,
    /// Messages given back.
    pub messages_nacked: u64,
    /// Deliveries of messages that were held already.
    pub redeliveries: u64,
    /// Leases extended, counted by message.
    pub lease_extensions: u64,
    /// Messages whose lease ran out at the ceiling.
    pub leases_expired: u64,
    /// Streams opened again.
    pub stream_reconnects: u64,
    /// Messages leased and unacknowledged.
    pub outstanding_messages: u64,
    /// The same in bytes.
    pub outstanding_bytes: u64,
    /// Messages received and not fetched.
    pub buffered_messages: u64,
    /// The same in bytes.
    pub buffered_bytes: u64,
    /// Checkpoints sealed and neither completed nor subsumed, in the split that has most.
    pub pending_checkpoints: u64,
}

impl Counts {
    /// The counts as they cross the boundary.
    pub fn to_array(self) -> [i64; 14] {
        [
            self.messages_received,
            self.acks_requested,
            self.acks_confirmed,
            self.acks_failed,
            self.messages_nacked,
            self.redeliveries,
            self.lease_extensions,
            self.leases_expired,
            self.stream_reconnects,
            self.outstanding_messages,
            self.outstanding_bytes,
            self.buffered_messages,
            self.buffered_bytes,
            self.pending_checkpoints,
        ]
        .map(|count| i64::try_from(count).unwrap_or(i64::MAX))
    }
}
