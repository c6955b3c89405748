//! Arbitrary histories: what must hold whatever happens.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::core::{MessageState, MessageView};

#[derive(Clone, Debug)]
enum Step {
    Publish(u8),
    Take(usize),
    Pull(usize),
    Ack(usize),
    Nack(usize),
    Extend(usize),
    Advance(i64),
    Close(usize),
    Seek,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4u8).prop_map(Step::Publish),
        4 => (0..2usize).prop_map(Step::Take),
        2 => (1..4usize).prop_map(Step::Pull),
        4 => (0..100usize).prop_map(Step::Ack),
        2 => (0..100usize).prop_map(Step::Nack),
        1 => (0..100usize).prop_map(Step::Extend),
        2 => (0..12i64).prop_map(Step::Advance),
        1 => (0..2usize).prop_map(Step::Close),
        1 => Just(Step::Seek),
    ]
}

/// Follows what a subscriber sees.
#[derive(Default)]
struct Seen {
    acked: BTreeSet<u64>,
    deliveries: Vec<Delivery>,
}

fn run(steps: Vec<Step>, ordered: bool, exactly_once: bool) -> Result<(), TestCaseError> {
    let mut state = state(|s| {
        s.enable_message_ordering = ordered;
        s.enable_exactly_once_delivery = exactly_once;
    });
    let mut streams = [open(&mut state, Some(5)), open(&mut state, None)];
    let mut now = 0;
    let mut published = BTreeSet::new();
    let mut seen = Seen::default();
    for step in steps {
        let deliveries = match step {
            Step::Publish(key) => {
                let key = if key == 0 {
                    String::new()
                } else {
                    format!("k{key}")
                };
                let id = state
                    .publish(TOPIC, &[message("x", &key)], at(now))
                    .unwrap();
                published.extend(id);
                Vec::new()
            }
            Step::Take(i) => take(&mut state, streams[i], at(now)),
            Step::Pull(n) => pull(&mut state, n, at(now)),
            Step::Ack(i) if !seen.deliveries.is_empty() => {
                let d = seen.deliveries[i % seen.deliveries.len()].clone();
                if ack(&mut state, std::slice::from_ref(&d), at(now)) == 1 {
                    seen.acked.insert(d.message.seq);
                }
                Vec::new()
            }
            Step::Nack(i) if !seen.deliveries.is_empty() => {
                let d = seen.deliveries[i % seen.deliveries.len()].clone();
                nack(&mut state, &[d], at(now));
                Vec::new()
            }
            Step::Extend(i) if !seen.deliveries.is_empty() => {
                let d = seen.deliveries[i % seen.deliveries.len()].clone();
                modify(&mut state, &[d], 20, at(now));
                Vec::new()
            }
            Step::Advance(secs) => {
                now += secs;
                state.tick(at(now));
                Vec::new()
            }
            Step::Close(i) => {
                state.close_stream(streams[i], at(now));
                streams[i] = open(&mut state, Some(3));
                Vec::new()
            }
            Step::Seek => {
                // To the beginning: brings nothing back, because acked messages are not retained, but
                // those of a key that wait for an earlier one.
                state
                    .seek(SUB, &super::super::Target::Time(at(0)), at(now))
                    .unwrap();
                if !exactly_once {
                    let unacked: BTreeSet<_> = state
                        .messages(SUB)
                        .unwrap()
                        .iter()
                        .map(|v| v.message)
                        .collect();
                    seen.acked.retain(|seq| !unacked.contains(seq));
                }
                Vec::new()
            }
            _ => Vec::new(),
        };
        let views = state.messages(SUB).unwrap();
        let mut batch = BTreeMap::new();
        for delivery in deliveries {
            let seq = delivery.message.seq;
            prop_assert!(published.contains(&seq));
            let key = delivery.message.ordering_key.as_deref();
            if exactly_once || !ordered || key.is_none() {
                prop_assert!(!seen.acked.contains(&seq), "{seq} after its ack");
            }
            if ordered && key.is_some() {
                let earlier = views.iter().take_while(|v| v.message < seq);
                let of_key = |v: &&MessageView| {
                    v.content
                        .as_ref()
                        .is_some_and(|c| c.ordering_key.as_deref() == key)
                };
                let skipped = earlier
                    .filter(of_key)
                    .find(|v| v.state == MessageState::Waiting);
                prop_assert!(skipped.is_none(), "{} came before {:?}", seq, skipped);
                let before = batch.insert(key.map(str::to_owned), seq);
                prop_assert!(before.is_none_or(|before| before < seq));
            }
            seen.deliveries.push(delivery);
        }
        let counts = state.counts(SUB).unwrap();
        let views = state.messages(SUB).unwrap();
        let waiting = views
            .iter()
            .filter(|v| v.state == MessageState::Waiting)
            .count();
        let outstanding = views
            .iter()
            .filter(|v| v.state == MessageState::Outstanding)
            .count();
        prop_assert_eq!(outstanding as u64, counts.outstanding);
        prop_assert_eq!(waiting as u64, counts.backlog);
        let lost = published.iter().filter(|seq| !seen.acked.contains(seq));
        let lost: Vec<_> = lost
            .filter(|seq| !views.iter().any(|v| v.message == **seq))
            .collect();
        prop_assert!(lost.is_empty(), "lost {:?}", lost);
    }
    // In the end everything can be had and acked.
    for stream in streams {
        state.close_stream(stream, at(now));
    }
    let mut rounds = 0;
    while seen.acked.len() < published.len() {
        now += 700;
        let taken = pull(&mut state, 1000, at(now));
        if !taken.is_empty() {
            ack(&mut state, &taken, at(now));
            seen.acked.extend(taken.iter().map(|d| d.message.seq));
        }
        rounds += 1;
        prop_assert!(rounds < 50, "messages are stuck");
    }
    while rounds < 60 {
        now += 700;
        let taken = pull(&mut state, 1000, at(now));
        if !taken.is_empty() {
            ack(&mut state, &taken, at(now));
        }
        rounds += 1;
    }
    let counts = state.counts(SUB).unwrap();
    prop_assert_eq!((counts.backlog, counts.outstanding), (0, 0));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn nothing_is_lost_nor_delivered_after_its_ack(steps in vec(step(), 0..120)) {
        run(steps, false, false)?;
    }

    #[test]
    fn keys_keep_their_order(steps in vec(step(), 0..120)) {
        run(steps, true, false)?;
    }

    #[test]
    fn exactly_once_holds_with_order(steps in vec(step(), 0..120)) {
        run(steps, true, true)?;
    }
}
