//! Acks that the service has not answered: their leases are kept, so that an answer that is long in coming does not
//! bring the messages to somebody else.
//!
//! No clock, no socket, no lock, as with the ledger.

use std::collections::BTreeMap;

use crate::ids::IdSet;
use crate::lease::{MIN_LEASE, Millis};

/// An ack that is younger than this will most likely be answered before its lease matters.
const YOUNG: Millis = 1_000;

/// When messages arrived, and how long they are leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Arrival of the oldest.
    pub received: Millis,
    /// The first end of a lease.
    pub until: Millis,
}

#[derive(Debug)]
struct Unconfirmed {
    set: IdSet,
    lease: Lease,
    since: Millis,
}

/// See the module.
#[derive(Debug, Default)]
pub struct UnconfirmedAcks {
    next: u64,
    acks: BTreeMap<u64, Unconfirmed>,
}

impl UnconfirmedAcks {
    /// An ack of `set` goes out at `now`. Answers a number for [`UnconfirmedAcks::answered`].
    pub fn sent(&mut self, set: IdSet, lease: Lease, now: Millis) -> u64 {
        let number = self.next;
        self.next += 1;
        let since = now;
        self.acks.insert(number, Unconfirmed { set, lease, since });
        number
    }

    /// The ack was answered or given up.
    pub fn answered(&mut self, number: u64) {
        self.acks.remove(&number);
    }

    /// Extensions, with their length in seconds, of the leases that end before `now + margin`; as with
    /// [`Ledger::extend`](crate::ledger::Ledger::extend), never beyond `ceiling` after the arrival.
    pub fn extend(
        &mut self,
        now: Millis,
        margin: Millis,
        lease: Millis,
        ceiling: Millis,
    ) -> Vec<(u32, IdSet)> {
        let mut extensions = Vec::new();
        for ack in self.acks.values_mut() {
            if ack.lease.until >= now + margin || now < ack.since + YOUNG {
                continue;
            }
            let left = (ack.lease.received.saturating_add(ceiling)).saturating_sub(now);
            let seconds = lease.min(left) / 1_000;
            let until = now + seconds * 1_000;
            if seconds * 1_000 >= MIN_LEASE && until > ack.lease.until {
                ack.lease.until = until;
                extensions.push((seconds as u32, ack.set.clone()));
            }
        }
        extensions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Splitter;

    fn set(id: &str) -> IdSet {
        let mut splitter = Splitter::new("s");
        splitter.one(id.as_bytes(), 0);
        splitter.finish().remove(0)
    }

    #[test]
    fn leases_are_kept_until_the_answer_and_up_to_the_ceiling() {
        let mut acks = UnconfirmedAcks::default();
        let lease = Lease {
            received: 0,
            until: 10_000,
        };
        let a = acks.sent(set("a"), lease, 8_000);
        let mut extended = |now| acks.extend(now, 3_000, 10_000, 30_000);
        // It is not yet worth a call.
        assert_eq!(extended(8_500), []);
        assert_eq!(extended(9_000), [(10, set("a"))]);
        assert_eq!(extended(16_000), []);
        assert_eq!(extended(16_001), [(10, set("a"))]);
        // The ceiling leaves less than the shortest lease.
        assert_eq!(extended(23_500), []);
        acks.sent(
            set("b"),
            Lease {
                received: 20_000,
                until: 30_000,
            },
            22_000,
        );
        acks.answered(a);
        assert_eq!(acks.extend(29_000, 3_000, 10_000, 30_000), [(10, set("b"))]);
    }
}
