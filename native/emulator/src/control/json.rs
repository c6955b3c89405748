//! What the control interface shows, as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Control;
use crate::core::{Counts, MessageState, MessageView, SubscriptionView, TopicView};
use crate::time::Time;

pub(super) fn topic_json(topic: &TopicView) -> Value {
    json!({
        "name": topic.name,
        "published": topic.published,
        "retained": topic.retained,
        "subscriptions": topic.subscriptions,
    })
}

fn counts_json(counts: &Counts) -> Value {
    json!({
        "backlog": counts.backlog,
        "outstanding": counts.outstanding,
        "acked": counts.acked,
        "delivered": counts.delivered,
        "nacked": counts.nacked,
        "expired": counts.expired,
        "dead_lettered": counts.dead_lettered,
        "filtered": counts.filtered,
    })
}

pub(super) fn subscription_json(subscription: &SubscriptionView) -> Value {
    let streams = subscription.streams.iter().map(|(client_id, messages, bytes)| {
        json!({"client_id": client_id, "outstanding_messages": messages, "outstanding_bytes": bytes})
    });
    json!({
        "name": subscription.name,
        "topic": subscription.topic,
        "counts": counts_json(&subscription.counts),
        "streams": streams.collect::<Vec<_>>(),
    })
}

pub(super) fn time_json(time: Time) -> Value {
    time.to_proto().to_string().into()
}

pub(super) fn clock_json(control: &Control) -> Value {
    let now = control.clock().now();
    json!({"now": time_json(now), "now_nanos": now.nanos(), "stopped": control.clock().is_stopped()})
}

/// The name of a message's state.
pub(super) fn state_name(state: MessageState) -> &'static str {
    match state {
        MessageState::Waiting => "waiting",
        MessageState::Outstanding => "outstanding",
        MessageState::Acked => "acked",
    }
}

/// A message; its data as text, cut after 1,024 bytes.
pub(super) fn message_json(view: &MessageView) -> Value {
    let mut json = json!({
        "message_id": view.message.to_string(),
        "state": state_name(view.state),
        "delivery_attempt": view.attempts,
    });
    if let Some(deadline) = view.deadline {
        json["ack_deadline"] = time_json(deadline);
    }
    if let Some(ack_id) = &view.ack_id {
        json["ack_id"] = ack_id.as_str().into();
    }
    if let Some(content) = &view.content {
        let message = content.decode();
        let shown = &message.data[..message.data.len().min(1024)];
        json["publish_time"] = time_json(content.publish_time);
        json["data"] = String::from_utf8_lossy(shown).into();
        json["data_bytes"] = message.data.len().into();
        json["ordering_key"] = message.ordering_key.into();
        let attributes: BTreeMap<_, _> = message.attributes.into_iter().collect();
        json["attributes"] = json!(attributes);
    }
    json
}
