//! The backlog of messages with an ordering key.
//!
//! Per key the messages form one queue. A delivered message stays in it until it and everything
//! before it is acked, because a redelivery replays everything after it, acked or not. While messages
//! of a key are out, only the stream that holds them may take more; a unary pull takes the key's
//! messages in one batch and blocks the key until that batch is done.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use hashbrown::HashMap;

use super::lease::LeaseId;
use super::message::Message;
use super::stream::StreamId;
use crate::time::Time;

/// Who takes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Taker {
    Stream(StreamId),
    Pull,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    Leased(LeaseId),
    Acked,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub message: Arc<Message>,
    pub attempts: u32,
    pub state: State,
}

#[derive(Debug)]
struct Key {
    name: Box<str>,
    entries: VecDeque<Entry>,
    /// Position of the first entry since the key exists.
    first: u64,
    /// Position of the next entry to deliver; everything before it is leased or acked.
    next: u64,
    out: usize,
    holder: Option<Taker>,
    resting_until: Option<Time>,
    /// The queue of keys that it is in. It may still stand in others, where it is passed over.
    queued: Option<Queue>,
}

/// A queue of keys with something to deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Shared,
    Of(StreamId),
}

impl Key {
    fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }
}

/// The ordered backlog of one subscription.
#[derive(Debug, Default)]
pub(crate) struct Ordered {
    names: HashMap<Box<str>, u32>,
    keys: HashMap<u32, Key>,
    last_key: u32,
    /// Keys with something to deliver and no stream to prefer.
    shared: VecDeque<u32>,
    /// Keys with something to deliver, by the stream that should take them.
    preferred: HashMap<StreamId, VecDeque<u32>>,
    resting: BinaryHeap<Reverse<(Time, u32)>>,
    ready: usize,
    waiting: usize,
    hasher: hashbrown::DefaultHashBuilder,
}

/// What becomes of a message that is next in its key's queue.
pub(crate) enum Verdict {
    Lease(LeaseId),
    /// Its retention has ended.
    Drop,
    /// It stays where it is.
    Stop,
}

/// One message taken out of a key's queue, to be leased.
pub(crate) struct Taken {
    pub key: u32,
    pub position: u64,
    pub message: Arc<Message>,
    pub attempts: u32,
}

impl Ordered {
    /// Messages that are here and not out, whether or not they can go out now.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Messages of keys that somebody may take from now.
    pub fn ready(&self) -> usize {
        self.ready
    }

    pub fn open_stream(&mut self, id: StreamId) {
        self.preferred.insert(id, VecDeque::new());
    }

    /// What was meant for the stream goes to others. Keys with messages out wait for their leases.
    pub fn close_stream(&mut self, id: StreamId) {
        for key in self.preferred.remove(&id).unwrap_or_default() {
            self.unmark(key);
            self.enqueue(key);
        }
    }

    pub fn push(&mut self, name: &str, message: Arc<Message>, attempts: u32) {
        let id = match self.names.get(name) {
            Some(id) => *id,
            None => {
                self.last_key = self.last_key.wrapping_add(1);
                let id = self.last_key;
                self.names.insert(name.into(), id);
                self.keys.insert(
                    id,
                    Key {
                        name: name.into(),
                        entries: VecDeque::new(),
                        first: 0,
                        next: 0,
                        out: 0,
                        holder: None,
                        resting_until: None,
                        queued: None,
                    },
                );
                id
            }
        };
        let Some(key) = self.keys.get_mut(&id) else {
            return;
        };
        key.entries.push_back(Entry {
            message,
            attempts,
            state: State::Ready,
        });
        self.waiting += 1;
        if key.queued.is_some() {
            self.ready += 1;
        } else {
            self.enqueue(id);
        }
    }

    fn ready_entries(key: &Key) -> usize {
        (key.end() - key.next) as usize
    }

