//! Creating, changing, listing and deleting.

use tonic::Code;

use super::*;
use crate::core::{DELETED_TOPIC, Error};
use crate::time::duration_to_proto;

fn secs(n: u64) -> Option<prost_types::Duration> {
    Some(duration_to_proto(Duration::from_secs(n)))
}

fn refused(change: impl FnOnce(&mut pb::Subscription)) -> Error {
    let mut state = State::new();
    state.create_topic(topic(TOPIC)).unwrap();
    let mut proto = subscription();
    change(&mut proto);
    state.create_subscription(proto, at(0)).unwrap_err()
}

#[test]
fn defaults_are_the_services() {
    let state = state(|s| s.ack_deadline_seconds = 0);
    let got = state.get_subscription(SUB).unwrap();
    assert_eq!(got.ack_deadline_seconds, 10);
    assert_eq!(got.message_retention_duration, secs(7 * 86_400));
    assert_eq!(got.expiration_policy.unwrap().ttl, secs(31 * 86_400));
    assert_eq!(got.state, pb::subscription::State::Active as i32);
}

#[test]
fn each_limit_is_refused_by_the_name_of_its_field() {
    let policy = |attempts| {
        Some(pb::DeadLetterPolicy {
            dead_letter_topic: TOPIC.into(),
            max_delivery_attempts: attempts,
        })
    };
    let retry = |min, max| {
        Some(pb::RetryPolicy {
            minimum_backoff: secs(min),
            maximum_backoff: secs(max),
        })
    };
    let cases: Vec<(&str, Error)> = vec![
        ("subscription.name", refused(|s| s.name = "sub".into())),
        ("subscription.topic", refused(|s| s.topic = "topic".into())),
        (
            "subscription.ack_deadline_seconds",
            refused(|s| s.ack_deadline_seconds = 9),
        ),
        (
            "subscription.ack_deadline_seconds",
            refused(|s| s.ack_deadline_seconds = 601),
        ),
        (
            "subscription.message_retention_duration",
            refused(|s| s.message_retention_duration = secs(599)),
        ),
        (
            "subscription.message_retention_duration",
            refused(|s| s.message_retention_duration = secs(31 * 86_400 + 1)),
        ),
        (
            "subscription.filter",
            refused(|s| s.filter = format!("attributes:{}", "a".repeat(246))),
        ),
        (
            "subscription.filter",
            refused(|s| s.filter = "attributes".into()),
        ),
        (
            "subscription.dead_letter_policy.max_delivery_attempts",
            refused(|s| s.dead_letter_policy = policy(4)),
        ),
        (
            "subscription.dead_letter_policy.max_delivery_attempts",
            refused(|s| s.dead_letter_policy = policy(101)),
        ),
        (
            "subscription.dead_letter_policy.dead_letter_topic",
            refused(|s| s.dead_letter_policy = Some(Default::default())),
        ),
        (
            "subscription.retry_policy.maximum_backoff",
            refused(|s| s.retry_policy = retry(0, 601)),
        ),
        (
            "subscription.retry_policy.minimum_backoff",
            refused(|s| s.retry_policy = retry(20, 10)),
        ),
        (
            "subscription.expiration_policy.ttl",
            refused(|s| s.expiration_policy = Some(pb::ExpirationPolicy { ttl: secs(86_399) })),
        ),
        (
            "subscription.labels",
            refused(|s| drop(s.labels.insert("UPPER".into(), "x".into()))),
        ),
    ];
    for (field, error) in cases {
        assert_eq!(error.code, Code::InvalidArgument, "{error}");
        assert!(
            error.message.starts_with(&format!("{field}: ")),
            "{field}: {error}"
        );
    }
    for (what, error) in [
        (
            "BigQuery",
            refused(|s| s.bigquery_config = Some(Default::default())),
        ),
        (
            "Cloud Storage",
            refused(|s| s.cloud_storage_config = Some(Default::default())),
        ),
        (
            "transformation",
            refused(|s| s.message_transforms = vec![Default::default()]),
        ),
    ] {
        assert_eq!(error.code, Code::Unimplemented);
        assert!(
            error.message.contains(what) && error.message.ends_with('.'),
            "{error}"
        );
    }
}

#[test]
fn each_limit_is_accepted_at_its_edge() {
    for deadline in [10, 600] {
        state(|s| s.ack_deadline_seconds = deadline);
    }
    for attempts in [0, 5, 100] {
        let policy = pb::DeadLetterPolicy {
            dead_letter_topic: TOPIC.into(),
            max_delivery_attempts: attempts,
        };
        state(|s| s.dead_letter_policy = Some(policy));
    }
    state(|s| s.filter = format!("attributes:{}", "a".repeat(245)));
    state(|s| s.message_retention_duration = secs(600));
    state(|s| s.message_retention_duration = secs(31 * 86_400));
    state(|s| s.expiration_policy = Some(pb::ExpirationPolicy { ttl: None }));
}

