use super::super::samples::{Sample, block};
use super::*;
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    messages: 3,
    bytes: 60,
    delay: Duration::from_millis(10),
    active_topics: 2,
    idle_timeout: Duration::from_secs(1),
};
const MS: Duration = Duration::from_millis(1);

fn name(topic: u32) -> Arc<str> {
    format!("t{topic}").into()
}

/// A batcher with its clock.
struct Bench {
    batcher: Batcher,
    now: Instant,
}

impl Bench {
    fn new(limits: Limits) -> Self {
        Self {
            batcher: Batcher::new(limits),
            now: Instant::now(),
        }
    }

    fn append(&mut self, samples: &[(u32, &str, &str)]) {
        let samples: Vec<Sample> = samples
            .iter()
            .map(|(topic, key, payload)| Sample::new(*topic, key, *payload))
            .collect();
        self.batcher
            .append(&block(&samples), self.now, self.now, name);
    }

    /// Topic and payloads of all that may be sent; the lanes stay busy.
    fn ready(&mut self) -> Vec<(u32, String)> {
        std::iter::from_fn(|| self.batcher.next(self.now))
            .map(|ready| (ready.topic, payloads(ready.batch)))
            .collect()
    }
}

fn payloads(batch: Batch) -> String {
    let (_, messages) = super::super::samples::decode(&batch.into_bytes());
    let texts: Vec<_> = messages
        .into_iter()
        .map(|(_, payload)| String::from_utf8(payload).unwrap())
        .collect();
    texts.join(" ")
}

fn batches(expected: &[(u32, &str)]) -> Vec<(u32, String)> {
    expected
        .iter()
        .map(|(t, p)| (*t, (*p).to_owned()))
        .collect()
}

#[test]
fn a_batch_goes_when_it_is_full_or_old_enough() {
    let mut bench = Bench::new(LIMITS);
    bench.append(&[(1, "", "a"), (1, "", "b"), (1, "", "c"), (1, "", "d")]);
    assert_eq!(bench.ready(), batches(&[(1, "a b c")]));
    let due = bench.batcher.deadline().unwrap();
    assert_eq!(due - bench.now, 10 * MS);
    bench.now += 9 * MS;
    assert_eq!(bench.ready(), []);
    // The later message does not move the time of the first.
    bench.append(&[(1, "", "e")]);
    bench.now += MS;
    assert_eq!(bench.ready(), batches(&[(1, "d e")]));
    assert_eq!(bench.ready(), []);
}

#[test]
fn the_time_in_the_writer_counts() {
    let mut bench = Bench::new(LIMITS);
    let samples = [Sample::new(1, "", "a")];
    let since = bench.now - 10 * MS;
    bench
        .batcher
        .append(&block(&samples), since, bench.now, name);
    assert_eq!(bench.ready(), batches(&[(1, "a")]));
}

#[test]
fn a_flush_makes_due_what_is_there_and_nothing_later() {
    let mut bench = Bench::new(LIMITS);
    bench.append(&[(1, "", "a"), (2, "k", "b")]);
    bench.batcher.flush();
    assert_eq!(bench.ready(), batches(&[(1, "a"), (2, "b")]));
    bench.append(&[(1, "", "c")]);
    assert_eq!(bench.ready(), []);
}

#[test]
fn a_large_message_goes_alone_and_order_is_kept() {
    let large = "x".repeat(100);
    let mut bench = Bench::new(LIMITS);
    bench.append(&[(1, "", "a"), (1, "", "b"), (1, "", &large), (1, "", "c")]);
    bench.batcher.flush();
    assert_eq!(bench.ready(), batches(&[(1, "a b"), (1, &large), (1, "c")]));
}

#[test]
fn the_topic_counts_into_the_size_of_a_request() {
    // Four bytes of topic and six of each message: ten messages would be 64.
    let limits = Limits {
        messages: 100,
        ..LIMITS
    };
    let mut bench = Bench::new(limits);
    let samples = vec![(1, "", "ab"); 10];
    bench.append(&samples);
    bench.batcher.flush();
    let sizes: Vec<usize> = bench
        .ready()
        .iter()
        .map(|(_, p)| p.split(' ').count())
        .collect();
    assert_eq!(sizes, [9, 1]);
}

