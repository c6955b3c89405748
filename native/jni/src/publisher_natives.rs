//! Peer of `PublisherNatives`.

use crate::register::Native;

pub(crate) fn natives() -> [Native; 0] {
    []
}

pub(crate) fn forget_all() {}
