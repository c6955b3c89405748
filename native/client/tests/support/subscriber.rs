//! A server in process and a subscriber on it, both with clocks that stand still.
// Each test binary uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use pb::publisher_client::PublisherClient;
use pb::subscriber_client::SubscriberClient;
use pubsub_client::clock::{Clock, Hands};
use pubsub_client::connect::{Connection, ConnectionOptions};
use pubsub_client::error::{Code, Error};
use pubsub_client::lease::LeasePolicy;
use pubsub_client::subscribe::{Counts, Fetched, INDEX_STRIDE, Subscriber, SubscriberOptions};
use pubsub_emulator::fault::{Action, Rule, StatusCode};
use pubsub_emulator::record::{Query, RecordLimits, Recorded};
use pubsub_emulator::service::Method;
use pubsub_emulator::{Emulator, Options};
use tokio::runtime::Runtime;
use tonic::transport::Channel;

/// The service's limit on one request.
const LARGEST_REQUEST: usize = 524_288;

pub const TOPIC: &str = "projects/p/topics/orders";
pub const SUBSCRIPTION: &str = "projects/p/subscriptions/orders-sub";
pub const DEADLINE: Duration = Duration::from_secs(30);

pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// A server whose clock stands still.
pub fn start(runtime: &Runtime, options: Options) -> Emulator {
    let emulator = runtime.block_on(Emulator::start(options)).unwrap();
    emulator.clock().stop();
    emulator
}

/// A server with one subscription, and a client of it.
pub struct Fixture {
    // In the order in which they must go.
    pub subscriber: Subscriber,
    pub connection: Connection,
    pub emulator: Emulator,
    pub hands: Hands,
    pub clock: Clock,
    /// The subscription's name.
    pub name: String,
    /// The test's own way to the server.
    channel: Channel,
    pub runtime: Runtime,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    pub id: String,
    pub payload: Vec<u8>,
    pub key: String,
    pub sequence: u64,
}

impl Fixture {
    pub fn new(options: SubscriberOptions) -> Self {
        Self::with(options, pb::Subscription::default())
    }

    /// Both clocks stand still: leases run out and are extended when the test says so.
    pub fn with(options: SubscriberOptions, subscription: pb::Subscription) -> Self {
        let runtime = runtime();
        let emulator = start(&runtime, Options::default());
        let address = emulator.address().to_string();
        let options_of = ConnectionOptions::emulator(&address).unwrap();
        let connection = Connection::open(options_of, runtime.handle()).unwrap();
        let channel = Channel::from_shared(format!("http://{address}")).unwrap();
        let channel = runtime.block_on(async { channel.connect_lazy() });
        Self::on(
            runtime,
            (emulator, channel),
            connection,
            options,
            subscription,
        )
    }

    /// On a server that runs already. What the test itself asks of it goes through Google's
    /// generated clients, over the channel.
    pub fn on(
        runtime: Runtime,
        (emulator, channel): (Emulator, Channel),
        connection: Connection,
        options: SubscriberOptions,
        subscription: pb::Subscription,
    ) -> Self {
        let name = match subscription.name.as_str() {
            "" => SUBSCRIPTION.to_owned(),
            name => name.to_owned(),
        };
        runtime.block_on(async {
            let topic = pb::Topic {
                name: TOPIC.into(),
                ..Default::default()
            };
            PublisherClient::new(channel.clone())
                .create_topic(topic)
                .await
                .unwrap();
            let subscription = pb::Subscription {
                name: name.clone(),
                topic: TOPIC.into(),
                ..subscription
            };
            SubscriberClient::new(channel.clone())
                .create_subscription(subscription)
                .await
                .unwrap();
        });
        let (clock, hands) = Clock::stopped();
        let subscriber = Subscriber::open_with_clock(connection.clone(), options, clock.clone());
        Self {
            subscriber,
            connection,
            emulator,
            hands,
            clock,
            name,
            channel,
            runtime,
        }
    }

    /// Another subscriber on the same connection, as after a restart; the old one is not closed.
    pub fn restart(&mut self, options: SubscriberOptions) {
        let connection = self.connection.clone();
        self.subscriber = Subscriber::open_with_clock(connection, options, self.clock.clone());
    }

