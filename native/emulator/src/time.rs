//! Points in time as the server sees them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time: nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// The latest point that can be named (in the year 2262).
    pub const MAX: Time = Time(i64::MAX);

    /// The point `nanos` nanoseconds after the Unix epoch.
    pub const fn from_nanos(nanos: i64) -> Self {
        Time(nanos)
    }

    /// The point `secs` seconds after the Unix epoch.
    pub const fn from_secs(secs: i64) -> Self {
        Time(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// What the system clock says.
    pub fn system() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Time(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    }

    /// This point moved forward, at most to [`Time::MAX`].
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        let by = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
        Time(self.0.saturating_add(by))
    }

    /// This point moved back.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        let by = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
        Time(self.0.saturating_sub(by))
    }

    /// How long after `earlier` this is; zero when it is not.
    pub fn since(self, earlier: Time) -> Duration {
        u64::try_from(self.0.saturating_sub(earlier.0)).map_or(Duration::ZERO, Duration::from_nanos)
    }

    /// As the protobuf type.
    pub fn to_proto(self) -> prost_types::Timestamp {
        prost_types::Timestamp {
            seconds: self.0.div_euclid(1_000_000_000),
            nanos: i32::try_from(self.0.rem_euclid(1_000_000_000)).unwrap_or(0),
        }
    }

    /// From the protobuf type; `None` for values that are not a legal timestamp.
    pub fn from_proto(t: &prost_types::Timestamp) -> Option<Self> {
        // The range google.protobuf.Timestamp allows: years 1 to 9999.
        if !(-62_135_596_800..=253_402_300_799).contains(&t.seconds)
            || !(0..1_000_000_000).contains(&t.nanos)
        {
            return None;
        }
        let nanos = i128::from(t.seconds) * 1_000_000_000 + i128::from(t.nanos);
        Some(Time(
            nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64,
        ))
    }
}

/// From the protobuf type; `None` for negative or illegal durations.
pub fn duration_from_proto(d: &prost_types::Duration) -> Option<Duration> {
    let secs = u64::try_from(d.seconds).ok()?;
    let nanos = u32::try_from(d.nanos).ok().filter(|n| *n < 1_000_000_000)?;
    Some(Duration::new(secs, nanos))
}

/// As the protobuf type.
pub fn duration_to_proto(d: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(d.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(d.subsec_nanos()).unwrap_or(0),
    }
}
