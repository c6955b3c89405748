//! The publisher over real connections, against a server that follows a script.

mod support;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use flate2::read::GzDecoder;
use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use prost::Message as _;
use pubsub_client::error::Code;
use pubsub_client::publish::{Event, Publisher, PublisherOptions, Target, TopicSettings};
use pubsub_client::retry::BackoffPolicy;
use support::{Call, SOON, Server, soon};

const PUBLISH: &str = "/google.pubsub.v1.Publisher/Publish";
const CREATE: &str = "/google.pubsub.v1.Publisher/CreateTopic";
const TOPIC: &str = "projects/p/topics/t";
const QUICK: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(1),
    multiplier: 2.0,
    max: Duration::from_millis(20),
};

fn options() -> PublisherOptions {
    PublisherOptions {
        ordering: true,
        isolate_rejected: true,
        retry: QUICK,
        recovery: QUICK,
        ..PublisherOptions::default()
    }
}

fn message(key: &str, data: impl Into<Bytes>) -> pb::PubsubMessage {
    pb::PubsubMessage {
        data: data.into(),
        ordering_key: key.to_owned(),
        ..pb::PubsubMessage::default()
    }
}

/// Data and index as the writer hands them over, by the generated code.
fn encode(messages: &[pb::PubsubMessage]) -> (Bytes, Vec<i32>) {
    let mut data = Vec::new();
    let mut index = Vec::new();
    for message in messages {
        let start = data.len();
        let request = pb::PublishRequest {
            topic: String::new(),
            messages: vec![message.clone()],
        };
        request.encode(&mut data).unwrap();
        let key = message.ordering_key.as_bytes();
        let at = match key.len() {
            0 => 0,
            len => start + data[start..].windows(len).rposition(|w| w == key).unwrap(),
        };
        index.extend([data.len() as i32, 0, at as i32, key.len() as i32]);
    }
    (data.into(), index)
}

fn append(publisher: &Publisher, messages: &[pb::PubsubMessage]) {
    let (data, index) = encode(messages);
    publisher
        .append(data, &index, messages.len(), Duration::ZERO)
        .unwrap();
}

fn open(server: &Server, options: PublisherOptions) -> Arc<Publisher> {
    let publisher = Publisher::open(&server.connect(), options);
    assert_eq!(publisher.topic(TOPIC).unwrap(), 0);
    Arc::new(publisher)
}

async fn event(publisher: &Arc<Publisher>) -> Event {
    let publisher = publisher.clone();
    tokio::task::spawn_blocking(move || publisher.await_event(SOON))
        .await
        .unwrap()
}

/// Waits until nothing is in flight.
async fn flushed(publisher: &Arc<Publisher>) {
    publisher.flush().unwrap();
    publisher.set_target(Some(Target::in_flight(0, 0)));
    let event = event(publisher).await;
    assert!(event.target_reached, "{event:?} {:?}", publisher.state());
}

/// What the server does with a publish request.
enum Verdict {
    Confirm,
    Refuse(Code),
    Reset,
}

/// A request that the server was given, and how it was answered.
struct Seen {
    request: pb::PublishRequest,
    bytes: usize,
    compressed: bool,
    confirmed: bool,
}

/// What the server has seen.
#[derive(Default)]
struct Record {
    requests: Vec<Seen>,
    creations: Vec<pb::Topic>,
}

type Log = Arc<Mutex<Record>>;

