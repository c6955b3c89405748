//! Keeps a token until shortly before its end, and has it fetched once for all who wait.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderValue;
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
    /// Held while a token is fetched.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    token: Option<Token>,
    /// Of the last token; 0 before the first.
    generation: u64,
    failed: Option<(Instant, Failure)>,
}

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
            fetching: tokio::sync::Mutex::default(),
        })
    }

    /// A token that is valid now, and its generation. Must be called within a runtime.
    pub(super) async fn token(self: &Arc<Self>) -> Result<(HeaderValue, u64), Failure> {
        let asked = Instant::now();
        if let Some((valid, renew)) = self.valid() {
            if renew {
                self.renew();
            }
            return Ok(valid);
        }
        let _alone = self.fetching.lock().await;
        // Who had the lock before has fetched for all who waited.
        if let Some((valid, _)) = self.valid() {
            return Ok(valid);
        }
        if let Some((at, failure)) = &self.state().failed
            && *at >= asked
        {
            return Err(failure.clone());
        }
        self.fetch_now().await
    }

    /// The service refused the token of this generation.
    pub(super) fn refused(&self, generation: u64) {
        let mut state = self.state();
        if state.generation == generation {
            state.token = None;
        }
    }

    /// The token, and whether it is time for the next one.
    fn valid(&self) -> Option<((HeaderValue, u64), bool)> {
        let state = self.state();
        let now = Instant::now();
        let token = state.token.as_ref().filter(|token| now < token.end)?;
        let paused = |(at, _): &(Instant, Failure)| now < *at + RENEWAL_PAUSE;
        let renew = now >= token.renew && !state.failed.as_ref().is_some_and(paused);
        Some(((token.header.clone(), state.generation), renew))
    }

    /// Fetches in the background, unless somebody does.
    fn renew(self: &Arc<Self>) {
        if self.fetching.try_lock().is_err() {
            return;
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            if let Ok(_alone) = this.fetching.try_lock()
                && let Err(failure) = this.fetch_now().await
            {
                tracing::warn!(error = failure.text, "cannot renew the access token yet");
            }
        });
    }

    async fn fetch_now(&self) -> Result<(HeaderValue, u64), Failure> {
        let mut backoff = Backoff::new(BACKOFF);
        let mut retries = 0;
        let fetched = loop {
            match self.fetch.fetch().await {
                Err(failure) if failure.transient && retries < RETRIES => {
                    retries += 1;
                    tokio::time::sleep(backoff.next(retry::random())).await;
                }
                fetched => break fetched.and_then(Token::new),
            }
        };
        let mut state = self.state();
        match fetched {
            Ok(token) => {
                let header = token.header.clone();
                state.token = Some(token);
                state.generation += 1;
                state.failed = None;
                Ok((header, state.generation))
            }
            Err(failure) => {
                state.failed = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Answers what it is given, one after the other.
    #[derive(Default)]
    struct Script {
        answers: Mutex<VecDeque<Result<Fetched, Failure>>>,
        calls: AtomicU32,
    }

    impl Fetch for Script {
        async fn fetch(&self) -> Result<Fetched, Failure> {
            self.calls.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(1)).await;
            let next = self.answers.lock().unwrap().pop_front();
            next.unwrap_or_else(|| Err(Failure::permanent("asked too often")))
        }
    }

    fn script(answers: Vec<Result<Fetched, Failure>>) -> Arc<Cached<Script>> {
        Cached::new(Script {
            answers: Mutex::new(answers.into()),
            calls: AtomicU32::new(0),
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
