//! Acknowledge and ModifyAckDeadline.

use bytes::Bytes;
use prost::Message as _;
use tonic::{Code, Status};

use super::Hub;
use crate::core::{AckResult, limits};
use crate::server::grpc;
use crate::wire::{Field, Fields};

/// Ids that a fault rule makes fail.
pub(super) struct Forced {
    /// The reason told for each.
    pub reason: String,
    /// How many, from the first on; all when absent.
    pub count: Option<usize>,
}

/// A request, walked instead of decoded: it names up to thousands of ids.
struct AckRequest<'a> {
    subscription: &'a str,
    ids: Vec<&'a [u8]>,
    seconds: i32,
}

impl<'a> AckRequest<'a> {
    /// Reads a request whose ids are in the field `number`; the deadline is always in the third.
    fn read(request: &'a [u8], number: u64) -> Result<Self, Status> {
        if request.len() > limits::ACK_REQUEST_BYTES {
            return Err(Status::invalid_argument(format!(
                "Request payload size exceeds the limit: {} bytes.",
                limits::ACK_REQUEST_BYTES
            )));
        }
        let undecodable = || Status::internal("the request cannot be decoded");
        let mut read = AckRequest {
            subscription: "",
            ids: Vec::with_capacity(1024),
            seconds: 0,
        };
        for field in Fields::new(request) {
            match field.map_err(|_| undecodable())? {
                (1, Field::Bytes(name)) => {
                    read.subscription = std::str::from_utf8(name).map_err(|_| undecodable())?;
                }
                (3, Field::Varint(seconds)) => read.seconds = seconds as i32,
                (n, Field::Bytes(id)) if n == number => read.ids.push(id),
                _ => {}
            }
        }
        Ok(read)
    }
}

/// Answers Acknowledge.
pub(super) fn acknowledge(
    hub: &Hub,
    request: Bytes,
    forced: Option<Forced>,
) -> Result<Bytes, Status> {
    let request = AckRequest::read(&request, 2)?;
    answer(&request.ids, forced, |ids| {
        hub.with(|state, now| state.acknowledge(request.subscription, ids, now))
    })
}

/// Answers ModifyAckDeadline.
pub(super) fn modify_ack_deadline(
    hub: &Hub,
    request: Bytes,
    forced: Option<Forced>,
) -> Result<Bytes, Status> {
    let request = AckRequest::read(&request, 4)?;
    let seconds = request.seconds;
    answer(&request.ids, forced, |ids| {
        hub.with(|state, now| state.modify_ack_deadline(request.subscription, ids, seconds, now))
    })
}

/// Does something to all ids that no rule makes fail. Without exactly-once delivery, ids that have
/// ended are not reported.
fn answer(
    ids: &[&[u8]],
    forced: Option<Forced>,
    work: impl FnOnce(&[&[u8]]) -> crate::core::Result<AckResult>,
) -> Result<Bytes, Status> {
    let failing = forced
        .as_ref()
        .map_or(0, |f| f.count.unwrap_or(ids.len()).min(ids.len()));
    let (failing, rest) = ids.split_at(failing);
    let result = if rest.is_empty() && !failing.is_empty() {
        AckResult::default()
    } else {
        work(rest)?
    };
    let reason = forced.as_ref().map_or("", |f| f.reason.as_str());
    let failing = failing.iter().map(|id| (*id, reason));
    let ended = result.failed.iter().filter(|_| result.exactly_once);
    let ended = ended.filter_map(|i| rest.get(*i));
    let ended = ended.map(|id| (*id, "PERMANENT_FAILURE_INVALID_ACK_ID"));
    let failures: Vec<_> = failing.chain(ended).collect();
    if failures.is_empty() {
        return Ok(grpc::frame(&()));
    }
    Err(exactly_once_failure(failures.into_iter()))
}

#[derive(Clone, PartialEq, prost::Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(map = "string, string", tag = "3")]
    metadata: std::collections::HashMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// The status that tells per ack id what went wrong, as the service does: an `ErrorInfo` whose
/// metadata maps each failed id to its reason.
fn exactly_once_failure<'a>(failures: impl Iterator<Item = (&'a [u8], &'a str)>) -> Status {
    let message = "Some acknowledgement ids in the request were invalid. This could be because the \
                   acknowledgement ids have expired or the acknowledgement ids were malformed.";
    let info = ErrorInfo {
        reason: "EXACTLY_ONCE_ACKID_FAILURE".into(),
        domain: "pubsub.googleapis.com".into(),
        metadata: failures
            .map(|(id, reason)| (String::from_utf8_lossy(id).into_owned(), reason.to_owned()))
            .collect(),
    };
    let status = RpcStatus {
        code: Code::FailedPrecondition.into(),
        message: message.into(),
        details: vec![prost_types::Any {
            type_url: "type.googleapis.com/google.rpc.ErrorInfo".into(),
            value: info.encode_to_vec(),
        }],
    };
    Status::with_details(
        Code::FailedPrecondition,
        message,
        status.encode_to_vec().into(),
    )
}