/// Answers every call by rules, each in a task of its own.
fn serve(
    mut server: Server,
    publish: impl Fn(&pb::PublishRequest) -> Verdict + Send + Sync + 'static,
    create: impl Fn(&pb::Topic) -> Code + Send + Sync + 'static,
) -> (Log, tokio::task::JoinHandle<()>) {
    let log = Log::default();
    let rules = Arc::new((publish, create));
    let serving = {
        let log = log.clone();
        tokio::spawn(async move {
            while let Some(mut call) = server.call_within(SOON).await {
                let (log, rules) = (log.clone(), rules.clone());
                tokio::spawn(async move {
                    let Some(request) = call.body.next().await else {
                        return;
                    };
                    match call.path.as_str() {
                        PUBLISH => {
                            let seen = decode(&call, request);
                            let verdict = (rules.0)(&seen.request);
                            answer(call, seen, verdict, &log);
                        }
                        CREATE => {
                            let topic = pb::Topic::decode(request).unwrap();
                            let code = (rules.1)(&topic);
                            log.lock().unwrap().creations.push(topic.clone());
                            match code {
                                Code::Ok => call.answer(&topic.encode_to_vec()),
                                code => call.refuse(code, "by the rules"),
                            }
                        }
                        other => panic!("a call of {other}"),
                    }
                });
            }
        })
    };
    (log, serving)
}

fn decode(call: &Call, request: Bytes) -> Seen {
    let compressed = call.body.compressed;
    let encoding = call.header("grpc-encoding");
    assert_eq!(encoding, compressed.then_some("gzip"));
    let plain = if compressed {
        let mut plain = Vec::new();
        std::io::copy(&mut GzDecoder::new(&request[..]), &mut plain).unwrap();
        Bytes::from(plain)
    } else {
        request
    };
    let bytes = plain.len();
    let request = pb::PublishRequest::decode(plain).unwrap();
    assert_eq!(
        call.header("x-goog-request-params").unwrap(),
        format!("topic={}", request.topic.replace('/', "%2F"))
    );
    Seen {
        request,
        bytes,
        compressed,
        confirmed: false,
    }
}

fn answer(call: Call, mut seen: Seen, verdict: Verdict, log: &Log) {
    let ids = (0..seen.request.messages.len()).map(|n| n.to_string());
    let response = pb::PublishResponse {
        message_ids: ids.collect(),
    };
    seen.confirmed = matches!(verdict, Verdict::Confirm);
    log.lock().unwrap().requests.push(seen);
    match verdict {
        Verdict::Confirm => call.answer(&response.encode_to_vec()),
        Verdict::Refuse(code) => call.refuse(code, "by the rules"),
        Verdict::Reset => call.reset(h2::Reason::INTERNAL_ERROR),
    }
}

fn no_creation(_: &pb::Topic) -> Code {
    panic!("no topic is to be created")
}

/// What was confirmed of each key, in the order in which the server saw it.
fn confirmed(log: &Log) -> BTreeMap<String, Vec<Bytes>> {
    let mut all: BTreeMap<String, Vec<Bytes>> = BTreeMap::new();
    for seen in log
        .lock()
        .unwrap()
        .requests
        .iter()
        .filter(|seen| seen.confirmed)
    {
        for message in &seen.request.messages {
            all.entry(message.ordering_key.clone())
                .or_default()
                .push(message.data.clone());
        }
    }
    all
}

