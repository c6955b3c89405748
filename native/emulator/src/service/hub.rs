//! The one place where state, clock and waiting consumers meet.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hashbrown::HashMap;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::core::State;
use crate::time::Time;

/// The state of the server behind a lock, and who waits on it.
///
/// Everything that changes the state goes through [`Hub::with`], which afterwards wakes the consumers
/// that may find something and plans the next timer. No lock is held across an await.
#[derive(Debug)]
pub struct Hub {
    locked: Mutex<Locked>,
    clock: Arc<Clock>,
    /// The next timer has come closer.
    earlier: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Locked {
    state: State,
    waiters: HashMap<u32, Weak<Notify>>,
    /// What the timer task sleeps for.
    planned: Option<Time>,
}

impl Hub {
    /// An empty server that lives by `clock`, with a task that ends leases when their time comes. The
    /// task ends with the last reference. Must be called within a Tokio runtime.
    pub fn start(clock: Arc<Clock>) -> Arc<Self> {
        let hub = Arc::new(Hub {
            locked: Mutex::new(Locked {
                state: State::new(),
                ..Locked::default()
            }),
            clock,
            earlier: Arc::default(),
        });
        let task = keep_time(Arc::downgrade(&hub), hub.clock.clone(), hub.earlier.clone());
        tokio::spawn(task);
        hub
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    fn lock(&self) -> MutexGuard<'_, Locked> {
        self.locked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on the state at the current time.
    pub fn with<R>(&self, work: impl FnOnce(&mut State, Time) -> R) -> R {
        let now = self.clock.now();
        let mut locked = self.lock();
        let result = work(&mut locked.state, now);
        for id in locked.state.take_news() {
            match locked.waiters.get(&id).map(Weak::upgrade) {
                Some(Some(waiter)) => waiter.notify_waiters(),
                Some(None) => {
                    locked.waiters.remove(&id);
                }
                None => {}
            }
        }
        let next = locked.state.next_timer();
        if next.is_some_and(|next| locked.planned.is_none_or(|planned| next < planned)) {
            locked.planned = next;
            self.earlier.notify_one();
        }
        result
    }

    /// What to wait on for news about a subscription. Register before looking at the state.
    pub fn waiter(&self, subscription: u32) -> Arc<Notify> {
        let mut locked = self.lock();
        let known = locked.waiters.get(&subscription).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let waiter = Arc::new(Notify::new());
            locked.waiters.insert(subscription, Arc::downgrade(&waiter));
            waiter
        })
    }

    /// Does what is due now, without waiting for the timer task.
    pub fn tick(&self) {
        self.with(State::tick);
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // The timer task finds that it is alone.
        self.earlier.notify_one();
    }
}

async fn keep_time(hub: Weak<Hub>, clock: Arc<Clock>, earlier: Arc<Notify>) {
    loop {
        let next = {
            // Not held while waiting.
            let Some(hub) = hub.upgrade() else { return };
            hub.tick();
            let mut locked = hub.lock();
            locked.planned = locked.state.next_timer();
            locked.planned
        };
        tokio::select! {
            () = earlier.notified() => {}
            () = clock.wait_until(next) => {}
        }
    }
}
