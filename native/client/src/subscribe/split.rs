//! One split: a consumer of one subscription. Its streams put responses into the buffer, Java takes them out, and the
//! ledger knows what became of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::Shared;
use super::acks::AckCaller;
use super::buffer::{Buffer, Response};
use super::counters::Counters;
use super::options::SubscriberOptions;
use super::pending::Pending;
use crate::clock::Clock;
use crate::connect::Connection;
use crate::error::Error;
use crate::lease::{LeasePolicy, MIN_LEASE, Millis};
use crate::ledger::{Ledger, Totals};
use crate::scan::{self, ScanError};
use crate::unconfirmed::UnconfirmedAcks;

/// See the module.
#[derive(Debug)]
pub(crate) struct Split {
    pub number: u32,
    pub subscription: Arc<str>,
    pub options: Arc<SubscriberOptions>,
    pub connection: Connection,
    pub counters: Arc<Counters>,
    /// Locked before `ledger` where both are.
    buffer: Mutex<Buffer>,
    ledger: Mutex<Ledger>,
    unconfirmed: Mutex<UnconfirmedAcks>,
    pub acks: Arc<AckCaller>,
    /// Streams that are open.
    pub streams: Arc<Pending>,
    /// Wakes the streams: there may be room again, or the split was paused, resumed or closed.
    pub changed: Notify,
    /// The service said that acks of this subscription are answered id by id.
    exactly_once: AtomicBool,
    confirming: tokio::sync::Mutex<()>,
    /// Messages were given back, and those that follow them in their keys may be on their way.
    reopen: AtomicBool,
    pub clock: Clock,
    /// Fails with what a task of this split panics with.
    pub owner: Weak<Shared>,
}

impl Split {
    pub(crate) fn new(
        number: u32,
        subscription: &str,
        options: Arc<SubscriberOptions>,
        connection: Connection,
        counters: Arc<Counters>,
        clock: Clock,
        owner: Weak<Shared>,
    ) -> Self {
        let subscription: Arc<str> = subscription.into();
        let request_timeout = options.request_timeout;
        Self {
            number,
            acks: Arc::new(AckCaller::new(
                connection.clone(),
                Arc::clone(&subscription),
                request_timeout,
            )),
            connection,
            counters,
            buffer: Mutex::default(),
            ledger: Mutex::new(match options.ordering {
                true => Ledger::ordered(&subscription),
                false => Ledger::new(&subscription),
            }),
            unconfirmed: Mutex::default(),
            subscription,
            streams: Arc::default(),
            changed: Notify::new(),
            exactly_once: AtomicBool::new(false),
            confirming: tokio::sync::Mutex::default(),
            reopen: AtomicBool::new(false),
            options,
            clock,
            owner,
        }
    }