    pub fn publish(&self, payloads: &[&[u8]], key: &str) {
        let messages = payloads
            .iter()
            .map(|payload| pb::PubsubMessage {
                data: payload.to_vec().into(),
                ordering_key: key.into(),
                ..Default::default()
            })
            .collect();
        let request = pb::PublishRequest {
            topic: TOPIC.into(),
            messages,
        };
        self.runtime.block_on(async {
            PublisherClient::new(self.channel.clone())
                .publish(request)
                .await
                .unwrap();
        });
    }

    /// The records of one fetch; none when nothing comes within `timeout`.
    pub fn fetch(&self, timeout: Duration) -> Result<Vec<Record>, Error> {
        let (mut data, mut index) = (vec![0; 1 << 20], vec![0; 1_000 * INDEX_STRIDE]);
        loop {
            match self
                .subscriber
                .fetch(timeout, data.len(), index.len() / INDEX_STRIDE)?
            {
                Fetched::Nothing => return Ok(Vec::new()),
                Fetched::TooSmall { bytes, messages } => {
                    data = vec![0; bytes];
                    index = vec![0; messages * INDEX_STRIDE];
                }
                Fetched::Messages(fetch) => {
                    let written = fetch.write(&mut data, &mut index)?;
                    let slice = |at: i32, len: i32| &data[at as usize..][..len as usize];
                    let text = |at, len| String::from_utf8(slice(at, len).to_vec()).unwrap();
                    let slots = index.chunks_exact(INDEX_STRIDE).take(written.messages);
                    return Ok((written.first..)
                        .zip(slots)
                        .filter(|(_, slot)| slot[11] & 1 << 8 == 0)
                        .map(|(sequence, slot)| Record {
                            id: text(slot[2], slot[3]),
                            payload: slice(slot[0], slot[1]).to_vec(),
                            key: text(slot[4], slot[5]),
                            sequence,
                        })
                        .collect());
                }
            }
        }
    }

    pub fn fetch_all(&self, count: usize) -> Vec<Record> {
        let end = Instant::now() + DEADLINE;
        let mut records = Vec::new();
        while records.len() < count {
            assert!(
                Instant::now() < end,
                "only {} of {count} came",
                records.len()
            );
            records.extend(self.fetch(Duration::from_millis(100)).unwrap());
        }
        assert_eq!(records.len(), count);
        records
    }

    pub fn checkpoint(&self, id: i64, emitted: u64) {
        self.subscriber.snapshot(id, &[(0, emitted)]).unwrap();
        self.confirm(id).unwrap();
    }

    /// Acks what is sealed and waits for the answers.
    pub fn confirm(&self, id: i64) -> Result<(), Error> {
        self.subscriber.complete(id, true)?;
        assert!(self.subscriber.confirmed(DEADLINE)?, "no answer");
        Ok(())
    }

    /// Messages of the subscription that are not acked, and those of them that are leased.
    pub fn on_server(&self) -> (usize, usize) {
        self.emulator.hub().with(|state, _| {
            let counts = state.counts(&self.name).unwrap();
            (
                (counts.backlog + counts.outstanding) as usize,
                counts.outstanding as usize,
            )
        })
    }

    pub fn wait(&self, what: &str, reached: impl Fn(&Self) -> bool) {
        let end = Instant::now() + DEADLINE;
        while !reached(self) {
            assert!(
                Instant::now() < end,
                "waited for: {what}; {:?}; on the server {:?}, streams {:?}",
                self.counts(),
                self.on_server(),
                self.streams()
            );
            std::thread::yield_now();
        }
    }

    pub fn counts(&self) -> Counts {
        self.subscriber.counts()
    }

    /// Moves both clocks, as time does.
    pub fn pass(&self, time: Duration) {
        self.emulator.clock().advance(time);
        self.hands.advance(time);
    }

    pub fn delete_subscription(&self) {
        let subscription = self.name.clone();
        let request = pb::DeleteSubscriptionRequest { subscription };
        self.runtime.block_on(async {
            let mut client = SubscriberClient::new(self.channel.clone());
            client.delete_subscription(request).await.unwrap();
        });
    }

    /// Streams of the subscription that are open on the server.
    pub fn streams(&self) -> usize {
        self.emulator.hub().with(|state, _| {
            let views = state.subscription_views();
            views.iter().map(|view| view.streams.len()).sum()
        })
    }

