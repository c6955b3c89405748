//! What the library logs, on its way into Flink's log: events are kept in a bounded ring until a Java thread asks for
//! them. No thread of the library calls into the JVM.

mod limit;

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use once_cell::sync::Lazy;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, span};

use self::limit::{Limits, Verdict};

/// Lines, and bytes of text, that wait at most; what comes beyond is counted.
const MAX_LINES: usize = 1_000;
const MAX_BYTES: usize = 256 << 10;
/// Longer texts are cut.
const MAX_TEXT: usize = 8 << 10;

/// Crates of which everything is of interest; of the others, warnings are.
const OURS: [&str; 2] = ["pubsub_client", "pubsub_flink"];

static RING: Lazy<Mutex<Ring>> = Lazy::new(Mutex::default);
static READY: Condvar = Condvar::new();
/// By number, see [`number`].
static LEVEL: AtomicU8 = AtomicU8::new(3);

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub level: u8,
    pub target: &'static str,
    pub text: String,
}

#[derive(Default)]
struct Ring {
    lines: VecDeque<Line>,
    bytes: usize,
    dropped: u64,
    limits: Limits,
    woken: bool,
}

fn ring() -> MutexGuard<'static, Ring> {
    RING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ring {
    fn push(&mut self, line: Line) {
        if self.lines.len() >= MAX_LINES || self.bytes + line.text.len() > MAX_BYTES {
            self.dropped += 1;
            return;
        }
        self.bytes += line.text.len();
        self.lines.push_back(line);
    }

    fn is_due(&self, now: Instant) -> bool {
        !self.lines.is_empty() || self.limits.is_due(now)
    }

    fn take(&mut self, now: Instant) -> Vec<Line> {
        self.bytes = 0;
        let mut lines: Vec<Line> = std::mem::take(&mut self.lines).into();
        lines.extend(self.limits.take_repeated(now));
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            lines.push(Line {
                level: number(Level::WARN),
                target: module_path!(),
                text: format!("{dropped} lines were dropped: they came faster than they were read"),
            });
        }
        lines
    }
}

/// Sends all events, and the texts of panics, to the ring.
pub(crate) fn install() {
    if tracing::subscriber::set_global_default(Collector).is_ok() {
        std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    }
}

