//! The subscriber while the server, the network or the caller does what it should not.

#[path = "support/subscriber.rs"]
mod support;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use pubsub_client::error::Code;
use pubsub_client::subscribe::{Fetched, INDEX_STRIDE, SubscriberOptions};
use pubsub_emulator::fault::{Action, Rule};
use pubsub_emulator::service::Method;
use support::{DEADLINE, Fixture, SUBSCRIPTION, leases_of, once, payloads, status};

/// Long names and ids, of which few fit into a request.
fn long_names() -> Fixture {
    let subscription = pb::Subscription {
        name: format!("projects/p/subscriptions/{}", "s".repeat(255)),
        ..Default::default()
    };
    let fixture = Fixture::with(SubscriberOptions::default(), subscription);
    fixture.emulator.control().set_ack_id_len(230).unwrap();
    fixture.record();
    fixture.subscriber.add_split(&fixture.name).unwrap();
    fixture.publish_many(6_000);
    fixture.fetch_all(6_000);
    fixture
}

#[test]
fn a_large_checkpoint_is_acked_in_requests_of_the_allowed_size() {
    let fixture = long_names();
    fixture.fault(Rule::status(Method::Acknowledge, Code::Unavailable, 1));
    fixture.checkpoint(1, 6_000);
    assert_eq!(fixture.on_server(), (0, 0));
    assert_eq!(fixture.assert_split(Method::Acknowledge, 6_000), 1);
    let counts = fixture.counts();
    assert_eq!((counts.acks_confirmed, counts.acks_failed), (6_000, 0));
    assert_eq!(counts.outstanding_messages, 0);
}

#[test]
fn all_that_is_held_is_given_back_in_requests_of_the_allowed_size() {
    let fixture = long_names();
    fixture.fault(Rule::status(
        Method::ModifyAckDeadline,
        Code::Unavailable,
        1,
    ));
    fixture.subscriber.close(DEADLINE);
    assert_eq!(fixture.on_server(), (6_000, 0));
    assert_eq!(fixture.assert_split(Method::ModifyAckDeadline, 6_000), 1);
    for request in fixture.requests(Method::ModifyAckDeadline) {
        assert_eq!(request.ack_deadline_seconds, Some(0));
    }
    assert_eq!(fixture.counts().messages_nacked, 6_000);
}

#[test]
fn a_response_of_several_large_messages_arrives_whole() {
    let fixture = Fixture::new(SubscriberOptions::default());
    let control = fixture.emulator.control();
    control.set_response_limits(1_000, 12_000_000).unwrap();
    let large: Vec<Vec<u8>> = (1..=3u32)
        .map(|n| (0..4_000_000u32).map(|i| ((i * n) >> 3) as u8).collect())
        .collect();
    for payload in &large {
        fixture.publish(&[payload], "");
    }
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    // One fetch never splits a response, and such large ones are not merged.
    let records = fixture.fetch(DEADLINE).unwrap();
    assert!(payloads(&records) == large.iter().map(Vec::as_slice).collect::<Vec<_>>());
    fixture.checkpoint(1, 3);
    assert_eq!(fixture.on_server(), (0, 0));
    assert_eq!(fixture.counts().stream_reconnects, 0);
}

#[test]
fn confirmations_are_waited_for_piece_by_piece() {
    let fixture = Fixture::new(SubscriberOptions::default());
    let control = fixture.emulator.control();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish_many(10);
    fixture.fetch_all(10);
    control.freeze_acks(None).unwrap();
    fixture.subscriber.snapshot(1, &[(0, 10)]).unwrap();
    fixture.subscriber.complete(1, true).unwrap();
    let slice = Duration::from_millis(10);
    for _ in 0..3 {
        assert!(!fixture.subscriber.confirmed(slice).unwrap());
    }
    assert!(control.release_acks());
    assert!(fixture.subscriber.confirmed(DEADLINE).unwrap());
    assert_eq!(fixture.counts().acks_confirmed, 10);
    // Nothing more is asked for.
    assert!(fixture.subscriber.confirmed(Duration::ZERO).unwrap());
}

