//! The ledger of one split: who holds which message, under which ack id, until when.
//!
//! A message is *registered* when its response is scanned and gets the next sequence number of its split. It is
//! *fetched* when Java has it, *emitted* when the job has it, *sealed* when a checkpoint covers it, *decided* when its
//! ack was handed out, and *settled* when nothing is left to do: the ack was answered, the message was given back, or
//! its lease ran out. All of these but the last are positions in one sequence, so a checkpoint is one number and a
//! completed checkpoint acks whole batches without looking at single messages.
//!
//! No clock, no socket, no lock: times come as milliseconds from the caller, requests go out as [`IdSet`]s.

mod batch;

use self::batch::{Batch, Meta};
use crate::held::{HeldTable, held_hash};
use crate::ids::{self, IdSet, Splitter};
use crate::lease::{HoldTimes, MIN_LEASE, Millis};
use crate::order::{KeyOrder, Keyed};
use crate::unconfirmed::Lease;
use bytes::Bytes;
use hashbrown::DefaultHashBuilder;
use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasher;
use std::ops::Range;
use thiserror::Error;

/// The caller broke the order of events; nothing was changed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LedgerError {
    /// Progress was reported beyond what was fetched.
    #[error("{emitted} messages are said to be emitted, but only {fetched} were fetched")]
    NotFetched {
        /// What was reported.
        emitted: u64,
        /// What is possible.
        fetched: u64,
    },
    /// Progress went backwards.
    #[error("{emitted} messages are said to be emitted, but it were {before} before")]
    Backwards {
        /// What was reported.
        emitted: u64,
        /// What had been reported before.
        before: u64,
    },
}

/// What [`Ledger::expire`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Number of messages.
    pub messages: u64,
    /// The first of them that was not fetched, of an ordered ledger.
    pub first_unfetched: Option<u64>,
}

/// What the split holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of messages.
    pub messages: u64,
    /// Their encoded size in bytes.
    pub bytes: u64,
}

/// Sums over the ledger's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerCounts {
    /// Deliveries of messages that were held already.
    pub redeliveries: u64,
    /// Messages whose lease ran out at the ceiling.
    pub expired: u64,
}

#[derive(Debug)]
struct Seal {
    checkpoint: i64,
    emitted: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Ledger {
    subscription: Box<str>,
    batches: VecDeque<Batch>,
    /// Sequence numbers are kept modulo 2^32: fewer messages than that are held at once.
    held: HeldTable,
    hasher: DefaultHashBuilder,
    next: u64,
    fetched: u64,
    emitted: u64,
    decided: u64,
    seals: VecDeque<Seal>,
    /// Newest ids of messages that came again while their ack was under way.
    late: Vec<Box<[u8]>>,
    outstanding: Totals,
    counts: LedgerCounts,
    holds: HoldTimes,
    /// Present where order per key is wanted.
    order: Option<KeyOrder>,
}

impl Ledger {
    /// An empty ledger that keeps the order of keys.
    pub fn ordered(subscription: &str) -> Self {
        Ledger {
            order: Some(KeyOrder::default()),
            ..Ledger::new(subscription)
        }
    }

    /// An empty ledger; `subscription` is the name that requests will carry.
    pub fn new(subscription: &str) -> Self {
        Ledger {
            subscription: subscription.into(),
            batches: VecDeque::new(),
            held: HeldTable::new(),
            hasher: DefaultHashBuilder::default(),
            next: 0,
            fetched: 0,
            emitted: 0,
            decided: 0,
            seals: VecDeque::new(),
            late: Vec::new(),
            outstanding: Totals::default(),
            counts: LedgerCounts::default(),
            holds: HoldTimes::default(),
            order: None,
        }
    }

    /// Messages that are leased and not settled.
    pub fn outstanding(&self) -> Totals {
        self.outstanding
    }

    /// Sums over the ledger's life.
    pub fn counts(&self) -> LedgerCounts {
        self.counts
    }

    /// How long messages were held until their ack was decided.
    pub fn holds(&self) -> &HoldTimes {
        &self.holds
    }

    /// Checkpoints that are sealed and neither completed nor subsumed.
    pub fn pending_checkpoints(&self) -> usize {
        self.seals.len()
    }

