//! Counting what is under way, to wait for its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// A number of things under way.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    count: AtomicUsize,
    none: Notify,
}

impl Pending {
    /// One thing more, until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> Guard {
        self.count.fetch_add(1, Ordering::Relaxed);
        Guard(Arc::clone(self))
    }

    /// Returns when nothing is under way.
    pub(crate) async fn none(&self) {
        loop {
            let none = self.none.notified();
            if self.count.load(Ordering::Acquire) == 0 {
                return;
            }
            none.await;
        }
    }
}

/// Something under way.
#[derive(Debug)]
pub(crate) struct Guard(Arc<Pending>);

impl Drop for Guard {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::Release) == 1 {
            self.0.none.notify_waiters();
        }
    }
}
