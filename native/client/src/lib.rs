//! The Pub/Sub client a stream processor needs.
