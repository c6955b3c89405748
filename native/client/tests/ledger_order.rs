//! The order of keys under a service that replays.

use std::collections::BTreeMap;

use proptest::prelude::*;
use pubsub_client::ids::IdSet;
use pubsub_client::ledger::Ledger;

#[derive(Clone, Debug)]
enum Event {
    Publish,
    /// A response of so many messages.
    Deliver(usize),
    /// The service no longer knows an ack, or a lease: it replays the key from this message on.
    Replay(usize),
    /// The client gives up a message.
    Leave(usize),
    Seal,
    Complete,
    /// An ack is answered; with `false` it had no effect.
    Answer(usize, bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => Just(Event::Publish),
        5 => (1..6usize).prop_map(Event::Deliver),
        2 => any::<usize>().prop_map(Event::Replay),
        1 => any::<usize>().prop_map(Event::Leave),
        2 => Just(Event::Seal),
        2 => Just(Event::Complete),
        3 => (any::<usize>(), any::<bool>()).prop_map(|(which, done)| Event::Answer(which, done)),
    ]
}

/// One key: messages are numbered in the order of publishing, and the service delivers from `next` on.
fn run(events: Vec<Event>, publish_times: bool) {
    let mut ledger = Ledger::ordered("s");
    let (mut published, mut next, mut delivered) = (0usize, 0usize, 0usize);
    let mut acked: BTreeMap<usize, bool> = BTreeMap::new();
    // The message behind each sequence number, and what was emitted.
    let (mut messages, mut emitted): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut open: Vec<IdSet> = Vec::new();
    let mut checkpoint = 0;
    let mut last_id: BTreeMap<usize, String> = BTreeMap::new();
    for event in events {
        match event {
            Event::Publish => published += 1,
            Event::Deliver(count) => {
                let end = published.min(next + count);
                let mut registration = ledger.register(end - next, 0, 1_000_000);
                let first = registration.first() as usize;
                for message in next..end {
                    delivered += 1;
                    let ack_id = format!("{message}/{delivered}");
                    // Times in pairs, so that some are equal.
                    let time = if publish_times { message / 2 } else { 0 };
                    let id = message.to_string();
                    registration.push_keyed(
                        ack_id.as_bytes(),
                        id.as_bytes(),
                        1,
                        b"k",
                        (time as i64, 0),
                    );
                    last_id.insert(message, ack_id);
                }
                let skipped = registration.finish();
                messages.extend(next..end);
                for at in 0..end - next {
                    if !skipped.contains(&(at as u32)) {
                        emitted.push(messages[first + at]);
                    }
                }
                next = end;
                ledger.fetched(messages.len() as u64);
                open.extend(ledger.late_acks());
            }
            Event::Replay(which) => {
                if next > 0 {
                    next = which % next;
                    acked.clear();
                }
            }
            Event::Leave(which) => {
                if !messages.is_empty() {
                    ledger.leave((which % messages.len()) as u64);
                }
            }
            Event::Seal => {
                checkpoint += 1;
                ledger.seal(checkpoint, messages.len() as u64).unwrap();
            }
            Event::Complete => open.extend(ledger.complete(checkpoint, 0)),
            Event::Answer(which, effect) => {
                if !open.is_empty() {
                    let set = open.swap_remove(which % open.len());
                    for id in set.ids() {
                        let id = std::str::from_utf8(id).unwrap();
                        let message: usize = id.split('/').next().unwrap().parse().unwrap();
                        if effect && last_id[&message] == id {
                            acked.insert(message, true);
                        }
                    }
                    ledger.settle(&set);
                }
            }
        }
        // From one emission to the next the key goes on by one, or back: nothing is ever left out.
        let mut expected = 0;
        for &message in &emitted {
            assert!(
                message <= expected,
                "{message} came without {expected}: {emitted:?}"
            );
            expected = message + 1;
        }
    }
    // Whatever is delivered was emitted, and in the end nothing is held.
    assert!(emitted.iter().max().is_none_or(|&last| last + 1 >= next));
    checkpoint += 1;
    ledger.seal(checkpoint, messages.len() as u64).unwrap();
    open.extend(ledger.complete(checkpoint, 0));
    open.iter().for_each(|set| ledger.settle(set));
    assert_eq!(ledger.outstanding().messages, 0);
    assert_eq!(ledger.outstanding().bytes, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_key_is_emitted_without_gaps(
        events in prop::collection::vec(event(), 0..80),
        publish_times in any::<bool>(),
    ) {
        run(events, publish_times);
    }
}

fn deliver(ledger: &mut Ledger, messages: &[(&str, &str)]) -> Vec<u32> {
    let mut registration = ledger.register(messages.len(), 0, 10_000);
    for (at, (id, key)) in messages.iter().enumerate() {
        let ack_id = format!("{id}-{at}");
        registration.push_keyed(ack_id.as_bytes(), id.as_bytes(), 1, key.as_bytes(), (0, 0));
    }
    let skipped = registration.finish();
    let next = ledger.next_sequence();
    ledger.fetched(next);
    skipped
}

#[test]
fn what_is_held_is_emitted_again_only_behind_an_old_message_of_its_key() {
    let mut ledger = Ledger::ordered("s");
    let five = [("1", "a"), ("2", "a"), ("3", "a"), ("4", "b"), ("5", "")];
    assert!(deliver(&mut ledger, &five).is_empty());
    // All of it is held still, so a replay tells nothing new.
    assert_eq!(
        deliver(
            &mut ledger,
            &[("2", "a"), ("3", "a"), ("4", "b"), ("5", "")]
        ),
        [0, 1, 2, 3]
    );
    assert_eq!(ledger.outstanding().messages, 5);
    // The first is not: it is emitted again, and so is what follows it in its key.
    ledger.leave(0);
    assert_eq!(
        deliver(
            &mut ledger,
            &[("1", "a"), ("2", "a"), ("4", "b"), ("3", "a"), ("5", "")]
        ),
        [2, 4]
    );
    assert_eq!(ledger.outstanding().messages, 5);
    // Once is enough.
    assert_eq!(
        deliver(&mut ledger, &[("1", "a"), ("2", "a"), ("3", "a")]),
        [0, 1, 2]
    );
    assert_eq!(ledger.counts().redeliveries, 4 + 4 + 3);
    // Each is acked once, by its newest id.
    ledger.seal(1, ledger.next_sequence()).unwrap();
    let acks = ledger.complete(1, 0);
    let mut ids: Vec<String> = acks
        .iter()
        .flat_map(|set| set.ids().map(|id| String::from_utf8(id.to_vec()).unwrap()))
        .collect();
    ids.sort();
    assert_eq!(ids, ["1-0", "2-1", "3-2", "4-2", "5-4"]);
}
