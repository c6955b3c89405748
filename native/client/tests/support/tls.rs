//! A server with a certificate, and connections that trust it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use bytes::Bytes;
use pubsub_client::auth::TokenPatience;
use pubsub_client::connect::{Connection, ConnectionOptions};
use pubsub_client::error::Error;
use pubsub_client::grpc::{Routing, unary};
use pubsub_client::options::Options;
use rcgen::{Certificate, KeyPair};
use tokio::runtime::Handle;

use super::{SOON, Server, soon};

pub const PUBLISH: &str = "/google.pubsub.v1.Publisher/Publish";

/// A server for `localhost`.
pub struct Rig {
    pub server: Server,
    ca: PathBuf,
}

impl Rig {
    /// Writes the certificate into the directory.
    pub async fn start(directory: &Path) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let ca = directory.join("ca.pem");
        std::fs::write(&ca, made.cert.pem()).unwrap();
        Self {
            server: serve(&made.cert, &made.signing_key).await,
            ca,
        }
    }

    /// The options that lead to the server.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        vec![
            ("endpoint", format!("localhost:{}", self.server.port())),
            ("ca-certificate-file", self.ca.to_str().unwrap().to_owned()),
        ]
    }

    pub fn connection(&self, pairs: &[(&str, &str)]) -> Connection {
        self.patient(pairs, TokenPatience::default())
    }

    pub fn patient(&self, pairs: &[(&str, &str)], patience: TokenPatience) -> Connection {
        let own = self.pairs();
        let own = own.iter().map(|(key, value)| (*key, value.as_str()));
        let pairs: Vec<_> = own.chain(pairs.iter().copied()).collect();
        let options = options(&pairs).unwrap().with_token_patience(patience);
        Connection::open(options, &Handle::current()).unwrap()
    }
}

/// A server with this certificate.
pub async fn serve(certificate: &Certificate, key: &KeyPair) -> Server {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            key.serialize_der().try_into().unwrap(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Server::start_tls(config).await
}

pub fn options(pairs: &[(&str, &str)]) -> Result<ConnectionOptions, Error> {
    let pairs = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    ConnectionOptions::take(&mut Options::from_pairs(pairs)?)
}

pub fn connection(pairs: &[(&str, &str)]) -> Result<Connection, Error> {
    Connection::open(options(pairs)?, &Handle::current())
}

/// Publishes, whatever the server makes of it.
pub fn call(connection: &Connection) -> tokio::task::JoinHandle<Result<Bytes, Error>> {
    let connection = connection.clone();
    tokio::spawn(async move {
        let routing = Routing::new("topic", "projects/p/topics/t");
        unary(&connection, PUBLISH, routing, Bytes::new(), SOON).await
    })
}

/// This program with one test alone. Credentials are found through the environment, which a process
/// must not change while it runs.
pub fn child(test: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]);
    child
}

pub async fn succeeds(mut child: Command) {
    let output = tokio::task::spawn_blocking(move || child.output().unwrap());
    let output = soon(output).await.unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
