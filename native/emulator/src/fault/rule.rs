//! What a fault rule says.

use serde::{Deserialize, Serialize};
use tonic::{Code, Status};

use crate::service::Method;

/// One rule: which calls it hits and what happens to them.
///
/// Rules are looked at in the order they were added. Each rule that a call matches counts it; the
/// first one whose window (`skip`, `every`, `times`) it falls into acts. A `delay` lets the rules after
/// it act as well.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, to read and delete it by. Given by the server when empty.
    #[serde(default)]
    pub id: String,
    /// The call, without its service: `Publish`, `Acknowledge`, …; `*` is every call.
    pub method: String,
    /// Name of the topic, subscription, snapshot or project the call is about; `*` at its end stands
    /// for anything. Every resource when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// What the request must hold. Everything when absent.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Matching calls that pass before the rule acts.
    #[serde(default)]
    pub skip: u64,
    /// From then on, the rule acts on every n-th matching call. 1 is each.
    #[serde(default = "one")]
    pub every: u64,
    /// How often it acts; without end when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// Only for `StreamingPull`: act on the stream once it has delivered this many messages, instead of
    /// when it is opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_messages: Option<u64>,
    /// Only for unary calls: do what the call asks for, and act on its answer.
    #[serde(default)]
    pub after_effect: bool,
    /// What happens.
    pub action: Action,
}

fn one() -> u64 {
    1
}

/// What a request must hold to match; all given conditions, each in any one message of the request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The data of a message contains this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_contains: Option<String>,
    /// A message has this attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<Attribute>,
    /// A message has this ordering key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordering_key: Option<String>,
    /// The request names this ack id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_id: Option<String>,
    /// The request has at least this many encoded bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_bytes: Option<usize>,
}

/// An attribute of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    /// Its key.
    pub key: String,
    /// Its value; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// What happens to a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Answers with a status. `OK` ends a stream without an error.
    Status {
        /// The code, such as `UNAVAILABLE`.
        code: StatusCode,
        /// The message.
        #[serde(default)]
        message: String,
    },
    /// Never answers; a stream stays open and sends nothing more.
    Silence,
    /// Goes on after a pause of real time. On a stream with `after_messages` the pause comes then.
    Delay {
        /// Milliseconds.
        ms: u64,
    },
    /// Waits until the rule is deleted, then goes on.
    Hold,
    /// Sends GOAWAY, does not answer, and closes the connection a little later.
    Goaway {
        /// Milliseconds until the connection is closed. With `null` it is not closed and the call goes
        /// on: only new calls are refused.
        #[serde(default = "hundred")]
        close_after_ms: Option<u64>,
    },
    /// Ends the call with `RST_STREAM`.
    RstStream {
        /// The HTTP/2 error code: 0 is `NO_ERROR`, 2 `INTERNAL_ERROR`, 7 `REFUSED_STREAM`, 8 `CANCEL`.
        #[serde(default)]
        code: u32,
    },
    /// Closes the connection without an answer.
    Drop,
    /// Closes the connection with a TCP reset.
    Reset,
    /// For `Acknowledge` and `ModifyAckDeadline` of exactly-once subscriptions: these ids fail.
    FailAckIds {
        /// The reason told in the `ErrorInfo`, such as `TRANSIENT_FAILURE_SERVICE_UNAVAILABLE`.
        reason: String,
        /// How many ids, from the first on; all when absent.
        #[serde(default)]
        count: Option<usize>,
    },
    /// For `StreamingPull` and `Pull`, per response: each message comes twice, the second time under
    /// the ack id that counts. Such a rule counts responses with messages, not calls.
    Duplicate,
    /// For `StreamingPull` and `Pull`, per response: the messages come in another order. Such a rule
    /// counts responses with messages, not calls.
    Reorder {
        /// The order.
        #[serde(default)]
        order: Order,
    },
}

fn hundred() -> Option<u64> {
    Some(100)
}

/// An order of messages.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The last first.
    #[default]
    Reverse,
    /// The second half first.
    Rotate,
}

impl Action {
    /// Whether it acts on responses with messages rather than on calls.
    pub(crate) fn is_on_delivery(&self) -> bool {
        matches!(self, Action::Duplicate | Action::Reorder { .. })
    }
}

/// A status code by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusCode(pub Code);

const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

impl StatusCode {
    /// Its name.
    pub fn name(self) -> &'static str {
        CODES[self.0 as usize]
    }
}

impl Serialize for StatusCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for StatusCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let code = CODES.iter().position(|c| *c == name);
        let code = code.ok_or_else(|| {
            serde::de::Error::custom(format!("{name:?} is not one of {}", CODES.join(", ")))
        })?;
        Ok(StatusCode(Code::from_i32(code as i32)))
    }
}

impl Rule {
    /// A rule that hits every call of `method`; set its fields to narrow it down.
    pub fn new(method: Method, action: Action) -> Self {
        Rule {
            id: String::new(),
            method: method.name().into(),
            resource: None,
            content: None,
            skip: 0,
            every: 1,
            times: None,
            after_messages: None,
            after_effect: false,
            action,
        }
    }

    /// A rule that answers `times` calls of `method` with a status.
    pub fn status(method: Method, code: Code, times: u64) -> Self {
        let action = Action::Status {
            code: StatusCode(code),
            message: "Asked for by a fault rule.".into(),
        };
        Rule {
            times: Some(times),
            ..Rule::new(method, action)
        }
    }

    /// Says what makes no sense in a rule.
    pub fn check(&self) -> Result<(), String> {
        let method = match self.method.as_str() {
            "*" => None,
            name => Some(Method::of_name(name).ok_or_else(|| {
                let names: Vec<_> = Method::ALL.iter().map(|m| m.name()).collect();
                format!("method: {name:?} is not one of *, {}", names.join(", "))
            })?),
        };
        if self.every == 0 {
            return Err("every: must be at least 1".into());
        }
        if self.after_messages.is_some() && method != Some(Method::StreamingPull) {
            return Err("after_messages: is for the method StreamingPull only".into());
        }
        if self.after_effect && method == Some(Method::StreamingPull) {
            return Err("after_effect: is for unary methods only".into());
        }
        match &self.action {
            Action::FailAckIds { .. }
                if !matches!(method, Some(Method::Acknowledge | Method::ModifyAckDeadline)) =>
            {
                Err("action: fail_ack_ids is for the methods Acknowledge and ModifyAckDeadline only".into())
            }
            Action::Duplicate | Action::Reorder { .. }
                if !matches!(method, Some(Method::StreamingPull | Method::Pull)) =>
            {
                Err("action: duplicate and reorder are for the methods StreamingPull and Pull only".into())
            }
            Action::Status { code: StatusCode(Code::Ok), .. } if method != Some(Method::StreamingPull) => {
                Err("action: the code OK is for the method StreamingPull only".into())
            }
            _ => Ok(()),
        }
    }
}

/// The status that an action asks for.
pub(crate) fn status(code: StatusCode, message: &str) -> Status {
    Status::new(code.0, message)
}
