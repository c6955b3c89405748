//! The data plane of subscriptions: streams, pulls, acks and deadlines.

use std::time::Duration;

use super::ack_id;
use super::error::{Error, Result};
use super::lease::LeaseId;
use super::names::{self, Kind};
use super::stream::{StreamId, StreamOptions};
use super::subscription::Delivery;
use super::{State, limits, validate};
use crate::time::Time;

/// An open stream and what its client must know about the subscription.
#[derive(Clone, Copy, Debug)]
pub struct StreamRef {
    /// The subscription's number.
    pub subscription: u32,
    /// The stream, within its subscription.
    pub stream: StreamId,
}

/// What came of an Acknowledge or ModifyAckDeadline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AckResult {
    /// Whether the subscription promises exactly-once delivery; only then failures are reported.
    pub exactly_once: bool,
    /// Ids that had an effect.
    pub done: usize,
    /// Positions of the ids that had none.
    pub failed: Vec<usize>,
}

/// Checks the ack deadline that a stream asks for.
pub fn check_stream_deadline(secs: i32) -> Result<()> {
    validate::ack_deadline("stream_ack_deadline_seconds", secs)
}

impl State {
    fn consumable(&self, name: &str) -> Result<u32> {
        let subscription = self.subscription(name)?;
        if subscription.proto.detached {
            return Err(Error::precondition(format!(
                "The subscription is detached (resource={name})."
            )));
        }
        Ok(subscription.id)
    }

    /// Opens a streaming pull.
    pub fn open_stream(
        &mut self,
        subscription: &str,
        options: StreamOptions,
        now: Time,
    ) -> Result<StreamRef> {
        names::check("subscription", Kind::Subscription, subscription)?;
        let id = self.consumable(subscription)?;
        let stream = self.with(id, now, |s| s.open_stream(options, now));
        let stream = stream.ok_or_else(|| Error::not_found(subscription))?;
        Ok(StreamRef {
            subscription: id,
            stream,
        })
    }

    /// Closes a streaming pull; its leases live on.
    pub fn close_stream(&mut self, stream: StreamRef, now: Time) {
        self.with(stream.subscription, now, |s| {
            s.close_stream(stream.stream, now)
        });
    }

    /// Sets the lease of what is delivered on a stream from now on.
    pub fn set_stream_deadline(&mut self, stream: StreamRef, deadline: Duration, now: Time) {
        self.with(stream.subscription, now, |s| {
            s.stream_deadline(stream.stream, deadline)
        });
    }

    /// Whether the subscription of a stream promises exactly-once delivery and order.
    pub fn stream_properties(&self, stream: StreamRef) -> Option<(bool, bool)> {
        let settings = &self.subscriptions.get(&stream.subscription)?.settings;
        Some((settings.exactly_once, settings.ordered))
    }

    /// Whether delivery attempts are reported: only with a dead-letter policy.
    pub fn reports_attempts(&self, subscription: u32) -> bool {
        self.subscriptions
            .get(&subscription)
            .is_some_and(|s| s.settings.dead_letter.is_some())
    }

    /// What a stream may deliver now, up to `max_messages` and about `max_bytes`.
    pub fn take_for_stream(
        &mut self,
        stream: StreamRef,
        max_messages: usize,
        max_bytes: usize,
        now: Time,
    ) -> Result<Vec<Delivery>> {
        let subscription = self.subscriptions.get(&stream.subscription);
        let detached = subscription.is_some_and(|s| s.proto.detached);
        if detached {
            return Err(Error::precondition("The subscription was detached."));
        }
        self.with(stream.subscription, now, |s| {
            s.take_for_stream(stream.stream, max_messages, max_bytes, now)
        })
        .ok_or_else(Error::deleted)
    }

    /// What a unary pull gets, and the number of its subscription.
    pub fn pull(
        &mut self,
        subscription: &str,
        max_messages: usize,
        max_bytes: usize,
        now: Time,
    ) -> Result<(u32, Vec<Delivery>)> {
        names::check("subscription", Kind::Subscription, subscription)?;
        let id = self.consumable(subscription)?;
        let deliveries = self.with(id, now, |s| s.take_for_pull(max_messages, max_bytes, now));
        Ok((id, deliveries.unwrap_or_default()))
    }