/// Waits at most `timeout` for lines, or until [`wake`] is called. `level` is what is collected from now on.
pub(crate) fn wait(timeout: Duration, level: u8) -> Vec<Line> {
    if LEVEL.swap(level, Ordering::Relaxed) != level {
        tracing::callsite::rebuild_interest_cache();
    }
    let end = Instant::now() + timeout;
    let mut ring = ring();
    loop {
        let now = Instant::now();
        if ring.is_due(now) || std::mem::take(&mut ring.woken) || now >= end {
            return ring.take(now);
        }
        // Looks up for what is only due after some time.
        let wait = (end - now).min(Duration::from_secs(1));
        let waited = READY.wait_timeout(ring, wait);
        ring = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Ends the running [`wait`], or else the next.
pub(crate) fn wake() {
    ring().woken = true;
    READY.notify_all();
}

/// Levels by number, 1 for errors to 5 for traces; 0 is none.
fn number(level: Level) -> u8 {
    match level {
        Level::ERROR => 1,
        Level::WARN => 2,
        Level::INFO => 3,
        Level::DEBUG => 4,
        Level::TRACE => 5,
    }
}

fn is_ours(target: &str) -> bool {
    let name = target.split("::").next().unwrap_or_default();
    OURS.contains(&name)
}

fn is_wanted(metadata: &Metadata) -> bool {
    let level = number(*metadata.level());
    metadata.is_event()
        && level <= LEVEL.load(Ordering::Relaxed)
        && (is_ours(metadata.target()) || level <= number(Level::WARN))
}

/// Takes events and leaves spans alone: nothing here has any.
struct Collector;

impl tracing::Subscriber for Collector {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // Asked again when the level has changed.
        if is_wanted(metadata) {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_wanted(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match LEVEL.load(Ordering::Relaxed) {
            0 => LevelFilter::OFF,
            1 => LevelFilter::ERROR,
            2 => LevelFilter::WARN,
            3 => LevelFilter::INFO,
            4 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        })
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        // Written before the lock is taken: what is written may log by itself.
        let mut text = Text::default();
        event.record(&mut text);
        let line = Line {
            level: number(*metadata.level()),
            target: metadata.target(),
            text: text.finish(),
        };
        let mut ring = ring();
        let now = Instant::now();
        match ring.limits.judge(metadata.callsite(), &line, now) {
            Verdict::Pass => ring.push(line),
            Verdict::Hold => return,
        }
        drop(ring);
        READY.notify_one();
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// The message, and the other fields in brackets.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn finish(self) -> String {
        let Self { message, fields } = self;
        let mut text = match (message.is_empty(), fields.is_empty()) {
            (_, true) => message,
            (true, false) => fields,
            (false, false) => format!("{message} ({fields})"),
        };
        if text.len() > MAX_TEXT {
            text.truncate(text.floor_char_boundary(MAX_TEXT));
            text.push('…');
        }
        text
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a text does not fail.
        if field.name() == "message" {
            let _ = write!(self.message, "{value:?}");
        } else {
            let between = if self.fields.is_empty() { "" } else { ", " };
            let _ = write!(self.fields, "{between}{}: {value:?}", field.name());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line {
            level: 2,
            target: "t",
            text: text.to_owned(),
        }
    }

    #[test]
    fn beyond_the_bounds_lines_are_counted() {
        let now = Instant::now();
        let mut ring = Ring::default();
        for at in 0..MAX_LINES + 7 {
            ring.push(line(&at.to_string()));
        }
        let lines = ring.take(now);
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert_eq!(lines[0].text, "0");
        let last = lines.last().unwrap();
        assert!(last.text.starts_with("7 lines were dropped"), "{last:?}");
        assert!(ring.take(now).is_empty());

        let large = "x".repeat(MAX_BYTES / 2);
        for _ in 0..3 {
            ring.push(line(&large));
        }
        assert_eq!(ring.take(now).len(), 3);
    }

    #[test]
    fn events_pass_by_level_and_origin_and_wake_the_reader() {
        install();
        assert_eq!(wait(Duration::ZERO, 3), []);
        let reader = std::thread::spawn(|| wait(Duration::from_secs(30), 3));
        tracing::debug!("not this");
        tracing::info!(target: "h2::codec", "nor this");
        tracing::warn!(subscription = "s", error = %"broken", count = 3, "seen");
        let lines = reader.join().unwrap();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0].level, 2);
        assert_eq!(lines[0].target, "pubsub_flink::logs::tests");
        assert_eq!(
            lines[0].text,
            "seen (subscription: s, error: broken, count: 3)"
        );

        assert_eq!(wait(Duration::ZERO, 4), []);
        tracing::debug!("now this");
        tracing::warn!(target: "h2::codec", "and this");
        let texts: Vec<_> = wait(Duration::ZERO, 0)
            .into_iter()
            .map(|l| l.text)
            .collect();
        assert_eq!(texts, ["now this", "and this"]);
        tracing::error!("none");
        assert_eq!(wait(Duration::ZERO, 3), []);

        let reader = std::thread::spawn(|| wait(Duration::from_secs(30), 3));
        wake();
        assert_eq!(reader.join().unwrap(), []);
        let panicked = std::thread::spawn(|| panic!("of a test")).join();
        assert!(panicked.is_err());
        let lines = wait(Duration::ZERO, 3);
        assert_eq!(lines[0].level, 1);
        assert!(lines[0].text.contains("of a test"), "{lines:?}");
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let text = Text {
            message: "é".repeat(MAX_TEXT),
            fields: String::new(),
        };
        let text = text.finish();
        assert!(text.ends_with("é…"));
        assert!(text.len() <= MAX_TEXT + '…'.len_utf8());
    }
}
