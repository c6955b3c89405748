//! The gRPC wire format over HTTP/2 requests and responses.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::mpsc;
use tonic::Status;

/// Length of the prefix before every gRPC message: a compression flag and four bytes of length.
pub const PREFIX: usize = 5;

/// The largest request message that is read, decompressed; beyond it `RESOURCE_EXHAUSTED`.
/// The service's own ceilings (10 MB for Publish) are checked later, with their own messages.
pub const MAX_REQUEST_BYTES: usize = 64 << 20;

/// Reads gRPC messages from a request body.
#[derive(Debug)]
pub struct MessageReader {
    body: Incoming,
    buf: BytesMut,
    gzip: bool,
    ended: bool,
}

impl MessageReader {
    /// Reads from `body`, with the compression that the request's `headers` announce.
    pub fn new(headers: &HeaderMap, body: Incoming) -> Result<Self, Status> {
        let gzip = match headers.get("grpc-encoding").map(HeaderValue::as_bytes) {
            None | Some(b"identity") => false,
            Some(b"gzip") => true,
            Some(other) => {
                return Err(Status::unimplemented(format!(
                    "compression {:?} is not supported; use gzip or identity",
                    String::from_utf8_lossy(other)
                )));
            }
        };
        Ok(MessageReader {
            body,
            buf: BytesMut::new(),
            gzip,
            ended: false,
        })
    }

    /// The next message, or `None` at the end of the request. Keeps what it has read when dropped
    /// half way, so it may be used in `select!`.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            if let Some(message) = self.take_message()? {
                return Ok(Some(message));
            }
            if self.ended {
                return if self.buf.is_empty() {
                    Ok(None)
                } else {
                    Err(cut_short())
                };
            }
            self.read().await?;
        }
    }

    /// Reads what comes next into the buffer, or notes the end.
    async fn read(&mut self) -> Result<(), Status> {
        match self.data().await? {
            Some(data) => self.buf.extend_from_slice(&data),
            None => self.ended = true,
        }
        Ok(())
    }

    /// What comes next, or `None` at the end of the request.
    async fn data(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(e)) => {
                    return Err(Status::cancelled(format!("the request broke off: {e}")));
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// The compression flag and the length of the next message, once its prefix is there.
    fn prefix(&self) -> Result<Option<(u8, usize)>, Status> {
        let [flag, a, b, c, d, ..] = self.buf[..] else {
            return Ok(None);
        };
        let len = u32::from_be_bytes([a, b, c, d]) as usize;
        if len > MAX_REQUEST_BYTES {
            return Err(Status::resource_exhausted(format!(
                "request message of {len} bytes is above the limit of {MAX_REQUEST_BYTES} bytes"
            )));
        }
        Ok(Some((flag, len)))
    }

    /// Hands over the only message of a unary call piece by piece, as it comes; a compressed one in
    /// one piece. Returns its length.
    pub async fn unary_pieces(mut self, mut piece: impl FnMut(&[u8])) -> Result<usize, Status> {
        if self.gzip {
            let message = self.unary().await?;
            piece(&message);
            return Ok(message.len());
        }
        while self.buf.len() < PREFIX && !self.ended {
            self.read().await?;
        }
        let Some((flag, len)) = self.prefix()? else {
            return Err(no_message());
        };
        if flag != 0 {
            return Err(not_announced());
        }
        self.buf.advance(PREFIX);
        let mut left = len;
        let mut data = self.buf.split().freeze();
        loop {
            if data.len() > left {
                return Err(more_than_one());
            }
            piece(&data);
            left -= data.len();
            match self.data().await? {
                Some(next) => data = next,
                None if left == 0 => return Ok(len),
                None => return Err(cut_short()),
            }
        }
    }

    fn take_message(&mut self) -> Result<Option<Bytes>, Status> {
        let Some((flag, len)) = self.prefix()? else {
            return Ok(None);
        };
        if self.buf.len() < PREFIX + len {
            // Once for the whole message; the peer can make us hold at most the limit above.
            let missing = PREFIX + len - self.buf.len();
            self.buf.reserve(missing);
            return Ok(None);
        }
        self.buf.advance(PREFIX);
        let message = self.buf.split_to(len).freeze();
        match (flag, self.gzip) {
            (0, _) => Ok(Some(message)),
            (1, true) => gunzip(&message).map(Some),
            (1, false) => Err(not_announced()),
            _ => Err(Status::internal(format!("invalid compression flag {flag}"))),
        }
    }

    /// The only message of a unary call.
    pub async fn unary(mut self) -> Result<Bytes, Status> {
        let message = self.next().await?.ok_or_else(no_message)?;
        match self.next().await? {
            None => Ok(message),
            Some(_) => Err(more_than_one()),
        }
    }
}

