//! Connections to the service: what they are made of and who shares them.

mod options;
mod route;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Uri};
use tokio::runtime::{Handle, Id};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

pub use self::options::{ConnectionOptions, HostPort};
use self::route::Route;
use crate::auth::Auth;
use crate::error::Error;

/// How long a TCP connection, and then its TLS handshake, may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection with a call on it on which nothing arrives for this long is asked for a sign of life…
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// The interval never grows beyond this.
const MAX_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(600);
/// …and given up when none comes.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(15);
/// The largest DATA frame that the server may send us. Larger frames mean fewer of them; beyond 128 KiB
/// each one's memory is taken from the system and given back. Measured on loopback, in CPU-seconds per
/// GiB: 0.48 with HTTP/2's default of 16 KiB, 0.33 with 64 KiB, 0.58 with 1 MiB.
const MAX_FRAME: u32 = 64 << 10;
/// The largest headers or trailers that are read, in bytes. An exactly-once subscription judges up to 1,000 ack ids
/// one by one in the trailers: 512 KiB of ids, a reason for each, and a third more as base64. An HTTP/2 library's
/// usual 16 KiB would end the connection at about a hundred. Google's Java client allows as much.
const MAX_HEADERS: u32 = 4 << 20;
/// Unary answers are small, apart from those of Pull.
const UNARY_WINDOWS: Windows = Windows {
    stream: 4 << 20,
    connection: 8 << 20,
};

const NAME_AND_VERSION: &str = concat!("flink-pubsub-native/", env!("CARGO_PKG_VERSION"));

/// HTTP/2 receive windows in bytes: how much the server may send before we read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// Of one stream.
    pub stream: u32,
    /// Of all streams of one connection together.
    pub connection: u32,
}

impl Windows {
    /// Several responses ahead: the network never waits for the reader.
    pub const SPEED: Self = Self {
        stream: 8 << 20,
        connection: 16 << 20,
    };
}

/// A way to the service: one shared connection for unary calls, further ones for streams, one identity.
///
/// Clones are cheap and share everything. Any thread may use one.
#[derive(Clone)]
pub struct Connection {
    shared: Arc<Shared>,
}

struct Shared {
    options: ConnectionOptions,
    runtime: Handle,
    endpoint: Endpoint,
    route: Route,
    unary: Channel,
    auth: Auth,
    api_client: HeaderValue,
    /// Milliseconds between signs of life on new streams' connections.
    keepalive: AtomicU64,
}

type Registry = Mutex<HashMap<(ConnectionOptions, Id), Weak<Shared>>>;

/// Connections that somebody holds, so that all clients of a process share one per set of options.
fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(Registry::default)
}

impl Connection {
    /// Opens, or shares, the connection with these options on this runtime. It reads the files that
    /// the options name and touches no network: that happens at the first call.
    pub fn open(options: ConnectionOptions, runtime: &Handle) -> Result<Self, Error> {
        let mut registry = registry().lock().unwrap_or_else(PoisonError::into_inner);
        registry.retain(|_, shared| shared.strong_count() > 0);
        let key = (options.clone(), runtime.id());
        if let Some(shared) = registry.get(&key).and_then(Weak::upgrade) {
            return Ok(Self { shared });
        }
        let _context = runtime.enter();
        let endpoint = endpoint(&options)?;
        let route = match options.emulator {
            true => Route::direct(),
            false => Route::by_environment(endpoint.uri())?,
        };
        let shared = Arc::new(Shared {
            unary: with_windows(endpoint.clone(), UNARY_WINDOWS)
                .connect_with_connector_lazy(route.clone()),
            auth: Auth::new(&options)?,
            api_client: HeaderValue::from_static(NAME_AND_VERSION),
            keepalive: AtomicU64::new(KEEPALIVE_INTERVAL.as_millis() as u64),
            endpoint,
            route,
            runtime: runtime.clone(),
            options,
        });
        registry.insert(key, Arc::downgrade(&shared));
        Ok(Self { shared })
    }

    /// The options it was opened with.
    pub fn options(&self) -> &ConnectionOptions {
        &self.shared.options
    }

    /// The runtime that its tasks run on.
    pub fn runtime(&self) -> &Handle {
        &self.shared.runtime
    }

    /// A channel with a TCP connection of its own, which is made at the first call and closed when
    /// the channel is dropped. A stream that is not read fills its connection's window and would
    /// starve every other call there.
    pub fn stream_channel(&self, windows: Windows) -> Channel {
        let _context = self.shared.runtime.enter();
        let endpoint = self.shared.endpoint.clone();
        with_windows(endpoint, windows)
            .http2_keep_alive_interval(self.keepalive_interval())
            .connect_with_connector_lazy(self.shared.route.clone())
    }

    /// After how long a silence a new stream's connection is asked for a sign of life: 30 s at first,
    /// and twice as long, up to 10 min, each time a server has closed one that was silent.
    pub fn keepalive_interval(&self) -> Duration {
        Duration::from_millis(self.shared.keepalive.load(Ordering::Relaxed))
    }

