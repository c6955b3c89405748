//! Peer of `LibraryNatives`.

use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass};

use crate::entry::enter;
use crate::register::{Native, native};

pub(crate) fn natives() -> [Native; 1] {
    [native!("version", "()[B", version)]
}

extern "system" fn version<'l>(env: EnvUnowned<'l>, _class: JClass<'l>) -> JByteArray<'l> {
    enter(env, |env| {
        Ok(env.byte_array_from_slice(env!("CARGO_PKG_VERSION").as_bytes())?)
    })
}
