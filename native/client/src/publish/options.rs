//! What a publisher can be told.

use std::time::Duration;

use crate::error::Error;
use crate::options::Options;
use crate::retry::BackoffPolicy;

/// The most messages the service takes in one request.
pub const MAX_REQUEST_MESSAGES: u64 = 1_000;
/// The most bytes the service takes in one encoded request.
pub const MAX_REQUEST_BYTES: u64 = 10_000_000;

const DAY: u64 = 24 * 60 * 60 * 1000;
/// Durations that have no natural end; about a year.
const LONG: u64 = 400 * DAY;

/// How to batch, retry and create topics. [`PublisherOptions::default`] holds the defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct PublisherOptions {
    /// Messages of a request: at most so many.
    pub batch_messages: usize,
    /// Bytes of an encoded request: at most so many, unless one message alone is larger.
    pub batch_bytes: usize,
    /// How long a message waits for others.
    pub batch_delay: Duration,
    /// Whether messages may carry an ordering key.
    pub ordering: bool,
    /// Messages in flight at which waiting for others ends and the writer should stop.
    pub max_in_flight_messages: u64,
    /// The same in bytes.
    pub max_in_flight_bytes: u64,
    /// Topics whose state is kept although they have nothing in flight: at most so many.
    pub max_active_topics: usize,
    /// How long the state of a topic with nothing in flight is kept.
    pub topic_idle_timeout: Duration,
    /// The waits between attempts of one request.
    pub retry: BackoffPolicy,
    /// How long one request is tried.
    pub retry_total_timeout: Duration,
    /// How long one attempt may take.
    pub request_timeout: Duration,
    /// The waits while a topic is being created and becomes known.
    pub recovery: BackoffPolicy,
    /// How often creating a topic, and then publishing to it, is tried.
    pub recovery_max_attempts: u32,
    /// How long nothing may complete while something is in flight.
    pub progress_timeout: Duration,
    /// Requests of at least so many encoded bytes are compressed; `None` compresses none.
    pub compression_threshold: Option<usize>,
    /// Whether a request refused with `INVALID_ARGUMENT` is sent again one message at a time.
    pub isolate_rejected: bool,
    /// How to create a topic that is missing; `None` fails instead.
    pub create_topics: Option<TopicSettings>,
}

/// Settings of topics that are created; what is not set is left to the service.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TopicSettings {
    /// How long the topic keeps messages.
    pub message_retention: Option<Duration>,
    /// The Cloud KMS key that protects messages.
    pub kms_key_name: Option<String>,
    /// The regions in which messages may be stored; empty leaves it to the organization's policy.
    pub allowed_regions: Vec<String>,
    /// Whether these regions also bind messages in transit.
    pub enforce_in_transit: bool,
    /// Labels, as pairs of name and value.
    pub labels: Vec<(String, String)>,
}

impl Default for PublisherOptions {
    fn default() -> Self {
        Self {
            batch_messages: 1_000,
            batch_bytes: 1 << 20,
            batch_delay: Duration::from_millis(10),
            ordering: false,
            max_in_flight_messages: 100_000,
            max_in_flight_bytes: 64 << 20,
            max_active_topics: 1_000,
            topic_idle_timeout: Duration::from_secs(300),
            retry: BackoffPolicy {
                initial: Duration::from_millis(100),
                multiplier: 4.0,
                max: Duration::from_secs(60),
            },
            retry_total_timeout: Duration::from_secs(600),
            request_timeout: Duration::from_secs(60),
            recovery: BackoffPolicy {
                initial: Duration::from_millis(500),
                multiplier: 2.0,
                max: Duration::from_secs(10),
            },
            recovery_max_attempts: 10,
            progress_timeout: Duration::from_secs(600),
            compression_threshold: None,
            isolate_rejected: false,
            create_topics: Some(TopicSettings::default()),
        }
    }
}

