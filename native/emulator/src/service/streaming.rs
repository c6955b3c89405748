//! StreamingPull: one task per stream, which takes what the stream may have and sends it.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use http::Response;
use prost::Message as _;
use tokio::sync::mpsc;
use tonic::Status;

use super::{Hub, decode};
use crate::core::ack_id::AckIds;
use crate::core::{Delivery, State, StreamOptions, StreamRef};
use crate::server::grpc::{self, MessageReader, ResponseBody, StreamItem};
use crate::server::wire::{put_varint, varint_len};

/// Messages and about how many bytes go into one response.
const RESPONSE_MESSAGES: usize = 1000;
const RESPONSE_BYTES: usize = 512 << 10;

/// Opens the stream, and answers with what its task sends.
pub(super) async fn serve(
    hub: Arc<Hub>,
    mut requests: MessageReader,
) -> Result<Response<ResponseBody>, Status> {
    let first = requests
        .next()
        .await?
        .ok_or_else(|| Status::invalid_argument("the stream has no first request"))?;
    let first: pb::StreamingPullRequest = decode(first)?;
    let options = options(&first)?;
    let stream = hub.with(|state, now| state.open_stream(&first.subscription, options, now))?;
    let stream = OpenStream {
        hub,
        stream,
        subscription: first.subscription.clone(),
        keepalives: first.protocol_version > 0,
    };
    // Two responses in the pipe: one being sent, one ready.
    let (out, items) = mpsc::channel(1);
    tokio::spawn(async move {
        let status = match stream.run(first, requests, &out).await {
            Ok(()) => Status::ok(""),
            Err(status) => status,
        };
        drop(stream);
        let _ = out.send(StreamItem::End(status)).await;
    });
    Ok(grpc::stream_response(items))
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
    hub: Arc<Hub>,
    stream: StreamRef,
    subscription: String,
    keepalives: bool,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.hub
            .with(|state, now| state.close_stream(self.stream, now));
    }
}

impl OpenStream {
    /// Runs until the client has ended its side, or has gone.
    async fn run(
        &self,
        first: pb::StreamingPullRequest,
        mut requests: MessageReader,
        out: &mpsc::Sender<StreamItem>,
    ) -> Result<(), Status> {
        if let Some(confirmation) = self.answer(&first)? {
            send(out, &confirmation).await;
        }
        let waiter = self.hub.waiter(self.stream.subscription);
        let mut announced = None;
        loop {
            let news = waiter.notified();
            tokio::pin!(news);
            // Registered before the state is looked at, so that nothing falls in between.
            news.as_mut().enable();
            tokio::select! {
                biased;
                request = requests.next() => match request? {
                    None => return Ok(()),
                    Some(request) => self.on_request(&decode(request)?, out).await?,
                },
                permit = out.reserve() => {
                    let Ok(permit) = permit else { return Ok(()) };
                    if let Some(response) = self.take(&mut announced)? {
                        permit.send(StreamItem::Message(response));
                        // The other streams of the subscription get their turn.
                        tokio::task::yield_now().await;
                        continue;
                    }
                    drop(permit);
                    tokio::select! {
                        () = news => {}
                        () = out.closed() => return Ok(()),
                        request = requests.next() => match request? {
                            None => return Ok(()),
                            Some(request) => self.on_request(&decode(request)?, out).await?,
                        },
                    }
                }
            }
        }
    }

    /// The next response, if the stream may have one.
    fn take(&self, announced: &mut Option<(bool, bool)>) -> Result<Option<Bytes>, Status> {
        let taken = self.hub.with(|state, now| {
            let deliveries =
                state.take_for_stream(self.stream, RESPONSE_MESSAGES, RESPONSE_BYTES, now)?;
            let properties = state.stream_properties(self.stream);
            let attempts = state.reports_attempts(self.stream.subscription);
            Ok((deliveries, properties, attempts, state.ack_ids().clone()))
        });
        let (deliveries, properties, attempts, ack_ids) =
            taken.map_err(|e: crate::core::Error| Status::from(e))?;
        // Said with the first response and whenever it changes.
        let news = properties.filter(|p| Some(*p) != *announced);
        if deliveries.is_empty() && news.is_none() {
            return Ok(None);
        }
        *announced = properties.or(*announced);
        let tail = news.map(|(exactly_once, ordered)| {
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
        Ok(Some(encode(
            &deliveries,
            subscription,
            &ack_ids,
            attempts,
            &tail.unwrap_or_default(),
        )))
    }

    async fn on_request(
        &self,
        request: &pb::StreamingPullRequest,
        out: &mpsc::Sender<StreamItem>,
    ) -> Result<(), Status> {
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
            self.hub
                .with(|state, now| state.set_stream_deadline(self.stream, deadline, now));
        }
        let is_ping = request.ack_ids.is_empty() && request.modify_deadline_ack_ids.is_empty();
        if let Some(confirmation) = self.answer(request)? {
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

/// A framed StreamingPullResponse with these deliveries, followed by the encoded fields in `tail`.
/// Written by hand, because the messages are kept in encoded form.
fn encode(
    deliveries: &[Delivery],
    subscription: u32,
    ack_ids: &AckIds,
    attempts: bool,
    tail: &[u8],
) -> Bytes {
    let ack_id_len = ack_ids.len();
    let ack_id_field = 1 + varint_len(ack_id_len as u64) + ack_id_len;
    let len_of = |d: &Delivery| {
        let message = d.message.encoded.len();
        let attempt = if attempts {
            1 + varint_len(u64::from(d.attempt))
        } else {
            0
        };
        ack_id_field + 1 + varint_len(message as u64) + message + attempt
    };
    let len: usize = deliveries
        .iter()
        .map(|d| {
            let len = len_of(d);
            1 + varint_len(len as u64) + len
        })
        .sum();
    let mut head = BytesMut::with_capacity(grpc::PREFIX);
    grpc::put_prefix(&mut head, len + tail.len());
    let mut buf = Vec::with_capacity(grpc::PREFIX + len + tail.len());
    buf.put_slice(&head);
    for d in deliveries {
        // StreamingPullResponse.received_messages
        buf.push(1 << 3 | 2);
        put_varint(&mut buf, len_of(d) as u64);
        // ReceivedMessage.ack_id
        buf.push(1 << 3 | 2);
        put_varint(&mut buf, ack_id_len as u64);
        ack_ids.write(subscription, d.lease, &mut buf);
        // ReceivedMessage.message
        buf.push(2 << 3 | 2);
        put_varint(&mut buf, d.message.encoded.len() as u64);
        buf.extend_from_slice(&d.message.encoded);
        if attempts {
            // ReceivedMessage.delivery_attempt
            buf.push(3 << 3);
            put_varint(&mut buf, u64::from(d.attempt));
        }
    }
    buf.extend_from_slice(tail);
    buf.into()
}
