//! What Tokio keeps for signals in static variables, which it never gives back: two sockets that are connected, from the
//! start of the first runtime on, and a handler of `SIGCHLD` once a child process was left behind. (It is built with
//! child processes because of credentials that an executable brings.)
//!
//! A session cluster loads one copy of this library for each job, so the sockets would add up, and the handler would be
//! called when its code is no longer there.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

#[cfg(target_os = "linux")]
use std::os::fd::{FromRawFd, OwnedFd};

const NONE: c_int = -1;

static SOCKETS: [AtomicI32; 2] = [const { AtomicI32::new(NONE) }; 2];

/// Starts a runtime, and remembers the sockets if it is the first one.
pub(crate) fn keep_sockets<T>(start: impl FnOnce() -> T) -> T {
    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))]
    {
        pairs::OF_INTEREST.set(true);
        let started = start();
        pairs::OF_INTEREST.set(false);
        started
    }
    #[cfg(not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    start()
}

/// Closes the sockets. No runtime may be started any more, and [`child_handler`] must be false: the handler writes to
/// them.
pub(crate) fn close_sockets() {
    for socket in &SOCKETS {
        let socket = socket.swap(NONE, Ordering::Relaxed);
        #[cfg(target_os = "linux")]
        if socket != NONE {
            // SAFETY: it was opened for Tokio's static variable, which never closes it and is not used any more.
            drop(unsafe { OwnedFd::from_raw_fd(socket) });
        }
    }
}

/// Whether the process has a handler of `SIGCHLD`. The JVM has none, so it is Tokio's, of this copy of the library or of
/// another one, which may pass the signal on to this one's.
pub(crate) fn child_handler() -> bool {
    #[cfg(unix)]
    {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: without a new action this only asks, and fills in the old one, of which zeros are a value.
        let handler = unsafe {
            libc::sigaction(libc::SIGCHLD, std::ptr::null(), action.as_mut_ptr());
            action.assume_init().sa_sigaction
        };
        handler != libc::SIG_DFL && handler != libc::SIG_IGN
    }
    #[cfg(not(unix))]
    false
}

/// Tokio tells the sockets to nobody, so this library's calls of `socketpair`, of which that is the only one, go through
/// here: the linker prefers a hidden function of the library to the system's. The rest of the process sees nothing of it.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod pairs {
    use std::cell::Cell;
    use std::ffi::{c_int, c_long};
    use std::sync::atomic::Ordering;

    thread_local! {
        pub(super) static OF_INTEREST: Cell<bool> = const { Cell::new(false) };
    }

    std::arch::global_asm!(
        ".pushsection .text.socketpair, \"ax\"",
        ".globl socketpair",
        ".hidden socketpair",
        ".type socketpair, @function",
        ".balign 16",
        "socketpair:",
        #[cfg(target_arch = "x86_64")]
        "jmp {socketpair}",
        #[cfg(target_arch = "aarch64")]
        "b {socketpair}",
        ".size socketpair, . - socketpair",
        ".popsection",
        socketpair = sym socketpair,
    );

    /// As `socketpair(2)`.
    // SAFETY: the caller's, who passes room for two descriptors.
    unsafe extern "C" fn socketpair(
        domain: c_int,
        kind: c_int,
        protocol: c_int,
        pair: *mut [c_int; 2],
    ) -> c_int {
        let [domain, kind, protocol] = [domain, kind, protocol].map(c_long::from);
        // SAFETY: the arguments are those of the system call.
        let failed = unsafe { libc::syscall(libc::SYS_socketpair, domain, kind, protocol, pair) };
        if failed == 0 && OF_INTEREST.get() {
            // SAFETY: the system has filled it.
            let made = unsafe { *pair };
            for (socket, made) in super::SOCKETS.iter().zip(made) {
                socket.store(made, Ordering::Relaxed);
            }
        }
        failed as c_int
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::io::Write;
    use std::os::fd::{BorrowedFd, RawFd};
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::runtime;

    fn socket(socket: &AtomicI32) -> UnixStream {
        let fd: RawFd = socket.load(Ordering::Relaxed);
        assert_ne!(fd, NONE);
        // SAFETY: Tokio keeps it open.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        fd.try_clone_to_owned().unwrap().into()
    }

    #[test]
    fn the_sockets_of_the_first_runtime_are_known() {
        runtime::handle().unwrap();
        let [mut receiver, mut sender] = SOCKETS.each_ref().map(socket);
        // The direction that Tokio does not use.
        receiver.write_all(b"1").unwrap();
        let mut read = [0; 1];
        sender.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"1");
        let [first, second] = SOCKETS.each_ref().map(|s| s.load(Ordering::Relaxed));
        drop(UnixStream::pair().unwrap());
        let now = SOCKETS.each_ref().map(|s| s.load(Ordering::Relaxed));
        assert_eq!(now, [first, second], "another pair");
    }

    #[test]
    fn a_handler_of_child_processes_is_seen() {
        extern "C" fn ignore(_: c_int) {}
        assert!(!child_handler());
        // SAFETY: the handler does nothing.
        unsafe {
            libc::signal(libc::SIGCHLD, ignore as *const () as libc::sighandler_t);
        }
        assert!(child_handler());
        // SAFETY: as it was.
        unsafe {
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        }
        assert!(!child_handler());
    }
}
