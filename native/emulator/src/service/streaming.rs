//! StreamingPull: one task per stream, which takes what the stream may have and sends it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use http::{HeaderMap, Response};
use prost::Message as _;
use tokio::sync::mpsc;
use tonic::Status;

use super::faulty::{Outcome, act, on_delivery};
use super::{Method, PubSub, decode, response};
use crate::core::{State, StreamOptions, StreamRef};
use crate::fault::{Action, Call, Hit};
use crate::server::grpc::{self, MessageReader, ResponseBody, StreamItem};
use crate::server::{Command, Connection};

/// Opens the stream, and answers with what its task sends.
pub(super) async fn serve(
    service: &Arc<PubSub>,
    headers: &HeaderMap,
    mut requests: MessageReader,
    connection: Arc<Connection>,
) -> Result<Response<ResponseBody>, Status> {
    let first = requests.next().await?;
    let first = first.ok_or_else(|| Status::invalid_argument("the stream has no first request"))?;
    let call = Call::new(Method::StreamingPull, &first);
    let number = service.recorder.is_on().then(|| {
        let now = service.hub.clock().now();
        service
            .recorder
            .request(&call, Some(headers), connection.id(), now)
    });
    let mut triggers = Vec::new();
    if service.faults.active() {
        for hit in service.faults.on_call(&call) {
            if hit.after_messages.is_some() {
                triggers.push(hit);
                continue;
            }
            match act(&service.faults, &hit.rule, hit.action, &connection).await {
                Outcome::GoOn | Outcome::FailIds(_) => {}
                Outcome::End(item) => return Ok(ended(item)),
                Outcome::Silence => return std::future::pending().await,
            }
        }
    }
    triggers.sort_by_key(|hit| std::cmp::Reverse(hit.after_messages));
    let first: pb::StreamingPullRequest = decode(first)?;
    let options = options(&first)?;
    let stream = service
        .hub
        .with(|state, now| state.open_stream(&first.subscription, options, now))?;
    let actions = service.streams.register(&first.subscription);
    let stream = OpenStream {
        service: service.clone(),
        connection,
        stream,
        subscription: first.subscription.clone(),
        keepalives: first.protocol_version > 0,
    };
    let service = service.clone();
    // Two responses in the pipe: one being sent, one ready.
    let (out, items) = mpsc::channel(1);
    tokio::spawn(async move {
        let end = match stream.run(first, requests, &out, actions, triggers).await {
            Ok(item) => item,
            Err(status) => StreamItem::End(status),
        };
        drop(stream);
        if let (Some(number), StreamItem::End(status)) = (number, &end) {
            service.recorder.answered(number, status.code());
        }
        let _ = out.send(end).await;
    });
    Ok(grpc::stream_response(items))
}

/// A stream that ends before it has begun.
fn ended(item: StreamItem) -> Response<ResponseBody> {
    let (out, items) = mpsc::channel(1);
    let _ = out.try_send(item);
    grpc::stream_response(items)
}

fn options(first: &pb::StreamingPullRequest) -> Result<StreamOptions, Status> {
    let limit = |value| u64::try_from(value).ok().filter(|v| *v > 0);
    Ok(StreamOptions {
        ack_deadline: deadline(first.stream_ack_deadline_seconds)?,
        max_messages: limit(first.max_outstanding_messages),
        max_bytes: limit(first.max_outstanding_bytes),
        client_id: first.client_id.clone(),
    })
}

fn deadline(secs: i32) -> Result<Duration, Status> {
    crate::core::check_stream_deadline(secs)?;
    Ok(Duration::from_secs(secs as u64))
}

/// A stream that is open in the state, and closed there when dropped.
struct OpenStream {
    service: Arc<PubSub>,
    connection: Arc<Connection>,
    stream: StreamRef,
    subscription: String,
    keepalives: bool,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.service
            .hub
            .with(|state, now| state.close_stream(self.stream, now));
    }
}

/// What a stream has to remember while it runs.
struct Progress {
    /// What was said about the subscription.
    announced: Option<(bool, bool)>,
    sent: u64,
    /// Rules that act once so many messages are sent, the nearest last.
    triggers: Vec<Hit>,
}

fn ok() -> StreamItem {
    StreamItem::End(Status::ok(""))
}

