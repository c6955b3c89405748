//! The backlog of messages without order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use super::message::Message;
use crate::time::Time;

/// A message that waits to be delivered.
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    pub message: Arc<Message>,
    /// How often it was delivered before.
    pub attempts: u32,
}

#[derive(Debug)]
struct Resting {
    until: Time,
    queued: Queued,
}

impl PartialEq for Resting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Resting {}
impl PartialOrd for Resting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Resting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.until, self.queued.message.seq).cmp(&(other.until, other.queued.message.seq))
    }
}

/// Messages to be delivered for the first time, again, and again after a rest.
#[derive(Debug, Default)]
pub(crate) struct Unordered {
    fresh: VecDeque<Queued>,
    again: VecDeque<Queued>,
    resting: BinaryHeap<Reverse<Resting>>,
    turn: bool,
}

impl Unordered {
    pub fn push(&mut self, queued: Queued) {
        self.fresh.push_back(queued);
    }

    /// Takes back a delivered message, to go out again not before `until`.
    pub fn push_again(&mut self, queued: Queued, until: Option<Time>) {
        match until {
            None => self.again.push_back(queued),
            Some(until) => self.resting.push(Reverse(Resting { until, queued })),
        }
    }

    /// The next to be delivered. Takes turns, so that neither a message that fails for ever nor a
    /// long backlog holds up the other.
    pub fn pop(&mut self) -> Option<Queued> {
        self.turn = !self.turn;
        if self.turn {
            self.again.pop_front().or_else(|| self.fresh.pop_front())
        } else {
            self.fresh.pop_front().or_else(|| self.again.pop_front())
        }
    }

    /// Messages that can be delivered now.
    pub fn ready(&self) -> usize {
        self.fresh.len() + self.again.len()
    }

    /// Messages that are here, resting ones included.
    pub fn len(&self) -> usize {
        self.ready() + self.resting.len()
    }

    /// Ends the rests that are over; true when a message became ready.
    pub fn wake(&mut self, now: Time) -> bool {
        let before = self.again.len();
        while self.resting.peek().is_some_and(|Reverse(r)| r.until <= now) {
            self.again
                .extend(self.resting.pop().map(|Reverse(r)| r.queued));
        }
        self.again.len() > before
    }

    /// When the next rest is over.
    pub fn next_wake(&self) -> Option<Time> {
        self.resting.peek().map(|Reverse(r)| r.until)
    }

    /// Drops the messages for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&Message) -> bool) {
        self.fresh.retain(|q| keep(&q.message));
        self.again.retain(|q| keep(&q.message));
        self.resting.retain(|Reverse(r)| keep(&r.queued.message));
    }

    pub fn iter(&self) -> impl Iterator<Item = &Queued> {
        let resting = self.resting.iter().map(|Reverse(r)| &r.queued);
        self.fresh.iter().chain(&self.again).chain(resting)
    }

    pub fn clear(&mut self) {
        *self = Unordered::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(seq: u64) -> Queued {
        Queued {
            message: Message::numbered(seq),
            attempts: 0,
        }
    }

    #[test]
    fn redeliveries_and_fresh_messages_take_turns() {
        let mut queue = Unordered::default();
        for seq in [1, 2, 3] {
            queue.push(queued(seq));
        }
        for seq in [11, 12, 13] {
            queue.push_again(queued(seq), None);
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop())
            .map(|q| q.message.seq)
            .collect();
        assert_eq!(order, [11, 1, 12, 2, 13, 3]);
    }

    #[test]
    fn a_resting_message_waits_for_its_time() {
        let mut queue = Unordered::default();
        queue.push_again(queued(1), Some(Time::from_secs(10)));
        assert_eq!((queue.ready(), queue.len()), (0, 1));
        assert!(!queue.wake(Time::from_secs(9)));
        assert_eq!(queue.next_wake(), Some(Time::from_secs(10)));
        assert!(queue.wake(Time::from_secs(10)));
        assert_eq!(queue.pop().map(|q| q.message.seq), Some(1));
    }
}
