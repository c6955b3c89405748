//! Which redeliveries are emitted again so that each key keeps its order.
//!
//! A redelivery of a message that is held need not be emitted. But the service replays a key from the message on whose
//! lease ran out or that was given back, and may do so whenever an ack was lost. Where such a replay begins with a message
//! that is no longer held, that one is emitted again; if what follows it in the key were then passed over as held, the last
//! to be emitted of the key would be an old message. So from an old message on, the whole replay is emitted.
//!
//! Old is what does not come after the last emitted message of its key, by publish time and then by message id. Where the
//! two do not tell, a message counts as old, which costs duplicates and no order.

use hashbrown::{DefaultHashBuilder, HashMap};
use std::hash::BuildHasher;

/// Fewer keys than this are not worth looking through.
const FEW: usize = 1_024;

/// A place in the order of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    published: (i64, i32),
    /// The message id, where it is a number, as all of the service's are.
    id: Option<u64>,
}

impl Place {
    fn is_after(self, other: Place) -> bool {
        let by_id = || self.id.is_some() && other.id.is_some() && self.id > other.id;
        self.published > other.published || self.published == other.published && by_id()
    }
}

/// A message of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed {
    key: u64,
    place: Place,
}

#[derive(Debug)]
struct Key {
    last: Place,
    last_sequence: u64,
    /// Messages before this sequence number are emitted again when they come again.
    replayed_before: u64,
}

/// The keys of which messages are held, and some more.
#[derive(Debug, Default)]
pub(crate) struct KeyOrder {
    hasher: DefaultHashBuilder,
    keys: HashMap<u64, Key>,
    tidy_at: usize,
}

impl KeyOrder {
    /// A message as its delivery describes it; `None` where it has no key.
    pub(crate) fn keyed(
        &self,
        ordering_key: &[u8],
        published: (i64, i32),
        message_id: &[u8],
    ) -> Option<Keyed> {
        let id = std::str::from_utf8(message_id).ok();
        let id = id.and_then(|id| id.parse().ok());
        (!ordering_key.is_empty()).then(|| Keyed {
            key: self.hasher.hash_one(ordering_key),
            place: Place { published, id },
        })
    }

    /// Whether a redelivery of what is held as `sequence` is to be emitted.
    pub(crate) fn replays(&self, keyed: Keyed, sequence: u64) -> bool {
        let key = self.keys.get(&keyed.key);
        key.is_some_and(|key| sequence < key.replayed_before)
    }

    /// A message goes to be emitted as `sequence`; before `base` none is held.
    pub(crate) fn emitted(&mut self, keyed: Keyed, sequence: u64, base: u64) {
        let key = self.keys.entry(keyed.key).or_insert(Key {
            last: keyed.place,
            last_sequence: sequence,
            replayed_before: 0,
        });
        if key.last_sequence != sequence && !keyed.place.is_after(key.last) {
            key.replayed_before = sequence;
        }
        key.last = keyed.place;
        key.last_sequence = sequence;
        if self.keys.len() > self.tidy_at.max(FEW) {
            self.keys.retain(|_, key| key.last_sequence >= base);
            self.tidy_at = 2 * self.keys.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_time_and_id() {
        let place = |published, id| Place { published, id };
        let first = place((5, 0), Some(9));
        assert!(place((5, 1), Some(1)).is_after(first));
        assert!(place((5, 0), Some(10)).is_after(first));
        assert!(!first.is_after(first));
        assert!(!place((4, 9), Some(10)).is_after(first));
        // Ids that are not numbers tell nothing.
        assert!(!place((5, 0), None).is_after(first));
        assert!(!first.is_after(place((5, 0), None)));
    }

    #[test]
    fn keys_of_which_nothing_is_held_are_forgotten() {
        let mut order = KeyOrder::default();
        for number in 0..100_000u64 {
            let key = number.to_be_bytes();
            let keyed = order.keyed(&key, (0, 0), b"1").unwrap();
            order.emitted(keyed, number, number.saturating_sub(10));
        }
        assert!(order.keys.len() <= FEW + 1, "{}", order.keys.len());
        assert!(order.keyed(b"", (0, 0), b"1").is_none());
    }
}
