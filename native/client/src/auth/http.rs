//! Tokens that come over HTTP: for the key of a service account, and from the metadata server.
//!
//! Google's authentication library has neither the exchange at a key's own `token_uri`, nor can it
//! ask the metadata server in an image without root certificates, nor does it bound its requests.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::StatusCode;
use reqwest::{Client, RequestBuilder};
use rustls::SignatureScheme;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::sign::Signer;
use serde_json::{Value, json};

use super::SCOPE;
use super::cached::{Failure, Fetch, Fetched};
use super::roots;
use super::secrets::Secrets;
use crate::connect::ConnectionOptions;
use crate::error::Error;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const TIMEOUT: Duration = Duration::from_secs(10);

/// An assertion is valid for an hour, which is the most that Google accepts, and from a little
/// before now: clocks differ.
const ASSERTION_LIFE: i64 = 3_600;
const CLOCK_SKEW: i64 = 10;

/// A token that does not say when it ends.
const DEFAULT_LIFE: u64 = 3_600;

/// One way to a token.
pub(super) struct Http {
    client: Client,
    grant: Grant,
    secrets: Secrets,
}

enum Grant {
    /// RFC 7523: an assertion, signed with the key, is exchanged at the key's `token_uri`.
    Key(Box<Key>),
    /// The metadata server's token of the machine's service account.
    Metadata { url: String },
}

struct Key {
    email: String,
    id: Option<String>,
    token_uri: String,
    signer: Box<dyn Signer>,
}

impl Http {
    /// With the key of a service account. The text of an error does not quote it.
    pub(super) fn with_key(
        key: &Value,
        token_uri: &str,
        options: &ConnectionOptions,
    ) -> Result<Self, String> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let email = text("client_email").ok_or("client_email is missing")?;
        let signer = signer(key)?;
        Ok(Self {
            client: client(options, true).map_err(|e| e.to_string())?,
            grant: Grant::Key(Box::new(Key {
                email: email.to_owned(),
                id: text("private_key_id").map(str::to_owned),
                token_uri: token_uri.to_owned(),
                signer,
            })),
            secrets: Secrets::of(key),
        })
    }

    /// From the metadata server, whose host and perhaps port this is.
    pub(super) fn from_metadata(host: &str, options: &ConnectionOptions) -> Result<Self, Error> {
        let client = client(options, false)
            .map_err(|e| Error::new(tonic::Code::Internal, format!("cannot set up HTTP: {e}")))?;
        let path = "computeMetadata/v1/instance/service-accounts/default/token";
        Ok(Self {
            client,
            grant: Grant::Metadata {
                url: format!("http://{host}/{path}?scopes={SCOPE}"),
            },
            secrets: Secrets::default(),
        })
    }

    fn request(&self) -> Result<RequestBuilder, Failure> {
        Ok(match &self.grant {
            Grant::Key(key) => {
                let assertion = key.assertion().map_err(Failure::permanent)?;
                // An assertion has only characters that need no escape.
                let body = format!(
                    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion={assertion}"
                );
                let form = "application/x-www-form-urlencoded";
                self.client
                    .post(&key.token_uri)
                    .header("content-type", form)
                    .body(body)
            }
            Grant::Metadata { url } => self.client.get(url).header("metadata-flavor", "Google"),
        })
    }
}

impl Fetch for Http {
    async fn fetch(&self) -> Result<Fetched, Failure> {
        let mut failure = match self.request()?.send().await {
            Ok(response) => {
                let status = response.status();
                match response.bytes().await {
                    Ok(body) if status.is_success() => return fetched(&body),
                    Ok(body) => Failure {
                        text: format!("HTTP {status}{}", reason(&body)),
                        transient: passes(status),
                    },
                    Err(e) => Failure::transient(chain(&e)),
                }
            }
            Err(e) => Failure::transient(chain(&e)),
        };
        failure.text = self.secrets.hide(&failure.text);
        Err(failure)
    }
}

impl Key {
    fn assertion(&self) -> Result<String, String> {
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_err(|_| "the clock is before 1970".to_owned())?
            .as_secs() as i64;
        let issued = now - CLOCK_SKEW;
        let mut header = json!({"alg": "RS256", "typ": "JWT"});
        if let Some(id) = &self.id {
            header["kid"] = json!(id);
        }
        let claims = json!({
            "iss": self.email,
            "sub": self.email,
            "aud": self.token_uri,
            "scope": SCOPE,
            "iat": issued,
            "exp": issued + ASSERTION_LIFE,
        });
        let encode = |json: &Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let signature = self
            .signer
            .sign(signed.as_bytes())
            .map_err(|e| format!("cannot sign with the private key: {e}"))?;
        Ok(format!(
            "{signed}.{}",
            BASE64_URL_SAFE_NO_PAD.encode(signature)
        ))
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.grant {
            Grant::Key(_) => "Http(key)",
            Grant::Metadata { .. } => "Http(metadata)",
        })
    }
}

/// The private key of a service account.
pub(super) fn signer(key: &Value) -> Result<Box<dyn Signer>, String> {
    let pem = key.get("private_key").and_then(Value::as_str);
    let pem = pem.ok_or("private_key is missing")?;
    let der = PrivateKeyDer::from_pem_slice(pem.as_bytes())
        .map_err(|_| "private_key is not PEM".to_owned())?;
    let signer = rustls::crypto::ring::sign::any_supported_type(&der)
        .ok()
        .and_then(|key| key.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256]));
    signer.ok_or_else(|| "private_key is not an RSA key".to_owned())
}

/// Proxies are those of the environment; the metadata server is never behind one.
fn client(
    options: &ConnectionOptions,
    proxies: bool,
) -> Result<Client, Box<dyn std::error::Error>> {
    let builder = Client::builder()
        .tls_backend_preconfigured(roots::client_config(options)?)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TIMEOUT)
        .redirect(reqwest::redirect::Policy::none());
    let builder = match proxies {
        true => builder,
        false => builder.no_proxy(),
    };
    Ok(builder.build()?)
}

fn fetched(body: &[u8]) -> Result<Fetched, Failure> {
    let answer: Value = serde_json::from_slice(body)
        .map_err(|e| Failure::permanent(format!("the answer is not JSON, at line {}", e.line())))?;
    let token = answer
        .get("access_token")
        .and_then(Value::as_str)
        .filter(|token| !token.is_empty())
        .ok_or_else(|| Failure::permanent("the answer has no access_token"))?;
    let life = answer.get("expires_in").and_then(Value::as_u64);
    Ok(Fetched {
        token: token.to_owned(),
        life: Duration::from_secs(life.unwrap_or(DEFAULT_LIFE).min(86_400)),
    })
}

/// What RFC 6749 has in an error's body. Other texts are not passed on: they may hold anything.
fn reason(body: &[u8]) -> String {
    let Ok(answer) = serde_json::from_slice::<Value>(body) else {
        return String::new();
    };
    ["error", "error_description"]
        .into_iter()
        .filter_map(|name| answer.get(name)?.as_str())
        .map(|text| format!(": {text}"))
        .collect()
}

fn passes(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        )
}

/// An error with its causes.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        // Causes repeat themselves in each other's texts.
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
