//! Requests as they are sent: slices, none of them copied.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use tokio::sync::{mpsc, oneshot};

use super::deframe::PREFIX;

/// A first slice up to this length is put into one frame with the prefix: a copy of it costs less
/// than a frame of its own.
const JOIN: usize = 4096;

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
        let left = |waiting: usize| Some(waiting.saturating_sub(most));
        let result = self
            .bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        let waited = result.unwrap_or_else(|waited| waited);
        let bytes = waited.min(most);
        if bytes > 0 {
            self.backlog.waits_no_more(bytes);
        }
    }
}

/// One encoded request, in slices. A clone shares them.
#[derive(Debug, Clone, Default)]
pub struct Message {
    slices: Vec<Bytes>,
    len: usize,
    gzip: bool,
    backlog: Option<Arc<dyn Backlog>>,
}

impl Message {
    /// Length of the encoded request in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the encoded request has no bytes, which is a valid request.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slices.
    pub(crate) fn slices(&self) -> &[Bytes] {
        &self.slices
    }

    /// A request that is gzip data already.
    pub(crate) fn gzipped(data: Bytes) -> Self {
        Self {
            gzip: true,
            ..data.into()
        }
    }

    pub(crate) fn is_gzip(&self) -> bool {
        self.gzip
    }

    /// Each attempt to send it tells of its slices, but for one that is copied.
    pub(crate) fn told_to(self, backlog: Arc<dyn Backlog>) -> Self {
        Self {
            backlog: Some(backlog),
            ..self
        }
    }

    /// The frames of a request body: the first holds the prefix.
    fn frames(self) -> (VecDeque<Bytes>, Attempt) {
        let mut frames = VecDeque::with_capacity(self.slices.len() + 1);
        let mut slices = self.slices.into_iter().peekable();
        let joined = slices
            .next_if(|slice| slice.len() <= JOIN)
            .unwrap_or_default();
        let mut first = BytesMut::with_capacity(PREFIX + joined.len());
        first.put_u8(u8::from(self.gzip));
        // A message beyond 4 GiB is refused long before.
        first.put_u32(self.len as u32);
        first.put_slice(&joined);
        frames.push_back(first.freeze());
        let waits = self.backlog.map(|backlog| {
            Arc::new(Waits {
                bytes: AtomicUsize::new(0),
                backlog,
            })
        });
        match &waits {
            None => frames.extend(slices),
            Some(waits) => frames.extend(slices.map(|slice| Waiting::begin(slice, waits))),
        }
        (frames, Attempt(waits))
    }
}

impl From<Vec<Bytes>> for Message {
    fn from(mut slices: Vec<Bytes>) -> Self {
        slices.retain(|slice| !slice.is_empty());
        Self {
            len: slices.iter().map(Bytes::len).sum(),
            slices,
            gzip: false,
            backlog: None,
        }
    }
}

impl From<Bytes> for Message {
    fn from(slice: Bytes) -> Self {
        vec![slice].into()
    }
}

impl From<Vec<u8>> for Message {
    fn from(slice: Vec<u8>) -> Self {
        Bytes::from(slice).into()
    }
}

/// A slice that waits for the connection, which drops what it has written.
struct Waiting {
    slice: Bytes,
    waits: Arc<Waits>,
}

impl Waiting {
    fn begin(slice: Bytes, waits: &Arc<Waits>) -> Bytes {
        waits.begin(slice.len());
        let waits = Arc::clone(waits);
        Bytes::from_owner(Self { slice, waits })
    }
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

/// The body of a unary request.
pub(super) struct UnaryBody {
    frames: VecDeque<Bytes>,
}

impl UnaryBody {
    pub(super) fn new(message: Message) -> (Self, Attempt) {
        let (frames, attempt) = message.frames();
        (Self { frames }, attempt)
    }
}

impl Body for UnaryBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.frames.pop_front().map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        // No upper bound, so that no content-length is sent: gRPC clients send none.
        SizeHint::default()
    }
}

/// The body of a stream's request: it goes on until the sender or the reader of the answers is gone.
/// A stream is reset only when neither half is used any more.
pub(super) struct StreamBody {
    frames: VecDeque<Bytes>,
    requests: mpsc::Receiver<Bytes>,
    reader: oneshot::Receiver<Infallible>,
}

impl StreamBody {
    pub(super) fn new(
        first: Bytes,
        requests: mpsc::Receiver<Bytes>,
        reader: oneshot::Receiver<Infallible>,
    ) -> Self {
        Self {
            frames: Message::from(first).frames().0,
            requests,
            reader,
        }
    }
}

impl Body for StreamBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if Pin::new(&mut self.reader).poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        if self.frames.is_empty() {
            match self.requests.poll_recv(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(request)) => self.frames = Message::from(request).frames().0,
            }
        }
        Poll::Ready(self.frames.pop_front().map(|data| Ok(Frame::data(data))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_joins_a_small_first_slice_and_nothing_else_is_copied() {
        let head = Bytes::from_static(b"head");
        let tail = Bytes::from(vec![7; 3]);
        let at = tail.as_ptr();
        let message = Message::from(vec![head, Bytes::new(), tail]);
        assert_eq!(message.len(), 7);
        let (frames, _) = message.frames();
        assert_eq!(frames.len(), 2);
        assert_eq!(&frames[0][..], b"\0\0\0\0\x07head");
        assert_eq!(frames[1].as_ptr(), at);

        let large = Bytes::from(vec![1; JOIN + 1]);
        let at = large.as_ptr();
        let (frames, _) = Message::from(large).frames();
        assert_eq!(&frames[0][..], [0, 0, 0, 0x10, 0x01]);
        assert_eq!(frames[1].as_ptr(), at);
    }

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

    #[test]
    fn slices_wait_until_the_last_part_of_them_is_dropped() {
        let count = Arc::new(Count::default());
        let waiting = || count.0.load(Ordering::Relaxed);
        let message = told_to(&count);
        assert_eq!(waiting(), 0);
        let (mut frames, attempt) = message.frames();
        assert_eq!(waiting(), 30);
        assert_eq!(&frames[2][..], [2; 20]);
        let mut last = frames.pop_back().unwrap();
        let part = last.split_to(5);
        drop(last);
        assert_eq!(waiting(), 30);
        drop(part);
        assert_eq!(waiting(), 10);
        drop(frames);
        assert_eq!(waiting(), 0);
        drop(attempt);
        assert_eq!(waiting(), 0);
    }

    #[test]
    fn nothing_waits_of_an_attempt_that_is_over() {
        let count = Arc::new(Count::default());
        let waiting = || count.0.load(Ordering::Relaxed);
        let message = told_to(&count);
        let (mut frames, attempt) = message.clone().frames();
        frames.pop_back();
        assert_eq!(waiting(), 10);
        let (again, _attempt) = message.frames();
        assert_eq!(waiting(), 40);
        drop(attempt);
        assert_eq!(waiting(), 30);
        drop(frames);
        assert_eq!(waiting(), 30);
        drop(again);
        assert_eq!(waiting(), 0);
    }

    /// A header, which is copied, and slices of 10 and 20 bytes.
    fn told_to(count: &Arc<Count>) -> Message {
        let slices = [b"header".to_vec(), vec![1; 10], vec![2; 20]];
        Message::from(slices.map(Bytes::from).to_vec()).told_to(count.clone())
    }

    #[test]
    fn an_empty_message_is_a_prefix() {
        let (frames, _) = Message::default().frames();
        assert_eq!(frames, [Bytes::from_static(&[0; PREFIX])]);
    }
}
