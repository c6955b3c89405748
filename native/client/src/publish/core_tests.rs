use std::collections::{BTreeMap, HashSet};

use super::super::samples::{Sample, block, concat, decode};
use super::*;
use crate::retry::BackoffPolicy;
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn options() -> PublisherOptions {
    PublisherOptions {
        batch_messages: 3,
        ordering: true,
        retry: BackoffPolicy {
            initial: 100 * MS,
            multiplier: 2.0,
            max: SECOND,
        },
        isolate_rejected: true,
        ..PublisherOptions::default()
    }
}

fn error(code: Code) -> Error {
    Error::new(code, "said the service").with_resource("projects/p/topics/t")
}

/// A core with its clock. Waits are at their longest.
struct Bench {
    core: Core,
    now: Instant,
}

impl Bench {
    fn new(options: PublisherOptions) -> Self {
        Self {
            core: Core::new(options),
            now: Instant::now(),
        }
    }

    fn append(&mut self, samples: &[(u32, &str, &str)]) {
        let samples: Vec<Sample> = samples
            .iter()
            .map(|(topic, key, payload)| Sample::new(*topic, key, *payload))
            .collect();
        let name = |topic| format!("projects/p/topics/{topic}").into();
        self.core.append(&block(&samples), self.now, self.now, name);
        self.core.flush();
    }

    fn flight(&mut self) -> Box<Flight> {
        match self.core.next(self.now) {
            Some(Action::Publish(flight)) => flight,
            other => panic!("a publish was expected, not {other:?}"),
        }
    }

    /// The next request, after whatever time it takes.
    fn awaited(&mut self) -> Box<Flight> {
        loop {
            match self.core.next(self.now) {
                Some(Action::Publish(flight)) => return flight,
                Some(Action::Create(topic)) => panic!("creation of {topic}"),
                None => self.wait(),
            };
        }
    }

    fn creation(&mut self) -> u32 {
        match self.core.next(self.now) {
            Some(Action::Create(topic)) => topic,
            other => panic!("a creation was expected, not {other:?}"),
        }
    }

    fn nothing(&mut self) {
        let next = self.core.next(self.now);
        assert!(next.is_none(), "{next:?}");
    }

    fn answer(&mut self, flight: Box<Flight>, code: Code) {
        let result = if code == Code::Ok {
            Ok(())
        } else {
            Err(error(code))
        };
        self.core.published(flight, result, self.now, 1.0);
    }

    fn created(&mut self, topic: u32, code: Code) {
        let result = if code == Code::Ok {
            Ok(())
        } else {
            Err(error(code))
        };
        self.core.created(topic, result, self.now, 1.0);
    }

    /// Moves on to the next time at which something may happen.
    fn wait(&mut self) -> Duration {
        let deadline = self.core.deadline().unwrap();
        let wait = deadline.saturating_duration_since(self.now);
        self.now += wait;
        wait
    }

    fn terminal(&mut self) -> Terminal {
        let terminal = self
            .core
            .take_outcome()
            .terminal
            .expect("a terminal failure");
        self.nothing();
        assert_eq!(self.core.deadline(), None);
        terminal
    }
}

fn payloads(flight: &Flight) -> String {
    let (_, messages) = decode(&concat(flight.message.slices()));
    let texts: Vec<_> = messages
        .into_iter()
        .map(|(_, payload)| String::from_utf8(payload).unwrap())
        .collect();
    texts.join(" ")
}

#[test]
fn a_request_holds_topic_and_messages_and_is_counted_when_confirmed() {
    let mut bench = Bench::new(options());
    bench.append(&[(5, "", "a"), (5, "", "b")]);
    let flight = bench.flight();
    let (topic, messages) = decode(&concat(flight.message.slices()));
    assert_eq!(topic, "projects/p/topics/5");
    assert_eq!(messages.len(), 2);
    assert_eq!(flight.timeout, 60 * SECOND);
    assert_eq!(bench.core.running(), 1);
    bench.answer(flight, Code::Ok);
    let outcome = bench.core.take_outcome();
    assert_eq!(
        (outcome.published_messages, outcome.published_bytes),
        (2, 10)
    );
    assert_eq!(bench.core.running(), 0);
}

