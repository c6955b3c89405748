//! From messages to batches: per topic, and per ordering key.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hashbrown::{Equivalent, HashMap};
use tokio::time::Instant;

use super::batch::Batch;
use super::block::{Block, Run};
use super::idle::{Idle, Ticket};
use crate::wire::put_bytes;

/// A slice below this is copied: it costs less than a frame of its own.
const SMALL: usize = 4096;
/// A slice below this part of its block is copied, so that no batch that waits for long keeps more
/// than so many times its own size alive.
const SHARE: usize = 4;
/// Entries of closed batches in the timer that are tolerated before it is cleaned.
const STALE: usize = 1024;

/// When a batch is full, and how long it waits to become so.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) messages: usize,
    /// Of the encoded request, with the topic.
    pub(super) bytes: usize,
    pub(super) delay: Duration,
    /// Topics without anything in flight that are remembered, and for how long.
    pub(super) active_topics: usize,
    pub(super) idle_timeout: Duration,
}

/// Index of a lane.
pub(super) type LaneId = u32;

/// A batch that may be sent now.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) lane: LaneId,
    pub(super) topic: u32,
    pub(super) name: Arc<str>,
    /// The encoded topic field of the request.
    pub(super) header: Bytes,
    pub(super) batch: Batch,
}

/// Collects messages into batches and says which may be sent, in a fair order of topics and keys.
///
/// Messages of one topic without an ordering key share a lane, of which any number of batches may be
/// under way. Each ordering key has a lane of its own, of which one batch at a time is: the next one
/// is answered after [`Batcher::done`]. A lane of a key is forgotten when it is empty.
#[derive(Debug)]
pub(super) struct Batcher {
    limits: Limits,
    topics: HashMap<u32, Topic>,
    idle: Idle,
    lanes: Vec<Lane>,
    free: Vec<LaneId>,
    keyed: HashMap<LaneKey, LaneId>,
    /// When the open batch of a lane has waited long enough. Entries of batches that were closed
    /// earlier are stale: their number is not the lane's any more.
    due: BinaryHeap<Reverse<(Instant, LaneId, u64)>>,
    opened: u64,
    ready: VecDeque<LaneId>,
    blocked_messages: u64,
}

#[derive(Debug)]
struct Topic {
    name: Arc<str>,
    header: Bytes,
    unkeyed: Option<LaneId>,
    /// Messages that were appended and not released.
    held: u64,
    /// Lanes that would be ready if the topic were not blocked.
    blocked: Option<Vec<LaneId>>,
    idle: Option<Ticket>,
    /// See [`Batcher::mark`].
    mark: u64,
}

#[derive(Debug, Default)]
struct Lane {
    topic: u32,
    key: Option<Box<[u8]>>,
    closed: VecDeque<Batch>,
    open: Batch,
    /// Number of the open batch; unique.
    number: u64,
    /// The open batch has waited long enough.
    due: bool,
    /// A batch of the key is under way.
    busy: bool,
    /// The lane is in `ready`, or among the blocked ones of its topic.
    queued: bool,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct LaneKey {
    topic: u32,
    key: Box<[u8]>,
}

#[derive(Hash)]
struct LaneKeyRef<'a> {
    topic: u32,
    key: &'a [u8],
}

impl Equivalent<LaneKey> for LaneKeyRef<'_> {
    fn equivalent(&self, other: &LaneKey) -> bool {
        self.topic == other.topic && *self.key == *other.key
    }
}

impl Lane {
    fn is_empty(&self) -> bool {
        self.closed.is_empty() && self.open.is_empty()
    }

    fn is_sendable(&self) -> bool {
        !self.busy && (!self.closed.is_empty() || (self.due && !self.open.is_empty()))
    }

    fn close(&mut self) {
        self.closed.push_back(std::mem::take(&mut self.open));
        self.number = 0;
        self.due = false;
    }
}

