//! Messages that go into one request.

use bytes::{Bytes, BytesMut};

use super::block::message_len;

/// Encoded messages, in order. A part never ends within a message.
#[derive(Debug, Clone, Default)]
pub(super) struct Batch {
    parts: Vec<Bytes>,
    /// Copies of small slices, behind the parts.
    tail: BytesMut,
    count: usize,
    bytes: usize,
}

impl Batch {
    /// Adds `count` messages. `copy` puts them into memory of their own: many small slices are
    /// cheaper to send as one, and a small slice must not keep a large block alive.
    pub(super) fn push(&mut self, slice: Bytes, count: usize, copy: bool) {
        self.count += count;
        self.bytes += slice.len();
        if copy {
            self.tail.extend_from_slice(&slice);
        } else {
            self.seal();
            self.parts.push(slice);
        }
    }

    /// How many messages there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Their encoded length, without the topic.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The parts of a request, behind the topic.
    pub(super) fn parts(&mut self) -> &[Bytes] {
        self.seal();
        &self.parts
    }

    /// One batch per message.
    pub(super) fn split(mut self) -> Vec<Batch> {
        self.seal();
        let mut single = Vec::with_capacity(self.count);
        for mut part in self.parts {
            while let Some(len) = message_len(&part) {
                let mut batch = Batch::default();
                batch.push(part.split_to(len), 1, false);
                single.push(batch);
            }
        }
        single
    }

    /// All bytes in one piece.
    pub(super) fn into_bytes(mut self) -> Bytes {
        self.seal();
        if self.parts.len() == 1 {
            return self.parts.swap_remove(0);
        }
        self.parts.concat().into()
    }

    fn seal(&mut self) {
        if !self.tail.is_empty() {
            self.parts.push(self.tail.split().freeze());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(byte: u8) -> Bytes {
        Bytes::copy_from_slice(&[0x12, 1, byte])
    }

    #[test]
    fn copied_and_shared_slices_keep_their_order() {
        let mut batch = Batch::default();
        let shared = Bytes::from([message(3), message(4)].concat());
        let at = shared.as_ptr();
        batch.push(message(1), 1, true);
        batch.push(message(2), 1, true);
        batch.push(shared, 2, false);
        batch.push(message(5), 1, true);
        assert_eq!((batch.count(), batch.bytes()), (5, 15));
        let parts = batch.parts().to_vec();
        assert_eq!(parts.iter().map(Bytes::len).collect::<Vec<_>>(), [6, 6, 3]);
        assert_eq!(parts[1].as_ptr(), at);
        let single: Vec<Bytes> = batch
            .clone()
            .split()
            .into_iter()
            .map(Batch::into_bytes)
            .collect();
        assert_eq!(single, [1, 2, 3, 4, 5].map(message));
        assert_eq!(batch.into_bytes(), [1, 2, 3, 4, 5].map(message).concat());
    }
}
