//! Credentials from their files to the header of a call, against token services of the test's own.

#[path = "support/key.rs"]
mod key;
#[path = "support/logs.rs"]
mod logs;
mod support;
#[path = "support/web.rs"]
mod web;

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use key::TestKey;
use logs::Logs;
use pubsub_client::auth::{Demand, HandedTokens, TokenPatience};
use pubsub_client::connect::Connection;
use pubsub_client::error::Code;
use pubsub_client::grpc::{Routing, unary};
use serde_json::{Value, json};
use support::tls::{self, call, child, connection, succeeds};
use support::{Server, soon};
use tokio::runtime::Handle;
use web::Web;

const CREDENTIALS: &str = "GOOGLE_APPLICATION_CREDENTIALS";
const METADATA: &str = "GCE_METADATA_HOST";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// Says to a child which token its call must have.
const EXPECTED: &str = "TEST_EXPECTED_TOKEN";

fn write(file: &Path, content: &Value) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, content.to_string()).unwrap();
}

/// Answers a call, and its authorization header.
async fn authorization(server: &mut Server, pairs: &[(&str, &str)]) -> String {
    let connection = connection(pairs).unwrap();
    let answer = call(&connection);
    let call = server.call().await;
    let header = call.header("authorization").unwrap().to_owned();
    call.answer(b"");
    soon(answer).await.unwrap().unwrap();
    header
}

fn part(jwt: &str, at: usize) -> Value {
    let part = jwt.split('.').nth(at).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs() as i64
}

#[tokio::test]
async fn a_key_is_exchanged_at_its_own_token_uri() {
    let directory = tempfile::tempdir().unwrap();
    let mut tls = tls::Rig::start(directory.path()).await;
    let key = TestKey::new();
    let asked = AtomicU32::new(0);
    // It is out of order twice.
    let service = Web::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        n @ 0..2 => (500 + 3 * n as u16, "out of order".to_owned()),
        n => web::token(&format!("token-{}", n - 1)),
    })
    .await;
    let uri = service.url("/token");
    let file = directory.path().join("key.json");
    write(&file, &key.file(Some(&uri)));
    let connection = tls.connection(&[
        ("service-account-key-file", file.to_str().unwrap()),
        ("quota-project", "payer"),
    ]);

    let answer = call(&connection);
    let first = tls.server.call().await;
    assert_eq!(first.header("authorization"), Some("Bearer token-1"));
    assert_eq!(first.header("x-goog-user-project"), Some("payer"));
    // Refused, it is exchanged anew, and the call is made once more.
    first.refuse(Code::Unauthenticated, "old");
    let second = tls.server.call().await;
    assert_eq!(second.header("authorization"), Some("Bearer token-2"));
    second.answer(b"");
    soon(answer).await.unwrap().unwrap();

    let asked = service.asked();
    assert_eq!(asked.len(), 4);
    for asked in asked {
        assert_eq!(
            (asked.method.as_str(), asked.path.as_str()),
            ("POST", "/token")
        );
        assert_eq!(
            asked.field("grant_type"),
            "urn:ietf:params:oauth:grant-type:jwt-bearer"
        );
        let assertion = asked.field("assertion");
        key.verify(&assertion);
        assert_eq!(
            part(&assertion, 0),
            json!({"alg": "RS256", "typ": "JWT", "kid": "key-1"})
        );
        let claims = part(&assertion, 1);
        assert_eq!(claims["iss"], key::EMAIL);
        assert_eq!(claims["sub"], key::EMAIL);
        assert_eq!(claims["aud"], uri);
        assert_eq!(claims["scope"], SCOPE);
        let (issued, ends) = (
            claims["iat"].as_i64().unwrap(),
            claims["exp"].as_i64().unwrap(),
        );
        assert_eq!(ends - issued, 3_600);
        assert!((now() - 60..=now()).contains(&issued), "{issued}");
    }
}

