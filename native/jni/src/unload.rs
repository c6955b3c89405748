//! The end of the library: the JVM unmaps its code when the class loader is collected, so nothing may run it any more.

use std::ffi::c_void;
use std::time::Duration;

use crate::{
    admin_natives, logs, publisher_natives, runtime, signals, subscriber_natives, token_natives,
};

/// How long unloading waits for threads.
const UNLOAD: Duration = Duration::from_secs(10);

/// Called by the JVM when the class loader is collected. No Java thread is in a native call, and none begins one.
/// Where something may still call this library's code, that stays.
pub(crate) fn unload() {
    if end() && !signals::child_handler() {
        signals::close_sockets();
    } else {
        pin();
    }
}

/// Ends all clients and threads. Whether there are none any more.
///
/// As a rule all clients have been closed, and nothing is left to be done. Otherwise a thread does it that ends itself:
/// what this thread leaves in its thread-local variables would hold the library for as long as it lives.
fn end() -> bool {
    let clients = subscriber_natives::any() || publisher_natives::any() || admin_natives::any();
    if !clients && !runtime::is_alive() {
        return true;
    }
    let ended = std::thread::Builder::new()
        .name("pubsub-unload".to_owned())
        .spawn(|| {
            subscriber_natives::forget_all();
            publisher_natives::forget_all();
            admin_natives::forget_all();
            token_natives::forget_all();
            logs::wake();
            runtime::stop(UNLOAD)
        })
        .map(std::thread::JoinHandle::join);
    matches!(ended, Ok(Ok(true)))
}

/// Keeps the library's code for good where it cannot be unmapped safely: before glibc 2.18, threads that end run what
/// libraries have left in their thread-local variables, whether or not the library is still there.
pub(crate) fn pin_where_needed() {
    // SAFETY: the name is a C string, and nothing is called.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_thread_atexit_impl".as_ptr()) };
    if cfg!(target_env = "gnu") && found.is_null() {
        pin();
    }
}

/// Makes the system's linker keep this library for as long as the process lives.
fn pin() {
    let here = pin as fn() as *const c_void;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `info` is valid memory of that type, in which zeros are a value; the path found is a C string of the linker
    // that lives as long as this library, and with NOLOAD nothing is loaded, so no code runs.
    unsafe {
        if libc::dladdr(here, info.as_mut_ptr()) != 0 {
            let path = info.assume_init().dli_fname;
            libc::dlopen(
                path,
                libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE,
            );
        }
    }
}
