//! A server for measuring clients: it costs as little as it can and looks into nothing.
//!
//! Responses of StreamingPull are encoded once; only ids and times are written anew. Requests are
//! walked, not decoded. There are no topics and subscriptions: every name works, nothing is kept.

mod counters;
mod feed;
mod publish;
mod template;

pub use counters::Counters;
pub use template::Shape;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::State;
use bytes::Bytes;
use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use hashbrown::HashMap;
use http::{Request, Response};
use hyper::body::Incoming;
use prost::Message;
use tokio::sync::{Notify, mpsc};
use tonic::Status;

use crate::server::grpc::{self, MessageReader, ResponseBody, StreamItem};
use crate::server::{Connection, Handler, Server};
use crate::service::Method;
use crate::wire::{Field, Fields, Malformed};

/// A running bench server.
#[derive(Debug)]
pub struct Bench {
    server: Server,
    handler: Arc<BenchHandler>,
}

/// How to run a [`Bench`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen.
    pub address: SocketAddr,
    /// What the messages look like.
    pub shape: Shape,
    /// Messages to send in all; then silence. `None` is no limit.
    pub messages: Option<u64>,
}

impl Bench {
    /// Starts the server. Must be called within a Tokio runtime.
    pub async fn start(options: Options) -> std::io::Result<Self> {
        let handler = Arc::new(BenchHandler {
            shape: options.shape,
            counters: Arc::default(),
            subscriptions: Mutex::default(),
            quota: Arc::new(Quota {
                limit: options.messages,
                ..Quota::default()
            }),
            published: AtomicU64::new(1),
        });
        let server = Server::start(options.address, None, handler.clone()).await?;
        Ok(Bench { server, handler })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.handler.counters
    }

    /// Sets the counters to zero; the message limit counts anew.
    pub fn reset(&self) {
        self.handler.reset();
    }