impl PublisherOptions {
    /// Takes the publisher keys; what is not given has its default.
    pub fn take(options: &mut Options) -> Result<Self, Error> {
        let mut it = Self::default();
        let set = |value: Option<Duration>, target: &mut Duration| {
            if let Some(value) = value {
                *target = value;
            }
        };
        if let Some(n) = options.take_u64("batch-element-count", 1..=MAX_REQUEST_MESSAGES)? {
            it.batch_messages = n as usize;
        }
        if let Some(n) = options.take_u64("batch-request-bytes", 1..=MAX_REQUEST_BYTES)? {
            it.batch_bytes = n as usize;
        }
        set(
            options.take_millis("batch-delay-ms", 0..=DAY)?,
            &mut it.batch_delay,
        );
        if let Some(on) = options.take_bool("ordering")? {
            it.ordering = on;
        }
        if let Some(n) = options.take_u64("max-in-flight-messages", 1..=u64::MAX)? {
            it.max_in_flight_messages = n;
        }
        if let Some(n) = options.take_u64("max-in-flight-bytes", 1..=u64::MAX)? {
            it.max_in_flight_bytes = n;
        }
        if let Some(n) = options.take_u64("max-active-topics", 1..=u64::from(u32::MAX))? {
            it.max_active_topics = n as usize;
        }
        let idle = options.take_millis("topic-idle-timeout-ms", 1..=LONG)?;
        set(idle, &mut it.topic_idle_timeout);
        set(
            options.take_millis("retry-initial-delay-ms", 1..=DAY)?,
            &mut it.retry.initial,
        );
        if let Some(x) = options.take_f64("retry-multiplier", 1.0..=1e6)? {
            it.retry.multiplier = x;
        }
        set(
            options.take_millis("retry-max-delay-ms", 1..=DAY)?,
            &mut it.retry.max,
        );
        let total = options.take_millis("retry-total-timeout-ms", 0..=LONG)?;
        set(total, &mut it.retry_total_timeout);
        set(
            options.take_millis("request-timeout-ms", 1..=DAY)?,
            &mut it.request_timeout,
        );
        let initial = options.take_millis("recovery-initial-backoff-ms", 1..=DAY)?;
        set(initial, &mut it.recovery.initial);
        set(
            options.take_millis("recovery-max-backoff-ms", 1..=DAY)?,
            &mut it.recovery.max,
        );
        let attempts = options.take_u64("recovery-max-attempts", 1..=u64::from(u32::MAX))?;
        if let Some(n) = attempts {
            it.recovery_max_attempts = n as u32;
        }
        set(
            options.take_millis("progress-timeout-ms", 1..=LONG)?,
            &mut it.progress_timeout,
        );
        if let Some(n) = options.take_i64("compression-threshold-bytes", -1..=i64::MAX)? {
            it.compression_threshold = usize::try_from(n).ok();
        }
        if let Some(on) = options.take_bool("isolate-rejected")? {
            it.isolate_rejected = on;
        }
        let create = options.take_bool("create-topics")?.unwrap_or(true);
        let settings = TopicSettings::take(options)?;
        if !create && settings != TopicSettings::default() {
            return Err(Error::option(
                "create-topics",
                "topic settings, but topics are not created",
            ));
        }
        it.create_topics = create.then_some(settings);
        for (key, policy) in [
            ("retry-initial-delay-ms", &it.retry),
            ("recovery-initial-backoff-ms", &it.recovery),
        ] {
            if policy.initial > policy.max {
                return Err(Error::option(key, "above the longest delay"));
            }
        }
        Ok(it)
    }
}

