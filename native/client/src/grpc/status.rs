//! How a call ended, from headers, trailers and transport errors.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tonic::Code;

use crate::connect::Connection;
use crate::error::Error;

/// `grpc-status-details-bin` comes with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The status in headers or trailers: `None` when there is none.
pub(super) fn from_headers(headers: &HeaderMap) -> Option<Result<(), Error>> {
    let code = Code::from_bytes(headers.get("grpc-status")?.as_bytes());
    if code == Code::Ok {
        return Some(Ok(()));
    }
    let message = headers
        .get("grpc-message")
        .map_or_else(String::new, |text| {
            percent_encoding::percent_decode(text.as_bytes())
                .decode_utf8_lossy()
                .into_owned()
        });
    let details = headers
        .get("grpc-status-details-bin")
        .and_then(|text| BASE64.decode(text.as_bytes()).ok())
        .map_or_else(Bytes::new, Bytes::from);
    Some(Err(Error::new(code, message).with_details(details)))
}

/// Refuses a response that is not gRPC, with the code that gRPC's HTTP mapping gives it.
pub(super) fn check_response(status: StatusCode, headers: &HeaderMap) -> Result<(), Error> {
    if status != StatusCode::OK {
        let code = match status.as_u16() {
            400 => Code::Internal,
            401 => Code::Unauthenticated,
            403 => Code::PermissionDenied,
            404 => Code::Unimplemented,
            429 | 502 | 503 | 504 => Code::Unavailable,
            _ => Code::Unknown,
        };
        return Err(Error::new(
            code,
            format!("the server answered HTTP {status}"),
        ));
    }
    let kind = headers.get(http::header::CONTENT_TYPE);
    if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc")) {
        return Ok(());
    }
    Err(Error::new(
        Code::Unimplemented,
        "the server does not speak gRPC: no content type application/grpc",
    ))
}

/// An error below gRPC. They may pass and are `UNAVAILABLE`, except for time running out and for a
/// certificate that is not accepted, which is final.
pub(crate) fn transport_error(
    connection: &Connection,
    error: &(dyn std::error::Error + 'static),
) -> Error {
    let endpoint = connection.options().endpoint();
    if let Some(why) = super::certificate::refused(error) {
        // No other attempt will find another certificate soon.
        let text = format!("cannot connect to {endpoint}: {why}");
        return Error::unanswered(Code::FailedPrecondition, text);
    }
    let mut text = String::new();
    let mut connecting = false;
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<tonic::TimeoutExpired>() {
            return deadline_exceeded();
        }
        connecting |= error.is::<tonic::ConnectError>() || is_connect_timeout(error);
        // Causes repeat themselves in each other's texts.
        let more = error.to_string();
        if !text.ends_with(&more) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&more);
        }
        cause = error.source();
    }
    if connecting {
        Error::connect(format!("cannot connect to {endpoint}: {text}"))
    } else {
        Error::unanswered(
            Code::Unavailable,
            format!("connection to {endpoint}: {text}"),
        )
    }
}

/// The endpoint's limit on making a connection, which tonic does not call a failure to connect. A connection that was made
/// and has timed out has an error of the system's.
fn is_connect_timeout(error: &(dyn std::error::Error + 'static)) -> bool {
    let cause = error.downcast_ref().and_then(std::io::Error::get_ref);
    cause.is_some_and(|cause| cause.is::<tokio::time::error::Elapsed>())
}

pub(super) fn deadline_exceeded() -> Error {
    Error::unanswered(Code::DeadlineExceeded, "no answer in time")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn a_status_is_read_with_its_text_and_details() {
        assert!(from_headers(&headers(&[])).is_none());
        assert!(
            from_headers(&headers(&[("grpc-status", "0")]))
                .unwrap()
                .is_ok()
        );
        for details in ["AQI=", "AQI"] {
            let error = from_headers(&headers(&[
                ("grpc-status", "5"),
                ("grpc-message", "caf%C3%A9 %"),
                ("grpc-status-details-bin", details),
            ]))
            .unwrap()
            .unwrap_err();
            assert_eq!(error.code(), Code::NotFound);
            assert_eq!(error.message(), "café %");
            assert_eq!(&error.details()[..], [1, 2]);
        }
        let broken = headers(&[("grpc-status", "x"), ("grpc-status-details-bin", "!!")]);
        assert_eq!(
            from_headers(&broken).unwrap().unwrap_err().code(),
            Code::Unknown
        );
    }

    #[tokio::test]
    async fn time_that_runs_out_while_connecting_is_told_from_a_broken_connection() {
        use std::io::{Error, ErrorKind};
        let never = std::future::pending::<()>();
        let elapsed = tokio::time::timeout(std::time::Duration::ZERO, never).await;
        let elapsed = elapsed.unwrap_err();
        assert!(is_connect_timeout(&Error::new(
            ErrorKind::TimedOut,
            elapsed
        )));
        assert!(!is_connect_timeout(&Error::from(ErrorKind::TimedOut)));
    }

    #[test]
    fn what_is_not_grpc_is_refused() {
        let grpc = headers(&[("content-type", "application/grpc+proto")]);
        let html = headers(&[("content-type", "text/html")]);
        assert!(check_response(StatusCode::OK, &grpc).is_ok());
        assert_eq!(
            check_response(StatusCode::OK, &html).unwrap_err().code(),
            Code::Unimplemented
        );
        for (status, code) in [
            (401, Code::Unauthenticated),
            (403, Code::PermissionDenied),
            (404, Code::Unimplemented),
            (503, Code::Unavailable),
            (418, Code::Unknown),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(check_response(status, &html).unwrap_err().code(), code);
        }
    }
}
