//! Leases, redelivery, backoff, dead letters, exactly-once, filters, retention, flow control.

use super::*;
use crate::core::MessageState;
use crate::time::duration_to_proto;

fn secs(n: u64) -> Option<prost_types::Duration> {
    Some(duration_to_proto(Duration::from_secs(n)))
}

#[test]
fn a_lease_lasts_as_long_as_it_is_extended() {
    let mut state = state(|_| {});
    publish(&mut state, &["a"], at(0));
    let first = pull(&mut state, 10, at(0));
    assert_eq!(modify(&mut state, &first, 600, at(9)), 1);
    assert_eq!(state.next_timer(), Some(at(10)));
    assert!(pull(&mut state, 10, at(608)).is_empty());
    let second = pull(&mut state, 10, at(609));
    assert_eq!(
        (data(&second), second[0].attempt),
        (vec!["a".to_owned()], 2)
    );
    // The old id is dead for acks, nacks and extensions.
    assert_eq!(ack(&mut state, &first, at(609)), 0);
    assert_eq!(nack(&mut state, &first, at(609)), 0);
    assert_eq!(modify(&mut state, &first, 60, at(609)), 0);
    assert_eq!(ack(&mut state, &second, at(609)), 1);
    let counts = state.counts(SUB).unwrap();
    assert_eq!(
        (
            counts.acked,
            counts.expired,
            counts.nacked,
            counts.delivered
        ),
        (1, 1, 0, 2)
    );
    assert_eq!((counts.backlog, counts.outstanding), (0, 0));
}

#[test]
fn ids_that_were_never_given_out_are_refused_by_position() {
    let mut state = state(|_| {});
    publish(&mut state, &["a"], at(0));
    let good = pull(&mut state, 1, at(0));
    let good = ids(&state, &good).remove(0);
    let error = state
        .acknowledge(SUB, &[good.as_str(), "nonsense"], at(0))
        .unwrap_err();
    assert_eq!(error.code, tonic::Code::InvalidArgument);
    assert!(error.message.starts_with("ack_ids[1]: "), "{error}");
    // All or nothing.
    assert_eq!(state.counts(SUB).unwrap().outstanding, 1);
}

#[test]
fn a_retry_policy_doubles_the_rest_between_deliveries() {
    let mut state = state(|s| {
        s.retry_policy = Some(pb::RetryPolicy {
            minimum_backoff: secs(10),
            maximum_backoff: secs(35),
        });
    });
    publish(&mut state, &["a"], at(0));
    let mut now = 0;
    for rest in [10, 20, 35, 35] {
        let taken = pull(&mut state, 1, at(now));
        assert_eq!(nack(&mut state, &taken, at(now)), 1);
        assert!(pull(&mut state, 1, at(now + rest - 1)).is_empty());
        now += rest;
        assert_eq!(state.counts(SUB).unwrap().backlog, 1);
    }
    assert_eq!(pull(&mut state, 1, at(now)).len(), 1);
}

#[test]
fn a_message_that_fails_too_often_goes_to_the_dead_letter_topic() {
    const DEAD: &str = "projects/p/topics/dead";
    let mut state = State::new();
    for name in [TOPIC, DEAD] {
        state.create_topic(topic(name)).unwrap();
    }
    let mut proto = subscription();
    proto.dead_letter_policy = Some(pb::DeadLetterPolicy {
        dead_letter_topic: DEAD.into(),
        max_delivery_attempts: 5,
    });
    state.create_subscription(proto, at(0)).unwrap();
    let dead = pb::Subscription {
        name: format!("{SUB}-dead"),
        topic: DEAD.into(),
        ..Default::default()
    };
    state.create_subscription(dead, at(0)).unwrap();
    publish(&mut state, &["k:poison"], at(7));
    for attempt in 1..=5 {
        let taken = pull(&mut state, 1, at(10));
        assert_eq!(taken[0].attempt, attempt);
        nack(&mut state, &taken, at(10));
    }
    assert!(pull(&mut state, 1, at(1000)).is_empty());
    let counts = state.counts(SUB).unwrap();
    assert_eq!(
        (counts.dead_lettered, counts.backlog, counts.outstanding),
        (1, 0, 0)
    );
    let (_, dead) = state
        .pull(&format!("{SUB}-dead"), 10, usize::MAX, at(20))
        .unwrap();
    let letter = dead[0].message.decode();
    assert_eq!(
        (letter.data.as_ref(), letter.ordering_key.as_str()),
        (&b"poison"[..], "k")
    );
    let attribute =
        |key: &str| letter.attributes[&format!("CloudPubSubDeadLetterSource{key}")].as_str();
    assert_eq!(attribute("DeliveryCount"), "5");
    assert_eq!(attribute("Subscription"), "sub");
    assert_eq!(attribute("SubscriptionProject"), "p");
    assert_eq!(attribute("TopicPublishTime"), "1970-01-12T13:46:47Z");
}