    /// The sequence number that the next registered message gets.
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// Starts the registration of one response of about `messages` messages, received and leased as told.
    pub fn register(
        &mut self,
        messages: usize,
        received: Millis,
        lease: Millis,
    ) -> Registration<'_> {
        let batch = Batch {
            first: self.next,
            message_ids: Vec::with_capacity(messages * 20),
            metas: Vec::with_capacity(messages),
            received,
            lease,
            ..Batch::default()
        };
        Registration {
            ledger: self,
            batch,
            ack_ids: Vec::with_capacity(messages * 200),
            keyed: Vec::new(),
            to_emit: true,
        }
    }

    /// Whether the message is not to be emitted: held already, given back, or no longer leased.
    pub fn is_dead(&self, sequence: u64) -> bool {
        self.batch_of(sequence).is_none_or(|at| {
            let batch = &self.batches[at];
            let index = batch.index(sequence);
            batch.is_dead(index) && !batch.is_replayed(index)
        })
    }

    /// All messages below `sequence` are with Java now.
    pub fn fetched(&mut self, sequence: u64) {
        debug_assert!(sequence <= self.next);
        self.fetched = self.fetched.max(sequence.min(self.next));
        self.drop_settled();
    }

    /// Seals everything below `emitted` under `checkpoint`.
    pub fn seal(&mut self, checkpoint: i64, emitted: u64) -> Result<(), LedgerError> {
        if emitted > self.fetched {
            return Err(LedgerError::NotFetched {
                emitted,
                fetched: self.fetched,
            });
        }
        if emitted < self.emitted {
            return Err(LedgerError::Backwards {
                emitted,
                before: self.emitted,
            });
        }
        self.emitted = emitted;
        self.seals.push_back(Seal {
            checkpoint,
            emitted,
        });
        Ok(())
    }

    /// Decides the acks of everything that is sealed at or below `checkpoint`, and tells them.
    pub fn complete(&mut self, checkpoint: i64, now: Millis) -> Vec<IdSet> {
        let mut to = self.decided;
        self.seals.retain(|seal| {
            let covered = seal.checkpoint <= checkpoint;
            if covered {
                to = to.max(seal.emitted);
            }
            !covered
        });
        let from = std::mem::replace(&mut self.decided, to);
        let mut splitter = Splitter::new(&self.subscription);
        let start = self.batches.partition_point(|batch| batch.end() <= from);
        for batch in self.batches.range(start..) {
            if batch.first >= to {
                break;
            }
            let range = batch.index(from.max(batch.first))..batch.index(to.min(batch.end()));
            self.holds
                .record(now.saturating_sub(batch.received), range.len() as u64);
            batch.collect(range, &mut splitter);
        }
        self.take_late(&mut splitter);
        splitter.finish()
    }

    /// Acks of messages that came again while their first ack was under way; settling them settles nothing.
    pub fn late_acks(&mut self) -> Vec<IdSet> {
        if self.late.is_empty() {
            return Vec::new();
        }
        let mut splitter = Splitter::new(&self.subscription);
        self.take_late(&mut splitter);
        splitter.finish()
    }

    fn take_late(&mut self, splitter: &mut Splitter) {
        for id in self.late.drain(..) {
            splitter.late(&id);
        }
    }

    /// The lease of the messages of `set`, of those that are held; `None` when none is.
    pub fn lease_of(&self, set: &IdSet) -> Option<Lease> {
        let sequences = set.runs.iter().map(|run| &run.sequences);
        sequences
            .filter(|sequences| !sequences.is_empty())
            .filter_map(|sequences| self.batch_of(sequences.start))
            .map(|at| Lease {
                received: self.batches[at].received,
                until: self.batches[at].lease,
            })
            .reduce(|one, other| Lease {
                received: one.received.min(other.received),
                until: one.until.min(other.until),
            })
    }

    /// The acks of `set` were answered: nothing is left to do for its messages.
    pub fn settle(&mut self, set: &IdSet) {
        for run in &set.runs {
            self.settle_run(run.sequences.clone());
        }
        self.drop_settled();
    }

