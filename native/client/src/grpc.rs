//! gRPC over HTTP/2, as thin as it gets: requests are sent from the slices they came in, answers are
//! cut into messages without being copied. A generated client copies every frame twice.

mod backlog;
mod certificate;
mod deframe;
mod message;
mod status;

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, TE};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt as _;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tonic::Code;
use tonic::body::Body;
use tonic::transport::Channel;
use tower::{Service as _, ServiceExt as _};

pub(crate) use self::backlog::Backlog;
pub use self::deframe::{Deframer, WireMessage};
pub use self::message::Message;
pub(crate) use self::status::transport_error;
use crate::connect::Connection;
use crate::error::Error;

/// Largest message that is accepted, unless told otherwise. One response of the service holds many
/// messages of up to 10 MB each.
pub const DEFAULT_MAX_MESSAGE: usize = 64 << 20;

/// Requests of a stream that wait for the connection; they are few and small.
const STREAM_QUEUE: usize = 64;

const ROUTING: HeaderName = HeaderName::from_static("x-goog-request-params");

/// Unreserved characters of RFC 3986 stay as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Which resource a call is about: the service routes by it, and errors name it.
#[derive(Debug, Clone, Copy)]
pub struct Routing<'a> {
    name: &'static str,
    value: &'a str,
}

impl<'a> Routing<'a> {
    /// The request's field, such as `subscription`, and its value, a resource name.
    pub fn new(name: &'static str, value: &'a str) -> Self {
        Self { name, value }
    }

    fn header(&self) -> Result<HeaderValue, Error> {
        let value = utf8_percent_encode(self.value, ESCAPED);
        HeaderValue::try_from(format!("{}={value}", self.name))
            .map_err(|e| Error::argument(format!("{} '{}': {e}", self.name, self.value)))
    }
}

/// Makes one call and waits for its answer, for at most `timeout` from when there is a token.
///
/// `path` is the method's, such as `/google.pubsub.v1.Publisher/Publish`. When the service refuses
/// the credentials, they are renewed and the call is made once more, with the whole of `timeout`;
/// nothing else is tried again here. Dropping the future cancels the call.
pub async fn unary(
    connection: &Connection,
    path: &'static str,
    routing: Routing<'_>,
    message: impl Into<Message>,
    timeout: Duration,
) -> Result<Bytes, Error> {
    let channel = connection.unary_channel();
    unary_on(connection, channel, path, routing, message, timeout).await
}

/// [`unary`] on a channel of the connection.
pub(crate) async fn unary_on(
    connection: &Connection,
    channel: &Channel,
    path: &'static str,
    routing: Routing<'_>,
    message: impl Into<Message>,
    timeout: Duration,
) -> Result<Bytes, Error> {
    let message = message.into();
    let first = attempt(connection, channel, path, routing, message.clone(), timeout).await;
    match first {
        Err(e) if e.is_renewed() => {
            attempt(connection, channel, path, routing, message, timeout).await
        }
        other => other,
    }
    .map_err(|e| describe(e, path, routing.value))
}

/// The token has a limit of its own: a call that waits for one long must not run out of time before it is sent.
async fn attempt(
    connection: &Connection,
    channel: &Channel,
    path: &'static str,
    routing: Routing<'_>,
    message: Message,
    timeout: Duration,
) -> Result<Bytes, Error> {
    let gzip = message.is_gzip();
    let (body, _waits_until_the_end) = message::UnaryBody::new(message);
    let (mut request, generation) = request(connection, path, routing, Body::new(body)).await?;
    let headers = request.headers_mut();
    headers.insert("grpc-timeout", grpc_timeout(timeout));
    if gzip {
        headers.insert("grpc-encoding", HeaderValue::from_static("gzip"));
    }
    let answer = async {
        let response = send(connection, channel.clone(), request).await?;
        let mut response = ResponseStream::open(connection, response, DEFAULT_MAX_MESSAGE)?;
        let Some(answer) = response.next_message().await? else {
            return Err(Error::new(Code::Internal, "the server sent no answer"));
        };
        // The status comes behind the message and may still be an error.
        match response.next_message().await? {
            None => Ok(answer.into_contiguous()),
            Some(_) => Err(Error::new(Code::Internal, "the server sent two answers")),
        }
    };
    tokio::time::timeout(timeout, answer)
        .await
        .unwrap_or_else(|_| Err(status::deadline_exceeded()))
        .map_err(|e| judged(connection, e, generation))
}

