//! How every call comes in and goes out: no panic and no error leaves it but as a Java exception.

use std::time::Duration;

use jni::errors::Error as JniError;
use jni::objects::{JByteArray, JObject, JThrowable, JValue};
use jni::strings::JNIString;
use jni::sys::jlong;
use jni::{Env, EnvUnowned, Outcome, jni_str};
use pubsub_client::error::Error;
use pubsub_client::options::Options;

use crate::register;

/// Why a call fails.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The service, the connection or an option.
    Client(Error),
    /// The handle is closed: `IllegalStateException`.
    Closed(&'static str),
    /// A call of the JVM failed; its exception, if there is one, is pending already.
    Jni(JniError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Client(error)
    }
}

impl From<JniError> for Failure {
    fn from(error: JniError) -> Self {
        Self::Jni(error)
    }
}

/// Runs the body of a native method.
pub(crate) fn enter<'local, T: Default>(
    mut env: EnvUnowned<'local>,
    body: impl FnOnce(&mut Env<'local>) -> Result<T, Failure>,
) -> T {
    let failure = match env.with_env(body).into_outcome() {
        Outcome::Ok(value) => return value,
        Outcome::Err(failure) => failure,
        Outcome::Panic(panic) => Failure::Client(Error::panic(panic.as_ref())),
    };
    // Nothing is left to be done where even throwing fails: the JVM has its own exception pending then.
    let _ = env.with_env(|env| raise(env, failure)).into_outcome();
    T::default()
}

fn raise(env: &mut Env, failure: Failure) -> Result<(), JniError> {
    if env.exception_check() {
        return Ok(());
    }
    match failure {
        Failure::Client(error) if error.is_option() => throw(
            env,
            jni_str!("java/lang/IllegalArgumentException"),
            &error.to_string(),
        ),
        Failure::Client(error) => throw_client(env, &error),
        Failure::Closed(what) => throw(
            env,
            jni_str!("java/lang/IllegalStateException"),
            &format!("the {what} is closed"),
        ),
        Failure::Jni(error) => throw(
            env,
            jni_str!("java/lang/IllegalStateException"),
            &format!("a call into the JVM failed: {error}"),
        ),
    }
}

fn throw(env: &mut Env, class: &jni::strings::JNIStr, message: &str) -> Result<(), JniError> {
    match env.throw_new(class, JNIString::from(message)) {
        // This is how it says that it has thrown.
        Err(JniError::JavaException) => Ok(()),
        other => other,
    }
}

/// `NativeErrors.create` makes the exception, so that the family lives in one place.
fn throw_client(env: &mut Env, error: &Error) -> Result<(), JniError> {
    let class = env.find_class(JNIString::from(register::peer("NativeErrors")))?;
    let message = env.byte_array_from_slice(error.to_string().as_bytes())?;
    let resource = match error.resource() {
        Some(resource) => JObject::from(env.byte_array_from_slice(resource.as_bytes())?),
        None => JObject::null(),
    };
    let signature = format!("(I[B[BZ)L{};", register::exception());
    let signature = jni::signature::RuntimeMethodSignature::from_str(&signature)?;
    let exception = env.call_static_method(
        class,
        jni_str!("create"),
        signature.method_signature(),
        &[
            JValue::Int(error.code() as i32),
            JValue::Object(&message),
            JValue::Object(&resource),
            JValue::Bool(error.is_panic()),
        ],
    )?;
    let exception = env.cast_local::<JThrowable>(exception.l()?)?;
    match env.throw(exception) {
        Err(JniError::JavaException) => Ok(()),
        other => other,
    }
}

/// A time that crossed as a number; a negative one is over at once.
pub(crate) fn millis(millis: jlong) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}

/// A text that crossed as UTF-8.
pub(crate) fn text(env: &Env, bytes: &JByteArray) -> Result<String, Failure> {
    String::from_utf8(env.convert_byte_array(bytes)?)
        .map_err(|_| Error::argument("a text is not UTF-8").into())
}

/// Options that crossed as pairs of length-prefixed texts.
pub(crate) fn options(env: &Env, bytes: &JByteArray) -> Result<Options, Failure> {
    let bytes = env.convert_byte_array(bytes)?;
    let mut rest = bytes.as_slice();
    let mut pairs = Vec::new();
    while !rest.is_empty() {
        pairs.push((option_text(&mut rest)?, option_text(&mut rest)?));
    }
    Ok(Options::from_pairs(pairs)?)
}

/// Pairs of texts, in the form in which options cross.
pub(crate) fn pairs<'local>(
    env: &mut Env<'local>,
    pairs: &[(String, String)],
) -> Result<JByteArray<'local>, Failure> {
    let mut bytes = Vec::new();
    for text in pairs.iter().flat_map(|(key, value)| [key, value]) {
        bytes.extend_from_slice(&(text.len() as u32).to_be_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    Ok(env.byte_array_from_slice(&bytes)?)
}

fn option_text(rest: &mut &[u8]) -> Result<String, Error> {
    let broken = || Error::argument("the options are cut off or not UTF-8");
    let (len, tail) = rest.split_first_chunk().ok_or_else(broken)?;
    let len = u32::from_be_bytes(*len) as usize;
    let (value, tail) = tail.split_at_checked(len).ok_or_else(broken)?;
    *rest = tail;
    String::from_utf8(value.to_vec()).map_err(|_| broken())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_texts_are_read_or_refused() {
        let mut rest: &[u8] = &[0, 0, 0, 2, b'a', b'b', 0, 0, 0, 0];
        assert_eq!(option_text(&mut rest).unwrap(), "ab");
        assert_eq!(option_text(&mut rest).unwrap(), "");
        for mut broken in [
            &[0u8, 0, 0][..],
            &[0, 0, 0, 1],
            &[255; 4],
            &[0, 0, 0, 1, 0xff],
        ] {
            assert!(option_text(&mut broken).unwrap_err().is_option());
        }
    }
}
