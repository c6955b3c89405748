//! The subscriber against the embedded server.

#[path = "support/subscriber.rs"]
mod support;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use pubsub_client::connect::{Connection, ConnectionOptions};
use pubsub_client::error::Code;
use pubsub_client::lease::LeasePolicy;
use pubsub_client::subscribe::{Fetched, INDEX_STRIDE, Subscriber, SubscriberOptions};
use support::{DEADLINE, Fixture, SUBSCRIPTION, payloads};
use tokio::runtime::Runtime;

#[test]
fn what_a_checkpoint_covers_is_acked_and_nothing_else() {
    let fixture = Fixture::new(SubscriberOptions::default());
    assert_eq!(fixture.subscriber.add_split(SUBSCRIPTION).unwrap(), 0);
    fixture.publish(&[b"a", b"b", b"c", b"d"], "");
    let records = fixture.fetch_all(3 + 1);
    let mut got = payloads(&records);
    got.sort();
    assert_eq!(got, [b"a", b"b", b"c", b"d"]);
    assert_eq!(fixture.counts().outstanding_messages, 4);
    fixture.subscriber.snapshot(1, &[(0, 2)]).unwrap();
    assert_eq!(fixture.on_server(), (4, 4));
    fixture.checkpoint(2, 3);
    assert_eq!(fixture.on_server(), (1, 1));
    let counts = fixture.counts();
    assert_eq!((counts.acks_requested, counts.acks_confirmed), (3, 3));
    assert_eq!(
        (counts.outstanding_messages, counts.pending_checkpoints),
        (1, 0)
    );
    assert_eq!(counts.messages_received, 4);
    // An older checkpoint that is told late changes nothing.
    fixture.confirm(1).unwrap();
    assert_eq!(fixture.counts().acks_requested, 3);
}

#[test]
fn close_gives_back_what_no_checkpoint_covers() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"a", b"b", b"c"], "");
    fixture.fetch_all(3);
    fixture.checkpoint(1, 1);
    fixture.subscriber.snapshot(2, &[(0, 2)]).unwrap();
    fixture.subscriber.close(DEADLINE);
    assert_eq!(fixture.counts().messages_nacked, 2);
    assert_eq!(fixture.on_server(), (2, 0));
    assert!(
        fixture
            .subscriber
            .add_split(SUBSCRIPTION)
            .unwrap_err()
            .is_option()
    );
    assert_eq!(fixture.fetch(Duration::ZERO).unwrap(), []);
}

#[test]
fn a_waiting_fetch_ends_when_it_is_woken_or_closed() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.subscriber.wake_up();
    assert_eq!(fixture.fetch(Duration::from_secs(3_600)).unwrap(), []);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fixture.fetch(Duration::from_secs(3_600)).unwrap());
        fixture.subscriber.close(DEADLINE);
        assert_eq!(waiting.join().unwrap(), []);
    });
}

#[test]
fn large_messages_ask_for_room_and_arrive_whole() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    let large: Vec<u8> = (0..9_900_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
    fixture.publish(&[&large], "");
    let records = fixture.fetch_all(1);
    assert!(records[0].payload == large);
    assert_eq!(fixture.counts().stream_reconnects, 0);
}

#[test]
fn a_lease_is_extended_as_long_as_the_message_is_held() {
    let options = SubscriberOptions {
        leases: LeasePolicy {
            min: 10_000,
            max: 10_000,
        },
        ..SubscriberOptions::default()
    };
    let fixture = Fixture::new(options);
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"held", b"also held"], "");
    // One is fetched, and both are neither acked nor given back for 35 seconds.
    fixture.wait("delivery", |f| f.counts().messages_received == 2);
    fixture.fetch_all(2);
    let mut extensions = 0;
    for second in 1..=35 {
        fixture.pass(Duration::from_secs(1));
        if second % 7 == 0 {
            extensions += 2;
            fixture.wait("extension", |f| f.counts().lease_extensions == extensions);
        }
        assert_eq!(fixture.on_server(), (2, 2), "at {second} s");
    }
    fixture.checkpoint(1, 2);
    assert_eq!(fixture.on_server(), (0, 0));
    assert_eq!(fixture.counts().redeliveries, 0);
    assert_eq!(fixture.counts().messages_received, 2);
}

#[test]
fn the_first_lease_does_not_go_beyond_the_ceiling_either() {
    let options = SubscriberOptions {
        max_ack_extension: Duration::from_millis(20_500),
        ..SubscriberOptions::default()
    };
    let fixture = Fixture::new(options);
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"m"], "");
    fixture.fetch_all(1);
    for _ in 0..20 {
        fixture.pass(Duration::from_secs(1));
    }
    fixture.wait("expiry", |f| f.counts().leases_expired == 1);
    fixture.wait("redelivery", |f| f.counts().messages_received == 2);
}

