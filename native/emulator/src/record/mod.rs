//! What was asked of the server: a bounded record of requests, kept on demand.

mod read;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use serde::Serialize;
use tonic::Code;

use crate::fault::{Call, StatusCode};
use crate::service::Method;
use crate::time::Time;

/// One recorded request. Each message that a client sends on a stream is one.
#[derive(Clone, Debug, Serialize)]
pub struct Recorded {
    /// Its number: requests are numbered from 1 on in the order they came.
    pub number: u64,
    /// When it came, by the server's clock: RFC 3339.
    pub time: String,
    /// The same, in nanoseconds since the Unix epoch.
    pub time_nanos: i64,
    /// The connection it came on.
    pub connection: u64,
    /// The call.
    pub method: &'static str,
    /// The topic, subscription, snapshot or project it is about.
    pub resource: String,
    /// Encoded bytes of the request.
    pub bytes: usize,
    /// Its headers, with secrets hidden; absent for the later requests of a stream. Values of several are joined by commas.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The ack ids it names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ack_ids: Vec<String>,
    /// The deadline it sets: of ModifyAckDeadline, or of a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_deadline_seconds: Option<i32>,
    /// Flow control and identity that the first request of a stream sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamSettings>,
    /// The messages of a Publish.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<RecordedMessage>,
    /// How it was answered; absent while it is not. The later requests of a stream have no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    #[serde(skip)]
    cost: usize,
}

/// What the first request of a stream sets.
#[derive(Clone, Debug, Serialize)]
pub struct StreamSettings {
    /// The client's name for itself.
    pub client_id: String,
    /// Outstanding messages, at most.
    pub max_outstanding_messages: i64,
    /// Outstanding bytes, at most.
    pub max_outstanding_bytes: i64,
}

/// A message of a recorded Publish.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedMessage {
    /// Its data as text, cut after 1,024 bytes; illegal UTF-8 is replaced.
    pub data: String,
    /// Bytes of its data.
    pub data_bytes: usize,
    /// Its attributes.
    pub attributes: BTreeMap<String, String>,
    /// Its ordering key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ordering_key: String,
}

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub struct RecordLimits {
    /// Requests.
    pub requests: usize,
    /// Bytes, about.
    pub bytes: usize,
}

impl Default for RecordLimits {
    fn default() -> Self {
        RecordLimits {
            requests: 100_000,
            bytes: 256 << 20,
        }
    }
}

/// The record. While it is off, a call costs one load of a flag and one addition.
#[derive(Debug)]
pub struct Recorder {
    on: AtomicBool,
    calls: Vec<AtomicU64>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    limits: RecordLimits,
    requests: VecDeque<Recorded>,
    last: u64,
    bytes: usize,
    dropped: u64,
}

/// What [`Recorder::requests`] found.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The requests, oldest first.
    pub requests: Vec<Recorded>,
    /// The number of the last request recorded.
    pub last: u64,
    /// Requests that had to make room for later ones.
    pub dropped: u64,
}

/// Which requests to read.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Only of this call.
    pub method: Option<String>,
    /// Only about this resource.
    pub resource: Option<String>,
    /// Only those with a higher number.
    #[serde(default)]
    pub after: u64,
    /// At most so many. Default: 1,000.
    pub limit: Option<usize>,
}

