//! What the service answers to acks that somebody waits for.

use std::collections::VecDeque;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::error::{Code, Error};

/// Answers that were asked for and not told yet.
#[derive(Debug, Default)]
pub(crate) struct Confirmations {
    answers: VecDeque<oneshot::Receiver<Option<Error>>>,
    failed: Option<Error>,
}

impl Confirmations {
    pub(crate) fn expect(&mut self, answers: Vec<oneshot::Receiver<Option<Error>>>) {
        self.answers.extend(answers);
    }

    /// Whether all answers are there; waits for them until `deadline`. The first failure is told once, when all are.
    pub(crate) async fn all(&mut self, deadline: Instant) -> Result<bool, Error> {
        while let Some(answer) = self.answers.front_mut() {
            let Ok(answered) = timeout_at(deadline, answer).await else {
                return Ok(false);
            };
            self.answers.pop_front();
            let failed = answered.unwrap_or_else(|_| {
                Some(Error::new(Code::Aborted, "the ack was given up unanswered"))
            });
            if let Some(error) = failed {
                self.failed.get_or_insert(error);
            }
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_for_all_answers_and_tells_the_first_failure() {
        let mut confirmations = Confirmations::default();
        let soon = || Instant::now() + Duration::from_secs(1);
        assert!(confirmations.all(soon()).await.unwrap());
        let (one, a) = oneshot::channel();
        let (two, b) = oneshot::channel();
        let (three, c) = oneshot::channel();
        confirmations.expect(vec![a, b]);
        confirmations.expect(vec![c]);
        one.send(None).unwrap();
        three
            .send(Some(Error::new(Code::Internal, "third")))
            .unwrap();
        assert!(!confirmations.all(soon()).await.unwrap());
        two.send(Some(Error::new(Code::Internal, "second")))
            .unwrap();
        let error = confirmations.all(soon()).await.unwrap_err();
        assert!(error.to_string().contains("second"), "{error}");
        assert!(confirmations.all(soon()).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn an_ack_that_nobody_answers_any_more_is_not_confirmed() {
        let mut confirmations = Confirmations::default();
        let (gone, answer) = oneshot::channel();
        confirmations.expect(vec![answer]);
        drop(gone);
        let error = confirmations.all(Instant::now()).await.unwrap_err();
        assert_eq!(error.code(), Code::Aborted);
    }
}