#[test]
fn acks_outlive_the_stream_and_delivery_goes_on() {
    let fixture = Fixture::new(SubscriberOptions::default());
    let control = fixture.emulator.control();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish_many(100);
    fixture.fetch_all(100);

    // Half of the acks are on their way when the stream breaks.
    control.freeze_acks(None).unwrap();
    fixture.subscriber.snapshot(1, &[(0, 50)]).unwrap();
    fixture.subscriber.complete(1, false).unwrap();
    fixture.strike(status(Code::Unavailable));
    fixture.wait("reconnect", |f| f.counts().stream_reconnects == 1);
    assert_eq!(fixture.on_server(), (100, 100));
    assert!(control.release_acks());
    fixture.wait("acks", |f| f.on_server() == (50, 50));

    fixture.record();
    let goaway = Action::Goaway {
        close_after_ms: Some(100),
    };
    fixture.fault(once(Method::Acknowledge, goaway));
    fixture.checkpoint(2, 100);
    assert_eq!(fixture.on_server(), (0, 0));
    let requests = fixture.requests(Method::Acknowledge);
    assert_eq!(requests.len(), 2);
    assert_ne!(requests[0].connection, requests[1].connection);
    assert_eq!(requests[0].ack_ids, requests[1].ack_ids);

    fixture.strike(status(Code::Ok));
    fixture.wait("reconnect", |f| f.counts().stream_reconnects == 2);
    fixture.delivers("after a clean end");
    fixture.strike(Action::RstStream { code: 0 });
    fixture.wait("reconnect", |f| f.counts().stream_reconnects == 3);
    fixture.delivers("after a reset");
    let counts = fixture.counts();
    assert_eq!((counts.acks_confirmed, counts.acks_failed), (102, 0));
    assert_eq!((counts.messages_received, counts.redeliveries), (102, 0));
    assert_eq!(counts.stream_reconnects, 3);
}

#[test]
fn what_was_held_at_the_end_comes_again_at_once() {
    let subscription = pb::Subscription {
        ack_deadline_seconds: 600,
        ..Default::default()
    };
    let mut fixture = Fixture::with(leases_of(600_000), subscription);
    fixture.record();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish_many(10);
    let before = fixture.fetch_all(10);
    fixture.subscriber.close(DEADLINE);
    // The server knows it before close returns.
    assert_eq!(fixture.on_server(), (10, 0));
    assert_eq!(fixture.assert_split(Method::ModifyAckDeadline, 10), 0);
    fixture.restart(SubscriberOptions::default());
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    let again = fixture.fetch_all(10);
    let ids = |records: &[support::Record]| -> BTreeSet<String> {
        records.iter().map(|record| record.id.clone()).collect()
    };
    assert_eq!(ids(&again), ids(&before));
}

#[test]
fn closing_keeps_its_time_when_the_server_has_stopped_answering() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish_many(10);
    fixture.fetch_all(10);
    fixture.strike(Action::Silence);
    fixture.fault(Rule {
        method: "*".into(),
        ..Rule::new(Method::Acknowledge, Action::Silence)
    });
    fixture.subscriber.snapshot(1, &[(0, 5)]).unwrap();
    fixture.subscriber.complete(1, false).unwrap();
    let bound = Duration::from_secs(1);
    let start = Instant::now();
    fixture.subscriber.close(bound);
    let took = start.elapsed();
    assert!(took >= bound && took < 2 * bound, "{took:?}");
    assert_eq!(fixture.counts().messages_nacked, 5);
}