impl Default for Recorder {
    fn default() -> Self {
        let calls = Method::ALL.iter().map(|_| AtomicU64::new(0)).collect();
        Recorder {
            on: AtomicBool::new(false),
            calls,
            kept: Mutex::default(),
        }
    }
}

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Switches recording on or off. What was recorded stays readable.
    pub fn set(&self, on: bool, limits: RecordLimits) {
        let mut kept = self.lock();
        kept.limits = limits;
        kept.shrink();
        self.on.store(on, Ordering::Release);
    }

    /// Whether it records.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    /// Forgets what was recorded and counted. Numbers go on.
    pub fn clear(&self) {
        let mut kept = self.lock();
        kept.requests.clear();
        (kept.bytes, kept.dropped) = (0, 0);
        self.calls
            .iter()
            .for_each(|calls| calls.store(0, Ordering::Relaxed));
    }

    /// Calls by method, counted whether or not they are recorded; a stream counts once.
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        let counts = Method::ALL.iter().zip(&self.calls);
        counts
            .map(|(method, calls)| (method.name(), calls.load(Ordering::Relaxed)))
            .collect()
    }

    pub(crate) fn count(&self, method: Method) {
        self.calls[method as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Records a request; returns its number to set its status by.
    pub(crate) fn request(
        &self,
        call: &Call<'_>,
        headers: Option<&HeaderMap>,
        connection: u64,
        now: Time,
    ) -> u64 {
        let mut recorded = read::read(call, headers, connection, now);
        let mut kept = self.lock();
        kept.last += 1;
        recorded.number = kept.last;
        kept.bytes += recorded.cost;
        kept.requests.push_back(recorded);
        kept.shrink();
        kept.last
    }

    /// Sets how a request was answered.
    pub(crate) fn answered(&self, number: u64, code: Code) {
        let mut kept = self.lock();
        let first = kept.requests.front().map_or(0, |r| r.number);
        let at = number
            .checked_sub(first)
            .and_then(|at| usize::try_from(at).ok());
        if let Some(recorded) = at.and_then(|at| kept.requests.get_mut(at)) {
            recorded.status = Some(StatusCode(code).name());
        }
    }

    /// Reads what was recorded.
    pub fn requests(&self, query: &Query) -> Found {
        let kept = self.lock();
        let wanted = kept.requests.iter().filter(|r| {
            r.number > query.after
                && query.method.as_ref().is_none_or(|m| r.method == m)
                && query
                    .resource
                    .as_ref()
                    .is_none_or(|name| r.resource == *name)
        });
        let requests = wanted.take(query.limit.unwrap_or(1000)).cloned().collect();
        Found {
            requests,
            last: kept.last,
            dropped: kept.dropped,
        }
    }
}

impl Kept {
    fn shrink(&mut self) {
        while self.requests.len() > self.limits.requests || self.bytes > self.limits.bytes {
            let Some(oldest) = self.requests.pop_front() else {
                return;
            };
            self.bytes -= oldest.cost;
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
    use prost::Message as _;

    use super::read::read_headers;
    use super::*;

    fn record(recorder: &Recorder, ack_id: &str) -> u64 {
        let request = pb::AcknowledgeRequest {
            subscription: "s".into(),
            ack_ids: vec![ack_id.into()],
        };
        let body = request.encode_to_vec();
        recorder.request(
            &Call::new(Method::Acknowledge, &body),
            None,
            7,
            Time::from_secs(1),
        )
    }

    #[test]
    fn requests_are_read_back_with_their_answers() {
        let recorder = Recorder::default();
        let first = record(&recorder, "a");
        record(&recorder, "b");
        recorder.answered(first, Code::Unavailable);
        let found = recorder.requests(&Query::default());
        assert_eq!(found.last, 2);
        assert_eq!(found.requests[0].ack_ids, ["a"]);
        assert_eq!(found.requests[0].status, Some("UNAVAILABLE"));
        assert_eq!(found.requests[1].status, None);
        assert_eq!(found.requests[1].time, "1970-01-01T00:00:01Z");
        let later = Query {
            after: 1,
            method: Some("Acknowledge".into()),
            ..Query::default()
        };
        assert_eq!(recorder.requests(&later).requests.len(), 1);
    }

    #[test]
    fn secrets_are_not_kept() {
        let mut headers = HeaderMap::new();
        headers.insert(
            "authorization",
            http::HeaderValue::from_static("Bearer abcdef"),
        );
        assert_eq!(read_headers(&headers)["authorization"], "Bearer (6 bytes)");
    }

    #[test]
    fn the_oldest_make_room() {
        let recorder = Recorder::default();
        recorder.set(
            true,
            RecordLimits {
                requests: 3,
                bytes: 1 << 20,
            },
        );
        let numbers: Vec<_> = (0..5).map(|i| record(&recorder, &i.to_string())).collect();
        recorder.answered(numbers[0], Code::Ok);
        recorder.answered(numbers[4], Code::Ok);
        let found = recorder.requests(&Query::default());
        assert_eq!(found.dropped, 2);
        assert_eq!(
            found.requests.iter().map(|r| r.number).collect::<Vec<_>>(),
            [3, 4, 5]
        );
        assert_eq!(
            found.requests.iter().map(|r| r.status).collect::<Vec<_>>(),
            [None, None, Some("OK")]
        );
        recorder.set(
            true,
            RecordLimits {
                requests: 3,
                bytes: 1,
            },
        );
        assert!(recorder.requests(&Query::default()).requests.is_empty());
    }
}
