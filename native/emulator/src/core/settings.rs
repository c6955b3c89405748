//! A subscription's configuration: what is legal, what it defaults to, what it means.

use std::time::Duration;

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1::{
    DeadLetterPolicy, ExpirationPolicy, RetryPolicy, Subscription as Proto, subscription,
};

use super::error::{Error, Result};
use super::filter::Filter;
use super::limits;
use super::names::{self, Kind};
use super::validate;
use crate::time::{duration_from_proto, duration_to_proto};

/// What a subscription's configuration means.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub ack_deadline: Duration,
    pub retention: Duration,
    pub retain_acked: bool,
    pub ordered: bool,
    pub exactly_once: bool,
    pub filter: Option<Filter>,
    pub dead_letter: Option<DeadLetter>,
    pub retry: Option<Backoff>,
    /// `None`: never expires.
    pub expiration: Option<Duration>,
}

#[derive(Clone, Debug)]
pub(crate) struct DeadLetter {
    pub topic: String,
    pub attempts: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    pub min: Duration,
    pub max: Duration,
}

impl Backoff {
    /// The rest before the delivery after the `attempts`-th one.
    pub fn after(&self, attempts: u32) -> Duration {
        let factor = 1u32
            .checked_shl(attempts.saturating_sub(1))
            .unwrap_or(u32::MAX);
        self.min.saturating_mul(factor).min(self.max)
    }
}

impl Settings {
    /// Checks a configuration, fills in its defaults and says what it means.
    pub fn of(proto: &mut Proto) -> Result<Settings> {
        names::check("subscription.name", Kind::Subscription, &proto.name)?;
        refuse_what_is_left_out(proto)?;
        if proto.ack_deadline_seconds == 0 {
            proto.ack_deadline_seconds = limits::DEFAULT_ACK_DEADLINE_SECS;
        }
        validate::ack_deadline(
            "subscription.ack_deadline_seconds",
            proto.ack_deadline_seconds,
        )?;
        let retention = validate::duration_in(
            "subscription.message_retention_duration",
            proto
                .message_retention_duration
                .get_or_insert(duration_to_proto(limits::DEFAULT_RETENTION)),
            limits::SUBSCRIPTION_RETENTION,
        )?;
        validate::labels("subscription.labels", &proto.labels)?;
        let filter = if proto.filter.is_empty() {
            None
        } else if proto.filter.len() > limits::FILTER_BYTES {
            let problem = format!(
                "has {} bytes, at most {} are allowed",
                proto.filter.len(),
                limits::FILTER_BYTES
            );
            return Err(Error::invalid("subscription.filter", problem));
        } else {
            Some(
                Filter::parse(&proto.filter)
                    .map_err(|e| Error::invalid("subscription.filter", e))?,
            )
        };
        proto.state = subscription::State::Active.into();
        proto.detached = false;
        Ok(Settings {
            ack_deadline: Duration::from_secs(proto.ack_deadline_seconds as u64),
            retention,
            retain_acked: proto.retain_acked_messages,
            ordered: proto.enable_message_ordering,
            exactly_once: proto.enable_exactly_once_delivery,
            filter,
            dead_letter: proto
                .dead_letter_policy
                .as_mut()
                .map(dead_letter)
                .transpose()?,
            retry: proto.retry_policy.as_mut().map(backoff).transpose()?,
            expiration: expiration(&mut proto.expiration_policy)?,
        })
    }
}

fn refuse_what_is_left_out(proto: &Proto) -> Result<()> {
    if proto
        .push_config
        .as_ref()
        .is_some_and(|push| !push.push_endpoint.is_empty())
    {
        return Err(Error::unimplemented(
            "Push delivery (subscription.push_config)",
        ));
    }
    if proto.bigquery_config.is_some() {
        return Err(Error::unimplemented(
            "Export to BigQuery (subscription.bigquery_config)",
        ));
    }
    if proto.cloud_storage_config.is_some() {
        return Err(Error::unimplemented(
            "Export to Cloud Storage (subscription.cloud_storage_config)",
        ));
    }
    if proto.bigtable_config.is_some() {
        return Err(Error::unimplemented(
            "Export to Bigtable (subscription.bigtable_config)",
        ));
    }
    if !proto.message_transforms.is_empty() {
        return Err(Error::unimplemented(
            "Message transformation (subscription.message_transforms)",
        ));
    }
    Ok(())
}

fn dead_letter(policy: &mut DeadLetterPolicy) -> Result<DeadLetter> {
    names::check(
        "subscription.dead_letter_policy.dead_letter_topic",
        Kind::Topic,
        &policy.dead_letter_topic,
    )?;
    if policy.max_delivery_attempts == 0 {
        policy.max_delivery_attempts = limits::DEFAULT_DELIVERY_ATTEMPTS;
    }
    let (min, max) = limits::DELIVERY_ATTEMPTS;
    if !(min..=max).contains(&policy.max_delivery_attempts) {
        return Err(Error::invalid(
            "subscription.dead_letter_policy.max_delivery_attempts",
            format!(
                "{} is not within {min} and {max}",
                policy.max_delivery_attempts
            ),
        ));
    }
    Ok(DeadLetter {
        topic: policy.dead_letter_topic.clone(),
        attempts: policy.max_delivery_attempts as u32,
    })
}

fn backoff(policy: &mut RetryPolicy) -> Result<Backoff> {
    let range = (Duration::ZERO, limits::MAX_BACKOFF);
    let min = validate::duration_in(
        "subscription.retry_policy.minimum_backoff",
        policy
            .minimum_backoff
            .get_or_insert(duration_to_proto(limits::DEFAULT_MIN_BACKOFF)),
        range,
    )?;
    let max = validate::duration_in(
        "subscription.retry_policy.maximum_backoff",
        policy
            .maximum_backoff
            .get_or_insert(duration_to_proto(limits::MAX_BACKOFF)),
        range,
    )?;
    if min > max {
        return Err(Error::invalid(
            "subscription.retry_policy.minimum_backoff",
            "is longer than retry_policy.maximum_backoff",
        ));
    }
    Ok(Backoff { min, max })
}

fn expiration(policy: &mut Option<ExpirationPolicy>) -> Result<Option<Duration>> {
    let default = || ExpirationPolicy {
        ttl: Some(duration_to_proto(limits::DEFAULT_EXPIRATION)),
    };
    let Some(ttl) = policy.get_or_insert_with(default).ttl else {
        return Ok(None);
    };
    match duration_from_proto(&ttl).filter(|ttl| *ttl >= limits::MIN_EXPIRATION) {
        Some(ttl) => Ok(Some(ttl)),
        None => Err(Error::invalid(
            "subscription.expiration_policy.ttl",
            "must be at least one day",
        )),
    }
}