/// Renews the credentials when the error says that they were refused.
fn judged(connection: &Connection, error: Error, generation: u64) -> Error {
    match error.code() == Code::Unauthenticated && connection.credentials_refused(generation) {
        true => error.renewed(),
        false => error,
    }
}

/// Opens a stream in both directions, with its first request.
///
/// It waits neither for the connection nor for response headers, which servers may hold back until
/// there is a first message: that the stream cannot be had is said by [`ResponseStream::next`].
/// `max_message` is the largest message that is accepted, in bytes.
pub async fn open_stream(
    connection: &Connection,
    channel: &Channel,
    path: &'static str,
    routing: Routing<'_>,
    first: Bytes,
    max_message: usize,
) -> Result<(RequestSender, ResponseStream), Error> {
    let (sender, requests) = mpsc::channel(STREAM_QUEUE);
    let (reading, reader) = oneshot::channel();
    let body = Body::new(message::StreamBody::new(first, requests, reader));
    let (request, generation) = request(connection, path, routing, body)
        .await
        .map_err(|e| describe(e, path, routing.value))?;
    let opening = {
        let connection = connection.clone();
        let channel = channel.clone();
        Box::pin(async move {
            let response = send(&connection, channel, request).await?;
            ResponseStream::open(&connection, response, max_message)
        })
    };
    let responses = ResponseStream {
        connection: connection.clone(),
        state: State::Opening(opening),
        reading: Some(reading),
        about: Some(About {
            path,
            resource: routing.value.to_owned(),
            generation,
        }),
    };
    Ok((RequestSender(sender), responses))
}

/// Sends further requests on a stream. When all clones are gone the stream's sending half ends.
#[derive(Debug, Clone)]
pub struct RequestSender(mpsc::Sender<Bytes>);

impl RequestSender {
    /// Sends one encoded request. Never waits: when the connection does not take requests or the
    /// stream has ended, it fails with `UNAVAILABLE`.
    pub fn send(&self, request: Bytes) -> Result<(), Error> {
        self.0.try_send(request).map_err(|e| {
            let why = match e {
                mpsc::error::TrySendError::Full(_) => "the connection takes no more requests",
                mpsc::error::TrySendError::Closed(_) => "the stream has ended",
            };
            Error::new(Code::Unavailable, why)
        })
    }
}

/// The answers of a stream. Dropping it ends the stream at once.
pub struct ResponseStream {
    connection: Connection,
    state: State,
    /// Ends the request's half when it is dropped.
    reading: Option<oneshot::Sender<Infallible>>,
    about: Option<About>,
}

type Opening = Pin<Box<dyn Future<Output = Result<ResponseStream, Error>> + Send>>;

enum State {
    Opening(Opening),
    Open(Box<Open>),
    Ended,
}

struct Open {
    body: Body,
    deframer: Deframer,
    /// What came in the trailers; the messages before them are answered first.
    end: Option<Result<(), Error>>,
    /// When the next frame was first waited for.
    silent_since: Option<Instant>,
}

struct About {
    path: &'static str,
    resource: String,
    generation: u64,
}

impl ResponseStream {
    fn open(
        connection: &Connection,
        response: Response<Body>,
        max_message: usize,
    ) -> Result<Self, Error> {
        let (parts, body) = response.into_parts();
        // A status in the headers means that there is nothing else.
        let end = from_trailers_only(&parts)?;
        if end.is_none() {
            status::check_response(parts.status, &parts.headers)?;
        }
        Ok(Self {
            connection: connection.clone(),
            state: State::Open(Box::new(Open {
                body,
                deframer: Deframer::new(max_message),
                end,
                silent_since: None,
            })),
            reading: None,
            about: None,
        })
    }

    /// The next message; `None` after the server ended the stream with status `OK`.
    ///
    /// Errors end the stream; whether to open it again is for
    /// [`retryable_stream`](crate::retry::retryable_stream) to say. Refused credentials are renewed,
    /// for the next stream, and the error [says so](Error::is_renewed). Cancel safe: nothing is lost
    /// when the future is dropped.
    pub async fn next(&mut self) -> Result<Option<WireMessage>, Error> {
        let result = self.next_message().await;
        if !matches!(result, Ok(Some(_))) {
            self.reading = None;
        }
        match (result, &self.about) {
            (Err(e), Some(about)) => {
                let e = judged(&self.connection, e, about.generation);
                Err(describe(e, about.path, &about.resource))
            }
            (result, _) => result,
        }
    }

