//! Which servers are trusted, what is said of the others, and the way through a proxy.

mod support;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pubsub_client::auth::HandedTokens;
use pubsub_client::connect::Connection;
use pubsub_client::error::{Code, Error};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use support::tls::{self, call, child, succeeds};
use support::{Server, soon};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;

/// Tells a child where the server is, and what the test has in mind.
const ENDPOINT: &str = "TEST_ENDPOINT";
const CA: &str = "TEST_CA";

fn params(name: &str) -> CertificateParams {
    CertificateParams::new([name.to_owned()]).unwrap()
}

/// A server with a self-signed certificate, which is written to `file`.
async fn self_signed(params: CertificateParams, file: &Path) -> Server {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    std::fs::write(file, certificate.pem()).unwrap();
    tls::serve(&certificate, &key).await
}

/// With an identity, so that nothing but the connection can fail.
fn connect(endpoint: &str, ca: Option<&Path>) -> Result<Connection, Error> {
    let tokens = HandedTokens::new();
    tokens.hand("token", Duration::from_secs(3_600)).unwrap();
    let mut pairs = vec![("endpoint", endpoint)];
    if let Some(ca) = ca {
        pairs.push(("ca-certificate-file", ca.to_str().unwrap()));
    }
    let options = tls::options(&pairs)?.with_access_tokens("access-tokens", tokens)?;
    Connection::open(options, &Handle::current())
}

async fn failure(endpoint: &str, ca: Option<&Path>) -> Error {
    soon(call(&connect(endpoint, ca).unwrap()))
        .await
        .unwrap()
        .unwrap_err()
}

async fn passes(server: &mut Server, endpoint: &str, ca: Option<&Path>) {
    let answer = call(&connect(endpoint, ca).unwrap());
    let call = server.call().await;
    assert_eq!(call.header("authorization"), Some("Bearer token"));
    call.answer(b"");
    soon(answer).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_certificate_that_is_not_accepted_is_told_from_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("ca.pem");
    let mut expired = params("localhost");
    expired.not_before = rcgen::date_time_ymd(2020, 1, 1);
    expired.not_after = rcgen::date_time_ymd(2021, 1, 1);
    let mut early = params("localhost");
    early.not_before = rcgen::date_time_ymd(2990, 1, 1);
    early.not_after = rcgen::date_time_ymd(2991, 1, 1);
    let mut authority = params("localhost");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    for (made, trusted, why) in [
        (expired, true, "its certificate has expired ("),
        (early, true, "its certificate is not valid yet ("),
        (
            params("other.example"),
            true,
            "its certificate is for another name (",
        ),
        (
            params("localhost"),
            false,
            "its certificate is self-signed, or signed by an authority that is not trusted here; \
             trust the authority with caCertificateFile",
        ),
        (
            authority,
            true,
            "its certificate is self-signed and marked as that of an authority (CA:TRUE)",
        ),
    ] {
        let server = self_signed(made, &ca).await;
        let endpoint = format!("localhost:{}", server.port());
        let error = failure(&endpoint, trusted.then_some(ca.as_path())).await;
        assert_eq!(error.code(), Code::FailedPrecondition);
        assert!(!error.is_retryable());
        let text = error.to_string();
        let start = format!(
            "FAILED_PRECONDITION from Publish on projects/p/topics/t: cannot connect to {endpoint}: {why}"
        );
        assert!(text.starts_with(&start), "{text}");
    }
}