#[test]
fn retries_keep_the_order_of_a_key_and_hold_up_no_other() {
    let mut bench = Bench::new(options());
    bench.append(&[(0, "a", "1"), (0, "b", "1")]);
    let a = bench.flight();
    let b = bench.flight();
    bench.append(&[(0, "a", "2"), (0, "b", "2")]);
    bench.nothing();
    bench.answer(a, Code::Unavailable);
    bench.answer(b, Code::Ok);
    let b = bench.flight();
    assert_eq!(payloads(&b), "2");
    bench.answer(b, Code::Ok);
    bench.nothing();
    assert_eq!(bench.wait(), 100 * MS);
    let a = bench.flight();
    assert_eq!(payloads(&a), "1");
    bench.answer(a, Code::DeadlineExceeded);
    assert_eq!(bench.wait(), 200 * MS);
    let a = bench.flight();
    bench.answer(a, Code::Ok);
    assert_eq!(payloads(&bench.flight()), "2");
    let outcome = bench.core.take_outcome();
    assert_eq!(outcome.retries, 2);
    assert_eq!(outcome.published_messages, 3);
}

#[test]
fn retrying_ends_with_the_total_time() {
    let total = Duration::from_millis(250);
    let mut bench = Bench::new(PublisherOptions {
        retry_total_timeout: total,
        ..options()
    });
    bench.append(&[(0, "", "a"), (0, "", "b")]);
    let flight = bench.flight();
    assert_eq!(flight.timeout, total);
    bench.answer(flight, Code::Unavailable);
    bench.wait();
    let flight = bench.flight();
    assert_eq!(flight.timeout, 150 * MS);
    bench.answer(flight, Code::Unavailable);
    let terminal = bench.terminal();
    assert_eq!(terminal.topic, Some(0));
    assert_eq!(terminal.messages, 2);
    assert_eq!(
        terminal.error.to_string(),
        "UNAVAILABLE on projects/p/topics/t: said the service; gave up after 2 attempts within 250ms"
    );
}

