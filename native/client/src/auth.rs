//! Who we are: headers that prove it.
//!
//! A connection has one identity, and all who use the connection share its token. Files are made
//! into credentials by Google's authentication library, but for what it cannot do ([`http`]).

mod cached;
mod handed;
mod http;
mod library;
mod roots;
mod secrets;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::http::HeaderValue;
use ::http::header::{AUTHORIZATION, HeaderMap};
use serde_json::Value;
use tokio::time::Instant;
use tonic::Code;

use self::cached::{Cached, Failure};
pub use self::handed::{Demand, HandedTokens};
use self::http::Http;
use self::library::Library;
use crate::connect::ConnectionOptions;
use crate::error::Error;

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const CREDENTIALS: &str = "GOOGLE_APPLICATION_CREDENTIALS";
const QUOTA_PROJECT: &str = "GOOGLE_CLOUD_QUOTA_PROJECT";
const METADATA_HOST: &str = "GCE_METADATA_HOST";
const DEFAULT_METADATA_HOST: &str = "metadata.google.internal";
/// Where a key is exchanged unless it says otherwise. For these the library signs tokens itself, as
/// Google's other clients do: the service takes them without an exchange.
const GOOGLE_TOKEN_URIS: [&str; 3] = [
    "https://oauth2.googleapis.com/token",
    "https://accounts.google.com/o/oauth2/token",
    "https://www.googleapis.com/oauth2/v4/token",
];

/// Longer texts of a token service are cut.
const MAX_TEXT: usize = 500;
/// How long a call waits for a token.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(30);

/// For how long calls are told to try again while there is no token; then they fail for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenPatience {
    /// Before there ever was one. Default 30 s.
    pub first: Duration,
    /// After that. Default 10 min.
    pub later: Duration,
}

impl Default for TokenPatience {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(30),
            later: Duration::from_secs(600),
        }
    }
}

/// The identity of a connection.
pub(crate) struct Auth {
    source: Source,
    options: ConnectionOptions,
    quota_project: Option<HeaderValue>,
    current: Mutex<Current>,
    outage: Mutex<Outage>,
}

/// What credentials are made of, again after they were refused.
#[derive(Debug, Clone)]
enum Source {
    Nobody,
    Handed(HandedTokens),
    /// The option's file.
    KeyFile(PathBuf),
    /// A file of Application Default Credentials.
    DefaultFile(PathBuf),
    /// What the default comes to where no file describes credentials; the host of the server.
    Metadata(String),
}

#[derive(Clone)]
enum Identity {
    Nobody,
    Handed(HandedTokens),
    Http(Arc<Cached<Http>>),
    Library(Arc<Library>),
}

struct Current {
    identity: Identity,
    /// How often it was made; the upper half of a generation.
    made: u32,
}

#[derive(Default)]
struct Outage {
    /// There has been a token.
    proven: bool,
    /// There is none since.
    since: Option<Instant>,
}

impl Auth {
    /// Reads the files that the options or the environment name; makes no call. Must be called
    /// within a runtime: tokens are renewed by a task.
    pub(crate) fn new(options: &ConnectionOptions) -> Result<Self, Error> {
        let mut quota_project = options.quota_project.clone();
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
                None => {
                    let project = || set_variable(QUOTA_PROJECT)?.into_string().ok();
                    quota_project = quota_project.or_else(project);
                    default_source()
                }
            }
        };
        let quota_project = match quota_project {
            Some(project) => Some(
                HeaderValue::from_str(&project).map_err(|e| Error::option("quota-project", e))?,
            ),
            None => None,
        };
        Ok(Self {
            current: Mutex::new(Current {
                identity: source.identity(options)?,
                made: 0,
            }),
            source,
            options: options.clone(),
            quota_project,
            outage: Mutex::default(),
        })
    }

    /// Adds the headers and answers the generation of the credentials.
    pub(crate) async fn authorize(&self, headers: &mut HeaderMap) -> Result<u64, Error> {
        let (identity, made) = {
            let current = self.current();
            (current.identity.clone(), current.made)
        };
        let asked = Instant::now();
        let token = tokio::time::timeout(TOKEN_TIMEOUT, identity.authorize(headers)).await;
        let generation = |inner: u64| u64::from(made) << 32 | inner & u64::from(u32::MAX);
        match token {
            Ok(Ok(inner)) => {
                let mut outage = self.outage();
                outage.proven = true;
                outage.since = None;
                drop(outage);
                if let Some(project) = &self.quota_project {
                    headers.insert("x-goog-user-project", project.clone());
                }
                Ok(generation(inner))
            }
            Ok(Err(failure)) => {
                if !failure.transient && matches!(identity, Identity::Library(_)) {
                    // The library's task has ended for good; another try needs new credentials.
                    self.refused(generation(0));
                }
                Err(self.error(&failure, asked))
            }
            Err(_) => {
                if matches!(identity, Identity::Library(_)) {
                    // Its task may wait for ever: its requests have no bound.
                    self.refused(generation(0));
                }
                let text = format!("none came within {} s", TOKEN_TIMEOUT.as_secs());
                Err(self.error(&Failure::transient(text), asked))
            }
        }
    }

    fn error(&self, failure: &Failure, asked: Instant) -> Error {
        let mut text = failure.text.clone();
        if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
            text.truncate(end);
            text.push('…');
        }
        let mut outage = self.outage();
        let since = *outage.since.get_or_insert(asked);
        if matches!(self.source, Source::Metadata(_)) && !outage.proven {
            // Not a machine of the cloud: waiting does not help.
            let text = format!(
                "no Application Default Credentials: {CREDENTIALS} is not set, gcloud has left none \
                 in the home directory, and no metadata server answers; no access token: {text}"
            );
            return Error::new(Code::Unauthenticated, text);
        }
        let patience = &self.options.token_patience;
        let limit = match outage.proven {
            true => patience.later,
            false => patience.first,
        };
        if !failure.transient {
            return Error::new(Code::Unauthenticated, format!("no access token: {text}"));
        }
        let gone = since.elapsed();
        if gone >= limit {
            let seconds = gone.as_secs();
            let text = format!("no access token for {seconds} s: {text}");
            return Error::new(Code::Unauthenticated, text);
        }
        Error::new(Code::Unavailable, format!("no access token: {text}"))
    }

    /// Drops credentials of this generation, once. False when there is nothing to replace them with.
    /// Must be called within a runtime.
    pub(crate) fn refused(&self, generation: u64) -> bool {
        let mut current = self.current();
        if u64::from(current.made) != generation >> 32 {
            return true;
        }
        match &current.identity {
            Identity::Nobody => return false,
            Identity::Handed(tokens) => {
                tokens.refused(generation);
                return true;
            }
            Identity::Http(cached) => cached.refused(generation & u64::from(u32::MAX)),
            Identity::Library(_) => {}
        }
        if matches!(self.source, Source::Metadata(_)) {
            return true;
        }
        // The file may have been replaced meanwhile.
        match self.source.identity(&self.options) {
            Ok(identity) => {
                current.identity = identity;
                current.made += 1;
                true
            }
            // A file that is just being written must not end a job; the old key may still do.
            Err(_) => matches!(current.identity, Identity::Http(_)),
        }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outage(&self) -> MutexGuard<'_, Outage> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.source {
            Source::Nobody => "Auth(none)",
            Source::DefaultFile(_) | Source::Metadata(_) => "Auth(application default)",
            Source::KeyFile(_) => "Auth(key file)",
            Source::Handed(_) => "Auth(handed over)",
        })
    }
}

