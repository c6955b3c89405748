//! Ordering keys.

use super::*;

fn ordered() -> State {
    state(|s| s.enable_message_ordering = true)
}

#[test]
fn one_batch_of_a_key_is_out_to_pulls_at_a_time() {
    let mut state = ordered();
    publish(&mut state, &["A:1", "A:2", "B:1", "A:3"], at(0));
    let first = pull(&mut state, 2, at(0));
    assert_eq!(data(&first), ["1", "2"]);
    let second = pull(&mut state, 10, at(0));
    assert_eq!(second.len(), 1);
    assert_eq!(second[0].message.ordering_key.as_deref(), Some("B"));
    ack(&mut state, &first[..1], at(0));
    assert!(pull(&mut state, 10, at(0)).is_empty());
    ack(&mut state, &first[1..], at(0));
    assert_eq!(data(&pull(&mut state, 10, at(0))), ["3"]);
}

#[test]
fn a_key_stays_with_its_stream_while_messages_are_out() {
    let mut state = ordered();
    let streams = [open(&mut state, None), open(&mut state, None)];
    publish(&mut state, &["A:1"], at(0));
    // Whichever of the two it is meant for: the other one yields when that one waits for it.
    let holder = if take(&mut state, streams[0], at(0)).is_empty() {
        assert_eq!(data(&take(&mut state, streams[1], at(0))), ["1"]);
        1
    } else {
        0
    };
    for n in 2..20 {
        publish(&mut state, &[&format!("A:{n}")], at(0));
        assert!(take(&mut state, streams[1 - holder], at(0)).is_empty());
        assert!(pull(&mut state, 10, at(0)).is_empty());
        assert_eq!(
            data(&take(&mut state, streams[holder], at(0))),
            [n.to_string()]
        );
    }
}

#[test]
fn keys_spread_over_streams() {
    let mut state = ordered();
    let streams = [open(&mut state, None), open(&mut state, None)];
    for stream in streams {
        assert!(take(&mut state, stream, at(0)).is_empty());
    }
    for n in 0..200 {
        publish(&mut state, &[&format!("key-{n}:x")], at(0));
    }
    let mut counts = [0, 0];
    loop {
        let taken: Vec<_> = streams
            .iter()
            .map(|s| take(&mut state, *s, at(0)).len())
            .collect();
        counts[0] += taken[0];
        counts[1] += taken[1];
        if taken == [0, 0] {
            break;
        }
    }
    assert_eq!(counts[0] + counts[1], 200);
    assert!(counts.iter().all(|n| *n > 50), "{counts:?}");
}

#[test]
fn a_nack_replays_everything_after_it_acked_or_not() {
    let mut state = ordered();
    let stream = open(&mut state, None);
    publish(&mut state, &["A:1", "A:2", "A:3", "A:4", "B:1"], at(0));
    let taken = take(&mut state, stream, at(0));
    let a: Vec<_> = taken
        .iter()
        .filter(|d| d.message.ordering_key.as_deref() == Some("A"))
        .cloned()
        .collect();
    assert_eq!(ack(&mut state, &[a[0].clone(), a[2].clone()], at(1)), 2);
    assert_eq!(nack(&mut state, &a[1..2], at(1)), 1);
    // The lease of 4 has ended with it.
    assert_eq!(ack(&mut state, &a[3..], at(1)), 0);
    let again = take(&mut state, stream, at(1));
    assert_eq!(data(&again), ["2", "3", "4"]);
    assert_eq!(
        again.iter().map(|d| d.attempt).collect::<Vec<_>>(),
        [2, 2, 2]
    );
    assert_eq!(ack(&mut state, &again, at(1)), 3);
    assert_eq!(state.counts(SUB).unwrap().outstanding, 1);
}

#[test]
fn an_expired_lease_replays_as_a_nack_does() {
    let mut state = ordered();
    let stream = open(&mut state, None);
    publish(&mut state, &["A:1", "A:2", "A:3"], at(0));
    let taken = take(&mut state, stream, at(0));
    modify(&mut state, &taken[..1], 100, at(0));
    modify(&mut state, &taken[2..], 100, at(0));
    assert_eq!(data(&take(&mut state, stream, at(10))), ["2", "3"]);
}

#[test]
fn exactly_once_does_not_replay_what_is_acked() {
    let mut state = state(|s| {
        s.enable_message_ordering = true;
        s.enable_exactly_once_delivery = true;
    });
    let stream = open(&mut state, None);
    publish(&mut state, &["A:1", "A:2", "A:3"], at(0));
    let taken = take(&mut state, stream, at(0));
    ack(&mut state, &taken[1..2], at(0));
    nack(&mut state, &taken[..1], at(0));
    assert_eq!(data(&take(&mut state, stream, at(0))), ["1", "3"]);
}

#[test]
fn the_keys_of_a_closed_stream_wait_for_its_leases() {
    let mut state = ordered();
    let first = open(&mut state, None);
    publish(&mut state, &["A:1", "A:2"], at(0));
    let taken = take(&mut state, first, at(0));
    state.close_stream(first, at(1));
    publish(&mut state, &["A:3", "B:1"], at(1));
    let second = open(&mut state, None);
    assert_eq!(take(&mut state, second, at(1)).len(), 1, "only B");
    ack(&mut state, &taken[..1], at(2));
    nack(&mut state, &taken[1..], at(2));
    assert_eq!(data(&take(&mut state, second, at(2))), ["2", "3"]);
}

#[test]
fn a_retry_policy_rests_the_whole_key() {
    let mut state = state(|s| {
        s.enable_message_ordering = true;
        s.retry_policy = Some(Default::default());
    });
    publish(&mut state, &["A:1", "A:2", "B:1"], at(0));
    let taken = pull(&mut state, 1, at(0));
    nack(&mut state, &taken, at(0));
    publish(&mut state, &["A:3"], at(0));
    assert_eq!(pull(&mut state, 10, at(9)).len(), 1, "only B");
    assert_eq!(data(&pull(&mut state, 10, at(10)))[..3], ["1", "2", "3"]);
}

#[test]
fn without_a_key_or_without_ordering_nothing_waits() {
    let mut state = ordered();
    publish(&mut state, &["1", "2", "A:3"], at(0));
    assert_eq!(pull(&mut state, 2, at(0)).len(), 2);
    assert_eq!(pull(&mut state, 2, at(0)).len(), 1);
    let mut state = super::state(|_| {});
    publish(&mut state, &["A:1", "A:2"], at(0));
    assert_eq!(pull(&mut state, 1, at(0)).len(), 1);
    assert_eq!(pull(&mut state, 1, at(0)).len(), 1);
}
