//! What tells the service who calls, and where a call belongs.

use std::collections::BTreeMap;

use bytes::Bytes;
use pubsub_client::admin::{Admin, Position};
use pubsub_client::connect::{Connection, ConnectionOptions};
use pubsub_client::grpc::{Routing, unary};
use pubsub_client::options::Options;
use pubsub_emulator::Emulator;
use pubsub_emulator::record::Query;
use tokio::runtime::Handle;

const TOPIC: &str = "projects/example.com:p/topics/orders";
const SUBSCRIPTION: &str = "projects/example.com:p/subscriptions/orders-sub";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_names_the_connector_and_its_resource() {
    let options = pubsub_emulator::Options {
        record: true,
        ..Default::default()
    };
    let emulator = Emulator::start(options).await.unwrap();
    let pairs = [
        (
            "emulator-endpoint".to_owned(),
            emulator.address().to_string(),
        ),
        ("user-agent-suffix".to_owned(), "job/7".to_owned()),
    ];
    let options = ConnectionOptions::take(&mut Options::from_pairs(pairs).unwrap()).unwrap();
    let connection = Connection::open(options, &Handle::current()).unwrap();

    let create = Bytes::from([&[10, TOPIC.len() as u8], TOPIC.as_bytes()].concat());
    let path = "/google.pubsub.v1.Publisher/CreateTopic";
    let long = std::time::Duration::from_secs(20);
    unary(&connection, path, Routing::new("name", TOPIC), create, long)
        .await
        .unwrap();
    let admin = Admin::new(connection);
    tokio::task::spawn_blocking(move || {
        let settings = [("topic".to_owned(), TOPIC.to_owned())];
        let settings = Options::from_pairs(settings).unwrap();
        assert!(admin.create_subscription(SUBSCRIPTION, settings).unwrap());
        admin.describe_subscription(SUBSCRIPTION).unwrap();
        admin.describe_topic(TOPIC).unwrap();
        let epoch = Position::Time {
            seconds: 0,
            nanos: 0,
        };
        admin.seek(SUBSCRIPTION, &epoch).unwrap();
        assert!(admin.delete_subscription(SUBSCRIPTION).unwrap());
    })
    .await
    .unwrap();

    let version = env!("CARGO_PKG_VERSION");
    let requests = emulator
        .control()
        .recorder()
        .requests(&Query::default())
        .requests;
    let mut routing = BTreeMap::new();
    for request in requests {
        let headers = request.headers;
        let agent = &headers["user-agent"];
        assert!(
            agent.starts_with(&format!("flink-pubsub-native/{version} job/7 ")),
            "{agent}"
        );
        assert_eq!(
            headers["x-goog-api-client"],
            format!("flink-pubsub-native/{version}")
        );
        assert!(!headers.contains_key("authorization"));
        routing.insert(request.method, headers["x-goog-request-params"].clone());
    }
    let topic = "projects%2Fexample.com%3Ap%2Ftopics%2Forders";
    let subscription = "projects%2Fexample.com%3Ap%2Fsubscriptions%2Forders-sub";
    let expected = BTreeMap::from([
        ("CreateTopic", format!("name={topic}")),
        ("CreateSubscription", format!("name={subscription}")),
        ("GetSubscription", format!("subscription={subscription}")),
        ("GetTopic", format!("topic={topic}")),
        ("Seek", format!("subscription={subscription}")),
        ("DeleteSubscription", format!("subscription={subscription}")),
    ]);
    assert_eq!(routing, expected);
    emulator.stop().await;
}