    /// Settles decided neighbours of one batch; nobody asks for them any more.
    fn settle_run(&mut self, sequences: Range<u64>) {
        let Some(at) = self
            .batch_of(sequences.start)
            .filter(|_| !sequences.is_empty())
        else {
            return;
        };
        debug_assert!(sequences.end <= self.decided);
        let batch = &mut self.batches[at];
        let range = batch.index(sequences.start)..batch.index(sequences.end).min(batch.metas.len());
        let metas = &batch.metas[range.clone()];
        self.held.touch(metas.iter().map(|meta| meta.hash));
        for (meta, sequence) in metas.iter().zip(sequences) {
            self.held.remove(meta.hash, sequence as u32);
            self.outstanding.bytes -= u64::from(meta.size);
        }
        self.outstanding.messages -= range.len() as u64;
        batch.settled += range.len();
    }

    /// The ids of everything from `from` on that is held and not decided.
    pub fn ids_from(&self, from: u64) -> Vec<IdSet> {
        let from = from.max(self.decided);
        let mut splitter = Splitter::new(&self.subscription);
        let start = self.batches.partition_point(|batch| batch.end() <= from);
        for batch in self.batches.range(start..) {
            batch.collect(
                batch.index(from.max(batch.first))..batch.metas.len(),
                &mut splitter,
            );
        }
        splitter.finish()
    }

    /// The leases of `set` turned out not to be ours: its messages are not emitted, nor given back.
    pub fn disown(&mut self, set: &IdSet) {
        for sequence in set.runs.iter().flat_map(|run| run.sequences.clone()) {
            self.leave(sequence);
        }
    }

    /// Forgets one message that is held and not decided; its lease runs out.
    pub fn leave(&mut self, sequence: u64) {
        if sequence >= self.decided
            && let Some(at) = self.batch_of(sequence)
        {
            let index = self.batches[at].index(sequence);
            if !self.batches[at].is_dead(index) {
                self.kill(at, index);
            }
        }
        self.drop_settled();
    }

    /// Gives back one message; `None` when it is no longer held.
    pub fn nack(&mut self, sequence: u64) -> Option<IdSet> {
        if sequence < self.decided {
            return None;
        }
        let at = self.batch_of(sequence)?;
        let batch = &self.batches[at];
        let index = batch.index(sequence);
        if batch.is_dead(index) {
            return None;
        }
        let mut splitter = Splitter::new(&self.subscription);
        batch.collect(index..index + 1, &mut splitter);
        self.kill(at, index);
        self.drop_settled();
        splitter.finish().pop()
    }

    /// Gives back everything from `from` on that is held and not decided.
    pub fn nack_from(&mut self, from: u64) -> Vec<IdSet> {
        let from = from.max(self.decided);
        let mut splitter = Splitter::new(&self.subscription);
        let start = self.batches.partition_point(|batch| batch.end() <= from);
        for at in start..self.batches.len() {
            let batch = &self.batches[at];
            let range = batch.index(from.max(batch.first))..batch.metas.len();
            batch.collect(range.clone(), &mut splitter);
            for index in range {
                if !self.batches[at].is_dead(index) {
                    self.kill(at, index);
                }
            }
        }
        self.drop_settled();
        splitter.finish()
    }

    /// Gives back everything that Java does not have yet.
    pub fn nack_unfetched(&mut self) -> Vec<IdSet> {
        self.nack_from(self.fetched)
    }

    /// Gives back everything whose ack is not decided.
    pub fn nack_all(&mut self) -> Vec<IdSet> {
        self.nack_from(0)
    }

    /// Extensions, with their length in seconds, of the leases that end before `now + margin`.
    ///
    /// A lease becomes `lease` long, but never ends later than `ceiling` after the arrival of the message; what cannot
    /// get [`MIN_LEASE`] more runs out, see [`Ledger::expire`].
    pub fn extend(
        &mut self,
        now: Millis,
        margin: Millis,
        lease: Millis,
        ceiling: Millis,
    ) -> Vec<(u32, IdSet)> {
        let mut by_length: BTreeMap<u32, Splitter> = BTreeMap::new();
        let start = self
            .batches
            .partition_point(|batch| batch.end() <= self.decided);
        for batch in self.batches.range_mut(start..) {
            if batch.lease >= now + margin || batch.settled == batch.metas.len() {
                continue;
            }
            let left = batch.received.saturating_add(ceiling).saturating_sub(now);
            let seconds = lease.min(left) / 1_000;
            let until = now + seconds * 1_000;
            if seconds * 1_000 < MIN_LEASE || until <= batch.lease {
                continue;
            }
            let from = batch.index(self.decided.max(batch.first));
            let splitter = by_length
                .entry(seconds as u32)
                .or_insert_with(|| Splitter::new(&self.subscription));
            batch.collect(from..batch.metas.len(), splitter);
            batch.lease = until;
        }
        by_length
            .into_iter()
            .flat_map(|(seconds, splitter)| {
                splitter.finish().into_iter().map(move |set| (seconds, set))
            })
            .collect()
    }