    async fn next_message(&mut self) -> Result<Option<WireMessage>, Error> {
        loop {
            match &mut self.state {
                State::Opening(opening) => {
                    let opened = opening.await;
                    self.state = State::Ended;
                    self.state = opened?.state;
                }
                State::Open(open) => match open.next(&self.connection).await {
                    Ok(Some(message)) => return Ok(Some(message)),
                    end => {
                        self.state = State::Ended;
                        return end;
                    }
                },
                State::Ended => return Ok(None),
            }
        }
    }
}

impl std::fmt::Debug for ResponseStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.state {
            State::Opening(_) => "ResponseStream(opening)",
            State::Open(_) => "ResponseStream(open)",
            State::Ended => "ResponseStream(ended)",
        })
    }
}

impl Open {
    async fn next(&mut self, connection: &Connection) -> Result<Option<WireMessage>, Error> {
        loop {
            if let Some(message) = self.deframer.next()? {
                return Ok(Some(message));
            }
            if let Some(end) = self.end.take() {
                end?;
                self.deframer.finish()?;
                return Ok(None);
            }
            let since = *self.silent_since.get_or_insert_with(Instant::now);
            let frame = self.body.frame().await;
            self.silent_since = None;
            match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.deframer.push(data),
                    Err(frame) => {
                        let status = frame.trailers_ref().and_then(status::from_headers);
                        self.end = Some(status.unwrap_or_else(|| Err(no_status())));
                    }
                },
                Some(Err(e)) => {
                    connection.closed_in_silence(since.elapsed());
                    return Err(transport_error(connection, &e));
                }
                // Among others, this is how a reset without an error looks.
                None => return Err(no_status()),
            }
        }
    }
}

fn from_trailers_only(parts: &http::response::Parts) -> Result<Option<Result<(), Error>>, Error> {
    match status::from_headers(&parts.headers) {
        Some(Err(e)) => Err(e),
        other => Ok(other),
    }
}

fn no_status() -> Error {
    Error::unanswered(
        Code::Unavailable,
        "the server ended the call without a status",
    )
}

async fn request(
    connection: &Connection,
    path: &'static str,
    routing: Routing<'_>,
    body: Body,
) -> Result<(Request<Body>, u64), Error> {
    let mut headers = HeaderMap::with_capacity(10);
    headers.insert(TE, HeaderValue::from_static("trailers"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(ROUTING, routing.header()?);
    let generation = connection.authorize(&mut headers).await?;
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    *request.version_mut() = http::Version::HTTP_2;
    *request.uri_mut() = http::Uri::from_static(path);
    *request.headers_mut() = headers;
    Ok((request, generation))
}

async fn send(
    connection: &Connection,
    mut channel: Channel,
    request: Request<Body>,
) -> Result<Response<Body>, Error> {
    let result = match channel.ready().await {
        Ok(channel) => channel.call(request).await,
        Err(e) => Err(e),
    };
    result.map_err(|e| transport_error(connection, &e))
}

fn describe(error: Error, path: &'static str, resource: &str) -> Error {
    let error = match path.rsplit_once('/') {
        Some((_, method)) => error.with_operation(method),
        None => error,
    };
    match error.resource() {
        Some(_) => error,
        None => error.with_resource(resource),
    }
}

/// At most eight digits and a unit, as gRPC's wire format has it.
fn grpc_timeout(timeout: Duration) -> HeaderValue {
    let millis = timeout.as_millis().clamp(1, 99_999_999);
    HeaderValue::try_from(format!("{millis}m")).expect("digits and a letter make a header value")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_routing_header_escapes_the_resource() {
        let routing = Routing::new("topic", "projects/a.com:p/topics/t-1_~é");
        assert_eq!(
            routing.header().unwrap(),
            "topic=projects%2Fa.com%3Ap%2Ftopics%2Ft-1_~%C3%A9"
        );
    }

    #[test]
    fn the_timeout_header_keeps_its_limits() {
        assert_eq!(grpc_timeout(Duration::from_secs(60)), "60000m");
        assert_eq!(grpc_timeout(Duration::ZERO), "1m");
        assert_eq!(grpc_timeout(Duration::MAX), "99999999m");
    }
}