#[tokio::test]
async fn a_key_of_google_signs_tokens_itself() {
    let directory = tempfile::tempdir().unwrap();
    let mut tls = tls::Rig::start(directory.path()).await;
    let key = TestKey::new();
    let file = directory.path().join("key.json");
    for uri in [None, Some("https://oauth2.googleapis.com/token")] {
        write(&file, &key.file(uri));
        let pairs = tls.pairs();
        let mut pairs: Vec<_> = pairs.iter().map(|(k, v)| (*k, v.as_str())).collect();
        pairs.push(("service-account-key-file", file.to_str().unwrap()));
        let header = authorization(&mut tls.server, &pairs).await;
        let token = header.strip_prefix("Bearer ").unwrap();
        key.verify(token);
        let claims = part(token, 1);
        assert_eq!(claims["iss"], key::EMAIL);
        assert_eq!(claims["scope"], SCOPE);
        let life = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
        assert!((3_600..=3_660).contains(&life), "{life}");
    }
}

#[tokio::test]
async fn a_token_service_that_stays_down_fails_calls_for_good_after_a_while() {
    let directory = tempfile::tempdir().unwrap();
    let tls = tls::Rig::start(directory.path()).await;
    let service = Web::start(|_| (503, r#"{"error":"unavailable"}"#.to_owned())).await;
    let file = directory.path().join("key.json");
    write(&file, &TestKey::new().file(Some(&service.url("/token"))));
    let patience = TokenPatience {
        first: Duration::from_secs(3),
        later: Duration::from_secs(600),
    };
    let connection = tls.patient(
        &[("service-account-key-file", file.to_str().unwrap())],
        patience,
    );
    let begin = Instant::now();
    loop {
        let error = soon(call(&connection)).await.unwrap().unwrap_err();
        if error.code() == Code::Unavailable {
            assert_eq!(
                error.message(),
                "no access token: HTTP 503 Service Unavailable: unavailable"
            );
            continue;
        }
        assert_eq!(error.code(), Code::Unauthenticated);
        let text = error.to_string();
        assert!(
            text.starts_with(
                "UNAUTHENTICATED from Publish on projects/p/topics/t: no access token for "
            ),
            "{text}"
        );
        assert!(
            text.contains(" s: HTTP 503 Service Unavailable: unavailable"),
            "{text}"
        );
        break;
    }
    assert!(begin.elapsed() >= Duration::from_secs(1));
    // Nothing was sent without an identity.
    assert_eq!(tls.server.connections(), 0);
}

#[tokio::test]
async fn a_key_that_is_refused_is_said_at_once_and_not_quoted() {
    let directory = tempfile::tempdir().unwrap();
    let tls = tls::Rig::start(directory.path()).await;
    let key = TestKey::new();
    let secret = key.file(None)["private_key"].as_str().unwrap().to_owned();
    let secret = secret.lines().nth(1).unwrap().to_owned();
    let echo = json!({"error": "invalid_grant", "error_description": format!("no such account: {secret}")});
    let service = Web::start(move |_| (400, echo.to_string())).await;
    let file = directory.path().join("key.json");
    write(&file, &key.file(Some(&service.url("/token"))));
    let connection = tls.connection(&[("service-account-key-file", file.to_str().unwrap())]);
    let error = soon(call(&connection)).await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::Unauthenticated);
    assert_eq!(
        error.message(),
        "no access token: HTTP 400 Bad Request: invalid_grant: no such account: …"
    );
    assert_eq!(service.asked().len(), 1);
}

/// A token that is slow to come takes no time from the request that it is for.
#[tokio::test]
async fn the_time_of_a_request_begins_when_there_is_a_token() {
    let directory = tempfile::tempdir().unwrap();
    let mut tls = tls::Rig::start(directory.path()).await;
    let tokens = HandedTokens::new();
    let pairs = tls.pairs();
    let pairs: Vec<_> = pairs.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let options = tls::options(&pairs).unwrap();
    let options = options.with_access_tokens("t", tokens.clone()).unwrap();
    let connection = Connection::open(options, &Handle::current()).unwrap();
    let answer = tokio::spawn(async move {
        let routing = Routing::new("topic", "projects/p/topics/t");
        let limit = Duration::from_secs(10);
        unary(&connection, tls::PUBLISH, routing, Bytes::new(), limit).await
    });
    while tokens.wait(Duration::ZERO) != Demand::Wanted {
        tokio::task::yield_now().await;
    }
    // Time stands still but for these 25 s; nothing has been sent yet.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(25)).await;
    tokio::time::resume();
    assert!(!answer.is_finished());
    assert_eq!(tls.server.connections(), 0);
    tokens.hand("late", Duration::from_secs(3_600)).unwrap();
    let call = tls.server.call().await;
    assert_eq!(call.header("authorization"), Some("Bearer late"));
    assert_eq!(call.header("grpc-timeout"), Some("10000m"));
    call.answer(b"done");
    assert_eq!(soon(answer).await.unwrap().unwrap(), "done");
}

/// The whole test again, in a process with this environment.
async fn child_with(test: &str, expected: &str, home: &Path, variables: &[(&str, &str)]) {
    let mut child = child(test);
    child
        .env_remove(CREDENTIALS)
        .env_remove("GOOGLE_CLOUD_QUOTA_PROJECT")
        .env_remove("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES")
        .env("HOME", home)
        .env(EXPECTED, expected);
    for (name, value) in variables {
        child.env(name, value);
    }
    succeeds(child).await;
}

/// In a child: a call with Application Default Credentials. `false` in the parent.
async fn is_child() -> bool {
    let Ok(expected) = std::env::var(EXPECTED) else {
        return false;
    };
    let logs = Logs::of_this_process();
    let directory = tempfile::tempdir().unwrap();
    let mut tls = tls::Rig::start(directory.path()).await;
    let connection = tls.connection(&[]);
    let answer = call(&connection);
    let call = tls.server.call().await;
    assert_eq!(
        call.header("authorization").unwrap(),
        format!("Bearer {expected}")
    );
    if let Ok(project) = std::env::var("TEST_EXPECTED_PROJECT") {
        assert_eq!(call.header("x-goog-user-project"), Some(project.as_str()));
    }
    call.answer(b"");
    soon(answer).await.unwrap().unwrap();
    let texts = format!("{}{connection:?}", logs.text());
    assert!(texts.contains("TRACE") && texts.contains("h2::"));
    let bearer = format!("Bearer {expected}");
    let answered = format!(r#"oken":"{expected}""#);
    for secret in [&bearer, &answered, "s3cret", "client-secret"] {
        assert!(!texts.contains(secret), "{secret} in {texts}");
    }
    true
}

fn user(service: &Web, name: &str) -> Value {
    json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "client-secret",
        "refresh_token": name, "token_uri": service.url("/user"), "quota_project_id": "of-the-file",
    })
}

