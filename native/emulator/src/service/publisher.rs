//! The Publisher service.

use bytes::Bytes;
use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use tonic::Status;

use super::{Hub, Method, paths, run};
use crate::core::limits;
use crate::server::grpc;
use crate::wire::{Field, Fields};

/// Answers a unary call of the Publisher service.
pub(super) fn call(hub: &Hub, method: Method, request: Bytes) -> Result<Bytes, Status> {
    match method {
        Method::CreateTopic => run(hub, request, |state, _, topic: pb::Topic| {
            state.create_topic(topic)
        }),
        Method::GetTopic => run(hub, request, |state, _, r: pb::GetTopicRequest| {
            state.get_topic(&r.topic)
        }),
        Method::UpdateTopic => run(hub, request, |state, _, r: pb::UpdateTopicRequest| {
            state.update_topic(&r.topic.unwrap_or_default(), &paths(r.update_mask))
        }),
        Method::Publish => publish(hub, request),
        Method::ListTopics => run(hub, request, |state, _, r: pb::ListTopicsRequest| {
            let (topics, next_page_token) =
                state.list_topics(&r.project, r.page_size, &r.page_token)?;
            Ok(pb::ListTopicsResponse {
                topics,
                next_page_token,
            })
        }),
        Method::ListTopicSubscriptions => run(
            hub,
            request,
            |state, _, r: pb::ListTopicSubscriptionsRequest| {
                let (subscriptions, next_page_token) =
                    state.list_topic_subscriptions(&r.topic, r.page_size, &r.page_token)?;
                Ok(pb::ListTopicSubscriptionsResponse {
                    subscriptions,
                    next_page_token,
                })
            },
        ),
        Method::ListTopicSnapshots => run(
            hub,
            request,
            |state, _, r: pb::ListTopicSnapshotsRequest| {
                let (snapshots, next_page_token) =
                    state.list_topic_snapshots(&r.topic, r.page_size, &r.page_token)?;
                Ok(pb::ListTopicSnapshotsResponse {
                    snapshots,
                    next_page_token,
                })
            },
        ),
        Method::DeleteTopic => run(hub, request, |state, _, r: pb::DeleteTopicRequest| {
            state.delete_topic(&r.topic)
        }),
        Method::DetachSubscription => run(
            hub,
            request,
            |state, now, r: pb::DetachSubscriptionRequest| {
                state.detach_subscription(&r.subscription, now)?;
                Ok(pb::DetachSubscriptionResponse {})
            },
        ),
        other => Err(Status::unimplemented(format!(
            "{} is not a call of the Publisher.",
            other.name()
        ))),
    }
}

fn publish(hub: &Hub, request: Bytes) -> Result<Bytes, Status> {
    if request.len() > limits::PUBLISH_BYTES {
        return Err(Status::invalid_argument(format!(
            "Request payload size exceeds the limit: {} bytes.",
            limits::PUBLISH_BYTES
        )));
    }
    let malformed = |_| Status::internal("the request cannot be decoded");
    let mut topic = &b""[..];
    let mut messages = Vec::with_capacity(limits::PUBLISH_MESSAGES);
    for field in Fields::new(&request) {
        match field.map_err(malformed)? {
            (1, Field::Bytes(name)) => topic = name,
            (2, Field::Bytes(message)) => messages.push(message),
            _ => {}
        }
    }
    // A name that is not text does not have the form of a name either.
    let topic = String::from_utf8_lossy(topic);
    let ids = hub.with(|state, now| state.publish_encoded(&topic, &messages, now))?;
    let message_ids = ids.iter().map(u64::to_string).collect();
    Ok(grpc::frame(&pb::PublishResponse { message_ids }))
}
