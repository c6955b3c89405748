//! Credentials that Google's authentication library makes of a file.

use std::path::Path;
use std::time::Duration;

use google_cloud_auth::build_errors;
use google_cloud_auth::credentials::service_account::AccessSpecifier;
use google_cloud_auth::credentials::{
    CacheableResource, Credentials, external_account, external_account_authorized_user,
    impersonated, service_account, user_account,
};
use google_cloud_auth::errors::CredentialsError;
use google_cloud_gax::error::Error as GaxError;
use google_cloud_gax::exponential_backoff::{ExponentialBackoff, ExponentialBackoffBuilder};
use google_cloud_gax::retry_policy::{RetryPolicy, RetryPolicyArg, RetryPolicyExt as _};
use google_cloud_gax::retry_result::RetryResult;
use google_cloud_gax::retry_state::RetryState;
use http::{Extensions, HeaderMap};
use serde_json::Value;

use super::SCOPE;
use super::cached::Failure;
use super::http::chain;
use super::roots;
use super::secrets::Secrets;

/// Attempts at one token; the library goes on every 10 s after that.
const ATTEMPTS: u32 = 5;

/// The library renews tokens in a task of its own. It is built anew to drop a token, because it
/// offers no other way.
pub(super) struct Library {
    credentials: Credentials,
    secrets: Secrets,
}

impl Library {
    /// Must be called within a runtime. The text of an error does not quote the file.
    pub(super) fn new(file: &Value, kind: &str) -> Result<Self, String> {
        let makes_requests = kind != "service_account";
        if makes_requests && !roots::has_system_roots() {
            return Err(format!(
                "credentials of type {kind} need root certificates, and this system has none: install \
                 its package ca-certificates, or name a file of them in SSL_CERT_FILE"
            ));
        }
        let built = match kind {
            "service_account" => service_account::Builder::new(file.clone())
                .with_access_specifier(AccessSpecifier::from_scopes([SCOPE]))
                .build(),
            "authorized_user" => user_account::Builder::new(file.clone())
                .with_retry_policy(policy())
                .with_backoff_policy(backoff())
                .build(),
            "impersonated_service_account" => impersonated::Builder::new(file.clone())
                .with_scopes([SCOPE])
                .with_retry_policy(policy())
                .with_backoff_policy(backoff())
                .build(),
            "external_account" => external_account::Builder::new(file.clone())
                .with_scopes([SCOPE])
                .with_retry_policy(policy())
                .with_backoff_policy(backoff())
                .build(),
            "external_account_authorized_user" => {
                external_account_authorized_user::Builder::new(file.clone())
                    .with_retry_policy(policy())
                    .with_backoff_policy(backoff())
                    .build()
            }
            other => return Err(format!("credentials of type '{other}' are not supported")),
        };
        Ok(Self {
            credentials: built.map_err(|e| what_is_wrong(&e).to_owned())?,
            secrets: Secrets::of(file),
        })
    }

    /// Headers that prove who we are.
    pub(super) async fn headers(&self) -> Result<HeaderMap, Failure> {
        match self.credentials.headers(Extensions::new()).await {
            Ok(CacheableResource::New { data, .. }) => Ok(data),
            // Only answered to those who name a version they have, which we do not.
            Ok(CacheableResource::NotModified) => Ok(HeaderMap::new()),
            Err(e) => Err(Failure {
                text: self.secrets.hide(&without_bodies(chain(&e))),
                transient: e.is_transient(),
            }),
        }
    }
}

/// The library quotes the answer in which it finds no subject token, which may be there all the same.
fn without_bodies(mut text: String) -> String {
    const BODY: &str = "body=<";
    if let Some(at) = text.find(BODY) {
        text.truncate(at + BODY.len());
        text.push_str("…>");
    }
    text
}

/// Tries again what may pass.
#[derive(Debug)]
struct Transient;

impl RetryPolicy for Transient {
    fn on_error(&self, _: &RetryState, error: GaxError) -> RetryResult {
        let passes = std::error::Error::source(&error)
            .and_then(|cause| cause.downcast_ref::<CredentialsError>())
            .is_some_and(CredentialsError::is_transient);
        match passes {
            true => RetryResult::Continue(error),
            false => RetryResult::Permanent(error),
        }
    }
}

fn policy() -> RetryPolicyArg {
    Transient.with_attempt_limit(ATTEMPTS).into()
}

fn backoff() -> ExponentialBackoff {
    ExponentialBackoffBuilder::new()
        .with_initial_delay(Duration::from_millis(200))
        .with_maximum_delay(Duration::from_secs(2))
        .clamp()
}

fn what_is_wrong(error: &build_errors::Error) -> &'static str {
    if error.is_loading() {
        "cannot be read"
    } else if error.is_missing_field() {
        "a field is missing"
    } else if error.is_unknown_type() {
        "unknown type"
    } else if error.is_not_supported() {
        "this type is not supported"
    } else {
        "malformed"
    }
}

/// The JSON of a file, and its `type`. Texts of the JSON reader are not passed on: they may quote
/// what they read.
pub(super) fn read(file: &Path) -> Result<(Value, String), String> {
    let text = std::fs::read(file).map_err(|e| e.to_string())?;
    let json: Value =
        serde_json::from_slice(&text).map_err(|e| format!("not JSON, at line {}", e.line()))?;
    let kind = json.get("type").and_then(Value::as_str).unwrap_or_default();
    let kind = kind.to_owned();
    Ok((json, kind))
}
