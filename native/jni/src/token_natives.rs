//! Peer of `TokenNatives`.

use std::time::Duration;

use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass};
use jni::sys::{jboolean, jint, jlong};
use pubsub_client::auth::{Demand, HandedTokens};
use pubsub_client::connect::ConnectionOptions;
use pubsub_client::options::Options;

use crate::entry::{Failure, enter, millis, text};
use crate::handles::Handles;
use crate::register::{Native, native};

/// The connection key that names a handle of this module.
const KEY: &str = "access-tokens";

static TOKENS: Handles<HandedTokens> = Handles::new("source of access tokens");

pub(crate) fn natives() -> [Native; 5] {
    [
        native!("open", "()J", open),
        native!("hand", "(J[BJ)V", hand),
        native!("fail", "(J[BZ)V", fail),
        native!("await", "(JJ)I", await_demand),
        native!("close", "(J)V", close),
    ]
}

pub(crate) fn forget_all() {
    TOKENS.clear();
}

/// The connection keys, among them the one that only this crate can resolve.
pub(crate) fn connection(pairs: &mut Options) -> Result<ConnectionOptions, Failure> {
    let handle = pairs.take_i64(KEY, 1..=i64::MAX)?;
    let options = ConnectionOptions::take(pairs)?;
    Ok(match handle {
        Some(handle) => {
            let tokens = TOKENS.get(handle)?;
            options.with_access_tokens(KEY, HandedTokens::clone(&tokens))?
        }
        None => options,
    })
}

extern "system" fn open<'l>(env: EnvUnowned<'l>, _class: JClass<'l>) -> jlong {
    enter(env, |_| Ok(TOKENS.add(HandedTokens::new())))
}

extern "system" fn hand<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    token: JByteArray<'l>,
    valid_millis: jlong,
) {
    enter(env, |env| {
        let tokens = TOKENS.get(handle)?;
        // Far beyond any token's life, and within what a clock can add.
        let valid = millis(valid_millis).min(Duration::from_secs(365 * 86_400));
        Ok(tokens.hand(&text(env, &token)?, valid)?)
    })
}

extern "system" fn fail<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    why: JByteArray<'l>,
    permanent: jboolean,
) {
    enter(env, |env| {
        let why = text(env, &why)?;
        TOKENS.get(handle)?.fail(&why, permanent);
        Ok(())
    })
}

extern "system" fn await_demand<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    timeout_millis: jlong,
) -> jint {
    enter(env, |_| {
        Ok(match TOKENS.get(handle)?.wait(millis(timeout_millis)) {
            Demand::None => 0,
            Demand::Wanted => 1,
            Demand::Refused => 2,
            Demand::Closed => 3,
        })
    })
}

extern "system" fn close<'l>(env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) {
    enter(env, |_| {
        TOKENS.remove(handle)?.close();
        Ok::<(), Failure>(())
    })
}