    /// Frees what is no longer leased at `now`.
    ///
    /// What an ordered ledger has and Java does not is only told. The caller has to give it back together with all that
    /// follows, see [`Ledger::nack_from`]: it may have come again, and be leased anew under an id that would otherwise stay
    /// with us while what follows it comes first.
    pub fn expire(&mut self, now: Millis) -> Expired {
        let mut expired = Expired::default();
        let start = self
            .batches
            .partition_point(|batch| batch.end() <= self.decided);
        for at in start..self.batches.len() {
            if self.batches[at].lease > now {
                continue;
            }
            let from = self.batches[at].index(self.decided.max(self.batches[at].first));
            for index in from..self.batches[at].metas.len() {
                if self.batches[at].is_dead(index) {
                    continue;
                }
                expired.messages += 1;
                let sequence = self.batches[at].first + index as u64;
                if self.order.is_some() && sequence >= self.fetched {
                    expired.first_unfetched.get_or_insert(sequence);
                } else {
                    self.kill(at, index);
                }
            }
        }
        self.counts.expired += expired.messages;
        self.drop_settled();
        expired
    }

    /// The oldest sequence number that can still be held.
    fn base(&self) -> u64 {
        self.batches.front().map_or(self.next, |batch| batch.first)
    }

    fn batch_of(&self, sequence: u64) -> Option<usize> {
        let at = self
            .batches
            .partition_point(|batch| batch.end() <= sequence);
        self.batches
            .get(at)
            .is_some_and(|batch| batch.first <= sequence)
            .then_some(at)
    }

    /// Settles a message on its own and remembers it as dead.
    fn kill(&mut self, at: usize, index: usize) {
        let sequence = self.batches[at].first + index as u64;
        let batch = &mut self.batches[at];
        batch.set_dead(index);
        let meta = &batch.metas[index];
        self.held.remove(meta.hash, sequence as u32);
        self.outstanding.messages -= 1;
        self.outstanding.bytes -= u64::from(meta.size);
    }

    /// The message id behind a sequence number that may be one of `newest`, the batch in registration.
    fn message_id<'a>(&'a self, newest: &'a Batch, sequence: u64) -> Option<&'a [u8]> {
        let batch = match self.batch_of(sequence) {
            Some(at) => &self.batches[at],
            None => newest,
        };
        (batch.first..batch.end())
            .contains(&sequence)
            .then(|| batch.message_id(batch.index(sequence)))
    }

    /// The message at `index` of `newest`, the batch in registration, is held already: its newest id is the one that
    /// counts.
    #[cold]
    fn again(&mut self, newest: &mut Batch, sequence: u64, index: usize) {
        self.counts.redeliveries += 1;
        let ack_id: Box<[u8]> = newest.ack_id(index).into();
        newest.set_dead(index);
        if sequence < self.decided {
            self.late.push(ack_id);
            return;
        }
        let batch = match self.batch_of(sequence) {
            Some(at) => &mut self.batches[at],
            None => newest,
        };
        batch.set_newest(batch.index(sequence), ack_id);
    }

    /// What is held as `sequence` came again and is emitted again: from now on the redelivery is held in its place.
    #[cold]
    fn replay(&mut self, newest: &mut Batch, sequence: u64) {
        self.counts.redeliveries += 1;
        let at = self.batch_of(sequence);
        let batch = match at {
            Some(at) => &mut self.batches[at],
            None => newest,
        };
        let index = batch.index(sequence);
        let meta = &batch.metas[index];
        self.held.remove(meta.hash, sequence as u32);
        // An ack that is under way settles the rest.
        if sequence >= self.decided {
            self.outstanding.messages -= 1;
            self.outstanding.bytes -= u64::from(meta.size);
            batch.set_replayed(index);
        }
    }