    /// Serves `GET /counters` and `POST /reset` on `address`, in JSON. Returns where it listens.
    pub async fn serve_control(&self, address: SocketAddr) -> std::io::Result<SocketAddr> {
        let listener = tokio::net::TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let counters = |State(handler): State<Arc<BenchHandler>>| async move {
            let list = handler.counters.list().into_iter();
            Json(list.collect::<std::collections::BTreeMap<_, _>>())
        };
        let reset = |State(handler): State<Arc<BenchHandler>>| async move {
            handler.reset();
            Json(serde_json::json!({}))
        };
        let router = axum::Router::new()
            .route("/counters", axum::routing::get(counters))
            .route("/reset", axum::routing::post(reset))
            .with_state(self.handler.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(address)
    }

    /// Ends the calls in progress and closes all connections.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}

/// One subscription's flow control: what its streams may have out, and what is out.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    allowed: AtomicI64,
    out: AtomicI64,
    freed: Notify,
}

impl Outstanding {
    fn release(&self, n: u64) {
        self.out
            .fetch_sub(i64::try_from(n).unwrap_or(0), Ordering::AcqRel);
        self.freed.notify_waiters();
    }
}

/// How many messages are sent and may be.
#[derive(Debug, Default)]
pub(crate) struct Quota {
    limit: Option<u64>,
    /// Sent since the last reset.
    sent: AtomicU64,
    /// The number of the next message; not reset, so that no two are equal.
    next: AtomicU64,
    renewed: Notify,
}

impl Quota {
    /// Takes up to `n` messages: their first number and how many there are.
    fn take(&self, n: u64) -> (u64, u64) {
        let before = self.sent.fetch_add(n, Ordering::Relaxed);
        let granted = self
            .limit
            .map_or(n, |limit| limit.saturating_sub(before).min(n));
        (self.next.fetch_add(granted, Ordering::Relaxed), granted)
    }
}

#[derive(Debug)]
struct BenchHandler {
    shape: Shape,
    counters: Arc<Counters>,
    subscriptions: Mutex<HashMap<Box<[u8]>, Arc<Outstanding>>>,
    quota: Arc<Quota>,
    /// The number of the next message published.
    published: AtomicU64,
}

impl Handler for BenchHandler {
    async fn call(
        self: &Arc<Self>,
        request: Request<Incoming>,
        _connection: Arc<Connection>,
    ) -> Response<ResponseBody> {
        match self.answer(request).await {
            Ok(response) => response,
            Err(status) => grpc::error_response(&status),
        }
    }
}

impl BenchHandler {
    fn reset(&self) {
        self.counters.reset();
        self.quota.sent.store(0, Ordering::Relaxed);
        self.quota.renewed.notify_waiters();
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<ResponseBody>, Status> {
        let (parts, body) = request.into_parts();
        let method = Method::of_path(parts.uri.path())?;
        let reader = MessageReader::new(&parts.headers, body)?;
        if method == Method::StreamingPull {
            return self.stream(reader).await;
        }
        if method == Method::Publish {
            let answer = publish::answer(reader, &self.published, &self.counters).await?;
            return Ok(grpc::unary_response(answer));
        }
        let request = reader.unary().await?;
        let answer = match method {
            Method::Acknowledge => {
                let ids = self.release(&request, 2)?;
                self.counters.acknowledge_requests.add(1);
                self.counters.acked.add(ids);
                grpc::frame(&())
            }
            Method::ModifyAckDeadline => {
                self.counters.modify_ack_deadline_requests.add(1);
                let nack = !Fields::new(&request)
                    .any(|field| matches!(field, Ok((3, Field::Varint(seconds))) if seconds != 0));
                if nack {
                    let ids = self.release(&request, 4)?;
                    self.counters.nacked.add(ids);
                } else {
                    self.counters.extended.add(count(&request, 4)?);
                }
                grpc::frame(&())
            }
            other => self.admin(other, request)?,
        };
        Ok(grpc::unary_response(answer))
    }

    /// Whatever is asked for exists and is as it was asked for.
    fn admin(&self, method: Method, request: Bytes) -> Result<Bytes, Status> {
        self.counters.admin_requests.add(1);
        fn decode<M: Message + Default>(request: Bytes) -> Result<M, Status> {
            M::decode(request).map_err(|e| Status::internal(e.to_string()))
        }
        let subscription = |name| pb::Subscription {
            name,
            topic: "projects/bench/topics/bench".into(),
            ack_deadline_seconds: 60,
            state: pb::subscription::State::Active.into(),
            ..Default::default()
        };
        let topic = |name| pb::Topic {
            name,
            state: pb::topic::State::Active.into(),
            ..Default::default()
        };
        Ok(match method {
            Method::CreateTopic | Method::CreateSubscription => {
                let mut framed = bytes::BytesMut::with_capacity(grpc::PREFIX + request.len());
                grpc::put_prefix(&mut framed, request.len());
                framed.extend_from_slice(&request);
                framed.freeze()
            }
            Method::GetTopic => grpc::frame(&topic(decode::<pb::GetTopicRequest>(request)?.topic)),
            Method::GetSubscription => grpc::frame(&subscription(
                decode::<pb::GetSubscriptionRequest>(request)?.subscription,
            )),
            Method::UpdateTopic => grpc::frame(
                &decode::<pb::UpdateTopicRequest>(request)?
                    .topic
                    .unwrap_or_default(),
            ),
            Method::UpdateSubscription => grpc::frame(
                &decode::<pb::UpdateSubscriptionRequest>(request)?
                    .subscription
                    .unwrap_or_default(),
            ),
            Method::Pull => {
                return Err(Status::unimplemented(
                    "The bench server delivers by StreamingPull only.",
                ));
            }
            _ => grpc::frame(&()),
        })
    }

    fn outstanding(&self, subscription: &[u8]) -> Arc<Outstanding> {
        let mut subscriptions = self
            .subscriptions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match subscriptions.get(subscription) {
            Some(known) => known.clone(),
            None => subscriptions
                .entry(subscription.into())
                .or_default()
                .clone(),
        }
    }

    /// Counts the ids in the field `number` of a request and lets the streams send as many more.
    fn release(&self, request: &[u8], number: u64) -> Result<u64, Status> {
        let ids = count(request, number)?;
        let subscription = Fields::new(request).find_map(|field| match field {
            Ok((1, Field::Bytes(name))) => Some(name),
            _ => None,
        });
        self.outstanding(subscription.unwrap_or_default())
            .release(ids);
        Ok(ids)
    }

    async fn stream(&self, mut requests: MessageReader) -> Result<Response<ResponseBody>, Status> {
        let first = requests
            .next()
            .await?
            .ok_or_else(|| Status::invalid_argument("the stream has no first request"))?;
        let first =
            pb::StreamingPullRequest::decode(first).map_err(|e| Status::internal(e.to_string()))?;
        let outstanding = self.outstanding(first.subscription.as_bytes());
        let (out, items) = mpsc::channel(2);
        let feed = feed::Feed::new(
            &self.shape,
            &first,
            outstanding.clone(),
            self.quota.clone(),
            self.counters.clone(),
        );
        tokio::spawn(async move {
            // The request side is read so that the client's acks and pings on the stream are counted
            // and its end is seen.
            let status = tokio::select! {
                () = feed.run(&out) => Status::ok(""),
                status = read(&mut requests, &outstanding, feed.counters()) => status,
            };
            feed.close();
            let _ = out.send(StreamItem::End(status)).await;
        });
        Ok(grpc::stream_response(items))
    }
}

async fn read(
    requests: &mut MessageReader,
    outstanding: &Outstanding,
    counters: &Counters,
) -> Status {
    loop {
        match requests.next().await {
            Ok(Some(request)) => match count(&request, 2) {
                Ok(0) => {}
                Ok(acked) => {
                    counters.acked.add(acked);
                    outstanding.release(acked);
                }
                Err(status) => return status,
            },
            Ok(None) => return Status::ok(""),
            Err(status) => return status,
        }
    }
}

/// How often a field occurs in an encoded message.
fn count(message: &[u8], number: u64) -> Result<u64, Status> {
    let mut n = 0;
    for field in Fields::new(message) {
        let (found, _) = field.map_err(malformed)?;
        n += u64::from(found == number);
    }
    Ok(n)
}

fn malformed(_: Malformed) -> Status {
    Status::internal("the request is not a protobuf message")
}