    /// A connection on which nothing but signs of life was sent for `silence` was closed without a word.
    ///
    /// That is how it looks from here when a server closes it for too many pings, as gRPC's in Go and
    /// Java do when there are more than two in 5 min without data; gRPC's keepalive rules (A8) then ask
    /// for twice the interval.
    pub(crate) fn closed_in_silence(&self, silence: Duration) {
        if silence < self.keepalive_interval() * 2 {
            return;
        }
        let doubled = (self.keepalive_interval() * 2).min(MAX_KEEPALIVE_INTERVAL);
        self.shared
            .keepalive
            .store(doubled.as_millis() as u64, Ordering::Relaxed);
    }

    pub(crate) fn unary_channel(&self) -> &Channel {
        &self.shared.unary
    }

    /// Adds what identifies the client and the caller. The answer is the generation of the
    /// credentials, for [`Connection::credentials_refused`].
    pub(crate) async fn authorize(&self, headers: &mut HeaderMap) -> Result<u64, Error> {
        headers.insert("x-goog-api-client", self.shared.api_client.clone());
        self.shared.auth.authorize(headers).await
    }

    /// The service refused credentials of this generation. The answer is whether the next call uses
    /// newer ones.
    pub(crate) fn credentials_refused(&self, generation: u64) -> bool {
        let _context = self.shared.runtime.enter();
        self.shared.auth.refused(generation)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}

fn with_windows(endpoint: Endpoint, windows: Windows) -> Endpoint {
    endpoint
        .initial_stream_window_size(windows.stream)
        .initial_connection_window_size(windows.connection)
}

fn endpoint(options: &ConnectionOptions) -> Result<Endpoint, Error> {
    let scheme = if options.emulator { "http" } else { "https" };
    let uri: Uri = format!("{scheme}://{}", options.endpoint)
        .parse()
        .map_err(|e| Error::option("endpoint", e))?;
    let user_agent = match &options.user_agent_suffix {
        Some(suffix) => format!("{NAME_AND_VERSION} {suffix}"),
        None => NAME_AND_VERSION.to_owned(),
    };
    let endpoint = Endpoint::from(uri)
        .user_agent(user_agent)
        .map_err(|e| Error::option("user-agent-suffix", e))?
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .keep_alive_while_idle(false)
        .max_frame_size(MAX_FRAME)
        .http2_max_header_list_size(MAX_HEADERS);
    if options.emulator {
        return Ok(endpoint);
    }
    let tls = ClientTlsConfig::new().timeout(CONNECT_TIMEOUT);
    if let Some(file) = &options.ca_certificate_file {
        let refuse = |why: &dyn fmt::Display| {
            Error::option("ca-certificate-file", format!("{}: {why}", file.display()))
        };
        let pem = std::fs::read(file).map_err(|e| refuse(&e))?;
        if !contains_certificate(&pem) {
            return Err(refuse(&"no PEM certificate in it"));
        }
        return endpoint
            .tls_config(tls.ca_certificate(Certificate::from_pem(pem)))
            .map_err(|e| refuse(&e));
    }
    // The system's roots when it has any, else those compiled in: slim images often have none.
    endpoint
        .clone()
        .tls_config(tls.clone().with_native_roots())
        .or_else(|_| endpoint.tls_config(tls.with_webpki_roots()))
        .map_err(|e| Error::new(tonic::Code::Internal, format!("cannot set up TLS: {e}")))
}

fn contains_certificate(pem: &[u8]) -> bool {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    let mut found = CertificateDer::pem_slice_iter(pem);
    matches!(found.next(), Some(Ok(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn identical_options_share_a_connection_while_it_is_held() {
        let open = |port: u16| {
            let options = ConnectionOptions::emulator(&format!("127.0.0.1:{port}")).unwrap();
            Connection::open(options, &Handle::current()).unwrap()
        };
        let one = open(11);
        let same = open(11);
        let other = open(12);
        assert!(Arc::ptr_eq(&one.shared, &same.shared));
        assert!(!Arc::ptr_eq(&one.shared, &other.shared));
        let gone = Arc::downgrade(&one.shared);
        drop((one, same));
        assert!(gone.upgrade().is_none());
        assert!(!Arc::ptr_eq(&open(11).shared, &other.shared));
    }

    #[tokio::test]
    async fn unusable_files_are_named() {
        let directory = std::env::temp_dir();
        let file = directory.join(format!("pubsub-client-ca-{}.pem", std::process::id()));
        std::fs::write(&file, "no certificate").unwrap();
        let open = |key: &str, value: &str| {
            let pair = (key.to_owned(), value.to_owned());
            let mut options = crate::options::Options::from_pairs([pair]).unwrap();
            let options = ConnectionOptions::take(&mut options).unwrap();
            Connection::open(options, &Handle::current()).unwrap_err()
        };
        let name = file.to_str().unwrap();
        let error = open("ca-certificate-file", name);
        assert_eq!(
            error.to_string(),
            format!("option 'ca-certificate-file': {name}: no PEM certificate in it")
        );
        assert!(error.is_option());
        std::fs::remove_file(&file).unwrap();
        let error = open("ca-certificate-file", name);
        assert!(
            error
                .to_string()
                .starts_with(&format!("option 'ca-certificate-file': {name}: ")),
            "{error}"
        );
        let error = open("service-account-key-file", name);
        assert!(
            error
                .to_string()
                .starts_with(&format!("option 'service-account-key-file': {name}: ")),
            "{error}"
        );
    }
}
