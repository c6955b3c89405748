//! The task behind one StreamingPull stream: opens it, reads while there is room, opens it again.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;
use tonic::Code;

use super::Shared;
use super::buffer::Response;
use super::split::Split;
use super::trouble::Trouble;
use crate::connect::Windows;
use crate::error::Error;
use crate::grpc::{self, DEFAULT_MAX_MESSAGE, RequestSender, ResponseStream, Routing, WireMessage};
use crate::lease::{MIN_LEASE, Millis};
use crate::retry::{self, Backoff, BackoffPolicy};
use crate::scan;
use crate::wire;

const STREAMING_PULL: &str = "/google.pubsub.v1.Subscriber/StreamingPull";

const BACKOFF: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(100),
    multiplier: 2.0,
    max: Duration::from_secs(30),
};

/// How often the stream says that it is there, and follows the lease. Google's clients use the same.
const KEEPALIVE: Millis = 30_000;

/// A stream that lived for so long was a good one: the backoff starts anew.
const GOOD_STREAM: Duration = Duration::from_secs(10);

/// A stream that lived for so long was not refused when it was opened: a refusal comes before, even
/// when making the connection has taken all of its time.
const LET_IN: Duration = Duration::from_secs(60);

/// A stream that is left for good is read for so long at the most, and so long after its last response, to give back
/// what is on its way: it is leased already.
const DRAIN: Duration = Duration::from_millis(500);
const DRAIN_QUIET: Duration = Duration::from_millis(100);

/// What a stream is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To read.
    Read,
    /// To notice a fatal error while there is no room to read: it asks for a single message, which is held.
    Watch,
}

/// What became of a stream.
struct Pulled {
    end: End,
    responses: u64,
    /// Since its first request.
    lived: Duration,
}

/// Why a stream is left.
enum End {
    Closed,
    /// Nothing was read for a good part of a lease.
    LetGo,
    /// There is room to read again.
    Resumed,
    /// Messages were given back that come again in their order on a new stream only.
    GaveBack,
    /// The server sends a watching stream more than it asked for.
    Flooded,
    /// The server ended it cleanly.
    Clean,
    /// Silent for too long.
    Silent,
    Failed(Error),
}

/// What the reader may do now.
enum Room {
    Read,
    Wait,
    Closed,
}

pub(crate) async fn run(shared: Arc<Shared>, split: Arc<Split>, number: u32) {
    let client_id = format!(
        "{}-{}-{number}",
        split.options.client_id_prefix, split.number
    );
    let mut stream = Stream {
        shared,
        split,
        client_id,
        over: false,
    };
    let mut backoff = Backoff::new(BACKOFF);
    let mut trouble = Trouble::default();
    // The last stream was refused for its credentials.
    let mut refused = false;
    let mut never_connected_since = Some(Instant::now());
    // Whether this server takes a watching stream for what it is.
    let mut may_watch = true;
    loop {
        let purpose = match stream.room() {
            Room::Closed => return,
            Room::Read => Purpose::Read,
            Room::Wait if may_watch => Purpose::Watch,
            Room::Wait => {
                stream.wait_for_room().await;
                continue;
            }
        };
        let opened = Instant::now();
        let Pulled {
            end,
            responses,
            lived,
        } = stream.pull(purpose).await;
        // A connection that is not made takes long, too, where packets are dropped.
        let connected = !matches!(&end, End::Failed(error) if error.is_connect());
        let good = responses > 0 || connected && lived >= GOOD_STREAM;
        if good {
            backoff.reset();
            trouble.over();
            never_connected_since = None;
        }
        refused &= responses == 0 && lived < LET_IN;
        let subscription = &stream.split.subscription;
        match end {
            End::Closed => return,
            End::LetGo => {
                tracing::debug!(%subscription, "let go of a stream that nobody reads");
                continue;
            }
            End::Resumed => continue,
            End::GaveBack => {
                tracing::debug!(%subscription, "opens the stream anew to keep the order of keys");
                stream.wait(&mut backoff).await;
                continue;
            }
            End::Flooded => {
                may_watch = false;
                continue;
            }
            End::Failed(mut error) => {
                if error.is_renewed() {
                    if !refused {
                        refused = true;
                        tracing::debug!(%subscription, %error, "will open the stream again with a fresh token");
                        stream.split.counters.reconnects.add(1);
                        continue;
                    }
                    let text = error.message().trim_end_matches('.');
                    let text = format!("{text}; a fresh token was refused as well");
                    error = error.with_message(text);
                }
                let too_long = never_connected_since
                    .is_some_and(|since| since.elapsed() >= stream.split.options.connect_limit);
                if !retry::retryable_stream(error.code()) || too_long {
                    stream.shared.fail(error);
                    return;
                }
                match trouble.failed(opened, Instant::now()) {
                    None => {
                        tracing::debug!(%subscription, %error, "the stream ended, will open it again")
                    }
                    Some(time) => {
                        tracing::warn!(%subscription, %error, seconds = time.as_secs(), "there has been no stream for long, still trying")
                    }
                }
            }
            End::Clean => tracing::debug!(%subscription, "the server ended the stream"),
            End::Silent => tracing::debug!(%subscription, "the stream was silent for long"),
        }
        stream.split.counters.reconnects.add(1);
        stream.wait(&mut backoff).await;
    }
}

