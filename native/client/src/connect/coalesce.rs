//! Few writes instead of many: what HTTP/2 hands over frame by frame goes to the socket in large pieces.
//!
//! HTTP/2 writes and flushes every frame on its own, and a frame has 16 KiB unless the server allows more. A system
//! call and a packet for each of them costs more than copying it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// From so many bytes on they are written at once: two packets of loopback's or of offloading's largest size.
pub(super) const FULL: usize = 128 << 10;

/// A connection that is read and written by one task which, whenever it is woken, reads before it writes.
///
/// Flushing only asks for the task to run again: what its round leaves here is written when the next one reads. So a
/// flush answers before the bytes are on their way, and an error in writing them is the next read's.
#[derive(Debug)]
pub(super) struct Coalescing<T> {
    inner: T,
    /// How much the buffer may hold; 0 when everything is written at once.
    full: usize,
    buffer: Vec<u8>,
    /// How much of the buffer the socket has taken.
    written: usize,
}

impl<T> Coalescing<T> {
    /// `full` is how many bytes are held back at most; with 0 every write and flush goes through as it is.
    pub(super) fn new(inner: T, full: usize) -> Self {
        Self {
            inner,
            full,
            buffer: Vec::new(),
            written: 0,
        }
    }
}

impl<T: AsyncWrite + Unpin> Coalescing<T> {
    fn drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.buffer.len() {
            let rest = &self.buffer[self.written..];
            match ready!(Pin::new(&mut self.inner).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => self.written += n,
            }
        }
        self.buffer.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for Coalescing<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // A socket that takes no more wakes the task when it does; meanwhile there may be something to read.
        if let Poll::Ready(Err(e)) = self.drain(cx) {
            return Poll::Ready(Err(e));
        }
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Coalescing<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.full == 0 {
            return Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        }
        if self.buffer.len() >= self.full {
            ready!(self.drain(cx))?;
        }
        let mut taken = 0;
        for buf in bufs {
            // Somebody may hand over more than frames.
            let room = self.full - self.buffer.len();
            let part = &buf[..buf.len().min(room)];
            self.buffer.extend_from_slice(part);
            taken += part.len();
        }
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.full == 0 {
            return Pin::new(&mut self.inner).poll_flush(cx);
        }
        if !self.buffer.is_empty() {
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.drain(cx))?;
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    /// A socket that takes so many bytes, and notes each write.
    #[derive(Default)]
    struct Socket {
        takes: usize,
        broken: bool,
        writes: Vec<Vec<u8>>,
        ended: bool,
    }

    impl AsyncRead for Socket {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Socket {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            if self.broken {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            let n = buf.len().min(self.takes);
            if n == 0 {
                return Poll::Pending;
            }
            self.takes -= n;
            self.writes.push(buf[..n].to_vec());
            Poll::Ready(Ok(n))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.ended = true;
            Poll::Ready(Ok(()))
        }
    }

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A connection and the task that uses it.
    struct Task {
        io: Coalescing<Socket>,
        wakes: Arc<Wakes>,
    }

    impl Task {
        fn new(takes: usize) -> Self {
            let socket = Socket {
                takes,
                ..Socket::default()
            };
            Self {
                io: Coalescing::new(socket, FULL),
                wakes: Arc::default(),
            }
        }

        fn poll<R>(
            &mut self,
            call: impl FnOnce(Pin<&mut Coalescing<Socket>>, &mut Context<'_>) -> R,
        ) -> R {
            let waker = Waker::from(self.wakes.clone());
            call(Pin::new(&mut self.io), &mut Context::from_waker(&waker))
        }

        fn write(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.poll(|io, cx| io.poll_write(cx, bytes))
        }

        fn flush(&mut self) {
            assert!(self.poll(|io, cx| io.poll_flush(cx)).is_ready());
        }

        fn read(&mut self) -> Poll<io::Result<()>> {
            self.poll(|io, cx| io.poll_read(cx, &mut ReadBuf::new(&mut [0; 8])))
        }

        fn wakes(&self) -> usize {
            self.wakes.0.load(Ordering::Relaxed)
        }
    }

    fn taken(result: Poll<io::Result<usize>>) -> Option<usize> {
        match result {
            Poll::Ready(n) => Some(n.unwrap()),
            Poll::Pending => None,
        }
    }

    #[test]
    fn the_frames_of_a_round_are_one_write() {
        let mut task = Task::new(usize::MAX);
        task.flush();
        assert_eq!(task.wakes(), 0);
        for frame in [b"one ", b"two "] {
            assert_eq!(taken(task.write(frame)), Some(4));
            task.flush();
        }
        assert!(task.io.inner.writes.is_empty());
        assert_eq!(task.wakes(), 2);
        assert!(task.read().is_pending());
        assert_eq!(task.io.inner.writes, [b"one two "]);
        assert!(task.read().is_pending());
        assert_eq!(task.io.inner.writes.len(), 1);
    }

    #[test]
    fn slices_are_written_in_order() {
        let mut task = Task::new(usize::MAX);
        let slices = [IoSlice::new(b"head"), IoSlice::new(b" and body")];
        let result = task.poll(|io, cx| io.poll_write_vectored(cx, &slices));
        assert_eq!(taken(result), Some(13));
        assert!(task.read().is_pending());
        assert_eq!(task.io.inner.writes, [b"head and body"]);
    }

    #[test]
    fn a_full_buffer_holds_the_writer_back() {
        let mut task = Task::new(0);
        assert_eq!(taken(task.write(&vec![1; FULL + 5])), Some(FULL));
        assert_eq!(taken(task.write(&[2; 5])), None);
        task.io.inner.takes = FULL - 1;
        assert_eq!(taken(task.write(&[2; 5])), None);
        task.io.inner.takes = 1;
        assert_eq!(taken(task.write(&[2; 5])), Some(5));
        task.io.inner.takes = 5;
        assert!(task.read().is_pending());
        let sent = task.io.inner.writes.concat();
        assert_eq!(sent, [vec![1; FULL], vec![2; 5]].concat());
        assert!(task.io.buffer.capacity() <= 2 * FULL);
    }

    #[test]
    fn nothing_is_held_back_where_that_does_not_pay() {
        let mut task = Task::new(usize::MAX);
        task.io.full = 0;
        for frame in [b"one ", b"two "] {
            assert_eq!(taken(task.write(frame)), Some(4));
            task.flush();
        }
        assert_eq!(task.io.inner.writes, [b"one ", b"two "]);
        assert_eq!(task.wakes(), 0);
    }

    #[test]
    fn the_end_comes_behind_what_was_written() {
        let mut task = Task::new(0);
        assert_eq!(taken(task.write(b"last")), Some(4));
        assert!(task.poll(|io, cx| io.poll_shutdown(cx)).is_pending());
        assert!(!task.io.inner.ended);
        task.io.inner.takes = 4;
        assert!(task.poll(|io, cx| io.poll_shutdown(cx)).is_ready());
        assert_eq!(task.io.inner.writes, [b"last"]);
        assert!(task.io.inner.ended);
    }

    #[test]
    fn a_broken_socket_is_seen_by_the_reader() {
        let mut task = Task::new(0);
        assert_eq!(taken(task.write(b"lost")), Some(4));
        task.flush();
        task.io.inner.broken = true;
        match task.read() {
            Poll::Ready(Err(e)) => assert_eq!(e.kind(), io::ErrorKind::BrokenPipe),
            other => panic!("{other:?}"),
        }
    }
}
