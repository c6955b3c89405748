//! Peer of `LibraryNatives`.

use std::time::Duration;

use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass};
use jni::sys::{jint, jlong};

use crate::entry::{enter, millis, options};
use crate::register::{self, Native, native};
use crate::{admin_natives, logs, memory, panics, publisher_natives, runtime, subscriber_natives};

/// How long the end of the last client waits for threads, which as a rule end at once.
const STOP: Duration = Duration::from_secs(2);

/// More of them bring nothing: each client has one connection for a stream.
const MAX_THREADS: u64 = 64;

/// Bound when the library is loaded. They stay as they are, so that a library of another version can be told apart.
pub(crate) fn first_natives() -> [Native; 2] {
    [
        native!("version", "()[B", version),
        native!("bind", "()V", bind),
    ]
}

pub(crate) fn natives() -> [Native; 6] {
    [
        native!("configure", "([B)V", configure),
        native!("stop", "()V", stop),
        native!("abandon", "()V", abandon),
        native!("logs", "(JI)[B", take_logs),
        native!("memory", "()J", held_memory),
        native!("panic", "(IJ)V", panic),
    ]
}

extern "system" fn version<'l>(env: EnvUnowned<'l>, _class: JClass<'l>) -> JByteArray<'l> {
    enter(env, |env| {
        Ok(env.byte_array_from_slice(env!("CARGO_PKG_VERSION").as_bytes())?)
    })
}

extern "system" fn bind<'l>(env: EnvUnowned<'l>, _class: JClass<'l>) {
    enter(env, |env| Ok(register::bind_all(env)?))
}

extern "system" fn configure<'l>(env: EnvUnowned<'l>, _class: JClass<'l>, pairs: JByteArray<'l>) {
    enter(env, |env| {
        let mut pairs = options(env, &pairs)?;
        let threads = pairs.take_u64("threads", 1..=MAX_THREADS)?;
        let debug = pairs.take_bool("debug")?;
        pairs.finish()?;
        runtime::want_threads(threads.unwrap_or_default() as usize);
        panics::allow(debug.unwrap_or_default());
        Ok(())
    })
}

extern "system" fn stop<'l>(env: EnvUnowned<'l>, _class: JClass<'l>) {
    enter(env, |_| {
        runtime::stop(STOP);
        logs::wake();
        Ok(())
    })
}

extern "system" fn abandon<'l>(env: EnvUnowned<'l>, _class: JClass<'l>) {
    enter(env, |_| {
        subscriber_natives::abandon_all();
        publisher_natives::abandon_all();
        // Admin clients are short, and belong to a job that starts.
        if !admin_natives::any() {
            runtime::stop(STOP);
        }
        logs::wake();
        Ok(())
    })
}

extern "system" fn take_logs<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    timeout_millis: jlong,
    level: jint,
) -> JByteArray<'l> {
    enter(env, |env| {
        let level = u8::try_from(level).unwrap_or_default();
        let mut bytes = Vec::new();
        for line in logs::wait(millis(timeout_millis), level) {
            bytes.push(line.level);
            for text in [line.target, &line.text] {
                bytes.extend_from_slice(&(text.len() as u32).to_be_bytes());
                bytes.extend_from_slice(text.as_bytes());
            }
        }
        Ok(env.byte_array_from_slice(&bytes)?)
    })
}

extern "system" fn held_memory<'l>(env: EnvUnowned<'l>, _class: JClass<'l>) -> jlong {
    enter(env, |_| Ok(memory::held() as jlong))
}

extern "system" fn panic<'l>(env: EnvUnowned<'l>, _class: JClass<'l>, place: jint, handle: jlong) {
    enter(env, |_| panics::cause(place, handle))
}
