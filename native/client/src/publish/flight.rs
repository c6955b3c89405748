//! One publish request on its way.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::batch::Batch;
use super::batcher::{LaneId, Ready};
use crate::grpc::Message;
use crate::retry::{Backoff, BackoffPolicy};

/// A batch that was sent, with what is needed to send it again.
#[derive(Debug)]
pub(super) struct Flight {
    /// Requests are numbered in the order in which they were first sent.
    pub(super) number: u64,
    pub(super) lane: LaneId,
    pub(super) topic: u32,
    pub(super) name: Arc<str>,
    pub(super) batch: Batch,
    /// The encoded request; shares the memory of the batch.
    pub(super) message: Message,
    pub(super) attempts: u32,
    pub(super) backoff: Backoff,
    pub(super) first_sent: Instant,
    /// How long the next attempt may take.
    pub(super) timeout: Duration,
    /// How many requests had been answered when it was last sent.
    pub(super) sent_at: u64,
    /// It tells whether its topic is there.
    pub(super) probe: bool,
}

impl Flight {
    pub(super) fn new(number: u64, ready: Ready, retry: BackoffPolicy, now: Instant) -> Self {
        let Ready {
            lane,
            topic,
            name,
            header,
            mut batch,
        } = ready;
        let mut slices = Vec::with_capacity(batch.parts().len() + 1);
        slices.push(header);
        slices.extend_from_slice(batch.parts());
        Self {
            number,
            lane,
            topic,
            name,
            message: Message::from(slices),
            batch,
            attempts: 0,
            backoff: Backoff::new(retry),
            first_sent: now,
            timeout: Duration::ZERO,
            sent_at: 0,
            probe: false,
        }
    }

    /// Its time starts again, because waiting for a topic is not its fault.
    pub(super) fn restart(&mut self, now: Instant) {
        self.first_sent = now;
        self.attempts = 0;
        self.backoff.reset();
    }
}
