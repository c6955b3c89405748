//! Seek, snapshots, retention of acked messages.

use super::*;
use crate::core::{Error, Target};
use crate::time::duration_to_proto;

const SNAP: &str = "projects/p/snapshots/snap";

fn snapshot(state: &mut State, now: Time) -> Result<pb::Snapshot, Error> {
    state.create_snapshot(
        pb::Snapshot {
            name: SNAP.into(),
            ..Default::default()
        },
        SUB,
        now,
    )
}

fn ack_all(state: &mut State, now: Time) {
    loop {
        let taken = pull(state, 1000, now);
        if taken.is_empty() {
            return;
        }
        ack(state, &taken, now);
    }
}

fn all(state: &mut State, now: Time) -> Vec<String> {
    let taken = pull(state, 1000, now);
    let mut data = data(&taken);
    data.sort_unstable();
    data
}

#[test]
fn seeking_back_needs_acked_messages_to_be_retained() {
    for (retain, expected) in [(true, vec!["2", "3"]), (false, vec![])] {
        let mut state = state(|s| s.retain_acked_messages = retain);
        for (i, data) in ["1", "2", "3"].iter().enumerate() {
            publish(&mut state, &[data], at(i as i64));
        }
        ack_all(&mut state, at(5));
        state.seek(SUB, &Target::Time(at(1)), at(6)).unwrap();
        assert_eq!(all(&mut state, at(6)), expected);
    }
}

#[test]
fn a_topic_retains_for_its_subscriptions_also_from_before_they_existed() {
    let mut state = State::new();
    let retention = Some(duration_to_proto(Duration::from_secs(600)));
    state
        .create_topic(pb::Topic {
            message_retention_duration: retention,
            ..topic(TOPIC)
        })
        .unwrap();
    publish(&mut state, &["old"], at(0));
    publish(&mut state, &["kept"], at(200));
    let created = state.create_subscription(subscription(), at(300)).unwrap();
    assert_eq!(created.topic_message_retention_duration, retention);
    publish(&mut state, &["new"], at(400));
    assert_eq!(all(&mut state, at(400)), ["new"]);
    state.seek(SUB, &Target::Time(at(0)), at(700)).unwrap();
    assert_eq!(all(&mut state, at(700)), ["kept", "new"]);
}

#[test]
fn seeking_forward_acks_what_is_older() {
    let mut state = state(|_| {});
    publish(&mut state, &["1"], at(0));
    publish(&mut state, &["2"], at(10));
    let out = pull(&mut state, 1, at(10));
    publish(&mut state, &["3"], at(20));
    state.seek(SUB, &Target::Time(at(20)), at(21)).unwrap();
    assert_eq!(ack(&mut state, &out, at(21)), 0, "its lease has ended");
    assert_eq!(all(&mut state, at(21)), ["3"]);
    assert_eq!(state.counts(SUB).unwrap().backlog, 0);
}

#[test]
fn a_lease_of_what_stays_unacked_lives_on() {
    let mut state = state(|_| {});
    publish(&mut state, &["1"], at(0));
    let out = pull(&mut state, 1, at(1));
    state.seek(SUB, &Target::Time(at(0)), at(2)).unwrap();
    assert!(pull(&mut state, 1, at(2)).is_empty());
    assert_eq!(ack(&mut state, &out, at(2)), 1);
}

#[test]
fn ordered_subscriptions_seek_in_order() {
    let mut state = state(|s| {
        s.enable_message_ordering = true;
        s.retain_acked_messages = true;
    });
    publish(&mut state, &["A:1", "A:2", "A:3", "A:4"], at(0));
    let out = pull(&mut state, 3, at(1));
    ack(&mut state, &out[..2], at(1));
    state.seek(SUB, &Target::Time(at(0)), at(2)).unwrap();
    assert_eq!(ack(&mut state, &out[2..], at(2)), 0);
    let again = pull(&mut state, 10, at(2));
    assert_eq!(data(&again), ["1", "2", "3", "4"]);
}

#[test]
fn a_snapshot_brings_back_what_was_unacked_and_what_came_later() {
    let mut state = state(|_| {});
    publish(&mut state, &["1", "2", "3"], at(0));
    let taken = pull(&mut state, 1, at(0));
    ack(&mut state, &taken, at(0));
    let made = snapshot(&mut state, at(1)).unwrap();
    assert_eq!(made.topic, TOPIC);
    publish(&mut state, &["4"], at(2));
    ack_all(&mut state, at(3));
    state
        .seek(SUB, &Target::Snapshot(SNAP.into()), at(4))
        .unwrap();
    assert_eq!(all(&mut state, at(4)), ["2", "3", "4"]);
}

#[test]
fn a_snapshot_lives_a_week_less_the_age_of_its_oldest_message() {
    let week = 7 * 86_400;
    let mut state = state(|_| {});
    publish(&mut state, &["1"], at(0));
    let made = snapshot(&mut state, at(1000)).unwrap();
    assert_eq!(made.expire_time, Some(at(week).to_proto()));
    state.tick(at(week - 1));
    assert!(state.get_snapshot(SNAP).is_ok());
    state.tick(at(week));
    assert_eq!(
        state.get_snapshot(SNAP).unwrap_err().code,
        tonic::Code::NotFound
    );
    let mut state = super::state(|_| {});
    publish(&mut state, &["1"], at(0));
    let error = snapshot(&mut state, at(week - 3599)).unwrap_err();
    assert_eq!(error.code, tonic::Code::FailedPrecondition);
}

#[test]
fn snapshots_of_other_topics_are_refused() {
    let mut state = state(|_| {});
    snapshot(&mut state, at(0)).unwrap();
    let other = "projects/p/topics/other";
    state.create_topic(topic(other)).unwrap();
    let second = format!("{SUB}-2");
    let proto = pb::Subscription {
        name: second.clone(),
        topic: other.into(),
        ..subscription()
    };
    state.create_subscription(proto, at(0)).unwrap();
    let error = state
        .seek(&second, &Target::Snapshot(SNAP.into()), at(0))
        .unwrap_err();
    assert_eq!(error.code, tonic::Code::InvalidArgument);
    let gone = Target::Snapshot(format!("{SNAP}-2"));
    assert_eq!(
        state.seek(SUB, &gone, at(0)).unwrap_err().code,
        tonic::Code::NotFound
    );
}

#[test]
fn a_filter_holds_when_seeking() {
    let mut state = State::new();
    let retention = Some(duration_to_proto(Duration::from_secs(600)));
    state
        .create_topic(pb::Topic {
            message_retention_duration: retention,
            ..topic(TOPIC)
        })
        .unwrap();
    let mut wanted = message("wanted", "");
    wanted.attributes.insert("x".into(), String::new());
    state
        .publish(TOPIC, &[message("other", ""), wanted], at(0))
        .unwrap();
    let proto = pb::Subscription {
        filter: "attributes:x".into(),
        ..subscription()
    };
    state.create_subscription(proto, at(1)).unwrap();
    state.seek(SUB, &Target::Time(at(0)), at(2)).unwrap();
    assert_eq!(all(&mut state, at(2)), ["wanted"]);
}