#[test]
fn each_limit_of_a_message_holds() {
    let with = |change: &dyn Fn(&mut pb::PubsubMessage)| {
        let mut m = message("x", "");
        change(&mut m);
        state(|_| {}).publish(TOPIC, &[m], at(0)).map(drop)
    };
    let attribute = |key: usize, value: usize| ("k".repeat(key), "v".repeat(value));
    for (field, good, bad) in [
        (
            "data",
            with(&|m| m.data = vec![0; 10_000_000].into()),
            with(&|m| m.data = vec![0; 10_000_001].into()),
        ),
        (
            "attributes",
            with(&|m| m.attributes = (0..100).map(|i| (i.to_string(), String::new())).collect()),
            with(&|m| m.attributes = (0..101).map(|i| (i.to_string(), String::new())).collect()),
        ),
        (
            "attributes",
            with(&|m| m.attributes = [attribute(256, 1)].into()),
            with(&|m| m.attributes = [attribute(257, 1)].into()),
        ),
        (
            "attributes",
            with(&|m| m.attributes = [attribute(1, 1024)].into()),
            with(&|m| m.attributes = [attribute(1, 1025)].into()),
        ),
        (
            "attributes",
            with(&|m| m.attributes = [("goo".into(), String::new())].into()),
            with(&|m| m.attributes = [("googx".into(), String::new())].into()),
        ),
        (
            "ordering_key",
            with(&|m| m.ordering_key = "é".repeat(512)),
            with(&|m| m.ordering_key = "é".repeat(513)),
        ),
        (
            "data",
            with(&|m| {
                m.data = Default::default();
                m.attributes = [attribute(1, 0)].into();
            }),
            with(&|m| m.data = Default::default()),
        ),
    ] {
        good.unwrap();
        let error = bad.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert!(
            error.message.starts_with(&format!("messages[0].{field}: ")),
            "{field}: {error}"
        );
    }
    let mut state = state(|_| {});
    assert!(
        state
            .publish(TOPIC, &vec![message("x", ""); 1000], at(0))
            .is_ok()
    );
    for (messages, field) in [
        (vec![message("x", ""); 1001], "messages: "),
        (vec![], "messages: "),
        (
            vec![message("x", "A"), message("x", "B")],
            "messages[1].ordering_key: ",
        ),
    ] {
        let error = state.publish(TOPIC, &messages, at(0)).unwrap_err();
        assert!(error.message.starts_with(field), "{error}");
    }
    assert_eq!(state.counts(SUB).unwrap().backlog, 1000, "all or nothing");
}

#[test]
fn masks_change_what_they_name() {
    let mut state = state(|s| s.filter = "attributes:x".into());
    let mask = |paths: &[&str]| paths.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>();
    let update = pb::Subscription {
        ack_deadline_seconds: 77,
        retain_acked_messages: true,
        labels: [("a".to_owned(), "b".to_owned())].into(),
        ..subscription()
    };
    let got = state
        .update_subscription(&update, &mask(&["ack_deadline_seconds", "labels"]), at(0))
        .unwrap();
    assert_eq!(
        (
            got.ack_deadline_seconds,
            got.labels.len(),
            got.retain_acked_messages
        ),
        (77, 1, false)
    );
    assert_eq!(got.filter, "attributes:x");
    assert_eq!(state.get_subscription(SUB).unwrap(), got);
    for path in [
        "filter",
        "topic",
        "enable_message_ordering",
        "name",
        "nonsense",
    ] {
        let error = state
            .update_subscription(&update, &mask(&[path]), at(0))
            .unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert!(
            error.message.starts_with("update_mask: ") && error.message.contains(path),
            "{error}"
        );
    }
    assert!(
        state
            .update_subscription(&update, &[], at(0))
            .unwrap_err()
            .message
            .starts_with("update_mask: ")
    );
    let update = pb::Subscription {
        ack_deadline_seconds: 5,
        ..subscription()
    };
    let error = state
        .update_subscription(&update, &mask(&["ack_deadline_seconds"]), at(0))
        .unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    assert_eq!(
        state.get_subscription(SUB).unwrap().ack_deadline_seconds,
        77
    );

    let update = pb::Topic {
        message_retention_duration: secs(3600),
        ..topic(TOPIC)
    };
    let got = state
        .update_topic(&update, &mask(&["message_retention_duration"]))
        .unwrap();
    assert_eq!(got.message_retention_duration, secs(3600));
    assert_eq!(
        state
            .get_subscription(SUB)
            .unwrap()
            .topic_message_retention_duration,
        secs(3600)
    );
}

