//! What is kept of a request.

use std::collections::BTreeMap;

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use http::HeaderMap;
use prost::Message as _;

use super::{Recorded, RecordedMessage, StreamSettings};
use crate::fault::Call;
use crate::service::Method;
use crate::time::Time;

/// Reads a request; its number is still to be set.
pub(super) fn read(
    call: &Call<'_>,
    headers: Option<&HeaderMap>,
    connection: u64,
    now: Time,
) -> Recorded {
    let mut recorded = Recorded {
        number: 0,
        time: now.to_proto().to_string(),
        time_nanos: now.nanos(),
        connection,
        method: call.method.name(),
        resource: call.resource.to_owned(),
        bytes: call.body.len(),
        headers: headers.map(read_headers).unwrap_or_default(),
        ack_ids: call
            .ack_ids()
            .map(|id| String::from_utf8_lossy(id).into_owned())
            .collect(),
        ack_deadline_seconds: None,
        stream: None,
        messages: Vec::new(),
        status: None,
        cost: 0,
    };
    match call.method {
        Method::Publish => {
            let request = pb::PublishRequest::decode(call.body).unwrap_or_default();
            recorded.messages = request.messages.into_iter().map(read_message).collect();
        }
        Method::ModifyAckDeadline => {
            let request = pb::ModifyAckDeadlineRequest::decode(call.body).unwrap_or_default();
            recorded.ack_deadline_seconds = Some(request.ack_deadline_seconds);
        }
        Method::StreamingPull => {
            let request = pb::StreamingPullRequest::decode(call.body).unwrap_or_default();
            recorded.ack_deadline_seconds =
                Some(request.stream_ack_deadline_seconds).filter(|seconds| *seconds != 0);
            recorded.stream = headers.map(|_| StreamSettings {
                client_id: request.client_id,
                max_outstanding_messages: request.max_outstanding_messages,
                max_outstanding_bytes: request.max_outstanding_bytes,
            });
        }
        _ => {}
    }
    let text = |s: &String| s.len() + size_of::<String>();
    recorded.cost = size_of::<Recorded>()
        + recorded.ack_ids.iter().map(text).sum::<usize>()
        + recorded
            .headers
            .iter()
            .map(|(k, v)| text(k) + text(v))
            .sum::<usize>()
        + recorded
            .messages
            .iter()
            .map(|m| {
                let attributes: usize = m.attributes.iter().map(|(k, v)| text(k) + text(v)).sum();
                size_of::<RecordedMessage>() + m.data.len() + m.ordering_key.len() + attributes
            })
            .sum::<usize>();
    recorded
}

pub(super) fn read_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut read: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let value = if name == http::header::AUTHORIZATION {
            hide_secret(&String::from_utf8_lossy(value.as_bytes())).into()
        } else {
            String::from_utf8_lossy(value.as_bytes())
        };
        read.entry(name.as_str().to_owned())
            .and_modify(|all| {
                all.push(',');
                all.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    read
}

/// The scheme of an authorization header and how long its secret is.
fn hide_secret(value: &str) -> String {
    match value.split_once(' ') {
        Some((scheme, secret)) => format!("{scheme} ({} bytes)", secret.len()),
        None => format!("({} bytes)", value.len()),
    }
}

fn read_message(message: pb::PubsubMessage) -> RecordedMessage {
    let shown = &message.data[..message.data.len().min(1024)];
    RecordedMessage {
        data: String::from_utf8_lossy(shown).into_owned(),
        data_bytes: message.data.len(),
        attributes: message.attributes.into_iter().collect(),
        ordering_key: message.ordering_key,
    }
}
