//! Keeps a token until shortly before its end, and has it fetched once for all who wait.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::retry::{self, Backoff, BackoffPolicy};

/// A token is renewed so long before its end, as Google's own libraries do; one that lives for less
/// than twice as long, at half of its life.
const EARLY: Duration = Duration::from_secs(240);
/// Further attempts at one token, apart from the first.
const RETRIES: u32 = 4;
const BACKOFF: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(200),
    multiplier: 2.0,
    max: Duration::from_secs(2),
};
/// A renewal that failed while the old token is valid is not tried again before.
const RENEWAL_PAUSE: Duration = Duration::from_secs(10);

/// Who fetches.
pub(super) trait Fetch: Send + Sync + 'static {
    /// One attempt.
    fn fetch(&self) -> impl Future<Output = Result<Fetched, Failure>> + Send;
}

/// An access token.
pub(super) struct Fetched {
    pub(super) token: String,
    pub(super) life: Duration,
}

/// Why there is no token.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) text: String,
    /// Another attempt may succeed.
    pub(super) transient: bool,
}

impl Failure {
    pub(super) fn transient(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            transient: true,
        }
    }

    pub(super) fn permanent(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            transient: false,
        }
    }
}

/// The last token of one identity.
pub(super) struct Cached<F> {
    fetch: F,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<Token>,
    /// Of the last token; 0 before the first.
    generation: u64,
    /// When a fetch failed last, since the last token.
    failed: Option<Instant>,
    /// The fetch that is under way.
    fetching: Option<Fetching>,
}

type Outcome = Result<(HeaderValue, u64), Failure>;
/// Gets the outcome once; closed without one when the task was lost.
type Fetching = watch::Receiver<Option<Outcome>>;

struct Token {
    header: HeaderValue,
    renew: Instant,
    end: Instant,
}

impl<F: Fetch> Cached<F> {
    pub(super) fn new(fetch: F) -> Arc<Self> {
        Arc::new(Self {
            fetch,
            state: Mutex::default(),
        })
    }

    /// A token that is valid now, and its generation. Must be called within a runtime.
    ///
    /// All who wait share one fetch, in a task of its own: it goes on when they are cancelled.
    pub(super) async fn token(self: &Arc<Self>) -> Outcome {
        let mut fetching = {
            let mut state = self.state();
            match state.valid() {
                Some((valid, false)) => return Ok(valid),
                Some((valid, true)) => {
                    self.join(&mut state);
                    return Ok(valid);
                }
                None => self.join(&mut state),
            }
        };
        match fetching.wait_for(Option::is_some).await {
            Ok(outcome) => (*outcome).clone().expect("it was waited for"),
            Err(_) => Err(Failure::transient("the task that fetches it is gone")),
        }
    }

    /// The service refused the token of this generation.
    pub(super) fn refused(&self, generation: u64) {
        let mut state = self.state();
        if state.generation == generation {
            state.token = None;
        }
    }