impl TopicSettings {
    fn take(options: &mut Options) -> Result<Self, Error> {
        let regions = options.take("topic.allowed-regions");
        let allowed_regions: Vec<String> = match &regions {
            Some(list) => list.split(',').map(|r| r.trim().to_owned()).collect(),
            None => Vec::new(),
        };
        if allowed_regions.iter().any(String::is_empty) {
            return Err(Error::option("topic.allowed-regions", "a blank region"));
        }
        let enforce_in_transit = options.take_bool("topic.enforce-in-transit")?;
        if enforce_in_transit == Some(true) && allowed_regions.is_empty() {
            return Err(Error::option(
                "topic.enforce-in-transit",
                "needs 'topic.allowed-regions'",
            ));
        }
        Ok(Self {
            message_retention: options.take_millis("topic.message-retention-ms", 1..=LONG)?,
            kms_key_name: options.take("topic.kms-key-name"),
            allowed_regions,
            enforce_in_transit: enforce_in_transit.unwrap_or(false),
            labels: options.take_prefixed("topic.label."),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(pairs: &[(&str, &str)]) -> Result<PublisherOptions, String> {
        let pairs = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let mut options = Options::from_pairs(pairs).unwrap();
        let taken = PublisherOptions::take(&mut options).map_err(|e| e.to_string())?;
        options.finish().map_err(|e| e.to_string())?;
        Ok(taken)
    }

    #[test]
    fn every_key_arrives_where_it_belongs() {
        let ms = Duration::from_millis;
        let taken = take(&[
            ("batch-element-count", "2"),
            ("batch-request-bytes", "3"),
            ("batch-delay-ms", "4"),
            ("ordering", "true"),
            ("max-in-flight-messages", "5"),
            ("max-in-flight-bytes", "6"),
            ("max-active-topics", "7"),
            ("topic-idle-timeout-ms", "8"),
            ("retry-initial-delay-ms", "9"),
            ("retry-multiplier", "1.5"),
            ("retry-max-delay-ms", "10"),
            ("retry-total-timeout-ms", "11"),
            ("request-timeout-ms", "12"),
            ("recovery-initial-backoff-ms", "13"),
            ("recovery-max-backoff-ms", "14"),
            ("recovery-max-attempts", "15"),
            ("progress-timeout-ms", "16"),
            ("compression-threshold-bytes", "0"),
            ("isolate-rejected", "true"),
            ("create-topics", "true"),
            ("topic.message-retention-ms", "17"),
            ("topic.kms-key-name", "k"),
            ("topic.allowed-regions", "a, b"),
            ("topic.enforce-in-transit", "true"),
            ("topic.label.x", "y"),
        ]);
        let expected = PublisherOptions {
            batch_messages: 2,
            batch_bytes: 3,
            batch_delay: ms(4),
            ordering: true,
            max_in_flight_messages: 5,
            max_in_flight_bytes: 6,
            max_active_topics: 7,
            topic_idle_timeout: ms(8),
            retry: BackoffPolicy {
                initial: ms(9),
                multiplier: 1.5,
                max: ms(10),
            },
            retry_total_timeout: ms(11),
            request_timeout: ms(12),
            recovery: BackoffPolicy {
                initial: ms(13),
                multiplier: 2.0,
                max: ms(14),
            },
            recovery_max_attempts: 15,
            progress_timeout: ms(16),
            compression_threshold: Some(0),
            isolate_rejected: true,
            create_topics: Some(TopicSettings {
                message_retention: Some(ms(17)),
                kms_key_name: Some("k".into()),
                allowed_regions: vec!["a".into(), "b".into()],
                enforce_in_transit: true,
                labels: vec![("x".into(), "y".into())],
            }),
        };
        assert_eq!(taken.unwrap(), expected);
    }

    #[test]
    fn nothing_given_means_the_defaults() {
        assert_eq!(take(&[]).unwrap(), PublisherOptions::default());
        let never = take(&[
            ("create-topics", "false"),
            ("compression-threshold-bytes", "-1"),
        ]);
        let never = never.unwrap();
        assert_eq!(never.create_topics, None);
        assert_eq!(never.compression_threshold, None);
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_name() {
        for (pairs, error) in [
            (
                &[("batch-element-count", "1001")][..],
                "option 'batch-element-count': 1001 is not within 1 to 1000",
            ),
            (
                &[("batch-request-bytes", "10000001")],
                "option 'batch-request-bytes': 10000001 is not within 1 to 10000000",
            ),
            (
                &[("create-topics", "false"), ("topic.label.a", "b")],
                "option 'create-topics': topic settings, but topics are not created",
            ),
            (
                &[("topic.enforce-in-transit", "true")],
                "option 'topic.enforce-in-transit': needs 'topic.allowed-regions'",
            ),
            (
                &[("topic.allowed-regions", "a,,b")],
                "option 'topic.allowed-regions': a blank region",
            ),
            (
                &[("retry-initial-delay-ms", "2"), ("retry-max-delay-ms", "1")],
                "option 'retry-initial-delay-ms': above the longest delay",
            ),
            (&[("topic.colour", "red")], "option 'topic.colour': unknown"),
        ] {
            assert_eq!(take(pairs).unwrap_err(), error);
        }
    }
}
