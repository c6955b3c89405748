//! Faults on demand: rules that say which calls go wrong, and how.

mod matching;
mod rule;

pub use matching::Call;
pub(crate) use rule::status;
pub use rule::{Action, Attribute, Content, Order, Rule, StatusCode};

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::Notify;

use crate::service::Method;

/// A rule and what it has seen.
#[derive(Clone, Debug, Serialize)]
pub struct RuleState {
    /// The rule.
    #[serde(flatten)]
    pub rule: Rule,
    /// Calls that matched it.
    pub matched: u64,
    /// Calls it acted on.
    pub hits: u64,
}

/// What a rule wants done.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub rule: String,
    pub action: Action,
    pub after_effect: bool,
    pub after_messages: Option<u64>,
}

/// All rules of a server. Without rules a call costs one load of a flag.
#[derive(Debug, Default)]
pub struct Faults {
    rules: Mutex<Rules>,
    active: AtomicBool,
    removed: Notify,
}

#[derive(Debug, Default)]
struct Rules {
    list: Vec<RuleState>,
    last_id: u64,
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a rule behind the others and returns its id; replaces the one of the same id. The error
    /// names the field that makes no sense.
    pub fn add(&self, mut rule: Rule) -> Result<String, String> {
        rule.check()?;
        let mut rules = self.lock();
        if rule.id.is_empty() {
            rules.last_id += 1;
            rule.id = format!("rule-{}", rules.last_id);
        }
        let id = rule.id.clone();
        rules.list.retain(|r| r.rule.id != id);
        rules.list.push(RuleState {
            rule,
            matched: 0,
            hits: 0,
        });
        self.active.store(true, Ordering::Release);
        Ok(id)
    }

    /// Deletes a rule; false when there is none of that id. Calls that it holds go on.
    pub fn remove(&self, id: &str) -> bool {
        let mut rules = self.lock();
        let before = rules.list.len();
        rules.list.retain(|r| r.rule.id != id);
        self.active.store(!rules.list.is_empty(), Ordering::Release);
        self.removed.notify_waiters();
        rules.list.len() < before
    }

    /// Deletes all rules.
    pub fn clear(&self) {
        self.lock().list.clear();
        self.active.store(false, Ordering::Release);
        self.removed.notify_waiters();
    }

    /// All rules, in their order.
    pub fn list(&self) -> Vec<RuleState> {
        self.lock().list.clone()
    }

    /// Whether there is any rule.
    pub(crate) fn active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// What is to be done to a call, in this order: pauses, then at most one other action.
    pub(crate) fn on_call(&self, call: &Call<'_>) -> Vec<Hit> {
        self.decide(|rule| !rule.action.is_on_delivery() && call.matches(rule))
    }

    /// What is to be done to a response that delivers messages.
    pub(crate) fn on_delivery(&self, method: Method, subscription: &str) -> Vec<Hit> {
        if !self.active() {
            return Vec::new();
        }
        let call = Call {
            method,
            resource: subscription,
            body: &[],
        };
        self.decide(|rule| rule.action.is_on_delivery() && call.matches(rule))
    }

    fn decide(&self, matches: impl Fn(&Rule) -> bool) -> Vec<Hit> {
        let mut hits = Vec::new();
        let mut decided = false;
        for state in &mut self.lock().list {
            if !matches(&state.rule) {
                continue;
            }
            state.matched += 1;
            let rule = &state.rule;
            let seen = state.matched.saturating_sub(rule.skip);
            let in_window = seen > 0
                && (seen - 1).is_multiple_of(rule.every)
                && rule.times.is_none_or(|times| state.hits < times);
            if !in_window || decided {
                continue;
            }
            state.hits += 1;
            // A pause lets others act as well.
            decided = !matches!(rule.action, Action::Delay { .. });
            hits.push(Hit {
                rule: rule.id.clone(),
                action: rule.action.clone(),
                after_effect: rule.after_effect,
                after_messages: rule.after_messages,
            });
        }
        hits
    }

