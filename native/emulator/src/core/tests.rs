//! What Pub/Sub means, told to the core with a time for each step.

mod admin;
mod delivery;
mod model;
mod order;
mod seek;

use std::time::Duration;

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;

use super::{Delivery, State, StreamOptions, StreamRef};
use crate::time::Time;

const SUB: &str = "projects/p/subscriptions/sub";
const TOPIC: &str = "projects/p/topics/topic";

fn at(secs: i64) -> Time {
    Time::from_secs(1_000_000 + secs)
}

fn topic(name: &str) -> pb::Topic {
    pb::Topic {
        name: name.into(),
        ..Default::default()
    }
}

fn subscription() -> pb::Subscription {
    pb::Subscription {
        name: SUB.into(),
        topic: TOPIC.into(),
        ack_deadline_seconds: 10,
        ..Default::default()
    }
}

/// A server with one topic and one subscription of it.
fn state(change: impl FnOnce(&mut pb::Subscription)) -> State {
    let mut state = State::new();
    state.create_topic(topic(TOPIC)).unwrap();
    let mut proto = subscription();
    change(&mut proto);
    state.create_subscription(proto, at(0)).unwrap();
    state
}

fn message(data: &str, key: &str) -> pb::PubsubMessage {
    pb::PubsubMessage {
        data: data.as_bytes().to_vec().into(),
        ordering_key: key.into(),
        ..Default::default()
    }
}

/// Publishes messages one by one, as `data` or `key:data`.
fn publish(state: &mut State, messages: &[&str], now: Time) -> Vec<u64> {
    let one = |text: &&str| {
        let (key, data) = text.split_once(':').unwrap_or(("", text));
        state
            .publish(TOPIC, &[message(data, key)], now)
            .unwrap()
            .remove(0)
    };
    messages.iter().map(one).collect()
}

fn data(deliveries: &[Delivery]) -> Vec<String> {
    deliveries
        .iter()
        .map(|d| String::from_utf8(d.message.decode().data.to_vec()).unwrap())
        .collect()
}

fn pull(state: &mut State, max: usize, now: Time) -> Vec<Delivery> {
    state.tick(now);
    state.pull(SUB, max, usize::MAX, now).unwrap().1
}

fn ids(state: &State, deliveries: &[Delivery]) -> Vec<String> {
    deliveries
        .iter()
        .map(|d| state.ack_ids().format(1, d.lease))
        .collect()
}

/// Acks; returns how many ids had an effect.
fn ack(state: &mut State, deliveries: &[Delivery], now: Time) -> usize {
    let ids = ids(state, deliveries);
    state.acknowledge(SUB, &ids, now).unwrap().done
}

fn modify(state: &mut State, deliveries: &[Delivery], secs: i32, now: Time) -> usize {
    let ids = ids(state, deliveries);
    state
        .modify_ack_deadline(SUB, &ids, secs, now)
        .unwrap()
        .done
}

fn nack(state: &mut State, deliveries: &[Delivery], now: Time) -> usize {
    modify(state, deliveries, 0, now)
}

fn open(state: &mut State, max_messages: Option<u64>) -> StreamRef {
    let options = StreamOptions {
        ack_deadline: Duration::from_secs(10),
        max_messages,
        max_bytes: None,
        client_id: String::new(),
    };
    state.open_stream(SUB, options, at(0)).unwrap()
}

fn take(state: &mut State, stream: StreamRef, now: Time) -> Vec<Delivery> {
    state.tick(now);
    state
        .take_for_stream(stream, 1000, usize::MAX, now)
        .unwrap()
}
