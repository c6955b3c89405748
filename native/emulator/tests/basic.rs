//! The everyday calls, through a client of the published API.

mod common;

use std::time::Duration;

use common::{Rig, message, pb};
use tonic::Code;

#[tokio::test]
async fn what_is_published_is_pulled_and_acked() {
    let mut rig = Rig::start().await;
    rig.topic("orders").await;
    rig.subscription("orders", "sub-1", |_| {}).await;
    let ids = rig
        .publish("orders", vec![message("a"), message("b")])
        .await;
    let received = rig.pull("sub-1", 10).await;
    let got: Vec<_> = received
        .iter()
        .map(|r| r.message.as_ref().unwrap())
        .collect();
    assert_eq!(
        got.iter().map(|m| m.data.as_ref()).collect::<Vec<_>>(),
        [b"a", b"b"]
    );
    assert_eq!(
        got.iter().map(|m| m.message_id.clone()).collect::<Vec<_>>(),
        ids
    );
    assert!(got.iter().all(|m| m.publish_time.is_some()));
    assert_eq!(received[0].ack_id.len(), 180);
    rig.ack("sub-1", received.iter().map(|r| r.ack_id.clone()).collect())
        .await;
    rig.clock().advance(Duration::from_secs(3600));
    assert!(rig.pull_now("sub-1", 10).await.is_empty());
}

#[tokio::test]
async fn a_lease_that_ends_is_delivered_again_under_a_new_ack_id() {
    let mut rig = Rig::start().await;
    rig.topic("orders").await;
    rig.subscription("orders", "sub-1", |s| s.ack_deadline_seconds = 20)
        .await;
    rig.publish("orders", vec![message("a")]).await;
    let first = rig.pull("sub-1", 1).await.remove(0);
    rig.clock().advance(Duration::from_secs(19));
    rig.emulator.hub().tick();
    assert!(rig.pull_now("sub-1", 1).await.is_empty());
    rig.clock().advance(Duration::from_secs(1));
    rig.emulator.hub().tick();
    let second = rig.pull("sub-1", 1).await.remove(0);
    assert_ne!(first.ack_id, second.ack_id);
    assert_eq!(first.message, second.message);
    // The first id is dead: acking it changes nothing.
    rig.ack("sub-1", vec![first.ack_id]).await;
    rig.clock().advance(Duration::from_secs(20));
    rig.emulator.hub().tick();
    assert_eq!(rig.pull("sub-1", 1).await.len(), 1);
}

#[tokio::test]
async fn a_stream_delivers_within_its_flow_control() {
    let mut rig = Rig::start().await;
    rig.topic("orders").await;
    rig.subscription("orders", "sub-1", |_| {}).await;
    let messages = (0..25).map(|i| message(&i.to_string())).collect();
    rig.publish("orders", messages).await;
    let mut stream = rig
        .stream("sub-1", |first| first.max_outstanding_messages = 10)
        .await;
    let received = stream.receive(10).await;
    assert_eq!(received.len(), 10);
    stream.expect_silence().await;
    rig.ack(
        "sub-1",
        received.iter().take(4).map(|r| r.ack_id.clone()).collect(),
    )
    .await;
    assert_eq!(stream.receive(4).await.len(), 4);
    stream.expect_silence().await;
    let properties = stream.properties.unwrap();
    assert!(!properties.exactly_once_delivery_enabled && !properties.message_ordering_enabled);
}

#[tokio::test]
async fn messages_of_nine_megabytes_pass_both_ways() {
    let mut rig = Rig::start().await;
    rig.topic("orders").await;
    rig.subscription("orders", "sub-1", |_| {}).await;
    let data: Vec<u8> = (0..9_900_000u32).map(|i| (i * 7) as u8).collect();
    rig.publish(
        "orders",
        vec![pb::PubsubMessage {
            data: data.clone().into(),
            ..Default::default()
        }],
    )
    .await;
    let mut stream = rig.stream("sub-1", |_| {}).await;
    let received = stream.receive(1).await;
    assert!(received[0].message.as_ref().unwrap().data == data);
}

