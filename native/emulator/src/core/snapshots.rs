//! Snapshots and Seek.

use std::collections::BTreeMap;
use std::sync::Arc;

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1::Snapshot as Proto;

use super::error::{Error, Result};
use super::message::Message;
use super::names::{self, Kind};
use super::page::page;
use super::unordered::Queued;
use super::{DELETED_TOPIC, State, limits, validate};
use crate::time::Time;

/// What a subscription had not acked at one moment, and what was published later.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub proto: Proto,
    pub expires: Time,
    /// The backlog when the snapshot was taken.
    pub backlog: Vec<Arc<Message>>,
    /// What the topic got since.
    pub later: Vec<Arc<Message>>,
}

/// Where to seek to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Messages published before are acked, those from then on unacked.
    Time(Time),
    /// The name of a snapshot: what was unacked then is unacked again.
    Snapshot(String),
}

impl State {
    /// CreateSnapshot.
    pub fn create_snapshot(
        &mut self,
        mut proto: Proto,
        subscription: &str,
        now: Time,
    ) -> Result<Proto> {
        names::check("name", Kind::Snapshot, &proto.name)?;
        names::check("subscription", Kind::Subscription, subscription)?;
        validate::labels("labels", &proto.labels)?;
        if self.snapshots.contains_key(&proto.name) {
            return Err(Error::already_exists(&proto.name));
        }
        let subscription = self.subscription(subscription)?;
        if subscription.proto.topic == DELETED_TOPIC || subscription.proto.detached {
            return Err(Error::precondition("The subscription has no topic."));
        }
        let backlog: Vec<_> = subscription
            .unacked()
            .into_values()
            .map(|q| q.message)
            .collect();
        let age = backlog
            .first()
            .map(|oldest| now.since(oldest.publish_time))
            .unwrap_or_default();
        let lifetime = limits::SNAPSHOT_LIFETIME.saturating_sub(age);
        if lifetime < limits::MIN_SNAPSHOT_LIFETIME {
            return Err(Error::precondition(
                "The snapshot would expire within an hour, because the oldest unacknowledged message is too old.",
            ));
        }
        let expires = now.plus(lifetime);
        proto.topic = subscription.proto.topic.clone();
        proto.expire_time = Some(expires.to_proto());
        let snapshot = Snapshot {
            proto: proto.clone(),
            expires,
            backlog,
            later: Vec::new(),
        };
        self.snapshots.insert(proto.name.clone(), snapshot);
        Ok(proto)
    }

    /// GetSnapshot.
    pub fn get_snapshot(&self, name: &str) -> Result<Proto> {
        names::check("snapshot", Kind::Snapshot, name)?;
        self.snapshots
            .get(name)
            .map(|s| s.proto.clone())
            .ok_or_else(|| Error::not_found(name))
    }

    /// UpdateSnapshot: sets the fields that `mask` names.
    pub fn update_snapshot(&mut self, update: &Proto, mask: &[String]) -> Result<Proto> {
        names::check("snapshot.name", Kind::Snapshot, &update.name)?;
        let snapshot = self
            .snapshots
            .get_mut(&update.name)
            .ok_or_else(|| Error::not_found(&update.name))?;
        if mask.is_empty() {
            return Err(Error::invalid(
                "update_mask",
                "must name at least one field",
            ));
        }
        let mut proto = snapshot.proto.clone();
        for path in mask {
            match path.as_str() {
                "labels" => {
                    validate::labels("snapshot.labels", &update.labels)?;
                    proto.labels = update.labels.clone();
                }
                "expire_time" => {
                    let time = update.expire_time.as_ref().and_then(Time::from_proto);
                    snapshot.expires = time
                        .ok_or_else(|| Error::invalid("snapshot.expire_time", "is not a time"))?;
                    proto.expire_time = update.expire_time;
                }
                "name" | "topic" => {
                    return Err(Error::invalid(
                        "update_mask",
                        format!("the field {path} cannot be changed"),
                    ));
                }
                other => {
                    return Err(Error::invalid(
                        "update_mask",
                        format!("a snapshot has no field {other:?}"),
                    ));
                }
            }
        }
        snapshot.proto = proto.clone();
        Ok(proto)
    }