#[test]
fn what_nobody_fetches_keeps_its_lease_too_and_no_lease_goes_beyond_the_ceiling() {
    let options = SubscriberOptions {
        leases: LeasePolicy {
            min: 10_000,
            max: 10_000,
        },
        max_ack_extension: Duration::from_secs(20),
        ..SubscriberOptions::default()
    };
    let fixture = Fixture::new(options);
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"m"], "");
    fixture.wait("delivery", |f| f.counts().buffered_messages == 1);
    for _ in 0..7 {
        fixture.pass(Duration::from_secs(1));
    }
    fixture.wait("extension", |f| f.counts().lease_extensions == 1);
    for _ in 0..11 {
        fixture.pass(Duration::from_secs(1));
    }
    fixture.wait("expiry", |f| f.counts().leases_expired == 1);
    // It comes again: the first delivery is not emitted, and the ack names the second.
    fixture.wait("redelivery", |f| f.counts().messages_received == 2);
    let records = fixture.fetch_all(1);
    fixture.checkpoint(1, records[0].sequence + 1);
    assert_eq!(fixture.on_server(), (0, 0));
}

#[test]
fn a_paused_split_is_not_fetched_and_loses_nothing() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"1"], "");
    fixture.fetch_all(1);
    fixture.subscriber.pause(0, true).unwrap();
    fixture.publish(&[b"2", b"3"], "");
    assert_eq!(fixture.fetch(Duration::from_millis(200)).unwrap(), []);
    fixture.subscriber.pause(0, false).unwrap();
    assert_eq!(payloads(&fixture.fetch_all(2)).len(), 2);
}

#[test]
fn the_buffer_is_bounded_and_refills() {
    let options = SubscriberOptions {
        max_buffered_bytes: 100_000,
        ..SubscriberOptions::default()
    };
    let fixture = Fixture::new(options);
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    let payload = vec![7; 10_000];
    for _ in 0..20 {
        fixture.publish(&[payload.as_slice(); 10], "");
    }
    fixture.wait("a full buffer", |f| f.counts().buffered_bytes >= 100_000);
    // One response more at the most than the bound.
    assert!(
        fixture.counts().buffered_bytes < 100_000 + 2_200_000,
        "{:?}",
        fixture.counts()
    );
    let records = fixture.fetch_all(200);
    fixture.checkpoint(1, 200);
    assert_eq!(fixture.on_server(), (0, 0));
    assert!(records.iter().all(|record| record.payload == payload));
    assert_eq!(fixture.counts().buffered_bytes, 0);
}

#[test]
fn a_single_message_is_given_back_and_comes_again() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"good", b"bad"], "");
    let records = fixture.fetch_all(2);
    let bad = records
        .iter()
        .find(|record| record.payload == b"bad")
        .unwrap();
    fixture.subscriber.nack(0, bad.sequence).unwrap();
    let again = fixture.fetch_all(1);
    assert_eq!(
        (again[0].payload.as_slice(), &again[0].id),
        (b"bad".as_slice(), &bad.id)
    );
    fixture.checkpoint(1, 3);
    assert_eq!(fixture.on_server(), (0, 0));
    assert_eq!(fixture.counts().acks_confirmed, 2);
}

#[test]
fn keys_keep_their_order() {
    let options = SubscriberOptions {
        ordering: true,
        ..SubscriberOptions::default()
    };
    let subscription = pb::Subscription {
        enable_message_ordering: true,
        ..Default::default()
    };
    let fixture = Fixture::with(options, subscription);
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    let numbers: Vec<String> = (0..100).map(|i| format!("{i:03}")).collect();
    for number in &numbers {
        fixture.publish(&[number.as_bytes()], "A");
        fixture.publish(&[number.as_bytes()], "B");
    }
    let mut by_key: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut emitted = 0;
    let end = Instant::now() + DEADLINE;
    // One batch of a key is outstanding at a time, so acks keep the delivery going.
    while emitted < 200 {
        assert!(Instant::now() < end, "{emitted} came");
        for record in fixture.fetch(Duration::from_millis(100)).unwrap() {
            emitted = record.sequence + 1;
            let payload = String::from_utf8(record.payload).unwrap();
            by_key.entry(record.key).or_default().push(payload);
        }
        fixture.checkpoint(emitted as i64, emitted);
    }
    assert_eq!(by_key["A"], numbers);
    assert_eq!(by_key["B"], numbers);
}

#[test]
fn order_on_an_unordered_subscription_is_refused() {
    let options = SubscriberOptions {
        ordering: true,
        ..SubscriberOptions::default()
    };
    let fixture = Fixture::new(options);
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"m"], "");
    let error = fixture.failure();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert_eq!(error.resource(), Some(SUBSCRIPTION));
    assert!(error.to_string().contains("ordering"), "{error}");
}

#[test]
fn a_missing_subscription_is_named() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture
        .subscriber
        .add_split("projects/p/subscriptions/missing")
        .unwrap();
    let error = fixture.failure();
    assert_eq!(error.code(), Code::NotFound);
    assert!(
        error
            .to_string()
            .contains("projects/p/subscriptions/missing"),
        "{error}"
    );
    // Not only once.
    assert_eq!(
        fixture.fetch(Duration::ZERO).unwrap_err().code(),
        Code::NotFound
    );
}

