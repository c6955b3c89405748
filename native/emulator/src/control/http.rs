//! The control interface over HTTP/JSON. `docs/emulator.md` documents every request.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Control;
use super::json::{clock_json, message_json, state_name, subscription_json, topic_json};
use crate::fault::{Action, Rule};
use crate::record::{Query as RecordQuery, RecordLimits};
use crate::seed::{Message, Seed};
use crate::server::Command;
use crate::service::{ResponseLimits, Role};

/// What the routes share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub control: Control,
    pub address: SocketAddr,
}

/// The routes of a control interface for the server at `address`.
pub fn router(control: Control, address: SocketAddr) -> Router {
    Router::new()
        .route("/", get(super::page::page))
        .route("/healthz", get(|| async { Json(json!({"status": "ok"})) }))
        .route("/state", get(state))
        .route("/subscription", get(subscription))
        .route("/messages", get(messages))
        .route("/publish", post(publish))
        .route("/seed", post(seed))
        .route(
            "/faults",
            get(list_faults).post(add_fault).delete(delete_faults),
        )
        .route("/streams/close", post(close_streams))
        .route("/connections/close", post(close_connections))
        .route("/redeliver", post(redeliver))
        .route("/acks/freeze", post(freeze))
        .route("/acks/release", post(release))
        .route("/permissions", post(grant).delete(revoke))
        .route("/ack-ids", post(ack_ids))
        .route("/responses", post(responses))
        .route("/clock", get(clock))
        .route("/clock/advance", post(advance))
        .route("/clock/stop", post(stop))
        .route("/clock/resume", post(resume))
        .route("/record", post(record))
        .route("/requests", get(requests).delete(clear_requests))
        .route("/calls", get(calls))
        .route("/reset", post(reset))
        .fallback(|| async {
            Problem(
                StatusCode::NOT_FOUND,
                "no such path; see docs/emulator.md".into(),
            )
        })
        .with_state(Shared { control, address })
}

/// An error, as `{"error": "…"}`.
#[derive(Debug)]
pub(super) struct Problem(StatusCode, String);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.0, Json(json!({"error": self.1}))).into_response()
    }
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Problem(StatusCode::BAD_REQUEST, message)
    }
}

impl From<crate::core::Error> for Problem {
    fn from(error: crate::core::Error) -> Self {
        let status = match error.code {
            tonic::Code::NotFound => StatusCode::NOT_FOUND,
            _ => StatusCode::BAD_REQUEST,
        };
        Problem(status, error.message)
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        Problem(rejection.status(), rejection.body_text())
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Problem(rejection.status(), rejection.body_text())
    }
}

type Answer = Result<Json<Value>, Problem>;

/// A JSON body, whatever content type the client claims; an empty body is `{}`.
struct Body<T>(T);

impl<S: Send + Sync, T: serde::de::DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: axum::extract::Request, state: &S) -> Result<Self, Problem> {
        let bytes = axum::body::Bytes::from_request(request, state)
            .await
            .map_err(|e| Problem(e.status(), e.body_text()))?;
        let bytes: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        let Json(value) = Json::<T>::from_bytes(bytes)?;
        Ok(Body(value))
    }
}

/// The query of a request.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Problem))]
struct Query<T>(T);

fn empty() -> Answer {
    Ok(Json(json!({})))
}

// --- looking inside ---

