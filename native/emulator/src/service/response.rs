//! How much goes into a StreamingPullResponse, and its encoded form.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{BufMut, Bytes, BytesMut};

use crate::core::Delivery;
use crate::core::ack_id::AckIds;
use crate::server::grpc;
use crate::wire::{put_varint, varint_len};

/// How much goes into one response. Can be changed while streams are open.
#[derive(Debug)]
pub struct ResponseLimits {
    messages: AtomicUsize,
    bytes: AtomicUsize,
}

impl Default for ResponseLimits {
    fn default() -> Self {
        ResponseLimits {
            messages: AtomicUsize::new(Self::MESSAGES),
            bytes: AtomicUsize::new(Self::BYTES),
        }
    }
}

impl ResponseLimits {
    /// Messages, unless set otherwise.
    pub const MESSAGES: usize = 1000;
    /// Bytes after which no further message is added, unless set otherwise.
    pub const BYTES: usize = 512 << 10;

    /// Sets both, for the responses from now on.
    pub(crate) fn set(&self, messages: usize, bytes: usize) {
        self.messages.store(messages, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Messages and bytes.
    pub(super) fn get(&self) -> (usize, usize) {
        (
            self.messages.load(Ordering::Relaxed),
            self.bytes.load(Ordering::Relaxed),
        )
    }
}

/// A framed StreamingPullResponse with these deliveries, followed by the encoded fields in `tail`.
/// Written by hand, because the messages are kept in encoded form.
pub(super) fn encode(
    deliveries: &[Delivery],
    subscription: u32,
    ack_ids: &AckIds,
    attempts: bool,
    tail: &[u8],
) -> Bytes {
    let ack_id_len = ack_ids.id_len();
    let ack_id_field = 1 + varint_len(ack_id_len as u64) + ack_id_len;
    let len_of = |d: &Delivery| {
        let message = d.message.encoded.len();
        let attempt = if attempts {
            1 + varint_len(u64::from(d.attempt))
        } else {
            0
        };
        ack_id_field + 1 + varint_len(message as u64) + message + attempt
    };
    let len: usize = deliveries
        .iter()
        .map(|d| {
            let len = len_of(d);
            1 + varint_len(len as u64) + len
        })
        .sum();
    let mut head = BytesMut::with_capacity(grpc::PREFIX);
    grpc::put_prefix(&mut head, len + tail.len());
    let mut buf = Vec::with_capacity(grpc::PREFIX + len + tail.len());
    buf.put_slice(&head);
    for d in deliveries {
        // StreamingPullResponse.received_messages
        buf.push(1 << 3 | 2);
        put_varint(&mut buf, len_of(d) as u64);
        // ReceivedMessage.ack_id
        buf.push(1 << 3 | 2);
        put_varint(&mut buf, ack_id_len as u64);
        ack_ids.write(subscription, d.lease, &mut buf);
        // ReceivedMessage.message
        buf.push(2 << 3 | 2);
        put_varint(&mut buf, d.message.encoded.len() as u64);
        buf.extend_from_slice(&d.message.encoded);
        if attempts {
            // ReceivedMessage.delivery_attempt
            buf.push(3 << 3);
            put_varint(&mut buf, u64::from(d.attempt));
        }
    }
    buf.extend_from_slice(tail);
    buf.into()
}