    /// Returns once there is no rule of this id.
    pub(crate) async fn removal(&self, id: &str) {
        loop {
            let removed = self.removed.notified();
            tokio::pin!(removed);
            removed.as_mut().enable();
            if !self.lock().list.iter().any(|r| r.rule.id == id) {
                return;
            }
            removed.await;
        }
    }
}

/// Waits for `ms` milliseconds of real time.
pub(crate) async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Code;

    fn call(method: Method, resource: &str) -> Call<'_> {
        Call {
            method,
            resource,
            body: &[],
        }
    }

    #[test]
    fn a_rule_acts_within_its_window() {
        let faults = Faults::default();
        let rule = Rule {
            skip: 2,
            every: 3,
            ..Rule::status(Method::Publish, Code::Unavailable, 2)
        };
        faults.add(rule).unwrap();
        let hit: Vec<_> = (1..=12)
            .filter(|_| !faults.on_call(&call(Method::Publish, "t")).is_empty())
            .collect();
        assert_eq!(hit.len(), 2);
        assert_eq!(faults.list()[0].matched, 12);
        faults.clear();
        let rule = Rule {
            skip: 2,
            every: 3,
            times: None,
            ..Rule::status(Method::Publish, Code::Unavailable, 1)
        };
        faults.add(rule).unwrap();
        let hit: Vec<_> = (1..=12)
            .filter(|_| !faults.on_call(&call(Method::Publish, "t")).is_empty())
            .collect();
        assert_eq!(hit, [3, 6, 9, 12]);
    }

    #[test]
    fn only_the_named_resource_is_hit() {
        let faults = Faults::default();
        let rule = Rule {
            resource: Some("projects/p/topics/a*".into()),
            ..Rule::new(Method::Publish, Action::Drop)
        };
        faults.add(rule).unwrap();
        assert!(
            faults
                .on_call(&call(Method::Publish, "projects/p/topics/b"))
                .is_empty()
        );
        assert!(
            faults
                .on_call(&call(Method::GetTopic, "projects/p/topics/a"))
                .is_empty()
        );
        assert_eq!(
            faults
                .on_call(&call(Method::Publish, "projects/p/topics/abc"))
                .len(),
            1
        );
    }

    #[test]
    fn the_first_rule_acts_and_pauses_come_on_top() {
        let faults = Faults::default();
        faults
            .add(Rule::new(Method::Publish, Action::Delay { ms: 5 }))
            .unwrap();
        faults
            .add(Rule::new(Method::Publish, Action::Drop))
            .unwrap();
        faults
            .add(Rule::new(Method::Publish, Action::Silence))
            .unwrap();
        let hits = faults.on_call(&call(Method::Publish, "t"));
        assert!(matches!(hits[0].action, Action::Delay { ms: 5 }));
        assert!(matches!(hits[1].action, Action::Drop));
        assert_eq!(hits.len(), 2);
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let faults = Faults::default();
        for (json, field) in [
            (r#"{"method":"Pulish","action":{"type":"drop"}}"#, "method"),
            (
                r#"{"method":"Publish","every":0,"action":{"type":"drop"}}"#,
                "every",
            ),
            (
                r#"{"method":"Publish","after_messages":1,"action":{"type":"drop"}}"#,
                "after_messages",
            ),
            (
                r#"{"method":"Publish","action":{"type":"duplicate"}}"#,
                "duplicate",
            ),
            (
                r#"{"method":"Pull","action":{"type":"fail_ack_ids","reason":"X"}}"#,
                "fail_ack_ids",
            ),
        ] {
            let error = faults.add(serde_json::from_str(json).unwrap()).unwrap_err();
            assert!(error.contains(field), "{error}");
        }
        for json in [
            r#"{"method":"Publish","action":{"type":"explode"}}"#,
            r#"{"method":"Publish","tims":1,"action":{"type":"drop"}}"#,
            r#"{"method":"Publish","action":{"type":"status","code":"BROKEN"}}"#,
        ] {
            assert!(serde_json::from_str::<Rule>(json).is_err(), "{json}");
        }
    }
}