#[test]
fn nothing_that_arrives_while_closing_keeps_its_lease() {
    for round in 0..20 {
        let fixture = Fixture::new(SubscriberOptions::default());
        let control = fixture.emulator.control();
        control.set_response_limits(7, 100_000).unwrap();
        fixture.publish_many(2_000);
        fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
        fixture.wait("deliveries", |f| f.counts().messages_received > 50 * round);
        fixture.subscriber.close(DEADLINE);
        assert_eq!(fixture.on_server(), (2_000, 0), "round {round}");
    }
}

#[test]
fn a_redelivery_is_emitted_once_and_acked_by_its_newest_id() {
    let options = SubscriberOptions {
        max_outstanding_messages: 10,
        ..SubscriberOptions::default()
    };
    let fixture = Fixture::new(options);
    let control = fixture.emulator.control();
    fixture.record();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    for round in 1..=50 {
        fixture.publish(&[b"m1"], "");
        let record = fixture.fetch_all(1).pop().unwrap();
        let first = fixture.ack_id();
        assert_eq!(control.redeliver(SUBSCRIPTION, None).unwrap(), 1);
        fixture.wait("redelivery", |f| {
            f.counts().messages_received == 2 * round && f.counts().buffered_messages == 1
        });
        let newest = fixture.ack_id();
        assert_ne!(first, newest);
        // It is fetched, to be counted and not to be emitted.
        assert_eq!(fixture.fetch(DEADLINE).unwrap(), []);
        fixture.checkpoint(round as i64, record.sequence + 2);
        assert_eq!(fixture.on_server(), (0, 0));
        assert_eq!(fixture.counts().outstanding_messages, 0);
        let requests = fixture.requests(Method::Acknowledge);
        assert_eq!(requests.len(), round as usize);
        assert_eq!(requests.last().unwrap().ack_ids, [newest.unwrap()]);
    }
    let counts = fixture.counts();
    assert_eq!((counts.redeliveries, counts.acks_confirmed), (50, 50));
}

#[test]
fn a_silent_stream_is_opened_again() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.delivers("before");
    fixture.strike(Action::Silence);
    fixture.pass(Duration::from_secs(299));
    fixture.publish(&[b"unheard"], "");
    assert_eq!(fixture.fetch(Duration::from_millis(100)).unwrap(), []);
    assert_eq!(fixture.counts().stream_reconnects, 0);
    fixture.pass(Duration::from_secs(1));
    fixture.wait("reconnect", |f| f.counts().stream_reconnects == 1);
    fixture.pass(Duration::from_secs(61));
    assert_eq!(payloads(&fixture.fetch_all(1)), [b"unheard"]);
}

#[test]
fn only_faults_of_the_request_end_a_subscriber_and_they_are_named() {
    for code in [Code::PermissionDenied, Code::NotFound] {
        let fixture = Fixture::new(SubscriberOptions::default());
        fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
        fixture.delivers("before");
        fixture.strike(status(code));
        let error = fixture.fetch(DEADLINE).unwrap_err();
        assert_eq!((error.code(), error.resource()), (code, Some(SUBSCRIPTION)));
        assert!(error.to_string().contains(SUBSCRIPTION), "{error}");
        // Whoever does not fetch hears of it with the next checkpoint.
        let error = fixture.subscriber.complete(1, false).unwrap_err();
        assert_eq!((error.code(), error.resource()), (code, Some(SUBSCRIPTION)));
        assert_eq!(fixture.counts().stream_reconnects, 0);
    }
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    for (at, code) in [
        Code::Unavailable,
        Code::Internal,
        Code::Aborted,
        Code::Cancelled,
        Code::DeadlineExceeded,
        Code::ResourceExhausted,
        Code::Unknown,
    ]
    .into_iter()
    .enumerate()
    {
        fixture.delivers(&format!("before {code:?}"));
        fixture.strike(status(code));
        fixture.wait("reconnect", |f| {
            f.counts().stream_reconnects == at as u64 + 1
        });
    }
    fixture.delivers("after all");
}

