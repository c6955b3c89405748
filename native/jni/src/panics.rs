//! Panics on purpose, for tests of what becomes of them. Without the debug setting all of them are refused.

use std::sync::atomic::{AtomicBool, Ordering};

use jni::sys::{jint, jlong};
use pubsub_client::error::Error;

use crate::entry::Failure;
use crate::{publisher_natives, runtime, subscriber_natives};

const IN_CALL: jint = 0;
const IN_SUBSCRIBER_TASK: jint = 1;
const IN_PUBLISHER_TASK: jint = 2;
const IN_CLOSE: jint = 3;
const IN_SHUTDOWN: jint = 4;

static ALLOWED: AtomicBool = AtomicBool::new(false);
static CLOSE: AtomicBool = AtomicBool::new(false);

/// Whether [`cause`] is obeyed.
pub(crate) fn allow(allowed: bool) {
    ALLOWED.store(allowed, Ordering::Relaxed);
}

/// Causes one, now or later.
pub(crate) fn cause(place: jint, handle: jlong) -> Result<(), Failure> {
    if !ALLOWED.load(Ordering::Relaxed) {
        return Err(Error::argument(
            "panics are caused with the setting pubsub.native.debug alone",
        )
        .into());
    }
    match place {
        IN_CALL => panic!("on purpose, in a call"),
        IN_SUBSCRIBER_TASK => {
            let panics = || panic!("on purpose, in a subscriber's task");
            subscriber_natives::run_in_task(handle, panics)
        }
        IN_PUBLISHER_TASK => {
            let panics = || panic!("on purpose, in a publisher's task");
            publisher_natives::run_in_task(handle, panics)
        }
        IN_CLOSE => {
            CLOSE.store(true, Ordering::Relaxed);
            Ok(())
        }
        IN_SHUTDOWN => {
            let dropped = PanicsWhenDropped;
            runtime::handle()?.spawn(async move {
                std::future::pending::<()>().await;
                drop(dropped);
            });
            Ok(())
        }
        _ => Err(Error::argument(format!("there is no place {place}")).into()),
    }
}

/// Called while a subscriber is closed.
pub(crate) fn in_close() {
    if CLOSE.swap(false, Ordering::Relaxed) {
        panic!("on purpose, in a close");
    }
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("on purpose, in the shutdown");
    }
}
