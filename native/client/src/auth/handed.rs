//! Access tokens that somebody outside of this crate fetches and hands over.
//!
//! Nobody is called from here: who fetches waits in [`HandedTokens::wait`] until a token is wanted.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::cached::Failure;
use crate::error::Error;

/// Where tokens are handed over, and from where connections take them.
///
/// Clones share everything. Two are equal when they are clones of each other, so connections with
/// equal options share one. Any thread may use it.
#[derive(Clone)]
pub struct HandedTokens {
    shared: Arc<Shared>,
}

struct Shared {
    number: u64,
    state: Mutex<State>,
    /// Wakes who fetches.
    demand: Condvar,
    /// Wakes calls that wait for a token.
    handed: Notify,
}

#[derive(Default)]
struct State {
    token: Option<Token>,
    /// Of the last token; 0 before the first.
    generation: u64,
    /// Why there is no newer token, and whether there will never be one.
    failure: Option<(String, bool)>,
    refused: bool,
    /// So many calls wait.
    waiting: usize,
    closed: bool,
}

struct Token {
    header: HeaderValue,
    value: String,
    expires: Instant,
}

/// What [`HandedTokens::wait`] tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// Nobody is in need; the time is over.
    None,
    /// A call waits for a token, or found none.
    Wanted,
    /// The service refused the last token.
    Refused,
    /// No token will be taken any more.
    Closed,
}

impl HandedTokens {
    /// Without a token yet.
    #[allow(clippy::new_without_default)] // Each is one of its own, which "default" does not say.
    pub fn new() -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Self {
            shared: Arc::new(Shared {
                number: NUMBERS.fetch_add(1, Ordering::Relaxed),
                state: Mutex::default(),
                demand: Condvar::new(),
                handed: Notify::new(),
            }),
        }
    }

    /// Hands over a token, which replaces the last one. It is used for `valid_for`, or until the
    /// service refuses it.
    pub fn hand(&self, token: &str, valid_for: Duration) -> Result<(), Error> {
        let mut header = HeaderValue::try_from(format!("Bearer {token}"))
            .ok()
            .filter(|_| !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic()))
            .ok_or_else(|| {
                Error::argument("the access token is empty or has characters that none may have")
            })?;
        header.set_sensitive(true);
        let mut state = self.state();
        state.token = Some(Token {
            header,
            value: token.to_owned(),
            expires: Instant::now() + valid_for,
        });
        state.generation += 1;
        state.failure = None;
        state.refused = false;
        drop(state);
        self.shared.handed.notify_waiters();
        Ok(())
    }

    /// Says why there is no token now: calls that find none fail with it until there is one.
    /// `permanent`: there will never be one.
    pub fn fail(&self, why: &str, permanent: bool) {
        let mut state = self.state();
        let mut why = why.to_owned();
        if let Some(token) = &state.token {
            why = why.replace(&token.value, "…");
        }
        state.failure = Some((why, permanent));
        drop(state);
        self.shared.handed.notify_waiters();
    }

    /// Blocks until a token is wanted, at most for `timeout`.
    pub fn wait(&self, timeout: Duration) -> Demand {
        let state = self.state();
        let calm = |state: &mut State| demand(state) == Demand::None;
        let (state, _) = self
            .shared
            .demand
            .wait_timeout_while(state, timeout, calm)
            .unwrap_or_else(PoisonError::into_inner);
        demand(&state)
    }

    /// From here on there are no new tokens. The last one serves to its end.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        if state.failure.is_none() {
            state.failure = Some(("their source is closed".to_owned(), true));
        }
        drop(state);
        self.shared.demand.notify_all();
        self.shared.handed.notify_waiters();
    }

    /// A token that is valid now, and its generation; waits for one until there is a reason why
    /// there is none.
    pub(super) async fn token(&self) -> Result<(HeaderValue, u64), Failure> {
        let mut waiting = None;
        loop {
            let handed = self.shared.handed.notified();
            tokio::pin!(handed);
            // Registered before the look, so that no token is missed.
            handed.as_mut().enable();
            {
                let mut state = self.state();
                if let Some(token) = state.usable() {
                    return Ok((token.header.clone(), state.generation));
                }
                if let Some((why, permanent)) = &state.failure {
                    return Err(Failure {
                        text: why.clone(),
                        transient: !permanent,
                    });
                }
                if waiting.is_none() {
                    state.waiting += 1;
                    waiting = Some(Waiting(self));
                }
            }
            self.shared.demand.notify_all();
            handed.await;
        }
    }

    /// The service refused the token of this generation.
    pub(super) fn refused(&self, generation: u64) {
        let mut state = self.state();
        if state.generation == generation {
            state.refused = true;
            drop(state);
            self.shared.demand.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn usable(&self) -> Option<&Token> {
        let token = self.token.as_ref().filter(|_| !self.refused)?;
        (token.expires > Instant::now()).then_some(token)
    }
}

fn demand(state: &State) -> Demand {
    if state.closed {
        Demand::Closed
    } else if state.refused {
        Demand::Refused
    } else if state.waiting > 0 && state.usable().is_none() {
        Demand::Wanted
    } else {
        Demand::None
    }
}

/// A call that waits.
struct Waiting<'a>(&'a HandedTokens);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

