//! Peer of `AdminNatives`.

use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass};
use jni::sys::{jboolean, jint, jlong};
use pubsub_client::admin::{Admin, Position};
use pubsub_client::connect::Connection;

use crate::entry::{enter, options, pairs, text};
use crate::handles::Handles;
use crate::register::{Native, native};
use crate::{runtime, token_natives};

static ADMINS: Handles<Admin> = Handles::new("admin client");

pub(crate) fn natives() -> [Native; 8] {
    [
        native!("open", "([B)J", open),
        native!("describeSubscription", "(J[B)[B", describe_subscription),
        native!("createSubscription", "(J[B[B)Z", create_subscription),
        native!("deleteSubscription", "(J[B)Z", delete_subscription),
        native!("seekToTime", "(J[BJI)V", seek_to_time),
        native!("seekToSnapshot", "(J[B[B)V", seek_to_snapshot),
        native!("describeTopic", "(J[B)[B", describe_topic),
        native!("close", "(J)V", close),
    ]
}

pub(crate) fn any() -> bool {
    ADMINS.any()
}

pub(crate) fn forget_all() {
    ADMINS.clear();
}

extern "system" fn open<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    pairs: JByteArray<'l>,
) -> jlong {
    enter(env, |env| {
        let mut pairs = options(env, &pairs)?;
        let connection = token_natives::connection(&mut pairs)?;
        pairs.finish()?;
        let connection = Connection::open(connection, &runtime::handle()?)?;
        Ok(ADMINS.add(Admin::new(connection)))
    })
}

extern "system" fn describe_subscription<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    name: JByteArray<'l>,
) -> JByteArray<'l> {
    enter(env, |env| {
        let admin = ADMINS.get(handle)?;
        let described = admin.describe_subscription(&text(env, &name)?)?;
        pairs(env, &described)
    })
}

extern "system" fn create_subscription<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    name: JByteArray<'l>,
    settings: JByteArray<'l>,
) -> jboolean {
    enter(env, |env| {
        let admin = ADMINS.get(handle)?;
        let (name, settings) = (text(env, &name)?, options(env, &settings)?);
        Ok(admin.create_subscription(&name, settings)?)
    })
}

extern "system" fn delete_subscription<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    name: JByteArray<'l>,
) -> jboolean {
    enter(env, |env| {
        let admin = ADMINS.get(handle)?;
        Ok(admin.delete_subscription(&text(env, &name)?)?)
    })
}

extern "system" fn seek_to_time<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    name: JByteArray<'l>,
    seconds: jlong,
    nanos: jint,
) {
    enter(env, |env| {
        let admin = ADMINS.get(handle)?;
        Ok(admin.seek(&text(env, &name)?, &Position::Time { seconds, nanos })?)
    })
}

extern "system" fn seek_to_snapshot<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    name: JByteArray<'l>,
    snapshot: JByteArray<'l>,
) {
    enter(env, |env| {
        let admin = ADMINS.get(handle)?;
        let position = Position::Snapshot(text(env, &snapshot)?);
        Ok(admin.seek(&text(env, &name)?, &position)?)
    })
}

extern "system" fn describe_topic<'l>(
    env: EnvUnowned<'l>,
    _class: JClass<'l>,
    handle: jlong,
    name: JByteArray<'l>,
) -> JByteArray<'l> {
    enter(env, |env| {
        let admin = ADMINS.get(handle)?;
        let described = admin.describe_topic(&text(env, &name)?)?;
        pairs(env, &described)
    })
}

extern "system" fn close<'l>(env: EnvUnowned<'l>, _class: JClass<'l>, handle: jlong) {
    enter(env, |_| {
        ADMINS.remove(handle)?;
        Ok(())
    })
}
