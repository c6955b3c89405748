//! How long leases are.
//!
//! The first lease is the stream's ack deadline, later ones are extensions. Both follow the time for which messages are
//! really held, so that most messages need no extension and a crashed task does not keep its messages for long.

/// Milliseconds on the caller's clock.
pub type Millis = u64;

/// The service's shortest ack deadline.
pub const MIN_LEASE: Millis = 10_000;
/// The service's longest ack deadline.
pub const MAX_LEASE: Millis = 600_000;
/// The shortest lease that exactly-once subscriptions want.
pub const MIN_EXACTLY_ONCE_LEASE: Millis = 60_000;
/// The lease while nothing is known yet.
const FIRST_LEASE: Millis = 60_000;

const BUCKETS: usize = 601;
/// Above this sum all counts are halved, so that the newest holds weigh most.
const MEMORY: u64 = 4_000_000;

/// A histogram of hold times in whole seconds.
#[derive(Debug)]
pub struct HoldTimes {
    buckets: Box<[u64]>,
    total: u64,
}

impl Default for HoldTimes {
    fn default() -> Self {
        HoldTimes {
            buckets: vec![0; BUCKETS].into(),
            total: 0,
        }
    }
}

impl HoldTimes {
    /// `messages` messages were held for `held`.
    pub fn record(&mut self, held: Millis, messages: u64) {
        let bucket = usize::try_from(held.div_ceil(1_000))
            .unwrap_or(BUCKETS)
            .min(BUCKETS - 1);
        self.buckets[bucket] += messages;
        self.total += messages;
        if self.total > MEMORY {
            self.buckets.iter_mut().for_each(|count| *count /= 2);
            self.total = self.buckets.iter().sum();
        }
    }

    /// The time within which 99 of 100 messages were let go; `None` while nothing was recorded.
    pub fn most(&self) -> Option<Millis> {
        let enough = self.total - self.total / 100;
        let mut sum = 0;
        self.buckets
            .iter()
            .position(|count| {
                sum += count;
                sum >= enough && enough > 0
            })
            .map(|seconds| seconds as Millis * 1_000)
    }
}

/// The bounds within which leases follow the hold times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeasePolicy {
    /// Shortest lease.
    pub min: Millis,
    /// Longest lease.
    pub max: Millis,
}

impl Default for LeasePolicy {
    fn default() -> Self {
        LeasePolicy {
            min: MIN_LEASE,
            max: MAX_LEASE,
        }
    }
}

impl LeasePolicy {
    /// The lease for messages that arrive, or are extended, now: the usual hold time and half as much again, so that the
    /// usual message is acked before its lease comes up for extension.
    pub fn lease(&self, holds: &HoldTimes, exactly_once: bool) -> Millis {
        let wanted = holds
            .most()
            .map_or(FIRST_LEASE, |most| most + most / 2 + MIN_LEASE / 2);
        let min = if exactly_once {
            self.min.max(MIN_EXACTLY_ONCE_LEASE)
        } else {
            self.min
        };
        let lease = wanted.clamp(min, self.max.max(min));
        lease.clamp(MIN_LEASE, MAX_LEASE).next_multiple_of(1_000)
    }

    /// How long before its end a lease is extended: time for some retries.
    pub fn margin(lease: Millis) -> Millis {
        (lease / 3).clamp(3_000, 20_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lease_follows_the_holds_within_its_bounds() {
        let policy = LeasePolicy::default();
        let mut holds = HoldTimes::default();
        assert_eq!(policy.lease(&holds, false), 60_000);
        holds.record(900, 990);
        holds.record(500_000, 10);
        assert_eq!(holds.most(), Some(1_000));
        assert_eq!(policy.lease(&holds, false), 10_000);
        assert_eq!(policy.lease(&holds, true), 60_000);
        holds.record(30_000, 1_000);
        assert_eq!(policy.lease(&holds, false), 50_000);
        assert_eq!(
            LeasePolicy {
                min: 10_000,
                max: 20_000
            }
            .lease(&holds, false),
            20_000
        );
        assert_eq!(
            LeasePolicy {
                min: 10_000,
                max: 20_000
            }
            .lease(&holds, true),
            60_000
        );
        holds.record(Millis::MAX, 1_000_000);
        assert_eq!(policy.lease(&holds, false), 600_000);
    }

    #[test]
    fn old_holds_are_forgotten() {
        let mut holds = HoldTimes::default();
        holds.record(100_000, MEMORY);
        assert_eq!(holds.most(), Some(100_000));
        for _ in 0..1_000 {
            holds.record(5_000, 100_000);
        }
        assert_eq!(holds.most(), Some(5_000));
    }

    #[test]
    fn a_lease_is_extended_before_it_ends() {
        assert_eq!(LeasePolicy::margin(10_000), 3_333);
        assert_eq!(LeasePolicy::margin(600_000), 20_000);
    }
}
