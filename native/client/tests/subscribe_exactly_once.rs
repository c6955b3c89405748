//! Exactly-once subscriptions while the service refuses single ids, or lets a client wait.

#[path = "support/subscriber.rs"]
mod support;

use std::time::{Duration, Instant};

use pubsub_client::subscribe::SubscriberOptions;
use pubsub_emulator::fault::{Action, Rule};
use pubsub_emulator::service::Method;
use support::{DEADLINE, Fixture, SUBSCRIPTION, exactly_once, fail_ids, leases_of, once, payloads};

#[test]
fn an_exactly_once_ack_is_repeated_for_transient_failures_alone() {
    let fixture = Fixture::with(SubscriberOptions::default(), exactly_once());
    fixture.record();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish_many(10);
    fixture.fetch_all(10);
    let transient = fail_ids("TRANSIENT_FAILURE_SERVICE_UNAVAILABLE", 3);
    fixture.fault(once(Method::Acknowledge, transient));
    let permanent = fail_ids("PERMANENT_FAILURE_INVALID_ACK_ID", 2);
    fixture.fault(once(Method::Acknowledge, permanent));
    fixture.subscriber.snapshot(1, &[(0, 10)]).unwrap();
    fixture.confirm(1).unwrap_err();
    let counts = fixture.counts();
    assert_eq!((counts.acks_confirmed, counts.acks_failed), (8, 2));
    assert_eq!(counts.outstanding_messages, 0);
    let requests = fixture.requests(Method::Acknowledge);
    let ids: Vec<&[String]> = requests.iter().map(|r| r.ack_ids.as_slice()).collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0].len(), 10);
    assert_eq!(ids[1], &ids[0][..3]);
    assert_eq!(fixture.on_server(), (2, 2));
}

#[test]
fn a_permanent_failure_is_told_although_the_rest_succeeds_later() {
    let fixture = Fixture::with(SubscriberOptions::default(), exactly_once());
    fixture.record();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"a", b"b", b"c"], "");
    let records = fixture.fetch_all(3);
    // The client does not hear of the new delivery, so it acks the old id.
    fixture.strike(Action::Silence);
    let last = records[2].id.parse().unwrap();
    let control = fixture.emulator.control();
    control.redeliver(SUBSCRIPTION, Some(&[last])).unwrap();
    let transient = fail_ids("TRANSIENT_FAILURE_SERVICE_UNAVAILABLE", 1);
    fixture.fault(once(Method::Acknowledge, transient));
    fixture.subscriber.snapshot(1, &[(0, 3)]).unwrap();
    let error = fixture.confirm(1).unwrap_err();
    assert!(error.to_string().contains(SUBSCRIPTION), "{error}");
    let counts = fixture.counts();
    assert_eq!((counts.acks_confirmed, counts.acks_failed), (2, 1));
    assert_eq!(fixture.requests(Method::Acknowledge).len(), 2);
    assert_eq!(fixture.on_server().0, 1);
}

#[test]
fn the_answer_for_each_id_of_a_whole_request_is_read() {
    let fixture = Fixture::with(SubscriberOptions::default(), exactly_once());
    fixture.record();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish_many(1_000);
    fixture.fetch_all(1_000);
    let transient = fail_ids("TRANSIENT_FAILURE_SERVICE_UNAVAILABLE", 999);
    fixture.fault(once(Method::Acknowledge, transient));
    let permanent = fail_ids("PERMANENT_FAILURE_INVALID_ACK_ID", 998);
    fixture.fault(once(Method::Acknowledge, permanent));
    fixture.subscriber.snapshot(1, &[(0, 1_000)]).unwrap();
    fixture.confirm(1).unwrap_err();
    let counts = fixture.counts();
    assert_eq!((counts.acks_confirmed, counts.acks_failed), (2, 998));
    let requests = fixture.requests(Method::Acknowledge);
    let ids: Vec<usize> = requests.iter().map(|r| r.ack_ids.len()).collect();
    assert_eq!(ids, [1_000, 999]);
}

#[test]
fn exactly_once_leases_are_a_minute_at_least() {
    let fixture = Fixture::with(leases_of(10_000), exactly_once());
    fixture.record();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"m"], "");
    fixture.fetch_all(1);
    let seconds = |fixture: &Fixture| -> Vec<Option<i32>> {
        let requests = fixture.requests(Method::ModifyAckDeadline);
        requests.iter().map(|r| r.ack_deadline_seconds).collect()
    };
    assert_eq!(seconds(&fixture), [Some(60)]);
    for _ in 0..45 {
        fixture.pass(Duration::from_secs(1));
    }
    fixture.wait("extension", |f| f.counts().lease_extensions == 1);
    assert_eq!(seconds(&fixture), [Some(60), Some(60)]);
    assert_eq!(fixture.on_server(), (1, 1));
}

#[test]
fn a_delivery_whose_lease_is_not_confirmed_is_not_emitted() {
    let fixture = Fixture::with(SubscriberOptions::default(), exactly_once());
    let refused = fail_ids("PERMANENT_FAILURE_INVALID_ACK_ID", 1);
    fixture.fault(once(Method::ModifyAckDeadline, refused));
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.publish(&[b"a", b"b", b"c"], "");
    let records = fixture.fetch_all(2);
    assert_eq!(fixture.counts().messages_received, 3);
    assert_eq!(fixture.counts().outstanding_messages, 2);
    // It comes again when its lease has run out.
    fixture.emulator.control().advance(Duration::from_secs(61));
    fixture.wait("redelivery", |f| f.counts().messages_received > 3);
    let mut emitted: Vec<Vec<u8>> = records.into_iter().map(|r| r.payload).collect();
    let end = Instant::now() + DEADLINE;
    while emitted.len() < 3 {
        assert!(Instant::now() < end, "{emitted:?}");
        let records = fixture.fetch(Duration::from_millis(10)).unwrap();
        emitted.extend(records.into_iter().map(|r| r.payload));
    }
    emitted.sort();
    assert_eq!(emitted, [b"a", b"b", b"c"]);
}

#[test]
fn what_is_being_confirmed_stays_before_what_comes_on_another_stream() {
    let options = SubscriberOptions {
        parallel_pull_count: 2,
        ..SubscriberOptions::default()
    };
    let fixture = Fixture::with(options, exactly_once());
    let control = fixture.emulator.control();
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.wait("both streams", |f| f.streams() == 2);
    let held = Rule {
        id: "held".into(),
        ..Rule::new(Method::ModifyAckDeadline, Action::Hold)
    };
    fixture.fault(held);
    fixture.publish(&[b"first"], "");
    fixture.wait("delivery", |f| f.counts().messages_received == 1);
    fixture.wait("the confirmation's start", |f| {
        f.counts().outstanding_messages == 1
    });
    // From now on nothing needs to be confirmed; the other stream learns of it with its next response.
    fixture.update_exactly_once(false);
    let end = Instant::now() + DEADLINE;
    let mut published = 1;
    while fixture.counts().messages_received == 1 {
        assert!(Instant::now() < end, "nothing came on the other stream");
        fixture.publish(&[b"later"], "");
        published += 1;
    }
    assert_eq!(fixture.fetch(Duration::from_millis(100)).unwrap(), []);
    assert!(control.faults().remove("held"));
    let records = fixture.fetch_all(published);
    assert_eq!(payloads(&records)[0], b"first");
    let sequences: Vec<u64> = records.iter().map(|record| record.sequence).collect();
    assert_eq!(sequences, (0..published as u64).collect::<Vec<_>>());
    fixture.checkpoint(1, published as u64);
    assert_eq!(fixture.on_server(), (0, 0));
}
