//! Peer of `SubscriberNatives`.

use std::time::Duration;

use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass, JIntArray, JLongArray};
use jni::sys::{jboolean, jint, jlong};
use pubsub_client::connect::Connection;
use pubsub_client::error::Error;
use pubsub_client::subscribe::{Fetched, INDEX_STRIDE, Subscriber, SubscriberOptions};

use crate::arrays;
use crate::entry::{Failure, enter, millis, options, text};
use crate::handles::Handles;
use crate::panics;
use crate::register::{Native, native};
use crate::{runtime, token_natives};

/// `poll`: time over or woken.
const NOTHING: jint = -1;
/// `poll`: the arrays are too small.
const TOO_SMALL: jint = -2;

static SUBSCRIBERS: Handles<Subscriber> = Handles::new("subscriber");

pub(crate) fn natives() -> [Native; 13] {
    [
        native!("open", "([B)J", open),
        native!("addSplit", "(J[B)I", add_split),
        native!("removeSplit", "(JI)V", remove_split),
        native!("pause", "(JIZ)V", pause),
        native!("poll", "(J[B[IJ[J)I", poll),
        native!("wakeUp", "(J)V", wake_up),
        native!("snapshot", "(JJ[I[J)V", snapshot),
        native!("complete", "(JJZ)V", complete),
        native!("confirmed", "(JJ)Z", confirmed),
        native!("nack", "(JIJ)V", nack),
        native!("counters", "(J[J)V", counters),
        native!("leave", "(JIJ)V", leave),
        native!("close", "(JJ[J)V", close),
    ]
}

pub(crate) fn any() -> bool {
    SUBSCRIBERS.any()
}

pub(crate) fn forget_all() {
    SUBSCRIBERS.clear();
}

/// Ends all, as if their owners had closed them without giving them any time.
pub(crate) fn abandon_all() {
    SUBSCRIBERS.each(|subscriber| subscriber.close(Duration::ZERO));
}

pub(crate) fn run_in_task(handle: jlong, run: fn()) -> Result<(), Failure> {
    SUBSCRIBERS.get(handle)?.run_in_task(run);
    Ok(())
}

extern "system" fn open<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    pairs: JByteArray<'l>,
) -> jlong {
    enter(env, |env| {
        let mut pairs = options(env, &pairs)?;
        let connection = token_natives::connection(&mut pairs)?;
        let subscriber = SubscriberOptions::take(&mut pairs)?;
        pairs.finish()?;
        let connection = Connection::open(connection, &runtime::handle()?)?;
        Ok(SUBSCRIBERS.add(Subscriber::open(connection, subscriber)))
    })
}

extern "system" fn add_split<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    subscription: JByteArray<'l>,
) -> jint {
    enter(env, |env| {
        let subscriber = SUBSCRIBERS.get(handle)?;
        let subscription = text(env, &subscription)?;
        Ok(subscriber.add_split(&subscription)? as jint)
    })
}

extern "system" fn remove_split<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    split: jint,
) {
    enter(env, |_| {
        Ok(SUBSCRIBERS.get(handle)?.remove_split(split as u32)?)
    })
}

extern "system" fn pause<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    split: jint,
    paused: jboolean,
) {
    enter(env, |_| {
        Ok(SUBSCRIBERS.get(handle)?.pause(split as u32, paused)?)
    })
}

extern "system" fn poll<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    data: JByteArray<'l>,
    index: JIntArray<'l>,
    timeout_millis: jlong,
    out: JLongArray<'l>,
) -> jint {
    enter(env, |env| {
        let subscriber = SUBSCRIBERS.get(handle)?;
        let messages = index.len(env)? / INDEX_STRIDE;
        match subscriber.fetch(millis(timeout_millis), data.len(env)?, messages)? {
            Fetched::Nothing => Ok(NOTHING),
            Fetched::TooSmall { bytes, messages } => {
                let ints = messages * INDEX_STRIDE;
                out.set_region(env, 0, &[bytes as jlong, ints as jlong])?;
                Ok(TOO_SMALL)
            }
            Fetched::Messages(fetch) => {
                let write = |data: &mut [u8], index: &mut [i32]| fetch.write(data, index);
                let written = arrays::with_elements(env, &data, &index, write)??;
                let (split, first) = (jlong::from(written.split), written.first as jlong);
                out.set_region(env, 0, &[split, first, written.bytes as jlong])?;
                Ok(written.messages as jint)
            }
        }
    })
}

extern "system" fn wake_up<'l>(env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) {
    enter(env, |_| {
        SUBSCRIBERS.get(handle)?.wake_up();
        Ok(())
    })
}

extern "system" fn snapshot<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    checkpoint: jlong,
    splits: JIntArray<'l>,
    emitted: JLongArray<'l>,
) {
    enter(env, |env| {
        let subscriber = SUBSCRIBERS.get(handle)?;
        let mut numbers = vec![0; splits.len(env)?];
        let mut counts = vec![0; emitted.len(env)?];
        if numbers.len() != counts.len() {
            return Err(Error::argument("splits and emitted differ in length").into());
        }
        splits.get_region(env, 0, &mut numbers)?;
        emitted.get_region(env, 0, &mut counts)?;
        let progress = numbers.into_iter().zip(counts);
        let progress: Vec<(u32, u64)> = progress.map(|(n, c)| (n as u32, c as u64)).collect();
        Ok(subscriber.snapshot(checkpoint, &progress)?)
    })
}

extern "system" fn complete<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    checkpoint: jlong,
    confirm: jboolean,
) {
    enter(env, |_| {
        Ok(SUBSCRIBERS.get(handle)?.complete(checkpoint, confirm)?)
    })
}

extern "system" fn confirmed<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    timeout_millis: jlong,
) -> jboolean {
    enter(env, |_| {
        let subscriber = SUBSCRIBERS.get(handle)?;
        Ok(subscriber.confirmed(millis(timeout_millis))?)
    })
}

extern "system" fn nack<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    split: jint,
    sequence: jlong,
) {
    enter(env, |_| {
        let subscriber = SUBSCRIBERS.get(handle)?;
        Ok(subscriber.nack(split as u32, sequence as u64)?)
    })
}

extern "system" fn leave<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    split: jint,
    sequence: jlong,
) {
    enter(env, |_| {
        let subscriber = SUBSCRIBERS.get(handle)?;
        Ok(subscriber.leave(split as u32, sequence as u64)?)
    })
}

extern "system" fn counters<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    out: JLongArray<'l>,
) {
    enter(env, |env| {
        let counts = SUBSCRIBERS.get(handle)?.counts().to_array();
        Ok(out.set_region(env, 0, &counts)?)
    })
}

extern "system" fn close<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    timeout_millis: jlong,
    last_counters: JLongArray<'l>,
) {
    enter(env, |env| {
        let subscriber = SUBSCRIBERS.remove(handle)?;
        panics::in_close();
        subscriber.close(millis(timeout_millis));
        Ok(last_counters.set_region(env, 0, &subscriber.counts().to_array())?)
    })
}
