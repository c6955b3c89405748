//! Faults on demand, as a client meets them.

mod common;

use std::time::Duration;

use common::{Rig, message, pb};
use pubsub_emulator::fault::{Action, Attribute, Content, Order, Rule, StatusCode};
use pubsub_emulator::server::Command;
use pubsub_emulator::service::Method;
use tonic::Code;

async fn rig() -> Rig {
    let mut rig = Rig::start().await;
    rig.topic("orders").await;
    rig.subscription("orders", "sub-1", |_| {}).await;
    rig
}

fn add(rig: &Rig, rule: Rule) -> String {
    rig.emulator.control().faults().add(rule).unwrap()
}

fn status(code: Code) -> Action {
    Action::Status {
        code: StatusCode(code),
        message: "asked for".into(),
    }
}

async fn publish(
    rig: &mut Rig,
    messages: Vec<pb::PubsubMessage>,
) -> Result<Vec<String>, tonic::Status> {
    let request = pb::PublishRequest {
        topic: rig.topic_name("orders"),
        messages,
    };
    Ok(rig
        .publisher
        .publish(request)
        .await?
        .into_inner()
        .message_ids)
}

fn backlog(rig: &Rig) -> u64 {
    let counts = rig
        .emulator
        .control()
        .counts(&rig.subscription_name("sub-1"));
    counts.unwrap().backlog
}

#[tokio::test]
async fn the_nth_call_fails_with_the_status() {
    let mut rig = rig().await;
    add(
        &rig,
        Rule {
            skip: 1,
            ..Rule::status(Method::Publish, Code::Unavailable, 2)
        },
    );
    let mut codes = Vec::new();
    for _ in 0..5 {
        codes.push(
            publish(&mut rig, vec![message("a")])
                .await
                .map_or_else(|e| e.code(), |_| Code::Ok),
        );
    }
    assert_eq!(
        codes,
        [
            Code::Ok,
            Code::Unavailable,
            Code::Unavailable,
            Code::Ok,
            Code::Ok
        ]
    );
    assert_eq!(backlog(&rig), 3);
}

#[tokio::test]
async fn a_message_can_make_its_whole_request_fail() {
    let mut rig = rig().await;
    let attribute = Attribute {
        key: "poison".into(),
        value: None,
    };
    let content = Content {
        attribute: Some(attribute),
        ..Content::default()
    };
    add(
        &rig,
        Rule {
            content: Some(content),
            ..Rule::new(Method::Publish, status(Code::InvalidArgument))
        },
    );
    let poison = pb::PubsubMessage {
        attributes: [("poison".into(), "1".into())].into(),
        ..message("b")
    };
    assert!(publish(&mut rig, vec![message("a")]).await.is_ok());
    let error = publish(&mut rig, vec![message("a"), poison])
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (Code::InvalidArgument, "asked for")
    );
    assert_eq!(backlog(&rig), 1);
}

#[tokio::test]
async fn an_answer_can_be_lost_after_the_effect() {
    let mut rig = rig().await;
    add(
        &rig,
        Rule {
            after_effect: true,
            ..Rule::status(Method::Publish, Code::Unavailable, 1)
        },
    );
    assert_eq!(
        publish(&mut rig, vec![message("a")])
            .await
            .unwrap_err()
            .code(),
        Code::Unavailable
    );
    assert_eq!(backlog(&rig), 1);
}

#[tokio::test]
async fn calls_are_cut_silenced_and_delayed() {
    let mut rig = rig().await;
    for action in [
        Action::Drop,
        Action::Reset,
        Action::RstStream { code: 2 },
        Action::Goaway {
            close_after_ms: Some(0),
        },
    ] {
        add(
            &rig,
            Rule {
                times: Some(1),
                ..Rule::new(Method::Publish, action.clone())
            },
        );
        let outcome =
            tokio::time::timeout(common::PATIENCE, publish(&mut rig, vec![message("a")])).await;
        assert!(outcome.expect("an end in time").is_err(), "{action:?}");
        // The client connects anew by itself.
        let channel = Rig::channel(&rig.emulator).await;
        rig.publisher = pb::publisher_client::PublisherClient::new(channel);
    }
    assert_eq!(backlog(&rig), 0);
    let silent = add(&rig, Rule::new(Method::Publish, Action::Silence));
    let mut publisher = rig.publisher.clone();
    let request = pb::PublishRequest {
        topic: rig.topic_name("orders"),
        messages: vec![message("a")],
    };
    let call = tokio::spawn(async move { publisher.publish(request).await });
    let faults = rig.emulator.control().faults();
    common::eventually(|| faults.list()[4].hits == 1).await;
    assert!(!call.is_finished());
    call.abort();
    faults.remove(&silent);
    faults.clear();
    add(
        &rig,
        Rule {
            times: Some(1),
            ..Rule::new(Method::Publish, Action::Delay { ms: 30 })
        },
    );
    let started = std::time::Instant::now();
    publish(&mut rig, vec![message("a")]).await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(30));
    assert_eq!(backlog(&rig), 1);
}

#[tokio::test]
async fn streams_end_after_n_messages_in_every_way() {
    for (action, expected) in [
        (status(Code::Unavailable), "Unavailable"),
        (status(Code::Ok), "None"),
        (Action::RstStream { code: 2 }, "INTERNAL_ERROR"),
        (Action::RstStream { code: 8 }, "CANCEL"),
    ] {
        let mut rig = rig().await;
        let messages = (0..20).map(|i| message(&i.to_string())).collect();
        publish(&mut rig, messages).await.unwrap();
        let rule = Rule {
            after_messages: Some(7),
            times: Some(1),
            ..Rule::new(Method::StreamingPull, action)
        };
        add(&rig, rule);
        let mut stream = rig.stream("sub-1", |_| {}).await;
        assert_eq!(stream.receive(7).await.len(), 7);
        let end = format!("{:?}", stream.end().await.err());
        assert!(end.contains(expected), "{end}");
        // The next stream is not hit, and gets the rest.
        let mut stream = rig.stream("sub-1", |_| {}).await;
        assert_eq!(stream.receive(13).await.len(), 13);
    }
}