struct Stream {
    shared: Arc<Shared>,
    split: Arc<Split>,
    client_id: String,
    /// The server sent more than the outstanding bounds allow.
    over: bool,
}

impl Stream {
    /// Whether there is room to read. The server keeps the outstanding bounds, so at a bound reading goes on until
    /// something comes in spite of it.
    fn room(&mut self) -> Room {
        let (closed, paused, full) = {
            let buffer = self.split.buffer();
            let full = buffer.bytes >= self.split.options.max_buffered_bytes;
            (buffer.closed, buffer.paused, full)
        };
        if closed {
            return Room::Closed;
        }
        self.over &= self.at_bound();
        if paused || full || self.over {
            Room::Wait
        } else {
            Room::Read
        }
    }

    fn at_bound(&self) -> bool {
        let options = &self.split.options;
        let unregistered = self.split.buffer().unregistered;
        let totals = self.split.ledger().outstanding();
        totals.messages + unregistered >= options.max_outstanding_messages
            || totals.bytes >= options.max_outstanding_bytes
    }

    async fn wait_for_room(&mut self) {
        let split = Arc::clone(&self.split);
        loop {
            let changed = split.changed.notified();
            tokio::pin!(changed);
            // Registered before the look, so that no change is missed.
            changed.as_mut().enable();
            match self.room() {
                Room::Read | Room::Closed => return,
                Room::Wait => changed.await,
            }
        }
    }

