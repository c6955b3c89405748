//! Loading: finds the Java peers and binds the natives to them.
//!
//! Natives are registered and not found by name, so that a user may relocate the connector's packages. The package is
//! that of the class that loads the library.

use jni::objects::{JObject, JObjectArray, JString};
use jni::strings::{JNIStr, JNIString};
use jni::{Env, JavaVM, NativeMethod, jni_sig, jni_str, sys};
use once_cell::sync::OnceCell;
use std::ffi::c_void;

use crate::{
    admin_natives, library_natives, logs, publisher_natives, subscriber_natives, token_natives,
    unload,
};

/// The package of the peers, with slashes and a slash at the end.
static PACKAGE: OnceCell<String> = OnceCell::new();

/// The JVM's name of a class beside `NativeLoader`.
pub(crate) fn peer(class: &str) -> String {
    format!("{}{class}", PACKAGE.get().map_or("", String::as_str))
}

/// The JVM's name of the exception family's root, one package above the peers.
pub(crate) fn exception() -> String {
    let peers = PACKAGE.get().map_or("", String::as_str);
    let parent = peers.trim_end_matches('/').rsplit_once('/');
    format!(
        "{}/PubSubException",
        parent.map_or("", |(parent, _)| parent)
    )
}

/// One native method of a peer.
pub(crate) struct Native {
    pub name: &'static JNIStr,
    pub signature: &'static JNIStr,
    pub function: *mut c_void,
}

/// Makes a [`Native`] from a method's name, its signature and the function.
macro_rules! native {
    ($name:literal, $signature:literal, $function:expr) => {
        $crate::register::Native {
            name: jni::jni_str!($name),
            signature: jni::jni_str!($signature),
            function: $function as *mut _,
        }
    };
}
pub(crate) use native;

/// Called by the JVM when the library is loaded.
// SAFETY: the name and the signature are those that the JVM looks for.
#[unsafe(no_mangle)]
pub extern "system" fn JNI_OnLoad(vm: *mut sys::JavaVM, _: *mut c_void) -> sys::jint {
    let loaded = std::panic::catch_unwind(|| {
        // SAFETY: the JVM hands over itself.
        let vm = unsafe { JavaVM::from_raw(vm) };
        vm.attach_current_thread(register).is_ok()
    });
    match loaded {
        Ok(true) => sys::JNI_VERSION_1_8,
        // The JVM answers with an UnsatisfiedLinkError.
        _ => sys::JNI_ERR,
    }
}

/// Called by the JVM when the class loader is collected: no thread may run this library's code after it.
// SAFETY: the name and the signature are those that the JVM looks for.
#[unsafe(no_mangle)]
pub extern "system" fn JNI_OnUnload(_: *mut sys::JavaVM, _: *mut c_void) {
    let _ = std::panic::catch_unwind(unload::unload);
}

fn register(env: &mut Env) -> jni::errors::Result<()> {
    let package = loading_package(env)?;
    let _ = PACKAGE.set(package);
    unload::pin_where_needed();
    logs::install();
    bind(env, "LibraryNatives", &library_natives::first_natives())
}

/// Binds all natives but the first, once it is known that the Java side has the same version.
pub(crate) fn bind_all(env: &mut Env) -> jni::errors::Result<()> {
    bind(env, "LibraryNatives", &library_natives::natives())?;
    bind(env, "SubscriberNatives", &subscriber_natives::natives())?;
    bind(env, "PublisherNatives", &publisher_natives::natives())?;
    bind(env, "AdminNatives", &admin_natives::natives())?;
    bind(env, "TokenNatives", &token_natives::natives())
}

fn bind(env: &mut Env, class: &str, natives: &[Native]) -> jni::errors::Result<()> {
    let class = env.find_class(JNIString::from(peer(class)))?;
    let methods: Vec<NativeMethod> = natives
        .iter()
        .map(|native| {
            // SAFETY: each module lists its functions beside the signatures that they have; all are static.
            unsafe { NativeMethod::from_raw_parts(native.name, native.signature, native.function) }
        })
        .collect();
    // SAFETY: as above; the functions live as long as the library, which the class's loader keeps.
    unsafe { env.register_native_methods(class, &methods) }
}

/// The package of the first class on the stack that is not the JDK's.
fn loading_package(env: &mut Env) -> jni::errors::Result<String> {
    let thread = env
        .call_static_method(
            jni_str!("java/lang/Thread"),
            jni_str!("currentThread"),
            jni_sig!("()Ljava/lang/Thread;"),
            &[],
        )?
        .l()?;
    let trace = env
        .call_method(
            &thread,
            jni_str!("getStackTrace"),
            jni_sig!("()[Ljava/lang/StackTraceElement;"),
            &[],
        )?
        .l()?;
    let trace = env.cast_local::<JObjectArray<JObject>>(trace)?;
    for at in 0..trace.len(env)? {
        let frame = trace.get_element(env, at)?;
        let class = env
            .call_method(
                &frame,
                jni_str!("getClassName"),
                jni_sig!("()Ljava/lang/String;"),
                &[],
            )?
            .l()?;
        let class = env.cast_local::<JString>(class)?.to_string();
        let of_the_jdk = ["java.", "jdk.", "sun."]
            .iter()
            .any(|package| class.starts_with(package));
        if !of_the_jdk {
            let package = class.rsplit_once('.').map_or("", |(package, _)| package);
            return Ok(format!("{}/", package.replace('.', "/")));
        }
    }
    Err(jni::errors::Error::NullPtr("no class loads the library"))
}
