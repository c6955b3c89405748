//! Leases: who holds which message until when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::message::Message;
use super::stream::StreamId;
use crate::time::Time;

/// Names one delivery of one message. Dies with the delivery's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// Where a leased message goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The queue of messages without order.
    Unordered,
    /// The queue of an ordering key, at this position.
    Key { key: u32, position: u64 },
}

/// A message in somebody's hands.
#[derive(Debug)]
pub(crate) struct Lease {
    pub message: Arc<Message>,
    /// How often it was delivered, this time included.
    pub attempts: u32,
    pub deadline: Time,
    /// The stream it went out on; `None` for a unary pull.
    pub stream: Option<StreamId>,
    pub place: Place,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    lease: Option<Lease>,
}

/// All leases of one subscription.
///
/// A due entry is kept per lease and looked at only when its time comes: extending a lease, the most
/// frequent thing after granting and releasing one, only changes a number.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    slots: Vec<Slot>,
    free: Vec<u32>,
    due: BinaryHeap<Reverse<(Time, LeaseId)>>,
}

impl Leases {
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub fn grant(&mut self, lease: Lease) -> LeaseId {
        let deadline = lease.deadline;
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize].lease = Some(lease);
                slot
            }
            None => {
                self.slots.push(Slot {
                    generation: 0,
                    lease: Some(lease),
                });
                // 2^32 leases of one subscription do not fit into memory.
                (self.slots.len() - 1) as u32
            }
        };
        let id = LeaseId {
            slot,
            generation: self.slots[slot as usize].generation,
        };
        self.push_due(deadline, id);
        id
    }

    /// Replaces the id of a lease; the old one is dead.
    pub fn rename(&mut self, id: LeaseId) -> Option<LeaseId> {
        let lease = self.release(id)?;
        Some(self.grant(lease))
    }

    pub fn get(&self, id: LeaseId) -> Option<&Lease> {
        let slot = self.slots.get(id.slot as usize)?;
        if slot.generation == id.generation {
            slot.lease.as_ref()
        } else {
            None
        }
    }

    pub fn release(&mut self, id: LeaseId) -> Option<Lease> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        if slot.generation != id.generation {
            return None;
        }
        let lease = slot.lease.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.slot);
        Some(lease)
    }

    /// Sets a new deadline; false when the lease is gone.
    pub fn extend(&mut self, id: LeaseId, deadline: Time) -> bool {
        let Some(slot) = self.slots.get_mut(id.slot as usize) else {
            return false;
        };
        let Some(lease) = slot
            .lease
            .as_mut()
            .filter(|_| slot.generation == id.generation)
        else {
            return false;
        };
        let earlier = deadline < lease.deadline;
        lease.deadline = deadline;
        if earlier {
            self.push_due(deadline, id);
        }
        true
    }

    /// Releases one lease whose deadline has passed.
    pub fn pop_expired(&mut self, now: Time) -> Option<(LeaseId, Lease)> {
        while let Some(Reverse((at, id))) = self.due.peek().copied() {
            if at > now {
                return None;
            }
            self.due.pop();
            match self.get(id).map(|lease| lease.deadline) {
                Some(deadline) if deadline > now => self.push_due(deadline, id),
                Some(_) => return self.release(id).map(|lease| (id, lease)),
                None => {}
            }
        }
        None
    }

    /// No lease ends before this.
    pub fn next_deadline(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    pub fn iter(&self) -> impl Iterator<Item = (LeaseId, &Lease)> {
        self.slots.iter().enumerate().filter_map(|(slot, s)| {
            let id = LeaseId {
                slot: slot as u32,
                generation: s.generation,
            };
            s.lease.as_ref().map(|lease| (id, lease))
        })
    }

    fn push_due(&mut self, at: Time, id: LeaseId) {
        // Released leases leave their entries behind; a deadline may be ten minutes away.
        if self.due.len() >= 2 * self.len() + 1024 {
            let live: Vec<_> = self
                .iter()
                .map(|(id, lease)| Reverse((lease.deadline, id)))
                .collect();
            self.due = live.into();
            if self.due.iter().any(|Reverse(entry)| *entry == (at, id)) {
                return;
            }
        }
        self.due.push(Reverse((at, id)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(seq: u64, deadline: u64) -> Lease {
        Lease {
            message: Message::numbered(seq),
            attempts: 1,
            deadline: Time::from_secs(deadline as i64),
            stream: None,
            place: Place::Unordered,
        }
    }

    #[test]
    fn ids_die_with_their_lease() {
        let mut leases = Leases::default();
        let first = leases.grant(lease(1, 10));
        assert_eq!(leases.release(first).map(|l| l.message.seq), Some(1));
        let second = leases.grant(lease(2, 10));
        assert_eq!(second.slot, first.slot);
        assert!(leases.get(first).is_none() && leases.release(first).is_none());
        assert!(!leases.extend(first, Time::from_secs(20)));
        assert_eq!(leases.get(second).map(|l| l.message.seq), Some(2));
    }

    #[test]
    fn leases_end_at_their_latest_deadline() {
        let mut leases = Leases::default();
        let a = leases.grant(lease(1, 10));
        let b = leases.grant(lease(2, 10));
        assert!(leases.extend(a, Time::from_secs(30)));
        assert!(leases.extend(b, Time::from_secs(5)));
        let expired = |leases: &mut Leases, at| {
            leases
                .pop_expired(Time::from_secs(at))
                .map(|(_, l)| l.message.seq)
        };
        assert_eq!(expired(&mut leases, 4), None);
        assert_eq!(expired(&mut leases, 5), Some(2));
        assert_eq!(expired(&mut leases, 29), None);
        assert_eq!(expired(&mut leases, 30), Some(1));
        assert_eq!(leases.len(), 0);
    }

    #[test]
    fn released_leases_do_not_pile_up() {
        let mut leases = Leases::default();
        for i in 0..100_000 {
            let id = leases.grant(lease(i, 600));
            leases.release(id);
        }
        assert!(leases.due.len() <= 1100, "{}", leases.due.len());
        assert_eq!(leases.slots.len(), 1);
    }
}
