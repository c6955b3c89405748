use std::collections::VecDeque;
use std::future::pending;
use std::io::Read as _;
use std::sync::Mutex;

use super::samples::{Sample, concat, decode, encode};
use super::*;
use crate::error::Code;
use crate::grpc::Message;

const TOPIC: &str = "projects/p/topics/t";
const MS: Duration = Duration::from_millis(1);
const SOON: Duration = Duration::from_secs(10);

/// What the service does with a request.
#[derive(Clone)]
enum Answer {
    Confirm,
    Refuse(Code),
    Hang,
    Panic,
}

/// A service in memory: it answers by plan, then confirms, and keeps what it has confirmed.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    plan: VecDeque<Answer>,
    /// When a request arrived, and its messages.
    requests: Vec<(Instant, Message)>,
    confirmed: Vec<String>,
    created: Vec<(String, TopicSettings)>,
}

impl Memory {
    fn with(plan: impl IntoIterator<Item = Answer>) -> Self {
        let memory = Self::default();
        memory.0.lock().unwrap().plan.extend(plan);
        memory
    }

    fn confirmed(&self) -> Vec<String> {
        self.0.lock().unwrap().confirmed.clone()
    }

    fn requests(&self) -> Vec<(Instant, Message)> {
        self.0.lock().unwrap().requests.clone()
    }
}

impl Transport for Memory {
    async fn publish(
        &self,
        topic: &str,
        request: Message,
        messages: usize,
        _: Duration,
    ) -> Result<(), Error> {
        assert_eq!(topic, TOPIC);
        let answer = {
            let mut inner = self.0.lock().unwrap();
            inner.requests.push((Instant::now(), request.clone()));
            inner.plan.pop_front().unwrap_or(Answer::Confirm)
        };
        tokio::task::yield_now().await;
        match answer {
            Answer::Confirm if request.is_gzip() => Ok(()),
            Answer::Confirm => {
                let (named, content) = decode(&concat(request.slices()));
                assert_eq!((named.as_str(), content.len()), (TOPIC, messages));
                let texts = content
                    .into_iter()
                    .map(|(_, p)| String::from_utf8(p).unwrap());
                self.0.lock().unwrap().confirmed.extend(texts);
                Ok(())
            }
            Answer::Refuse(code) => Err(Error::new(code, "refused").with_resource(topic)),
            Answer::Hang => pending().await,
            Answer::Panic => panic!("a planned panic"),
        }
    }

    async fn create(&self, topic: &str, settings: &TopicSettings) -> Result<(), Error> {
        let mut inner = self.0.lock().unwrap();
        inner.created.push((topic.to_owned(), settings.clone()));
        Ok(())
    }
}

fn open(memory: &Memory, options: PublisherOptions) -> Publisher {
    let publisher = Publisher::start(&Handle::current(), memory.clone(), options, || 1.0);
    assert_eq!(publisher.topic(TOPIC).unwrap(), 0);
    publisher
}

fn append(publisher: &Publisher, payloads: &[&str]) -> Result<InFlight, Error> {
    append_aged(publisher, payloads, Duration::ZERO)
}

fn append_aged(publisher: &Publisher, payloads: &[&str], age: Duration) -> Result<InFlight, Error> {
    let samples: Vec<Sample> = payloads.iter().map(|p| Sample::new(0, "", *p)).collect();
    let (data, index) = encode(&samples);
    publisher.append(data, &index, samples.len(), age)
}

/// Waits, by the paused clock, for what a watcher would be told.
async fn event(publisher: &Publisher) -> Event {
    for _ in 0..100_000 {
        let event = publisher.await_event(Duration::ZERO);
        if event.bits() != 0 {
            return event;
        }
        tokio::time::sleep(MS).await;
    }
    panic!("nothing happened: {:?}", publisher.state());
}

