//! Which message ids are held: a hash table made for many insertions and removals at once.
//!
//! A split holds up to millions of messages, so almost every look into the table misses the processor's caches. Entries
//! are therefore eight bytes in one flat array, one miss each, and callers that have many ids [`touch`](HeldTable::touch)
//! all their places first: those misses overlap, where one after the other would cost most of reading.

use std::hint::black_box;

/// An entry: the hash in the upper half, which is never 0, and the lower half of the sequence number.
type Slot = u64;

const EMPTY: Slot = 0;

/// See the module. Ids themselves are with the caller, which compares them.
#[derive(Debug)]
pub(crate) struct HeldTable {
    /// A power of two of slots, at most half of them in use.
    slots: Vec<Slot>,
    used: usize,
}

/// The hash of a message id as the table takes it.
pub(crate) fn held_hash(hash: u64) -> u32 {
    (hash as u32).max(1)
}

impl HeldTable {
    pub(crate) fn new() -> Self {
        Self {
            slots: vec![EMPTY; 1_024],
            used: 0,
        }
    }

    /// Brings the places of these hashes closer.
    pub(crate) fn touch(&self, hashes: impl Iterator<Item = u32>) {
        let mask = self.mask();
        // A plain sum: the loads do not depend on each other, so the processor has many under way.
        let sum = hashes.fold(0u64, |sum, hash| {
            sum.wrapping_add(self.slots[hash as usize & mask])
        });
        black_box(sum);
    }

    /// Makes room for so many more entries.
    pub(crate) fn reserve(&mut self, more: usize) {
        let wanted = ((self.used + more) * 2).next_power_of_two();
        if wanted <= self.slots.len() {
            return;
        }
        let old = std::mem::replace(&mut self.slots, vec![EMPTY; wanted]);
        for slot in old.into_iter().filter(|&slot| slot != EMPTY) {
            self.put(slot);
        }
    }

    /// The sequence number, by its lower half, of the entry with this hash that `same` accepts.
    pub(crate) fn find(&self, hash: u32, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.mask();
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == EMPTY {
                return None;
            }
            if (slot >> 32) as u32 == hash && same(slot as u32) {
                return Some(slot as u32);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds an entry, for which there must be room.
    pub(crate) fn insert(&mut self, hash: u32, sequence: u32) {
        debug_assert!(self.used * 2 < self.slots.len());
        self.put(u64::from(hash) << 32 | u64::from(sequence));
        self.used += 1;
    }

    /// Removes an entry, if it is there.
    pub(crate) fn remove(&mut self, hash: u32, sequence: u32) {
        let mask = self.mask();
        let wanted = u64::from(hash) << 32 | u64::from(sequence);
        let mut at = hash as usize & mask;
        while self.slots[at] != wanted {
            if self.slots[at] == EMPTY {
                return;
            }
            at = (at + 1) & mask;
        }
        // What comes behind moves up, so that no search ends early at the gap.
        let mut next = (at + 1) & mask;
        while self.slots[next] != EMPTY {
            let home = (self.slots[next] >> 32) as usize & mask;
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(at) & mask) {
                self.slots[at] = self.slots[next];
                at = next;
            }
            next = (next + 1) & mask;
        }
        self.slots[at] = EMPTY;
        self.used -= 1;
    }

    fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    fn put(&mut self, slot: Slot) {
        let mask = self.mask();
        let mut at = (slot >> 32) as usize & mask;
        while self.slots[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_set(
            // Few hashes, at both ends of the table, so that runs of slots are long and wrap around.
            steps in prop::collection::vec((any::<bool>(), prop_oneof![1u32..5, 1_020u32..1_024], 0u32..40), 0..400)
        ) {
            let mut table = HeldTable::new();
            let mut set = BTreeSet::new();
            for (add, hash, sequence) in steps {
                if add && set.insert((hash, sequence)) {
                    table.reserve(1);
                    table.insert(hash, sequence);
                } else if !add {
                    set.remove(&(hash, sequence));
                    table.remove(hash, sequence);
                }
                prop_assert_eq!(table.used, set.len());
                for hash in (1..5).chain(1_020..1_024) {
                    for sequence in 0..40 {
                        let found = table.find(hash, |other| other == sequence);
                        prop_assert_eq!(found.is_some(), set.contains(&(hash, sequence)));
                    }
                }
            }
        }
    }

    #[test]
    fn grows_and_keeps_what_it_has() {
        let mut table = HeldTable::new();
        for i in 0..10_000u32 {
            table.reserve(1);
            table.insert(held_hash(u64::from(i) * 0x9e37), i);
        }
        assert!(table.slots.len() >= 20_000);
        for i in 0..10_000u32 {
            let hash = held_hash(u64::from(i) * 0x9e37);
            assert_eq!(table.find(hash, |other| other == i), Some(i));
        }
    }
}
