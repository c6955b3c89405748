//! The one Tokio runtime of this library: started by the first client, stopped with the class loader.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pubsub_client::error::{Code, Error};
use tokio::runtime::{Builder, Handle, Runtime};

static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

/// How long unloading waits for threads: their code goes away with the library.
const STOP: Duration = Duration::from_secs(10);

fn runtime() -> MutexGuard<'static, Option<Runtime>> {
    RUNTIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runtime, which is started when there is none.
pub(crate) fn handle() -> Result<Handle, Error> {
    let mut runtime = runtime();
    if let Some(runtime) = runtime.as_ref() {
        return Ok(runtime.handle().clone());
    }
    let started = Builder::new_multi_thread()
        .worker_threads(workers())
        .thread_name("pubsub-native")
        .enable_io()
        .enable_time()
        .build()
        .map_err(|e| Error::new(Code::Internal, format!("cannot start threads: {e}")))?;
    let handle = started.handle().clone();
    *runtime = Some(started);
    Ok(handle)
}

/// One thread moves more than a core of Flink consumes, and a second costs more than it brings on small machines.
fn workers() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / 2).clamp(1, 4)
}

/// Stops all tasks and threads.
pub(crate) fn stop() {
    let stopped = runtime().take();
    if let Some(runtime) = stopped {
        runtime.shutdown_timeout(STOP);
    }
}
