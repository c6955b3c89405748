//! Subscriptions: administration.

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1::Subscription as Proto;

use super::error::{Error, Result};
use super::names::{self, Kind};
use super::page::page;
use super::settings::Settings;
use super::subscription::Subscription;
use super::{DELETED_TOPIC, State};
use crate::time::Time;

impl State {
    /// CreateSubscription. It receives what is published from now on.
    pub fn create_subscription(&mut self, mut proto: Proto, now: Time) -> Result<Proto> {
        let settings = Settings::of(&mut proto)?;
        names::check("subscription.topic", Kind::Topic, &proto.topic)?;
        if self.names.contains_key(&proto.name) {
            return Err(Error::already_exists(&proto.name));
        }
        if let Some(policy) = &settings.dead_letter {
            self.topic(&policy.topic)?;
        }
        let topic = self
            .topics
            .get_mut(&proto.topic)
            .ok_or_else(|| Error::not_found(&proto.topic))?;
        proto.topic_message_retention_duration = topic.proto.message_retention_duration;
        self.last_subscription += 1;
        let id = self.last_subscription;
        topic.subscriptions.insert(id);
        self.names.insert(proto.name.clone(), id);
        let mut subscription = Subscription::new(id, proto.clone(), settings, now);
        subscription.remember_acked = self.remember_acked;
        self.subscriptions.insert(id, subscription);
        self.settle(id, now);
        Ok(proto)
    }

    /// GetSubscription.
    pub fn get_subscription(&self, name: &str) -> Result<Proto> {
        names::check("subscription", Kind::Subscription, name)?;
        Ok(self.subscription(name)?.proto.clone())
    }

    /// UpdateSubscription: sets the fields that `mask` names.
    pub fn update_subscription(
        &mut self,
        update: &Proto,
        mask: &[String],
        now: Time,
    ) -> Result<Proto> {
        names::check("subscription.name", Kind::Subscription, &update.name)?;
        let current = self.subscription(&update.name)?;
        let id = current.id;
        let mut proto = current.proto.clone();
        if mask.is_empty() {
            return Err(Error::invalid(
                "update_mask",
                "must name at least one field",
            ));
        }
        for path in mask {
            set(&mut proto, update, path)?;
        }
        let (detached, state) = (proto.detached, proto.state);
        let settings = Settings::of(&mut proto)?;
        (proto.detached, proto.state) = (detached, state);
        if let Some(policy) = &settings.dead_letter {
            self.topic(&policy.topic)?;
        }
        let result = proto.clone();
        self.with(id, now, |subscription| {
            subscription.proto = proto;
            subscription.settings = settings;
            subscription.last_active = now;
        });
        Ok(result)
    }

    /// ListSubscriptions.
    pub fn list_subscriptions(
        &self,
        project: &str,
        size: i32,
        token: &str,
    ) -> Result<(Vec<Proto>, String)> {
        let prefix = names::listing_prefix(Kind::Subscription, project)?;
        let names = self
            .names
            .range(prefix.clone()..)
            .take_while(|(name, _)| name.starts_with(&prefix));
        let protos = names
            .filter_map(|(_, id)| self.subscriptions.get(id))
            .map(|s| s.proto.clone());
        page(protos, |proto| &proto.name, size, token)
    }

    /// DeleteSubscription.
    pub fn delete_subscription(&mut self, name: &str) -> Result<()> {
        names::check("subscription", Kind::Subscription, name)?;
        self.subscription_id(name)?;
        self.remove_subscription(name);
        Ok(())
    }

    pub(super) fn remove_subscription(&mut self, name: &str) {
        let Some(id) = self.names.remove(name) else {
            return;
        };
        let Some(subscription) = self.subscriptions.remove(&id) else {
            return;
        };
        if let Some(topic) = self.topics.get_mut(&subscription.proto.topic) {
            topic.subscriptions.remove(&id);
        }
        if let Some(at) = self.timer_of.remove(&id) {
            self.timers.remove(&(at, id));
        }
        // Those who wait on it learn that it is gone.
        self.news.insert(id);
    }

