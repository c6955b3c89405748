//! Publish, counted only.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tonic::Status;

use super::{Counters, count};
use crate::server::grpc;

/// Answers as many ids as there are messages, each a new one.
pub(super) fn answer(
    request: &Bytes,
    ids: &AtomicU64,
    counters: &Counters,
) -> Result<Bytes, Status> {
    let messages = count(request, 2)?;
    counters.messages_published.add(messages);
    counters.publish_requests.add(1);
    counters.bytes_published.add(request.len() as u64);
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
