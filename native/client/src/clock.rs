//! The clock of leases and streams, which tests can hold still.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::lease::Millis;

/// Milliseconds since some start.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Running(Instant),
    Stopped(watch::Receiver<Millis>),
}

/// Moves a clock that does not run by itself.
#[derive(Debug)]
pub struct Hands(watch::Sender<Millis>);

impl Clock {
    /// A clock that starts now.
    pub fn running() -> Self {
        Self(Kind::Running(Instant::now()))
    }

    /// A clock that shows 0 until it is moved.
    pub fn stopped() -> (Self, Hands) {
        let (hands, face) = watch::channel(0);
        (Self(Kind::Stopped(face)), Hands(hands))
    }

    pub(crate) fn now(&self) -> Millis {
        match &self.0 {
            Kind::Running(start) => start.elapsed().as_millis() as Millis,
            Kind::Stopped(face) => *face.borrow(),
        }
    }

    /// Returns at `until`, or when nobody can move the clock any more.
    pub(crate) async fn sleep_until(&self, until: Millis) {
        match &self.0 {
            Kind::Running(start) => {
                tokio::time::sleep_until(*start + Duration::from_millis(until)).await;
            }
            Kind::Stopped(face) => {
                let mut face = face.clone();
                let _ = face.wait_for(|&now| now >= until).await;
            }
        }
    }
}

impl Hands {
    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now += by.as_millis() as Millis);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stopped_clock_moves_when_it_is_told_to() {
        let (clock, hands) = Clock::stopped();
        assert_eq!(clock.now(), 0);
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep_until(1_500).await }
        });
        hands.advance(Duration::from_secs(1));
        assert_eq!(clock.now(), 1_000);
        assert!(!sleeper.is_finished());
        hands.advance(Duration::from_millis(500));
        sleeper.await.unwrap();
    }
}