#[test]
fn a_server_that_was_never_there_is_given_up_soon() {
    let mut cause = 0;
    let mut nobody = || {
        cause += 1;
        Err(if cause % 2 == 1 {
            Error::unanswered(Code::DeadlineExceeded, "no answer in time")
        } else {
            Error::connect("cannot connect to 127.0.0.1:1")
        })
    };
    let mut bench = Bench::new(options());
    bench.append(&[(0, "", "a")]);
    let start = bench.now;
    let terminal = loop {
        let flight = bench.awaited();
        bench.core.published(flight, nobody(), bench.now, 1.0);
        if let Some(terminal) = bench.core.take_outcome().terminal {
            break terminal;
        }
    };
    let took = bench.now - start;
    assert!(
        took > FIRST_CONTACT - 2 * SECOND && took <= FIRST_CONTACT,
        "{took:?}"
    );
    let text = terminal.error.to_string();
    let expected = "within 30s, in which no server answered: check the endpoint";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_server_that_was_there_is_waited_for() {
    let nobody = || Err(Error::connect("cannot connect to 127.0.0.1:1"));
    let mut bench = Bench::new(options());
    bench.append(&[(0, "", "a")]);
    let flight = bench.flight();
    bench.answer(flight, Code::Ok);
    bench.append(&[(0, "", "b")]);
    let flight = bench.flight();
    bench.now += FIRST_CONTACT * 2;
    bench.core.published(flight, nobody(), bench.now, 1.0);
    assert!(bench.core.take_outcome().terminal.is_none());
    bench.awaited();
}

#[test]
fn a_final_answer_ends_everything() {
    let mut bench = Bench::new(options());
    bench.append(&[(0, "", "a"), (1, "", "b")]);
    let flight = bench.flight();
    bench.answer(flight, Code::PermissionDenied);
    let terminal = bench.terminal();
    assert_eq!(terminal.error.code(), Code::PermissionDenied);
    assert_eq!(terminal.topic, Some(0));
}

#[test]
fn a_refused_request_is_taken_apart_and_only_the_offender_fails() {
    for key in ["", "k"] {
        let mut bench = Bench::new(options());
        bench.append(&[(0, key, "a"), (0, key, "bad"), (0, key, "c"), (0, key, "d")]);
        let mut confirmed = Vec::new();
        while let Some(action) = bench.core.next(bench.now) {
            let Action::Publish(flight) = action else {
                panic!("{action:?}")
            };
            let content = payloads(&flight);
            if content.contains("bad") {
                bench.answer(flight, Code::InvalidArgument);
            } else {
                confirmed.push(content);
                bench.answer(flight, Code::Ok);
            }
        }
        assert_eq!(confirmed, ["a", "c", "d"]);
        let outcome = bench.core.take_outcome();
        assert_eq!(outcome.published_messages, 3);
        assert_eq!(outcome.rejected.len(), 1);
        let rejected = &outcome.rejected[0];
        assert_eq!(rejected.error.code(), Code::InvalidArgument);
        assert_eq!(
            decode(&rejected.message).1,
            [(key.to_owned(), b"bad".to_vec())]
        );
        assert!(outcome.terminal.is_none());
    }
}

#[test]
fn without_isolation_a_refused_request_is_the_end() {
    let mut bench = Bench::new(PublisherOptions {
        isolate_rejected: false,
        ..options()
    });
    bench.append(&[(0, "", "a")]);
    let flight = bench.flight();
    bench.answer(flight, Code::InvalidArgument);
    assert_eq!(bench.terminal().error.code(), Code::InvalidArgument);
}

#[test]
fn a_missing_topic_is_created_once_and_what_waited_goes_in_order() {
    let mut bench = Bench::new(options());
    for n in ["1", "2", "3"] {
        bench.append(&[(0, "", n), (1, "", n)]);
    }
    let mut flights = BTreeMap::new();
    for _ in 0..2 {
        let flight = bench.flight();
        flights.insert(flight.topic, flight);
    }
    // Another topic goes on; the missing one gets no further request.
    let other = flights.remove(&1).unwrap();
    bench.answer(other, Code::Ok);
    let missing = flights.remove(&0).unwrap();
    bench.append(&[(0, "", "4"), (0, "k", "5"), (1, "", "4")]);
    bench.answer(missing, Code::NotFound);
    assert_eq!(bench.core.parked_messages(), 5);
    assert_eq!(bench.creation(), 0);
    let other = bench.flight();
    assert_eq!((other.topic, payloads(&other)), (1, "4".to_owned()));
    bench.answer(other, Code::Ok);
    bench.nothing();
    bench.created(0, Code::Ok);
    // Twice still unknown.
    for wait in [500, 1000] {
        let probe = bench.flight();
        assert_eq!(payloads(&probe), "1 2 3");
        bench.nothing();
        bench.answer(probe, Code::NotFound);
        bench.nothing();
        assert_eq!(bench.wait(), wait * MS);
    }
    let probe = bench.flight();
    bench.answer(probe, Code::Ok);
    assert_eq!(bench.core.parked_messages(), 0);
    assert_eq!(payloads(&bench.flight()), "4");
    assert_eq!(payloads(&bench.flight()), "5");
    let outcome = bench.core.take_outcome();
    assert_eq!((outcome.topics_created, outcome.retries), (1, 0));
}

#[test]
fn requests_under_way_while_a_topic_is_created_wait_with_it() {
    let mut bench = Bench::new(PublisherOptions {
        batch_messages: 1,
        ..options()
    });
    bench.append(&[(0, "", "1"), (0, "", "2"), (0, "", "3"), (0, "", "4")]);
    let [one, two, three, four] = [0; 4].map(|_| bench.flight());
    bench.answer(two, Code::NotFound);
    assert_eq!(bench.creation(), 0);
    bench.answer(one, Code::NotFound);
    bench.answer(three, Code::Unavailable);
    bench.created(0, Code::AlreadyExists);
    bench.nothing();
    // The delayed one comes to wait for the topic as well.
    assert_eq!(bench.wait(), 100 * MS);
    bench.nothing();
    assert_eq!(bench.wait(), 400 * MS);
    let probe = bench.flight();
    assert_eq!(payloads(&probe), "1");
    bench.nothing();
    bench.answer(probe, Code::Ok);
    let [two, three] = [0; 2].map(|_| bench.flight());
    assert_eq!(
        (payloads(&two), payloads(&three)),
        ("2".to_owned(), "3".to_owned())
    );
    // Sent before the topic was there, so it is no reason to create it again.
    bench.answer(four, Code::NotFound);
    bench.nothing();
    assert_eq!(bench.wait(), 100 * MS);
    assert_eq!(payloads(&bench.flight()), "4");
    // But this one is: the topic has been deleted.
    bench.answer(two, Code::NotFound);
    assert_eq!(bench.creation(), 0);
    let outcome = bench.core.take_outcome();
    assert_eq!(outcome.topics_created, 0);
}

#[test]
fn creating_is_tried_again_but_not_for_ever() {
    let options = PublisherOptions {
        recovery_max_attempts: 3,
        ..options()
    };
    let mut bench = Bench::new(options);
    bench.append(&[(0, "", "1")]);
    let flight = bench.flight();
    bench.answer(flight, Code::NotFound);
    for _ in 0..2 {
        assert_eq!(bench.creation(), 0);
        bench.created(0, Code::Unavailable);
        bench.wait();
    }
    assert_eq!(bench.creation(), 0);
    bench.created(0, Code::Unavailable);
    let terminal = bench.terminal();
    assert_eq!(terminal.error.code(), Code::Unavailable);
    assert_eq!(
        terminal.error.message(),
        "the topic is missing and cannot be created: said the service"
    );
}

#[test]
fn creating_that_is_not_allowed_is_the_end() {
    let mut bench = Bench::new(options());
    bench.append(&[(0, "", "1")]);
    let flight = bench.flight();
    bench.answer(flight, Code::NotFound);
    let topic = bench.creation();
    bench.created(topic, Code::PermissionDenied);
    assert_eq!(bench.terminal().error.code(), Code::PermissionDenied);
}

#[test]
fn a_topic_that_stays_unknown_is_the_end() {
    let mut bench = Bench::new(PublisherOptions {
        recovery_max_attempts: 2,
        ..options()
    });
    bench.append(&[(0, "", "1")]);
    let flight = bench.flight();
    bench.answer(flight, Code::NotFound);
    let topic = bench.creation();
    bench.created(topic, Code::Ok);
    let probe = bench.flight();
    bench.answer(probe, Code::NotFound);
    bench.wait();
    let probe = bench.flight();
    bench.answer(probe, Code::NotFound);
    let terminal = bench.terminal();
    assert_eq!(terminal.messages, 1);
    assert_eq!(
        terminal.error.to_string(),
        "NOT_FOUND on projects/p/topics/t: said the service; it was created, but is still not known \
         (create it, or check its name and project)"
    );
}

#[test]
fn create_never_fails_at_once_and_names_the_option() {
    let mut bench = Bench::new(PublisherOptions {
        create_topics: None,
        ..options()
    });
    bench.append(&[(0, "", "1")]);
    let flight = bench.flight();
    bench.answer(flight, Code::NotFound);
    let text = bench.terminal().error.to_string();
    assert!(text.contains("createDisposition is CREATE_NEVER"), "{text}");
    assert!(
        text.starts_with("NOT_FOUND on projects/p/topics/t"),
        "{text}"
    );
}

#[test]
fn no_progress_warns_once_then_fails_and_a_completion_starts_the_time_again() {
    let options = PublisherOptions {
        progress_timeout: 100 * SECOND,
        batch_messages: 1,
        ..options()
    };
    let mut bench = Bench::new(options);
    bench.append(&[(0, "", "1"), (0, "", "2")]);
    let one = bench.flight();
    let two = bench.flight();
    bench.now += 9 * SECOND;
    bench.answer(one, Code::Ok);
    assert_eq!(bench.wait(), 10 * SECOND);
    bench.nothing();
    let warning = bench.core.take_outcome().warning.unwrap();
    assert!(
        warning.starts_with(
            "no publish completed for 10s: 1 messages in flight, 1 requests under way"
        ),
        "{warning}"
    );
    assert!(
        warning.ends_with("1 topics active, projects/p/topics/0 among them"),
        "{warning}"
    );
    bench.answer(two, Code::Unavailable);
    bench.wait();
    let two = bench.flight();
    assert!(bench.core.take_outcome().warning.is_none());
    bench.now += 100 * SECOND;
    bench.nothing();
    let terminal = bench.terminal();
    assert_eq!(terminal.topic, Some(0));
    assert_eq!(terminal.error.code(), Code::Unavailable);
    let text = terminal.error.to_string();
    assert!(text.contains("publishProgressTimeout is over"), "{text}");
    assert!(
        text.contains("last answer UNAVAILABLE on projects/p/topics/t"),
        "{text}"
    );
    bench.answer(two, Code::Ok);
    bench.nothing();
}

#[test]
fn nothing_in_flight_is_no_lack_of_progress() {
    let mut bench = Bench::new(options());
    bench.append(&[(0, "", "1")]);
    let flight = bench.flight();
    bench.answer(flight, Code::Ok);
    bench.now += 10_000 * SECOND;
    bench.nothing();
    assert!(bench.core.take_outcome().warning.is_none());
}

#[test]
fn so_many_requests_and_no_more_are_under_way() {
    let mut bench = Bench::new(PublisherOptions {
        batch_messages: 1,
        ..options()
    });
    let samples = vec![(0, "", "x"); MAX_REQUESTS + 1];
    bench.append(&samples);
    let mut flights: Vec<Box<Flight>> = (0..MAX_REQUESTS).map(|_| bench.flight()).collect();
    bench.nothing();
    bench.answer(flights.pop().unwrap(), Code::Ok);
    bench.flight();
    bench.nothing();
}

/// A service that answers by a plan: topics may be missing, messages may be poisoned.
struct Service {
    faults: Vec<u8>,
    step: usize,
    /// How often a topic is still unknown after its creation; absent: it is known.
    unknown: BTreeMap<u32, (bool, u8)>,
}

impl Service {
    fn fault(&mut self) -> u8 {
        self.step += 1;
        self.faults[self.step % self.faults.len()]
    }

    fn publish(&mut self, flight: &Flight, calm: bool) -> Code {
        if let Some((created, refusals)) = self.unknown.get_mut(&flight.topic) {
            if !*created {
                return Code::NotFound;
            }
            if *refusals > 0 {
                *refusals -= 1;
                return Code::NotFound;
            }
            self.unknown.remove(&flight.topic);
        }
        match self.fault() {
            0 if !calm => Code::Unavailable,
            1 if !calm => Code::Internal,
            _ if payloads(flight).contains("poison") => Code::InvalidArgument,
            _ => Code::Ok,
        }
    }
}

proptest! {
    #[test]
    fn every_message_is_confirmed_or_refused_once_and_keys_keep_their_order(
        appends in proptest::collection::vec(
            proptest::collection::vec((0u32..3, 0usize..4, 0u8..12), 0..10), 1..25),
        faults in proptest::collection::vec(0u8..6, 1..50),
        missing in proptest::collection::btree_map(0u32..3, 0u8..3, 0..3),
    ) {
        let keys = ["", "a", "b", "c"];
        let mut bench = Bench::new(options());
        let mut service = Service {
            faults,
            step: 0,
            unknown: missing.into_iter().map(|(t, n)| (t, (false, n))).collect(),
        };
        let mut running: Vec<Box<Flight>> = Vec::new();
        let mut creating: Vec<u32> = Vec::new();
        let mut written: Vec<(u32, String, String)> = Vec::new();
        let mut confirmed: Vec<(u32, String, String)> = Vec::new();
        let mut refused: Vec<(u32, String, String)> = Vec::new();
        let mut appends = appends.into_iter().enumerate();
        let mut idle_rounds = 0;
        loop {
            let next = appends.next();
            let calm = next.is_none();
            if let Some((step, append)) = next {
                let samples: Vec<Sample> = append.into_iter().enumerate().map(|(i, (topic, key, kind))| {
                    let payload = if kind == 0 { format!("poison-{step}.{i}") } else { format!("{step}.{i}") };
                    Sample::new(topic, keys[key], payload)
                }).collect();
                written.extend(samples.iter().map(|s| (
                    s.topic, s.key.clone(), String::from_utf8(s.payload.clone()).unwrap())));
                let name = |topic| format!("projects/p/topics/{topic}").into();
                bench.core.append(&block(&samples), bench.now, bench.now, name);
            }
            while let Some(action) = bench.core.next(bench.now) {
                match action {
                    Action::Publish(flight) => running.push(flight),
                    Action::Create(topic) => {
                        prop_assert!(!creating.contains(&topic));
                        creating.push(topic);
                    }
                }
            }
            let quiet = running.is_empty() && creating.is_empty();
            let mut under_way = HashSet::new();
            for flight in &running {
                let (topic, messages) = decode(&concat(flight.message.slices()));
                prop_assert!(!messages.is_empty() && messages.len() <= 3);
                let key = &messages[0].0;
                prop_assert!(messages.iter().all(|(k, _)| k == key));
                prop_assert!(key.is_empty() || under_way.insert((topic, key.clone())));
            }
            // Some are answered, in another order than they were sent.
            let answered = if calm { running.len() } else { running.len() / 2 };
            for _ in 0..answered {
                let at = service.step % running.len();
                let flight = running.swap_remove(at);
                let code = service.publish(&flight, calm);
                if code == Code::Ok {
                    let (_, messages) = decode(&concat(flight.message.slices()));
                    confirmed.extend(messages.into_iter().map(|(k, p)| {
                        (flight.topic, k, String::from_utf8(p).unwrap())
                    }));
                }
                bench.answer(flight, code);
            }
            for topic in std::mem::take(&mut creating) {
                let code = match service.fault() {
                    0 if !calm => Code::Unavailable,
                    1 => Code::AlreadyExists,
                    _ => Code::Ok,
                };
                if code != Code::Unavailable
                    && let Some((created, _)) = service.unknown.get_mut(&topic) {
                        *created = true;
                    }
                bench.created(topic, code);
            }
            let outcome = bench.core.take_outcome();
            prop_assert!(outcome.terminal.is_none(), "{:?}", outcome.terminal);
            for rejected in outcome.rejected {
                let (_, messages) = decode(&rejected.message);
                prop_assert_eq!(messages.len(), 1);
                let (k, p) = messages[0].clone();
                refused.push((rejected.topic, k, String::from_utf8(p).unwrap()));
            }
            bench.now += 7 * MS;
            if calm {
                if confirmed.len() + refused.len() == written.len() {
                    break;
                }
                idle_rounds += 1;
                prop_assert!(idle_rounds < 2_000, "stuck: {} of {}", confirmed.len(), written.len());
                if quiet
                    && let Some(deadline) = bench.core.deadline() {
                        bench.now = bench.now.max(deadline);
                    }
            }
        }
        prop_assert_eq!(bench.core.running(), 0);
        prop_assert_eq!(bench.core.parked_messages(), 0);
        for topic in 0..3 {
            for key in keys {
                let of = |all: &[(u32, String, String)], poison: bool| -> Vec<String> {
                    let mut of: Vec<String> = all.iter()
                        .filter(|(t, k, p)| *t == topic && k == key && p.contains("poison") == poison)
                        .map(|m| m.2.clone()).collect();
                    if key.is_empty() {
                        of.sort();
                    }
                    of
                };
                prop_assert_eq!(of(&confirmed, false), of(&written, false));
                prop_assert_eq!(of(&refused, true), of(&written, true));
            }
        }
    }
}
