//! The task behind one StreamingPull stream: opens it, reads while there is room, opens it again.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use super::Shared;
use super::split::{Response, Split};
use crate::connect::Windows;
use crate::error::Error;
use crate::grpc::{self, DEFAULT_MAX_MESSAGE, RequestSender, Routing, WireMessage};
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

/// Why a stream is left.
enum End {
    Closed,
    /// Nothing was read for a good part of a lease.
    LetGo,
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
    let mut never_connected_since = Some(Instant::now());
    loop {
        if !stream.wait_for_room().await {
            return;
        }
        let opened = Instant::now();
        let (end, responses) = stream.pull().await;
        let good = responses > 0 || opened.elapsed() >= GOOD_STREAM;
        if good {
            backoff.reset();
            never_connected_since = None;
        }
        let subscription = &stream.split.subscription;
        match end {
            End::Closed => return,
            End::LetGo => {
                tracing::debug!(%subscription, "let go of a stream that nobody reads");
                continue;
            }
            End::Failed(error) => {
                let too_long = never_connected_since
                    .is_some_and(|since| since.elapsed() >= stream.split.options.connect_limit);
                if !retry::retryable_stream(error.code()) || too_long {
                    stream.shared.fail(error);
                    return;
                }
                tracing::debug!(%subscription, %error, "the stream ended, will open it again");
            }
            End::Clean => tracing::debug!(%subscription, "the server ended the stream"),
            End::Silent => tracing::debug!(%subscription, "the stream was silent for long"),
        }
        stream.split.counters.reconnects.add(1);
        let wait = backoff.next(retry::random());
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stream.closed() => return,
        }
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

    /// `false` when the split was closed meanwhile.
    async fn wait_for_room(&mut self) -> bool {
        let split = Arc::clone(&self.split);
        loop {
            let changed = split.changed.notified();
            tokio::pin!(changed);
            // Registered before the look, so that no change is missed.
            changed.as_mut().enable();
            match self.room() {
                Room::Read => return true,
                Room::Closed => return false,
                Room::Wait => changed.await,
            }
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

    /// Reads one stream to its end; tells how many responses it had.
    async fn pull(&mut self) -> (End, u64) {
        let mut responses = 0;
        let end = self.read(&mut responses).await;
        (end.unwrap_or_else(End::Failed), responses)
    }

    async fn read(&mut self, responses: &mut u64) -> Result<End, Error> {
        let split = Arc::clone(&self.split);
        let told = split.lease();
        let mut lease = StreamLease { told, sure: told };
        let channel = split.connection.stream_channel(Windows::SPEED);
        let (requests, mut stream) = grpc::open_stream(
            &split.connection,
            &channel,
            STREAMING_PULL,
            Routing::new("subscription", &split.subscription),
            self.first_request(told),
            DEFAULT_MAX_MESSAGE,
        )
        .await?;
        let clock = &split.clock;
        let idle_limit = split.options.idle_stream_timeout.as_millis() as Millis;
        let mut keepalive = clock.now() + KEEPALIVE;
        let mut heard = clock.now();
        let mut waiting: Option<Millis> = None;
        loop {
            let changed = split.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
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
                    self.keep_alive(&requests, &mut lease)?;
                }
            }
        }
    }

    async fn take(&mut self, message: WireMessage, lease: Millis) -> Result<(), Error> {
        let split = &self.split;
        let outline = scan::outline(&message.frames).map_err(|e| split.unreadable(&e))?;
        if let Some(properties) = outline.properties {
            split.set_exactly_once(properties.exactly_once);
            if split.options.ordering && !properties.ordering {
                return Err(Error::new(
                    tonic::Code::FailedPrecondition,
                    "order per key is wanted, but message ordering is not enabled on the subscription",
                )
                .with_resource(split.subscription.as_ref()));
            }
        }
        if outline.messages == 0 {
            return Ok(());
        }
        let at_bound = self.at_bound();
        let received = split.clock.now();
        split
            .receive(Response {
                frames: message.frames,
                len: message.len,
                messages: outline.messages,
                received,
                lease: received + lease,
                first: None,
            })
            .await?;
        self.over |= at_bound;
        self.shared.stand_in_line(&self.split);
        Ok(())
    }

    fn first_request(&self, lease: Millis) -> Bytes {
        let options = &self.split.options;
        let streams = u64::from(options.parallel_pull_count);
        let mut out = BytesMut::with_capacity(256);
        wire::put_bytes(&mut out, 1, self.split.subscription.as_bytes());
        wire::put_int(&mut out, 5, lease / 1_000);
        wire::put_bytes(&mut out, 6, self.client_id.as_bytes());
        // The service bounds a stream, the option a split.
        wire::put_int(
            &mut out,
            7,
            options.max_outstanding_messages.div_ceil(streams),
        );
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
