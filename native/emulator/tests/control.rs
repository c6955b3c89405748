//! The control interface over HTTP.

mod common;

use std::time::Duration;

use common::{Http, Rig, message};
use pubsub_emulator::Options;
use pubsub_emulator::clock::Clock;
use pubsub_emulator::time::Time;
use serde_json::json;
use tonic::Code;

async fn rig() -> (Rig, Http) {
    let options = Options {
        clock: Clock::stopped(Time::from_secs(1_800_000_000)),
        control_address: Some(([127, 0, 0, 1], 0).into()),
        ..Options::default()
    };
    let mut rig = Rig::with(options).await;
    let http = Http(rig.emulator.control_address().unwrap());
    rig.topic("orders").await;
    rig.subscription("orders", "sub-1", |_| {}).await;
    (rig, http)
}

#[tokio::test]
async fn the_state_of_every_message_can_be_read() {
    let (mut rig, http) = rig().await;
    http.post("/record", json!({"on": true})).await;
    rig.publish("orders", vec![message("a"), message("b"), message("c")])
        .await;
    let received = rig.pull("sub-1", 2).await;
    rig.ack("sub-1", vec![received[0].ack_id.clone()]).await;
    let found = http
        .get("/messages?subscription=projects/test/subscriptions/sub-1")
        .await;
    let messages = found["messages"].as_array().unwrap();
    let states: Vec<_> = messages
        .iter()
        .map(|m| m["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["acked", "outstanding", "waiting"]);
    assert_eq!(messages[1]["ack_id"], received[1].ack_id.as_str());
    assert_eq!(messages[1]["delivery_attempt"], 1);
    assert_eq!(messages[2]["data"], "c");
    let one = http
        .get("/subscription?name=projects/test/subscriptions/sub-1")
        .await;
    assert_eq!(one["counts"]["backlog"], 1);
    assert_eq!(one["counts"]["outstanding"], 1);
    assert_eq!(one["counts"]["acked"], 1);
}

#[tokio::test]
async fn advancing_the_clock_ends_leases_at_once() {
    let (mut rig, http) = rig().await;
    rig.publish("orders", vec![message("a")]).await;
    let first = rig.pull("sub-1", 1).await.remove(0);
    http.post("/clock/advance", json!({"seconds": 9, "millis": 999}))
        .await;
    assert!(rig.pull_now("sub-1", 1).await.is_empty());
    http.post("/clock/advance", json!({"millis": 1})).await;
    let again = rig.pull_now("sub-1", 1).await.remove(0);
    assert_ne!(again.ack_id, first.ack_id);
    assert_eq!(again.message, first.message);
}

#[tokio::test]
async fn requests_are_read_back_with_their_headers_ids_and_answers() {
    let (mut rig, http) = rig().await;
    http.post("/record", json!({"on": true})).await;
    rig.publish("orders", vec![message("a")]).await;
    let received = rig.pull("sub-1", 1).await;
    rig.ack("sub-1", vec![received[0].ack_id.clone()]).await;
    let mut stream = rig
        .stream("sub-1", |first| first.max_outstanding_messages = 7)
        .await;
    stream.expect_silence().await;
    let missing = rig.topic_name("missing");
    let request = common::pb::GetTopicRequest { topic: missing };
    assert!(rig.publisher.get_topic(request).await.is_err());
    let found = http.get("/requests?limit=100").await;
    let requests = found["requests"].as_array().unwrap();
    let methods: Vec<_> = requests
        .iter()
        .map(|r| r["method"].as_str().unwrap())
        .collect();
    let streams = ["StreamingPull"; 3];
    assert_eq!(methods[..3], ["Publish", "Pull", "Acknowledge"]);
    assert_eq!(methods[3..6], streams);
    assert_eq!(methods[6], "GetTopic");
    assert_eq!(requests[0]["messages"][0]["data"], "a");
    assert_eq!(requests[0]["status"], "OK");
    assert_eq!(requests[0]["resource"], "projects/test/topics/orders");
    assert!(
        requests[0]["headers"]["user-agent"]
            .as_str()
            .unwrap()
            .contains("tonic")
    );
    assert_eq!(requests[0]["time"], "2027-01-15T08:00:00Z");
    assert_eq!(requests[2]["ack_ids"][0], received[0].ack_id.as_str());
    assert_eq!(requests[3]["stream"]["max_outstanding_messages"], 7);
    assert_eq!(requests[3]["ack_deadline_seconds"], 60);
    assert_eq!(requests[6]["status"], "NOT_FOUND");
    let acks = http.get("/requests?method=Acknowledge").await;
    assert_eq!(acks["requests"].as_array().unwrap().len(), 1);
    assert_eq!(http.get("/calls").await["Publish"], 1);
    http.delete("/requests").await;
    assert_eq!(http.get("/requests").await["requests"], json!([]));
}

#[tokio::test]
async fn a_redelivery_on_demand_comes_under_a_new_ack_id() {
    let (mut rig, http) = rig().await;
    rig.publish("orders", vec![message("a")]).await;
    let mut stream = rig
        .stream("sub-1", |first| first.max_outstanding_messages = 1)
        .await;
    let mut ids = vec![stream.receive(1).await.remove(0).ack_id];
    for _ in 0..50 {
        let answer = http
            .post(
                "/redeliver",
                json!({"subscription": rig.subscription_name("sub-1")}),
            )
            .await;
        assert_eq!(answer["redelivered"], 1);
        ids.push(stream.receive(1).await.remove(0).ack_id);
    }
    assert_eq!(
        ids.iter().collect::<std::collections::HashSet<_>>().len(),
        51
    );
    // Only the newest id counts.
    rig.ack("sub-1", ids[..50].to_vec()).await;
    let counts = rig
        .emulator
        .control()
        .counts(&rig.subscription_name("sub-1"))
        .unwrap();
    assert_eq!((counts.outstanding, counts.acked), (1, 0));
    rig.ack("sub-1", ids[50..].to_vec()).await;
    let counts = rig
        .emulator
        .control()
        .counts(&rig.subscription_name("sub-1"))
        .unwrap();
    assert_eq!((counts.outstanding, counts.acked), (0, 1));
}

#[tokio::test]
async fn frozen_acks_are_done_when_they_are_released() {
    let (mut rig, http) = rig().await;
    rig.publish("orders", vec![message("a")]).await;
    let received = rig.pull("sub-1", 1).await;
    http.post("/acks/freeze", json!({})).await;
    let mut subscriber = rig.subscriber.clone();
    let request = common::pb::AcknowledgeRequest {
        subscription: rig.subscription_name("sub-1"),
        ack_ids: vec![received[0].ack_id.clone()],
    };
    let held = tokio::spawn(async move { subscriber.acknowledge(request).await });
    let faults = rig.emulator.control().faults();
    common::eventually(|| faults.list()[0].hits == 1).await;
    let name = rig.subscription_name("sub-1");
    assert_eq!(rig.emulator.control().counts(&name).unwrap().acked, 0);
    assert!(!held.is_finished());
    assert_eq!(
        http.post("/acks/release", json!({})).await["released"],
        true
    );
    tokio::time::timeout(common::PATIENCE, held)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(rig.emulator.control().counts(&name).unwrap().acked, 1);
}

#[tokio::test]
async fn messages_and_resources_can_be_made_here() {
    let (mut rig, http) = rig().await;
    http.post(
        "/seed",
        json!({"project": "test", "topics": ["more"],
        "subscriptions": [{"name": "more-sub", "topic": "more"}]}),
    )
    .await;
    let published = http
        .post(
            "/publish",
            json!({"topic": "projects/test/topics/more", "messages": [
            {"data": "x", "attributes": {"k": "v"}, "count": 3}, {"data_base64": "//4="}]}),
        )
        .await;
    assert_eq!(published["message_ids"].as_array().unwrap().len(), 4);
    let received = rig.pull("more-sub", 10).await;
    assert_eq!(received.len(), 4);
    assert_eq!(received[0].message.as_ref().unwrap().attributes["k"], "v");
    assert_eq!(
        received[3].message.as_ref().unwrap().data.as_ref(),
        [0xff, 0xfe]
    );
    http.post("/ack-ids", json!({"length": 230})).await;
    http.post(
        "/publish",
        json!({"topic": "projects/test/topics/more", "messages": [{"data": "y"}]}),
    )
    .await;
    assert_eq!(rig.pull("more-sub", 1).await[0].ack_id.len(), 230);
}

#[tokio::test]
async fn reset_leaves_nothing() {
    let (mut rig, http) = rig().await;
    http.post("/record", json!({"on": true})).await;
    http.post(
        "/faults",
        json!({"method": "Publish", "action": {"type": "drop"}}),
    )
    .await;
    let mut stream = rig.stream("sub-1", |_| {}).await;
    http.post("/reset", json!({})).await;
    assert_eq!(stream.end().await.unwrap_err().code(), Code::NotFound);
    let state = http.get("/state").await;
    assert_eq!(
        (&state["topics"], &state["subscriptions"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(http.get("/faults").await["faults"], json!([]));
    rig.topic("orders").await;
    rig.publish("orders", vec![message("a")]).await;
}

#[tokio::test]
async fn mistakes_are_answered_with_what_is_wrong() {
    let (_rig, http) = rig().await;
    for (path, body, status, part) in [
        (
            "/faults",
            json!({"method": "Nope", "action": {"type": "drop"}}),
            400,
            "Nope",
        ),
        (
            "/faults",
            json!({"method": "Publish", "action": {"type": "nope"}}),
            422,
            "nope",
        ),
        ("/clock/advance", json!({"minutes": 1}), 422, "minutes"),
        ("/ack-ids", json!({"length": 1}), 400, "length"),
        ("/responses", json!({"max_messages": 0}), 400, "messages"),
        (
            "/redeliver",
            json!({"subscription": "projects/test/subscriptions/none"}),
            404,
            "none",
        ),
        (
            "/publish",
            json!({"topic": "nope", "messages": [{"data": "x"}]}),
            400,
            "nope",
        ),
        ("/nothing", json!({}), 404, "no such path"),
    ] {
        let (code, answer) = http.call("POST", path, &body.to_string()).await;
        assert_eq!(code, status, "{path}: {answer}");
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert!(
            answer["error"].as_str().unwrap().contains(part),
            "{path}: {answer}"
        );
    }
}

#[tokio::test]
async fn the_page_shows_what_is_there() {
    let (mut rig, http) = rig().await;
    rig.publish("orders", vec![message("<script>alert(1)</script>")])
        .await;
    let (code, page) = http.call("GET", "/", "").await;
    assert_eq!(code, 200);
    assert!(page.contains("projects/test/topics/orders"));
    assert!(page.contains("projects/test/subscriptions/sub-1"));
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"));
}

#[tokio::test]
async fn a_running_clock_ends_leases_by_itself() {
    let mut rig = Rig::with(Options::default()).await;
    rig.topic("orders").await;
    rig.subscription("orders", "sub-1", |_| {}).await;
    rig.publish("orders", vec![message("a")]).await;
    let mut stream = rig
        .stream("sub-1", |first| first.stream_ack_deadline_seconds = 10)
        .await;
    let first = stream.receive(1).await.remove(0);
    // Only the clock is moved: that the lease's time has come is noticed by the server's own timer.
    rig.clock().advance(Duration::from_secs(10));
    assert_ne!(stream.receive(1).await.remove(0).ack_id, first.ack_id);
}

#[tokio::test]
async fn the_size_of_responses_can_be_set() {
    let (mut rig, http) = rig().await;
    http.post("/responses", json!({"max_bytes": 16 << 20}))
        .await;
    let big = common::pb::PubsubMessage {
        data: vec![b'x'; 4_000_000].into(),
        ..Default::default()
    };
    for _ in 0..3 {
        rig.publish("orders", vec![big.clone()]).await;
    }
    let with_messages = async |stream: &mut common::Stream| {
        loop {
            let response = stream.response().await.unwrap().unwrap();
            if !response.received_messages.is_empty() {
                return response.received_messages.len();
            }
        }
    };
    let mut stream = rig.stream("sub-1", |_| {}).await;
    assert_eq!(with_messages(&mut stream).await, 3);
    http.post("/responses", json!({"max_messages": 1})).await;
    rig.publish("orders", vec![message("a"), message("b")])
        .await;
    assert_eq!(with_messages(&mut stream).await, 1);
    assert_eq!(with_messages(&mut stream).await, 1);
}

#[test]
fn every_path_and_action_is_documented() {
    let documented = include_str!("../../../docs/emulator.md");
    let routes = include_str!("../src/control/http.rs")
        .split(".route(\"")
        .skip(1);
    let routes: Vec<_> = routes.map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(routes.len() > 15, "{routes:?}");
    for route in routes {
        assert!(
            documented.contains(route),
            "{route} is not in docs/emulator.md"
        );
    }
    for action in [
        "status",
        "silence",
        "delay",
        "hold",
        "goaway",
        "rst_stream",
        "drop",
        "reset",
        "fail_ack_ids",
        "duplicate",
        "reorder",
    ] {
        let shown = format!("{{\"type\":\"{action}\"");
        assert!(
            documented.contains(&shown),
            "{action} is not in docs/emulator.md"
        );
    }
}
