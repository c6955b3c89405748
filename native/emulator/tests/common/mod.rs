//! A server of its own per test, and clients of it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
pub use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use pb::publisher_client::PublisherClient;
use pb::subscriber_client::SubscriberClient;
use prost::Message as _;
use pubsub_emulator::clock::Clock;
use pubsub_emulator::time::Time;
use pubsub_emulator::{Emulator, Options};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tonic::transport::Channel;

/// How long a test waits for what must come.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct Rig {
    pub emulator: Emulator,
    pub publisher: PublisherClient<Channel>,
    pub subscriber: SubscriberClient<Channel>,
}

pub fn message(data: &str) -> pb::PubsubMessage {
    pb::PubsubMessage {
        data: data.as_bytes().to_vec().into(),
        ..Default::default()
    }
}

/// The address of Publish for [`begin`].
pub const PUBLISH: &str = "http://x/google.pubsub.v1.Publisher/Publish";

/// Begins a call on a raw HTTP/2 connection of its own.
pub async fn begin(
    server: SocketAddr,
    call: http::Request<()>,
) -> (h2::client::ResponseFuture, h2::SendStream<Bytes>) {
    let socket = TcpStream::connect(server).await.unwrap();
    let (sender, connection) = h2::client::handshake(socket).await.unwrap();
    tokio::spawn(connection);
    let mut sender = sender.ready().await.unwrap();
    sender.send_request(call, false).unwrap()
}

/// Publishes a request compressed, as one message.
pub async fn publish_compressed(
    server: SocketAddr,
    request: &pb::PublishRequest,
) -> http::Response<h2::RecvStream> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&request.encode_to_vec()).unwrap();
    let zipped = gzip.finish().unwrap();
    let mut bytes = vec![1];
    bytes.extend_from_slice(&(zipped.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&zipped);
    let call = http::Request::post(PUBLISH).header("grpc-encoding", "gzip");
    let (response, mut stream) = begin(server, call.body(()).unwrap()).await;
    stream.send_data(bytes.into(), true).unwrap();
    tokio::time::timeout(PATIENCE, response)
        .await
        .unwrap()
        .unwrap()
}

impl Rig {
    /// A server whose clock is stopped, so that time passes only by `clock().advance`.
    pub async fn start() -> Rig {
        let clock = Clock::stopped(Time::from_secs(1_800_000_000));
        Rig::with(Options {
            clock,
            ..Options::default()
        })
        .await
    }

    pub async fn with(options: Options) -> Rig {
        let emulator = Emulator::start(options).await.unwrap();
        let channel = Rig::channel(&emulator).await;
        let publisher = PublisherClient::new(channel.clone()).max_encoding_message_size(64 << 20);
        let subscriber = SubscriberClient::new(channel).max_decoding_message_size(64 << 20);
        Rig {
            emulator,
            publisher,
            subscriber,
        }
    }

    pub async fn channel(emulator: &Emulator) -> Channel {
        let endpoint = Channel::from_shared(format!("http://{}", emulator.address())).unwrap();
        endpoint
            .initial_stream_window_size(4 << 20)
            .connect()
            .await
            .unwrap()
    }

    pub fn clock(&self) -> &Clock {
        self.emulator.clock()
    }

    pub fn topic_name(&self, id: &str) -> String {
        format!("projects/test/topics/{id}")
    }

    pub fn subscription_name(&self, id: &str) -> String {
        format!("projects/test/subscriptions/{id}")
    }

    pub fn subscription_proto(&self, topic: &str, id: &str) -> pb::Subscription {
        pb::Subscription {
            name: self.subscription_name(id),
            topic: self.topic_name(topic),
            ack_deadline_seconds: 10,
            ..Default::default()
        }
    }

    pub async fn topic(&mut self, id: &str) {
        let name = self.topic_name(id);
        self.publisher
            .create_topic(pb::Topic {
                name,
                ..Default::default()
            })
            .await
            .unwrap();
    }

    pub async fn subscription(
        &mut self,
        topic: &str,
        id: &str,
        change: impl FnOnce(&mut pb::Subscription),
    ) {
        let mut subscription = self.subscription_proto(topic, id);
        change(&mut subscription);
        self.subscriber
            .create_subscription(subscription)
            .await
            .unwrap();
    }

    pub async fn publish(&mut self, topic: &str, messages: Vec<pb::PubsubMessage>) -> Vec<String> {
        let request = pb::PublishRequest {
            topic: self.topic_name(topic),
            messages,
        };
        self.publisher
            .publish(request)
            .await
            .unwrap()
            .into_inner()
            .message_ids
    }

    async fn pull_with(
        &mut self,
        id: &str,
        max_messages: i32,
        at_once: bool,
    ) -> Vec<pb::ReceivedMessage> {
        #[allow(deprecated)]
        let request = pb::PullRequest {
            subscription: self.subscription_name(id),
            max_messages,
            return_immediately: at_once,
        };
        let answer = tokio::time::timeout(PATIENCE, self.subscriber.pull(request))
            .await
            .expect("an answer in time");
        answer.unwrap().into_inner().received_messages
    }

    pub async fn pull(&mut self, id: &str, max: i32) -> Vec<pb::ReceivedMessage> {
        self.pull_with(id, max, false).await
    }

    pub async fn pull_now(&mut self, id: &str, max: i32) -> Vec<pb::ReceivedMessage> {
        self.pull_with(id, max, true).await
    }