    pub fn failure(&self) -> Error {
        let end = Instant::now() + DEADLINE;
        loop {
            assert!(Instant::now() < end, "no failure came");
            // A stream that is not read notices it only when it is let go.
            self.pass(Duration::from_secs(10));
            if let Err(error) = self.fetch(Duration::from_millis(100)) {
                return error;
            }
        }
    }
}

pub fn payloads(records: &[Record]) -> Vec<&[u8]> {
    records
        .iter()
        .map(|record| record.payload.as_slice())
        .collect()
}

pub fn status(code: Code) -> Action {
    Action::Status {
        code: StatusCode(code),
        message: "on purpose".into(),
    }
}

pub fn once(method: Method, action: Action) -> Rule {
    Rule {
        times: Some(1),
        ..Rule::new(method, action)
    }
}

pub fn fail_ids(reason: &str, count: usize) -> Action {
    Action::FailAckIds {
        reason: reason.into(),
        count: Some(count),
    }
}

pub fn exactly_once() -> pb::Subscription {
    pb::Subscription {
        enable_exactly_once_delivery: true,
        ..Default::default()
    }
}

pub fn leases_of(millis: u64) -> SubscriberOptions {
    SubscriberOptions {
        leases: LeasePolicy {
            min: millis,
            max: millis,
        },
        ..SubscriberOptions::default()
    }
}

impl Fixture {
    pub fn record(&self) {
        let control = self.emulator.control();
        control.record(true, RecordLimits::default());
    }

    pub fn requests(&self, method: Method) -> Vec<Recorded> {
        let query = Query {
            method: Some(method.name().into()),
            limit: Some(100_000),
            ..Query::default()
        };
        self.emulator.control().recorder().requests(&query).requests
    }

    pub fn fault(&self, rule: Rule) {
        self.emulator.control().faults().add(rule).unwrap();
    }

    /// The current ack id of the one message that is out.
    pub fn ack_id(&self) -> Option<String> {
        let messages = self.emulator.control().messages(&self.name).unwrap();
        messages.into_iter().find_map(|message| message.ack_id)
    }

    pub fn update_exactly_once(&self, enable: bool) {
        let request = pb::UpdateSubscriptionRequest {
            subscription: Some(pb::Subscription {
                name: self.name.clone(),
                enable_exactly_once_delivery: enable,
                ..Default::default()
            }),
            update_mask: Some(prost_types::FieldMask {
                paths: vec!["enable_exactly_once_delivery".into()],
            }),
        };
        self.runtime.block_on(async {
            let mut client = SubscriberClient::new(self.channel.clone());
            client.update_subscription(request).await.unwrap();
        });
    }

    /// Does `action` to the one open stream.
    pub fn strike(&self, action: Action) {
        self.wait("a stream", |f| f.streams() == 1);
        let struck = self.emulator.control().act_on_streams(None, &action);
        assert_eq!(struck, 1);
    }

    /// What is published now is delivered and acked.
    pub fn delivers(&self, payload: &str) {
        self.publish(&[payload.as_bytes()], "");
        let records = self.fetch_all(1);
        assert_eq!(payloads(&records), [payload.as_bytes()]);
        let emitted = records[0].sequence + 1;
        self.checkpoint(emitted as i64, emitted);
        assert_eq!(self.on_server(), (0, 0));
    }

    pub fn publish_many(&self, count: usize) {
        let numbers: Vec<String> = (0..count).map(|i| format!("m{i}")).collect();
        for some in numbers.chunks(1_000) {
            let some: Vec<&[u8]> = some.iter().map(|number| number.as_bytes()).collect();
            self.publish(&some, "");
        }
    }

    /// No request is too large, and those that succeeded name `count` different ids; answers how many failed.
    pub fn assert_split(&self, method: Method, count: usize) -> usize {
        let requests = self.requests(method);
        let mut ids = BTreeSet::new();
        let mut failed = 0;
        for request in &requests {
            assert!(request.bytes <= LARGEST_REQUEST, "{} bytes", request.bytes);
            if request.status == Some("OK") {
                ids.extend(request.ack_ids.iter());
            } else {
                failed += 1;
            }
        }
        assert_eq!(ids.len(), count);
        failed
    }
}
