//! Handles are numbers: a wrong or closed one is found out, never followed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use once_cell::sync::Lazy;

use crate::entry::Failure;

/// All open clients of one kind. Numbers start at 1 and are never used again.
pub(crate) struct Handles<T> {
    what: &'static str,
    next: AtomicI64,
    open: Lazy<Mutex<HashMap<i64, Arc<T>>>>,
}

impl<T> Handles<T> {
    pub(crate) const fn new(what: &'static str) -> Self {
        Self {
            what,
            next: AtomicI64::new(1),
            open: Lazy::new(Mutex::default),
        }
    }

    pub(crate) fn add(&self, client: T) -> i64 {
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        self.open().insert(handle, Arc::new(client));
        handle
    }

    /// The client stays alive for as long as the caller uses it, also when it is closed meanwhile.
    pub(crate) fn get(&self, handle: i64) -> Result<Arc<T>, Failure> {
        let found = self.open().get(&handle).cloned();
        found.ok_or(Failure::Closed(self.what))
    }

    /// The handle is closed from here on.
    pub(crate) fn remove(&self, handle: i64) -> Result<Arc<T>, Failure> {
        let found = self.open().remove(&handle);
        found.ok_or(Failure::Closed(self.what))
    }

    /// Whether any is open.
    pub(crate) fn any(&self) -> bool {
        !self.open().is_empty()
    }

    /// Calls `visit` with each that is open.
    pub(crate) fn each(&self, visit: impl Fn(&T)) {
        let all: Vec<Arc<T>> = self.open().values().cloned().collect();
        for client in all {
            visit(&client);
        }
    }

    /// Forgets all of them, when the library is unloaded.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.open());
        drop(all);
    }

    fn open(&self) -> MutexGuard<'_, HashMap<i64, Arc<T>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_handle_is_found_out() {
        let handles = Handles::new("thing");
        let (a, b) = (handles.add("a"), handles.add("b"));
        assert_ne!(a, b);
        assert_eq!(*handles.get(a).unwrap(), "a");
        assert_eq!(*handles.remove(a).unwrap(), "a");
        for closed in [a, 0, -1, 99] {
            assert!(matches!(handles.get(closed), Err(Failure::Closed("thing"))));
            assert!(matches!(
                handles.remove(closed),
                Err(Failure::Closed("thing"))
            ));
        }
        assert_eq!(*handles.get(b).unwrap(), "b");
        assert!(handles.any());
        let seen = std::cell::RefCell::new(Vec::new());
        handles.each(|thing| seen.borrow_mut().push(*thing));
        assert_eq!(*seen.borrow(), ["b"]);
        handles.clear();
        assert!(!handles.any());
        assert!(handles.get(b).is_err());
        assert!(handles.add("c") > b);
    }
}