#[tokio::test]
async fn default_credentials_are_looked_for_in_their_order() {
    let test = "default_credentials_are_looked_for_in_their_order";
    if is_child().await {
        return;
    }
    let service = Web::start(|asked| match asked.path.as_str() {
        "/user" => {
            let body: Value = serde_json::from_str(&asked.body).unwrap();
            assert_eq!(body["grant_type"], "refresh_token");
            assert_eq!(body["client_secret"], "client-secret");
            web::token(&format!("for-{}", body["refresh_token"].as_str().unwrap()))
        }
        path if path
            .starts_with("/computeMetadata/v1/instance/service-accounts/default/token?") =>
        {
            assert_eq!(asked.headers["metadata-flavor"], "Google");
            assert_eq!(asked.field("scopes"), SCOPE);
            web::token("of-metadata")
        }
        other => panic!("{other}"),
    })
    .await;
    let directory = tempfile::tempdir().unwrap();
    let named = directory.path().join("named.json");
    write(&named, &user(&service, "named"));
    let home = directory.path().join("home");
    write(
        &home.join(".config/gcloud/application_default_credentials.json"),
        &user(&service, "gcloud"),
    );
    let empty = directory.path().join("empty");
    let metadata = (METADATA, service.host());
    let metadata = (metadata.0, metadata.1.as_str());

    let all = [(CREDENTIALS, named.to_str().unwrap()), metadata];
    child_with(test, "for-named", &home, &all).await;
    let project = [metadata, ("TEST_EXPECTED_PROJECT", "of-the-file")];
    child_with(test, "for-gcloud", &home, &project).await;
    // The variable stands above the file.
    let project = [
        metadata,
        ("GOOGLE_CLOUD_QUOTA_PROJECT", "of-the-variable"),
        ("TEST_EXPECTED_PROJECT", "of-the-variable"),
    ];
    child_with(test, "for-gcloud", &home, &project).await;
    child_with(test, "of-metadata", &empty, &[metadata]).await;
    // One that is set to nothing is not set.
    child_with(test, "of-metadata", &empty, &[metadata, (CREDENTIALS, "")]).await;
    let paths: Vec<_> = service.asked().into_iter().map(|a| a.path).collect();
    assert_eq!(paths.len(), 5, "{paths:?}");
}