    /// Puts a key where its next taker will find it.
    fn enqueue(&mut self, id: u32) {
        let Some(key) = self.keys.get_mut(&id) else {
            return;
        };
        if key.queued.is_some() || key.resting_until.is_some() || key.next == key.end() {
            return;
        }
        let queue = match key.holder.filter(|_| key.out > 0) {
            Some(Taker::Pull) => return,
            Some(Taker::Stream(stream)) => Queue::Of(stream),
            None => {
                // The same stream again and again for a key, without remembering any key.
                let score = |stream: &StreamId| {
                    let mut hasher = self.hasher.build_hasher();
                    hasher.write(key.name.as_bytes());
                    hasher.write_u32(stream.0);
                    hasher.finish()
                };
                let best = self.preferred.keys().copied().max_by_key(score);
                best.map_or(Queue::Shared, Queue::Of)
            }
        };
        match queue {
            Queue::Shared => self.shared.push_back(id),
            Queue::Of(stream) => match self.preferred.get_mut(&stream) {
                Some(queue) => queue.push_back(id),
                // The stream is closed: its leases must end first.
                None => return,
            },
        }
        key.queued = Some(queue);
        self.ready += Self::ready_entries(key);
    }

    fn unmark(&mut self, id: u32) {
        if let Some(key) = self.keys.get_mut(&id)
            && key.queued.take().is_some()
        {
            self.ready -= Self::ready_entries(key);
        }
    }

    /// The next key for `taker`. `yields_to` says of a stream that it waits for its keys itself.
    fn next_key(&mut self, taker: Taker, yields_to: impl Fn(StreamId) -> bool) -> Option<u32> {
        let keys = &self.keys;
        let is_in = |id: &u32, queue| keys.get(id).is_some_and(|key| key.queued == Some(queue));
        if let Taker::Stream(stream) = taker
            && let Some(queue) = self.preferred.get_mut(&stream)
        {
            while let Some(id) = queue.pop_front() {
                if is_in(&id, Queue::Of(stream)) {
                    return Some(id);
                }
            }
        }
        while let Some(id) = self.shared.pop_front() {
            if is_in(&id, Queue::Shared) {
                return Some(id);
            }
        }
        for (stream, queue) in &mut self.preferred {
            if Taker::Stream(*stream) == taker || yields_to(*stream) {
                continue;
            }
            let free = |id: &u32| keys.get(id).is_some_and(|key| key.out == 0);
            let takeable = |id: &u32| is_in(id, Queue::Of(*stream)) && free(id);
            if let Some(at) = queue.iter().position(takeable) {
                return queue.remove(at);
            }
        }
        None
    }

    /// Takes up to `limit` messages of one key, each as `lease` decides. False when there was no key.
    pub fn take(
        &mut self,
        taker: Taker,
        limit: usize,
        yields_to: impl Fn(StreamId) -> bool,
        mut lease: impl FnMut(Taken) -> Verdict,
    ) -> bool {
        let Some(id) = self.next_key(taker, yields_to) else {
            return false;
        };
        self.unmark(id);
        let Some(key) = self.keys.get_mut(&id) else {
            return true;
        };
        let mut taken = 0;
        while taken < limit && key.next < key.end() {
            let position = key.next;
            let entry = &mut key.entries[(position - key.first) as usize];
            // Of an exactly-once subscription an acked message is not replayed.
            if entry.state != State::Acked {
                let attempts = entry.attempts + 1;
                match lease(Taken {
                    key: id,
                    position,
                    message: entry.message.clone(),
                    attempts,
                }) {
                    Verdict::Stop => break,
                    Verdict::Drop => entry.state = State::Acked,
                    Verdict::Lease(lease) => {
                        entry.attempts = attempts;
                        entry.state = State::Leased(lease);
                        key.out += 1;
                        taken += 1;
                    }
                }
                self.waiting -= 1;
            }
            key.next += 1;
        }
        if taken > 0 {
            key.holder = Some(taker);
        }
        self.trim(id);
        self.enqueue(id);
        true
    }

    /// Gives a leased entry a new lease id.
    pub fn rename(&mut self, key: u32, position: u64, lease: LeaseId) {
        if let Some(key) = self.keys.get_mut(&key)
            && let Some(entry) = position
                .checked_sub(key.first)
                .and_then(|i| key.entries.get_mut(i as usize))
        {
            entry.state = State::Leased(lease);
        }
    }