    async fn wait(&self, backoff: &mut Backoff) {
        let wait = backoff.next(retry::random());
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.closed() => {}
        }
    }

    async fn closed(&self) {
        loop {
            let changed = self.split.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.split.is_closed() {
                return;
            }
            changed.await;
        }
    }

    /// Reads one stream to its end.
    async fn pull(&mut self, purpose: Purpose) -> Pulled {
        let mut responses = 0;
        let mut sent = None;
        let end = self.open(purpose, &mut sent, &mut responses).await;
        Pulled {
            end: end.unwrap_or_else(End::Failed),
            responses,
            lived: sent.map_or(Duration::ZERO, |sent: Instant| sent.elapsed()),
        }
    }

    /// `sent` is when the first request was: the wait for a token is no part of a stream's life.
    async fn open(
        &mut self,
        purpose: Purpose,
        sent: &mut Option<Instant>,
        responses: &mut u64,
    ) -> Result<End, Error> {
        let split = Arc::clone(&self.split);
        let _open = split.streams.begin();
        // Whoever closes waits for the streams that are open; this one may have begun just after.
        if split.is_closed() {
            return Ok(End::Closed);
        }
        split.take_reopen();
        let told = split.lease();
        let mut lease = StreamLease { told, sure: told };
        let channel = split.connection.stream_channel(Windows::SPEED);
        let (requests, mut stream) = grpc::open_stream(
            &split.connection,
            &channel,
            STREAMING_PULL,
            Routing::new("subscription", &split.subscription),
            self.first_request(told, purpose),
            DEFAULT_MAX_MESSAGE,
        )
        .await?;
        *sent = Some(Instant::now());
        let end = match purpose {
            Purpose::Read => {
                self.read(&requests, &mut stream, &mut lease, responses)
                    .await?
            }
            Purpose::Watch => {
                self.watch(&requests, &mut stream, &mut lease, responses)
                    .await?
            }
        };
        if !matches!(end, End::Clean) {
            // Without its sending half the server delivers nothing more on the stream and ends it.
            drop(requests);
            let left = self.drain(&mut stream, lease).await;
            // What is given back while the stream is open comes again on it.
            drop(stream);
            for response in left {
                split
                    .give_back(response)
                    .map_err(|e| split.unreadable(&e))?;
            }
        }
        Ok(end)
    }

    /// Holds a stream while there is no room.
    async fn watch(
        &mut self,
        requests: &RequestSender,
        stream: &mut ResponseStream,
        lease: &mut StreamLease,
        responses: &mut u64,
    ) -> Result<End, Error> {
        let split = Arc::clone(&self.split);
        let mut keepalive = split.clock.now() + KEEPALIVE;
        let mut held = 0;
        loop {
            let changed = split.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if split.take_reopen() {
                return Ok(End::GaveBack);
            }
            match self.room() {
                Room::Closed => return Ok(End::Closed),
                Room::Read => return Ok(End::Resumed),
                Room::Wait => {}
            }
            tokio::select! {
                biased;
                next = stream.next() => {
                    let Some(message) = next? else { return Ok(End::Clean) };
                    *responses += 1;
                    held += self.take(message, lease.sure).await?;
                    if held > 1 {
                        return Ok(End::Flooded);
                    }
                }
                () = changed => {}
                () = split.clock.sleep_until(keepalive) => {
                    keepalive = split.clock.now() + KEEPALIVE;
                    self.keep_alive(requests, lease)?;
                }
            }
        }
    }

    /// Takes what is on its way. What goes wrong here only means that leases have to run out.
    async fn drain(&self, stream: &mut ResponseStream, lease: StreamLease) -> Vec<Response> {
        let end = Instant::now() + DRAIN;
        let mut left = Vec::new();
        while Instant::now() < end
            && let Ok(Ok(Some(message))) = tokio::time::timeout(DRAIN_QUIET, stream.next()).await
            && let Ok(outline) = scan::outline(&message.frames)
        {
            left.push(self.response(message, outline.messages, lease.sure));
        }
        left
    }

    async fn read(
        &mut self,
        requests: &RequestSender,
        stream: &mut ResponseStream,
        lease: &mut StreamLease,
        responses: &mut u64,
    ) -> Result<End, Error> {
        let split = Arc::clone(&self.split);
        let clock = &split.clock;
        let idle_limit = split.options.idle_stream_timeout.as_millis() as Millis;
        let mut keepalive = clock.now() + KEEPALIVE;
        let mut heard = clock.now();
        let mut waiting: Option<Millis> = None;
        loop {
            let changed = split.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if split.take_reopen() {
                return Ok(End::GaveBack);
            }
            let read = match self.room() {
                Room::Closed => return Ok(End::Closed),
                Room::Read => {
                    if waiting.take().is_some() {
                        heard = clock.now();
                    }
                    true
                }
                Room::Wait => false,
            };
            let leave = match read {
                true => heard + idle_limit,
                false => *waiting.get_or_insert(clock.now()) + lease.sure / 2,
            };
            tokio::select! {
                biased;
                next = stream.next(), if read => {
                    let Some(message) = next? else { return Ok(End::Clean) };
                    *responses += 1;
                    heard = clock.now();
                    self.take(message, lease.sure).await?;
                }
                () = changed => {}
                () = clock.sleep_until(leave.min(keepalive)) => {
                    if clock.now() >= leave {
                        return Ok(if read { End::Silent } else { End::LetGo });
                    }
                    keepalive = clock.now() + KEEPALIVE;
                    self.keep_alive(requests, lease)?;
                }
            }
        }
    }

    /// Puts a response into the buffer; tells how many messages it has.
    async fn take(&mut self, message: WireMessage, lease: Millis) -> Result<u32, Error> {
        let split = &self.split;
        let outline = scan::outline(&message.frames).map_err(|e| split.unreadable(&e))?;
        if let Some(properties) = outline.properties {
            split.set_exactly_once(properties.exactly_once);
            if split.options.ordering && !properties.ordering {
                return Err(Error::new(
                    Code::FailedPrecondition,
                    "order per key is wanted, but message ordering is not enabled on the subscription",
                )
                .with_resource(split.subscription.as_ref()));
            }
        }
        if outline.messages == 0 {
            return Ok(0);
        }
        let at_bound = self.at_bound();
        let response = self.response(message, outline.messages, lease);
        split.receive(response).await?;
        self.over |= at_bound;
        self.shared.stand_in_line(&self.split);
        Ok(outline.messages)
    }

    fn response(&self, message: WireMessage, messages: u32, lease: Millis) -> Response {
        let received = self.split.clock.now();
        Response {
            frames: message.frames,
            len: message.len,
            messages,
            received,
            lease: received + lease,
            first: None,
        }
    }

    fn first_request(&self, lease: Millis, purpose: Purpose) -> Bytes {
        let options = &self.split.options;
        let streams = u64::from(options.parallel_pull_count);
        let mut out = BytesMut::with_capacity(256);
        wire::put_bytes(&mut out, 1, self.split.subscription.as_bytes());
        wire::put_int(&mut out, 5, lease / 1_000);
        wire::put_bytes(&mut out, 6, self.client_id.as_bytes());
        // The service bounds a stream, the option a split.
        let messages = match purpose {
            Purpose::Read => options.max_outstanding_messages.div_ceil(streams),
            Purpose::Watch => 1,
        };
        wire::put_int(&mut out, 7, messages);
        wire::put_int(&mut out, 8, options.max_outstanding_bytes.div_ceil(streams));
        out.freeze()
    }

    /// Sends a ping, with the lease where it has changed by much.
    fn keep_alive(&self, requests: &RequestSender, lease: &mut StreamLease) -> Result<(), Error> {
        // The server has had the time between two pings to take the last announcement.
        lease.sure = lease.told;
        let wanted = self.split.lease();
        if wanted.abs_diff(lease.told) < MIN_LEASE {
            return requests.send(Bytes::new());
        }
        lease.told = wanted;
        lease.sure = lease.sure.min(wanted);
        let mut out = BytesMut::with_capacity(8);
        wire::put_int(&mut out, 5, wanted / 1_000);
        requests.send(out.freeze())
    }
}

/// The ack deadline of a stream.
#[derive(Clone, Copy)]
struct StreamLease {
    /// What the server was told last.
    told: Millis,
    /// What a message that arrives now has at least.
    sure: Millis,
}