    /// The fetch that is under way, or a new one.
    fn join(self: &Arc<Self>, state: &mut State) -> Fetching {
        // One whose task was lost, with its runtime or by a panic, is under way no more.
        let under_way = |fetching: &&Fetching| fetching.has_changed().is_ok();
        if let Some(fetching) = state.fetching.as_ref().filter(under_way) {
            return fetching.clone();
        }
        let (done, fetching) = watch::channel(None);
        state.fetching = Some(fetching.clone());
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let fetched = this.fetch_now().await;
            done.send_replace(Some(this.keep(fetched)));
        });
        fetching
    }

    async fn fetch_now(&self) -> Result<Token, Failure> {
        let mut backoff = Backoff::new(BACKOFF);
        let mut retries = 0;
        loop {
            match self.fetch.fetch().await {
                Err(failure) if failure.transient && retries < RETRIES => {
                    retries += 1;
                    tokio::time::sleep(backoff.next(retry::random())).await;
                }
                fetched => return fetched.and_then(Token::new),
            }
        }
    }

    fn keep(&self, fetched: Result<Token, Failure>) -> Outcome {
        let mut state = self.state();
        state.fetching = None;
        match fetched {
            Ok(token) => {
                let header = token.header.clone();
                state.token = Some(token);
                state.generation += 1;
                state.failed = None;
                Ok((header, state.generation))
            }
            Err(failure) => {
                if state.valid().is_some() {
                    tracing::warn!(error = failure.text, "cannot renew the access token yet");
                }
                state.failed = Some(Instant::now());
                Err(failure)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The token, and whether it is time for the next one.
    fn valid(&self) -> Option<((HeaderValue, u64), bool)> {
        let now = Instant::now();
        let token = self.token.as_ref().filter(|token| now < token.end)?;
        let paused = self.failed.is_some_and(|at| now < at + RENEWAL_PAUSE);
        let renew = now >= token.renew && !paused;
        Some(((token.header.clone(), self.generation), renew))
    }
}

impl Token {
    fn new(fetched: Fetched) -> Result<Self, Failure> {
        let mut header = HeaderValue::try_from(format!("Bearer {}", fetched.token))
            .map_err(|_| Failure::permanent("the token has characters that none may have"))?;
        header.set_sensitive(true);
        let now = Instant::now();
        let early = EARLY.min(fetched.life / 2);
        Ok(Self {
            header,
            renew: now + fetched.life - early,
            end: now + fetched.life,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Answers what it is given, one after the other, and takes its time.
    struct Script {
        answers: Mutex<VecDeque<Result<Fetched, Failure>>>,
        calls: AtomicU32,
        time: Duration,
    }

    impl Fetch for Script {
        async fn fetch(&self) -> Result<Fetched, Failure> {
            self.calls.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(self.time).await;
            let next = self.answers.lock().unwrap().pop_front();
            next.unwrap_or_else(|| Err(Failure::permanent("asked too often")))
        }
    }

    fn script(answers: Vec<Result<Fetched, Failure>>) -> Arc<Cached<Script>> {
        slow(Duration::from_millis(1), answers)
    }

    fn slow(time: Duration, answers: Vec<Result<Fetched, Failure>>) -> Arc<Cached<Script>> {
        Cached::new(Script {
            answers: Mutex::new(answers.into()),
            calls: AtomicU32::new(0),
            time,
        })
    }

    fn fetched(token: &str, seconds: u64) -> Result<Fetched, Failure> {
        Ok(Fetched {
            token: token.to_owned(),
            life: Duration::from_secs(seconds),
        })
    }

    async fn token(cached: &Arc<Cached<Script>>) -> String {
        let (header, _) = cached.token().await.unwrap();
        assert!(header.is_sensitive());
        header.to_str().unwrap().to_owned()
    }

    fn calls(cached: &Arc<Cached<Script>>) -> u32 {
        cached.fetch.calls.load(Ordering::SeqCst)
    }

    #[tokio::test(start_paused = true)]
    async fn one_fetch_serves_all_who_wait() {
        let cached = script(vec![fetched("one", 3_600)]);
        let waiting: Vec<_> = (0..50)
            .map(|_| {
                let cached = cached.clone();
                tokio::spawn(async move { token(&cached).await })
            })
            .collect();
        for waiting in waiting {
            assert_eq!(waiting.await.unwrap(), "Bearer one");
        }
        assert_eq!(calls(&cached), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetch_goes_on_when_who_asked_first_is_cancelled() {
        let long = Duration::from_secs(25);
        let cached = slow(long, vec![fetched("one", 3_600), fetched("two", 3_600)]);
        let begin = Instant::now();
        let first = tokio::time::timeout(Duration::from_secs(10), cached.token());
        let patient = tokio::spawn({
            let cached = cached.clone();
            async move { token(&cached).await }
        });
        assert!(first.await.is_err());
        // Who comes later waits for the rest of it, and so does who waited all along.
        assert_eq!(token(&cached).await, "Bearer one");
        assert_eq!(begin.elapsed().as_secs(), 25);
        assert_eq!(patient.await.unwrap(), "Bearer one");
        assert_eq!(calls(&cached), 1);

        // When all are cancelled, the token is there for the next one.
        let (_, generation) = cached.token().await.unwrap();
        cached.refused(generation);
        let first = tokio::time::timeout(Duration::from_secs(10), cached.token());
        assert!(first.await.is_err());
        tokio::time::advance(Duration::from_secs(16)).await;
        tokio::task::yield_now().await;
        let begin = Instant::now();
        assert_eq!(token(&cached).await, "Bearer two");
        assert_eq!(begin.elapsed(), Duration::ZERO);
        assert_eq!(calls(&cached), 2);
    }

    #[test]
    fn a_fetch_that_was_lost_with_its_runtime_is_made_anew() {
        let runtime = || {
            tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .unwrap()
        };
        let cached = slow(Duration::from_secs(25), vec![fetched("one", 3_600)]);
        runtime().block_on(async {
            let first = tokio::time::timeout(Duration::from_secs(10), cached.token());
            assert!(first.await.is_err());
        });
        runtime().block_on(async { assert_eq!(token(&cached).await, "Bearer one") });
        assert_eq!(calls(&cached), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_renewed_before_its_end_without_anyone_waiting() {
        let cached = script(vec![fetched("one", 3_600), fetched("two", 60)]);
        assert_eq!(token(&cached).await, "Bearer one");
        tokio::time::advance(Duration::from_secs(3_600 - 241)).await;
        assert_eq!(token(&cached).await, "Bearer one");
        assert_eq!(calls(&cached), 1);
        tokio::time::advance(Duration::from_secs(2)).await;
        // The old one serves meanwhile.
        assert_eq!(token(&cached).await, "Bearer one");
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(calls(&cached), 2);
        assert_eq!(token(&cached).await, "Bearer two");
        // A short one at half of its life; and a failure to renew is nobody's as long as it serves.
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(token(&cached).await, "Bearer two");
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(calls(&cached), 3);
        assert_eq!(token(&cached).await, "Bearer two");
        assert_eq!(calls(&cached), 3);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(cached.token().await.unwrap_err().text, "asked too often");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_token_is_replaced_once() {
        let cached = script(vec![fetched("one", 3_600), fetched("two", 3_600)]);
        let (_, generation) = cached.token().await.unwrap();
        cached.refused(generation);
        assert_eq!(token(&cached).await, "Bearer two");
        // The answer to a call with the old token comes late.
        cached.refused(generation);
        assert_eq!(token(&cached).await, "Bearer two");
        assert_eq!(calls(&cached), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_pass_is_tried_again_a_few_times() {
        let down = || Err(Failure::transient("down"));
        let cached = script(vec![down(), down(), fetched("one", 3_600)]);
        assert_eq!(token(&cached).await, "Bearer one");
        assert_eq!(calls(&cached), 3);

        let cached = script((0..20).map(|_| down()).collect());
        let begin = Instant::now();
        let both = tokio::join!(cached.token(), cached.token());
        for failure in [both.0.unwrap_err(), both.1.unwrap_err()] {
            assert_eq!((failure.text.as_str(), failure.transient), ("down", true));
        }
        // The one who waited takes the failure of the one who tried.
        assert_eq!(calls(&cached), 5);
        assert!(begin.elapsed() < Duration::from_secs(4));

        let cached = script(vec![Err(Failure::permanent("no"))]);
        assert_eq!(cached.token().await.unwrap_err().text, "no");
        assert_eq!(calls(&cached), 1);
    }
}
