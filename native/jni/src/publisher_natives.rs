//! Peer of `PublisherNatives`.

use std::time::Duration;

use jni::objects::{JByteArray, JClass, JIntArray, JLongArray};
use jni::sys::{jint, jlong};
use jni::{Env, EnvUnowned};
use pubsub_client::connect::Connection;
use pubsub_client::error::Error;
use pubsub_client::publish::{Publisher, PublisherOptions, Target};

use crate::arrays;
use crate::entry::{Failure, enter, millis, options, text};
use crate::handles::Handles;
use crate::register::{Native, native};
use crate::{runtime, token_natives};

/// Ints that describe one message.
const INDEX_STRIDE: usize = 4;
/// Longs that an append answers.
const IN_FLIGHT_NUMBERS: usize = 3;

static PUBLISHERS: Handles<Publisher> = Handles::new("publisher");

pub(crate) fn natives() -> [Native; 9] {
    [
        native!("open", "([B)J", open),
        native!("topic", "(J[B)I", topic),
        native!("append", "(J[BI[IIJ[J)V", append),
        native!("flush", "(J)V", flush),
        native!("target", "(JJJJ)V", target),
        native!("await", "(JJ)I", await_event),
        native!("state", "(J[J)V", state),
        native!("takeFailure", "(J)[B", take_failure),
        native!("close", "(JJ[J)V", close),
    ]
}

pub(crate) fn any() -> bool {
    PUBLISHERS.any()
}

pub(crate) fn forget_all() {
    PUBLISHERS.clear();
}

/// Ends all, as if their owners had closed them without giving them any time.
pub(crate) fn abandon_all() {
    PUBLISHERS.each(|publisher| publisher.close(Duration::ZERO));
}

pub(crate) fn run_in_task(handle: jlong, run: fn()) -> Result<(), Failure> {
    PUBLISHERS.get(handle)?.run_in_task(run);
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
        let publisher = PublisherOptions::take(&mut pairs)?;
        pairs.finish()?;
        let connection = Connection::open(connection, &runtime::handle()?)?;
        Ok(PUBLISHERS.add(Publisher::open(&connection, publisher)))
    })
}

extern "system" fn topic<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    name: JByteArray<'l>,
) -> jint {
    enter(env, |env| {
        let publisher = PUBLISHERS.get(handle)?;
        let name = text(env, &name)?;
        Ok(publisher.topic(&name)? as jint)
    })
}

#[allow(clippy::too_many_arguments)] // The boundary's, not a function's of ours.
extern "system" fn append<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    data: JByteArray<'l>,
    length: jint,
    index: JIntArray<'l>,
    count: jint,
    age_nanos: jlong,
    out: JLongArray<'l>,
) {
    enter(env, |env| {
        let publisher = PUBLISHERS.get(handle)?;
        let negative = |_| Error::argument("a negative length or count");
        let (length, count) = (
            usize::try_from(length).map_err(negative)?,
            usize::try_from(count).map_err(negative)?,
        );
        // Before anything is accepted.
        if out.len(env)? < IN_FLIGHT_NUMBERS {
            return Err(Error::argument("no room for what is in flight").into());
        }
        let mut numbers = vec![0; count * INDEX_STRIDE];
        index.get_region(env, 0, &mut numbers)?;
        let mut block = publisher.buffer(length);
        arrays::copy(env, &data, &mut block)?;
        let age = Duration::from_nanos(u64::try_from(age_nanos).unwrap_or_default());
        let in_flight = publisher.append(block.freeze(), &numbers, count, age)?;
        let in_flight: [jlong; IN_FLIGHT_NUMBERS] = [
            in_flight.messages as jlong,
            in_flight.bytes as jlong,
            in_flight.unwritten as jlong,
        ];
        Ok(out.set_region(env, 0, &in_flight)?)
    })
}

extern "system" fn flush<'l>(env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) {
    enter(env, |_| Ok(PUBLISHERS.get(handle)?.flush()?))
}

extern "system" fn target<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    messages: jlong,
    bytes: jlong,
    unwritten: jlong,
) {
    enter(env, |_| {
        let amount = |number: jlong| u64::try_from(number).ok();
        let target = || {
            Some(Target {
                messages: amount(messages)?,
                bytes: amount(bytes)?,
                unwritten: amount(unwritten)?,
            })
        };
        PUBLISHERS.get(handle)?.set_target(target());
        Ok(())
    })
}

extern "system" fn await_event<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    timeout_millis: jlong,
) -> jint {
    enter(env, |_| {
        let publisher = PUBLISHERS.get(handle)?;
        Ok(publisher.await_event(millis(timeout_millis)).bits())
    })
}

extern "system" fn state<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    out: JLongArray<'l>,
) {
    enter(env, |env| put_state(env, &*PUBLISHERS.get(handle)?, &out))
}

fn put_state(env: &Env, publisher: &Publisher, out: &JLongArray) -> Result<(), Failure> {
    let state = publisher.state().to_array();
    let state = state.map(|figure| jlong::try_from(figure).unwrap_or(jlong::MAX));
    Ok(out.set_region(env, 0, &state)?)
}

extern "system" fn take_failure<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
) -> JByteArray<'l> {
    enter(env, |env| match PUBLISHERS.get(handle)?.take_failure() {
        Some(failure) => Ok(env.byte_array_from_slice(&failure.encode())?),
        None => Ok(JByteArray::null()),
    })
}

extern "system" fn close<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    timeout_millis: jlong,
    last_state: JLongArray<'l>,
) {
    enter(env, |env| {
        let publisher = PUBLISHERS.remove(handle)?;
        publisher.close(millis(timeout_millis));
        put_state(env, &publisher, &last_state)
    })
}
