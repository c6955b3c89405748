//! Publish, counted only.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tonic::Status;

use super::{Counters, malformed};
use crate::server::grpc::{self, MessageReader};
use crate::wire::FieldCount;

/// Answers as many ids as there are messages, each a new one. The messages are counted as they come:
/// to put a request together first would cost a copy, and memory from the system.
pub(super) async fn answer(
    request: MessageReader,
    ids: &AtomicU64,
    counters: &Counters,
) -> Result<Bytes, Status> {
    let mut messages = FieldCount::of(2);
    let bytes = request.unary_pieces(|piece| messages.feed(piece)).await?;
    let messages = messages.end().map_err(malformed)?;
    counters.messages_published.add(messages);
    counters.publish_requests.add(1);
    counters.bytes_published.add(bytes as u64);
    // PublishResponse.message_ids, twelve digits each.
    const DIGITS: usize = 12;
    let len = messages as usize * (2 + DIGITS);
    let mut answer = bytes::BytesMut::with_capacity(grpc::PREFIX + len);
    grpc::put_prefix(&mut answer, len);
    let first = ids.fetch_add(messages, Ordering::Relaxed);
    for id in first..first + messages {
        answer.extend_from_slice(&[1 << 3 | 2, DIGITS as u8]);
        let mut digits = [0; DIGITS];
        super::template::write_decimal(&mut digits, id);
        answer.extend_from_slice(&digits);
    }
    Ok(answer.freeze())
}