impl OpenStream {
    /// Runs until the client has ended its side or has gone, or a rule ends the stream. Returns how.
    async fn run(
        &self,
        first: pb::StreamingPullRequest,
        mut requests: MessageReader,
        out: &mpsc::Sender<StreamItem>,
        mut actions: mpsc::UnboundedReceiver<Action>,
        triggers: Vec<Hit>,
    ) -> Result<StreamItem, Status> {
        if let Some(confirmation) = self.answer(&first)? {
            send(out, &confirmation).await;
        }
        let waiter = self.service.hub.waiter(self.stream.subscription);
        let mut progress = Progress {
            announced: None,
            sent: 0,
            triggers,
        };
        loop {
            let due = progress
                .triggers
                .last()
                .is_some_and(|hit| hit.after_messages <= Some(progress.sent));
            let action = if due { progress.triggers.pop() } else { None };
            if let Some(hit) = action
                && let Some(end) = self.act(&hit.rule, hit.action, &mut requests, out).await
            {
                return Ok(end);
            }
            if due {
                continue;
            }
            let news = waiter.notified();
            tokio::pin!(news);
            // Registered before the state is looked at, so that nothing falls in between.
            news.as_mut().enable();
            tokio::select! {
                biased;
                Some(action) = actions.recv() => {
                    if let Some(end) = self.act("", action, &mut requests, out).await {
                        return Ok(end);
                    }
                }
                request = requests.next() => match request? {
                    None => return Ok(ok()),
                    Some(request) => self.on_request(request, out).await?,
                },
                permit = out.reserve() => {
                    let Ok(permit) = permit else { return Ok(ok()) };
                    if let Some(response) = self.take(&mut progress)? {
                        permit.send(StreamItem::Message(response));
                        // The other streams of the subscription get their turn.
                        tokio::task::yield_now().await;
                        continue;
                    }
                    drop(permit);
                    tokio::select! {
                        () = news => {}
                        () = out.closed() => return Ok(ok()),
                        Some(action) = actions.recv() => {
                            if let Some(end) = self.act("", action, &mut requests, out).await {
                                return Ok(end);
                            }
                        }
                        request = requests.next() => match request? {
                            None => return Ok(ok()),
                            Some(request) => self.on_request(request, out).await?,
                        },
                    }
                }
            }
        }
    }

    /// Does an action to this stream; returns its end, if that is what comes of it.
    async fn act(
        &self,
        rule: &str,
        action: Action,
        requests: &mut MessageReader,
        out: &mpsc::Sender<StreamItem>,
    ) -> Option<StreamItem> {
        let silence = async {
            // Read on, so that the client does not notice by its own writes.
            tokio::select! {
                () = out.closed() => {}
                () = async { while let Ok(Some(_)) = requests.next().await {} } => {}
            }
            out.closed().await;
        };
        match action {
            // Closed later, without waiting here.
            Action::Goaway {
                close_after_ms: Some(ms),
            } => {
                self.connection.command(Command::GoAway);
                let connection = self.connection.clone();
                tokio::spawn(async move {
                    crate::fault::pause(ms).await;
                    connection.command(Command::Close);
                });
                silence.await;
                Some(ok())
            }
            action => match act(&self.service.faults, rule, action, &self.connection).await {
                Outcome::GoOn | Outcome::FailIds(_) => None,
                Outcome::End(item) => Some(item),
                Outcome::Silence => {
                    silence.await;
                    Some(ok())
                }
            },
        }
    }

    /// The next response, if the stream may have one.
    fn take(&self, progress: &mut Progress) -> Result<Option<Bytes>, Status> {
        let until = progress.triggers.last().and_then(|hit| hit.after_messages);
        let (most, bytes) = self.service.limits.get();
        let left = until.map_or(u64::MAX, |until| until - progress.sent);
        let max = usize::try_from(left).unwrap_or(usize::MAX).min(most);
        let taken = self.service.hub.with(|state, now| {
            let mut deliveries = state.take_for_stream(self.stream, max, bytes, now)?;
            progress.sent += deliveries.len() as u64;
            let subscription = (self.subscription.as_str(), self.stream.subscription);
            let method = Method::StreamingPull;
            on_delivery(
                &self.service.faults,
                method,
                subscription,
                &mut deliveries,
                (state, now),
            );
            let properties = state.stream_properties(self.stream);
            let attempts = state.reports_attempts(self.stream.subscription);
            Ok((deliveries, properties, attempts, state.ack_ids().clone()))
        });
        let (deliveries, properties, attempts, ack_ids) =
            taken.map_err(|e: crate::core::Error| Status::from(e))?;
        // A change is worth a response of its own.
        let news = properties.filter(|p| Some(*p) != progress.announced);
        if deliveries.is_empty() && news.is_none() {
            return Ok(None);
        }
        progress.announced = properties.or(progress.announced);
        // Said with every response: Google's Java client takes one without it for "no order".
        let tail = properties.map(|(exactly_once, ordered)| {
            let properties = pb::streaming_pull_response::SubscriptionProperties {
                exactly_once_delivery_enabled: exactly_once,
                message_ordering_enabled: ordered,
            };
            let response = pb::StreamingPullResponse {
                subscription_properties: Some(properties),
                ..Default::default()
            };
            response.encode_to_vec()
        });
        let subscription = self.stream.subscription;
        Ok(Some(response::encode(
            &deliveries,
            subscription,
            &ack_ids,
            attempts,
            &tail.unwrap_or_default(),
        )))
    }

