//! Whether publishing moves at all.

use std::time::Duration;

use tokio::time::Instant;

/// The part of the timeout after which a warning is due.
const WARN_SHARE: u32 = 10;

/// Measures the time without a completion while something is in flight.
#[derive(Debug)]
pub(super) struct Progress {
    timeout: Duration,
    outstanding: u64,
    /// The last completion, or when the first message came.
    since: Option<Instant>,
    warned: bool,
}

impl Progress {
    pub(super) fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            outstanding: 0,
            since: None,
            warned: false,
        }
    }

    pub(super) fn accepted(&mut self, messages: u64, now: Instant) {
        self.outstanding += messages;
        if self.outstanding > 0 && self.since.is_none() {
            self.since = Some(now);
        }
    }

    pub(super) fn completed(&mut self, messages: u64, now: Instant) {
        self.outstanding -= messages;
        self.since = (self.outstanding > 0).then_some(now);
        self.warned = false;
    }

    pub(super) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// How long there was no progress, once when a warning is due.
    pub(super) fn warning(&mut self, now: Instant) -> Option<Duration> {
        let waited = now.saturating_duration_since(self.since?);
        if self.warned || waited < self.timeout / WARN_SHARE {
            return None;
        }
        self.warned = true;
        Some(waited)
    }

    /// How long there was no progress, when it was too long.
    pub(super) fn failure(&self, now: Instant) -> Option<Duration> {
        let waited = now.saturating_duration_since(self.since?);
        (waited >= self.timeout).then_some(waited)
    }

    /// When there may be a warning or a failure.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let wait = if self.warned {
            self.timeout
        } else {
            self.timeout / WARN_SHARE
        };
        self.since.map(|since| since + wait)
    }
}