#[tokio::test]
async fn a_private_authority_is_trusted_by_its_file_alone() {
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("ca.pem");
    let mut authority = params("Private Authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    std::fs::write(&ca, authority.pem()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = params("localhost").signed_by(&key, &authority).unwrap();
    let mut server = tls::serve(&certificate, &key).await;
    let endpoint = format!("localhost:{}", server.port());
    passes(&mut server, &endpoint, Some(&ca)).await;
    let error = failure(&endpoint, None).await;
    assert!(
        error
            .message()
            .contains("an authority that is not trusted here"),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_without_tls_is_not_talked_to() {
    let server = Server::start().await;
    let endpoint = format!("localhost:{}", server.port());
    let error = failure(&endpoint, None).await;
    assert_eq!(error.code(), Code::Unavailable);
    let text = error.to_string();
    assert!(
        text.contains(&format!("cannot connect to {endpoint}: ")),
        "{text}"
    );
}

/// In an image without root certificates, those that are compiled in serve: the server is asked for
/// its certificate, which they do not know.
#[tokio::test]
async fn without_system_roots_the_bundled_ones_serve() {
    if let Ok(endpoint) = std::env::var(ENDPOINT) {
        assert!(rustls_native_certs::load_native_certs().certs.is_empty());
        let error = failure(&endpoint, None).await;
        assert!(
            error
                .message()
                .contains("an authority that is not trusted here"),
            "{error}"
        );
        let error = tls::connection(&[]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("credentials of type authorized_user need root certificates"),
            "{text}"
        );
        assert!(text.contains("SSL_CERT_FILE"), "{text}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let credentials = directory.path().join("adc.json");
    std::fs::write(
        &credentials,
        r#"{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r"}"#,
    )
    .unwrap();
    let server = self_signed(params("localhost"), &directory.path().join("ca.pem")).await;
    let mut child = child("without_system_roots_the_bundled_ones_serve");
    child
        .env(ENDPOINT, format!("localhost:{}", server.port()))
        .env("GOOGLE_APPLICATION_CREDENTIALS", &credentials)
        .env("SSL_CERT_FILE", directory.path().join("none.pem"))
        .env("SSL_CERT_DIR", &empty);
    succeeds(child).await;
}

/// A proxy that opens tunnels to whoever has the password; it keeps the heads of the requests.
async fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = heads.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let kept = kept.clone();
            tokio::spawn(async move {
                let mut socket = BufReader::new(socket);
                let mut head = String::new();
                while socket.read_line(&mut head).await.unwrap_or(0) > 2 {}
                kept.lock().unwrap().push(head.clone());
                // user:secret-password
                if !head
                    .to_ascii_lowercase()
                    .contains("proxy-authorization: basic dxnlcjpzzwnyzxqtcgfzc3dvcmq=")
                {
                    let answer =
                        b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
                    let _ = socket.write_all(answer).await;
                    return;
                }
                let target = head.split_whitespace().nth(1).unwrap().to_owned();
                let mut server = TcpStream::connect(target).await.unwrap();
                let _ = socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
                let _ = tokio::io::copy_bidirectional(&mut socket, &mut server).await;
            });
        }
    });
    (address, heads)
}

const PROXY_TEST: &str = "the_proxy_of_the_environment_is_used";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_proxy_of_the_environment_is_used() {
    if let Ok(what) = std::env::var(ENDPOINT) {
        return behind_a_proxy(&what).await;
    }
    let (address, heads) = proxy().await;
    let with = |what: &str, variables: &[(&str, String)]| {
        let mut child = child(PROXY_TEST);
        for name in [
            "HTTPS_PROXY",
            "https_proxy",
            "ALL_PROXY",
            "all_proxy",
            "NO_PROXY",
            "no_proxy",
        ] {
            child.env_remove(name);
        }
        child.env(ENDPOINT, what).env(CA, &address);
        child.envs(variables.iter().map(|(name, value)| (*name, value)));
        succeeds(child)
    };
    let url = format!("http://user:secret-password@{address}");
    with("passes", &[("HTTPS_PROXY", url.clone())]).await;
    let seen = std::mem::take(&mut *heads.lock().unwrap());
    assert_eq!(seen.len(), 1);
    assert!(seen[0].starts_with("CONNECT localhost:"), "{seen:?}");

    with(
        "passes",
        &[("HTTPS_PROXY", url), ("NO_PROXY", "localhost".to_owned())],
    )
    .await;
    assert!(heads.lock().unwrap().is_empty());
    let wrong = format!("http://user:wrong-password@{address}");
    with("refused", &[("https_proxy", wrong)]).await;
    with("socks", &[("ALL_PROXY", format!("socks5://{address}"))]).await;
}

async fn behind_a_proxy(what: &str) {
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("ca.pem");
    let mut server = self_signed(params("localhost"), &ca).await;
    let endpoint = format!("localhost:{}", server.port());
    let proxy = std::env::var(CA).unwrap();
    match what {
        "passes" => passes(&mut server, &endpoint, Some(&ca)).await,
        "refused" => {
            let error = failure(&endpoint, Some(&ca)).await;
            assert_eq!(error.code(), Code::Unavailable);
            let text = error.to_string();
            let through =
                format!("through the proxy {proxy}: tunnel error: proxy authorization required");
            assert!(text.contains(&through), "{text}");
            assert!(!format!("{error:?}").contains("password"), "{error:?}");
            assert_eq!(server.connections(), 0);
        }
        "socks" => {
            let error = connect(&endpoint, Some(&ca)).unwrap_err();
            assert_eq!(error.code(), Code::FailedPrecondition);
            assert!(
                error
                    .message()
                    .contains("a proxy of the kind socks5://, but only http:// is supported"),
                "{error}"
            );
            // An emulator is never behind a proxy.
            assert!(tls::connection(&[("emulator-endpoint", &endpoint)]).is_ok());
        }
        other => panic!("{other}"),
    }
}
