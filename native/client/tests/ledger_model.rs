//! The ledger against a naive one that looks at every message.

use proptest::prelude::*;
use pubsub_client::ids::IdSet;
use pubsub_client::lease::{MIN_LEASE, Millis};
use pubsub_client::ledger::{Ledger, LedgerError};
use std::collections::BTreeSet;

const CEILING: Millis = 100_000;
const LEASE: Millis = 30_000;
const MARGIN: Millis = 10_000;

#[derive(Clone, Debug)]
enum Event {
    /// A response; `Some(i)` is another delivery of the i-th message so far.
    Response(Vec<Option<usize>>),
    Fetch(usize),
    Seal(usize),
    Complete(usize),
    /// The service answers one of the open requests.
    Answer(usize),
    Nack(usize),
    NackUnfetched,
    Pass(Millis),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => prop::collection::vec(prop::option::weighted(0.25, 0..200usize), 0..12).prop_map(Event::Response),
        3 => (0..20usize).prop_map(Event::Fetch),
        3 => (0..20usize).prop_map(Event::Seal),
        2 => (0..3usize).prop_map(Event::Complete),
        3 => any::<usize>().prop_map(Event::Answer),
        1 => any::<usize>().prop_map(Event::Nack),
        1 => Just(Event::NackUnfetched),
        2 => (0..40_000u64).prop_map(Event::Pass),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Held,
    Decided,
    Settled,
}

#[derive(Debug)]
struct Entry {
    message: usize,
    ack_id: String,
    state: State,
    received: Millis,
    lease: Millis,
    batch: usize,
}

/// Everything in one list, searched from end to end.
#[derive(Default, Debug)]
struct Model {
    entries: Vec<Entry>,
    messages: usize,
    fetched: usize,
    emitted: usize,
    decided: usize,
    seals: Vec<(i64, usize)>,
    late: BTreeSet<String>,
    batches: usize,
    now: Millis,
}

impl Model {
    fn holder(&self, message: usize) -> Option<usize> {
        self.entries
            .iter()
            .position(|entry| entry.message == message && entry.state != State::Settled)
    }

    fn outstanding(&self) -> u64 {
        self.entries
            .iter()
            .filter(|entry| entry.state != State::Settled)
            .count() as u64
    }

    fn take(&mut self, from: usize, to: usize, state: State) -> BTreeSet<String> {
        let live = self.entries[from..to]
            .iter_mut()
            .filter(|entry| entry.state == State::Held);
        live.map(|entry| {
            entry.state = state;
            entry.ack_id.clone()
        })
        .collect()
    }
}

fn ids(sets: &[IdSet]) -> BTreeSet<String> {
    let all: Vec<String> = sets
        .iter()
        .flat_map(|set| set.ids().map(|id| String::from_utf8(id.to_vec()).unwrap()))
        .collect();
    let unique: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!(unique.len(), all.len(), "an id went out twice: {all:?}");
    unique
}

