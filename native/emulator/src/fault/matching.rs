//! Which calls a rule matches.

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1::{PublishRequest, PubsubMessage};
use prost::Message;

use super::rule::{Content, Rule};
use crate::service::Method;
use crate::wire::{Field, Fields};

/// A call as rules see it.
#[derive(Debug)]
pub struct Call<'a> {
    /// Which call.
    pub method: Method,
    /// The resource it is about.
    pub resource: &'a str,
    /// The encoded request.
    pub body: &'a [u8],
}

impl<'a> Call<'a> {
    /// The call of `method` with the encoded request `body`.
    pub fn new(method: Method, body: &'a [u8]) -> Self {
        Call {
            method,
            resource: resource(method, body),
            body,
        }
    }

    pub(super) fn matches(&self, rule: &Rule) -> bool {
        (rule.method == "*" || rule.method == self.method.name())
            && rule
                .resource
                .as_deref()
                .is_none_or(|pattern| match pattern.strip_suffix('*') {
                    Some(prefix) => self.resource.starts_with(prefix),
                    None => self.resource == pattern,
                })
            && rule
                .content
                .as_ref()
                .is_none_or(|content| self.holds(content))
    }

    fn holds(&self, content: &Content) -> bool {
        if content.min_bytes.is_some_and(|min| self.body.len() < min) {
            return false;
        }
        if let Some(id) = &content.ack_id
            && !self.ack_ids().any(|found| found == id.as_bytes())
        {
            return false;
        }
        if content.data_contains.is_none()
            && content.attribute.is_none()
            && content.ordering_key.is_none()
        {
            return true;
        }
        if self.method != Method::Publish {
            return false;
        }
        let request = PublishRequest::decode(self.body).unwrap_or_default();
        request
            .messages
            .iter()
            .any(|message| message_holds(message, content))
    }

    /// The ack ids that the request names.
    pub(crate) fn ack_ids(&self) -> impl Iterator<Item = &'a [u8]> {
        let numbers: &[u64] = match self.method {
            Method::Acknowledge => &[2],
            Method::ModifyAckDeadline => &[4],
            Method::StreamingPull => &[2, 4],
            _ => &[],
        };
        Fields::new(self.body).filter_map(move |field| match field {
            Ok((number, Field::Bytes(id))) if numbers.contains(&number) => Some(id),
            _ => None,
        })
    }
}

fn message_holds(message: &PubsubMessage, content: &Content) -> bool {
    let contains = |text: &String| {
        text.is_empty()
            || message
                .data
                .windows(text.len())
                .any(|window| window == text.as_bytes())
    };
    content.data_contains.as_ref().is_none_or(contains)
        && content
            .ordering_key
            .as_ref()
            .is_none_or(|key| message.ordering_key == *key)
        && content.attribute.as_ref().is_none_or(|wanted| {
            let found = message.attributes.get(&wanted.key);
            found.is_some_and(|value| wanted.value.as_ref().is_none_or(|wanted| wanted == value))
        })
}

/// The name of what a request is about: in its first field, or in the first field of that one.
fn resource(method: Method, body: &[u8]) -> &str {
    let first = |bytes| {
        Fields::new(bytes).find_map(|field| match field {
            Ok((1, Field::Bytes(content))) => Some(content),
            _ => None,
        })
    };
    let mut name = first(body);
    if matches!(
        method,
        Method::UpdateTopic | Method::UpdateSubscription | Method::UpdateSnapshot
    ) {
        name = name.and_then(first);
    }
    name.and_then(|name| std::str::from_utf8(name).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;

    #[test]
    fn requests_are_about_their_resource() {
        let topic = pb::Topic {
            name: "projects/p/topics/t".into(),
            ..Default::default()
        };
        let update = pb::UpdateTopicRequest {
            topic: Some(topic.clone()),
            ..Default::default()
        }
        .encode_to_vec();
        assert_eq!(Call::new(Method::UpdateTopic, &update).resource, topic.name);
        let create = topic.encode_to_vec();
        assert_eq!(Call::new(Method::CreateTopic, &create).resource, topic.name);
        assert_eq!(Call::new(Method::CreateTopic, b"\xff\xff").resource, "");
    }

    #[test]
    fn messages_match_by_what_they_hold() {
        let message = |data: &str, key: &str| pb::PubsubMessage {
            data: data.as_bytes().to_vec().into(),
            ordering_key: key.into(),
            attributes: [("a".to_owned(), "1".to_owned())].into(),
            ..Default::default()
        };
        let request = pb::PublishRequest {
            topic: "t".into(),
            messages: vec![message("hello", "A"), message("poison pill", "B")],
        };
        let body = request.encode_to_vec();
        let call = Call::new(Method::Publish, &body);
        let holds = |json: &str| call.holds(&serde_json::from_str(json).unwrap());
        assert!(holds(r#"{"data_contains":"poison"}"#));
        assert!(!holds(r#"{"data_contains":"absent"}"#));
        assert!(holds(r#"{"data_contains":"poison","ordering_key":"B"}"#));
        // Both conditions must be met by one message.
        assert!(!holds(r#"{"data_contains":"poison","ordering_key":"A"}"#));
        assert!(
            holds(r#"{"attribute":{"key":"a"}}"#)
                && holds(r#"{"attribute":{"key":"a","value":"1"}}"#)
        );
        assert!(!holds(r#"{"attribute":{"key":"a","value":"2"}}"#));
        assert!(holds(r#"{"min_bytes":10}"#) && !holds(r#"{"min_bytes":10000}"#));
    }

    #[test]
    fn acks_match_by_id() {
        let request = pb::AcknowledgeRequest {
            subscription: "s".into(),
            ack_ids: vec!["x".into(), "y".into()],
        };
        let body = request.encode_to_vec();
        let call = Call::new(Method::Acknowledge, &body);
        assert!(call.holds(&Content {
            ack_id: Some("y".into()),
            ..Default::default()
        }));
        assert!(!call.holds(&Content {
            ack_id: Some("z".into()),
            ..Default::default()
        }));
    }
}
