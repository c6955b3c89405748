//! Refusals, with the status codes of the service.

use std::fmt;

use tonic::Code;

/// Why a call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The status code.
    pub code: Code,
    /// One sentence that names the field or the resource.
    pub message: String,
}

/// What core operations return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Error {
            code,
            message: message.into(),
        }
    }

    pub(crate) fn invalid(field: &str, problem: impl fmt::Display) -> Self {
        Self::new(Code::InvalidArgument, format!("{field}: {problem}"))
    }

    pub(crate) fn not_found(resource: &str) -> Self {
        Self::new(
            Code::NotFound,
            format!("Resource not found (resource={resource})."),
        )
    }

    pub(crate) fn deleted() -> Self {
        Self::new(Code::NotFound, "The subscription was deleted.")
    }

    pub(crate) fn already_exists(resource: &str) -> Self {
        Self::new(
            Code::AlreadyExists,
            format!("Resource already exists in the project (resource={resource})."),
        )
    }

    pub(crate) fn precondition(message: impl Into<String>) -> Self {
        Self::new(Code::FailedPrecondition, message)
    }

    pub(crate) fn unimplemented(what: &str) -> Self {
        Self::new(
            Code::Unimplemented,
            format!("{what} is not part of this emulator."),
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code, self.message)
    }
}

impl std::error::Error for Error {}