fn run(events: Vec<Event>) {
    let mut ledger = Ledger::new("projects/p/subscriptions/s");
    let mut model = Model::default();
    let mut open: Vec<IdSet> = Vec::new();
    let mut checkpoint = 0;
    let mut deliveries = 0;
    for event in events {
        match event {
            Event::Response(messages) => {
                let mut registration =
                    ledger.register(messages.len(), model.now, model.now + LEASE);
                assert_eq!(registration.first(), model.entries.len() as u64);
                let mut redelivered = Vec::new();
                for (at, again) in messages.into_iter().enumerate() {
                    let message = match again {
                        Some(message) if model.messages > 0 => message % model.messages,
                        _ => {
                            model.messages += 1;
                            model.messages - 1
                        }
                    };
                    deliveries += 1;
                    let ack_id = format!("ack-{deliveries}");
                    registration.push(ack_id.as_bytes(), format!("{message}").as_bytes(), 10);
                    let mut state = State::Held;
                    if let Some(holder) = model.holder(message) {
                        redelivered.push(at as u32);
                        state = State::Settled;
                        if model.entries[holder].state == State::Decided {
                            model.late.insert(ack_id.clone());
                        } else {
                            model.entries[holder].ack_id = ack_id.clone();
                        }
                    }
                    let (received, lease, batch) = (model.now, model.now + LEASE, model.batches);
                    model.entries.push(Entry {
                        message,
                        ack_id,
                        state,
                        received,
                        lease,
                        batch,
                    });
                }
                model.batches += 1;
                assert_eq!(registration.finish(), redelivered);
                assert_eq!(ids(&ledger.late_acks()), std::mem::take(&mut model.late));
            }
            Event::Fetch(count) => {
                model.fetched = (model.fetched + count).min(model.entries.len());
                for sequence in 0..model.entries.len() as u64 {
                    // What Java does not have yet must still be known, dead or alive.
                    if sequence >= ledger.next_sequence().min(model.fetched as u64) {
                        let dead = model.entries[sequence as usize].state == State::Settled;
                        assert_eq!(ledger.is_dead(sequence), dead, "{sequence}");
                    }
                }
                ledger.fetched(model.fetched as u64);
            }
            Event::Seal(count) => {
                assert_eq!(
                    ledger.seal(99, model.fetched as u64 + 1),
                    Err(LedgerError::NotFetched {
                        emitted: model.fetched as u64 + 1,
                        fetched: model.fetched as u64
                    })
                );
                model.emitted = (model.emitted + count).min(model.fetched);
                checkpoint += 1;
                ledger.seal(checkpoint, model.emitted as u64).unwrap();
                model.seals.push((checkpoint, model.emitted));
            }
            Event::Complete(back) => {
                let done = checkpoint - back as i64;
                let to = model
                    .seals
                    .iter()
                    .filter(|seal| seal.0 <= done)
                    .map(|seal| seal.1)
                    .max();
                model.seals.retain(|seal| seal.0 > done);
                let to = to.unwrap_or(0).max(model.decided);
                let expected = model.take(model.decided, to, State::Decided);
                model.decided = to;
                let sets = ledger.complete(done, model.now);
                assert_eq!(ids(&sets), expected);
                open.extend(sets);
                assert_eq!(ledger.pending_checkpoints(), model.seals.len());
            }
            Event::Answer(which) => {
                if !open.is_empty() {
                    let set = open.swap_remove(which % open.len());
                    ledger.settle(&set);
                    for sequence in set.runs.iter().flat_map(|run| run.sequences.clone()) {
                        assert_eq!(model.entries[sequence as usize].state, State::Decided);
                        model.entries[sequence as usize].state = State::Settled;
                    }
                }
            }
            Event::Nack(which) => {
                if !model.entries.is_empty() {
                    let at = which % model.entries.len();
                    let expected = model.take(at, at + 1, State::Settled);
                    assert_eq!(
                        ids(&ledger.nack(at as u64).into_iter().collect::<Vec<_>>()),
                        expected
                    );
                }
            }
            Event::NackUnfetched => {
                let expected = model.take(model.fetched, model.entries.len(), State::Settled);
                assert_eq!(ids(&ledger.nack_unfetched()), expected);
            }
            Event::Pass(time) => {
                model.now += time;
                let mut expected = BTreeSet::new();
                for batch in 0..model.batches {
                    let mut members: Vec<&mut Entry> = model
                        .entries
                        .iter_mut()
                        .filter(|entry| entry.batch == batch)
                        .collect();
                    let Some(first) = members.first() else {
                        continue;
                    };
                    let left = (first.received + CEILING).saturating_sub(model.now);
                    let length = LEASE.min(left) / 1_000 * 1_000;
                    let due = first.lease < model.now + MARGIN;
                    if due && length >= MIN_LEASE && model.now + length > first.lease {
                        for entry in &mut members {
                            entry.lease = model.now + length;
                            if entry.state == State::Held {
                                expected.insert((length as u32 / 1_000, entry.ack_id.clone()));
                            }
                        }
                    }
                }
                let extended = ledger.extend(model.now, MARGIN, LEASE, CEILING);
                let told: BTreeSet<(u32, String)> = extended
                    .iter()
                    .flat_map(|(length, set)| {
                        ids(std::slice::from_ref(set))
                            .into_iter()
                            .map(|id| (*length, id))
                    })
                    .collect();
                assert_eq!(told, expected);
                let now = model.now;
                let gone = model
                    .entries
                    .iter_mut()
                    .filter(|entry| entry.state == State::Held && entry.lease <= now);
                let gone = gone.map(|entry| entry.state = State::Settled).count() as u64;
                assert_eq!(ledger.expire(now).messages, gone);
            }
        }
        assert_eq!(ledger.outstanding().messages, model.outstanding());
        assert_eq!(ledger.outstanding().bytes, model.outstanding() * 10);
    }
    // In the end everything that is still held can be given back, and nothing is left.
    let expected = model.take(0, model.entries.len(), State::Settled);
    assert_eq!(ids(&ledger.nack_all()), expected);
    open.iter().for_each(|set| ledger.settle(set));
    assert_eq!(ledger.outstanding().messages, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn agrees_with_the_naive_ledger(events in prop::collection::vec(event(), 0..60)) {
        run(events);
    }
}

/// Registers one response of one message; tells whether the message was held already.
fn deliver(ledger: &mut Ledger, ack_id: &str, message_id: &str) -> bool {
    let mut registration = ledger.register(1, 0, LEASE);
    registration.push(ack_id.as_bytes(), message_id.as_bytes(), 5);
    registration.finish() == [0]
}

#[test]
fn an_ack_names_the_newest_delivery_and_flow_control_returns_to_zero() {
    let mut ledger = Ledger::new("s");
    assert!(!deliver(&mut ledger, "a1", "m1"));
    ledger.fetched(1);
    for delivery in 2..=50 {
        assert!(deliver(&mut ledger, &format!("a{delivery}"), "m1"));
        assert_eq!(ledger.outstanding().messages, 1);
    }
    assert_eq!(ledger.counts().redeliveries, 49);
    ledger.seal(1, 1).unwrap();
    let acks = ledger.complete(1, 0);
    assert_eq!(ids(&acks), BTreeSet::from(["a50".to_string()]));
    // It comes once more while the ack is under way: acked as well, not emitted.
    assert!(deliver(&mut ledger, "a51", "m1"));
    assert_eq!(
        ids(&ledger.late_acks()),
        BTreeSet::from(["a51".to_string()])
    );
    acks.iter().for_each(|set| ledger.settle(set));
    assert_eq!(ledger.outstanding().messages, 0);
    // After the answer it is a message like any other.
    assert!(!deliver(&mut ledger, "a52", "m1"));
}

#[test]
fn messages_without_an_id_are_never_taken_for_another() {
    let mut ledger = Ledger::new("s");
    assert!(!deliver(&mut ledger, "a1", ""));
    assert!(!deliver(&mut ledger, "a2", ""));
    assert_eq!(ids(&ledger.nack_all()).len(), 2);
    assert_eq!(ledger.outstanding().messages, 0);
}

#[test]
fn progress_that_goes_backwards_is_refused() {
    let mut ledger = Ledger::new("s");
    deliver(&mut ledger, "a1", "m1");
    deliver(&mut ledger, "a2", "m2");
    ledger.fetched(2);
    ledger.seal(1, 2).unwrap();
    let backwards = LedgerError::Backwards {
        emitted: 1,
        before: 2,
    };
    assert_eq!(ledger.seal(2, 1), Err(backwards));
}
