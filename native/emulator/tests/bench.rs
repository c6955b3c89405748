//! The bench server, through a client of the published API.

mod common;

use std::collections::HashSet;

use common::pb;
use pb::publisher_client::PublisherClient;
use pb::subscriber_client::SubscriberClient;
use pubsub_emulator::bench::{Bench, Options, Shape};
use tonic::transport::Channel;

async fn start(messages: Option<u64>) -> (Bench, Channel) {
    let options = Options {
        address: ([127, 0, 0, 1], 0).into(),
        shape: Shape::default(),
        messages,
    };
    let bench = Bench::start(options).await.unwrap();
    let channel = Channel::from_shared(format!("http://{}", bench.address()))
        .unwrap()
        .connect()
        .await
        .unwrap();
    (bench, channel)
}

fn first(max_outstanding_messages: i64) -> pb::StreamingPullRequest {
    pb::StreamingPullRequest {
        subscription: "projects/p/subscriptions/sub".into(),
        stream_ack_deadline_seconds: 60,
        max_outstanding_messages,
        ..Default::default()
    }
}

#[tokio::test]
async fn no_more_is_out_than_the_stream_allows_and_no_two_messages_are_equal() {
    let (bench, channel) = start(Some(500)).await;
    let mut subscriber = SubscriberClient::new(channel);
    let requests = futures_util::stream::StreamExt::chain(
        futures_util::stream::iter([first(100)]),
        futures_util::stream::pending(),
    );
    let mut stream = subscriber
        .streaming_pull(requests)
        .await
        .unwrap()
        .into_inner();
    let mut ids = HashSet::new();
    let mut unacked = Vec::new();
    while ids.len() < 500 {
        let response = stream.message().await.unwrap().unwrap();
        for received in response.received_messages {
            assert!(ids.insert(received.message.unwrap().message_id));
            unacked.push(received.ack_id);
        }
        assert!(unacked.len() <= 100);
        if unacked.len() == 100 {
            assert_eq!(bench.counters().messages_sent.get() as usize, ids.len());
            let subscription = "projects/p/subscriptions/sub".into();
            let request = pb::AcknowledgeRequest {
                subscription,
                ack_ids: std::mem::take(&mut unacked),
            };
            subscriber.acknowledge(request).await.unwrap();
        }
    }
    assert_eq!(bench.counters().messages_sent.get(), 500);
    assert!(bench.counters().acked.get() >= 400);
}

/// Publishes in one request; returns its length and the ids.
async fn publish(channel: Channel, messages: Vec<pb::PubsubMessage>) -> (usize, HashSet<String>) {
    let request = pb::PublishRequest {
        topic: "projects/p/topics/t".into(),
        messages,
    };
    let len = prost::Message::encoded_len(&request);
    let answer = PublisherClient::new(channel).publish(request).await;
    (
        len,
        answer
            .unwrap()
            .into_inner()
            .message_ids
            .into_iter()
            .collect(),
    )
}

#[tokio::test]
async fn a_publish_is_answered_with_an_id_per_message() {
    let (bench, channel) = start(None).await;
    let (_, ids) = publish(channel, vec![common::message("a"); 1000]).await;
    assert_eq!(ids.len(), 1000);
    assert_eq!(bench.counters().messages_published.get(), 1000);
}

#[tokio::test]
async fn messages_are_counted_across_frames() {
    let (bench, channel) = start(None).await;
    let messages = (0..700).map(|i| common::message(&"x".repeat(i * 10)));
    let (len, ids) = publish(channel, messages.collect()).await;
    assert_eq!(ids.len(), 700);
    assert_eq!(bench.counters().messages_published.get(), 700);
    assert_eq!(bench.counters().bytes_published.get(), len as u64);
    assert!(len > 2_000_000);
}

#[tokio::test]
async fn messages_of_a_compressed_request_are_counted() {
    let (bench, _) = start(None).await;
    let request = pb::PublishRequest {
        topic: "projects/p/topics/t".into(),
        messages: vec![common::message(&"x".repeat(10_000)); 100],
    };
    let mut response = common::publish_compressed(bench.address(), &request).await;
    let mut answer = Vec::new();
    while let Some(data) = response.body_mut().data().await {
        answer.extend_from_slice(&data.unwrap());
    }
    let answer: pb::PublishResponse = prost::Message::decode(&answer[5..]).unwrap();
    assert_eq!(answer.message_ids.len(), 100);
    assert_eq!(bench.counters().messages_published.get(), 100);
    let len = prost::Message::encoded_len(&request);
    assert_eq!(bench.counters().bytes_published.get(), len as u64);
}
