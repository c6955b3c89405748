//! Reading all of a subscription's messages, and deciding anew what is acked.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Counts, Subscription};
use crate::core::lease::{Lease, LeaseId, Place};
use crate::core::message::Message;
use crate::core::ordered::State;
use crate::core::unordered::Queued;
use crate::time::Time;

impl Subscription {
    pub fn counts(&self) -> Counts {
        Counts {
            backlog: (self.unordered.len() + self.ordered.waiting()) as u64,
            outstanding: self.leases.len() as u64,
            ..self.counts
        }
    }

    /// Every message that is not acked, oldest first.
    pub fn unacked(&self) -> BTreeMap<u64, Queued> {
        let ordered = self.ordered.iter().filter(|e| e.state != State::Acked);
        let ordered = ordered.map(|e| Queued {
            message: e.message.clone(),
            attempts: e.attempts,
        });
        let leased = self
            .leases
            .iter()
            .filter(|(_, l)| l.place == Place::Unordered);
        let leased = leased.map(|(_, l)| Queued {
            message: l.message.clone(),
            attempts: l.attempts,
        });
        let waiting = self.unordered.iter().cloned();
        ordered
            .chain(leased)
            .chain(waiting)
            .map(|q| (q.message.seq, q))
            .collect()
    }

    pub fn leases(&self) -> impl Iterator<Item = (LeaseId, &Lease)> {
        self.leases.iter()
    }

    /// Acked messages that are retained: by the subscription, or to be replayed because an earlier one
    /// of their ordering key is not acked yet.
    pub fn acked_and_retained(&self) -> BTreeMap<u64, Arc<Message>> {
        let replayed = self.ordered.iter().filter(|_| !self.settings.exactly_once);
        let replayed = replayed
            .filter(|e| e.state == State::Acked)
            .map(|e| &e.message);
        let all = replayed.chain(self.retained.values());
        all.map(|m| (m.seq, m.clone())).collect()
    }

    /// Number and attempts of messages acked, as far as they are remembered.
    pub fn history(&self) -> impl Iterator<Item = (u64, u32)> {
        self.history.iter().copied()
    }

    /// Makes `unacked` the whole backlog and `acked` the retained rest. Leases of messages without
    /// order live on when their message is still unacked; all others end.
    pub fn rewrite(
        &mut self,
        mut unacked: BTreeMap<u64, Queued>,
        acked: BTreeMap<u64, Arc<Message>>,
        now: Time,
    ) {
        let leases: Vec<_> = self
            .leases
            .iter()
            .map(|(id, l)| (id, l.message.seq, l.place))
            .collect();
        for (id, seq, place) in leases {
            if place == Place::Unordered && unacked.remove(&seq).is_some() {
                continue;
            }
            if let Some(lease) = self.leases.release(id) {
                self.stream_released(&lease);
            }
        }
        self.unordered.clear();
        self.ordered.clear();
        for queued in unacked.into_values() {
            self.enqueue(queued);
        }
        self.retained = if self.settings.retain_acked {
            acked
        } else {
            BTreeMap::new()
        };
        self.news = true;
        self.plan_sweep(now);
    }

    /// Forgets all messages; leases and ack ids end.
    pub fn drop_messages(&mut self, now: Time) {
        self.rewrite(BTreeMap::new(), BTreeMap::new(), now);
        self.retained.clear();
    }
}
