//! The one error type of this crate.

use std::collections::HashMap;
use std::fmt;

use bytes::Bytes;
use prost::Message as _;
pub use tonic::Code;

/// What went wrong, as the service or the connection said it, and what to do about it.
///
/// It never holds a secret: no token, no key, no content of a key file.
#[derive(Debug, Clone)]
pub struct Error {
    code: Code,
    message: String,
    resource: Option<String>,
    operation: Option<&'static str>,
    details: Bytes,
    kind: Kind,
    renewed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The service answered, or the call failed on its way.
    Call,
    /// The connection could not be made.
    Connect,
    /// There was no answer: the connection broke or time ran out.
    Unanswered,
    /// The caller handed over something unusable; nothing was sent.
    Usage,
    /// A task of this crate panicked.
    Panic,
}

/// One `google.rpc.ErrorInfo` of an error's details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorInfo {
    /// The reason, in upper snake case.
    pub reason: String,
    /// The service that speaks, such as `pubsub.googleapis.com`.
    pub domain: String,
    /// More about it. Exactly-once acknowledgements answer here, one entry per ack id.
    pub metadata: HashMap<String, String>,
}

impl Error {
    /// An error of a call.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            resource: None,
            operation: None,
            details: Bytes::new(),
            kind: Kind::Call,
            renewed: false,
        }
    }

    /// An option that cannot be honoured, named by its key.
    pub fn option(key: &str, message: impl fmt::Display) -> Self {
        Self::argument(format!("option '{key}': {message}"))
    }

    /// An argument that cannot be used.
    pub fn argument(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Usage,
            ..Self::new(Code::InvalidArgument, message)
        }
    }

    /// A connection that could not be made.
    pub(crate) fn connect(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Connect,
            ..Self::new(Code::Unavailable, message)
        }
    }

    /// A task panicked: a defect of this crate, told by the panic's text.
    pub fn panic(payload: &(dyn std::any::Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("of an unknown kind");
        Self {
            kind: Kind::Panic,
            ..Self::new(
                Code::Internal,
                format!("panic in the native library: {text}"),
            )
        }
    }

    /// Whether it is a panic.
    pub fn is_panic(&self) -> bool {
        self.kind == Kind::Panic
    }

    /// A call that was not answered.
    pub(crate) fn unanswered(code: Code, message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Unanswered,
            ..Self::new(code, message)
        }
    }

    /// Names the resource that the call was about, such as `projects/p/topics/t`.
    pub fn with_resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Names the method that was called, such as `Publish`.
    pub(crate) fn with_operation(mut self, operation: &'static str) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Replaces the text.
    pub(crate) fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// The credentials were refused, and the next call uses newer ones.
    pub(crate) fn renewed(mut self) -> Self {
        self.renewed = true;
        self
    }

    pub(crate) fn with_details(mut self, details: Bytes) -> Self {
        self.details = details;
        self
    }

    /// The gRPC status code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The text, as the service or the connection gave it.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The resource that the call was about.
    pub fn resource(&self) -> Option<&str> {
        self.resource.as_deref()
    }

    /// The encoded `google.rpc.Status` that came with the error; empty when none came.
    pub fn details(&self) -> &Bytes {
        &self.details
    }

    /// Whether an option or an argument is at fault and nothing was sent.
    pub fn is_option(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// Whether the connection could not be made.
    pub(crate) fn is_connect(&self) -> bool {
        self.kind == Kind::Connect
    }

    /// Whether the server has said nothing: it was not reached, or the connection broke, or time ran
    /// out before it answered.
    pub fn is_unanswered(&self) -> bool {
        matches!(self.kind, Kind::Connect | Kind::Unanswered)
    }

    /// Whether the same call may succeed when it is made again later.
    pub fn is_retryable(&self) -> bool {
        self.kind != Kind::Usage && crate::retry::retryable_unary(self.code)
    }

    /// Whether the service refused the credentials and the next call uses newer ones: it may succeed.
    pub fn is_renewed(&self) -> bool {
        self.renewed
    }

    /// The `ErrorInfo` entries of the details; those that cannot be read are left out.
    pub fn error_info(&self) -> Vec<ErrorInfo> {
        let Ok(status) = RpcStatus::decode(self.details.clone()) else {
            return Vec::new();
        };
        status
            .details
            .iter()
            .filter(|any| any.type_url.ends_with("/google.rpc.ErrorInfo"))
            .filter_map(|any| RpcErrorInfo::decode(any.value.as_slice()).ok())
            .map(|info| ErrorInfo {
                reason: info.reason,
                domain: info.domain,
                metadata: info.metadata,
            })
            .collect()
    }

    fn hint(&self) -> Option<String> {
        if self.kind == Kind::Usage {
            return None;
        }
        let hint = match self.code {
            Code::PermissionDenied => match self.operation.and_then(permission) {
                Some(permission) => {
                    return Some(format!(
                        "the identity of this job needs the permission {permission}"
                    ));
                }
                None => "the identity of this job lacks a permission",
            },
            Code::Unauthenticated => {
                "check the job's service account key file, accessTokenProvider or Application Default \
                 Credentials"
            }
            Code::NotFound => "create it, or check its name and project",
            Code::Unimplemented => "check the endpoint: the server does not know this call",
            Code::Unavailable if self.kind == Kind::Connect => {
                "check the endpoint, and that a server listens there"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

impl From<tonic::Status> for Error {
    fn from(status: tonic::Status) -> Self {
        Self::new(status.code(), status.message())
            .with_details(Bytes::copy_from_slice(status.details()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == Kind::Usage {
            return f.write_str(&self.message);
        }
        f.write_str(code_name(self.code))?;
        if let Some(operation) = self.operation {
            write!(f, " from {operation}")?;
        }
        if let Some(resource) = &self.resource {
            write!(f, " on {resource}")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        if let Some(hint) = self.hint() {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// The name of a status code as gRPC writes it, such as `NOT_FOUND`.
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// The IAM permission that a method needs, as Pub/Sub's access control page lists it.
fn permission(operation: &'static str) -> Option<&'static str> {
    Some(match operation {
        "Publish" => "pubsub.topics.publish",
        "CreateTopic" => "pubsub.topics.create",
        "GetTopic" => "pubsub.topics.get",
        "StreamingPull" | "Pull" | "Acknowledge" | "ModifyAckDeadline" => {
            "pubsub.subscriptions.consume"
        }
        "GetSubscription" => "pubsub.subscriptions.get",
        "CreateSubscription" => {
            "pubsub.subscriptions.create on the project and pubsub.topics.attachSubscription on the topic"
        }
        "Seek" => "pubsub.subscriptions.consume, and pubsub.snapshots.seek to seek to a snapshot",
        _ => return None,
    })
}

/// `google.rpc.Status`, as far as it is read here.
#[derive(Clone, PartialEq, prost::Message)]
struct RpcStatus {
    #[prost(message, repeated, tag = "3")]
    details: Vec<RpcAny>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, prost::Message)]
struct RpcAny {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `google.rpc.ErrorInfo`.
#[derive(Clone, PartialEq, prost::Message)]
struct RpcErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(map = "string, string", tag = "3")]
    metadata: HashMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_the_call_the_resource_and_the_remedy() {
        let error = Error::new(Code::PermissionDenied, "denied")
            .with_resource("projects/p/topics/t")
            .with_operation("Publish");
        assert_eq!(
            error.to_string(),
            "PERMISSION_DENIED from Publish on projects/p/topics/t: denied \
             (the identity of this job needs the permission pubsub.topics.publish)"
        );
        assert!(!error.is_retryable());
        assert_eq!(
            Error::option("endpoint", "no port in 'a'").to_string(),
            "option 'endpoint': no port in 'a'"
        );
        assert_eq!(
            Error::connect("cannot connect to 127.0.0.1:1: refused").to_string(),
            "UNAVAILABLE: cannot connect to 127.0.0.1:1: refused \
             (check the endpoint, and that a server listens there)"
        );
    }

    #[test]
    fn error_info_is_read_from_a_status() {
        let info = RpcErrorInfo {
            reason: "R".into(),
            domain: "pubsub.googleapis.com".into(),
            metadata: [(
                "id-1".to_owned(),
                "PERMANENT_FAILURE_INVALID_ACK_ID".to_owned(),
            )]
            .into(),
        };
        let details = RpcStatus {
            details: vec![
                RpcAny {
                    type_url: "type.googleapis.com/google.rpc.Help".into(),
                    value: vec![1],
                },
                RpcAny {
                    type_url: "type.googleapis.com/google.rpc.ErrorInfo".into(),
                    value: info.encode_to_vec(),
                },
            ],
        };
        let status = tonic::Status::with_details(
            Code::FailedPrecondition,
            "no",
            details.encode_to_vec().into(),
        );
        let error = Error::from(status);
        assert_eq!(
            error.error_info(),
            vec![ErrorInfo {
                reason: info.reason,
                domain: info.domain,
                metadata: info.metadata
            }]
        );
        assert!(Error::new(Code::Ok, "").error_info().is_empty());
    }
}