/// Gives the holder of this token another account's.
fn impersonate(asked: &web::Asked, token: &str) -> (u16, String) {
    assert_eq!(asked.headers["authorization"], format!("Bearer {token}"));
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    assert_eq!(body["scope"], json!([SCOPE]));
    let answer = json!({"accessToken": "impersonated", "expireTime": "2999-01-01T00:00:00Z"});
    (200, answer.to_string())
}

#[tokio::test]
async fn an_account_is_impersonated() {
    let test = "an_account_is_impersonated";
    if is_child().await {
        return;
    }
    let service = Web::start(|asked| match asked.path.as_str() {
        "/user" => web::token("of-the-user"),
        "/v1/projects/-/serviceAccounts/a@b.c:generateAccessToken" => {
            impersonate(asked, "of-the-user")
        }
        other => panic!("{other}"),
    })
    .await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("impersonated.json");
    write(
        &file,
        &json!({
            "type": "impersonated_service_account",
            "service_account_impersonation_url": service.url("/v1/projects/-/serviceAccounts/a@b.c:generateAccessToken"),
            "source_credentials": user(&service, "u"),
        }),
    );
    let variables = [(CREDENTIALS, file.to_str().unwrap())];
    child_with(test, "impersonated", directory.path(), &variables).await;
    assert_eq!(service.asked().len(), 2);
}

const POOL: &str =
    "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

/// A token service for workloads of elsewhere, and what gives them their own tokens.
async fn federation() -> Web {
    Web::start(|asked| match asked.path.as_str() {
        "/sts" => {
            let answer = json!({
                "access_token": "federated", "expires_in": 3600, "token_type": "Bearer",
                "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
            });
            (200, answer.to_string())
        }
        "/subject" => {
            assert_eq!(asked.headers["x-source"], "s3cret-header");
            (
                200,
                json!({"access": {"x": 1}, "jwt": "s3cret-of-the-url"}).to_string(),
            )
        }
        "/impersonate" => impersonate(asked, "federated"),
        other => panic!("{other}"),
    })
    .await
}

fn external(service: &Web, kind: &str, source: Value) -> Value {
    json!({
        "type": "external_account",
        "audience": POOL,
        "subject_token_type": kind,
        "token_url": service.url("/sts"),
        "credential_source": source,
    })
}

/// What the token service was told.
fn exchanged(asked: &web::Asked) -> [String; 5] {
    [
        "grant_type",
        "audience",
        "scope",
        "subject_token_type",
        "subject_token",
    ]
    .map(|name| asked.field(name))
}

