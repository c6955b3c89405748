//! Unary calls while there are fault rules or a record is kept.

use std::future::pending;

use bytes::Bytes;
use http::{HeaderMap, Response};
use tokio::sync::mpsc;
use tonic::{Code, Status};

use super::acks::Forced;
use super::{Method, PubSub};
use crate::core::{Delivery, State};
use crate::fault::{self, Action, Call, Faults, Hit, Order};
use crate::server::grpc::{self, ResponseBody, StreamItem};
use crate::server::{Command, Connection};
use crate::time::Time;

/// What an action leaves to do.
pub(super) enum Outcome {
    /// The call goes on.
    GoOn,
    /// The call goes on, and these ids fail.
    FailIds(Forced),
    /// This ends a stream, or is the answer of a unary call.
    End(StreamItem),
    /// There is no answer.
    Silence,
}

/// Does an action to a call that came in on `connection`.
pub(super) async fn act(
    faults: &Faults,
    rule: &str,
    action: Action,
    connection: &Connection,
) -> Outcome {
    match action {
        Action::Status { code, message } => {
            return Outcome::End(StreamItem::End(fault::status(code, &message)));
        }
        Action::RstStream { code } => return Outcome::End(StreamItem::Reset(code.into())),
        Action::FailAckIds { reason, count } => return Outcome::FailIds(Forced { reason, count }),
        Action::Silence => return Outcome::Silence,
        Action::Delay { ms } => fault::pause(ms).await,
        Action::Hold => faults.removal(rule).await,
        Action::Goaway { close_after_ms } => {
            connection.command(Command::GoAway);
            if let Some(ms) = close_after_ms {
                fault::pause(ms).await;
                connection.command(Command::Close);
                return Outcome::Silence;
            }
        }
        Action::Drop => {
            connection.command(Command::Close);
            return Outcome::Silence;
        }
        Action::Reset => {
            connection.command(Command::Reset);
            return Outcome::Silence;
        }
        // These act on deliveries.
        Action::Duplicate | Action::Reorder { .. } => {}
    }
    Outcome::GoOn
}

impl PubSub {
    /// Answers a unary call, as the rules have it, and records it.
    pub(super) async fn observed(
        &self,
        method: Method,
        request: Bytes,
        headers: &HeaderMap,
        connection: &Connection,
    ) -> Result<Response<ResponseBody>, Status> {
        let call = Call::new(method, &request);
        let now = self.hub.clock().now();
        let record = self.recorder.is_on();
        let number = record.then(|| {
            self.recorder
                .request(&call, Some(headers), connection.id(), now)
        });
        let hits = self.faults.on_call(&call);
        let response = self.faulty(method, request.clone(), hits, connection).await;
        if let Some(number) = number {
            let code = response.as_ref().err().map_or(Code::Ok, Status::code);
            self.recorder.answered(number, code);
        }
        response
    }

    async fn faulty(
        &self,
        method: Method,
        request: Bytes,
        hits: Vec<Hit>,
        connection: &Connection,
    ) -> Result<Response<ResponseBody>, Status> {
        let (after, before): (Vec<_>, Vec<_>) = hits.into_iter().partition(|hit| hit.after_effect);
        let mut forced = None;
        for hit in before {
            match act(&self.faults, &hit.rule, hit.action, connection).await {
                Outcome::GoOn => {}
                Outcome::FailIds(ids) => forced = Some(ids),
                Outcome::End(item) => return end(item),
                Outcome::Silence => return pending().await,
            }
        }
        let answer = self.unary(method, request, forced).await;
        for hit in after {
            match act(&self.faults, &hit.rule, hit.action, connection).await {
                Outcome::GoOn | Outcome::FailIds(_) => {}
                Outcome::End(item) => return end(item),
                Outcome::Silence => return pending().await,
            }
        }
        answer.map(grpc::unary_response)
    }
}

/// The answer of a unary call that a rule ends.
fn end(item: StreamItem) -> Result<Response<ResponseBody>, Status> {
    match item {
        StreamItem::End(status) => Err(status),
        item => {
            let (out, items) = mpsc::channel(1);
            let _ = out.try_send(item);
            Ok(grpc::stream_response(items))
        }
    }
}

/// Does what rules want done to the deliveries of one response.
pub(super) fn on_delivery(
    faults: &Faults,
    method: Method,
    subscription: (&str, u32),
    deliveries: &mut Vec<Delivery>,
    (state, now): (&mut State, Time),
) {
    if deliveries.is_empty() {
        return;
    }
    for hit in faults.on_delivery(method, subscription.0) {
        match hit.action {
            Action::Duplicate => {
                let leases: Vec<_> = deliveries.iter().map(|d| d.lease).collect();
                let renamed = state.rename_leases(subscription.1, &leases, now);
                let twice = deliveries
                    .drain(..)
                    .zip(renamed)
                    .flat_map(|(first, renamed)| {
                        let second = renamed.map(|lease| Delivery {
                            lease,
                            ..first.clone()
                        });
                        std::iter::once(first).chain(second)
                    });
                *deliveries = twice.collect();
            }
            Action::Reorder {
                order: Order::Reverse,
            } => deliveries.reverse(),
            Action::Reorder {
                order: Order::Rotate,
            } => {
                let half = deliveries.len() / 2;
                deliveries.rotate_left(half);
            }
            _ => {}
        }
    }
}
