//! Keys and tokens are in no log of any level, of any crate, and in no text of an object or an error.

#[path = "support/key.rs"]
mod key;
#[path = "support/logs.rs"]
mod logs;
mod support;
#[path = "support/web.rs"]
mod web;

use std::time::Duration;

use key::TestKey;
use logs::Logs;
use pubsub_client::auth::HandedTokens;
use pubsub_client::connect::Connection;
use pubsub_client::error::Code;
use support::soon;
use support::tls::{self, call};
use tokio::runtime::Handle;
use web::Web;

#[tokio::test]
async fn secrets_are_in_no_text() {
    let logs = Logs::of_this_process();
    let directory = tempfile::tempdir().unwrap();
    let mut tls = tls::Rig::start(directory.path()).await;
    let key = TestKey::new();
    let service = Web::start(|_| web::token("s3cret-exchanged")).await;
    let broken = Web::start(|asked| (400, format!(r#"{{"error":"{}"}}"#, asked.body.len()))).await;
    let mut texts = Vec::new();

    for (name, uri) in [
        ("exchanged", Some(service.url("/token"))),
        ("broken", Some(broken.url("/token"))),
        ("signed", None),
    ] {
        let file = directory.path().join(name);
        std::fs::write(&file, key.file(uri.as_deref()).to_string()).unwrap();
        let connection = tls.connection(&[("service-account-key-file", file.to_str().unwrap())]);
        texts.push(format!("{connection:?} {:?}", connection.options()));
        let answer = call(&connection);
        if name != "broken" {
            for _ in 0..2 {
                let call = tls.server.call().await;
                assert!(call.header("authorization").is_some());
                call.refuse(Code::Unauthenticated, "who?");
            }
        }
        let error = soon(answer).await.unwrap().unwrap_err();
        texts.push(format!("{error} {error:?}"));
    }

    let tokens = HandedTokens::new();
    tokens
        .hand("s3cret-handed", Duration::from_secs(60))
        .unwrap();
    let pairs = tls.pairs();
    let pairs: Vec<_> = pairs.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let options = tls::options(&pairs).unwrap();
    let options = options.with_access_tokens("t", tokens.clone()).unwrap();
    texts.push(format!("{tokens:?} {options:?}"));
    let connection = Connection::open(options, &Handle::current()).unwrap();
    let answer = call(&connection);
    tls.server.call().await.refuse(Code::PermissionDenied, "no");
    let error = soon(answer).await.unwrap().unwrap_err();
    texts.push(format!("{error} {error:?} {connection:?}"));

    let logged = logs.text();
    // What is searched is all there.
    for from in ["TRACE", "h2::", "reqwest::", "rustls::"] {
        assert!(logged.contains(from), "nothing of {from}");
    }
    let pem = key.file(None)["private_key"].as_str().unwrap().to_owned();
    let mut secrets: Vec<&str> = pem.lines().filter(|line| line.len() > 20).collect();
    secrets.retain(|line| !line.starts_with("-----"));
    assert!(secrets.len() > 10);
    // The first part of a signed token is the same for all: its start is "Bearer eyJ".
    secrets.extend(["s3cret-exchanged", "s3cret-handed", "eyJ"]);
    texts.push(logged);
    for text in texts {
        for secret in &secrets {
            let at = text.find(secret);
            assert!(
                at.is_none(),
                "{}",
                &text[at.unwrap().saturating_sub(300)..at.unwrap()]
            );
        }
    }
}
