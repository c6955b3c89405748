//! Acknowledge and ModifyAckDeadline: unary calls, so that they outlive any stream.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tonic::Code;

use super::pending::Pending;
use crate::connect::Connection;
use crate::error::Error;
use crate::grpc::{self, Message, Routing};
use crate::ids::IdSet;
use crate::retry::{self, Backoff, BackoffPolicy};

const ACKNOWLEDGE: &str = "/google.pubsub.v1.Subscriber/Acknowledge";
const MODIFY_ACK_DEADLINE: &str = "/google.pubsub.v1.Subscriber/ModifyAckDeadline";

/// All attempts at one ack or nack: after the longest lease that the service knows, it has no use.
const ACK_LIMIT: Duration = Duration::from_secs(600);
/// Calls of either kind under way at once, of one split.
const CALLS: usize = 16;
const BACKOFF: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(100),
    multiplier: 2.0,
    max: Duration::from_secs(5),
};

/// What became of the ids of one request.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Ids that the service took.
    pub confirmed: u64,
    /// Ids that it refused for good, or that were given up.
    pub failed: IdSet,
    /// Why they failed.
    pub error: Option<Error>,
}

/// Sends the requests of one split.
#[derive(Debug)]
pub(crate) struct AckCaller {
    connection: Connection,
    subscription: Arc<str>,
    /// Of one attempt.
    timeout: Duration,
    acks: Semaphore,
    /// Leases have permits of their own, so that acks which the service does not answer cannot let leases lapse.
    deadlines: Semaphore,
    /// Requests that are not answered yet.
    pub pending: Arc<Pending>,
    /// Whether nobody waits for answers any more.
    over: watch::Sender<bool>,
}

impl AckCaller {
    pub(crate) fn new(connection: Connection, subscription: Arc<str>, timeout: Duration) -> Self {
        Self {
            connection,
            subscription,
            timeout,
            acks: Semaphore::new(CALLS),
            deadlines: Semaphore::new(CALLS),
            pending: Arc::default(),
            over: watch::Sender::new(false),
        }
    }

    /// Gives up what is not answered, and all that comes later: it fails at once with `CANCELLED`.
    pub(crate) fn give_up(&self) {
        self.over.send_replace(true);
    }

    async fn given_up(&self) {
        // An error says that the sender is gone, and this is the sender.
        let _ = self.over.subscribe().wait_for(|&over| over).await;
    }

    /// Acks all of `set`.
    pub(crate) async fn acknowledge(&self, set: &IdSet) -> Answer {
        let message = |set: &IdSet| Message::from(set.acknowledge(&self.subscription));
        self.call(ACKNOWLEDGE, &self.acks, set, ACK_LIMIT, message)
            .await
    }

    /// Gives back all of `set`.
    pub(crate) async fn nack(&self, set: &IdSet) -> Answer {
        self.modify(set, 0, ACK_LIMIT).await
    }

    /// Extends the leases of `set`; there is no use in trying beyond `limit`.
    pub(crate) async fn extend(&self, set: &IdSet, seconds: u32, limit: Duration) -> Answer {
        self.modify(set, seconds, limit).await
    }

    async fn modify(&self, set: &IdSet, seconds: u32, limit: Duration) -> Answer {
        let message = |set: &IdSet| Message::from(set.modify_deadline(&self.subscription, seconds));
        self.call(MODIFY_ACK_DEADLINE, &self.deadlines, set, limit, message)
            .await
    }

    async fn call(
        &self,
        path: &'static str,
        calls: &Semaphore,
        set: &IdSet,
        limit: Duration,
        message: impl Fn(&IdSet) -> Message,
    ) -> Answer {
        let give_up = Instant::now() + limit;
        let mut backoff = Backoff::new(BACKOFF);
        let mut narrowed: Option<IdSet> = None;
        let mut answer = Answer {
            confirmed: 0,
            failed: IdSet::default(),
            error: None,
        };
        loop {
            let left = narrowed.as_ref().unwrap_or(set);
            let attempt = async {
                let _permit = calls.acquire().await;
                let routing = Routing::new("subscription", &self.subscription);
                let timeout = self.timeout.min(limit);
                grpc::unary(&self.connection, path, routing, message(left), timeout).await
            };
            let result = tokio::select! {
                biased;
                () = self.given_up() => Err(Error::new(Code::Cancelled, "closed before the service answered")
                    .with_resource(self.subscription.as_ref())),
                result = attempt => result,
            };
            let Err(error) = result else {
                answer.confirmed += left.len() as u64;
                return answer;
            };
            let verdicts = Verdicts::of(&error);
            let retryable = if verdicts.is_empty() {
                error.is_retryable()
            } else {
                // The service judged id by id: what it does not mention, it took.
                let refused = left.filtered(|id| verdicts.permanent(id));
                let again = left.filtered(|id| verdicts.transient(id));
                answer.confirmed += (left.len() - refused.len() - again.len()) as u64;
                answer.failed.append(refused);
                narrowed = Some(again);
                true
            };
            let left = narrowed.as_ref().unwrap_or(set);
            let wait = backoff.next(retry::random());
            let last = left.is_empty()
                || !retryable
                || Instant::now() + wait >= give_up
                || *self.over.borrow();
            if last {
                answer.failed.append(left.clone());
            } else {
                tracing::debug!(subscription = %self.subscription, %error, "will ask again");
            }
            // Kept for what failed for good, also when the others succeed later.
            if !answer.failed.is_empty() {
                answer.error.get_or_insert(error);
            }
            if last {
                return answer;
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.given_up() => {}
            }
        }
    }
}

/// What an exactly-once subscription says of single ids, in the metadata of `ErrorInfo`.
struct Verdicts(HashMap<String, bool>);

impl Verdicts {
    fn of(error: &Error) -> Self {
        let all = error
            .error_info()
            .into_iter()
            .flat_map(|info| info.metadata);
        Self(
            all.filter_map(|(id, verdict)| {
                if verdict.starts_with("PERMANENT_FAILURE_") {
                    Some((id, true))
                } else {
                    verdict
                        .starts_with("TRANSIENT_FAILURE_")
                        .then_some((id, false))
                }
            })
            .collect(),
        )
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn permanent(&self, id: &[u8]) -> bool {
        self.verdict(id) == Some(true)
    }

    fn transient(&self, id: &[u8]) -> bool {
        self.verdict(id) == Some(false)
    }

    fn verdict(&self, id: &[u8]) -> Option<bool> {
        self.0.get(std::str::from_utf8(id).ok()?).copied()
    }
}
