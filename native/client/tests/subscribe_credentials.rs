//! Streams and acks of a job whose token ends while it runs.

#[path = "support/key.rs"]
mod key;
#[path = "support/subscriber.rs"]
mod support;
#[path = "support/web.rs"]
mod web;

use std::sync::atomic::{AtomicUsize, Ordering};

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use key::TestKey;
use pubsub_client::admin::{Admin, Position};
use pubsub_client::connect::{Connection, ConnectionOptions};
use pubsub_client::error::Code;
use pubsub_client::subscribe::SubscriberOptions;
use pubsub_emulator::Options;
use pubsub_emulator::service::{Method, Role};
use support::{Fixture, SUBSCRIPTION, runtime, start, status};
use tonic::transport::{Certificate, Channel, ClientTlsConfig};
use web::Web;

/// As they are handed out, one after the other. The record tells their lengths.
const TOKENS: [&str; 3] = ["t-1", "token-2", "the-token-3"];

/// A server over TLS that knows the tokens it is told of, and a subscriber with a key that is
/// exchanged for one token after the other.
struct Rig {
    fixture: Fixture,
    service: Web,
}

impl Rig {
    fn start(known: &[&str]) -> Self {
        let runtime = runtime();
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(path("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(path("cert.key"), made.signing_key.serialize_pem()).unwrap();
        let options = Options {
            tls: Some((path("cert.pem"), path("cert.key"))),
            ..Options::default()
        };
        let emulator = start(&runtime, options);
        let asked = AtomicUsize::new(0);
        let service = runtime.block_on(Web::start(move |_| {
            web::token(TOKENS[asked.fetch_add(1, Ordering::SeqCst)])
        }));
        let key = TestKey::new().file(Some(&service.url("/token")));
        std::fs::write(path("key.json"), key.to_string()).unwrap();

        let endpoint = format!("localhost:{}", emulator.address().port());
        let pairs = [
            ("endpoint", endpoint.clone()),
            (
                "ca-certificate-file",
                path("cert.pem").display().to_string(),
            ),
            (
                "service-account-key-file",
                path("key.json").display().to_string(),
            ),
        ];
        let pairs = pairs.map(|(key, value)| (key.to_owned(), value));
        let mut options = pubsub_client::options::Options::from_pairs(pairs).unwrap();
        let options = ConnectionOptions::take(&mut options).unwrap();
        let connection = Connection::open(options, runtime.handle()).unwrap();

        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(made.cert.pem()));
        let channel = Channel::from_shared(format!("https://{endpoint}")).unwrap();
        let channel = runtime.block_on(async { channel.tls_config(tls).unwrap().connect_lazy() });
        let fixture = Fixture::on(
            runtime,
            (emulator, channel),
            connection,
            SubscriberOptions::default(),
            pb::Subscription::default(),
        );
        fixture.publish(&[b"one", b"two"], "");
        fixture.record();
        // From here on the test itself is not let in.
        for token in known {
            fixture.know(token);
        }
        Self { fixture, service }
    }

    fn tokens(&self) -> usize {
        self.service.asked().len()
    }

    /// The tokens of the streams that were let in, by their lengths.
    fn streams(&self) -> Vec<String> {
        let requests = self.fixture.requests(Method::StreamingPull);
        let first = requests.iter().filter(|r| !r.headers.is_empty());
        first.map(|r| r.headers["authorization"].clone()).collect()
    }
}

impl Fixture {
    fn know(&self, token: &str) {
        let control = self.emulator.control();
        control.permissions().grant(token, vec![Role::Subscriber]);
    }
}

#[test]
fn a_stream_that_is_refused_is_opened_again_with_a_fresh_token() {
    let rig = Rig::start(&[TOKENS[1]]);
    let fixture = &rig.fixture;
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.fetch_all(2);
    fixture.checkpoint(1, 2);
    assert_eq!(fixture.on_server(), (0, 0));
    assert_eq!((rig.tokens(), fixture.counts().stream_reconnects), (2, 1));
    assert_eq!(rig.streams(), ["Bearer (7 bytes)"]);
}

#[test]
fn a_token_that_ends_while_a_job_runs_is_replaced_for_acks_and_streams() {
    let rig = Rig::start(&[TOKENS[0]]);
    let fixture = &rig.fixture;
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    fixture.fetch_all(2);
    assert_eq!((rig.tokens(), fixture.counts().stream_reconnects), (1, 0));

    // The acks find it out, and are made again.
    let revoke = |token| {
        assert!(fixture.emulator.control().permissions().revoke(token));
    };
    fixture.know(TOKENS[1]);
    revoke(TOKENS[0]);
    fixture.checkpoint(1, 2);
    assert_eq!(fixture.on_server(), (0, 0));
    let counts = fixture.counts();
    assert_eq!((counts.acks_confirmed, counts.acks_failed), (2, 0));
    assert_eq!((rig.tokens(), counts.stream_reconnects), (2, 0));

    // The stream finds out the next time: it breaks, is refused, and is opened again. A stream
    // that worked in between makes this the first refusal in a row once more.
    fixture.know(TOKENS[2]);
    revoke(TOKENS[1]);
    fixture.strike(status(Code::Unavailable));
    fixture.wait("the next but one", |f| {
        f.counts().stream_reconnects == 2 && rig.streams().len() == 2
    });
    assert_eq!(rig.tokens(), 3);
    assert_eq!(rig.streams(), ["Bearer (3 bytes)", "Bearer (11 bytes)"]);
}

#[test]
fn a_fresh_token_that_is_refused_as_well_is_the_end() {
    let rig = Rig::start(&[TOKENS[2]]);
    let fixture = &rig.fixture;
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    let error = fixture.failure();
    assert_eq!(error.code(), Code::Unauthenticated);
    assert_eq!(
        error.to_string(),
        format!(
            "UNAUTHENTICATED from StreamingPull on {SUBSCRIPTION}: The request's bearer token is \
             not one that this server knows; a fresh token was refused as well (check the job's \
             service account key file, accessTokenProvider or Application Default Credentials)"
        )
    );
    assert_eq!((rig.tokens(), fixture.counts().stream_reconnects), (2, 1));
    assert!(rig.streams().is_empty());
}

#[test]
fn without_credentials_a_refusal_is_the_end_at_once() {
    let fixture = Fixture::new(SubscriberOptions::default());
    fixture.know("other");
    fixture.subscriber.add_split(SUBSCRIPTION).unwrap();
    let error = fixture.failure();
    assert_eq!(error.code(), Code::Unauthenticated);
    assert_eq!(
        error.message(),
        "The request has no bearer token in its authorization header."
    );
    assert_eq!(fixture.counts().stream_reconnects, 0);
}

#[test]
fn what_a_seek_to_a_snapshot_needs_is_said() {
    let rig = Rig::start(&[]);
    let consume = Role::custom(vec!["pubsub.subscriptions.consume".into()]).unwrap();
    let permissions = rig.fixture.emulator.control().permissions();
    permissions.grant(TOKENS[0], vec![consume]);
    let admin = Admin::new(rig.fixture.connection.clone());
    let epoch = Position::Time {
        seconds: 0,
        nanos: 0,
    };
    admin.seek(SUBSCRIPTION, &epoch).unwrap();
    let snapshot = Position::Snapshot("projects/p/snapshots/shot".into());
    assert_eq!(
        admin.seek(SUBSCRIPTION, &snapshot).unwrap_err().to_string(),
        format!(
            "PERMISSION_DENIED from Seek on {SUBSCRIPTION}: User not authorized to perform this \
             action. (the identity of this job needs the permission pubsub.subscriptions.consume, \
             and pubsub.snapshots.seek to seek to a snapshot)"
        )
    );
}
