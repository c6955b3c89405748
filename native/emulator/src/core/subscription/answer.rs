//! What comes back: acks, nacks, deadlines, and leases that end without an answer.

use super::{HISTORY, Subscription};
use crate::core::lease::{Lease, LeaseId, Place};
use crate::core::unordered::Queued;
use crate::time::Time;

impl Subscription {
    /// Acks one delivery; false when its lease has ended.
    pub fn ack(&mut self, id: LeaseId) -> bool {
        let Some(lease) = self.leases.release(id) else {
            return false;
        };
        self.stream_released(&lease);
        self.counts.acked += 1;
        if let Place::Key { key, position } = lease.place {
            self.ordered.done(key, position);
            self.news |= self.ordered.ready() > 0;
        }
        if self.settings.retain_acked {
            self.retained.insert(lease.message.seq, lease.message);
        } else if self.remember_acked {
            if self.history.len() == HISTORY {
                self.history.pop_front();
            }
            self.history.push_back((lease.message.seq, lease.attempts));
        }
        true
    }

    /// Sets a new deadline; false when the lease has ended.
    pub fn extend(&mut self, id: LeaseId, deadline: Time) -> bool {
        self.leases.extend(id, deadline)
    }

    /// Gives a delivery back; false when its lease has ended.
    pub fn nack(&mut self, id: LeaseId, now: Time) -> bool {
        let Some(lease) = self.leases.release(id) else {
            return false;
        };
        self.counts.nacked += 1;
        self.give_back(lease, now);
        true
    }

    /// Ends a lease as if its deadline had passed; false when it has ended already.
    pub fn expire(&mut self, id: LeaseId, now: Time) -> bool {
        let Some(lease) = self.leases.release(id) else {
            return false;
        };
        self.counts.expired += 1;
        self.give_back(lease, now);
        true
    }

    pub(super) fn stream_released(&mut self, lease: &Lease) {
        if let Some(stream) = lease.stream
            && self.streams.released(stream, lease.message.size())
        {
            self.news = true;
        }
    }

    pub(super) fn give_back(&mut self, lease: Lease, now: Time) {
        self.stream_released(&lease);
        self.news = true;
        let Lease {
            message,
            attempts,
            place,
            ..
        } = lease;
        let limit = self.settings.dead_letter.as_ref().map(|d| d.attempts);
        if self.can_dead_letter && limit.is_some_and(|limit| attempts >= limit) {
            self.counts.dead_lettered += 1;
            if let Place::Key { key, position } = place {
                self.ordered.done(key, position);
            }
            self.dead_lettered.push((message, attempts));
            return;
        }
        let until = self
            .settings
            .retry
            .as_ref()
            .map(|retry| now.plus(retry.after(attempts)));
        match place {
            Place::Unordered => self
                .unordered
                .push_again(Queued { message, attempts }, until),
            Place::Key { key, position } => {
                for ended in self
                    .ordered
                    .replay(key, position, until, self.settings.exactly_once)
                {
                    if let Some(lease) = self.leases.release(ended) {
                        self.stream_released(&lease);
                    }
                }
            }
        }
        self.plan_sweep(now);
    }
}