#[test]
fn without_its_dead_letter_topic_a_message_goes_on_coming_back() {
    const DEAD: &str = "projects/p/topics/dead";
    let mut state = State::new();
    for name in [TOPIC, DEAD] {
        state.create_topic(topic(name)).unwrap();
    }
    let policy = pb::DeadLetterPolicy {
        dead_letter_topic: DEAD.into(),
        max_delivery_attempts: 5,
    };
    let proto = pb::Subscription {
        dead_letter_policy: Some(policy),
        ..subscription()
    };
    state.create_subscription(proto, at(0)).unwrap();
    state.delete_topic(DEAD).unwrap();
    publish(&mut state, &["poison"], at(0));
    for attempt in 1..=8 {
        let taken = pull(&mut state, 1, at(0));
        assert_eq!(taken[0].attempt, attempt);
        nack(&mut state, &taken, at(0));
    }
    assert_eq!(state.counts(SUB).unwrap().dead_lettered, 0);
}

#[test]
fn exactly_once_tells_which_ids_have_ended() {
    let mut state = state(|s| s.enable_exactly_once_delivery = true);
    publish(&mut state, &["a", "b"], at(0));
    let taken = pull(&mut state, 2, at(0));
    let names = ids(&state, &taken);
    assert_eq!(modify(&mut state, &taken[1..], 60, at(5)), 1);
    state.tick(at(10));
    let ids = [names[0].as_str(), names[1].as_str(), "nonsense"];
    let result = state.acknowledge(SUB, &ids, at(10)).unwrap();
    assert!(result.exactly_once);
    assert_eq!((result.done, result.failed), (1, vec![0, 2]));
    // Acked once means acked: the id has ended with it.
    assert_eq!(
        state.acknowledge(SUB, &ids[1..2], at(10)).unwrap().failed,
        [0]
    );
}

#[test]
fn a_filter_acks_what_does_not_match() {
    let mut state = state(|s| s.filter = "attributes.kind = \"x\"".into());
    let mut other = message("b", "");
    other.attributes.insert("kind".into(), "y".into());
    let mut wanted = message("a", "");
    wanted.attributes.insert("kind".into(), "x".into());
    state
        .publish(TOPIC, &[other, wanted, message("c", "")], at(0))
        .unwrap();
    assert_eq!(data(&pull(&mut state, 10, at(0))), ["a"]);
    assert_eq!(state.counts(SUB).unwrap().filtered, 2);
}

#[test]
fn messages_older_than_their_retention_are_gone() {
    for ordered in [false, true] {
        let mut state = state(|s| {
            s.message_retention_duration = secs(600);
            s.enable_message_ordering = ordered;
        });
        publish(&mut state, &["k:old"], at(0));
        publish(&mut state, &["k:new"], at(300));
        assert_eq!(data(&pull(&mut state, 10, at(601))), ["new"]);
        // Also without anybody asking.
        publish(&mut state, &["k:x"], at(601));
        state.tick(at(1150));
        assert_eq!(state.counts(SUB).unwrap().backlog, 1, "only x");
        state.tick(at(1300));
        assert_eq!(state.counts(SUB).unwrap().backlog, 0);
    }
}

