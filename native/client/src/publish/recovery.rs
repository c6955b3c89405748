//! Topics that are missing: what waits for them and what is to be done next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hashbrown::HashMap;
use tokio::time::Instant;

use super::flight::Flight;
use crate::error::Error;
use crate::retry::{Backoff, BackoffPolicy};

/// Topics that are being created at the same time.
const MAX_CREATIONS: usize = 16;

/// What a step of a recovery led to.
#[derive(Debug)]
pub(super) enum Step {
    /// It goes on by itself.
    Goes,
    /// It cannot succeed.
    Failed(Error),
}

/// The topics being recovered. A recovery creates the topic, then publishes what was refused first
/// as a probe, because a topic is known only some time after its creation, and ends when the probe is
/// accepted.
#[derive(Debug)]
pub(super) struct Recoveries {
    policy: BackoffPolicy,
    max_attempts: u32,
    topics: HashMap<u32, Recovery>,
    /// To be created as soon as few enough others are.
    to_create: VecDeque<u32>,
    creating: usize,
    timers: BTreeSet<(Instant, u32)>,
    probes: VecDeque<Box<Flight>>,
}

#[derive(Debug)]
struct Recovery {
    created: bool,
    attempts: u32,
    backoff: Backoff,
    /// Refused requests, in the order in which they were first sent.
    parked: BTreeMap<u64, Box<Flight>>,
}

impl Recoveries {
    pub(super) fn new(policy: BackoffPolicy, max_attempts: u32) -> Self {
        Self {
            policy,
            max_attempts,
            topics: HashMap::new(),
            to_create: VecDeque::new(),
            creating: 0,
            timers: BTreeSet::new(),
            probes: VecDeque::new(),
        }
    }

    /// Starts to recover the topic of a request.
    pub(super) fn start(&mut self, flight: Box<Flight>) {
        let topic = flight.topic;
        let recovery = Recovery {
            created: false,
            attempts: 0,
            backoff: Backoff::new(self.policy),
            parked: BTreeMap::from([(flight.number, flight)]),
        };
        self.topics.insert(topic, recovery);
        self.to_create.push_back(topic);
    }

    /// Keeps a request until its topic is there. Hands it back when the topic is not recovered.
    pub(super) fn park(&mut self, flight: Box<Flight>) -> Option<Box<Flight>> {
        match self.topics.get_mut(&flight.topic) {
            Some(recovery) => {
                recovery.parked.insert(flight.number, flight);
                None
            }
            None => Some(flight),
        }
    }

    /// The topic of the probe is still not known.
    pub(super) fn probe_refused(
        &mut self,
        mut probe: Box<Flight>,
        error: Error,
        now: Instant,
        random: f64,
    ) -> Step {
        let topic = probe.topic;
        probe.probe = false;
        self.park(probe);
        self.again(topic, error, now, random)
    }

    /// How the creation of a topic went.
    pub(super) fn created(
        &mut self,
        topic: u32,
        result: Result<(), Error>,
        now: Instant,
        random: f64,
    ) -> Step {
        self.creating -= 1;
        let Some(recovery) = self.topics.get_mut(&topic) else {
            return Step::Goes;
        };
        match result {
            Ok(()) => {
                recovery.created = true;
                recovery.attempts = 0;
                self.timers.insert((now, topic));
                Step::Goes
            }
            Err(e) if e.code() == tonic::Code::AlreadyExists => {
                // Another writer was faster, and the service does not know it everywhere yet.
                recovery.created = true;
                recovery.attempts = 0;
                let wait = recovery.backoff.next(random);
                self.timers.insert((now + wait, topic));
                Step::Goes
            }
            Err(e) if e.is_retryable() => self.again(topic, e, now, random),
            Err(e) => Step::Failed(e),
        }
    }

    fn again(&mut self, topic: u32, error: Error, now: Instant, random: f64) -> Step {
        let Some(recovery) = self.topics.get_mut(&topic) else {
            return Step::Goes;
        };
        recovery.attempts += 1;
        if recovery.attempts >= self.max_attempts {
            return Step::Failed(error);
        }
        let wait = recovery.backoff.next(random);
        self.timers.insert((now + wait, topic));
        Step::Goes
    }

    /// The topic is there: answers what was parked, in order.
    pub(super) fn finish(&mut self, topic: u32) -> impl Iterator<Item = Box<Flight>> + use<> {
        let parked = self.topics.remove(&topic).map(|recovery| recovery.parked);
        parked.unwrap_or_default().into_values()
    }

    /// The next topic to create.
    pub(super) fn next_creation(&mut self, now: Instant) -> Option<u32> {
        self.expire(now);
        if self.creating == MAX_CREATIONS {
            return None;
        }
        let topic = self.to_create.pop_front()?;
        self.creating += 1;
        Some(topic)
    }

    /// The next request that tells whether a topic is there.
    pub(super) fn next_probe(&mut self, now: Instant) -> Option<Box<Flight>> {
        self.expire(now);
        self.probes.pop_front()
    }

    /// When there may be a next creation or probe.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    fn expire(&mut self, now: Instant) {
        while let Some((at, topic)) = self.timers.first().copied() {
            if at > now {
                break;
            }
            self.timers.pop_first();
            let Some(recovery) = self.topics.get_mut(&topic) else {
                continue;
            };
            if !recovery.created {
                self.to_create.push_back(topic);
            } else if let Some((_, mut probe)) = recovery.parked.pop_first() {
                probe.probe = true;
                self.probes.push_back(probe);
            }
        }
    }
}