impl PartialEq for HandedTokens {
    fn eq(&self, other: &Self) -> bool {
        self.shared.number == other.shared.number
    }
}

impl Eq for HandedTokens {}

impl Hash for HandedTokens {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.shared.number.hash(state);
    }
}

impl fmt::Debug for HandedTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HandedTokens({})", self.shared.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[tokio::test(start_paused = true)]
    async fn a_token_serves_until_it_ends_or_is_refused() {
        let tokens = HandedTokens::new();
        tokens.hand("one", HOUR).unwrap();
        let (header, generation) = tokens.token().await.unwrap();
        assert_eq!(header, "Bearer one");
        assert!(header.is_sensitive());
        assert_eq!(tokens.wait(Duration::ZERO), Demand::None);

        tokens.refused(generation);
        assert_eq!(tokens.wait(HOUR), Demand::Refused);
        tokens.hand("two", HOUR).unwrap();
        // An answer to a call with the old token comes late.
        tokens.refused(generation);
        assert_eq!(tokens.wait(Duration::ZERO), Demand::None);
        assert_eq!(tokens.token().await.unwrap().0, "Bearer two");

        tokio::time::advance(HOUR).await;
        let waiting = tokio::spawn({
            let tokens = tokens.clone();
            async move { tokens.token().await }
        });
        while tokens.wait(Duration::ZERO) != Demand::Wanted {
            tokio::task::yield_now().await;
        }
        tokens.hand("three", HOUR).unwrap();
        assert_eq!(waiting.await.unwrap().unwrap().0, "Bearer three");
        assert_eq!(tokens.wait(Duration::ZERO), Demand::None);
    }

    #[tokio::test]
    async fn calls_are_told_why_there_is_no_token() {
        let tokens = HandedTokens::new();
        tokens.fail("down", false);
        let failure = tokens.token().await.unwrap_err();
        assert_eq!((failure.text.as_str(), failure.transient), ("down", true));
        tokens.hand("s3cret", HOUR).unwrap();
        // A failure to renew it is none as long as it serves.
        tokens.fail("no better one than s3cret", false);
        let (_, generation) = tokens.token().await.unwrap();
        tokens.refused(generation);
        let failure = tokens.token().await.unwrap_err();
        assert_eq!(failure.text, "no better one than …");
        tokens.fail("never", true);
        assert!(!tokens.token().await.unwrap_err().transient);
    }

    #[tokio::test]
    async fn closing_wakes_everybody() {
        let tokens = HandedTokens::new();
        let fetching = std::thread::spawn({
            let tokens = tokens.clone();
            move || tokens.wait(HOUR)
        });
        tokens.close();
        assert_eq!(fetching.join().unwrap(), Demand::Closed);
        let failure = tokens.token().await.unwrap_err();
        assert_eq!(failure.text, "their source is closed");
    }

    #[test]
    fn an_illegal_token_is_refused_without_being_quoted() {
        let tokens = HandedTokens::new();
        for token in ["", "two words", "line\nbreak", "é"] {
            let error = tokens.hand(token, HOUR).unwrap_err();
            assert!(error.is_option());
            assert!(token.is_empty() || !error.to_string().contains(token));
        }
        assert_eq!(tokens, tokens.clone());
        assert_ne!(tokens, HandedTokens::new());
    }
}
