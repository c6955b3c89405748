//! A long run leaves nothing behind. A process of its own, because it looks at the whole process.
#![cfg(target_os = "linux")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use prost::Message as _;
use pubsub_client::publish::{Publisher, PublisherOptions, Target};
use support::{SOON, Server};

/// Messages of each half.
const HALF: u64 = 300_000;
const PAGE: u64 = 4096;
/// What the allocator may keep.
const SLACK: u64 = 24 << 20;

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * PAGE
}

/// Publishes messages of changing keys to changing topics, as fast as they are confirmed.
fn publish(publisher: &Publisher, topics: u64, range: std::ops::Range<u64>) {
    let mut numbers = range.peekable();
    while numbers.peek().is_some() {
        let (mut data, mut index) = (Vec::new(), Vec::new());
        for n in numbers.by_ref().take(1_000) {
            let key = if n % 10 == 0 {
                format!("key-{n}")
            } else {
                String::new()
            };
            let request = pb::PublishRequest {
                topic: String::new(),
                messages: vec![pb::PubsubMessage {
                    data: vec![b'x'; 100].into(),
                    ordering_key: key.clone(),
                    ..pb::PubsubMessage::default()
                }],
            };
            request.encode(&mut data).unwrap();
            // The key is the last field.
            let at = data.len() - key.len();
            let topic = publisher
                .topic(&format!("projects/p/topics/t-{}", n / 500 % topics))
                .unwrap();
            index.extend([data.len() as i32, topic as i32, at as i32, key.len() as i32]);
        }
        let mut buffer = publisher.buffer(data.len());
        buffer.copy_from_slice(&data);
        let count = index.len() / 4;
        let in_flight = publisher
            .append(buffer.freeze(), &index, count, Duration::ZERO)
            .unwrap();
        if in_flight.messages > 20_000 {
            publisher.set_target(Some(Target::in_flight(10_000, u64::MAX)));
            assert!(publisher.await_event(SOON).target_reached);
        }
    }
    publisher.flush().unwrap();
    publisher.set_target(Some(Target::in_flight(0, 0)));
    let event = publisher.await_event(SOON);
    assert!(event.target_reached, "{event:?} {:?}", publisher.state());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_flat() {
    let mut server = Server::start().await;
    let options = PublisherOptions {
        ordering: true,
        max_active_topics: 50,
        ..PublisherOptions::default()
    };
    let publisher = Arc::new(Publisher::open(&server.connect(), options));
    let confirmed = Arc::new(AtomicU64::new(0));
    let counted = confirmed.clone();
    let serving = tokio::spawn(async move {
        while let Some(mut call) = server.call_within(SOON).await {
            let counted = counted.clone();
            tokio::spawn(async move {
                let Some(request) = call.body.next().await else {
                    return;
                };
                let messages = pb::PublishRequest::decode(request).unwrap().messages.len();
                counted.fetch_add(messages as u64, Ordering::Relaxed);
                let response = pb::PublishResponse {
                    message_ids: vec![String::new(); messages],
                };
                call.answer(&response.encode_to_vec());
            });
        }
    });
    let run = |range| {
        let publisher = publisher.clone();
        async move {
            tokio::task::spawn_blocking(move || publish(&publisher, 200, range))
                .await
                .unwrap();
            resident()
        }
    };
    let first = run(0..HALF).await;
    let second = run(HALF..2 * HALF).await;
    assert!(second < first + SLACK, "{first} bytes, then {second}");
    assert_eq!(confirmed.load(Ordering::Relaxed), 2 * HALF);
    let state = publisher.state();
    assert_eq!(state.published_messages, 2 * HALF);
    assert!(state.active_topics <= 50, "{state:?}");
    serving.abort();
}