    /// A leased entry is done: acked or forwarded.
    pub fn done(&mut self, id: u32, position: u64) {
        let Some(key) = self.keys.get_mut(&id) else {
            return;
        };
        let Some(entry) = position
            .checked_sub(key.first)
            .and_then(|i| key.entries.get_mut(i as usize))
        else {
            return;
        };
        entry.state = State::Acked;
        key.out -= 1;
        let freed = key.out == 0;
        self.trim(id);
        if freed {
            self.enqueue(id);
        }
    }

    /// Drops what is done at the front of a key, and the key when nothing is left.
    fn trim(&mut self, id: u32) {
        let Some(key) = self.keys.get_mut(&id) else {
            return;
        };
        while key.first < key.next && key.entries.front().is_some_and(|e| e.state == State::Acked) {
            key.entries.pop_front();
            key.first += 1;
        }
        if key.entries.is_empty() {
            let name = std::mem::take(&mut key.name);
            self.keys.remove(&id);
            self.names.remove(&name);
        }
    }

    /// Takes back the entry at `position` and all that were delivered after it. Returns the leases
    /// that end with it. With `keep_acked` what is acked stays so.
    pub fn replay(
        &mut self,
        id: u32,
        position: u64,
        until: Option<Time>,
        keep_acked: bool,
    ) -> Vec<LeaseId> {
        self.unmark(id);
        let Some(key) = self.keys.get_mut(&id) else {
            return Vec::new();
        };
        let mut ended = Vec::new();
        if position >= key.first && position < key.next {
            let from = (position - key.first) as usize;
            let delivered = (key.next - position) as usize;
            for (i, entry) in key
                .entries
                .iter_mut()
                .skip(from)
                .take(delivered)
                .enumerate()
            {
                match entry.state {
                    State::Leased(lease) => {
                        // The caller has released the first one already.
                        if i > 0 {
                            ended.push(lease);
                        }
                        key.out -= 1;
                    }
                    State::Acked if keep_acked => continue,
                    _ => {}
                }
                entry.state = State::Ready;
                self.waiting += 1;
            }
            key.next = position;
        }
        if let Some(until) = until {
            key.resting_until = Some(key.resting_until.map_or(until, |t| t.max(until)));
            self.resting.push(Reverse((until, id)));
        }
        self.enqueue(id);
        ended
    }

    /// Ends the rests that are over; true when a key became ready.
    pub fn wake(&mut self, now: Time) -> bool {
        let mut woke = false;
        while let Some(Reverse((at, id))) = self.resting.peek().copied() {
            if at > now {
                break;
            }
            self.resting.pop();
            if let Some(key) = self.keys.get_mut(&id)
                && key.resting_until.is_some_and(|t| t <= now)
            {
                key.resting_until = None;
                self.enqueue(id);
                woke = true;
            }
        }
        woke
    }

    pub fn next_wake(&self) -> Option<Time> {
        self.resting.peek().map(|Reverse((at, _))| *at)
    }

    /// Drops messages that wait and for which `keep` is false, from the front of each key on.
    pub fn retain(&mut self, keep: impl Fn(&Message) -> bool) {
        let ids: Vec<_> = self.keys.keys().copied().collect();
        for id in ids {
            let Some(key) = self.keys.get_mut(&id) else {
                continue;
            };
            let before = key.next;
            while key.next < key.end() {
                let entry = &mut key.entries[(key.next - key.first) as usize];
                if keep(&entry.message) {
                    break;
                }
                self.waiting -= usize::from(entry.state != State::Acked);
                entry.state = State::Acked;
                key.next += 1;
            }
            let passed = (key.next - before) as usize;
            if key.queued.is_some() {
                self.ready -= passed;
            }
            if key.next == key.end() {
                key.queued = None;
            }
            self.trim(id);
        }
    }

    /// Every message that is not acked or could still be replayed.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.keys.values().flat_map(|key| &key.entries)
    }

    /// Forgets everything but the open streams.
    pub fn clear(&mut self) {
        let streams: Vec<_> = self.preferred.keys().copied().collect();
        let last_key = self.last_key;
        *self = Ordered {
            last_key,
            ..Ordered::default()
        };
        for stream in streams {
            self.open_stream(stream);
        }
    }
}