#[test]
fn an_update_takes_effect() {
    let mut state = state(|_| {});
    publish(&mut state, &["a"], at(0));
    let update = pb::Subscription {
        ack_deadline_seconds: 100,
        ..subscription()
    };
    state
        .update_subscription(&update, &["ack_deadline_seconds".into()], at(0))
        .unwrap();
    assert_eq!(pull(&mut state, 1, at(0)).len(), 1);
    assert!(pull(&mut state, 1, at(99)).is_empty());
    assert_eq!(pull(&mut state, 1, at(100)).len(), 1);
}

#[test]
fn lists_come_in_pages() {
    let mut state = State::new();
    for i in 0..25 {
        state
            .create_topic(topic(&format!("projects/p/topics/t{i:03}")))
            .unwrap();
    }
    state
        .create_topic(topic("projects/p2/topics/other"))
        .unwrap();
    let mut seen = Vec::new();
    let mut token = String::new();
    let mut pages = 0;
    loop {
        let (page, next) = state.list_topics("projects/p", 10, &token).unwrap();
        seen.extend(page.into_iter().map(|t| t.name));
        pages += 1;
        if next.is_empty() {
            break;
        }
        token = next;
    }
    assert_eq!((seen.len(), pages), (25, 3));
    assert_eq!(state.list_topics("projects/p", 0, "").unwrap().0.len(), 25);
    assert!(
        state
            .list_topics("projects/p", -1, "")
            .unwrap_err()
            .message
            .starts_with("page_size: ")
    );
    assert!(
        state
            .list_topics("p", 0, "")
            .unwrap_err()
            .message
            .starts_with("project: ")
    );
}

#[test]
fn deleting_a_topic_orphans_its_subscriptions() {
    let mut state = state(|_| {});
    publish(&mut state, &["a"], at(0));
    assert_eq!(
        state.list_topic_subscriptions(TOPIC, 0, "").unwrap().0,
        [SUB]
    );
    state.delete_topic(TOPIC).unwrap();
    assert_eq!(state.get_subscription(SUB).unwrap().topic, DELETED_TOPIC);
    assert_eq!(
        data(&pull(&mut state, 1, at(0))),
        ["a"],
        "its messages stay"
    );
    state.create_topic(topic(TOPIC)).unwrap();
    publish(&mut state, &["b"], at(0));
    assert!(
        pull(&mut state, 1, at(0)).is_empty(),
        "a new topic of the same name is another one"
    );
}

#[test]
fn a_detached_subscription_gives_nothing_more() {
    let mut state = state(|_| {});
    publish(&mut state, &["a"], at(0));
    let stream = open(&mut state, None);
    state.detach_subscription(SUB, at(0)).unwrap();
    assert!(state.get_subscription(SUB).unwrap().detached);
    assert!(
        state
            .list_topic_subscriptions(TOPIC, 0, "")
            .unwrap()
            .0
            .is_empty()
    );
    let code = |error: Error| error.code;
    assert_eq!(
        state.pull(SUB, 1, 1, at(0)).map_err(code).unwrap_err(),
        Code::FailedPrecondition
    );
    let taken = state.take_for_stream(stream, 1, 1, at(0));
    assert_eq!(taken.map_err(code).unwrap_err(), Code::FailedPrecondition);
    assert_eq!(state.counts(SUB).unwrap().backlog, 0);
}

#[test]
fn unused_subscriptions_expire() {
    let day = 86_400;
    let mut state =
        state(|s| s.expiration_policy = Some(pb::ExpirationPolicy { ttl: secs(86_400) }));
    pull(&mut state, 1, at(1000));
    state.tick(at(day + 999));
    assert!(state.get_subscription(SUB).is_ok());
    // An open stream is use.
    let stream = open(&mut state, None);
    state.tick(at(10 * day));
    assert!(state.get_subscription(SUB).is_ok());
    state.close_stream(stream, at(10 * day));
    state.tick(at(11 * day - 1));
    assert!(state.get_subscription(SUB).is_ok());
    state.tick(at(11 * day));
    assert_eq!(
        state.get_subscription(SUB).unwrap_err().code,
        Code::NotFound
    );
    assert!(
        state
            .list_topic_subscriptions(TOPIC, 0, "")
            .unwrap()
            .0
            .is_empty()
    );
}

#[test]
fn a_recreated_subscription_does_not_take_the_acks_of_the_old_one() {
    let mut state = state(|_| {});
    publish(&mut state, &["a"], at(0));
    let old = pull(&mut state, 1, at(0));
    let old = ids(&state, &old);
    state.delete_subscription(SUB).unwrap();
    state.create_subscription(subscription(), at(0)).unwrap();
    publish(&mut state, &["b"], at(0));
    assert_eq!(pull(&mut state, 1, at(0)).len(), 1);
    assert_eq!(state.acknowledge(SUB, &old, at(0)).unwrap().done, 0);
    assert_eq!(state.counts(SUB).unwrap().outstanding, 1);
}