fn no_message() -> Status {
    Status::internal("the request holds no message")
}

fn more_than_one() -> Status {
    Status::internal("more than one message in a unary request")
}

fn cut_short() -> Status {
    Status::internal("the request ended inside a message")
}

fn not_announced() -> Status {
    Status::internal("compressed message without a grpc-encoding header")
}

fn gunzip(data: &[u8]) -> Result<Bytes, Status> {
    use std::io::Read;
    let mut out = Vec::new();
    let limit = MAX_REQUEST_BYTES as u64 + 1;
    flate2::read::MultiGzDecoder::new(data)
        .take(limit)
        .read_to_end(&mut out)
        .map_err(|e| Status::internal(format!("the message is not valid gzip: {e}")))?;
    if out.len() > MAX_REQUEST_BYTES {
        return Err(Status::resource_exhausted(format!(
            "request message is above the limit of {MAX_REQUEST_BYTES} bytes when decompressed"
        )));
    }
    Ok(out.into())
}

/// One thing to send on a response stream.
#[derive(Debug)]
pub enum StreamItem {
    /// A complete gRPC message with its prefix.
    Message(Bytes),
    /// The end of the stream with this status.
    End(Status),
    /// `RST_STREAM` with this code instead of an end.
    Reset(h2::Reason),
}

/// The body of a response.
#[derive(Debug)]
pub enum ResponseBody {
    /// Nothing; the status is in the headers.
    Empty,
    /// One message, then the trailers.
    Unary {
        /// The message with its prefix, until it is sent.
        message: Option<Bytes>,
        /// Whether the trailers are still to be sent.
        trailers: bool,
    },
    /// Messages as they come.
    Stream(mpsc::Receiver<StreamItem>),
    /// Everything is sent.
    Done,
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        match &mut *self {
            ResponseBody::Empty | ResponseBody::Done => Poll::Ready(None),
            ResponseBody::Unary { message, trailers } => {
                if let Some(message) = message.take() {
                    return Poll::Ready(Some(Ok(Frame::data(message))));
                }
                if std::mem::take(trailers) {
                    let mut ok = HeaderMap::with_capacity(1);
                    ok.insert("grpc-status", HeaderValue::from_static("0"));
                    return Poll::Ready(Some(Ok(Frame::trailers(ok))));
                }
                Poll::Ready(None)
            }
            ResponseBody::Stream(items) => {
                let item = std::task::ready!(items.poll_recv(cx));
                match item {
                    Some(StreamItem::Message(message)) => {
                        Poll::Ready(Some(Ok(Frame::data(message))))
                    }
                    Some(StreamItem::End(status)) => {
                        *self = ResponseBody::Done;
                        Poll::Ready(Some(Ok(Frame::trailers(status_headers(&status)))))
                    }
                    Some(StreamItem::Reset(reason)) => {
                        *self = ResponseBody::Done;
                        Poll::Ready(Some(Err(h2::Error::from(reason))))
                    }
                    None => {
                        *self = ResponseBody::Done;
                        Poll::Ready(Some(Err(h2::Error::from(h2::Reason::INTERNAL_ERROR))))
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, ResponseBody::Empty | ResponseBody::Done)
    }
}

fn status_headers(status: &Status) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(3);
    if let Err(e) = status.add_header(&mut headers) {
        headers.insert("grpc-status", HeaderValue::from(i32::from(e.code())));
    }
    headers
}

fn response(body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/grpc"),
    );
    headers.insert(
        "grpc-accept-encoding",
        HeaderValue::from_static("identity,gzip"),
    );
    response
}

/// A response that carries one already framed message.
pub fn unary_response(message: Bytes) -> Response<ResponseBody> {
    response(ResponseBody::Unary {
        message: Some(message),
        trailers: true,
    })
}

/// A response with nothing but a status.
pub fn error_response(status: &Status) -> Response<ResponseBody> {
    let mut response = response(ResponseBody::Empty);
    response.headers_mut().extend(status_headers(status));
    response
}

/// A response whose messages come from a channel.
pub fn stream_response(items: mpsc::Receiver<StreamItem>) -> Response<ResponseBody> {
    response(ResponseBody::Stream(items))
}

/// A message with its prefix, ready to be sent.
pub fn frame<M: prost::Message>(message: &M) -> Bytes {
    let len = message.encoded_len();
    let mut buf = BytesMut::with_capacity(PREFIX + len);
    put_prefix(&mut buf, len);
    // Only a full buffer can fail, and this one grows.
    let _ = message.encode(&mut buf);
    buf.freeze()
}

/// Appends the prefix of an uncompressed message of `len` bytes.
pub fn put_prefix(buf: &mut BytesMut, len: usize) {
    buf.put_u8(0);
    buf.put_u32(u32::try_from(len).unwrap_or(u32::MAX));
}