#[tokio::test]
async fn a_workload_of_elsewhere_is_federated() {
    let test = "a_workload_of_elsewhere_is_federated";
    if is_child().await {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("subject"), "s3cret-of-the-cluster").unwrap();
    std::fs::write(path("subject.json"), r#"{"jwt":"s3cret-of-the-json"}"#).unwrap();
    let said = json!({
        "version": 1, "success": true, "token_type": JWT, "id_token": "s3cret-of-the-program",
        "expiration_time": now() + 3_600,
    });
    std::fs::write(path("said"), said.to_string()).unwrap();
    let program = format!("cat {}", path("said").display());
    let file = path("external.json");
    let credentials = (CREDENTIALS, file.to_str().unwrap());
    let exchange = "urn:ietf:params:oauth:grant-type:token-exchange";
    let json_format = json!({"type": "json", "subject_token_field_name": "jwt"});

    let service = federation().await;
    for (source, subject) in [
        (json!({"file": path("subject")}), "s3cret-of-the-cluster"),
        (
            json!({"file": path("subject.json"), "format": json_format}),
            "s3cret-of-the-json",
        ),
        (
            json!({
                "url": service.url("/subject"), "headers": {"X-Source": "s3cret-header"},
                "format": json_format,
            }),
            "s3cret-of-the-url",
        ),
        (
            json!({"executable": {"command": program}}),
            "s3cret-of-the-program",
        ),
    ] {
        write(&file, &external(&service, JWT, source));
        let allowed = ("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1");
        let variables = [credentials, allowed];
        child_with(test, "federated", directory.path(), &variables).await;
        let asked = service.asked();
        assert_eq!(
            exchanged(asked.last().unwrap()),
            [exchange, POOL, SCOPE, JWT, subject]
        );
    }
    let paths: Vec<_> = service.asked().into_iter().map(|a| a.path).collect();
    assert_eq!(paths, ["/sts", "/sts", "/subject", "/sts", "/sts"]);

    // As a service account.
    let service = federation().await;
    let mut impersonated = external(&service, JWT, json!({"file": path("subject")}));
    impersonated["service_account_impersonation_url"] = json!(service.url("/impersonate"));
    write(&file, &impersonated);
    child_with(test, "impersonated", directory.path(), &[credentials]).await;
    let asked = service.asked();
    assert_eq!(asked.len(), 2);
    let iam = "https://www.googleapis.com/auth/iam";
    assert_eq!(
        exchanged(&asked[0]),
        [exchange, POOL, iam, JWT, "s3cret-of-the-cluster"]
    );

    // A workload on AWS proves itself with a signed request, which Google makes.
    let service = federation().await;
    let kind = "urn:ietf:params:aws:token-type:aws4_request";
    let source = json!({
        "environment_id": "aws1",
        "regional_cred_verification_url": "https://sts.{region}.example?Action=GetCallerIdentity&Version=2011-06-15",
    });
    write(&file, &external(&service, kind, source));
    let variables = [
        credentials,
        ("AWS_REGION", "eu-west-1"),
        ("AWS_ACCESS_KEY_ID", "AKIDTEST"),
        ("AWS_SECRET_ACCESS_KEY", "s3cret-of-aws"),
    ];
    child_with(test, "federated", directory.path(), &variables).await;
    let asked = service.asked();
    assert_eq!(asked.len(), 1);
    let [_, audience, scope, said, subject] = exchanged(&asked[0]);
    assert_eq!([audience, scope, said], [POOL, SCOPE, kind]);
    let signed = percent_encoding::percent_decode_str(&subject.replace('+', " "))
        .decode_utf8()
        .unwrap()
        .into_owned();
    assert!(!signed.contains("s3cret-of-aws"));
    let signed: Value = serde_json::from_str(&signed).unwrap();
    assert!(
        signed["url"]
            .as_str()
            .unwrap()
            .starts_with("https://sts.eu-west-1.example/?"),
        "{signed}"
    );
    let headers = signed["headers"].as_array().unwrap();
    let header = |name: &str| {
        let found = headers.iter().find(|header| header["key"] == name);
        found.unwrap()["value"].as_str().unwrap()
    };
    assert_eq!(header("x-goog-cloud-target-resource"), POOL);
    assert!(header("Authorization").starts_with("AWS4-HMAC-SHA256 Credential=AKIDTEST/"));
}

#[tokio::test]
async fn why_a_workload_is_not_federated_is_said_without_its_tokens() {
    let test = "why_a_workload_is_not_federated_is_said_without_its_tokens";
    let directory = tempfile::tempdir().unwrap();
    if let Ok(expected) = std::env::var(EXPECTED) {
        let tls = tls::Rig::start(directory.path()).await;
        let connection = tls.connection(&[]);
        let error = soon(call(&connection)).await.unwrap().unwrap_err();
        assert_eq!(error.code(), Code::Unauthenticated);
        let text = format!("{error} {error:?}");
        assert!(error.message().starts_with("no access token: "), "{text}");
        assert!(text.contains(&expected), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(tls.server.connections(), 0);
        return;
    }
    let service = federation().await;
    let file = directory.path().join("external.json");
    let credentials = (CREDENTIALS, file.to_str().unwrap());
    let format = json!({"type": "json", "subject_token_field_name": "access"});
    for (source, why) in [
        (
            json!({"executable": {"command": "true"}}),
            "executables need to be explicitly allowed (set \
             GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES to '1') to run",
        ),
        (
            json!({
                "url": service.url("/subject"), "headers": {"X-Source": "s3cret-header"},
                "format": format,
            }),
            "failed to read subject token field `access` as string, body=<…>",
        ),
    ] {
        write(&file, &external(&service, JWT, source));
        child_with(test, why, directory.path(), &[credentials]).await;
    }
}

#[tokio::test]
async fn a_file_of_default_credentials_that_cannot_be_used_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("adc.json");
    if std::env::var_os(EXPECTED).is_some() {
        let error = connection(&[]).unwrap_err();
        assert_eq!(error.code(), Code::Unauthenticated);
        let file = std::env::var(CREDENTIALS).unwrap();
        assert_eq!(
            error.message(),
            format!(
                "Application Default Credentials: {file}: {}",
                std::env::var(EXPECTED).unwrap()
            )
        );
        return;
    }
    let test = "a_file_of_default_credentials_that_cannot_be_used_is_named";
    let variables = [(CREDENTIALS, file.to_str().unwrap())];
    for (content, why) in [
        (None, "No such file or directory (os error 2)"),
        (Some("{"), "not JSON, at line 1"),
        (Some("{}"), "it has no type"),
        (
            Some(r#"{"type":"gdch_service_account"}"#),
            "credentials of type 'gdch_service_account' are not supported",
        ),
        (
            Some(r#"{"type":"authorized_user","refresh_token":"SECRET"}"#),
            "malformed",
        ),
        (
            Some(
                r#"{"type":"external_account","audience":"a","subject_token_type":"t","token_url":"http://h",
                 "credential_source":{"certificate":{"use_default_certificate_config":true}}}"#,
            ),
            "malformed",
        ),
    ] {
        if let Some(content) = content {
            std::fs::write(&file, content).unwrap();
        }
        child_with(test, why, directory.path(), &variables).await;
    }
}

#[tokio::test]
async fn all_clients_of_one_identity_share_a_token_and_a_connection() {
    let directory = tempfile::tempdir().unwrap();
    let mut tls = tls::Rig::start(directory.path()).await;
    let service = Web::start(|_| web::token("shared")).await;
    let file = directory.path().join("key.json");
    write(&file, &TestKey::new().file(Some(&service.url("/token"))));
    let pairs = [("service-account-key-file", file.to_str().unwrap())];
    let connections: Vec<_> = (0..20).map(|_| tls.connection(&pairs)).collect();
    let answers: Vec<_> = connections.iter().map(call).collect();
    for _ in 0..20 {
        let call = tls.server.call().await;
        assert_eq!(call.header("authorization"), Some("Bearer shared"));
        call.answer(b"");
    }
    for answer in answers {
        soon(answer).await.unwrap().unwrap();
    }
    assert_eq!(service.asked().len(), 1);
    assert_eq!(tls.server.connections(), 1);
}

#[tokio::test]
async fn no_credentials_anywhere_is_said_at_once() {
    let directory = tempfile::tempdir().unwrap();
    if std::env::var_os(EXPECTED).is_none() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let nowhere = listener.local_addr().unwrap().to_string();
        drop(listener);
        let test = "no_credentials_anywhere_is_said_at_once";
        let variables = [(METADATA, nowhere.as_str())];
        return child_with(test, "", directory.path(), &variables).await;
    }
    let tls = tls::Rig::start(directory.path()).await;
    let connection = tls.connection(&[]);
    let error = soon(call(&connection)).await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::Unauthenticated);
    let text = error.to_string();
    assert!(
        text.contains("no Application Default Credentials: "),
        "{text}"
    );
    // Nothing was sent without an identity.
    assert_eq!(tls.server.connections(), 0);
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
            "private_key is not PEM",
        ),
        (
            r#"{"type": "service_account", "private_key": "SECRET", "token_uri": "http://h"}"#,
            "client_email is missing",
        ),
    ] {
        std::fs::write(&file, content).unwrap();
        let error = connection(&[("service-account-key-file", name)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("option 'service-account-key-file': {name}: {why}")
        );
        assert!(!format!("{error:?}").contains("SECRET"));
    }
}