    async fn on_request(
        &self,
        request: Bytes,
        out: &mpsc::Sender<StreamItem>,
    ) -> Result<(), Status> {
        if self.service.recorder.is_on() {
            let now = self.service.hub.clock().now();
            let mut call = Call::new(Method::StreamingPull, &request);
            // Only the first request names it.
            call.resource = &self.subscription;
            self.service
                .recorder
                .request(&call, None, self.connection.id(), now);
        }
        let request: pb::StreamingPullRequest = decode(request)?;
        for (field, set) in [
            (
                "subscription",
                !request.subscription.is_empty() && request.subscription != self.subscription,
            ),
            ("client_id", !request.client_id.is_empty()),
            (
                "max_outstanding_messages",
                request.max_outstanding_messages != 0,
            ),
            ("max_outstanding_bytes", request.max_outstanding_bytes != 0),
            ("protocol_version", request.protocol_version != 0),
        ] {
            if set {
                return Err(Status::invalid_argument(format!(
                    "{field}: may be set only in the first request"
                )));
            }
        }
        if request.stream_ack_deadline_seconds != 0 {
            let deadline = deadline(request.stream_ack_deadline_seconds)?;
            self.service
                .hub
                .with(|state, now| state.set_stream_deadline(self.stream, deadline, now));
        }
        let is_ping = request.ack_ids.is_empty() && request.modify_deadline_ack_ids.is_empty();
        if let Some(confirmation) = self.answer(&request)? {
            send(out, &confirmation).await;
        } else if is_ping && self.keepalives {
            send(out, &pb::StreamingPullResponse::default()).await;
        }
        Ok(())
    }

    /// Does the acks and deadline changes of a request; exactly-once subscriptions are told per id.
    fn answer(
        &self,
        request: &pb::StreamingPullRequest,
    ) -> Result<Option<pb::StreamingPullResponse>, Status> {
        let mut response = pb::StreamingPullResponse::default();
        let (ids, secs) = (
            &request.modify_deadline_ack_ids,
            &request.modify_deadline_seconds,
        );
        if ids.len() != secs.len() {
            return Err(Status::invalid_argument(
                "modify_deadline_seconds: must have as many entries as modify_deadline_ack_ids",
            ));
        }
        if !request.ack_ids.is_empty() {
            let result = self
                .service
                .hub
                .with(|state, now| state.acknowledge(&self.subscription, &request.ack_ids, now))?;
            if result.exactly_once {
                let (invalid_ack_ids, ack_ids) = split(&request.ack_ids, &result.failed);
                response.acknowledge_confirmation =
                    Some(pb::streaming_pull_response::AcknowledgeConfirmation {
                        ack_ids,
                        invalid_ack_ids,
                        ..Default::default()
                    });
            }
        }
        if !ids.is_empty() {
            let change = |state: &mut State, now| {
                let mut failed = Vec::new();
                let mut exactly_once = false;
                for (i, (id, secs)) in ids.iter().zip(secs).enumerate() {
                    let one = std::slice::from_ref(id);
                    let result = state.modify_ack_deadline(&self.subscription, one, *secs, now)?;
                    exactly_once = result.exactly_once;
                    failed.extend((!result.failed.is_empty()).then_some(i));
                }
                Ok((exactly_once, failed))
            };
            let (exactly_once, failed) = self
                .service
                .hub
                .with(change)
                .map_err(|e: crate::core::Error| Status::from(e))?;
            if exactly_once {
                let (invalid_ack_ids, ack_ids) = split(ids, &failed);
                response.modify_ack_deadline_confirmation =
                    Some(pb::streaming_pull_response::ModifyAckDeadlineConfirmation {
                        ack_ids,
                        invalid_ack_ids,
                        ..Default::default()
                    });
            }
        }
        let confirms = response.acknowledge_confirmation.is_some()
            || response.modify_ack_deadline_confirmation.is_some();
        Ok(confirms.then_some(response))
    }
}

async fn send(out: &mpsc::Sender<StreamItem>, response: &pb::StreamingPullResponse) {
    // A client that has gone is noticed by the loop.
    let _ = out.send(StreamItem::Message(grpc::frame(response))).await;
}

/// The ids at the `failed` positions, which ascend, and the others.
fn split(ids: &[String], failed: &[usize]) -> (Vec<String>, Vec<String>) {
    let (mut bad, mut good) = (Vec::new(), Vec::new());
    for (i, id) in ids.iter().enumerate() {
        if failed.binary_search(&i).is_ok() {
            bad.push(id.clone())
        } else {
            good.push(id.clone())
        }
    }
    (bad, good)
}
