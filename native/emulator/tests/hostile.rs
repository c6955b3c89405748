//! Arbitrary bytes on the ports: the server lives on.

mod common;

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use common::{Http, PUBLISH, Rig, message, pb};
use http::Request;
use proptest::collection::vec;
use proptest::prelude::*;
use pubsub_emulator::Options;
use pubsub_emulator::service::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

async fn rig() -> Rig {
    let options = Options {
        control_address: Some(([127, 0, 0, 1], 0).into()),
        record: true,
        ..Options::default()
    };
    Rig::with(options).await
}

/// Publishes and pulls as if nothing had happened.
async fn check(rig: &mut Rig, case: &str) {
    rig.topic(&format!("t-{case}")).await;
    rig.subscription(&format!("t-{case}"), &format!("s-{case}"), |_| {})
        .await;
    rig.publish(&format!("t-{case}"), vec![message("a")]).await;
    assert_eq!(rig.pull(&format!("s-{case}"), 1).await.len(), 1);
    Http(rig.emulator.control_address().unwrap())
        .get("/healthz")
        .await;
}

async fn send_raw(address: std::net::SocketAddr, prefix: &[u8], bytes: &[u8]) {
    let mut socket = TcpStream::connect(address).await.unwrap();
    // The server may close at any point.
    let _ = socket.write_all(prefix).await;
    let _ = socket.write_all(bytes).await;
    let _ = socket.shutdown().await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(5), socket.read_to_end(&mut answer)).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn raw_bytes_on_both_ports(chunks in vec(vec(any::<u8>(), 0..600), 1..6)) {
        RUNTIME.block_on(async {
            let mut rig = rig().await;
            let control = rig.emulator.control_address().unwrap();
            let settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
            for chunk in &chunks {
                for prefix in [&b""[..], settings, b"POST /faults HTTP/1.1\r\n\r\n"] {
                    send_raw(rig.emulator.address(), prefix, chunk).await;
                    send_raw(control, prefix, chunk).await;
                }
            }
            check(&mut rig, "raw").await;
        });
    }

    #[test]
    fn arbitrary_messages_to_every_method(body in vec(any::<u8>(), 0..200), framed: bool) {
        RUNTIME.block_on(async {
            let mut rig = rig().await;
            let socket = TcpStream::connect(rig.emulator.address()).await.unwrap();
            let (sender, connection) = h2::client::handshake(socket).await.unwrap();
            tokio::spawn(connection);
            for method in Method::ALL {
                for service in ["Publisher", "Subscriber"] {
                    let path = format!("http://x/google.pubsub.v1.{service}/{}", method.name());
                    let request = Request::post(path).header("content-type", "application/grpc").body(()).unwrap();
                    let mut sender = sender.clone().ready().await.unwrap();
                    let (response, mut stream) = sender.send_request(request, false).unwrap();
                    let mut bytes = Vec::new();
                    if framed {
                        bytes.push(0);
                        bytes.extend_from_slice(&(body.len() as u32).to_be_bytes());
                    }
                    bytes.extend_from_slice(&body);
                    // A call that does not exist is answered before its request is read.
                    let _ = stream.send_data(Bytes::from(bytes), true);
                    let response = tokio::time::timeout(common::PATIENCE, response).await.unwrap().unwrap();
                    assert_eq!(response.status(), 200);
                }
            }
            check(&mut rig, "messages").await;
        });
    }
}

#[tokio::test]
async fn a_request_that_never_ends_is_cut_off_by_its_size() {
    let rig = rig().await;
    let call = Request::post(PUBLISH).body(()).unwrap();
    let (response, mut stream) = common::begin(rig.emulator.address(), call).await;
    // Claims four gigabytes.
    stream
        .send_data(
            Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]),
            false,
        )
        .unwrap();
    let response = tokio::time::timeout(common::PATIENCE, response)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(response.headers()["grpc-status"], "8");
}

#[tokio::test]
async fn compressed_requests_are_read_and_bombs_are_refused() {
    let mut rig = rig().await;
    rig.topic("orders").await;
    rig.subscription("orders", "sub-1", |_| {}).await;
    let call = async |data: usize| {
        let request = pb::PublishRequest {
            topic: rig.topic_name("orders"),
            messages: vec![pb::PubsubMessage {
                data: vec![b'x'; data].into(),
                ..Default::default()
            }],
        };
        let response = common::publish_compressed(rig.emulator.address(), &request).await;
        response
            .headers()
            .get("grpc-status")
            .map(|status| status.to_str().unwrap().to_owned())
    };
    assert_eq!(
        call(1_000_000).await,
        None,
        "the status comes after the answer"
    );
    assert_eq!(call(100_000_000).await.as_deref(), Some("8"));
    assert_eq!(
        rig.pull("sub-1", 10).await[0]
            .message
            .as_ref()
            .unwrap()
            .data
            .len(),
        1_000_000
    );
}