    pub(crate) fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn unconfirmed(&self) -> MutexGuard<'_, UnconfirmedAcks> {
        let lock = self.unconfirmed.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.buffer().closed
    }

    pub(crate) fn is_exactly_once(&self) -> bool {
        self.exactly_once.load(Ordering::Relaxed)
    }

    pub(crate) fn set_exactly_once(&self, exactly_once: bool) {
        self.exactly_once.store(exactly_once, Ordering::Relaxed);
    }

    /// The lease for messages that arrive or are extended now.
    pub(crate) fn lease(&self) -> Millis {
        let exactly_once = self.is_exactly_once();
        let lease = (self.options.leases).lease(self.ledger().holds(), exactly_once);
        // What an exactly-once subscription wants is more than this bound may ask for.
        match exactly_once {
            true => lease,
            false => lease.min((self.ceiling() / 1_000 * 1_000).max(MIN_LEASE)),
        }
    }

    /// How long after its arrival a message is leased at most.
    fn ceiling(&self) -> Millis {
        self.options.max_ack_extension.as_millis() as Millis
    }

    /// Leased and unacknowledged, fetched or not.
    pub(crate) fn outstanding(&self) -> Totals {
        let buffer = self.buffer();
        let mut totals = self.ledger().outstanding();
        totals.messages += buffer.unregistered;
        totals.bytes += buffer
            .responses
            .iter()
            .filter(|response| response.first.is_none())
            .map(|response| response.len as u64)
            .sum::<u64>();
        totals
    }

    /// What `response` holds goes into the ledger before Java asks for it.
    fn register(&self, response: &mut Response) -> Result<(), ScanError> {
        if response.first.is_some() {
            return Ok(());
        }
        let bytes = response.contiguous();
        let mut ledger = self.ledger();
        response.first = Some(ledger.next_sequence());
        register(&mut ledger, response, &bytes, true)
    }

    /// Registers what is buffered, in its order, up to the last response that `wanted` accepts. `false` when this cannot
    /// be done just now.
    fn register_buffered(&self, wanted: impl Fn(&Response) -> bool) -> Result<bool, ScanError> {
        self.register_of(&mut self.buffer(), wanted)
    }

    fn register_of(
        &self,
        buffer: &mut Buffer,
        wanted: impl Fn(&Response) -> bool,
    ) -> Result<bool, ScanError> {
        if buffer.fetching {
            return Ok(false);
        }
        let Some(last) = buffer
            .responses
            .iter()
            .rposition(|response| response.first.is_none() && wanted(response))
        else {
            return Ok(true);
        };
        for at in 0..=last {
            if buffer.responses[at].first.is_none() {
                self.register(&mut buffer.responses[at])?;
                buffer.unregistered -= u64::from(buffer.responses[at].messages);
            }
        }
        Ok(true)
    }

    /// What was fetched is in the ledger.
    pub(crate) fn fetch_ended(self: &Arc<Self>) {
        let mut buffer = self.buffer();
        buffer.fetching = false;
        if buffer.closed {
            self.put_away(&mut buffer);
        }
        let give_back = buffer.give_back.take();
        drop(buffer);
        if let Some((all, _pending)) = give_back {
            self.give_back_held(all);
        }
        // Somebody may wait to have a response confirmed.
        if self.is_exactly_once() || self.confirming.try_lock().is_err() {
            self.changed.notify_waiters();
        }
    }

    /// Puts a response that was received at once, and under an exactly-once subscription only after the service has
    /// confirmed that its leases are ours.
    pub(crate) async fn receive(self: &Arc<Self>, response: Response) -> Result<(), Error> {
        self.counters.received.add(u64::from(response.messages));
        let Some(mut response) = self.store_at_once(response)? else {
            return Ok(());
        };
        // One response after the other: their order in the ledger is their order in the buffer.
        let _turn = self.confirming.lock().await;
        self.register_all_buffered().await?;
        self.confirm_leases(&mut response).await?;
        self.send_late_acks();
        let mut buffer = self.buffer();
        let sets = match (self.reopens(), response.first) {
            (true, Some(first)) => self.ledger().nack_from(first),
            _ => Vec::new(),
        };
        self.store(&mut buffer, response);
        drop(buffer);
        self.spawn_nacks(sets);
        Ok(())
    }

    /// Stores `response` if it needs no confirmation, and gives it back if it does.
    ///
    /// What another stream is having confirmed is in the ledger already and will be stored before it, also when the
    /// subscription has just become, or is no longer, exactly-once.
    fn store_at_once(self: &Arc<Self>, response: Response) -> Result<Option<Response>, Error> {
        // Looked at under the lock that whoever confirms has to take, to register what is stored here.
        let mut buffer = self.buffer();
        if self.is_exactly_once() || self.confirming.try_lock().is_err() {
            return Ok(Some(response));
        }
        if self.reopens() {
            drop(buffer);
            let given_back = self.give_back_received(response);
            given_back.map_err(|e| self.unreadable(&e))?;
        } else {
            self.store(&mut buffer, response);
        }
        Ok(None)
    }

    /// Sequence numbers follow the order of the buffer, so everything before a new response is registered first.
    async fn register_all_buffered(&self) -> Result<(), Error> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self
                .register_buffered(|_| true)
                .map_err(|e| self.unreadable(&e))?
            {
                return Ok(());
            }
            changed.await;
        }
    }

    /// Gives back what was received and shall not be emitted.
    pub(crate) fn give_back(self: &Arc<Self>, response: Response) -> Result<(), ScanError> {
        self.counters.received.add(u64::from(response.messages));
        self.give_back_received(response)
    }

    fn give_back_received(self: &Arc<Self>, mut response: Response) -> Result<(), ScanError> {
        let bytes = response.contiguous();
        let mut ledger = self.ledger();
        let first = ledger.next_sequence();
        let registered = register(&mut ledger, &response, &bytes, false);
        let sets = ledger.nack_from(first);
        drop(ledger);
        self.spawn_nacks(sets);
        self.send_late_acks();
        registered
    }

    fn store(&self, buffer: &mut Buffer, response: Response) {
        buffer.push(response);
        if buffer.closed {
            self.put_away(buffer);
        }
    }

    /// The ledger alone knows what nobody will fetch, until it is given back. While a fetch runs, its messages come
    /// first: then this is done at the fetch's end.
    fn put_away(&self, buffer: &mut Buffer) {
        // Unreadable responses have no ids to give back; their leases run out.
        if self.register_of(buffer, |_| true).unwrap_or(true) {
            while buffer.pop().is_some() {}
        }
    }

    async fn confirm_leases(self: &Arc<Self>, response: &mut Response) -> Result<(), Error> {
        // The stream was opened before it was known that these leases have to be longer.
        let lease = self.lease();
        response.lease = response.received + lease;
        self.register(response).map_err(|e| self.unreadable(&e))?;
        let first = response.first.unwrap_or_default();
        let sets = self.ledger().ids_from(first);
        let mut all_ours = true;
        for set in sets {
            let limit = Duration::from_millis(lease);
            let answer = self.acks.extend(&set, (lease / 1_000) as u32, limit).await;
            if !answer.failed.is_empty() {
                tracing::debug!(
                    subscription = %self.subscription,
                    messages = answer.failed.len(),
                    "deliveries that were not confirmed will come again"
                );
                if self.options.ordering {
                    all_ours = false;
                } else {
                    self.ledger().disown(&answer.failed);
                }
            }
        }
        if !all_ours {
            // What follows in the keys must not come before what is not ours, so all of it is given back.
            self.reopen.store(true, Ordering::Relaxed);
            let sets = self.ledger().nack_from(first);
            self.spawn_nacks(sets);
        }
        Ok(())
    }

    pub(crate) fn unreadable(&self, error: &ScanError) -> Error {
        Error::new(tonic::Code::DataLoss, error.to_string())
            .with_resource(self.subscription.as_ref())
    }

    /// Extends the leases that are due and frees those that have run out.
    pub(crate) fn tend_leases(self: &Arc<Self>) -> Result<(), Error> {
        let (now, lease) = (self.clock.now(), self.lease());
        let margin = LeasePolicy::margin(lease);
        self.register_buffered(|response| response.lease < now + margin)
            .map_err(|e| self.unreadable(&e))?;
        let ceiling = self.ceiling();
        let extensions = self.ledger().extend(now, margin, lease, ceiling);
        for (seconds, set) in extensions {
            self.spawn_extend(set, seconds, true);
        }
        let extensions = self.unconfirmed().extend(now, margin, lease, ceiling);
        for (seconds, set) in extensions {
            self.spawn_extend(set, seconds, false);
        }
        let messages = self.expire(now).map_err(|e| self.unreadable(&e))?;
        if messages > 0 {
            tracing::warn!(subscription = %self.subscription, messages, "leases have run out, their messages will come again");
            self.drop_expired();
            self.changed.notify_waiters();
        }
        self.send_late_acks();
        Ok(())
    }

    /// Frees what is no longer leased, and tells how many messages.
    ///
    /// Where order per key is wanted and one of them was not fetched, nothing behind it may be emitted before it comes
    /// again: all that was not fetched is given back, and so is what is on its way.
    fn expire(self: &Arc<Self>, now: Millis) -> Result<u64, ScanError> {
        if !self.options.ordering {
            return Ok(self.ledger().expire(now).messages);
        }
        let mut buffer = self.buffer();
        if buffer.fetching {
            // What is on its way to Java stays in front of what is not; the next look is soon enough.
            return Ok(0);
        }
        let expired = self.ledger().expire(now);
        if let Some(first) = expired.first_unfetched {
            self.reopen.store(true, Ordering::Relaxed);
            self.register_of(&mut buffer, |_| true)?;
            let sets = self.ledger().nack_from(first);
            drop(buffer);
            self.spawn_nacks(sets);
        }
        Ok(expired.messages)
    }

    /// Whether what arrives now is to be given back: it came on a stream that is to be left. To be asked under the lock of
    /// the buffer.
    fn reopens(&self) -> bool {
        self.reopen.load(Ordering::Relaxed)
    }

    /// Whether the stream is to be left and opened anew, told once.
    pub(crate) fn take_reopen(&self) -> bool {
        self.reopen.swap(false, Ordering::Relaxed)
    }

    /// Payloads that nobody will emit need no memory.
    fn drop_expired(&self) {
        let mut buffer = self.buffer();
        let ledger = self.ledger();
        let responses = std::mem::take(&mut buffer.responses);
        let (mut bytes, mut messages) = (0, 0);
        buffer.responses = responses
            .into_iter()
            .filter(|response| {
                let dead = response.first.is_some_and(|first| {
                    (first..first + u64::from(response.messages)).all(|at| ledger.is_dead(at))
                });
                if dead {
                    bytes += response.len as u64;
                    messages += u64::from(response.messages);
                }
                !dead
            })
            .collect();
        buffer.bytes -= bytes;
        buffer.messages -= messages;
    }

    /// Stops the streams; nothing is fetched any more.
    pub(crate) fn stop(&self) {
        let mut buffer = self.buffer();
        buffer.closed = true;
        self.put_away(&mut buffer);
        drop(buffer);
        self.changed.notify_waiters();
    }

    /// Gives back what Java does not have, and with `all` also what it has and no checkpoint has decided.
    ///
    /// To be called when the streams have ended: what is given back comes again at once, where a stream is open.
    pub(crate) fn give_back_held(self: &Arc<Self>, all: bool) {
        let sets = {
            let mut buffer = self.buffer();
            if buffer.fetching {
                // The ledger does not know yet what is on its way to Java.
                let all = all || matches!(buffer.give_back, Some((true, _)));
                buffer.give_back = Some((all, self.acks.pending.begin()));
                return;
            }
            let mut ledger = self.ledger();
            if all {
                ledger.nack_all()
            } else {
                ledger.nack_unfetched()
            }
        };
        self.spawn_nacks(sets);
        self.send_late_acks();
    }
}

fn register(
    ledger: &mut Ledger,
    response: &Response,
    bytes: &[u8],
    to_emit: bool,
) -> Result<(), ScanError> {
    let messages = response.messages as usize;
    let mut registration = ledger.register(messages, response.received, response.lease);
    if !to_emit {
        registration.not_to_emit();
    }
    scan::scan(bytes, |found| {
        let (ack_id, message_id) = (found.ack_id.of(bytes), found.message_id.of(bytes));
        let (key, published) = (found.ordering_key.of(bytes), found.published());
        registration.push_keyed(ack_id, message_id, found.message.len, key, published);
    })
}
