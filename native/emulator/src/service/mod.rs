//! The gRPC services: from a request to the state and back.

mod hub;
mod method;
mod publisher;
mod streaming;
mod subscriber;

pub use hub::Hub;
pub use method::Method;

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use prost::Message;
use tonic::Status;

use crate::core::{self, State};
use crate::server::grpc::{self, MessageReader, ResponseBody};
use crate::server::{Connection, Handler};
use crate::time::Time;

/// Answers the calls of `google.pubsub.v1`.
#[derive(Debug)]
pub struct PubSub {
    hub: Arc<Hub>,
}

impl PubSub {
    /// Answers from the state in `hub`.
    pub fn new(hub: Arc<Hub>) -> Self {
        PubSub { hub }
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<ResponseBody>, Status> {
        let (parts, body) = request.into_parts();
        let method = Method::of_path(parts.uri.path())?;
        let reader = MessageReader::new(&parts.headers, body)?;
        if method == Method::StreamingPull {
            return streaming::serve(self.hub.clone(), reader).await;
        }
        let request = reader.unary().await?;
        self.unary(method, request).await.map(grpc::unary_response)
    }

    async fn unary(&self, method: Method, request: Bytes) -> Result<Bytes, Status> {
        match method {
            Method::Pull => subscriber::pull(&self.hub, request).await,
            method if method.is_publisher() => publisher::call(&self.hub, method, request),
            method => subscriber::call(&self.hub, method, request),
        }
    }
}

impl Handler for PubSub {
    async fn call(
        self: &Arc<Self>,
        request: Request<Incoming>,
        _connection: Arc<Connection>,
    ) -> Response<ResponseBody> {
        match self.answer(request).await {
            Ok(response) => response,
            Err(status) => grpc::error_response(&status),
        }
    }
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