#[tokio::test(start_paused = true)]
async fn what_is_flushed_is_confirmed_and_the_target_is_told_once() {
    let memory = Memory::default();
    let publisher = open(&memory, PublisherOptions::default());
    let in_flight = append(&publisher, &["a", "b"]).unwrap();
    assert_eq!(
        in_flight,
        InFlight {
            messages: 2,
            bytes: 10,
            unwritten: 0,
        }
    );
    publisher.flush().unwrap();
    publisher.set_target(Some(Target::in_flight(0, 0)));
    let reached = event(&publisher).await;
    assert!(reached.target_reached && !reached.failure);
    assert_eq!(memory.confirmed(), ["a", "b"]);
    assert_eq!(publisher.await_event(Duration::ZERO).bits(), 0);
    assert_eq!(
        publisher.state(),
        PublisherState {
            published_messages: 2,
            published_bytes: 10,
            active_topics: 1,
            ..PublisherState::default()
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_batch_waits_for_its_delay_counted_from_the_record() {
    for (age, wait) in [
        (Duration::ZERO, 10 * MS),
        (4 * MS, 6 * MS),
        (SOON, Duration::ZERO),
    ] {
        let memory = Memory::default();
        let publisher = open(&memory, PublisherOptions::default());
        publisher.set_target(Some(Target::in_flight(0, 0)));
        assert!(event(&publisher).await.target_reached);
        let start = Instant::now();
        append_aged(&publisher, &["a"], age).unwrap();
        publisher.set_target(Some(Target::in_flight(0, 0)));
        assert!(event(&publisher).await.target_reached);
        assert_eq!(memory.requests()[0].0 - start, wait);
    }
}

#[tokio::test(start_paused = true)]
async fn at_the_limit_of_what_is_in_flight_nothing_waits_for_a_batch() {
    for limited in [
        PublisherOptions {
            max_in_flight_messages: 3,
            ..PublisherOptions::default()
        },
        PublisherOptions {
            max_in_flight_bytes: 15,
            ..PublisherOptions::default()
        },
    ] {
        let memory = Memory::default();
        let delay = Duration::from_secs(3600);
        let publisher = open(
            &memory,
            PublisherOptions {
                batch_delay: delay,
                ..limited
            },
        );
        append(&publisher, &["a", "b"]).unwrap();
        tokio::time::sleep(SOON).await;
        assert_eq!(memory.requests().len(), 0);
        append(&publisher, &["c"]).unwrap();
        publisher.set_target(Some(Target::in_flight(0, 0)));
        assert!(event(&publisher).await.target_reached);
        assert_eq!(memory.confirmed(), ["a", "b", "c"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_terminal_failure_comes_without_further_input_and_is_thrown_ever_after() {
    let memory = Memory::with([Answer::Refuse(Code::PermissionDenied)]);
    let publisher = open(&memory, PublisherOptions::default());
    append(&publisher, &["a"]).unwrap();
    assert!(event(&publisher).await.failure);
    let failure = publisher.take_failure().unwrap();
    assert_eq!((failure.topic, failure.message.is_none()), (Some(0), true));
    assert_eq!(failure.error.code(), Code::PermissionDenied);
    assert!(publisher.take_failure().is_none());
    for error in [
        append(&publisher, &["b"]).unwrap_err(),
        publisher.flush().unwrap_err(),
    ] {
        assert_eq!(error.code(), Code::PermissionDenied);
        assert_eq!(error.resource(), Some(TOPIC));
    }
    let state = publisher.state();
    assert_eq!((state.in_flight_messages, state.failed_messages), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_refused_message_is_handed_over_and_its_neighbours_are_published() {
    let refuse = || Answer::Refuse(Code::InvalidArgument);
    let memory = Memory::with([refuse(), Answer::Confirm, refuse(), Answer::Confirm]);
    let options = PublisherOptions {
        isolate_rejected: true,
        batch_messages: 3,
        ..PublisherOptions::default()
    };
    let publisher = open(&memory, options);
    append(&publisher, &["a", "b", "c"]).unwrap();
    assert!(event(&publisher).await.failure);
    publisher.set_target(Some(Target::in_flight(1, u64::MAX)));
    assert!(event(&publisher).await.target_reached);
    let mut confirmed = memory.confirmed();
    confirmed.sort();
    assert_eq!(confirmed, ["a", "c"]);
    assert_eq!(publisher.state().in_flight_messages, 1);
    let failure = publisher.take_failure().unwrap();
    assert_eq!(failure.topic, Some(0));
    let expected = encode(&[Sample::new(0, "", "b")]).0;
    assert_eq!(failure.message.unwrap(), expected);
    let state = publisher.state();
    assert_eq!((state.in_flight_messages, state.in_flight_bytes), (0, 0));
    assert_eq!((state.published_messages, state.failed_messages), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_missing_topic_is_created_with_its_settings() {
    let missing = || Answer::Refuse(Code::NotFound);
    let memory = Memory::with([missing(), missing(), missing()]);
    let settings = TopicSettings {
        kms_key_name: Some("k".into()),
        ..TopicSettings::default()
    };
    let options = PublisherOptions {
        create_topics: Some(settings.clone()),
        ..PublisherOptions::default()
    };
    let publisher = open(&memory, options);
    append(&publisher, &["a"]).unwrap();
    publisher.set_target(Some(Target::in_flight(0, 0)));
    assert!(event(&publisher).await.target_reached);
    assert_eq!(memory.confirmed(), ["a"]);
    assert_eq!(
        memory.0.lock().unwrap().created,
        [(TOPIC.to_owned(), settings)]
    );
    assert_eq!(publisher.state().topics_created, 1);
}

#[tokio::test(start_paused = true)]
async fn requests_above_the_threshold_are_compressed_once() {
    let memory = Memory::with([Answer::Refuse(Code::Unavailable)]);
    let options = PublisherOptions {
        compression_threshold: Some(100),
        ..PublisherOptions::default()
    };
    let publisher = open(&memory, options);
    let large = "x".repeat(1000);
    for payload in [large.as_str(), "small"] {
        append(&publisher, &[payload]).unwrap();
        publisher.flush().unwrap();
        publisher.set_target(Some(Target::in_flight(0, 0)));
        // Compressing is done by a thread of its own, which the paused clock does not wait for.
        while !publisher.await_event(Duration::ZERO).target_reached {
            tokio::task::yield_now().await;
            tokio::time::sleep(MS).await;
        }
    }
    let requests = memory.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(
        requests[0].1.slices()[0].as_ptr(),
        requests[1].1.slices()[0].as_ptr()
    );
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&concat(requests[1].1.slices())[..])
        .read_to_end(&mut plain)
        .unwrap();
    assert!(requests[1].1.len() < 100);
    assert_eq!(decode(&plain).1, [(String::new(), large.into_bytes())]);
    assert!(!requests[2].1.is_gzip());
    assert_eq!(memory.confirmed(), ["small"]);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_refused_whole() {
    let memory = Memory::default();
    let publisher = open(&memory, PublisherOptions::default());
    let (data, mut index) = encode(&[Sample::new(0, "", "a"), Sample::new(0, "", "b")]);
    index[5] = 1;
    let error = publisher
        .append(data, &index, 2, Duration::ZERO)
        .unwrap_err();
    assert!(error.is_option());
    assert_eq!(error.to_string(), "message 1: its topic is unknown");
    let (data, index) = encode(&[Sample::new(0, "key", "a")]);
    let error = publisher
        .append(data, &index, 1, Duration::ZERO)
        .unwrap_err();
    assert!(
        error.to_string().contains("enableMessageOrdering"),
        "{error}"
    );
    assert_eq!(publisher.state(), PublisherState::default());
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_task_is_a_failure() {
    let memory = Memory::with([Answer::Panic]);
    let publisher = open(&memory, PublisherOptions::default());
    append(&publisher, &["a"]).unwrap();
    assert!(event(&publisher).await.failure);
    let failure = publisher.take_failure().unwrap();
    assert_eq!(failure.error.code(), Code::Internal);
    assert!(failure.error.is_panic(), "{:?}", failure.error);
    assert_eq!(
        append(&publisher, &["b"]).unwrap_err().code(),
        Code::Internal
    );
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn closing_publishes_what_is_there_and_ends_everything() {
    let runtime = runtime();
    let memory = Memory::default();
    let delay = Duration::from_secs(3600);
    let options = PublisherOptions {
        batch_delay: delay,
        ..PublisherOptions::default()
    };
    let publisher = {
        let _context = runtime.enter();
        open(&memory, options)
    };
    append(&publisher, &["a", "b"]).unwrap();
    publisher.close(SOON);
    assert_eq!(memory.confirmed(), ["a", "b"]);
    assert!(publisher.await_event(SOON).closed);
    let error = append(&publisher, &["c"]).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    publisher.close(SOON);
    // The task is gone, and with it the transport.
    assert_eq!(Arc::strong_count(&memory.0), 1);
}

#[test]
fn closing_does_not_wait_for_a_service_that_does_not_answer() {
    let runtime = runtime();
    let memory = Memory::with([Answer::Hang]);
    let publisher = {
        let _context = runtime.enter();
        open(&memory, PublisherOptions::default())
    };
    append(&publisher, &["a"]).unwrap();
    let start = std::time::Instant::now();
    publisher.close(200 * MS);
    let took = start.elapsed();
    assert!(took >= 200 * MS && took < SOON, "{took:?}");
    assert_eq!(Arc::strong_count(&memory.0), 1);
    assert_eq!(publisher.state().in_flight_messages, 1);
}

#[test]
fn closing_before_the_task_has_begun_does_not_wait() {
    let runtime = runtime();
    let memory = Memory::default();
    let (release, released) = std::sync::mpsc::channel::<()>();
    runtime.spawn(async move { released.recv() });
    let publisher = {
        let _context = runtime.enter();
        open(&memory, PublisherOptions::default())
    };
    // Before the only worker can look at it.
    publisher.task.abort();
    drop(release);
    let start = std::time::Instant::now();
    publisher.close(Duration::ZERO);
    assert!(start.elapsed() < END_TIMEOUT, "{:?}", start.elapsed());
    assert!(publisher.await_event(SOON).closed);
    assert_eq!(Arc::strong_count(&memory.0), 1);
}

#[test]
fn a_watcher_is_woken_by_a_failure_the_target_and_the_end() {
    let runtime = runtime();
    let memory = Memory::with([Answer::Confirm, Answer::Refuse(Code::PermissionDenied)]);
    let publisher = {
        let _context = runtime.enter();
        Arc::new(open(&memory, PublisherOptions::default()))
    };
    let (events, received) = std::sync::mpsc::channel();
    let watcher = {
        let publisher = publisher.clone();
        std::thread::spawn(move || {
            loop {
                let event = publisher.await_event(Duration::from_secs(60));
                events.send(event).unwrap();
                if event.closed {
                    break;
                }
            }
        })
    };
    append(&publisher, &["a"]).unwrap();
    publisher.set_target(Some(Target::in_flight(0, 0)));
    assert_eq!(received.recv_timeout(SOON).unwrap().bits(), 2);
    append(&publisher, &["b"]).unwrap();
    assert_eq!(received.recv_timeout(SOON).unwrap().bits(), 1);
    publisher.close(SOON);
    assert_eq!(received.recv_timeout(SOON).unwrap().bits(), 1 | 4);
    watcher.join().unwrap();
}