#[tokio::test]
async fn order_is_kept_per_key_and_replayed_after_a_nack() {
    let mut rig = Rig::start().await;
    rig.topic("orders").await;
    rig.subscription("orders", "sub-1", |s| s.enable_message_ordering = true)
        .await;
    for key in ["A", "B"] {
        let keyed = (0..5).map(|i| pb::PubsubMessage {
            ordering_key: key.into(),
            ..message(&format!("{key}{i}"))
        });
        rig.publish("orders", keyed.collect()).await;
    }
    let mut stream = rig.stream("sub-1", |_| {}).await;
    let received = stream.receive(10).await;
    let of = |received: &[pb::ReceivedMessage], key: &str| -> Vec<String> {
        let messages = received.iter().map(|r| r.message.as_ref().unwrap());
        messages
            .filter(|m| m.ordering_key == key)
            .map(|m| String::from_utf8(m.data.to_vec()).unwrap())
            .collect()
    };
    assert_eq!(of(&received, "A"), ["A0", "A1", "A2", "A3", "A4"]);
    assert_eq!(of(&received, "B"), ["B0", "B1", "B2", "B3", "B4"]);
    let id = |data: &str| {
        let found = received
            .iter()
            .find(|r| r.message.as_ref().unwrap().data == data.as_bytes());
        found.unwrap().ack_id.clone()
    };
    // Acked or not, what came after the nacked one comes again.
    rig.ack("sub-1", vec![id("A3")]).await;
    rig.nack("sub-1", vec![id("A2")]).await;
    let again = stream.receive(3).await;
    assert_eq!(of(&again, "A"), ["A2", "A3", "A4"]);
    stream.expect_silence().await;
}

#[tokio::test]
async fn refusals_carry_the_status_of_the_service_and_name_the_field() {
    let mut rig = Rig::start().await;
    rig.topic("orders").await;
    let name = rig.topic_name("orders");
    let again = rig
        .publisher
        .create_topic(pb::Topic {
            name: name.clone(),
            ..Default::default()
        })
        .await
        .unwrap_err();
    assert_eq!(again.code(), Code::AlreadyExists);
    assert!(again.message().contains(&name));
    let bad = pb::Subscription {
        ack_deadline_seconds: 9,
        ..rig.subscription_proto("orders", "sub-1")
    };
    let bad = rig.subscriber.create_subscription(bad).await.unwrap_err();
    assert_eq!(bad.code(), Code::InvalidArgument);
    assert!(
        bad.message().contains("ack_deadline_seconds"),
        "{}",
        bad.message()
    );
    let request = pb::PublishRequest {
        topic: rig.topic_name("missing"),
        messages: vec![message("a")],
    };
    assert_eq!(
        rig.publisher.publish(request).await.unwrap_err().code(),
        Code::NotFound
    );
    let push = pb::PushConfig {
        push_endpoint: "https://localhost/".into(),
        ..Default::default()
    };
    let push = pb::Subscription {
        push_config: Some(push),
        ..rig.subscription_proto("orders", "sub-1")
    };
    let push = rig.subscriber.create_subscription(push).await.unwrap_err();
    assert_eq!(push.code(), Code::Unimplemented);
    assert!(push.message().contains("Push delivery"));
}

#[tokio::test]
async fn exactly_once_answers_per_id() {
    let mut rig = Rig::start().await;
    rig.topic("orders").await;
    rig.subscription("orders", "exact", |s| s.enable_exactly_once_delivery = true)
        .await;
    rig.publish("orders", vec![message("a"), message("b")])
        .await;
    let mut stream = rig
        .stream("exact", |first| first.stream_ack_deadline_seconds = 10)
        .await;
    let received = stream.receive(2).await;
    assert!(stream.properties.unwrap().exactly_once_delivery_enabled);
    let ids: Vec<_> = received.iter().map(|r| r.ack_id.clone()).collect();
    rig.modify("exact", vec![ids[1].clone()], 60).await;
    rig.emulator.control().advance(Duration::from_secs(10));
    let again = stream.receive(1).await.remove(0);
    let request = pb::AcknowledgeRequest {
        subscription: rig.subscription_name("exact"),
        ack_ids: ids.clone(),
    };
    let error = rig.subscriber.acknowledge(request).await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    let reason = "PERMANENT_FAILURE_INVALID_ACK_ID".to_owned();
    assert_eq!(
        common::ack_failures(&error),
        [(ids[0].clone(), reason)].into()
    );
    // On the stream the answer comes as a confirmation.
    let acks = vec![again.ack_id.clone(), ids[1].clone()];
    stream
        .send(pb::StreamingPullRequest {
            ack_ids: acks,
            ..Default::default()
        })
        .await;
    let confirmed = stream
        .response()
        .await
        .unwrap()
        .unwrap()
        .acknowledge_confirmation
        .unwrap();
    assert_eq!(confirmed.ack_ids, [again.ack_id]);
    assert_eq!(confirmed.invalid_ack_ids, [ids[1].clone()]);
}

