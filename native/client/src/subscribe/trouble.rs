//! Streams end all the time and nobody needs to know. That there is none for long is worth telling.

use std::time::Duration;

use tokio::time::Instant;

const LONG: Duration = Duration::from_secs(30);

/// Since when no stream of a kind has worked.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    since: Option<Instant>,
}

impl Trouble {
    /// A stream worked.
    pub(crate) fn over(&mut self) {
        self.since = None;
    }

    /// One has failed that was opened at `opened`. For how long it has been going on like this, when that is long.
    pub(crate) fn failed(&mut self, opened: Instant, now: Instant) -> Option<Duration> {
        let since = *self.since.get_or_insert(opened);
        Some(now - since).filter(|time| *time >= LONG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_told_when_it_has_lasted_and_until_it_is_over() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut trouble = Trouble::default();
        assert_eq!(trouble.failed(at(0), at(1)), None);
        assert_eq!(trouble.failed(at(28), at(29)), None);
        assert_eq!(
            trouble.failed(at(31), at(32)),
            Some(Duration::from_secs(32))
        );
        trouble.over();
        assert_eq!(trouble.failed(at(33), at(34)), None);
    }
}