fn numbers(range: std::ops::RangeInclusive<u32>) -> Vec<Bytes> {
    range.map(|n| n.to_string().into()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_arrive_byte_for_byte_and_no_admin_call_is_made() {
    let server = Server::start().await;
    let publisher = open(&server, options());
    let (log, serving) = serve(server, |_| Verdict::Confirm, no_creation);
    let mut messages: Vec<pb::PubsubMessage> = (0..2_500u32)
        .map(|n| {
            let mut message = message("", n.to_le_bytes().to_vec());
            message.attributes = HashMap::from([("é😀\0".to_owned(), format!("{n}\0"))]);
            message
        })
        .collect();
    for block in messages.chunks(700) {
        append(&publisher, block);
    }
    flushed(&publisher).await;
    let log = log.lock().unwrap();
    let mut arrived: Vec<pb::PubsubMessage> = log
        .requests
        .iter()
        .flat_map(|seen| seen.request.messages.clone())
        .collect();
    let order = |m: &pb::PubsubMessage| m.data.to_vec();
    arrived.sort_by_key(order);
    messages.sort_by_key(order);
    assert!(arrived == messages);
    assert!(log.requests.iter().all(|seen| seen.request.topic == TOPIC));
    assert!(
        log.requests
            .iter()
            .all(|seen| seen.request.messages.len() <= 1_000)
    );
    let state = publisher.state();
    assert_eq!(
        (state.published_messages, state.in_flight_messages),
        (2_500, 0)
    );
    assert_eq!((state.publish_retries, state.requests_in_flight), (0, 0));
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_keep_the_limits_and_a_large_message_goes_alone() {
    let server = Server::start().await;
    let delay = Duration::from_secs(3600);
    let publisher = open(
        &server,
        PublisherOptions {
            batch_delay: delay,
            ..options()
        },
    );
    let (log, serving) = serve(server, |_| Verdict::Confirm, no_creation);
    let key = "k";
    let mut messages: Vec<pb::PubsubMessage> =
        (0..3).map(|n| message(key, format!("a{n}"))).collect();
    messages.push(message(key, vec![b'x'; 8_000_000]));
    messages.extend((0..3).map(|n| message(key, format!("b{n}"))));
    messages.extend((0..2_500).map(|n| message(key, format!("small{n:05}"))));
    for n in 0..200 {
        let mut wide = message(key, n.to_string());
        wide.attributes = (0..100)
            .map(|a| (format!("{a:0>256}"), "v".repeat(1_024)))
            .collect();
        messages.push(wide);
    }
    append(&publisher, &messages);
    flushed(&publisher).await;
    let sent: Vec<Bytes> = messages.into_iter().map(|m| m.data).collect();
    assert!(confirmed(&log)[key] == sent);
    let log = log.lock().unwrap();
    let sizes: Vec<usize> = log
        .requests
        .iter()
        .map(|s| s.request.messages.len())
        .collect();
    assert_eq!(sizes[..4], [3, 1, 1_000, 1_000]);
    for seen in &log.requests {
        let count = seen.request.messages.len();
        assert!((1..=1_000).contains(&count));
        assert!(seen.bytes <= if count == 1 { 10_000_000 } else { 1 << 20 });
    }
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_keep_their_order_through_failures_and_refusals() {
    let server = Server::start().await;
    let publisher = open(
        &server,
        PublisherOptions {
            batch_messages: 1,
            ..options()
        },
    );
    let failures = Mutex::new(vec![Verdict::Refuse(Code::Unavailable), Verdict::Reset]);
    let rules = move |request: &pb::PublishRequest| {
        let message = &request.messages[0];
        if message.ordering_key == "A" && message.data == "10" {
            let next = failures.lock().unwrap().pop();
            next.unwrap_or(Verdict::Refuse(Code::InvalidArgument))
        } else {
            Verdict::Confirm
        }
    };
    let (log, serving) = serve(server, rules, no_creation);
    let messages: Vec<pb::PubsubMessage> = (1..=100u32)
        .flat_map(|n| ["A", "B"].map(|key| message(key, n.to_string())))
        .collect();
    append(&publisher, &messages);
    publisher.flush().unwrap();
    assert!(event(&publisher).await.failure);
    let failure = publisher.take_failure().unwrap();
    assert_eq!(failure.error.code(), Code::InvalidArgument);
    let refused = pb::PublishRequest::decode(failure.message.unwrap()).unwrap();
    assert_eq!(refused.messages, [message("A", "10")]);
    flushed(&publisher).await;
    let confirmed = confirmed(&log);
    assert_eq!(confirmed["B"], numbers(1..=100));
    assert_eq!(confirmed["A"], [numbers(1..=9), numbers(11..=100)].concat());
    let state = publisher.state();
    assert_eq!((state.published_messages, state.failed_messages), (199, 1));
    assert_eq!(state.publish_retries, 2);
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_refused_message_of_a_hundred_is_found() {
    let server = Server::start().await;
    let publisher = open(&server, options());
    let rules = |request: &pb::PublishRequest| {
        if request.messages.iter().any(|m| m.data == "50") {
            Verdict::Refuse(Code::InvalidArgument)
        } else {
            Verdict::Confirm
        }
    };
    let (log, serving) = serve(server, rules, no_creation);
    let messages: Vec<pb::PubsubMessage> = numbers(1..=100)
        .into_iter()
        .map(|n| message("", n))
        .collect();
    append(&publisher, &messages);
    publisher.flush().unwrap();
    publisher.set_target(Some(Target::in_flight(1, u64::MAX)));
    while !event(&publisher).await.target_reached {}
    let failure = publisher.take_failure().unwrap();
    let refused = pb::PublishRequest::decode(failure.message.unwrap()).unwrap();
    assert_eq!(refused.messages, [message("", "50")]);
    assert!(publisher.take_failure().is_none());
    let mut published = confirmed(&log).remove("").unwrap();
    published.sort();
    let mut expected: Vec<Bytes> = numbers(1..=100).into_iter().filter(|n| n != "50").collect();
    expected.sort();
    assert_eq!(published, expected);
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_identity_is_told_at_once_and_without_further_input() {
    let server = Server::start().await;
    let publisher = open(
        &server,
        PublisherOptions {
            batch_messages: 1,
            ..options()
        },
    );
    let rules = |request: &pb::PublishRequest| match &request.messages[0].data[..] {
        b"57" => Verdict::Refuse(Code::PermissionDenied),
        _ => Verdict::Confirm,
    };
    let (_log, serving) = serve(server, rules, no_creation);
    let messages: Vec<pb::PubsubMessage> = numbers(1..=100)
        .into_iter()
        .map(|n| message("k", n))
        .collect();
    append(&publisher, &messages);
    assert!(event(&publisher).await.failure);
    let failure = publisher.take_failure().unwrap();
    assert!(failure.message.is_none());
    assert_eq!(
        failure.error.to_string(),
        format!(
            "PERMISSION_DENIED from Publish on {TOPIC}: by the rules \
             (the identity of this job needs the permission pubsub.topics.publish)"
        )
    );
    assert_eq!(
        publisher.flush().unwrap_err().code(),
        Code::PermissionDenied
    );
    let state = publisher.state();
    assert_eq!(
        (state.published_messages, state.in_flight_messages),
        (56, 44)
    );
    serving.abort();
}

/// A server whose topic is missing until it is created, and unknown to `stale` publishes after that.
fn missing_topic(
    stale: u32,
) -> (
    impl Fn(&pb::PublishRequest) -> Verdict,
    impl Fn(&pb::Topic) -> Code,
) {
    let created = Arc::new(Mutex::new((false, stale)));
    let publish = {
        let created = created.clone();
        move |_: &pb::PublishRequest| {
            let mut state = created.lock().unwrap();
            match *state {
                (true, 0) => Verdict::Confirm,
                (true, stale) => {
                    state.1 = stale - 1;
                    Verdict::Refuse(Code::NotFound)
                }
                (false, _) => Verdict::Refuse(Code::NotFound),
            }
        }
    };
    let create = move |_: &pb::Topic| {
        let mut state = created.lock().unwrap();
        if std::mem::replace(&mut state.0, true) {
            Code::AlreadyExists
        } else {
            Code::Ok
        }
    };
    (publish, create)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_create_a_missing_topic_and_everything_is_published() {
    let server = Server::start().await;
    let settings = TopicSettings {
        labels: vec![("made".into(), "here".into())],
        ..TopicSettings::default()
    };
    let options = PublisherOptions {
        batch_messages: 5,
        create_topics: Some(settings),
        ..options()
    };
    let writers: Vec<Arc<Publisher>> = (0..8).map(|_| open(&server, options.clone())).collect();
    let (publish, create) = missing_topic(2);
    let (log, serving) = serve(server, publish, create);
    for (n, writer) in writers.iter().enumerate() {
        let key = format!("key-{n}");
        let messages: Vec<pb::PubsubMessage> = numbers(1..=50)
            .into_iter()
            .map(|n| message(&key, n))
            .collect();
        append(writer, &messages);
    }
    for writer in &writers {
        flushed(writer).await;
    }
    let confirmed = confirmed(&log);
    assert_eq!(confirmed.len(), 8);
    assert!(confirmed.values().all(|of_key| *of_key == numbers(1..=50)));
    let created: u64 = writers
        .iter()
        .map(|writer| writer.state().topics_created)
        .sum();
    assert_eq!(created, 1);
    let log = log.lock().unwrap();
    assert!(!log.creations.is_empty() && log.creations.len() <= 8);
    for topic in &log.creations {
        assert_eq!(topic.name, TOPIC);
        assert_eq!(topic.labels["made"], "here");
    }
    assert!(
        writers
            .iter()
            .all(|writer| writer.state().parked_messages == 0)
    );
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_may_not_be_created_fails_by_name() {
    for (create_topics, code, expected) in [
        (None, Code::NotFound, "createDisposition is CREATE_NEVER"),
        (
            Some(TopicSettings::default()),
            Code::PermissionDenied,
            "the identity of this job needs the permission pubsub.topics.create",
        ),
    ] {
        let server = Server::start().await;
        let publisher = open(
            &server,
            PublisherOptions {
                create_topics,
                ..options()
            },
        );
        let rules = |_: &pb::PublishRequest| Verdict::Refuse(Code::NotFound);
        let (_log, serving) = serve(server, rules, |_| Code::PermissionDenied);
        append(&publisher, &[message("", "a")]);
        publisher.flush().unwrap();
        assert!(event(&publisher).await.failure);
        let error = publisher.take_failure().unwrap().error;
        assert_eq!(error.code(), code);
        let text = error.to_string();
        assert!(text.contains(expected) && text.contains(TOPIC), "{text}");
        serving.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_and_keys_keep_their_order_when_connections_break() {
    let server = Server::start().await;
    let publisher = open(
        &server,
        PublisherOptions {
            batch_messages: 10,
            ..options()
        },
    );
    let mut server = server;
    let messages: Vec<pb::PubsubMessage> = (1..=400u32)
        .flat_map(|n| ["a", "b", "c", ""].map(|key| message(key, n.to_string())))
        .collect();
    append(&publisher, &messages);
    publisher.flush().unwrap();
    let log = Log::default();
    let done = flushed(&publisher);
    let serving = async {
        for number in 0.. {
            let mut call = server.call().await;
            let Some(request) = call.body.next().await else {
                continue;
            };
            let seen = decode(&call, request);
            match number {
                5 | 60 => {
                    // Taken, but the answer never arrives.
                    answer(call, seen, Verdict::Confirm, &log);
                    server.cut();
                }
                30 | 90 => {
                    server.go_away();
                    answer(call, seen, Verdict::Confirm, &log);
                }
                _ => answer(call, seen, Verdict::Confirm, &log),
            }
        }
    };
    tokio::select! {
        () = done => {}
        () = serving => {}
    }
    for (key, mut arrived) in confirmed(&log) {
        if key.is_empty() {
            arrived.sort_by_key(|n| std::str::from_utf8(n).unwrap().parse::<u32>().unwrap());
        } else {
            // Doubles come from requests that were sent again as a whole.
            let mut seen = 0;
            for n in &arrived {
                let n: u32 = std::str::from_utf8(n).unwrap().parse().unwrap();
                assert!(n <= seen + 1, "{key}: {n} after {seen}");
                seen = seen.max(n);
            }
            arrived.sort_by_key(|n| std::str::from_utf8(n).unwrap().parse::<u32>().unwrap());
        }
        arrived.dedup();
        assert_eq!(arrived, numbers(1..=400), "{key}");
    }
    assert!(publisher.state().publish_retries >= 1);
    assert_eq!(publisher.state().published_messages, 1_600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_requests_are_compressed_and_small_ones_are_not() {
    let server = Server::start().await;
    let publisher = open(
        &server,
        PublisherOptions {
            compression_threshold: Some(1_000),
            ..options()
        },
    );
    let (log, serving) = serve(server, |_| Verdict::Confirm, no_creation);
    append(&publisher, &[message("", vec![b'x'; 100_000])]);
    flushed(&publisher).await;
    append(&publisher, &[message("", "small")]);
    flushed(&publisher).await;
    let log = log.lock().unwrap();
    let compressed: Vec<bool> = log.requests.iter().map(|seen| seen.compressed).collect();
    assert_eq!(compressed, [true, false]);
    assert_eq!(
        log.requests[0].request.messages,
        [message("", vec![b'x'; 100_000])]
    );
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_does_not_confirm_every_message_is_a_failure() {
    let mut server = Server::start().await;
    let publisher = open(&server, options());
    append(&publisher, &[message("", "a"), message("", "b")]);
    let mut call = server.call().await;
    call.request().await;
    let response = pb::PublishResponse {
        message_ids: vec!["1".into()],
    };
    call.answer(&response.encode_to_vec());
    assert!(event(&publisher).await.failure);
    let error = publisher.take_failure().unwrap().error;
    assert_eq!(error.code(), Code::DataLoss);
    assert_eq!(error.resource(), Some(TOPIC));
    assert_eq!(
        error.message(),
        "the server sent 1 message ids for 2 messages"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_are_under_way_at_once_and_one_per_key() {
    let mut server = Server::start().await;
    let publisher = open(
        &server,
        PublisherOptions {
            batch_messages: 1,
            ..options()
        },
    );
    let mut messages: Vec<pb::PubsubMessage> = numbers(1..=20)
        .into_iter()
        .map(|n| message("", n))
        .collect();
    messages.extend(numbers(1..=20).into_iter().map(|n| message("k", n)));
    append(&publisher, &messages);
    let mut calls = Vec::new();
    for _ in 0..21 {
        calls.push(server.call().await);
    }
    assert!(
        server
            .call_within(Duration::from_millis(100))
            .await
            .is_none()
    );
    assert_eq!(publisher.state().requests_in_flight, 21);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_connection_has_not_taken_is_told_until_it_is_written_or_its_attempt_is_over() {
    let mut server = Server::start().await;
    let publisher = open(&server, options());
    // More than the server lets a stream send unread.
    let large = || message("", "x".repeat(3 << 20));
    append(&publisher, &[large()]);
    let mut call = server.call().await;
    let state = publisher.state();
    assert_eq!(state.unwritten_bytes, state.in_flight_bytes);
    assert!(state.unwritten_bytes > 3 << 20);
    publisher.set_target(Some(Target {
        unwritten: 0,
        ..Target::in_flight(u64::MAX, u64::MAX)
    }));
    assert!(call.request().await.len() > 3 << 20);
    assert!(event(&publisher).await.target_reached);
    let state = publisher.state();
    assert_eq!((state.unwritten_bytes, state.in_flight_messages), (0, 1));

    append(&publisher, &[large()]);
    let call = server.call().await;
    assert!(publisher.state().unwritten_bytes > 3 << 20);
    call.refuse(Code::PermissionDenied, "no");
    assert!(event(&publisher).await.failure);
    soon(async {
        while publisher.state().unwritten_bytes > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_ends_within_its_time_although_the_server_is_silent() {
    let mut server = Server::start().await;
    let publisher = open(&server, options());
    append(&publisher, &[message("", "a")]);
    let mut call = server.call().await;
    let start = std::time::Instant::now();
    let closing = {
        let publisher = publisher.clone();
        tokio::task::spawn_blocking(move || publisher.close(Duration::from_millis(100)))
    };
    assert_eq!(call.cancelled().await, h2::Reason::CANCEL);
    soon(closing).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(event(&publisher).await.closed);
}
