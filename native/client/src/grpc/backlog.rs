//! What waits for a connection: slices of requests that it has not written yet.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// Is told what waits for the connection.
///
/// It is called within the connection's locks, so it must not wait, nor use the connection.
pub(crate) trait Backlog: fmt::Debug + Send + Sync {
    /// So many bytes of an attempt wait.
    fn waits(&self, bytes: usize);

    /// So many of them were written, or the attempt is over.
    fn waits_no_more(&self, bytes: usize);
}

/// What waits of one attempt. Dropping it ends the attempt: then nothing waits, also when the connection
/// still holds slices, as it may when a server answers what it has not read.
#[derive(Debug)]
pub(super) struct Attempt(Option<Arc<Waits>>);

impl Attempt {
    /// Tells nobody when there is nobody to be told.
    pub(super) fn begin(backlog: Option<Arc<dyn Backlog>>) -> Self {
        Self(backlog.map(|backlog| {
            Arc::new(Waits {
                bytes: AtomicUsize::new(0),
                backlog,
            })
        }))
    }

    /// The slice, which waits until the last part of it is dropped, or this is.
    pub(super) fn waits_for(&self, slice: Bytes) -> Bytes {
        let Some(waits) = &self.0 else { return slice };
        waits.begin(slice.len());
        Bytes::from_owner(Waiting {
            slice,
            waits: Arc::clone(waits),
        })
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(waits) = &self.0 {
            waits.end(usize::MAX);
        }
    }
}

#[derive(Debug)]
struct Waits {
    bytes: AtomicUsize,
    backlog: Arc<dyn Backlog>,
}

impl Waits {
    fn begin(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.backlog.waits(bytes);
    }

    /// Up to so many bytes wait no more.
    fn end(&self, most: usize) {
        let left = |waited: usize| Some(waited.saturating_sub(most));
        let (Ok(waited) | Err(waited)) =
            self.bytes
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        let bytes = waited.min(most);
        if bytes > 0 {
            self.backlog.waits_no_more(bytes);
        }
    }
}

/// A slice that waits for the connection, which drops what it has written.
struct Waiting {
    slice: Bytes,
    waits: Arc<Waits>,
}

impl AsRef<[u8]> for Waiting {
    fn as_ref(&self) -> &[u8] {
        &self.slice
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.waits.end(self.slice.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Count(AtomicUsize);

    impl Backlog for Count {
        fn waits(&self, bytes: usize) {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }

        fn waits_no_more(&self, bytes: usize) {
            self.0.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    impl Count {
        fn now(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn a_slice_waits_until_the_last_part_of_it_is_dropped() {
        let count = Arc::new(Count::default());
        let attempt = Attempt::begin(Some(count.clone()));
        let first = attempt.waits_for(Bytes::from(vec![1; 10]));
        let mut second = attempt.waits_for(Bytes::from(vec![2; 20]));
        assert_eq!(&second[..], [2; 20]);
        assert_eq!(count.now(), 30);
        let part = second.split_to(5);
        drop(second);
        assert_eq!(count.now(), 30);
        drop(part);
        assert_eq!(count.now(), 10);
        drop(first);
        assert_eq!(count.now(), 0);
        drop(attempt);
        assert_eq!(count.now(), 0);
    }

    #[test]
    fn nothing_waits_of_an_attempt_that_is_over() {
        let count = Arc::new(Count::default());
        let [first, second] = [0, 1].map(|_| Attempt::begin(Some(count.clone())));
        let slices = [10, 20, 40].map(|len| Bytes::from(vec![0; len]));
        let [written, left, other] = [
            first.waits_for(slices[0].clone()),
            first.waits_for(slices[1].clone()),
            second.waits_for(slices[2].clone()),
        ];
        drop(written);
        assert_eq!(count.now(), 60);
        drop(first);
        assert_eq!(count.now(), 40);
        drop(left);
        assert_eq!(count.now(), 40);
        drop(other);
        assert_eq!(count.now(), 0);
    }

    #[test]
    fn a_slice_that_nobody_is_told_of_is_the_same_memory() {
        let slice = Bytes::from(vec![1; 10]);
        let at = slice.as_ptr();
        assert_eq!(Attempt::begin(None).waits_for(slice).as_ptr(), at);
    }
}
