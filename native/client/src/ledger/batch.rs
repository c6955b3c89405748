//! The messages of one response, as the ledger keeps them.

use std::ops::Range;

use bytes::Bytes;
use hashbrown::{HashMap, HashSet};

use crate::ids::{self, Splitter};
use crate::lease::Millis;

#[derive(Debug)]
pub(super) struct Meta {
    pub ack_end: u32,
    pub id_end: u32,
    pub size: u32,
    pub hash: u32,
}

/// What only few batches need.
#[derive(Debug, Default)]
pub(super) struct Odd {
    /// Messages that were settled one by one, by index.
    dead: Vec<u64>,
    /// Newer ack ids than those of the batch, by index.
    newest: HashMap<u32, Box<[u8]>>,
    /// Of `dead`, those that are emitted all the same, by index: a redelivery is held in their place.
    replayed: HashSet<u32>,
}

/// The messages of one response.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub first: u64,
    pub ack_ids: Bytes,
    pub message_ids: Vec<u8>,
    pub metas: Vec<Meta>,
    pub settled: usize,
    pub odd: Option<Box<Odd>>,
    pub received: Millis,
    pub lease: Millis,
}

impl Batch {
    pub fn end(&self) -> u64 {
        self.first + self.metas.len() as u64
    }

    pub fn index(&self, sequence: u64) -> usize {
        (sequence - self.first) as usize
    }

    pub fn message_id(&self, index: usize) -> &[u8] {
        let start = if index == 0 {
            0
        } else {
            self.metas[index - 1].id_end
        };
        &self.message_ids[start as usize..self.metas[index].id_end as usize]
    }

    pub fn has_message_id(&self, index: usize) -> bool {
        !self.message_id(index).is_empty()
    }

    pub fn ack_id(&self, index: usize) -> &[u8] {
        let start = if index == 0 {
            0
        } else {
            self.metas[index - 1].ack_end
        };
        ids::decode_id(&self.ack_ids[start as usize..self.metas[index].ack_end as usize])
    }

    pub fn is_dead(&self, index: usize) -> bool {
        self.odd.as_ref().is_some_and(|odd| {
            odd.dead
                .get(index / 64)
                .is_some_and(|word| word >> (index % 64) & 1 == 1)
        })
    }

    pub fn is_replayed(&self, index: usize) -> bool {
        let odd = self.odd.as_ref();
        odd.is_some_and(|odd| odd.replayed.contains(&(index as u32)))
    }

    pub fn set_dead(&mut self, index: usize) {
        let words = self.metas.len().div_ceil(64).max(index / 64 + 1);
        let odd = self.odd.get_or_insert_default();
        if odd.dead.len() < words {
            odd.dead.resize(words, 0);
        }
        odd.dead[index / 64] |= 1 << (index % 64);
        odd.newest.remove(&(index as u32));
        self.settled += 1;
    }

    /// The message at `index` is held under a newer ack id.
    pub fn set_newest(&mut self, index: usize, ack_id: Box<[u8]>) {
        let odd = self.odd.get_or_insert_default();
        odd.newest.insert(index as u32, ack_id);
    }

    /// The message at `index` is settled, and emitted all the same.
    pub fn set_replayed(&mut self, index: usize) {
        self.set_dead(index);
        let odd = self.odd.get_or_insert_default();
        odd.replayed.insert(index as u32);
    }

    /// Hands the live ids of `range` to the splitter.
    pub fn collect(&self, range: Range<usize>, splitter: &mut Splitter) {
        let end = |i: usize| self.metas[i].ack_end as usize;
        let Some(odd) = &self.odd else {
            splitter.run(
                &self.ack_ids,
                range.clone(),
                self.first + range.start as u64,
                end,
            );
            return;
        };
        let mut from = range.start;
        for i in range.clone() {
            let newest = odd.newest.get(&(i as u32));
            if newest.is_some() || self.is_dead(i) {
                splitter.run(&self.ack_ids, from..i, self.first + from as u64, end);
                from = i + 1;
            }
            if let Some(id) = newest {
                splitter.one(id, self.first + i as u64);
            }
        }
        splitter.run(
            &self.ack_ids,
            from..range.end,
            self.first + from as u64,
            end,
        );
    }
}
