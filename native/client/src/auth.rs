//! Who we are: headers that prove it, taken from Google's authentication library.

mod handed;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use google_cloud_auth::build_errors;
use google_cloud_auth::credentials::{self, CacheableResource, Credentials, service_account};
use google_cloud_auth::errors::CredentialsError;
use http::header::{AUTHORIZATION, HeaderMap};
use http::{Extensions, HeaderValue};
use tonic::Code;

pub use self::handed::{Demand, HandedTokens};
use crate::connect::ConnectionOptions;
use crate::error::Error;

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// Longer texts of a token service are cut.
const MAX_TEXT: usize = 500;
/// How long a call waits for a token.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(30);

/// The identity of a connection: nobody for an emulator, else credentials that are built anew when
/// the service refuses them, because the library offers no other way to drop a cached token.
pub(crate) struct Auth {
    source: Source,
    quota_project: Option<HeaderValue>,
    current: Mutex<Current>,
    /// There has been a token.
    proven: AtomicBool,
}

enum Source {
    Nobody,
    Default,
    /// What the default comes to where no file describes credentials.
    Metadata,
    KeyFile(PathBuf),
    /// Somebody else fetches the tokens.
    Handed(HandedTokens),
}

struct Current {
    credentials: Option<Credentials>,
    generation: u64,
}

impl Auth {
    /// Must be called within a runtime: tokens are renewed by a task.
    pub(crate) fn new(options: &ConnectionOptions) -> Result<Self, Error> {
        let source = if options.emulator {
            Source::Nobody
        } else if let Some(tokens) = &options.access_tokens {
            Source::Handed(tokens.clone())
        } else {
            // The authentication library takes the process's provider. A failure says that there is
            // one already, which serves as well.
            let _ = rustls::crypto::ring::default_provider().install_default();
            match &options.service_account_key_file {
                Some(file) => Source::KeyFile(file.clone()),
                None if no_default_file() => Source::Metadata,
                None => Source::Default,
            }
        };
        let quota_project = match &options.quota_project {
            Some(project) => Some(
                HeaderValue::from_str(project).map_err(|e| Error::option("quota-project", e))?,
            ),
            None => None,
        };
        Ok(Self {
            current: Mutex::new(Current {
                credentials: source.build()?,
                generation: 0,
            }),
            source,
            quota_project,
            proven: AtomicBool::new(false),
        })
    }

    /// Adds the headers and answers the generation of the credentials.
    pub(crate) async fn authorize(&self, headers: &mut HeaderMap) -> Result<u64, Error> {
        let generation = self.authenticate(headers).await?;
        if let Some(project) = &self.quota_project {
            headers.insert("x-goog-user-project", project.clone());
        }
        Ok(generation)
    }

    async fn authenticate(&self, headers: &mut HeaderMap) -> Result<u64, Error> {
        if let Source::Handed(tokens) = &self.source {
            let (token, generation) = tokio::time::timeout(TOKEN_TIMEOUT, tokens.token())
                .await
                .unwrap_or_else(|_| {
                    let text = "no access token: none was handed over in time";
                    Err(Error::new(Code::Unavailable, text))
                })?;
            headers.insert(AUTHORIZATION, token);
            return Ok(generation);
        }
        let (credentials, generation) = {
            let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            (current.credentials.clone(), current.generation)
        };
        if let Some(credentials) = credentials {
            match credentials.headers(Extensions::new()).await {
                Ok(CacheableResource::New { data, .. }) => {
                    self.proven.store(true, Ordering::Relaxed);
                    headers.extend(data);
                }
                // Only answered to those who name a version they have, which we do not.
                Ok(CacheableResource::NotModified) => {}
                Err(e) => {
                    if !e.is_transient() {
                        // The library's task has ended for good; another try needs new credentials.
                        self.refused(generation);
                    }
                    return Err(self.token_error(&e));
                }
            }
        }
        Ok(generation)
    }

    fn token_error(&self, error: &CredentialsError) -> Error {
        let mut text = format!("no access token: {error}");
        if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
            text.truncate(end);
            text.push('…');
        }
        if matches!(self.source, Source::Metadata) && !self.proven.load(Ordering::Relaxed) {
            // Not a machine of the cloud: waiting does not help.
            let text = format!(
                "no Application Default Credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, \
                 gcloud has left none in the home directory, and no metadata server answers; {text}"
            );
            return Error::new(Code::Unauthenticated, text);
        }
        let code = if error.is_transient() {
            Code::Unavailable
        } else {
            Code::Unauthenticated
        };
        Error::new(code, text)
    }

    /// Replaces credentials of this generation, once. False when there is nothing to replace them with.
    /// Must be called within a runtime.
    pub(crate) fn refused(&self, generation: u64) -> bool {
        if let Source::Handed(tokens) = &self.source {
            tokens.refused(generation);
            return true;
        }
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.generation != generation {
            return true;
        }
        match self.source.build() {
            Ok(Some(credentials)) => {
                current.credentials = Some(credentials);
                current.generation += 1;
                true
            }
            _ => false,
        }
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.source {
            Source::Nobody => "Auth(none)",
            Source::Default | Source::Metadata => "Auth(application default)",
            Source::KeyFile(_) => "Auth(key file)",
            Source::Handed(_) => "Auth(handed over)",
        })
    }
}

impl Source {
    fn build(&self) -> Result<Option<Credentials>, Error> {
        match self {
            Self::Nobody | Self::Handed(_) => Ok(None),
            Self::Default | Self::Metadata => credentials::Builder::default()
                .with_scopes([SCOPE])
                .build()
                .map(Some)
                .map_err(|e| {
                    Error::new(
                        Code::Unauthenticated,
                        format!("Application Default Credentials: {}", what_is_wrong(&e)),
                    )
                }),
            Self::KeyFile(file) => from_key_file(file).map(Some),
        }
    }
}

fn from_key_file(file: &Path) -> Result<Credentials, Error> {
    let refuse = |why: &dyn fmt::Display| {
        Error::option(
            "service-account-key-file",
            format!("{}: {why}", file.display()),
        )
    };
    let text = std::fs::read(file).map_err(|e| refuse(&e))?;
    // Texts of the JSON reader are not passed on: they may quote what they read.
    let key: serde_json::Value = serde_json::from_slice(&text)
        .map_err(|e| refuse(&format!("not JSON, at line {}", e.line())))?;
    match key.get("type").and_then(|t| t.as_str()) {
        Some("service_account") => {}
        _ => return Err(refuse(&"not the key of a service account")),
    }
    service_account::Builder::new(key)
        .with_access_specifier(service_account::AccessSpecifier::from_scopes([SCOPE]))
        .build()
        .map_err(|e| refuse(&what_is_wrong(&e)))
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

/// Whether no file describes default credentials, by the rules of AIP-4110 and AIP-4113.
fn no_default_file() -> bool {
    let named = std::env::var_os("GOOGLE_APPLICATION_CREDENTIALS").is_some();
    let well_known = match std::env::var_os("APPDATA") {
        Some(home) if cfg!(windows) => PathBuf::from(home).join("gcloud"),
        _ => match std::env::var_os("HOME") {
            Some(home) => PathBuf::from(home).join(".config/gcloud"),
            None => return !named,
        },
    };
    !named
        && !well_known
            .join("application_default_credentials.json")
            .exists()
}