    /// ListSnapshots.
    pub fn list_snapshots(
        &self,
        project: &str,
        size: i32,
        token: &str,
    ) -> Result<(Vec<Proto>, String)> {
        let prefix = names::listing_prefix(Kind::Snapshot, project)?;
        let snapshots = self
            .snapshots
            .range(prefix.clone()..)
            .map(|(_, s)| &s.proto);
        let snapshots = snapshots
            .take_while(|proto| proto.name.starts_with(&prefix))
            .cloned();
        page(snapshots, |proto| &proto.name, size, token)
    }

    /// DeleteSnapshot.
    pub fn delete_snapshot(&mut self, name: &str) -> Result<()> {
        names::check("snapshot", Kind::Snapshot, name)?;
        self.snapshots
            .remove(name)
            .map(drop)
            .ok_or_else(|| Error::not_found(name))
    }

    /// Seek: decides anew, over all retained messages, what is acked.
    pub fn seek(&mut self, subscription: &str, target: &Target, now: Time) -> Result<()> {
        names::check("subscription", Kind::Subscription, subscription)?;
        let subscription = self.subscription(subscription)?;
        if subscription.proto.detached {
            return Err(Error::precondition("The subscription is detached."));
        }
        let id = subscription.id;
        // Everything retained: by the subscription, by its topic, and by the snapshot.
        let mut unacked = subscription.unacked();
        let mut acked = subscription.acked_and_retained();
        let mut known: BTreeMap<u64, Arc<Message>> = acked.clone();
        known.extend(unacked.iter().map(|(seq, q)| (*seq, q.message.clone())));
        let filter = subscription.settings.filter.as_ref();
        let passes = |m: &Message| filter.is_none_or(|f| f.matches(&m.decode().attributes));
        if let Some(topic) = self.topics.get(&subscription.proto.topic) {
            let oldest = topic.retention.map_or(Time::MAX, |r| now.minus(r));
            let retained = topic
                .retained
                .iter()
                .filter(|m| m.publish_time >= oldest && passes(m));
            known.extend(retained.map(|m| (m.seq, m.clone())));
        }
        let oldest = now.minus(subscription.settings.retention);
        let is_unacked: Box<dyn Fn(&Message) -> bool> = match target {
            Target::Time(time) => {
                let time = *time;
                Box::new(move |m| m.publish_time >= time)
            }
            Target::Snapshot(name) => {
                names::check("snapshot", Kind::Snapshot, name)?;
                let snapshot = self
                    .snapshots
                    .get(name)
                    .ok_or_else(|| Error::not_found(name))?;
                if snapshot.proto.topic != subscription.proto.topic {
                    return Err(Error::invalid(
                        "snapshot",
                        format!("{name} is not of the subscription's topic"),
                    ));
                }
                let wanted = snapshot
                    .backlog
                    .iter()
                    .chain(&snapshot.later)
                    .filter(|m| passes(m));
                let wanted: BTreeMap<u64, Arc<Message>> =
                    wanted.map(|m| (m.seq, m.clone())).collect();
                known.extend(wanted.iter().map(|(seq, m)| (*seq, m.clone())));
                Box::new(move |m| wanted.contains_key(&m.seq))
            }
        };
        let attempts = |seq| unacked.get(&seq).map_or(0, |q| q.attempts);
        let mut wanted = BTreeMap::new();
        acked.clear();
        for (seq, message) in known {
            if is_unacked(&message) {
                wanted.insert(
                    seq,
                    Queued {
                        attempts: attempts(seq),
                        message,
                    },
                );
            } else if message.publish_time >= oldest {
                acked.insert(seq, message);
            }
        }
        unacked.clear();
        self.with(id, now, |subscription| {
            subscription.last_active = now;
            subscription.rewrite(wanted, acked, now);
        });
        Ok(())
    }
}
