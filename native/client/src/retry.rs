//! When to try again, and how long to wait before.

use std::time::Duration;

use tonic::Code;

/// How the wait between attempts grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BackoffPolicy {
    /// The longest wait before the second attempt.
    pub initial: Duration,
    /// How much longer each further wait may be; at least 1.
    pub multiplier: f64,
    /// The longest wait of all.
    pub max: Duration,
}

/// The waits of one series of attempts. It has neither a clock nor a source of randomness.
#[derive(Debug, Clone)]
pub struct Backoff {
    policy: BackoffPolicy,
    ceiling: Duration,
}

impl Backoff {
    /// Starts at the policy's initial wait.
    pub fn new(policy: BackoffPolicy) -> Self {
        Self {
            policy,
            ceiling: policy.initial.min(policy.max),
        }
    }

    /// The next wait: between half of the current ceiling and the ceiling, where `random` in [0, 1)
    /// says. Half is kept so that a wait is a wait; the rest is spread so that clients which failed
    /// together do not come back together.
    pub fn next(&mut self, random: f64) -> Duration {
        let wait = self.ceiling.mul_f64(0.5 + 0.5 * random.clamp(0.0, 1.0));
        // In seconds, because a product of a long duration and a large multiplier may not fit.
        let grown = self.ceiling.as_secs_f64() * self.policy.multiplier.max(1.0);
        self.ceiling = if grown < self.policy.max.as_secs_f64() {
            Duration::from_secs_f64(grown)
        } else {
            self.policy.max
        };
        wait
    }

    /// Starts again, after an attempt went well.
    pub fn reset(&mut self) {
        self.ceiling = self.policy.initial.min(self.policy.max);
    }
}

/// A random number in [0, 1), for [`Backoff::next`].
pub fn random() -> f64 {
    fastrand::f64()
}

/// Whether a unary call that ended with this code is made again. Every call of this crate may be
/// repeated: a publish may then be doubled, which at-least-once delivery allows.
pub fn retryable_unary(code: Code) -> bool {
    matches!(
        code,
        Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Internal
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Cancelled
            | Code::Unknown
    )
}

/// Whether a stream that ended with this code is opened again. The service ends streams on purpose,
/// so all is retryable that does not say that the request itself is at fault.
pub fn retryable_stream(code: Code) -> bool {
    !matches!(
        code,
        Code::NotFound
            | Code::PermissionDenied
            | Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::Unauthenticated
            | Code::Unimplemented
            | Code::OutOfRange
            | Code::AlreadyExists
            | Code::DataLoss
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POLICY: BackoffPolicy = BackoffPolicy {
        initial: Duration::from_millis(100),
        multiplier: 4.0,
        max: Duration::from_secs(1),
    };

    #[test]
    fn waits_grow_to_the_maximum_and_start_again() {
        let mut backoff = Backoff::new(POLICY);
        let ms = |d: Duration| d.as_millis();
        assert_eq!(ms(backoff.next(0.0)), 50);
        assert_eq!(ms(backoff.next(0.0)), 200);
        assert_eq!(ms(backoff.next(0.5)), 750);
        assert_eq!(ms(backoff.next(0.5)), 750);
        backoff.reset();
        assert_eq!(ms(backoff.next(0.5)), 75);
    }

    proptest! {
        #[test]
        fn a_wait_stays_within_its_bounds(
            initial in 1u64..1_000_000,
            max in 1u64..u64::MAX / 2,
            multiplier in 0.0f64..1e9,
            randoms in proptest::collection::vec(0.0f64..1.0, 1..80),
        ) {
            let policy = BackoffPolicy {
                initial: Duration::from_millis(initial),
                multiplier,
                max: Duration::from_millis(max),
            };
            let mut backoff = Backoff::new(policy);
            for random in randoms {
                let wait = backoff.next(random);
                prop_assert!(wait <= policy.max);
                prop_assert!(wait >= policy.initial.min(policy.max) / 2);
            }
        }
    }

    #[test]
    fn faults_of_the_request_are_final() {
        for code in [
            Code::NotFound,
            Code::PermissionDenied,
            Code::InvalidArgument,
            Code::FailedPrecondition,
            Code::Unauthenticated,
        ] {
            assert!(
                !retryable_unary(code) && !retryable_stream(code),
                "{code:?}"
            );
        }
        for code in [
            Code::Unavailable,
            Code::Internal,
            Code::ResourceExhausted,
            Code::Aborted,
        ] {
            assert!(retryable_unary(code) && retryable_stream(code), "{code:?}");
        }
    }
}
