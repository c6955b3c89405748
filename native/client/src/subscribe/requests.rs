//! What a split asks of the service: acks, nacks and longer leases, each in a task of its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::split::Split;
use crate::error::Error;
use crate::ids::IdSet;
use crate::unconfirmed::Lease;

impl Split {
    /// Without an owner there is nobody left whom the task could concern.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(owner) = self.owner.upgrade() {
            owner.spawn(task);
        }
    }

    /// Extends leases. Of messages whose ack is under way (not `held`) it may well be refused, for the ack may come first.
    pub(super) fn spawn_extend(self: &Arc<Self>, set: IdSet, seconds: u32, held: bool) {
        let split = Arc::clone(self);
        let pending = self.acks.pending.begin();
        self.spawn(async move {
            // Half a lease later the next extension is better than this one.
            let limit = Duration::from_secs(u64::from(seconds)) / 2;
            let answer = split.acks.extend(&set, seconds, limit).await;
            split.counters.extensions.add(answer.confirmed);
            if let Some(error) = answer.error.filter(|_| held) {
                let messages = answer.failed.len();
                tracing::warn!(subscription = %split.subscription, messages, %error, "leases were not extended");
            }
            drop(pending);
        });
    }

    /// Acks of messages that came again while their ack was under way. To be called after registrations.
    pub(crate) fn send_late_acks(self: &Arc<Self>) {
        let late = self.ledger().late_acks();
        if late.is_empty() {
            return;
        }
        let lease = self.arriving();
        for set in late {
            let number = self.ack_sent(&set, lease);
            let split = Arc::clone(self);
            let pending = self.acks.pending.begin();
            self.spawn(async move {
                split.acks.acknowledge(&set).await;
                split.unconfirmed().answered(number);
                drop(pending);
            });
        }
    }

    /// The lease of what arrives now.
    fn arriving(&self) -> Lease {
        let received = self.clock.now();
        let until = received + self.lease();
        Lease { received, until }
    }

    fn ack_sent(&self, set: &IdSet, lease: Lease) -> u64 {
        self.unconfirmed()
            .sent(set.clone(), lease, self.clock.now())
    }

    /// Acks everything sealed at or below `checkpoint`, in several requests; each receiver gets the error of one, when
    /// it is answered.
    pub(crate) fn complete(
        self: &Arc<Self>,
        checkpoint: i64,
    ) -> Vec<oneshot::Receiver<Option<Error>>> {
        let arriving = self.arriving();
        let acks: Vec<(IdSet, Lease)> = {
            let mut ledger = self.ledger();
            let sets = ledger.complete(checkpoint, arriving.received);
            let with_lease = |set: IdSet| {
                let lease = ledger.lease_of(&set);
                (set, lease.unwrap_or(arriving))
            };
            sets.into_iter().map(with_lease).collect()
        };
        acks.into_iter()
            .map(|(set, lease)| {
                self.counters.acks_requested.add(set.len() as u64);
                let number = self.ack_sent(&set, lease);
                let (answered, receiver) = oneshot::channel();
                let split = Arc::clone(self);
                let pending = self.acks.pending.begin();
                self.spawn(async move {
                    let answer = split.acks.acknowledge(&set).await;
                    split.unconfirmed().answered(number);
                    split.counters.acks_confirmed.add(answer.confirmed);
                    split.counters.acks_failed.add(answer.failed.len() as u64);
                    if let Some(error) = &answer.error {
                        let messages = answer.failed.len();
                        tracing::warn!(subscription = %split.subscription, messages, %error, "acks failed, their messages will come again");
                    }
                    split.ledger().settle(&set);
                    split.changed.notify_waiters();
                    let failed = !answer.failed.is_empty();
                    // Nobody may be waiting for it.
                    let _ = answered.send(answer.error.filter(|_| failed));
                    drop(pending);
                });
                receiver
            })
            .collect()
    }

    /// Gives back each set.
    pub(crate) fn spawn_nacks(self: &Arc<Self>, sets: Vec<IdSet>) {
        for set in sets {
            self.counters.nacked.add(set.len() as u64);
            let split = Arc::clone(self);
            let pending = self.acks.pending.begin();
            self.spawn(async move {
                let answer = split.acks.nack(&set).await;
                if let Some(error) = answer.error {
                    let messages = answer.failed.len();
                    tracing::debug!(subscription = %split.subscription, messages, %error, "nacks failed, their leases will run out");
                }
                drop(pending);
            });
        }
        self.changed.notify_waiters();
    }
}