#[test]
fn one_request_per_key_is_under_way_and_others_go_on() {
    let mut bench = Bench::new(LIMITS);
    for n in ["1", "2", "3", "4"] {
        bench.append(&[(1, "a", n), (1, "b", n)]);
    }
    bench.batcher.flush();
    let first = bench.batcher.next(bench.now).unwrap();
    let second = bench.batcher.next(bench.now).unwrap();
    assert!(bench.batcher.next(bench.now).is_none());
    let lane = first.lane;
    assert_eq!(payloads(first.batch), "1 2 3");
    assert_eq!(payloads(second.batch), "1 2 3");
    bench.batcher.done(lane);
    assert_eq!(bench.ready(), batches(&[(1, "4")]));
}

#[test]
fn lanes_take_turns() {
    let mut bench = Bench::new(Limits {
        messages: 1,
        ..LIMITS
    });
    bench.append(&[
        (1, "", "a"),
        (1, "", "b"),
        (1, "", "c"),
        (2, "", "d"),
        (3, "k", "e"),
    ]);
    assert_eq!(
        bench.ready(),
        batches(&[(1, "a"), (2, "d"), (3, "e"), (1, "b"), (1, "c")])
    );
}

#[test]
fn isolated_messages_go_first_and_alone() {
    for key in ["", "k"] {
        let mut bench = Bench::new(LIMITS);
        bench.append(&[(1, key, "a"), (1, key, "b"), (1, key, "c"), (1, key, "d")]);
        let ready = bench.batcher.next(bench.now).unwrap();
        bench.batcher.isolate(ready.lane, ready.batch);
        bench.batcher.flush();
        let mut order = Vec::new();
        while let Some(ready) = bench.batcher.next(bench.now) {
            order.push(payloads(ready.batch));
            bench.batcher.done(ready.lane);
        }
        assert_eq!(order, ["a", "b", "c", "d"]);
    }
}

#[test]
fn a_blocked_topic_waits_and_is_counted() {
    let mut bench = Bench::new(LIMITS);
    bench.append(&[(1, "", "a"), (2, "", "b")]);
    bench.batcher.block(1);
    bench.batcher.flush();
    assert_eq!(bench.ready(), batches(&[(2, "b")]));
    assert_eq!(bench.batcher.blocked_messages(), 1);
    bench.append(&[(1, "k", "c")]);
    bench.batcher.flush();
    assert_eq!(bench.ready(), []);
    assert_eq!(bench.batcher.blocked_messages(), 2);
    bench.batcher.unblock(1, bench.now);
    assert_eq!(bench.ready(), batches(&[(1, "a"), (1, "c")]));
    assert_eq!(bench.batcher.blocked_messages(), 0);
}

#[test]
fn idle_topics_are_forgotten_least_recently_used_first() {
    let mut bench = Bench::new(LIMITS);
    bench.append(&[(1, "", "a"), (2, "", "b")]);
    bench.batcher.flush();
    assert_eq!(bench.ready().len(), 2);
    bench.batcher.release(1, 1, bench.now);
    bench.batcher.release(2, 1, bench.now);
    bench.batcher.mark(1, 7);
    // Used again: now 2 is the oldest.
    bench.append(&[(1, "", "c")]);
    bench.append(&[(3, "", "d")]);
    assert_eq!(bench.batcher.active_topics(), 2);
    assert_eq!(bench.batcher.marked(1), 7);
    bench.batcher.flush();
    assert_eq!(bench.ready(), batches(&[(1, "c"), (3, "d")]));
    bench.batcher.release(1, 1, bench.now);
    assert_eq!(
        bench.batcher.deadline(),
        Some(bench.now + Duration::from_secs(1))
    );
    bench.now += Duration::from_secs(1);
    bench.batcher.evict(bench.now);
    // 3 has a message in flight.
    assert_eq!(bench.batcher.active_topics(), 1);
    assert_eq!(bench.batcher.marked(1), 0);
}

#[test]
fn many_keys_leave_nothing_behind() {
    let mut bench = Bench::new(LIMITS);
    for round in 0..20 {
        let keys: Vec<String> = (0..5_000).map(|n| format!("{round}-{n}")).collect();
        let samples: Vec<_> = keys.iter().map(|key| (1, key.as_str(), "x")).collect();
        bench.append(&samples);
        bench.batcher.flush();
        let mut sent = 0;
        while let Some(ready) = bench.batcher.next(bench.now) {
            bench.batcher.done(ready.lane);
            bench.batcher.release(1, ready.batch.count(), bench.now);
            sent += 1;
        }
        assert_eq!(sent, 5_000);
        assert!(bench.batcher.keyed.is_empty());
        assert!(bench.batcher.lanes.len() <= 5_000);
    }
}

