//! TLS and credentials, against a server and a token service of the test's own.

mod support;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use pubsub_client::connect::{Connection, ConnectionOptions};
use pubsub_client::error::{Code, Error};
use pubsub_client::grpc::{Routing, unary};
use pubsub_client::options::Options;
use support::{SOON, Server, soon};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime::Handle;

const PATH: &str = "/google.pubsub.v1.Publisher/Publish";
const CREDENTIALS: &str = "GOOGLE_APPLICATION_CREDENTIALS";
/// Where the metadata server is, by the rules of Google's libraries.
const METADATA: &str = "GCE_METADATA_HOST";
/// Says to a child where its token service is.
const TOKEN_SERVICE: &str = "TEST_TOKEN_SERVICE";

/// A server with a certificate for `localhost`, which is written to `file`.
async fn tls_server(file: &Path) -> Server {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(file, made.cert.pem()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![made.cert.der().clone()],
            made.signing_key.serialize_der().try_into().unwrap(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Server::start_tls(config).await
}

fn connect(pairs: &[(&str, &str)]) -> Result<Connection, Error> {
    let pairs = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let options = ConnectionOptions::take(&mut Options::from_pairs(pairs)?)?;
    Connection::open(options, &Handle::current())
}

fn call(connection: &Connection) -> tokio::task::JoinHandle<Result<Bytes, Error>> {
    let connection = connection.clone();
    tokio::spawn(async move {
        let routing = Routing::new("topic", "projects/p/topics/t");
        unary(&connection, PATH, routing, Bytes::new(), SOON).await
    })
}

/// Answers every request with the next token: `token-1`, `token-2`, …
async fn token_service() -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/token", listener.local_addr().unwrap());
    let tokens = Arc::new(AtomicU32::new(0));
    let made = tokens.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let made = made.clone();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let _ = socket.read(&mut request).await;
                let token = made.fetch_add(1, Ordering::SeqCst) + 1;
                let body = format!(
                    r#"{{"access_token":"token-{token}","expires_in":3600,"token_type":"Bearer"}}"#
                );
                let response = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                     connection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = socket.write_all(response.as_bytes()).await;
            });
        }
    });
    (url, tokens)
}

/// Application Default Credentials are found through the environment, which a process must not
/// change while it runs: the test runs itself once more with the environment that it needs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_credentials_are_renewed_once() {
    if std::env::var_os(TOKEN_SERVICE).is_some() {
        return with_credentials().await;
    }
    let directory = tempfile::tempdir().unwrap();
    let (url, tokens) = token_service().await;
    let file = directory.path().join("credentials.json");
    let credentials = format!(
        r#"{{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r","token_uri":"{url}"}}"#
    );
    std::fs::write(&file, credentials).unwrap();
    let mut child = child("refused_credentials_are_renewed_once");
    child.env(CREDENTIALS, &file).env(TOKEN_SERVICE, &url);
    succeeds(child).await;
    assert_eq!(tokens.load(Ordering::SeqCst), 3);
}

/// This program with one test alone.
fn child(test: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]);
    child
}

async fn succeeds(mut child: Command) {
    let output = tokio::task::spawn_blocking(move || child.output().unwrap());
    let output = soon(output).await.unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

async fn with_credentials() {
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("ca.pem");
    let mut server = tls_server(&ca).await;
    let endpoint = format!("localhost:{}", server.port());
    let connection = connect(&[
        ("endpoint", &endpoint),
        ("ca-certificate-file", ca.to_str().unwrap()),
        ("quota-project", "payer"),
    ])
    .unwrap();

    let answer = call(&connection);
    let first = server.call().await;
    assert_eq!(first.header("authorization"), Some("Bearer token-1"));
    assert_eq!(first.header("x-goog-user-project"), Some("payer"));
    first.refuse(Code::Unauthenticated, "old");
    let second = server.call().await;
    assert_eq!(second.header("authorization"), Some("Bearer token-2"));
    second.answer(b"in");
    assert_eq!(soon(answer).await.unwrap().unwrap(), "in");

    // The token is kept.
    let answer = call(&connection);
    let third = server.call().await;
    assert_eq!(third.header("authorization"), Some("Bearer token-2"));
    third.refuse(Code::Unauthenticated, "who?");
    let fourth = server.call().await;
    assert_eq!(fourth.header("authorization"), Some("Bearer token-3"));
    fourth.refuse(Code::Unauthenticated, "who?");
    let error = soon(answer).await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "UNAUTHENTICATED from Publish on projects/p/topics/t: who? \
         (check the service account key file or the Application Default Credentials)"
    );
    for text in [format!("{error:?}"), format!("{connection:?}")] {
        assert!(!text.contains("token-"), "{text}");
    }
}

#[tokio::test]
async fn no_credentials_anywhere_is_said_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nowhere = listener.local_addr().unwrap().to_string();
    drop(listener);
    if std::env::var_os(METADATA).is_none() {
        let home = tempfile::tempdir().unwrap();
        let mut child = child("no_credentials_anywhere_is_said_at_once");
        child
            .env_remove(CREDENTIALS)
            .env("HOME", home.path())
            .env(METADATA, &nowhere);
        return succeeds(child).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("ca.pem");
    let server = tls_server(&ca).await;
    let endpoint = format!("localhost:{}", server.port());
    let file = ca.to_str().unwrap();
    let connection = connect(&[("endpoint", &endpoint), ("ca-certificate-file", file)]).unwrap();
    let error = soon(call(&connection)).await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::Unauthenticated);
    let text = error.to_string();
    assert!(
        text.contains("no Application Default Credentials: "),
        "{text}"
    );
    // Nothing was sent without an identity.
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_key_file_that_cannot_be_used_is_named_and_not_quoted() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key.json");
    let name = file.to_str().unwrap();
    for (content, why) in [
        (r#"{"private_key": SECRET}"#, "not JSON, at line 1"),
        (
            r#"{"private_key": "SECRET"}"#,
            "not the key of a service account",
        ),
        (
            r#"{"type": "service_account", "private_key": "SECRET", "client_email": 1}"#,
            "malformed",
        ),
    ] {
        std::fs::write(&file, content).unwrap();
        let error = connect(&[("service-account-key-file", name)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("option 'service-account-key-file': {name}: {why}")
        );
        assert!(!format!("{error:?}").contains("SECRET"));
    }
}
