//! The open streams, so that they can be ended from outside.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::fault::Action;

/// The streaming pulls that are open.
#[derive(Debug, Default)]
pub struct OpenStreams {
    open: Mutex<Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    subscription: String,
    actions: mpsc::UnboundedSender<Action>,
}

impl OpenStreams {
    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a stream; it is told on the returned channel what to do.
    pub(super) fn register(&self, subscription: &str) -> mpsc::UnboundedReceiver<Action> {
        let (actions, received) = mpsc::unbounded_channel();
        let mut open = self.lock();
        open.retain(|entry| !entry.actions.is_closed());
        open.push(Entry {
            subscription: subscription.to_owned(),
            actions,
        });
        received
    }

    /// Does `action` to the open streams of a subscription, or to all. Returns how many there were.
    pub fn act(&self, subscription: Option<&str>, action: &Action) -> usize {
        let open = self.lock();
        let wanted = open
            .iter()
            .filter(|e| subscription.is_none_or(|name| e.subscription == name));
        wanted
            .filter(|entry| entry.actions.send(action.clone()).is_ok())
            .count()
    }
}
