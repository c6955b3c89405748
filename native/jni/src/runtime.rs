//! The one Tokio runtime of this library: started with the first client, stopped after the last.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pubsub_client::error::{Code, Error};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::signals;

static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

/// Worker threads that are wanted; 0: as many as suit the machine.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// Threads that run, of any runtime.
static ALIVE: AtomicUsize = AtomicUsize::new(0);

fn runtime() -> MutexGuard<'static, Option<Runtime>> {
    RUNTIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the number of worker threads, for the next start.
pub(crate) fn want_threads(threads: usize) {
    WANTED.store(threads, Ordering::Relaxed);
}

/// The runtime, which is started when there is none.
pub(crate) fn handle() -> Result<Handle, Error> {
    let mut runtime = runtime();
    if let Some(runtime) = runtime.as_ref() {
        return Ok(runtime.handle().clone());
    }
    let names = AtomicUsize::new(0);
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(workers())
        .thread_name_fn(move || {
            format!(
                "pubsub-native-{}",
                names.fetch_add(1, Ordering::Relaxed) + 1
            )
        })
        .on_thread_start(|| {
            ALIVE.fetch_add(1, Ordering::Relaxed);
        })
        .on_thread_stop(|| {
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        })
        .enable_io()
        .enable_time();
    let started = signals::keep_sockets(|| builder.build())
        .map_err(|e| Error::new(Code::Internal, format!("cannot start threads: {e}")))?;
    let handle = started.handle().clone();
    *runtime = Some(started);
    Ok(handle)
}

fn workers() -> usize {
    match WANTED.load(Ordering::Relaxed) {
        // Without the standard library's answer, one is right for any machine.
        0 => default_workers(std::thread::available_parallelism().map_or(1, usize::from)),
        wanted => wanted,
    }
}

/// One thread moves more than a core of Flink consumes, and a second costs more than it brings on small machines. The
/// processors are those of the container, where it has a limit.
fn default_workers(processors: usize) -> usize {
    (processors / 2).clamp(1, 4)
}

/// Whether there is one.
pub(crate) fn is_running() -> bool {
    runtime().is_some()
}

/// Whether there is one, or threads of an earlier one that could not be waited for.
pub(crate) fn is_alive() -> bool {
    is_running() || ALIVE.load(Ordering::Relaxed) > 0
}

/// Stops all tasks, and waits for the threads for so long. Whether none of them runs any more.
pub(crate) fn stop(timeout: Duration) -> bool {
    let stopped = runtime().take();
    if let Some(runtime) = stopped {
        let start = Instant::now();
        runtime.shutdown_timeout(timeout);
        if start.elapsed() >= timeout {
            return false;
        }
    }
    // An earlier stop may have given up on some.
    ALIVE.load(Ordering::Relaxed) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_come_with_the_first_use_and_go_when_stopped() {
        want_threads(3);
        let handle = handle().unwrap();
        assert!(is_running());
        assert_eq!(super::handle().unwrap().id(), handle.id());
        assert_eq!(handle.metrics().num_workers(), 3);
        let name = handle.spawn(async { std::thread::current().name().map(str::to_owned) });
        let name = handle.block_on(name).unwrap().unwrap();
        assert!(name.starts_with("pubsub-native-"), "{name}");
        assert!(ALIVE.load(Ordering::Relaxed) > 0);
        assert!(stop(Duration::from_secs(10)));
        assert!(!is_running());
        assert!(stop(Duration::ZERO));
        assert_ne!(super::handle().unwrap().id(), handle.id());

        let (started, running) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        super::handle().unwrap().spawn_blocking(move || {
            started.send(()).unwrap();
            ended.recv().unwrap_err();
        });
        running.recv().unwrap();
        assert!(!stop(Duration::from_millis(1)), "a thread is still there");
        assert!(!is_running());
        assert!(is_alive());
        drop(end);
    }

    #[test]
    fn half_of_the_processors_get_a_thread() {
        let threads = [1, 2, 3, 4, 6, 8, 9, 64].map(default_workers);
        assert_eq!(threads, [1, 1, 1, 2, 3, 4, 4, 4]);
    }
}
