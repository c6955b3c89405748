//! Order per key while leases run out. The server replays a key from the message on whose lease ended.

#[path = "support/subscriber.rs"]
mod support;

use std::time::Duration;

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use pubsub_client::subscribe::SubscriberOptions;
use pubsub_emulator::service::Method;
use support::{Fixture, Record, SUBSCRIPTION, fail_ids, leases_of, once, payloads};

fn ordered(exactly_once: bool) -> Fixture {
    let options = SubscriberOptions {
        ordering: true,
        max_ack_extension: Duration::from_secs(20),
        ..leases_of(10_000)
    };
    let subscription = pb::Subscription {
        enable_message_ordering: true,
        enable_exactly_once_delivery: exactly_once,
        ..Default::default()
    };
    let fixture = Fixture::with(options, subscription);
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture
}

impl Fixture {
    fn key(&self, payloads: &[&[u8]]) {
        self.publish(payloads, "k");
    }

    /// So many records in their order.
    fn records(&self, count: usize) -> Vec<String> {
        let text = |record: Record| String::from_utf8(record.payload).unwrap();
        self.fetch_all(count).into_iter().map(text).collect()
    }

    fn seconds(&self, count: usize) {
        for _ in 0..count {
            self.pass(Duration::from_secs(1));
        }
    }
}

#[test]
fn a_key_is_emitted_again_from_the_message_on_whose_lease_ran_out() {
    let fixture = ordered(false);
    fixture.key(&[b"1", b"2"]);
    assert_eq!(fixture.records(2), ["1", "2"]);
    fixture.seconds(7);
    fixture.wait("extension", |f| f.counts().lease_extensions == 2);
    fixture.key(&[b"3", b"4"]);
    assert_eq!(fixture.records(2), ["3", "4"]);
    fixture.publish(&[b"other"], "other");
    assert_eq!(fixture.records(1), ["other"]);
    fixture.seconds(7);
    fixture.wait("extension", |f| f.counts().lease_extensions == 5);
    // At the ceiling of the first two, the later ones are still held.
    fixture.seconds(3);
    fixture.wait("expiry", |f| f.counts().leases_expired == 2);
    assert_eq!(fixture.records(4), ["1", "2", "3", "4"]);
    fixture.key(&[b"5"]);
    assert_eq!(fixture.records(1), ["5"]);
    let counts = fixture.counts();
    assert_eq!(counts.messages_received, 10);
    assert_eq!(counts.outstanding_messages, 6);
    assert_eq!(counts.redeliveries, 2);
    fixture.checkpoint(1, 10);
    assert_eq!(fixture.on_server(), (0, 0));
    assert_eq!(fixture.counts().outstanding_messages, 0);
}

#[test]
fn a_message_that_is_given_back_brings_what_follows_it_along() {
    let fixture = ordered(false);
    fixture.key(&[b"1", b"2", b"3"]);
    assert_eq!(fixture.records(3), ["1", "2", "3"]);
    fixture.subscriber.nack(0, 1).unwrap();
    assert_eq!(fixture.records(2), ["2", "3"]);
    fixture.checkpoint(1, 5);
    assert_eq!(fixture.on_server(), (0, 0));
}

#[test]
fn what_nobody_has_read_keeps_its_order_when_leases_run_out() {
    let fixture = ordered(false);
    fixture.key(&[b"1"]);
    fixture.wait("delivery", |f| f.counts().buffered_messages == 1);
    fixture.seconds(7);
    fixture.wait("extension", |f| f.counts().lease_extensions == 1);
    fixture.seconds(2);
    fixture.key(&[b"2", b"3"]);
    fixture.wait("delivery", |f| f.counts().buffered_messages == 3);
    fixture.seconds(7);
    fixture.wait("extension", |f| f.counts().lease_extensions == 3);
    fixture.seconds(4);
    // The first has reached the ceiling: the later ones are given back with it, and all come again in their order.
    fixture.wait("expiry", |f| f.counts().leases_expired == 1);
    fixture.wait("the return of the rest", |f| {
        f.counts().messages_nacked >= 3
    });
    assert_eq!(fixture.records(3), ["1", "2", "3"]);
    fixture.delivers_key("4");
}

#[test]
fn what_follows_a_delivery_that_was_not_ours_waits_for_it() {
    let fixture = ordered(true);
    let refused = fail_ids("PERMANENT_FAILURE_INVALID_ACK_ID", 1);
    fixture.fault(once(Method::ModifyAckDeadline, refused));
    fixture.key(&[b"1", b"2", b"3"]);
    assert_eq!(fixture.records(3), ["1", "2", "3"]);
    fixture.delivers_key("4");
    assert_eq!(fixture.counts().stream_reconnects, 0);
}

impl Fixture {
    /// What is published now in the key is the next to come, and all is acked.
    fn delivers_key(&self, payload: &str) {
        self.key(&[payload.as_bytes()]);
        let records = self.fetch_all(1);
        assert_eq!(payloads(&records), [payload.as_bytes()]);
        let emitted = records[0].sequence + 1;
        self.checkpoint(100, emitted);
        assert_eq!(self.on_server(), (0, 0));
    }
}
