//! Peer of `LibraryNatives`.

use jni::objects::{JByteArray, JClass};
use jni::{EnvUnowned, jni_str};

use crate::entry::enter;
use crate::register::Native;

pub(crate) fn natives() -> [Native; 1] {
    [Native {
        name: jni_str!("version"),
        signature: jni_str!("()[B"),
        function: version as *mut _,
    }]
}

extern "system" fn version<'l>(env: EnvUnowned<'l>, _class: JClass<'l>) -> JByteArray<'l> {
    enter(env, |env| {
        Ok(env.byte_array_from_slice(env!("CARGO_PKG_VERSION").as_bytes())?)
    })
}
