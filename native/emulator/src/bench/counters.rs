//! What a bench server counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows, until it is reset.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The number now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// What a bench server counts.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: Counter,)+
        }

        impl Counters {
            /// Names and numbers.
            pub fn list(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.get()),)+]
            }

            /// Sets all to zero.
            pub fn reset(&self) {
                $(self.$name.0.store(0, Ordering::Relaxed);)+
            }
        }
    };
}

counters! {
    /// Messages sent on streams.
    messages_sent,
    /// Responses sent on streams.
    responses_sent,
    /// Encoded bytes of these responses.
    bytes_sent,
    /// Ids acked, by Acknowledge or on a stream.
    acked,
    /// Acknowledge requests.
    acknowledge_requests,
    /// Ids nacked.
    nacked,
    /// Ids whose lease was extended.
    extended,
    /// ModifyAckDeadline requests.
    modify_ack_deadline_requests,
    /// Messages published.
    messages_published,
    /// Publish requests.
    publish_requests,
    /// Encoded bytes of these requests.
    bytes_published,
    /// Streams opened.
    streams_opened,
    /// Streams closed.
    streams_closed,
    /// All other requests.
    admin_requests,
}
