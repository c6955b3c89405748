//! What goes out: to streams within their flow control, and to unary pulls.

use super::{Delivery, Subscription};
use crate::core::lease::{Lease, LeaseId, Place};
use crate::core::ordered::{Taker, Verdict};
use crate::core::stream::StreamId;
use crate::core::unordered::Queued;
use crate::time::Time;

impl Subscription {
    /// Takes what a stream may have now: at most `max_messages`, and no more once `max_bytes` are reached.
    pub fn take_for_stream(
        &mut self,
        id: StreamId,
        max_messages: usize,
        max_bytes: usize,
        now: Time,
    ) -> Vec<Delivery> {
        let Some(stream) = self.streams.get(id) else {
            return Vec::new();
        };
        if !stream.has_capacity() {
            return Vec::new();
        }
        let deadline = now.plus(stream.options.ack_deadline);
        let left = |max: Option<u64>, used| {
            max.map_or(usize::MAX, |max: u64| {
                usize::try_from(max.saturating_sub(used)).unwrap_or(usize::MAX)
            })
        };
        let mut limit = max_messages.min(left(stream.options.max_messages, stream.messages));
        let bytes = max_bytes.min(left(stream.options.max_bytes, stream.bytes));
        let takers = self.streams.with_capacity();
        if takers > 1 {
            // A fair share, so that the first to ask does not get everything.
            let ready = self.unordered.ready() + self.ordered.ready();
            limit = limit.min(ready.div_ceil(takers).max(1));
        }
        let deliveries = self.take(Taker::Stream(id), limit, bytes, deadline, now);
        if let Some(stream) = self.streams.get_mut(id) {
            stream.hungry = deliveries.is_empty();
        }
        deliveries
    }

    /// Takes what a unary pull may have now.
    pub fn take_for_pull(
        &mut self,
        max_messages: usize,
        max_bytes: usize,
        now: Time,
    ) -> Vec<Delivery> {
        self.last_active = now;
        let deadline = now.plus(self.settings.ack_deadline);
        self.take(Taker::Pull, max_messages, max_bytes, deadline, now)
    }

    fn take(
        &mut self,
        taker: Taker,
        limit: usize,
        max_bytes: usize,
        deadline: Time,
        now: Time,
    ) -> Vec<Delivery> {
        let mut out = Vec::new();
        let mut bytes = 0;
        let stream = match taker {
            Taker::Stream(id) => Some(id),
            Taker::Pull => None,
        };
        let oldest = self.oldest_kept(now);
        if self.settings.ordered {
            // Half of the room at most, when there are messages without a key as well.
            let keyed = if self.unordered.ready() > 0 {
                limit.div_ceil(2)
            } else {
                limit
            };
            let Subscription {
                ordered,
                leases,
                streams,
                ..
            } = self;
            while out.len() < keyed && bytes < max_bytes {
                let yields_to = |id: StreamId| {
                    streams
                        .get(id)
                        .is_some_and(|s| s.hungry && s.has_capacity())
                };
                let found = ordered.take(taker, keyed - out.len(), yields_to, |taken| {
                    if taken.message.publish_time < oldest {
                        return Verdict::Drop;
                    }
                    if bytes >= max_bytes {
                        return Verdict::Stop;
                    }
                    bytes += taken.message.size();
                    let lease = leases.grant(Lease {
                        message: taken.message.clone(),
                        attempts: taken.attempts,
                        deadline,
                        stream,
                        place: Place::Key {
                            key: taken.key,
                            position: taken.position,
                        },
                    });
                    out.push(Delivery {
                        lease,
                        message: taken.message,
                        attempt: taken.attempts,
                    });
                    Verdict::Lease(lease)
                });
                if !found {
                    break;
                }
            }
        }
        while out.len() < limit && bytes < max_bytes {
            let Some(Queued { message, attempts }) = self.unordered.pop() else {
                break;
            };
            if message.publish_time < oldest {
                continue;
            }
            bytes += message.size();
            let attempts = attempts + 1;
            let lease = self.leases.grant(Lease {
                message: message.clone(),
                attempts,
                deadline,
                stream,
                place: Place::Unordered,
            });
            out.push(Delivery {
                lease,
                message,
                attempt: attempts,
            });
        }
        if let Some(id) = stream {
            for delivery in &out {
                self.streams.sent(id, delivery.message.size());
            }
        }
        self.counts.delivered += out.len() as u64;
        out
    }

    /// Gives a delivery a new lease id; the old one is dead. For duplicates on demand.
    pub fn rename_lease(&mut self, id: LeaseId) -> Option<LeaseId> {
        let renamed = self.leases.rename(id)?;
        if let Some(Lease {
            place: Place::Key { key, position },
            ..
        }) = self.leases.get(renamed)
        {
            self.ordered.rename(*key, *position, renamed);
        }
        Some(renamed)
    }
}
