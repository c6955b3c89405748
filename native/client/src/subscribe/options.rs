//! The subscriber's options.

use std::time::Duration;

use crate::error::Error;
use crate::lease::{LeasePolicy, MAX_LEASE, MIN_LEASE};
use crate::options::Options;

/// How one subscriber reads. Each split has these bounds for itself.
#[derive(Debug, Clone, PartialEq)]
pub struct SubscriberOptions {
    /// Messages leased and unacknowledged.
    pub max_outstanding_messages: u64,
    /// The same in bytes of encoded messages.
    pub max_outstanding_bytes: u64,
    /// Bytes received and not yet fetched: the memory bound.
    pub max_buffered_bytes: u64,
    /// Streams a split.
    pub parallel_pull_count: u32,
    /// A message is leased for at most this long after its arrival.
    pub max_ack_extension: Duration,
    /// Bounds of one lease.
    pub leases: LeasePolicy,
    /// The most messages that small responses are merged to in one fetch.
    pub max_records_per_fetch: u32,
    /// Whether order per key is wanted; then a split has one stream.
    pub ordering: bool,
    /// Start of the stream's client id, which keeps the affinity of keys over reconnects.
    pub client_id_prefix: String,
    /// A stream that is silent for so long is opened again: it may be dead although its connection lives.
    pub idle_stream_timeout: Duration,
    /// A subscriber that could not connect even once for so long fails.
    pub connect_limit: Duration,
    /// One attempt at an Acknowledge or ModifyAckDeadline.
    pub request_timeout: Duration,
}

impl Default for SubscriberOptions {
    fn default() -> Self {
        Self {
            max_outstanding_messages: 100_000,
            max_outstanding_bytes: 1 << 30,
            max_buffered_bytes: 64 << 20,
            parallel_pull_count: 1,
            max_ack_extension: Duration::from_secs(3_600),
            leases: LeasePolicy::default(),
            max_records_per_fetch: 1_000,
            ordering: false,
            client_id_prefix: "flink".to_owned(),
            idle_stream_timeout: Duration::from_secs(300),
            connect_limit: Duration::from_secs(20),
            request_timeout: Duration::from_secs(20),
        }
    }
}

impl SubscriberOptions {
    /// Takes the subscriber's keys; `docs/boundary.md` lists them.
    pub fn take(options: &mut Options) -> Result<Self, Error> {
        let mut taken = Self::default();
        let set = |slot: &mut u64, value: Option<u64>| {
            if let Some(value) = value {
                *slot = value;
            }
        };
        let positive = 1..=i64::MAX as u64;
        let bound = |options: &mut Options, key| options.take_u64(key, positive.clone());
        set(
            &mut taken.max_outstanding_messages,
            bound(options, "max-outstanding-messages")?,
        );
        set(
            &mut taken.max_outstanding_bytes,
            bound(options, "max-outstanding-bytes")?,
        );
        set(
            &mut taken.max_buffered_bytes,
            bound(options, "max-buffered-bytes")?,
        );
        if let Some(count) = options.take_u64("parallel-pull-count", 1..=1_000)? {
            taken.parallel_pull_count = count as u32;
        }
        if let Some(count) = options.take_u64("max-records-per-fetch", 1..=1_000_000)? {
            taken.max_records_per_fetch = count as u32;
        }
        if let Some(limit) = options.take_millis("max-ack-extension-period-ms", 0..=u64::MAX)? {
            taken.max_ack_extension = limit;
        }
        set(
            &mut taken.leases.min,
            options.take_u64("min-duration-per-ack-extension-ms", MIN_LEASE..=MAX_LEASE)?,
        );
        set(
            &mut taken.leases.max,
            options.take_u64("max-duration-per-ack-extension-ms", MIN_LEASE..=MAX_LEASE)?,
        );
        if taken.leases.min > taken.leases.max {
            return Err(Error::option(
                "min-duration-per-ack-extension-ms",
                "above max-duration-per-ack-extension-ms",
            ));
        }
        taken.ordering = match options.take("ordering").as_deref() {
            None | Some("none") => false,
            Some("per-key") => true,
            Some(other) => {
                return Err(Error::option(
                    "ordering",
                    format!("'{other}' is neither none nor per-key"),
                ));
            }
        };
        if taken.ordering && taken.parallel_pull_count > 1 {
            return Err(Error::option(
                "parallel-pull-count",
                "order per key needs a single stream",
            ));
        }
        if let Some(limit) = options.take_millis("connect-limit-ms", 1..=u64::MAX)? {
            taken.connect_limit = limit;
        }
        if let Some(timeout) = options.take_millis("request-timeout-ms", 1..=u64::MAX)? {
            taken.request_timeout = timeout;
        }
        if let Some(prefix) = options.take("client-id-prefix") {
            taken.client_id_prefix = prefix;
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(pairs: &[(&str, &str)]) -> Result<SubscriberOptions, Error> {
        let pairs = pairs.iter().map(|&(k, v)| (k.to_owned(), v.to_owned()));
        let mut options = Options::from_pairs(pairs)?;
        let taken = SubscriberOptions::take(&mut options)?;
        options.finish()?;
        Ok(taken)
    }

    #[test]
    fn every_key_is_taken() {
        let options = taken(&[
            ("max-outstanding-messages", "5"),
            ("max-outstanding-bytes", "6"),
            ("max-buffered-bytes", "7"),
            ("parallel-pull-count", "3"),
            ("max-ack-extension-period-ms", "9000"),
            ("min-duration-per-ack-extension-ms", "11000"),
            ("max-duration-per-ack-extension-ms", "12000"),
            ("max-records-per-fetch", "13"),
            ("ordering", "none"),
            ("client-id-prefix", "job"),
            ("connect-limit-ms", "14"),
            ("request-timeout-ms", "15"),
        ])
        .unwrap();
        let expected = SubscriberOptions {
            max_outstanding_messages: 5,
            max_outstanding_bytes: 6,
            max_buffered_bytes: 7,
            parallel_pull_count: 3,
            max_ack_extension: Duration::from_secs(9),
            leases: LeasePolicy {
                min: 11_000,
                max: 12_000,
            },
            max_records_per_fetch: 13,
            ordering: false,
            client_id_prefix: "job".to_owned(),
            connect_limit: Duration::from_millis(14),
            request_timeout: Duration::from_millis(15),
            ..SubscriberOptions::default()
        };
        assert_eq!(options, expected);
        assert_eq!(taken(&[]).unwrap(), SubscriberOptions::default());
        assert!(taken(&[("ordering", "per-key")]).unwrap().ordering);
    }

    #[test]
    fn contradictions_name_the_option() {
        let refused = |pairs: &[(&str, &str)]| taken(pairs).unwrap_err().to_string();
        let parallel = refused(&[("ordering", "per-key"), ("parallel-pull-count", "2")]);
        assert!(parallel.contains("parallel-pull-count"), "{parallel}");
        assert!(refused(&[("ordering", "some")]).contains("ordering"));
        assert!(refused(&[("max-buffered-bytes", "0")]).contains("max-buffered-bytes"));
        let crossed = refused(&[
            ("min-duration-per-ack-extension-ms", "20000"),
            ("max-duration-per-ack-extension-ms", "10000"),
        ]);
        assert!(crossed.contains("min-duration-per-ack-extension-ms"));
    }
}
