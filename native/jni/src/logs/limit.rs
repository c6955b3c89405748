//! One place in the code logs so many lines in a time; the rest is counted, and told with the last of them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;

use super::Line;

const WINDOW: Duration = Duration::from_secs(10);
const MOST: u32 = 10;

/// What has been logged lately, by place.
#[derive(Default)]
pub(super) struct Limits {
    places: HashMap<Identifier, Place>,
}

struct Place {
    end: Instant,
    passed: u32,
    held: u64,
    last: Option<Line>,
}

/// What is to be done with a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Hold,
}

impl Limits {
    pub(super) fn judge(&mut self, at: Identifier, line: &Line, now: Instant) -> Verdict {
        let new = || Place {
            end: now + WINDOW,
            passed: 0,
            held: 0,
            last: None,
        };
        let place = self.places.entry(at).or_insert_with(new);
        if now >= place.end && place.held == 0 {
            *place = new();
        }
        if now < place.end && place.passed < MOST {
            place.passed += 1;
            return Verdict::Pass;
        }
        place.held += 1;
        place.last = Some(line.clone());
        Verdict::Hold
    }

    /// Whether some lines have been held back for long enough.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let mut places = self.places.values();
        places.any(|place| place.held > 0 && now >= place.end)
    }

    /// One line for all that a place has held back.
    pub(super) fn take_repeated(&mut self, now: Instant) -> Vec<Line> {
        let mut lines = Vec::new();
        self.places.retain(|_, place| {
            if now < place.end {
                return true;
            }
            if let Some(last) = place.last.take() {
                let text = format!("{} more like the last: {}", place.held, last.text);
                lines.push(Line { text, ..last });
            }
            false
        });
        lines
    }
}

#[cfg(test)]
mod tests {
    use tracing::callsite::{Callsite, Identifier};
    use tracing::{Metadata, subscriber::Interest};

    use super::*;

    struct Here(u8);

    impl Callsite for Here {
        fn set_interest(&self, _: Interest) {}
        fn metadata(&self) -> &Metadata<'_> {
            unreachable!("nobody asks")
        }
    }

    static ONE: Here = Here(1);
    static TWO: Here = Here(2);

    fn line(text: &str) -> Line {
        Line {
            level: 2,
            target: "t",
            text: text.to_owned(),
        }
    }

    #[test]
    fn what_is_too_much_is_told_once_when_the_time_is_over() {
        assert_ne!(ONE.0, TWO.0);
        let (one, two) = (Identifier(&ONE), Identifier(&TWO));
        let mut limits = Limits::default();
        let start = Instant::now();
        for at in 0..MOST {
            let verdict = limits.judge(one.clone(), &line(&at.to_string()), start);
            assert_eq!(verdict, Verdict::Pass);
        }
        for at in 0..5 {
            let verdict = limits.judge(one.clone(), &line(&format!("held {at}")), start);
            assert_eq!(verdict, Verdict::Hold);
        }
        assert_eq!(limits.judge(two, &line("other"), start), Verdict::Pass);
        assert!(!limits.is_due(start));
        assert!(limits.take_repeated(start).is_empty());
        let later = start + WINDOW;
        // What comes before the reader has looked belongs to the same.
        assert_eq!(
            limits.judge(one.clone(), &line("held 5"), later),
            Verdict::Hold
        );
        assert!(limits.is_due(later));
        let repeated = limits.take_repeated(later);
        assert_eq!(repeated, [line("6 more like the last: held 5")]);
        assert!(!limits.is_due(later));
        assert_eq!(limits.judge(one, &line("anew"), later), Verdict::Pass);
    }
}