async fn state(State(shared): State<Shared>) -> Answer {
    let control = &shared.control;
    Ok(Json(json!({
        "address": shared.address.to_string(),
        "clock": clock_json(control),
        "connections": control.connections(),
        "topics": control.topics().iter().map(topic_json).collect::<Vec<_>>(),
        "subscriptions": control.subscriptions().iter().map(subscription_json).collect::<Vec<_>>(),
    })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
}

async fn subscription(State(shared): State<Shared>, Query(query): Query<Named>) -> Answer {
    // Says NOT_FOUND when there is none.
    shared.control.counts(&query.name)?;
    let all = shared.control.subscriptions();
    let found = all
        .iter()
        .find(|s| s.name == query.name)
        .map(subscription_json);
    Ok(Json(found.unwrap_or_default()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessagesQuery {
    subscription: String,
    state: Option<String>,
    limit: Option<usize>,
}

async fn messages(State(shared): State<Shared>, Query(query): Query<MessagesQuery>) -> Answer {
    let views = shared.control.messages(&query.subscription)?;
    if let Some(state) = query.state.as_deref()
        && !["waiting", "outstanding", "acked"].contains(&state)
    {
        return Err(format!("state: {state:?} is not one of waiting, outstanding, acked").into());
    }
    let wanted = views.iter().filter(|v| {
        query
            .state
            .as_deref()
            .is_none_or(|state| state_name(v.state) == state)
    });
    let found = wanted.take(query.limit.unwrap_or(1000)).map(message_json);
    Ok(Json(
        json!({"messages": found.collect::<Vec<_>>(), "total": views.len()}),
    ))
}

// --- filling it ---

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Publish {
    topic: String,
    messages: Vec<Message>,
}

async fn publish(State(shared): State<Shared>, Body(body): Body<Publish>) -> Answer {
    let mut ids = Vec::new();
    for message in &body.messages {
        let proto = message.to_proto().map_err(Problem::from)?;
        let mut left = message.count.unwrap_or(1);
        while left > 0 {
            let n = left.min(100);
            let batch = vec![proto.clone(); n as usize];
            let published = shared.control.publish(&body.topic, batch)?;
            ids.extend(published.iter().map(u64::to_string));
            left -= n;
        }
    }
    Ok(Json(json!({"message_ids": ids})))
}

async fn seed(State(shared): State<Shared>, Body(seed): Body<Seed>) -> Answer {
    shared.control.seed(&seed)?;
    empty()
}

// --- faults ---

async fn list_faults(State(shared): State<Shared>) -> Answer {
    Ok(Json(json!({"faults": shared.control.faults().list()})))
}

async fn add_fault(State(shared): State<Shared>, Body(rule): Body<Rule>) -> Answer {
    let id = shared.control.faults().add(rule)?;
    Ok(Json(json!({"id": id})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Id {
    id: Option<String>,
}

async fn delete_faults(State(shared): State<Shared>, Query(query): Query<Id>) -> Answer {
    match query.id {
        None => shared.control.faults().clear(),
        Some(id) if shared.control.faults().remove(&id) => {}
        Some(id) => {
            return Err(Problem(
                StatusCode::NOT_FOUND,
                format!("id: there is no rule {id:?}"),
            ));
        }
    }
    empty()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CloseStreams {
    subscription: Option<String>,
    action: Action,
}

async fn close_streams(State(shared): State<Shared>, Body(body): Body<CloseStreams>) -> Answer {
    let n = shared
        .control
        .act_on_streams(body.subscription.as_deref(), &body.action);
    Ok(Json(json!({"streams": n})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CloseConnections {
    how: How,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Goaway,
    Drop,
    Reset,
}

async fn close_connections(
    State(shared): State<Shared>,
    Body(body): Body<CloseConnections>,
) -> Answer {
    let n = shared.control.act_on_connections(match body.how {
        How::Goaway => Command::GoAway,
        How::Drop => Command::Close,
        How::Reset => Command::Reset,
    });
    Ok(Json(json!({"connections": n})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Redeliver {
    subscription: String,
    message_ids: Option<Vec<String>>,
}

async fn redeliver(State(shared): State<Shared>, Body(body): Body<Redeliver>) -> Answer {
    let ids = body.message_ids.map(|ids| {
        let parsed = ids.iter().map(|id| {
            id.parse()
                .map_err(|_| format!("message_ids: {id:?} is not a message id"))
        });
        parsed.collect::<Result<Vec<u64>, _>>()
    });
    let ids = ids.transpose()?;
    let n = shared
        .control
        .redeliver(&body.subscription, ids.as_deref())?;
    Ok(Json(json!({"redelivered": n})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Freeze {
    subscription: Option<String>,
}

async fn freeze(State(shared): State<Shared>, Body(body): Body<Freeze>) -> Answer {
    shared.control.freeze_acks(body.subscription.as_deref())?;
    empty()
}

async fn release(State(shared): State<Shared>) -> Answer {
    Ok(Json(json!({"released": shared.control.release_acks()})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    token: String,
    #[serde(default)]
    roles: Vec<String>,
    #[serde(default)]
    permissions: Vec<String>,
}

async fn grant(State(shared): State<Shared>, Body(body): Body<Grant>) -> Answer {
    let role = |name: &String| Role::of_name(name).ok_or_else(|| format!("unknown role '{name}'"));
    let mut roles: Vec<_> = body.roles.iter().map(role).collect::<Result<_, _>>()?;
    roles.push(Role::custom(body.permissions)?);
    shared.control.permissions().grant(&body.token, roles);
    empty()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenQuery {
    token: Option<String>,
}

async fn revoke(State(shared): State<Shared>, Query(query): Query<TokenQuery>) -> Answer {
    let permissions = shared.control.permissions();
    match query.token {
        None => permissions.clear(),
        Some(token) if permissions.revoke(&token) => {}
        Some(_) => {
            let why = "token: it was granted nothing".to_owned();
            return Err(Problem(StatusCode::NOT_FOUND, why));
        }
    }
    empty()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AckIds {
    length: usize,
}

async fn ack_ids(State(shared): State<Shared>, Body(body): Body<AckIds>) -> Answer {
    shared.control.set_ack_id_len(body.length)?;
    empty()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Responses {
    max_messages: Option<usize>,
    max_bytes: Option<usize>,
}

async fn responses(State(shared): State<Shared>, Body(body): Body<Responses>) -> Answer {
    let messages = body.max_messages.unwrap_or(ResponseLimits::MESSAGES);
    let bytes = body.max_bytes.unwrap_or(ResponseLimits::BYTES);
    shared.control.set_response_limits(messages, bytes)?;
    empty()
}

// --- time ---

async fn clock(State(shared): State<Shared>) -> Answer {
    Ok(Json(clock_json(&shared.control)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    #[serde(default)]
    seconds: u64,
    #[serde(default)]
    millis: u64,
}

async fn advance(State(shared): State<Shared>, Body(body): Body<Advance>) -> Answer {
    let by = Duration::from_secs(body.seconds).saturating_add(Duration::from_millis(body.millis));
    shared.control.advance(by);
    Ok(Json(clock_json(&shared.control)))
}

async fn stop(State(shared): State<Shared>) -> Answer {
    shared.control.clock().stop();
    Ok(Json(clock_json(&shared.control)))
}

async fn resume(State(shared): State<Shared>) -> Answer {
    shared.control.clock().resume();
    Ok(Json(clock_json(&shared.control)))
}

// --- the record ---

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    on: bool,
    max_requests: Option<usize>,
    max_bytes: Option<usize>,
}

async fn record(State(shared): State<Shared>, Body(body): Body<Record>) -> Answer {
    let default = RecordLimits::default();
    let limits = RecordLimits {
        requests: body.max_requests.unwrap_or(default.requests),
        bytes: body.max_bytes.unwrap_or(default.bytes),
    };
    shared.control.record(body.on, limits);
    empty()
}

async fn requests(State(shared): State<Shared>, Query(query): Query<RecordQuery>) -> Answer {
    let recorder = shared.control.recorder();
    let mut found = json!(recorder.requests(&query));
    found["on"] = recorder.is_on().into();
    Ok(Json(found))
}

async fn clear_requests(State(shared): State<Shared>) -> Answer {
    shared.control.recorder().clear();
    empty()
}

async fn calls(State(shared): State<Shared>) -> Answer {
    Ok(Json(json!(shared.control.recorder().calls())))
}

async fn reset(State(shared): State<Shared>) -> Answer {
    shared.control.reset();
    empty()
}