    /// Acks deliveries.
    pub fn acknowledge<I: AsRef<[u8]>>(
        &mut self,
        subscription: &str,
        ids: &[I],
        now: Time,
    ) -> Result<AckResult> {
        self.answer(subscription, ids, now, |s, lease, _| s.ack(lease))
    }

    /// Extends the leases of deliveries by `secs` from now; zero nacks them.
    pub fn modify_ack_deadline<I: AsRef<[u8]>>(
        &mut self,
        subscription: &str,
        ids: &[I],
        secs: i32,
        now: Time,
    ) -> Result<AckResult> {
        let max = limits::ACK_DEADLINE_SECS.1;
        if !(0..=max).contains(&secs) {
            return Err(Error::invalid(
                "ack_deadline_seconds",
                format!("{secs} s is not within 0 s and {max} s"),
            ));
        }
        let deadline = now.plus(Duration::from_secs(secs as u64));
        self.answer(subscription, ids, now, |s, lease, now| {
            if secs == 0 {
                s.nack(lease, now)
            } else {
                s.extend(lease, deadline)
            }
        })
    }

    fn answer<I: AsRef<[u8]>>(
        &mut self,
        subscription: &str,
        ids: &[I],
        now: Time,
        work: impl Fn(&mut super::subscription::Subscription, LeaseId, Time) -> bool,
    ) -> Result<AckResult> {
        names::check("subscription", Kind::Subscription, subscription)?;
        let id = self.consumable(subscription)?;
        if ids.is_empty() {
            return Err(Error::invalid("ack_ids", "the request holds no ack id"));
        }
        let exactly_once = self
            .subscriptions
            .get(&id)
            .is_some_and(|s| s.settings.exactly_once);
        let mut leases = Vec::with_capacity(ids.len());
        for (i, ack_id) in ids.iter().enumerate() {
            // An id of another subscription, perhaps a deleted one of the same name, has ended.
            match ack_id::parse(ack_id.as_ref()) {
                Some((owner, lease)) => leases.push((owner == id).then_some(lease)),
                None if exactly_once => leases.push(None),
                None => {
                    let shown = String::from_utf8_lossy(ack_id.as_ref());
                    let shown: String = shown.chars().take(100).collect();
                    return Err(Error::invalid(
                        &format!("ack_ids[{i}]"),
                        format!(
                            "You have passed an invalid ack ID to the service (ack_id={shown})."
                        ),
                    ));
                }
            }
        }
        let result = self.with(id, now, |s| {
            s.last_active = now;
            let mut result = AckResult {
                exactly_once,
                ..AckResult::default()
            };
            for (i, lease) in leases.into_iter().enumerate() {
                if lease.is_some_and(|lease| work(s, lease, now)) {
                    result.done += 1;
                } else {
                    result.failed.push(i);
                }
            }
            result
        });
        Ok(result.unwrap_or_default())
    }

    /// Gives deliveries new ack ids, as a redelivery of a copy would; returns the new ones.
    pub fn rename_leases(
        &mut self,
        subscription: u32,
        leases: &[LeaseId],
        now: Time,
    ) -> Vec<Option<LeaseId>> {
        let renamed = self.with(subscription, now, |s| {
            leases.iter().map(|lease| s.rename_lease(*lease)).collect()
        });
        renamed.unwrap_or_default()
    }

    /// Ends the leases of a subscription's messages as if their deadlines had passed: of those with
    /// the given numbers, or of all. Returns how many ended.
    pub fn expire_leases(
        &mut self,
        subscription: &str,
        messages: Option<&[u64]>,
        now: Time,
    ) -> Result<usize> {
        let id = self.subscription_id(subscription)?;
        let ended = self.with(id, now, |s| {
            let mut leases: Vec<_> = s
                .leases()
                .filter(|(_, lease)| messages.is_none_or(|m| m.contains(&lease.message.seq)))
                .map(|(id, lease)| (lease.message.seq, id))
                .collect();
            leases.sort_unstable();
            leases
                .into_iter()
                .filter(|(_, lease)| s.expire(*lease, now))
                .count()
        });
        Ok(ended.unwrap_or_default())
    }
}