#[tokio::test]
async fn a_stream_is_refused_or_ended_for_what_makes_no_sense() {
    let mut rig = Rig::start().await;
    rig.topic("orders").await;
    rig.subscription("orders", "sub-1", |_| {}).await;
    let first = |subscription: String, secs| pb::StreamingPullRequest {
        subscription,
        stream_ack_deadline_seconds: secs,
        ..Default::default()
    };
    let (good, missing) = (
        rig.subscription_name("sub-1"),
        rig.subscription_name("none"),
    );
    for (request, code, part) in [
        (
            first(good.clone(), 9),
            Code::InvalidArgument,
            "stream_ack_deadline_seconds",
        ),
        (first(missing, 10), Code::NotFound, "none"),
        (
            first("sub".into(), 10),
            Code::InvalidArgument,
            "subscription",
        ),
    ] {
        let error = rig
            .subscriber
            .streaming_pull(futures_util::stream::iter([request]))
            .await
            .unwrap_err();
        assert_eq!(error.code(), code);
        assert!(error.message().contains(part), "{}", error.message());
    }
    let mut stream = rig.stream("sub-1", |_| {}).await;
    stream
        .send(pb::StreamingPullRequest {
            max_outstanding_messages: 1,
            ..Default::default()
        })
        .await;
    let error = stream.end().await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("max_outstanding_messages"));
    // The client ends its side: so does the server.
    let mut stream = rig.stream("sub-1", |_| {}).await;
    stream.requests = None;
    assert!(stream.end().await.is_ok());
    // The subscription goes away.
    let mut stream = rig.stream("sub-1", |_| {}).await;
    stream.expect_silence().await;
    rig.subscriber
        .delete_subscription(pb::DeleteSubscriptionRequest { subscription: good })
        .await
        .unwrap();
    assert_eq!(stream.end().await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn delivery_attempts_are_told_with_a_dead_letter_policy_only() {
    let mut rig = Rig::start().await;
    rig.topic("orders").await;
    rig.topic("dead").await;
    let dead_letter_topic = rig.topic_name("dead");
    let policy = pb::DeadLetterPolicy {
        dead_letter_topic,
        max_delivery_attempts: 5,
    };
    rig.subscription("orders", "plain", |_| {}).await;
    rig.subscription("orders", "counted", |s| s.dead_letter_policy = Some(policy))
        .await;
    rig.publish("orders", vec![message("a")]).await;
    assert_eq!(rig.pull("plain", 1).await[0].delivery_attempt, 0);
    let first = rig.pull("counted", 1).await.remove(0);
    assert_eq!(first.delivery_attempt, 1);
    rig.nack("counted", vec![first.ack_id]).await;
    assert_eq!(rig.pull("counted", 1).await[0].delivery_attempt, 2);
    let mut stream = rig.stream("counted", |_| {}).await;
    rig.publish("orders", vec![message("b")]).await;
    assert_eq!(stream.receive(1).await[0].delivery_attempt, 1);
}

#[tokio::test]
async fn what_is_left_out_is_refused_with_a_sentence() {
    let rig = Rig::start().await;
    let channel = Rig::channel(&rig.emulator).await;
    let mut schemas = pb::schema_service_client::SchemaServiceClient::new(channel);
    let error = schemas
        .get_schema(pb::GetSchemaRequest::default())
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (
            Code::Unimplemented,
            "Schemas are not part of this emulator."
        )
    );
}
