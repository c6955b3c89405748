//! Requests as they are sent: slices, none of them copied.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use tokio::sync::{mpsc, oneshot};

use super::backlog::{Attempt, Backlog};
use super::deframe::PREFIX;

/// A first slice up to this length is put into one frame with the prefix: a copy of it costs less
/// than a frame of its own.
const JOIN: usize = 4096;

/// A frame of the body has at most so many bytes, though many peers take 64 KiB and more: with its
/// header of nine bytes it still fits into one segment of the largest kind (65,464 bytes on loopback
/// over IPv6) and into four records of TLS. What hangs over costs as much as a whole one.
const FRAME: usize = (64 << 10) - 128;

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
        let attempt = Attempt::begin(self.backlog);
        for slice in slices {
            let mut rest = attempt.waits_for(slice);
            while rest.len() > FRAME {
                frames.push_back(rest.split_to(FRAME));
            }
            frames.push_back(rest);
        }
        (frames, attempt)
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
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    #[test]
    fn no_frame_is_larger_than_a_segment() {
        let bytes = |len: usize| Bytes::from_iter((0..len).map(|i| i as u8));
        let slices = [2 * FRAME, FRAME, 3 * FRAME + 1];
        let message = Message::from(slices.map(bytes).to_vec());
        let (frames, _) = message.clone().frames();
        let lens: Vec<_> = frames.iter().map(Bytes::len).collect();
        assert_eq!(lens, [PREFIX, FRAME, FRAME, FRAME, FRAME, FRAME, FRAME, 1]);
        let sent: Vec<_> = frames.range(1..).flatten().copied().collect();
        assert_eq!(sent, message.slices().concat());
        assert_eq!(frames[1].as_ptr(), message.slices()[0].as_ptr());
    }

    #[derive(Debug, Default)]
    struct Count(AtomicUsize);

    impl Backlog for Count {
        fn waits(&self, bytes: usize) {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }

        fn waits_no_more(&self, _: usize) {}
    }

    #[test]
    fn each_attempt_tells_of_what_is_not_copied() {
        let count = Arc::new(Count::default());
        let slices = [b"header".to_vec(), vec![1; 10], vec![2; 20]];
        let message = Message::from(slices.map(Bytes::from).to_vec()).told_to(count.clone());
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
        for attempts in 1..=2 {
            drop(message.clone().frames());
            assert_eq!(count.0.load(Ordering::Relaxed), attempts * 30);
        }
    }

    #[test]
    fn an_empty_message_is_a_prefix() {
        let (frames, _) = Message::default().frames();
        assert_eq!(frames, [Bytes::from_static(&[0; PREFIX])]);
    }
}
