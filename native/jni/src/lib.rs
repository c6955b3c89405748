//! The native half of the Flink connector for Google Cloud Pub/Sub.
//!
//! It translates and decides nothing: a function here unpacks its arguments, calls `pubsub-client` and packs the answer.
//! One module per Java class that declares natives; `docs/boundary.md` has all of them.

mod admin_natives;
mod arrays;
mod entry;
mod handles;
mod library_natives;
mod logs;
mod memory;
mod panics;
mod publisher_natives;
mod register;
mod runtime;
mod signals;
mod subscriber_natives;
mod token_natives;
mod unload;