    fn drop_settled(&mut self) {
        while let Some(batch) = self.batches.front() {
            if batch.settled < batch.metas.len() || batch.end() > self.fetched {
                break;
            }
            self.batches.pop_front();
        }
    }
}

/// The whole sequence number behind its lower half.
fn full(sequence: u32, base: u64) -> u64 {
    base + u64::from(sequence.wrapping_sub(base as u32))
}

/// The registration of one response. It ends when it is finished or dropped.
#[derive(Debug)]
pub struct Registration<'a> {
    ledger: &'a mut Ledger,
    batch: Batch,
    ack_ids: Vec<u8>,
    /// For an ordered ledger, what is known of each message.
    keyed: Vec<Option<Keyed>>,
    to_emit: bool,
}

impl Registration<'_> {
    /// Adds the next message of the response.
    #[inline]
    pub fn push(&mut self, ack_id: &[u8], message_id: &[u8], size: u32) {
        ids::encode_id(&mut self.ack_ids, ack_id);
        self.batch.message_ids.extend_from_slice(message_id);
        self.batch.metas.push(Meta {
            ack_end: self.ack_ids.len() as u32,
            id_end: self.batch.message_ids.len() as u32,
            size,
            hash: held_hash(self.ledger.hasher.hash_one(message_id)),
        });
    }

    /// Adds the next message with what tells its place in its key: ordering key, and publish time in seconds and
    /// nanoseconds. Without order per key the same as [`Registration::push`].
    #[inline]
    pub fn push_keyed(
        &mut self,
        ack_id: &[u8],
        message_id: &[u8],
        size: u32,
        ordering_key: &[u8],
        published: (i64, i32),
    ) {
        self.push(ack_id, message_id, size);
        if let Some(order) = &self.ledger.order {
            self.keyed
                .push(order.keyed(ordering_key, published, message_id));
        }
    }

    /// The messages are registered to be given back at once, and not to be emitted.
    pub fn not_to_emit(&mut self) {
        self.to_emit = false;
    }

    /// The sequence number of the first message.
    pub fn first(&self) -> u64 {
        self.batch.first
    }

    /// Tells, by index, the messages that this split holds already. They are not to be emitted again; the ack id of this
    /// delivery is the one that counts now.
    pub fn finish(mut self) -> Vec<u32> {
        self.end()
    }

    fn end(&mut self) -> Vec<u32> {
        let mut redelivered = Vec::new();
        let mut batch = std::mem::take(&mut self.batch);
        if batch.metas.is_empty() {
            return redelivered;
        }
        batch.ack_ids = Bytes::from(std::mem::take(&mut self.ack_ids));
        let ledger = &mut *self.ledger;
        let base = ledger.base();
        ledger.held.reserve(batch.metas.len());
        ledger.held.touch(batch.metas.iter().map(|meta| meta.hash));
        for index in 0..batch.metas.len() {
            let sequence = batch.first + index as u64;
            let keyed = self.keyed.get(index).copied().flatten();
            let (hash, size) = (batch.metas[index].hash, batch.metas[index].size);
            // A message without an id cannot be told from another: it is always fresh.
            if batch.has_message_id(index) {
                let holder = ledger.held.find(hash, |sequence| {
                    let held = ledger.message_id(&batch, full(sequence, base));
                    held == Some(batch.message_id(index))
                });
                if let Some(holder) = holder {
                    let holder = full(holder, base);
                    let replays = |(order, keyed): (&KeyOrder, Keyed)| order.replays(keyed, holder);
                    if ledger.order.as_ref().zip(keyed).is_some_and(replays) {
                        ledger.replay(&mut batch, holder);
                    } else {
                        ledger.again(&mut batch, holder, index);
                        redelivered.push(index as u32);
                        continue;
                    }
                }
                ledger.held.insert(hash, sequence as u32);
            }
            if self.to_emit
                && let Some((order, keyed)) = ledger.order.as_mut().zip(keyed)
            {
                order.emitted(keyed, sequence, base);
            }
            ledger.outstanding.messages += 1;
            ledger.outstanding.bytes += u64::from(size);
        }
        ledger.next = batch.end();
        ledger.batches.push_back(batch);
        redelivered
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        self.end();
    }
}