    /// DetachSubscription: it keeps its name and loses its messages.
    pub fn detach_subscription(&mut self, name: &str, now: Time) -> Result<()> {
        names::check("subscription", Kind::Subscription, name)?;
        let id = self.subscription_id(name)?;
        let topic = self.subscription(name)?.proto.topic.clone();
        if let Some(topic) = self.topics.get_mut(&topic) {
            topic.subscriptions.remove(&id);
        }
        self.with(id, now, |subscription| {
            subscription.proto.detached = true;
            subscription.drop_messages(now);
        });
        Ok(())
    }

    /// ModifyPushConfig: only an empty configuration, which means pull, is known here.
    pub fn modify_push_config(&self, name: &str, is_push: bool) -> Result<()> {
        names::check("subscription", Kind::Subscription, name)?;
        self.subscription(name)?;
        if is_push {
            Err(Error::unimplemented("Push delivery (push_config)"))
        } else {
            Ok(())
        }
    }

    /// Whether a subscription's topic was deleted.
    pub fn is_orphan(&self, name: &str) -> Result<bool> {
        Ok(self.subscription(name)?.proto.topic == DELETED_TOPIC)
    }
}

fn set(proto: &mut Proto, update: &Proto, path: &str) -> Result<()> {
    match path {
        "ack_deadline_seconds" => proto.ack_deadline_seconds = update.ack_deadline_seconds,
        "retain_acked_messages" => proto.retain_acked_messages = update.retain_acked_messages,
        "message_retention_duration" => {
            proto.message_retention_duration = update.message_retention_duration
        }
        "labels" => proto.labels = update.labels.clone(),
        "expiration_policy" => proto.expiration_policy = update.expiration_policy,
        "expiration_policy.ttl" => {
            proto.expiration_policy.get_or_insert_default().ttl =
                update.expiration_policy.and_then(|p| p.ttl);
        }
        "dead_letter_policy" => proto.dead_letter_policy = update.dead_letter_policy.clone(),
        "dead_letter_policy.dead_letter_topic" => {
            proto
                .dead_letter_policy
                .get_or_insert_default()
                .dead_letter_topic = update
                .dead_letter_policy
                .as_ref()
                .map(|p| p.dead_letter_topic.clone())
                .unwrap_or_default();
        }
        "dead_letter_policy.max_delivery_attempts" => {
            proto
                .dead_letter_policy
                .get_or_insert_default()
                .max_delivery_attempts = update
                .dead_letter_policy
                .as_ref()
                .map(|p| p.max_delivery_attempts)
                .unwrap_or_default();
        }
        "retry_policy" => proto.retry_policy = update.retry_policy,
        "retry_policy.minimum_backoff" => {
            proto.retry_policy.get_or_insert_default().minimum_backoff =
                update.retry_policy.and_then(|p| p.minimum_backoff);
        }
        "retry_policy.maximum_backoff" => {
            proto.retry_policy.get_or_insert_default().maximum_backoff =
                update.retry_policy.and_then(|p| p.maximum_backoff);
        }
        "enable_exactly_once_delivery" => {
            proto.enable_exactly_once_delivery = update.enable_exactly_once_delivery
        }
        "push_config" => proto.push_config = update.push_config.clone(),
        "bigquery_config" => proto.bigquery_config = update.bigquery_config.clone(),
        "cloud_storage_config" => proto.cloud_storage_config = update.cloud_storage_config.clone(),
        "message_transforms" => proto.message_transforms = update.message_transforms.clone(),
        "name" | "topic" | "filter" | "enable_message_ordering" | "detached" => {
            return Err(Error::invalid(
                "update_mask",
                format!("the field {path} cannot be changed"),
            ));
        }
        other => {
            return Err(Error::invalid(
                "update_mask",
                format!("a subscription has no field {other:?}"),
            ));
        }
    }
    Ok(())
}
