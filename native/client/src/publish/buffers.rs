//! Memory for what the writer hands over, used again and again: taking a block of this size from the
//! system and giving it back costs more than filling it.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Memory is kept in pieces of multiples of this size…
const STEP: usize = 32 << 10;
/// …up to this; smaller and larger ones come from the system and go back to it.
const MAX: usize = 2 << 20;

/// Memory that is not in use.
#[derive(Debug)]
pub(super) struct Buffers {
    free: Mutex<Free>,
    /// Bytes that are kept at most.
    limit: usize,
}

#[derive(Debug, Default)]
struct Free {
    pieces: Vec<Vec<u8>>,
    bytes: usize,
}

impl Buffers {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            free: Mutex::default(),
            limit,
        })
    }

    /// A buffer of this length; what is in it is unspecified.
    pub(super) fn take(self: &Arc<Self>, len: usize) -> Buffer {
        let piece = if (STEP..=MAX).contains(&len) {
            let size = len.next_multiple_of(STEP);
            self.recycled(size).unwrap_or_else(|| vec![0; size])
        } else {
            vec![0; len]
        };
        Buffer {
            piece,
            len,
            home: Arc::clone(self),
        }
    }

    fn recycled(&self, size: usize) -> Option<Vec<u8>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // A writer's buffers are all of one size, apart from the last of a flush.
        let at = free.pieces.iter().rposition(|piece| piece.len() == size)?;
        free.bytes -= size;
        Some(free.pieces.swap_remove(at))
    }

    fn give_back(&self, piece: Vec<u8>) {
        if !(STEP..=MAX).contains(&piece.len()) || !piece.len().is_multiple_of(STEP) {
            return;
        }
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.bytes + piece.len() <= self.limit {
            free.bytes += piece.len();
            free.pieces.push(piece);
        }
    }
}

/// A buffer to be filled with messages.
pub struct Buffer {
    piece: Vec<u8>,
    len: usize,
    home: Arc<Buffers>,
}

impl Buffer {
    /// The filled buffer. Its memory is used again when the last slice of it is gone.
    pub fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.piece[..self.len]
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_ref()
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.piece[..self.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.home.give_back(std::mem::take(&mut self.piece));
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_when_the_last_slice_is_gone() {
        let buffers = Buffers::new(1 << 20);
        let mut buffer = buffers.take(100_000);
        buffer[99_999] = 7;
        assert_eq!(buffer.len(), 100_000);
        let at = buffer.as_ptr();
        let whole = buffer.freeze();
        let slice = whole.slice(99_998..);
        drop(whole);
        assert_ne!(buffers.take(100_000).as_ptr(), at);
        assert_eq!(slice[1], 7);
        drop(slice);
        // Another length of the same size class.
        assert_eq!(buffers.take(99_000).as_ptr(), at);
    }

    #[test]
    fn no_more_is_kept_than_the_limit_allows() {
        let buffers = Buffers::new(300 << 10);
        let taken: Vec<Buffer> = (0..10).map(|_| buffers.take(128 << 10)).collect();
        drop(taken);
        drop(buffers.take(10));
        drop(buffers.take(MAX + 1));
        let free = buffers.free.lock().unwrap();
        assert_eq!((free.pieces.len(), free.bytes), (2, 256 << 10));
    }
}