/// A reader of a server that it cannot connect to fails, and names the endpoint.
fn assert_not_reached(runtime: &Runtime, server: std::net::SocketAddr) {
    let options = ConnectionOptions::emulator(&server.to_string()).unwrap();
    let connection = Connection::open(options, runtime.handle()).unwrap();
    let options = SubscriberOptions {
        connect_limit: Duration::from_millis(300),
        ..SubscriberOptions::default()
    };
    let subscriber = Subscriber::open(connection, options);
    subscriber.add_split(SUBSCRIPTION).unwrap();
    let error = subscriber.fetch(DEADLINE, 0, 0).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.to_string().contains(&server.to_string()), "{error}");
    subscriber.close(Duration::from_secs(1));
}

#[test]
fn nothing_listening_fails_and_names_the_endpoint() {
    let runtime = Runtime::new().unwrap();
    // A port that was free a moment ago.
    let server = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    assert_not_reached(&runtime, server);
}

/// A listener that takes no more connections: like one behind a firewall, it does not even refuse them.
async fn full_listener() -> (tokio::net::TcpListener, Vec<tokio::net::TcpStream>) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let mut connections = Vec::new();
    let connect = || {
        let connecting = tokio::net::TcpStream::connect(listener.local_addr().unwrap());
        tokio::time::timeout(Duration::from_millis(500), connecting)
    };
    while let Ok(connected) = connect().await {
        connections.push(connected.unwrap());
    }
    (listener, connections)
}

#[test]
fn a_connection_that_cannot_be_made_in_time_is_no_stream_that_lived() {
    let runtime = Runtime::new().unwrap();
    let (listener, _connections) = runtime.block_on(full_listener());
    assert_not_reached(&runtime, listener.local_addr().unwrap());
}

#[test]
fn exactly_once_deliveries_are_confirmed_and_acked_id_by_id() {
    let subscription = pb::Subscription {
        enable_exactly_once_delivery: true,
        ..Default::default()
    };
    let fixture = Fixture::with(SubscriberOptions::default(), subscription);
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"a", b"b", b"c"], "");
    fixture.fetch_all(3);
    fixture.checkpoint(1, 3);
    assert_eq!(fixture.on_server(), (0, 0));
    assert_eq!(fixture.counts().acks_confirmed, 3);
    assert_eq!(fixture.counts().acks_failed, 0);
}

#[test]
fn what_is_being_fetched_stays_before_what_is_buffered() {
    let options = SubscriberOptions {
        max_records_per_fetch: 1,
        ..SubscriberOptions::default()
    };
    let fixture = Fixture::new(options);
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"first"], "");
    fixture.wait("delivery", |f| f.counts().buffered_messages == 1);
    let Fetched::Messages(fetch) = fixture.subscriber.fetch(DEADLINE, 1_000, 10).unwrap() else {
        panic!("a message was buffered");
    };
    fixture.publish(&[b"second"], "");
    fixture.wait("delivery", |f| f.counts().buffered_messages == 1);
    // The second one's lease comes up for extension while the first one is on its way to the caller.
    fixture.pass(Duration::from_secs(45));
    let (mut data, mut index) = ([0; 1_000], [0; INDEX_STRIDE]);
    assert_eq!(fetch.write(&mut data, &mut index).unwrap().first, 0);
    fixture.pass(Duration::from_secs(1));
    fixture.wait("extension", |f| f.counts().lease_extensions == 2);
    let second = fixture.fetch_all(1);
    assert_eq!(
        (second[0].payload.as_slice(), second[0].sequence),
        (b"second".as_slice(), 1)
    );
}

#[test]
fn a_long_pause_gives_back_what_is_on_its_way_and_still_notices_a_fatal_error() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"held"], "");
    fixture.wait("delivery", |f| f.counts().buffered_messages == 1);
    fixture.subscriber.pause(0, true).unwrap();
    for _ in 0..40 {
        fixture.publish(&[b"more"], "");
    }
    // Half a lease later the stream is let go; the one that watches holds a single message.
    fixture.wait("leases", |f| f.on_server().1 == 41);
    fixture.wait("watching", |f| {
        // Slowly enough for leases to be extended over the network.
        std::thread::park_timeout(Duration::from_millis(20));
        f.pass(Duration::from_secs(1));
        let leases = f.on_server().1;
        f.streams() == 1 && leases < 10 && f.counts().buffered_messages == leases as u64
    });
    assert_eq!(fixture.on_server().0, 41);
    // Nothing is lost and nothing comes twice.
    fixture.subscriber.pause(0, false).unwrap();
    fixture.fetch_all(41);
    fixture.subscriber.pause(0, true).unwrap();
    fixture.delete_subscription();
    assert_eq!(fixture.failure().code(), Code::NotFound);
}

#[test]
fn close_gives_back_what_was_never_read() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"held"], "");
    fixture.wait("delivery", |f| f.counts().buffered_messages == 1);
    fixture.subscriber.pause(0, true).unwrap();
    fixture.publish(&vec![b"more".as_slice(); 100], "");
    fixture.wait("leases", |f| f.on_server().1 == 101);
    fixture.subscriber.close(DEADLINE);
    assert_eq!(fixture.on_server(), (101, 0));
}