#[test]
fn flow_control_counts_messages_and_bytes_until_they_are_answered() {
    let mut state = state(|_| {});
    publish(&mut state, &["a", "b", "c", "d", "e", "f"], at(0));
    let stream = open(&mut state, Some(3));
    let taken = take(&mut state, stream, at(0));
    assert_eq!(taken.len(), 3);
    assert!(take(&mut state, stream, at(0)).is_empty());
    let _ = state.take_news();
    ack(&mut state, &taken[..1], at(1));
    assert_eq!(state.take_news().collect::<Vec<_>>(), [1]);
    nack(&mut state, &taken[1..2], at(1));
    assert_eq!(take(&mut state, stream, at(1)).len(), 2);
    // The third lease ends.
    assert_eq!(take(&mut state, stream, at(10)).len(), 1);

    let bytes = StreamOptions {
        ack_deadline: Duration::from_secs(10),
        max_messages: None,
        max_bytes: Some(1),
        client_id: String::new(),
    };
    let mut state = super::state(|_| {});
    publish(&mut state, &["a", "b"], at(0));
    let stream = state.open_stream(SUB, bytes, at(0)).unwrap();
    // The limit stops what comes after it, so that a message above it passes alone.
    assert_eq!(take(&mut state, stream, at(0)).len(), 1);
    assert!(take(&mut state, stream, at(0)).is_empty());
}

#[test]
fn streams_share_a_backlog() {
    let mut state = state(|_| {});
    let streams = [
        open(&mut state, None),
        open(&mut state, None),
        open(&mut state, None),
    ];
    let numbers: Vec<_> = (0..90).map(|i| i.to_string()).collect();
    let numbers: Vec<_> = numbers.iter().map(String::as_str).collect();
    publish(&mut state, &numbers, at(0));
    let shares: Vec<_> = streams
        .iter()
        .map(|s| take(&mut state, *s, at(0)).len())
        .collect();
    assert_eq!(shares, [30, 20, 14]);
    // What nobody else can take is nobody else's share.
    state.close_stream(streams[1], at(0));
    state.close_stream(streams[2], at(0));
    assert_eq!(take(&mut state, streams[0], at(0)).len(), 26);
}

#[test]
fn a_closed_stream_leaves_its_leases() {
    let mut state = state(|_| {});
    publish(&mut state, &["a"], at(0));
    let stream = open(&mut state, None);
    let taken = take(&mut state, stream, at(0));
    state.close_stream(stream, at(1));
    assert!(pull(&mut state, 1, at(9)).is_empty());
    assert_eq!(modify(&mut state, &taken, 20, at(9)), 1);
    assert!(pull(&mut state, 1, at(28)).is_empty());
    assert_eq!(pull(&mut state, 1, at(29)).len(), 1);
}

#[test]
fn a_renamed_lease_dies_under_its_old_name() {
    for ordered in [false, true] {
        let mut state = state(|s| s.enable_message_ordering = ordered);
        publish(&mut state, &["k:a", "k:b"], at(0));
        let taken = pull(&mut state, 2, at(0));
        let leases: Vec<_> = taken.iter().map(|d| d.lease).collect();
        let renamed = state.rename_leases(1, &leases, at(0));
        assert_eq!(ack(&mut state, &taken, at(0)), 0);
        let renamed: Vec<_> = taken
            .iter()
            .zip(renamed)
            .map(|(d, lease)| Delivery {
                lease: lease.unwrap(),
                ..d.clone()
            })
            .collect();
        assert_eq!(nack(&mut state, &renamed[..1], at(0)), 1);
        // In order, the nack of the first takes the second back, under its new name.
        assert_eq!(ack(&mut state, &renamed[1..], at(0)), usize::from(!ordered));
    }
}

#[test]
fn what_is_acked_is_remembered_on_demand() {
    let mut state = state(|_| {});
    state.remember_acked(true);
    let ids = publish(&mut state, &["a", "b", "c"], at(0));
    let taken = pull(&mut state, 2, at(0));
    ack(&mut state, &taken[..1], at(0));
    let views = state.messages(SUB).unwrap();
    assert_eq!(views.iter().map(|v| v.message).collect::<Vec<_>>(), ids);
    let states: Vec<_> = views.iter().map(|v| (v.state, v.attempts)).collect();
    let expected = [
        (MessageState::Acked, 1),
        (MessageState::Outstanding, 1),
        (MessageState::Waiting, 0),
    ];
    assert_eq!(states, expected);
    assert_eq!(views[1].deadline, Some(at(10)));
}