#[test]
fn the_timer_does_not_grow_with_full_batches() {
    let mut bench = Bench::new(Limits {
        delay: Duration::from_secs(86_400),
        ..LIMITS
    });
    for _ in 0..10_000 {
        bench.append(&[(1, "", "a"), (1, "", "b")]);
        bench.append(&[(1, "", "c")]);
        assert_eq!(bench.ready().len(), 1);
    }
    assert!(bench.batcher.due.len() <= STALE + 10);
}

#[test]
fn a_small_slice_does_not_keep_its_block() {
    let mut bench = Bench::new(Limits {
        bytes: 1 << 20,
        ..LIMITS
    });
    let large = vec![b'x'; 100_000];
    let samples = [Sample::new(1, "", "small"), Sample::new(2, "", large)];
    let block = block(&samples);
    let held = block.data.clone();
    bench.batcher.append(&block, bench.now, bench.now, name);
    drop(block);
    bench.batcher.flush();
    let mut small = bench.batcher.next(bench.now).unwrap();
    let mut large = bench.batcher.next(bench.now).unwrap();
    let inside = |bytes: &Bytes| held.as_ptr_range().contains(&bytes.as_ptr());
    assert!(!inside(&small.batch.parts()[0]));
    assert!(inside(&large.batch.parts()[0]));
}

proptest! {
    #[test]
    fn every_message_goes_once_in_order_and_within_the_limits(
        appends in proptest::collection::vec(
            proptest::collection::vec((0u32..3, 0usize..4, 0usize..50), 0..8), 1..20),
        steps in proptest::collection::vec(0u64..15, 1..20),
        messages in 1usize..5,
        bytes in 1usize..120,
    ) {
        let limits = Limits { messages, bytes, ..LIMITS };
        let mut bench = Bench::new(limits);
        let keys = ["", "a", "b", "cc"];
        let mut written: Vec<(u32, String, Vec<u8>)> = Vec::new();
        let mut sent: Vec<(u32, String, Vec<u8>)> = Vec::new();
        let mut busy: Vec<(u32, String, LaneId, usize)> = Vec::new();
        for (step, append) in appends.iter().enumerate() {
            let samples: Vec<Sample> = append
                .iter()
                .enumerate()
                .map(|(i, (topic, key, size))| {
                    let mut payload = format!("{step}.{i}.").into_bytes();
                    payload.resize(payload.len() + size, b'x');
                    Sample::new(*topic, keys[*key], payload)
                })
                .collect();
            written.extend(samples.iter().map(|s| (s.topic, s.key.clone(), s.payload.clone())));
            bench.batcher.append(&block(&samples), bench.now, bench.now, name);
            bench.now += MS * steps[step % steps.len()] as u32;
            let last = step + 1 == appends.len();
            if last {
                bench.batcher.flush();
            }
            loop {
                while let Some(ready) = bench.batcher.next(bench.now) {
                    let count = ready.batch.count();
                    prop_assert!(count >= 1 && count <= messages);
                    let size = ready.header.len() + ready.batch.bytes();
                    prop_assert!(count == 1 || size <= bytes, "{} messages, {} bytes", count, size);
                    let (_, content) = super::super::samples::decode(&ready.batch.into_bytes());
                    prop_assert_eq!(content.len(), count);
                    let key = content[0].0.clone();
                    prop_assert!(content.iter().all(|(k, _)| *k == key));
                    prop_assert!(key.is_empty()
                        || busy.iter().all(|(t, k, ..)| (*t, k) != (ready.topic, &key)));
                    sent.extend(content.into_iter().map(|(k, p)| (ready.topic, k, p)));
                    busy.push((ready.topic, key, ready.lane, count));
                }
                let keep = if last { 0 } else { busy.len() / 2 };
                let finished: Vec<_> = busy.drain(keep..).collect();
                for (topic, _, lane, count) in finished {
                    bench.batcher.done(lane);
                    bench.batcher.release(topic, count, bench.now);
                }
                if !last || bench.batcher.ready.is_empty() {
                    break;
                }
            }
        }
        for topic in 0..3 {
            for key in keys {
                let of = |all: &[(u32, String, Vec<u8>)]| -> Vec<Vec<u8>> {
                    all.iter().filter(|(t, k, _)| *t == topic && k == key).map(|m| m.2.clone()).collect()
                };
                prop_assert_eq!(of(&sent), of(&written));
            }
        }
        prop_assert!(bench.batcher.keyed.is_empty());
        prop_assert!(bench.batcher.topics.values().all(|topic| topic.held == 0));
    }
}
