//! Acks that the service does not answer.

#[path = "support/subscriber.rs"]
mod support;

use std::time::Duration;

use pubsub_client::subscribe::SubscriberOptions;
use pubsub_emulator::fault::{Action, Rule};
use pubsub_emulator::service::Method;
use support::{DEADLINE, Fixture, SUBSCRIPTION, leases_of};

#[test]
fn leases_are_kept_until_the_acks_are_answered() {
    let fixture = Fixture::new(leases_of(10_000));
    let control = fixture.emulator.control();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish_many(10);
    fixture.fetch_all(10);
    // Whoever else reads gets nothing meanwhile.
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.wait("both streams", |f| f.streams() == 2);

    control.freeze_acks(None).unwrap();
    fixture.subscriber.snapshot(1, &[(0, 10)]).unwrap();
    fixture.subscriber.complete(1, false).unwrap();
    let mut extensions = 0;
    for second in 1..=35 {
        fixture.pass(Duration::from_secs(1));
        if second % 7 == 0 {
            extensions += 10;
            fixture.wait("extension", |f| f.counts().lease_extensions == extensions);
        }
        assert_eq!(fixture.on_server(), (10, 10), "at {second} s");
    }
    assert!(control.release_acks());
    fixture.wait("acks", |f| f.on_server() == (0, 0));
    fixture.wait("their answers", |f| f.counts().acks_confirmed == 10);
    let counts = fixture.counts();
    assert_eq!((counts.messages_received, counts.redeliveries), (10, 0));
    assert_eq!((counts.outstanding_messages, counts.acks_failed), (0, 0));
    // Nothing is extended any more.
    fixture.record();
    fixture.pass(Duration::from_secs(20));
    fixture.pass(Duration::from_secs(1));
    assert!(fixture.requests(Method::ModifyAckDeadline).is_empty());
}

#[test]
fn unanswered_acks_end_at_the_ceiling() {
    let options = SubscriberOptions {
        max_ack_extension: Duration::from_secs(20),
        ..leases_of(10_000)
    };
    let fixture = Fixture::new(options);
    let control = fixture.emulator.control();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"m"], "");
    fixture.fetch_all(1);
    control.freeze_acks(None).unwrap();
    fixture.subscriber.snapshot(1, &[(0, 1)]).unwrap();
    fixture.subscriber.complete(1, false).unwrap();
    for _ in 0..7 {
        fixture.pass(Duration::from_secs(1));
    }
    fixture.wait("extension", |f| f.counts().lease_extensions == 1);
    for _ in 0..11 {
        fixture.pass(Duration::from_secs(1));
    }
    // It comes again, is not emitted a second time, and acked by its new id.
    fixture.wait("redelivery", |f| f.counts().messages_received == 2);
    assert_eq!(fixture.fetch(DEADLINE).unwrap(), []);
    assert!(control.release_acks());
    fixture.wait("acks", |f| f.on_server() == (0, 0));
    assert_eq!(fixture.counts().lease_extensions, 1);
    assert_eq!(fixture.counts().redeliveries, 1);
}

#[test]
fn unanswered_acks_leave_extensions_their_way() {
    let fixture = Fixture::new(leases_of(10_000));
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    // More acks than may be under way at once, and one message that is held.
    for _ in 0..41 {
        fixture.publish(&[b"m"], "");
    }
    fixture.fetch_all(41);
    fixture.emulator.control().freeze_acks(None).unwrap();
    for message in 1..=40 {
        let checkpoint = message as i64;
        fixture
            .subscriber
            .snapshot(checkpoint, &[(0, message)])
            .unwrap();
        fixture.subscriber.complete(checkpoint, false).unwrap();
    }
    for _ in 0..7 {
        fixture.pass(Duration::from_secs(1));
    }
    fixture.wait("extensions", |f| f.counts().lease_extensions == 41);
    assert_eq!(fixture.on_server(), (41, 41));
}

#[test]
fn closing_ends_what_is_not_answered_and_counts_it() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.record();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish_many(10);
    fixture.fetch_all(10);
    fixture.fault(Rule::new(Method::Acknowledge, Action::Silence));
    fixture.subscriber.snapshot(1, &[(0, 4)]).unwrap();
    fixture.subscriber.complete(1, false).unwrap();
    fixture.wait("the ack", |f| !f.requests(Method::Acknowledge).is_empty());
    fixture.subscriber.close(Duration::from_millis(500));
    let counts = fixture.counts();
    assert_eq!((counts.acks_requested, counts.acks_confirmed), (4, 0));
    assert_eq!((counts.acks_failed, counts.messages_nacked), (4, 6));
    assert_eq!(counts.outstanding_messages, 0);
    // What is not acked comes again when its lease ends.
    assert_eq!(fixture.on_server(), (10, 4));
    assert_eq!(fixture.requests(Method::Acknowledge).len(), 1);
}
