//! The gRPC services: from a request to the state and back.

mod acks;
mod faulty;
mod hub;
mod method;
mod permissions;
mod publisher;
mod response;
mod streaming;
mod streams;
mod subscriber;

pub use hub::Hub;
pub use method::Method;
pub use permissions::{Permissions, Role};
pub use response::ResponseLimits;
pub use streams::OpenStreams;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use hyper::body::Incoming;
use prost::Message;
use tonic::Status;

use crate::core::{self, State};
use crate::fault::Faults;
use crate::record::Recorder;
use crate::server::grpc::{self, MessageReader, ResponseBody};
use crate::server::{Connection, Handler};
use crate::time::Time;

/// Which bearer tokens are let in.
#[derive(Clone, PartialEq, Eq)]
pub enum TokenCheck {
    /// Any token that is not empty.
    Any,
    /// This one.
    Exactly(String),
}

impl std::fmt::Debug for TokenCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TokenCheck::Any => "Any",
            TokenCheck::Exactly(_) => "Exactly(…)",
        })
    }
}

/// Answers the calls of `google.pubsub.v1`.
#[derive(Debug)]
pub struct PubSub {
    pub(crate) hub: Arc<Hub>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) streams: Arc<OpenStreams>,
    pub(crate) limits: Arc<ResponseLimits>,
    pub(crate) permissions: Arc<Permissions>,
    token: Option<TokenCheck>,
}

impl PubSub {
    /// Answers from the state in `hub`; with `token`, only those who bear it.
    pub fn new(hub: Arc<Hub>, token: Option<TokenCheck>) -> Self {
        PubSub {
            hub,
            faults: Arc::default(),
            recorder: Arc::default(),
            streams: Arc::default(),
            limits: Arc::default(),
            permissions: Arc::default(),
            token,
        }
    }

    fn check_token(&self, token: Option<&str>) -> Result<(), Status> {
        let Some(check) = &self.token else {
            return Ok(());
        };
        let allowed = match (check, token) {
            (TokenCheck::Any, Some(token)) => !token.is_empty(),
            (TokenCheck::Exactly(wanted), Some(token)) => token == wanted,
            (_, None) => false,
        };
        if allowed {
            return Ok(());
        }
        Err(Status::unauthenticated(match token {
            None => "The request has no bearer token in its authorization header.",
            Some(_) => "The request's bearer token is not the one this server requires.",
        }))
    }

    async fn answer(
        self: &Arc<Self>,
        request: Request<Incoming>,
        connection: Arc<Connection>,
    ) -> Result<Response<ResponseBody>, Status> {
        let (parts, body) = request.into_parts();
        let method = Method::of_path(parts.uri.path())?;
        let token = bearer_token(&parts.headers);
        self.check_token(token)?;
        self.permissions.check(token, method)?;
        self.recorder.count(method);
        let reader = MessageReader::new(&parts.headers, body)?;
        if method == Method::StreamingPull {
            return streaming::serve(self, &parts.headers, reader, connection).await;
        }
        let request = reader.unary().await?;
        if method == Method::Seek && subscriber::seeks_to_snapshot(&request) {
            self.permissions.check_seek_to_snapshot(token)?;
        }
        if self.faults.active() || self.recorder.is_on() {
            return self
                .observed(method, request, &parts.headers, &connection)
                .await;
        }
        self.unary(method, request, None)
            .await
            .map(grpc::unary_response)
    }

    async fn unary(
        &self,
        method: Method,
        request: Bytes,
        forced: Option<acks::Forced>,
    ) -> Result<Bytes, Status> {
        match method {
            Method::Pull => subscriber::pull(self, request).await,
            Method::Acknowledge => acks::acknowledge(&self.hub, request, forced),
            Method::ModifyAckDeadline => acks::modify_ack_deadline(&self.hub, request, forced),
            method if method.is_publisher() => publisher::call(&self.hub, method, request),
            method => subscriber::call(&self.hub, method, request),
        }
    }
}

impl Handler for PubSub {
    async fn call(
        self: &Arc<Self>,
        request: Request<Incoming>,
        connection: Arc<Connection>,
    ) -> Response<ResponseBody> {
        match self.answer(request, connection).await {
            Ok(response) => response,
            Err(status) => grpc::error_response(&status),
        }
    }
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl From<core::Error> for Status {
    fn from(error: core::Error) -> Self {
        Status::new(error.code, error.message)
    }
}

fn decode<M: Message + Default>(request: Bytes) -> Result<M, Status> {
    M::decode(request).map_err(|e| Status::internal(format!("the request cannot be decoded: {e}")))
}

/// Decodes a request, works on the state, and frames the answer.
fn run<Q, A>(
    hub: &Hub,
    request: Bytes,
    work: impl FnOnce(&mut State, Time, Q) -> core::Result<A>,
) -> Result<Bytes, Status>
where
    Q: Message + Default,
    A: Message,
{
    let request = decode(request)?;
    let answer = hub.with(|state, now| work(state, now, request))?;
    Ok(grpc::frame(&answer))
}

fn paths(mask: Option<prost_types::FieldMask>) -> Vec<String> {
    mask.map(|mask| mask.paths).unwrap_or_default()
}
