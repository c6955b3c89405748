//! The clock the server lives by: the system's, moved forward or stopped on demand.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::Notify;

use crate::time::Time;

/// Gives the time and waits for points in time. Never runs backwards.
///
/// A running clock follows the system clock plus everything [`Clock::advance`] has added. A stopped
/// one moves only by [`Clock::advance`]. All methods may be called from any thread.
#[derive(Debug)]
pub struct Clock {
    state: Mutex<ClockState>,
    changed: Notify,
}

#[derive(Debug)]
struct ClockState {
    offset: Duration,
    stopped_at: Option<Time>,
    latest: Time,
}

impl Default for Clock {
    fn default() -> Self {
        Clock::running()
    }
}

impl Clock {
    /// A clock that follows the system clock.
    pub fn running() -> Self {
        Self::with(None)
    }

    /// A clock that stands at `at` and moves only when told to.
    pub fn stopped(at: Time) -> Self {
        Self::with(Some(at))
    }

    fn with(stopped_at: Option<Time>) -> Self {
        Clock {
            state: Mutex::new(ClockState {
                offset: Duration::ZERO,
                stopped_at,
                latest: stopped_at.unwrap_or_default(),
            }),
            changed: Notify::new(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ClockState> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The time now.
    pub fn now(&self) -> Time {
        let mut s = self.lock();
        let now = s
            .stopped_at
            .unwrap_or_else(|| Time::system().plus(s.offset));
        // The system clock may step back; what was said once stays said.
        s.latest = s.latest.max(now);
        s.latest
    }

    /// Moves the time forward and wakes everybody who waits on it.
    pub fn advance(&self, by: Duration) {
        {
            let mut s = self.lock();
            match &mut s.stopped_at {
                Some(at) => *at = at.plus(by),
                None => s.offset = s.offset.saturating_add(by),
            }
        }
        self.changed.notify_waiters();
    }

    /// Stops the clock where it is.
    pub fn stop(&self) {
        let now = self.now();
        self.lock().stopped_at = Some(now);
        self.changed.notify_waiters();
    }

    /// Lets a stopped clock run on from where it stands, or from the system's time if that is later.
    pub fn resume(&self) {
        {
            let mut s = self.lock();
            if let Some(at) = s.stopped_at.take() {
                s.offset = at.since(Time::system());
            }
        }
        self.changed.notify_waiters();
    }

    /// Whether the clock is stopped.
    pub fn is_stopped(&self) -> bool {
        self.lock().stopped_at.is_some()
    }

    /// Returns once the clock shows `until` or later; never for `None`.
    pub async fn wait_until(&self, until: Option<Time>) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the time is read, so that no change falls between the two.
            changed.as_mut().enable();
            let now = self.now();
            match until {
                Some(t) if now >= t => return,
                Some(t) if !self.is_stopped() => {
                    // Bounded, because the system clock may be set.
                    let wait = t.since(now).min(Duration::from_secs(3600));
                    tokio::select! {
                        () = &mut changed => {}
                        () = tokio::time::sleep(wait) => {}
                    }
                }
                _ => changed.await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_clock_moves_only_when_told() {
        let clock = Clock::stopped(Time::from_secs(100));
        assert_eq!(clock.now(), Time::from_secs(100));
        clock.advance(Duration::from_secs(5));
        assert_eq!(clock.now(), Time::from_secs(105));
    }

    #[test]
    fn resuming_never_turns_time_back() {
        let clock = Clock::running();
        clock.advance(Duration::from_secs(3600));
        clock.stop();
        let stood = clock.now();
        clock.advance(Duration::from_secs(1));
        clock.resume();
        assert!(clock.now() >= stood.plus(Duration::from_secs(1)));
        assert!(clock.now() < stood.plus(Duration::from_secs(60)));
    }

    #[tokio::test]
    async fn waiting_ends_when_the_clock_is_moved() {
        let clock = std::sync::Arc::new(Clock::stopped(Time::from_secs(0)));
        let waiter = tokio::spawn({
            let clock = clock.clone();
            async move { clock.wait_until(Some(Time::from_secs(10))).await }
        });
        tokio::task::yield_now().await;
        clock.advance(Duration::from_secs(10));
        tokio::time::timeout(Duration::from_secs(5), waiter)
            .await
            .unwrap()
            .unwrap();
    }
}