impl Identity {
    async fn authorize(&self, headers: &mut HeaderMap) -> Result<u64, Failure> {
        let (token, generation) = match self {
            Self::Nobody => return Ok(0),
            Self::Handed(tokens) => tokens.token().await?,
            Self::Http(cached) => cached.token().await?,
            Self::Library(library) => {
                headers.extend(library.headers().await?);
                return Ok(0);
            }
        };
        headers.insert(AUTHORIZATION, token);
        Ok(generation)
    }
}

impl Source {
    fn identity(&self, options: &ConnectionOptions) -> Result<Identity, Error> {
        match self {
            Self::Nobody => Ok(Identity::Nobody),
            Self::Handed(tokens) => Ok(Identity::Handed(tokens.clone())),
            Self::Metadata(host) => {
                let http = Http::from_metadata(host, options)?;
                Ok(Identity::Http(Cached::new(http)))
            }
            Self::KeyFile(file) => key_file(file, options).map_err(|why| {
                let text = format!("{}: {why}", file.display());
                Error::option("service-account-key-file", text)
            }),
            Self::DefaultFile(file) => default_file(file, options).map_err(|why| {
                let file = file.display();
                let text = format!("Application Default Credentials: {file}: {why}");
                Error::new(Code::Unauthenticated, text)
            }),
        }
    }
}

fn key_file(file: &Path, options: &ConnectionOptions) -> Result<Identity, String> {
    match library::read(file)? {
        (key, kind) if kind == "service_account" => with_key(&key, options),
        _ => Err("not the key of a service account".to_owned()),
    }
}

fn default_file(file: &Path, options: &ConnectionOptions) -> Result<Identity, String> {
    match library::read(file)? {
        (key, kind) if kind == "service_account" => with_key(&key, options),
        (_, kind) if kind.is_empty() => Err("it has no type".to_owned()),
        (json, kind) => Ok(Identity::Library(Arc::new(Library::new(&json, &kind)?))),
    }
}

fn with_key(key: &Value, options: &ConnectionOptions) -> Result<Identity, String> {
    let token_uri = key.get("token_uri").and_then(Value::as_str);
    match token_uri.filter(|uri| !GOOGLE_TOKEN_URIS.contains(uri)) {
        Some(uri) => {
            let http = Http::with_key(key, uri, options)?;
            Ok(Identity::Http(Cached::new(http)))
        }
        None => {
            // The library looks at the key when it signs, which is late.
            http::signer(key)?;
            let library = Library::new(key, "service_account")?;
            Ok(Identity::Library(Arc::new(library)))
        }
    }
}

/// Where default credentials come from, by the rules of AIP-4110 and AIP-4113.
fn default_source() -> Source {
    if let Some(file) = set_variable(CREDENTIALS) {
        return Source::DefaultFile(file.into());
    }
    let home = match set_variable("APPDATA") {
        Some(data) if cfg!(windows) => Some(PathBuf::from(data).join("gcloud")),
        _ => set_variable("HOME").map(|home| PathBuf::from(home).join(".config/gcloud")),
    };
    let file = home.map(|home| home.join("application_default_credentials.json"));
    match file.filter(|file| file.exists()) {
        Some(file) => Source::DefaultFile(file),
        None => {
            let host = set_variable(METADATA_HOST).and_then(|host| host.into_string().ok());
            Source::Metadata(host.unwrap_or_else(|| DEFAULT_METADATA_HOST.to_owned()))
        }
    }
}

/// A variable of the environment that is not empty.
fn set_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