#[test]
fn an_outage_is_never_fatal_once_the_server_was_there() {
    let options = SubscriberOptions {
        connect_limit: Duration::ZERO,
        ..SubscriberOptions::default()
    };
    let fixture = Fixture::new(options);
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.delivers("before");
    fixture.wait("a stream", |f| f.streams() == 1);
    fixture.fault(Rule::status(Method::StreamingPull, Code::Unavailable, 3));
    fixture.strike(status(Code::Unavailable));
    fixture.wait("reconnects", |f| f.counts().stream_reconnects == 4);
    fixture.delivers("after");
}

#[test]
fn a_split_that_is_removed_during_a_fetch_keeps_its_positions_true() {
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
    fixture.subscriber.remove_split(0).unwrap();
    fixture.wait("the stream's end", |f| f.streams() == 0);
    let (mut data, mut index) = ([0; 1_000], [0; INDEX_STRIDE]);
    assert_eq!(fetch.write(&mut data, &mut index).unwrap().first, 0);
    // The second was not fetched and is given back, the first is acked with its checkpoint.
    fixture.wait("the second's return", |f| f.on_server() == (2, 1));
    fixture.checkpoint(1, 1);
    assert_eq!(fixture.on_server(), (1, 0));
    assert_eq!(fixture.counts().messages_nacked, 1);
}

#[test]
fn closing_during_a_fetch_gives_back_what_was_fetched() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"first"], "");
    let Fetched::Messages(fetch) = fixture.subscriber.fetch(DEADLINE, 1_000, 10).unwrap() else {
        panic!("a message was there");
    };
    std::thread::scope(|scope| {
        let closing = scope.spawn(|| fixture.subscriber.close(DEADLINE));
        fixture.wait("the stream's end", |f| f.streams() == 0);
        let (mut data, mut index) = ([0; 1_000], [0; INDEX_STRIDE]);
        fetch.write(&mut data, &mut index).unwrap();
        closing.join().unwrap();
    });
    assert_eq!(fixture.on_server(), (1, 0));
}

#[test]
fn responses_with_a_gap_between_them_are_fetched_apart() {
    let options = SubscriberOptions {
        max_ack_extension: Duration::from_secs(20),
        ..leases_of(10_000)
    };
    let fixture = Fixture::new(options);
    let control = fixture.emulator.control();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"old"], "");
    fixture.fetch_all(1);
    fixture.pass(Duration::from_secs(7));
    fixture.wait("extension", |f| f.counts().lease_extensions == 1);
    // A message, its redelivery, and another message wait to be fetched.
    fixture.publish(&[b"a"], "");
    fixture.wait("delivery", |f| f.counts().buffered_messages == 1);
    let views = control.messages(SUBSCRIPTION).unwrap();
    let a = views.iter().map(|view| view.message).max().unwrap();
    control.redeliver(SUBSCRIPTION, Some(&[a])).unwrap();
    fixture.wait("redelivery", |f| f.counts().buffered_messages == 2);
    fixture.publish(&[b"b"], "");
    fixture.wait("delivery", |f| f.counts().buffered_messages == 3);
    // When the old one's lease ends, the redelivery is dropped with it.
    fixture.hands.advance(Duration::from_secs(7));
    fixture.wait("extension", |f| f.counts().lease_extensions >= 3);
    fixture.hands.advance(Duration::from_secs(6));
    fixture.wait("expiry", |f| f.counts().leases_expired == 1);
    fixture.wait("the gap", |f| f.counts().buffered_messages == 2);
    let records = fixture.fetch_all(2);
    assert_eq!(payloads(&records), [b"a", b"b"]);
    let sequences: Vec<u64> = records.iter().map(|record| record.sequence).collect();
    assert_eq!(sequences, [1, 3]);
    // The number that is reported for a message is that message's.
    fixture.subscriber.nack(0, 3).unwrap();
    assert_eq!(payloads(&fixture.fetch_all(1)), [b"b"]);
}
