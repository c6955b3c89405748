//! Topics with nothing in flight, least recently used first.

use std::collections::BTreeMap;

use tokio::time::Instant;

/// Names a stay in the list.
pub(super) type Ticket = u64;

/// The list; what becomes idle goes to its end.
#[derive(Debug, Default)]
pub(super) struct Idle {
    topics: BTreeMap<Ticket, (u32, Instant)>,
    tickets: Ticket,
}

impl Idle {
    /// Adds a topic that has become idle now.
    pub(super) fn push(&mut self, topic: u32, now: Instant) -> Ticket {
        self.tickets += 1;
        self.topics.insert(self.tickets, (topic, now));
        self.tickets
    }

    /// Removes a topic that is used again.
    pub(super) fn remove(&mut self, ticket: Ticket) {
        self.topics.remove(&ticket);
    }

    /// Since when the topic that has been idle for longest is idle.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.topics.first_key_value().map(|(_, (_, since))| *since)
    }

    /// Removes the topic that has been idle for longest.
    pub(super) fn pop_oldest(&mut self) -> Option<u32> {
        self.topics.pop_first().map(|(_, (topic, _))| topic)
    }
}
