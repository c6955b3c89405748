//! The Subscriber service, but for StreamingPull.

use std::time::Duration;

use bytes::Bytes;
use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use tonic::Status;

use super::faulty::on_delivery;
use super::{Hub, Method, PubSub, decode, paths, run};
use crate::core::Target;
use crate::server::grpc;
use crate::time::Time;

/// Answers a unary call of the Subscriber service other than Pull and the ones about ack ids.
pub(super) fn call(hub: &Hub, method: Method, request: Bytes) -> Result<Bytes, Status> {
    match method {
        Method::CreateSubscription => run(hub, request, |state, now, r: pb::Subscription| {
            state.create_subscription(r, now)
        }),
        Method::GetSubscription => run(hub, request, |state, _, r: pb::GetSubscriptionRequest| {
            state.get_subscription(&r.subscription)
        }),
        Method::UpdateSubscription => run(
            hub,
            request,
            |state, now, r: pb::UpdateSubscriptionRequest| {
                state.update_subscription(
                    &r.subscription.unwrap_or_default(),
                    &paths(r.update_mask),
                    now,
                )
            },
        ),
        Method::ListSubscriptions => {
            run(hub, request, |state, _, r: pb::ListSubscriptionsRequest| {
                let (subscriptions, next_page_token) =
                    state.list_subscriptions(&r.project, r.page_size, &r.page_token)?;
                Ok(pb::ListSubscriptionsResponse {
                    subscriptions,
                    next_page_token,
                })
            })
        }
        Method::DeleteSubscription => run(
            hub,
            request,
            |state, _, r: pb::DeleteSubscriptionRequest| state.delete_subscription(&r.subscription),
        ),
        Method::ModifyPushConfig => {
            run(hub, request, |state, _, r: pb::ModifyPushConfigRequest| {
                let is_push = r
                    .push_config
                    .is_some_and(|push| !push.push_endpoint.is_empty());
                state.modify_push_config(&r.subscription, is_push)
            })
        }
        Method::CreateSnapshot => run(hub, request, |state, now, r: pb::CreateSnapshotRequest| {
            let snapshot = pb::Snapshot {
                name: r.name,
                labels: r.labels,
                ..Default::default()
            };
            state.create_snapshot(snapshot, &r.subscription, now)
        }),
        Method::GetSnapshot => run(hub, request, |state, _, r: pb::GetSnapshotRequest| {
            state.get_snapshot(&r.snapshot)
        }),
        Method::UpdateSnapshot => run(hub, request, |state, _, r: pb::UpdateSnapshotRequest| {
            state.update_snapshot(&r.snapshot.unwrap_or_default(), &paths(r.update_mask))
        }),
        Method::ListSnapshots => run(hub, request, |state, _, r: pb::ListSnapshotsRequest| {
            let (snapshots, next_page_token) =
                state.list_snapshots(&r.project, r.page_size, &r.page_token)?;
            Ok(pb::ListSnapshotsResponse {
                snapshots,
                next_page_token,
            })
        }),
        Method::DeleteSnapshot => run(hub, request, |state, _, r: pb::DeleteSnapshotRequest| {
            state.delete_snapshot(&r.snapshot)
        }),
        Method::Seek => seek(hub, request),
        other => Err(Status::unimplemented(format!(
            "{} is not a call of the Subscriber.",
            other.name()
        ))),
    }
}

/// Whether a Seek asks for a snapshot; one that cannot be read asks for nothing.
pub(super) fn seeks_to_snapshot(request: &Bytes) -> bool {
    decode::<pb::SeekRequest>(request.clone())
        .is_ok_and(|r| matches!(r.target, Some(pb::seek_request::Target::Snapshot(_))))
}

fn seek(hub: &Hub, request: Bytes) -> Result<Bytes, Status> {
    let request: pb::SeekRequest = decode(request)?;
    let target = match request.target {
        Some(pb::seek_request::Target::Time(time)) => Target::Time(
            Time::from_proto(&time)
                .ok_or_else(|| Status::invalid_argument("time: is not a legal timestamp"))?,
        ),
        Some(pb::seek_request::Target::Snapshot(name)) => Target::Snapshot(name),
        None => {
            return Err(Status::invalid_argument(
                "target: either time or snapshot is required",
            ));
        }
    };
    hub.with(|state, now| state.seek(&request.subscription, &target, now))?;
    Ok(grpc::frame(&pb::SeekResponse {}))
}

/// How long a Pull waits for a message. The service waits for a "bounded amount of time".
const PULL_WAIT: Duration = Duration::from_secs(20);
/// Bytes of messages in one Pull response, about.
const PULL_BYTES: usize = 10_000_000;

/// Answers Pull: at once with what is there, otherwise when something comes.
pub(super) async fn pull(service: &PubSub, request: Bytes) -> Result<Bytes, Status> {
    let hub = &service.hub;
    let request: pb::PullRequest = decode(request)?;
    let max = usize::try_from(request.max_messages)
        .ok()
        .filter(|max| *max > 0);
    let max = max
        .ok_or_else(|| Status::invalid_argument("max_messages: must be positive"))?
        .min(1000);
    let give_up = tokio::time::Instant::now() + PULL_WAIT;
    loop {
        let take = || {
            hub.with(|state, now| {
                let (id, mut deliveries) =
                    state.pull(&request.subscription, max, PULL_BYTES, now)?;
                let subscription = (request.subscription.as_str(), id);
                on_delivery(
                    &service.faults,
                    Method::Pull,
                    subscription,
                    &mut deliveries,
                    (state, now),
                );
                let attempts = state.reports_attempts(id);
                let received = deliveries.into_iter().map(|d| pb::ReceivedMessage {
                    ack_id: state.ack_ids().format(id, d.lease),
                    message: Some(d.message.decode()),
                    delivery_attempt: if attempts { d.attempt as i32 } else { 0 },
                });
                Ok((id, received.collect::<Vec<_>>()))
            })
        };
        let (id, mut received_messages) =
            take().map_err(|e: crate::core::Error| Status::from(e))?;
        #[expect(deprecated, reason = "clients still use it")]
        let at_once = request.return_immediately;
        if received_messages.is_empty() && !at_once {
            let waiter = hub.waiter(id);
            let news = waiter.notified();
            tokio::pin!(news);
            // Looked at again once registered, so that nothing falls in between.
            news.as_mut().enable();
            received_messages = take()?.1;
            if received_messages.is_empty() {
                tokio::select! {
                    () = news => continue,
                    () = tokio::time::sleep_until(give_up) => {}
                }
            }
        }
        return Ok(grpc::frame(&pb::PullResponse { received_messages }));
    }
}
