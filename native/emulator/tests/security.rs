//! TLS and bearer tokens.

mod common;

use common::{Rig, pb};
use pb::publisher_client::PublisherClient;
use pb::seek_request::Target;
use pubsub_emulator::service::{Role, TokenCheck};
use pubsub_emulator::{Emulator, Options};
use tonic::Code;
use tonic::metadata::MetadataValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig};

fn get_topic(token: Option<&str>) -> tonic::Request<pb::GetTopicRequest> {
    let request = pb::GetTopicRequest {
        topic: "projects/test/topics/none".into(),
    };
    with_token(request, token)
}

fn with_token<T>(request: T, token: Option<&str>) -> tonic::Request<T> {
    let mut request = tonic::Request::new(request);
    if let Some(token) = token {
        let value = MetadataValue::try_from(format!("Bearer {token}")).unwrap();
        request.metadata_mut().insert("authorization", value);
    }
    request
}

#[tokio::test]
async fn calls_need_the_token_that_is_asked_for() {
    for (check, good, bad) in [
        (
            TokenCheck::Exactly("secret".into()),
            "secret",
            Some("other"),
        ),
        (TokenCheck::Any, "whatever", None),
    ] {
        let mut rig = Rig::with(Options {
            token: Some(check),
            ..Options::default()
        })
        .await;
        let mut code = async |token| {
            rig.publisher
                .get_topic(get_topic(token))
                .await
                .unwrap_err()
                .code()
        };
        assert_eq!(code(None).await, Code::Unauthenticated);
        assert_eq!(code(bad).await, Code::Unauthenticated);
        assert_eq!(code(Some(good)).await, Code::NotFound);
    }
}

#[tokio::test]
async fn tls_serves_with_the_given_certificate() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let options = Options {
        tls: Some((cert.clone(), key.clone())),
        ..Options::default()
    };
    let emulator = Emulator::start(options).await.unwrap();
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(made.cert.pem()))
        .domain_name("localhost");
    let endpoint = Channel::from_shared(format!("https://{}", emulator.address())).unwrap();
    let channel = endpoint.tls_config(tls).unwrap().connect().await.unwrap();
    let topic = pb::Topic {
        name: "projects/test/topics/secure".into(),
        ..Default::default()
    };
    let created = PublisherClient::new(channel)
        .create_topic(topic.clone())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(created.name, topic.name);
    // Plaintext gets nowhere.
    let endpoint = Channel::from_shared(format!("http://{}", emulator.address())).unwrap();
    let plain = match endpoint.connect().await {
        Ok(channel) => PublisherClient::new(channel)
            .create_topic(topic)
            .await
            .map(drop)
            .map_err(|e| e.to_string()),
        Err(e) => Err(e.to_string()),
    };
    assert!(plain.is_err());
    // Files that do not fit are refused by name.
    let options = Options {
        tls: Some((key.clone(), key)),
        ..Options::default()
    };
    let error = Emulator::start(options).await.unwrap_err().to_string();
    assert!(error.contains("key.pem"), "{error}");
}

#[tokio::test]
async fn tokens_may_do_what_their_roles_hold() {
    let mut rig = Rig::with(Options::default()).await;
    let permissions = rig.emulator.control().permissions();
    permissions.grant("viewer", vec![Role::Viewer]);
    permissions.grant("publisher", vec![Role::Publisher]);
    let mut code = async |token| {
        rig.publisher
            .get_topic(get_topic(token))
            .await
            .unwrap_err()
            .code()
    };
    assert_eq!(code(Some("viewer")).await, Code::NotFound);
    assert_eq!(code(Some("publisher")).await, Code::PermissionDenied);
    assert_eq!(code(None).await, Code::Unauthenticated);
    rig.emulator.control().reset();
    assert_eq!(code(None).await, Code::NotFound);
}

#[tokio::test]
async fn seeking_to_a_snapshot_needs_a_permission_of_its_own() {
    let mut rig = Rig::with(Options::default()).await;
    rig.topic("orders").await;
    rig.subscription("orders", "orders-sub", |_| {}).await;
    let subscription = rig.subscription_name("orders-sub");
    let snapshot = "projects/test/snapshots/shot";
    let create = pb::CreateSnapshotRequest {
        name: snapshot.into(),
        subscription: subscription.clone(),
        ..Default::default()
    };
    rig.subscriber.create_snapshot(create).await.unwrap();
    let custom = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned());
        vec![Role::custom(names.collect()).unwrap()]
    };
    let permissions = rig.emulator.control().permissions();
    permissions.grant("consumer", custom(&["pubsub.subscriptions.consume"]));
    permissions.grant("snapshots", custom(&["pubsub.snapshots.seek"]));
    permissions.grant("subscriber", vec![Role::Subscriber]);
    permissions.grant("viewer", vec![Role::Viewer]);
    let to_time = Target::Time(prost_types::Timestamp::default());
    let to_snapshot = Target::Snapshot(snapshot.into());
    let mut code = async |token, target: &Target| {
        let request = pb::SeekRequest {
            subscription: subscription.clone(),
            target: Some(target.clone()),
        };
        let answer = rig.subscriber.seek(with_token(request, Some(token))).await;
        answer.map_or_else(|status| status.code(), |_| Code::Ok)
    };
    for (token, time, shot) in [
        ("consumer", Code::Ok, Code::PermissionDenied),
        ("snapshots", Code::PermissionDenied, Code::PermissionDenied),
        ("subscriber", Code::Ok, Code::Ok),
        ("viewer", Code::PermissionDenied, Code::PermissionDenied),
        ("unknown", Code::Unauthenticated, Code::Unauthenticated),
    ] {
        assert_eq!(code(token, &to_time).await, time, "{token}");
        assert_eq!(code(token, &to_snapshot).await, shot, "{token}");
    }
}
