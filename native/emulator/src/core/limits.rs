//! The limits of the service, each in one place.
//! Source: the quotas page and the field descriptions of `google.pubsub.v1`.

use std::time::Duration;

/// Data of one message.
pub const MESSAGE_DATA_BYTES: usize = 10_000_000;
/// Attributes of one message.
pub const ATTRIBUTES: usize = 100;
/// UTF-8 bytes of an attribute's key.
pub const ATTRIBUTE_KEY_BYTES: usize = 256;
/// UTF-8 bytes of an attribute's value.
pub const ATTRIBUTE_VALUE_BYTES: usize = 1024;
/// UTF-8 bytes of an ordering key.
pub const ORDERING_KEY_BYTES: usize = 1024;
/// Messages of one Publish request.
pub const PUBLISH_MESSAGES: usize = 1000;
/// Encoded bytes of one Publish request.
pub const PUBLISH_BYTES: usize = 10 * 1024 * 1024;
/// Encoded bytes of one Acknowledge or ModifyAckDeadline request.
pub const ACK_REQUEST_BYTES: usize = 524_288;
/// Seconds of an ack deadline: at least, at most.
pub const ACK_DEADLINE_SECS: (i32, i32) = (10, 600);
/// Ack deadline of a subscription that names none.
pub const DEFAULT_ACK_DEADLINE_SECS: i32 = 10;
/// Bytes of a filter.
pub const FILTER_BYTES: usize = 256;
/// Delivery attempts before dead-lettering: at least, at most.
pub const DELIVERY_ATTEMPTS: (i32, i32) = (5, 100);
/// Delivery attempts of a dead-letter policy that names none.
pub const DEFAULT_DELIVERY_ATTEMPTS: i32 = 5;
/// Retention on a subscription: at least, at most.
pub const SUBSCRIPTION_RETENTION: (Duration, Duration) = (Duration::from_secs(600), days(31));
/// Retention on a topic: at least, at most.
pub const TOPIC_RETENTION: (Duration, Duration) = (Duration::from_secs(600), days(31));
/// Retention of a subscription that names none.
pub const DEFAULT_RETENTION: Duration = days(7);
/// Expiration of a subscription: at least.
pub const MIN_EXPIRATION: Duration = days(1);
/// Expiration of a subscription that names none.
pub const DEFAULT_EXPIRATION: Duration = days(31);
/// Backoff of a retry policy: at most.
pub const MAX_BACKOFF: Duration = Duration::from_secs(600);
/// Minimum backoff of a retry policy that names none.
pub const DEFAULT_MIN_BACKOFF: Duration = Duration::from_secs(10);
/// Lifetime of a snapshot, less the age of its oldest message.
pub const SNAPSHOT_LIFETIME: Duration = days(7);
/// A snapshot that would live shorter than this is refused.
pub const MIN_SNAPSHOT_LIFETIME: Duration = Duration::from_secs(3600);
/// Labels of a resource.
pub const LABELS: usize = 64;
/// Entries of a page when the request names no size, and at most.
pub const PAGE_SIZE: usize = 1000;

const fn days(n: u64) -> Duration {
    Duration::from_secs(n * 86_400)
}