    pub async fn ack(&mut self, id: &str, ack_ids: Vec<String>) {
        let request = pb::AcknowledgeRequest {
            subscription: self.subscription_name(id),
            ack_ids,
        };
        self.subscriber.acknowledge(request).await.unwrap();
    }

    pub async fn modify(&mut self, id: &str, ack_ids: Vec<String>, ack_deadline_seconds: i32) {
        let subscription = self.subscription_name(id);
        let request = pb::ModifyAckDeadlineRequest {
            subscription,
            ack_ids,
            ack_deadline_seconds,
        };
        self.subscriber.modify_ack_deadline(request).await.unwrap();
    }

    pub async fn nack(&mut self, id: &str, ack_ids: Vec<String>) {
        self.modify(id, ack_ids, 0).await;
    }

    pub async fn stream(
        &mut self,
        id: &str,
        change: impl FnOnce(&mut pb::StreamingPullRequest),
    ) -> Stream {
        let mut first = pb::StreamingPullRequest {
            subscription: self.subscription_name(id),
            stream_ack_deadline_seconds: 60,
            client_id: "test".into(),
            protocol_version: 1,
            ..Default::default()
        };
        change(&mut first);
        let (requests, outgoing) = mpsc::channel(16);
        requests.send(first).await.unwrap();
        let outgoing = futures_util::stream::unfold(outgoing, |mut requests| async move {
            requests.recv().await.map(|request| (request, requests))
        });
        let responses = self
            .subscriber
            .streaming_pull(outgoing)
            .await
            .unwrap()
            .into_inner();
        Stream {
            requests: Some(requests),
            responses,
            extra: Vec::new(),
            properties: None,
        }
    }
}

pub struct Stream {
    pub requests: Option<mpsc::Sender<pb::StreamingPullRequest>>,
    pub responses: tonic::Streaming<pb::StreamingPullResponse>,
    extra: Vec<pb::ReceivedMessage>,
    pub properties: Option<pb::streaming_pull_response::SubscriptionProperties>,
}

impl Stream {
    /// The next `n` messages.
    pub async fn receive(&mut self, n: usize) -> Vec<pb::ReceivedMessage> {
        while self.extra.len() < n {
            let response = self.response().await.expect("no error").expect("no end");
            self.properties = response.subscription_properties.or(self.properties);
            self.extra.extend(response.received_messages);
        }
        self.extra.drain(..n).collect()
    }

    pub async fn response(&mut self) -> Result<Option<pb::StreamingPullResponse>, tonic::Status> {
        tokio::time::timeout(PATIENCE, self.responses.message())
            .await
            .expect("a response in time")
    }

    /// How the stream ends, skipping messages.
    pub async fn end(&mut self) -> Result<(), tonic::Status> {
        while self.response().await?.is_some() {}
        Ok(())
    }

    pub async fn send(&self, request: pb::StreamingPullRequest) {
        self.requests.as_ref().unwrap().send(request).await.unwrap();
    }

    /// Nothing has come and nothing comes: the server answers pings in turn with what it sends.
    /// The second ping is sent once the server has gone on from the first.
    pub async fn expect_silence(&mut self) {
        assert!(
            self.extra.is_empty(),
            "{} messages too many",
            self.extra.len()
        );
        for _ in 0..2 {
            self.send(pb::StreamingPullRequest::default()).await;
            loop {
                let answer = self.response().await.expect("no error").expect("no end");
                assert_eq!(answer.received_messages, []);
                self.properties = answer.subscription_properties.or(self.properties);
                if answer == pb::StreamingPullResponse::default() {
                    break;
                }
            }
        }
    }
}

/// Returns once `holds`, which must be soon.
pub async fn eventually(holds: impl Fn() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    });
    waited.await.expect("it holds in time");
}

/// A client of the control interface.
pub struct Http(pub SocketAddr);

impl Http {
    pub async fn call(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut socket = TcpStream::connect(self.0).await.unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        (code, body.to_owned())
    }

    async fn json(&self, method: &str, path: &str, body: &str) -> serde_json::Value {
        let (code, answer) = self.call(method, path, body).await;
        assert_eq!(code, 200, "{method} {path}: {answer}");
        serde_json::from_str(&answer).unwrap()
    }

    pub async fn get(&self, path: &str) -> serde_json::Value {
        self.json("GET", path, "").await
    }

    pub async fn delete(&self, path: &str) -> serde_json::Value {
        self.json("DELETE", path, "").await
    }

    pub async fn post(&self, path: &str, body: serde_json::Value) -> serde_json::Value {
        self.json("POST", path, &body.to_string()).await
    }
}

/// The ids and reasons that a status of an exactly-once subscription names.
pub fn ack_failures(status: &tonic::Status) -> BTreeMap<String, String> {
    #[derive(Clone, PartialEq, prost::Message)]
    struct RpcStatus {
        #[prost(message, repeated, tag = "3")]
        details: Vec<prost_types::Any>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    struct ErrorInfo {
        #[prost(btree_map = "string, string", tag = "3")]
        metadata: BTreeMap<String, String>,
    }
    let details = RpcStatus::decode(status.details()).unwrap().details;
    assert_eq!(
        details[0].type_url,
        "type.googleapis.com/google.rpc.ErrorInfo"
    );
    ErrorInfo::decode(details[0].value.as_slice())
        .unwrap()
        .metadata
}