#[tokio::test]
async fn a_connection_breaks_under_a_stream() {
    for action in [
        Action::Drop,
        Action::Reset,
        Action::Goaway {
            close_after_ms: Some(0),
        },
    ] {
        let mut rig = rig().await;
        publish(&mut rig, vec![message("a"), message("b")])
            .await
            .unwrap();
        let rule = Rule {
            after_messages: Some(1),
            ..Rule::new(Method::StreamingPull, action)
        };
        add(&rig, rule);
        let mut stream = rig.stream("sub-1", |_| {}).await;
        // The message may still get through.
        assert!(stream.end().await.is_err());
        assert_eq!(backlog(&rig), 1);
    }
}

#[tokio::test]
async fn goaway_alone_lets_running_streams_go_on() {
    let mut rig = rig().await;
    let mut stream = rig.stream("sub-1", |_| {}).await;
    stream.expect_silence().await;
    assert_eq!(
        rig.emulator.control().act_on_connections(Command::GoAway),
        1
    );
    publish(&mut rig, vec![message("a")]).await.unwrap();
    assert_eq!(stream.receive(1).await.len(), 1);
}

#[tokio::test]
async fn open_streams_can_be_ended_now() {
    let mut rig = rig().await;
    rig.subscription("orders", "sub-2", |_| {}).await;
    let mut first = rig.stream("sub-1", |_| {}).await;
    let mut second = rig.stream("sub-2", |_| {}).await;
    first.expect_silence().await;
    second.expect_silence().await;
    let name = rig.subscription_name("sub-1");
    let control = rig.emulator.control().clone();
    assert_eq!(
        control.act_on_streams(Some(&name), &status(Code::Unavailable)),
        1
    );
    assert_eq!(first.end().await.unwrap_err().code(), Code::Unavailable);
    second.expect_silence().await;
    assert_eq!(control.act_on_streams(None, &status(Code::Ok)), 1);
    assert!(second.end().await.is_ok());
}

#[tokio::test]
async fn deliveries_are_duplicated_and_reordered() {
    let mut rig = rig().await;
    publish(&mut rig, vec![message("0"), message("1"), message("2")])
        .await
        .unwrap();
    add(
        &rig,
        Rule {
            times: Some(1),
            ..Rule::new(Method::StreamingPull, Action::Duplicate)
        },
    );
    let mut stream = rig.stream("sub-1", |_| {}).await;
    let received = stream.receive(6).await;
    let data = |received: &[pb::ReceivedMessage]| -> String {
        received
            .iter()
            .map(|r| r.message.as_ref().unwrap().data[0] as char)
            .collect()
    };
    assert_eq!(data(&received), "001122");
    // The second copy's id is the one that counts.
    rig.ack(
        "sub-1",
        received
            .iter()
            .step_by(2)
            .map(|r| r.ack_id.clone())
            .collect(),
    )
    .await;
    let name = rig.subscription_name("sub-1");
    assert_eq!(rig.emulator.control().counts(&name).unwrap().outstanding, 3);
    rig.ack(
        "sub-1",
        received
            .iter()
            .skip(1)
            .step_by(2)
            .map(|r| r.ack_id.clone())
            .collect(),
    )
    .await;
    assert_eq!(rig.emulator.control().counts(&name).unwrap().outstanding, 0);
    stream.expect_silence().await;
    let order = Action::Reorder {
        order: Order::Reverse,
    };
    add(
        &rig,
        Rule {
            times: Some(1),
            ..Rule::new(Method::StreamingPull, order)
        },
    );
    publish(&mut rig, vec![message("3"), message("4"), message("5")])
        .await
        .unwrap();
    assert_eq!(data(&stream.receive(3).await), "543");
}

#[tokio::test]
async fn single_ack_ids_fail_for_a_while() {
    let mut rig = rig().await;
    rig.subscription("orders", "exact", |s| s.enable_exactly_once_delivery = true)
        .await;
    publish(&mut rig, vec![message("a"), message("b")])
        .await
        .unwrap();
    let received = rig.pull("exact", 2).await;
    let reason = "TRANSIENT_FAILURE_SERVICE_UNAVAILABLE".to_owned();
    let action = Action::FailAckIds {
        reason: reason.clone(),
        count: Some(1),
    };
    add(
        &rig,
        Rule {
            times: Some(1),
            ..Rule::new(Method::Acknowledge, action)
        },
    );
    let ack_ids: Vec<_> = received.iter().map(|r| r.ack_id.clone()).collect();
    let request = pb::AcknowledgeRequest {
        subscription: rig.subscription_name("exact"),
        ack_ids: ack_ids.clone(),
    };
    let error = rig.subscriber.acknowledge(request).await.unwrap_err();
    assert_eq!(
        common::ack_failures(&error),
        [(ack_ids[0].clone(), reason)].into()
    );
    let counts = rig
        .emulator
        .control()
        .counts(&rig.subscription_name("exact"))
        .unwrap();
    assert_eq!((counts.acked, counts.outstanding), (1, 1));
    rig.ack("exact", vec![ack_ids[0].clone()]).await;
}