impl Batcher {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            topics: HashMap::new(),
            idle: Idle::default(),
            lanes: Vec::new(),
            free: Vec::new(),
            keyed: HashMap::new(),
            due: BinaryHeap::new(),
            opened: 0,
            ready: VecDeque::new(),
            blocked_messages: 0,
        }
    }

    /// Takes messages whose oldest has waited since `since`. `name` answers a topic's name.
    pub(super) fn append(
        &mut self,
        block: &Block,
        since: Instant,
        now: Instant,
        mut name: impl FnMut(u32) -> Arc<str>,
    ) {
        let due = since + self.limits.delay;
        for run in &block.runs {
            let key = &block.data[run.key.clone()];
            let (lane, room) = self.lane(run, key, &mut name);
            self.fill(lane, room, block, run, due, now);
            self.enqueue(lane);
        }
        self.evict(now);
    }

    /// Makes everything due that has been appended so far.
    pub(super) fn flush(&mut self) {
        let due = std::mem::take(&mut self.due).into_sorted_vec();
        for Reverse((_, lane, number)) in due.into_iter().rev() {
            self.make_due(lane, number);
        }
    }

    /// The next batch that may be sent, if there is one.
    pub(super) fn next(&mut self, now: Instant) -> Option<Ready> {
        while let Some(Reverse((due, lane, number))) = self.due.peek().copied() {
            if due > now {
                break;
            }
            self.due.pop();
            self.make_due(lane, number);
        }
        while let Some(id) = self.ready.pop_front() {
            let lane = &mut self.lanes[id as usize];
            let topic = self.topics.get_mut(&lane.topic)?;
            if let Some(blocked) = &mut topic.blocked {
                blocked.push(id);
                continue;
            }
            lane.queued = false;
            if lane.closed.is_empty() {
                lane.close();
            }
            let batch = lane.closed.pop_front()?;
            debug_assert!(!batch.is_empty());
            lane.busy = lane.key.is_some();
            let ready = Ready {
                lane: id,
                topic: lane.topic,
                name: topic.name.clone(),
                header: topic.header.clone(),
                batch,
            };
            self.enqueue(id);
            return Some(ready);
        }
        None
    }

    /// When [`Batcher::next`] may answer something without further messages, or topics may be
    /// forgotten.
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        while let Some(Reverse((_, lane, number))) = self.due.peek() {
            if self.lanes[*lane as usize].number == *number {
                break;
            }
            self.due.pop();
        }
        let due = self.due.peek().map(|Reverse((due, ..))| *due);
        let idle = self
            .idle
            .oldest()
            .map(|since| since + self.limits.idle_timeout);
        [due, idle].into_iter().flatten().min()
    }

    /// A batch of this lane is no longer under way.
    pub(super) fn done(&mut self, id: LaneId) {
        let lane = &mut self.lanes[id as usize];
        if lane.key.is_none() {
            return;
        }
        lane.busy = false;
        if lane.is_empty() {
            self.forget(id);
        } else {
            self.enqueue(id);
        }
    }

    /// Gives a batch back that is no longer under way, to be sent one message per request, before
    /// all else of its lane.
    pub(super) fn isolate(&mut self, id: LaneId, batch: Batch) {
        let lane = &mut self.lanes[id as usize];
        for single in batch.split().into_iter().rev() {
            lane.closed.push_front(single);
        }
        lane.busy = false;
        self.enqueue(id);
    }

    /// Messages of a topic have left for good.
    pub(super) fn release(&mut self, topic: u32, messages: usize, now: Instant) {
        let Some(it) = self.topics.get_mut(&topic) else {
            return;
        };
        it.held -= messages as u64;
        if it.blocked.is_some() {
            self.blocked_messages -= messages as u64;
        }
        if it.held == 0 && it.blocked.is_none() {
            it.idle = Some(self.idle.push(topic, now));
            self.evict(now);
        }
    }

    /// Holds back what is not yet under way of a topic, until [`Batcher::unblock`].
    pub(super) fn block(&mut self, topic: u32) {
        if let Some(it) = self.topics.get_mut(&topic)
            && it.blocked.is_none()
        {
            it.blocked = Some(Vec::new());
            self.blocked_messages += it.held;
        }
    }

    /// Lets go of a topic again.
    pub(super) fn unblock(&mut self, topic: u32, now: Instant) {
        if let Some(it) = self.topics.get_mut(&topic)
            && let Some(lanes) = it.blocked.take()
        {
            self.ready.extend(lanes);
            self.blocked_messages -= it.held;
            if it.held == 0 {
                it.idle = Some(self.idle.push(topic, now));
            }
        }
    }

    /// Forgets topics that have been idle for too long.
    pub(super) fn evict(&mut self, now: Instant) {
        while let Some(since) = self.idle.oldest() {
            let too_many = self.topics.len() > self.limits.active_topics;
            if !too_many && since + self.limits.idle_timeout > now {
                break;
            }
            let Some(topic) = self.idle.pop_oldest().and_then(|t| self.topics.remove(&t)) else {
                break;
            };
            if let Some(lane) = topic.unkeyed {
                self.forget(lane);
            }
        }
    }

    /// Keeps a number with a topic, for as long as the topic is remembered.
    pub(super) fn mark(&mut self, topic: u32, mark: u64) {
        if let Some(it) = self.topics.get_mut(&topic) {
            it.mark = mark;
        }
    }

    /// The number that was kept with a topic; 0 when there is none.
    pub(super) fn marked(&self, topic: u32) -> u64 {
        self.topics.get(&topic).map_or(0, |it| it.mark)
    }

    /// Topics that are remembered.
    pub(super) fn active_topics(&self) -> usize {
        self.topics.len()
    }

    /// The first topic with messages that were not released: its number and name.
    pub(super) fn waiting_topic(&self) -> Option<(u32, &str)> {
        let waiting = self.topics.iter().filter(|(_, topic)| topic.held > 0);
        let (&number, topic) = waiting.min_by_key(|(number, _)| **number)?;
        Some((number, &topic.name))
    }

    /// Messages of blocked topics that were not released, under way or not.
    pub(super) fn blocked_messages(&self) -> u64 {
        self.blocked_messages
    }

    /// The lane of a run and the bytes that the messages of its requests may have.
    fn lane(
        &mut self,
        run: &Run,
        key: &[u8],
        name: &mut impl FnMut(u32) -> Arc<str>,
    ) -> (LaneId, usize) {
        let topic = self.topics.entry(run.topic).or_insert_with(|| {
            let name = name(run.topic);
            let mut header = BytesMut::with_capacity(name.len() + 3);
            put_bytes(&mut header, 1, name.as_bytes());
            Topic {
                name,
                header: header.freeze(),
                unkeyed: None,
                held: 0,
                blocked: None,
                idle: None,
                mark: 0,
            }
        });
        if let Some(ticket) = topic.idle.take() {
            self.idle.remove(ticket);
        }
        let messages = (run.end - run.first) as u64;
        topic.held += messages;
        if topic.blocked.is_some() {
            self.blocked_messages += messages;
        }
        let room = self.limits.bytes.saturating_sub(topic.header.len());
        let known = if key.is_empty() {
            topic.unkeyed
        } else {
            let key = LaneKeyRef {
                topic: run.topic,
                key,
            };
            self.keyed.get(&key).copied()
        };
        if let Some(lane) = known {
            return (lane, room);
        }
        let lane = Lane {
            topic: run.topic,
            key: (!key.is_empty()).then(|| key.into()),
            ..Lane::default()
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.lanes[id as usize] = lane;
                id
            }
            None => {
                self.lanes.push(lane);
                (self.lanes.len() - 1) as LaneId
            }
        };
        if key.is_empty() {
            topic.unkeyed = Some(id);
        } else {
            let key = LaneKey {
                topic: run.topic,
                key: key.into(),
            };
            self.keyed.insert(key, id);
        }
        (id, room)
    }

    fn fill(
        &mut self,
        id: LaneId,
        room: usize,
        block: &Block,
        run: &Run,
        due: Instant,
        now: Instant,
    ) {
        let lane = &mut self.lanes[id as usize];
        let mut first = run.first;
        while first < run.end {
            let start = block.start(first);
            let most = run
                .end
                .min(first + self.limits.messages - lane.open.count());
            let bytes = room.saturating_sub(lane.open.bytes());
            let fits =
                block.ends[first..most].partition_point(|end| *end as usize - start <= bytes);
            let end = match fits {
                // Too large for a batch: it goes alone.
                0 if lane.open.is_empty() => first + 1,
                0 => {
                    lane.close();
                    continue;
                }
                _ => first + fits,
            };
            let slice = block.data.slice(start..block.start(end));
            let copy = slice.len() < SMALL || slice.len() < block.data.len() / SHARE;
            let opens = lane.open.is_empty();
            lane.open.push(slice, end - first, copy);
            first = end;
            if lane.open.count() == self.limits.messages || lane.open.bytes() >= room {
                lane.close();
            } else if opens {
                self.opened += 1;
                lane.number = self.opened;
                if due <= now {
                    lane.due = true;
                } else {
                    self.due.push(Reverse((due, id, lane.number)));
                }
            }
        }
        if self.due.len() > STALE + 2 * self.lanes.len() {
            let lanes = &self.lanes;
            self.due
                .retain(|Reverse((_, lane, number))| lanes[*lane as usize].number == *number);
        }
    }

    fn make_due(&mut self, id: LaneId, number: u64) {
        let lane = &mut self.lanes[id as usize];
        if lane.number == number {
            lane.due = true;
            self.enqueue(id);
        }
    }

    fn enqueue(&mut self, id: LaneId) {
        let lane = &mut self.lanes[id as usize];
        if !lane.queued && lane.is_sendable() {
            lane.queued = true;
            self.ready.push_back(id);
        }
    }

    fn forget(&mut self, id: LaneId) {
        let lane = std::mem::take(&mut self.lanes[id as usize]);
        debug_assert!(lane.is_empty() && !lane.busy && !lane.queued);
        if let Some(key) = lane.key {
            self.keyed.remove(&LaneKeyRef {
                topic: lane.topic,
                key: &key,
            });
        }
        self.free.push(id);
    }
}

#[cfg(test)]
#[path = "batcher_tests.rs"]
mod tests;
