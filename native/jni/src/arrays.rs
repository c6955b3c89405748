//! Java arrays: copied out at once, or used in place while the collector holds still.

use std::marker::PhantomData;
use std::ptr::NonNull;

use jni::Env;
use jni::objects::{JByteArray, JIntArray};
use jni::sys;
use pubsub_client::error::Error;

use crate::entry::Failure;

/// Copies the first bytes of the array, as many as `bytes` takes.
pub(crate) fn copy(env: &Env, array: &JByteArray, bytes: &mut [u8]) -> Result<(), Failure> {
    if bytes.len() > array.len(env)? {
        return Err(Error::argument("the length is beyond the end of the array").into());
    }
    // SAFETY: bytes of either sign have the same size and alignment, and every pattern is one of both.
    let bytes = unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len()) };
    Ok(array.get_region(env, 0, bytes)?)
}

/// Runs `body` on the elements of both arrays, in place.
///
/// Until it returns the JVM may be unable to collect garbage, and no function of the JVM may be called: `body` gets no
/// environment. It must not wait for anything but short locks whose holders do not wait for the JVM either.
pub(crate) fn with_elements<T>(
    env: &Env,
    bytes: &JByteArray,
    ints: &JIntArray,
    body: impl FnOnce(&mut [u8], &mut [i32]) -> T,
) -> Result<T, Failure> {
    // Asked for before the first array is taken: this is a call into the JVM.
    let lengths = (bytes.len(env)?, ints.len(env)?);
    // SAFETY: the arrays are live local references of this call with these lengths and element types, and two different
    // objects (their types differ), so the slices do not overlap. `body` cannot reach the JVM.
    unsafe {
        let mut bytes = Elements::<u8>::take(env, bytes.as_raw(), lengths.0)?;
        let mut ints = Elements::<i32>::take(env, ints.as_raw(), lengths.1)?;
        Ok(body(bytes.as_mut(), ints.as_mut()))
    }
}

/// The elements of one array; given back when dropped, also by a panic.
struct Elements<'a, T> {
    env: *mut sys::JNIEnv,
    array: sys::jarray,
    elements: NonNull<T>,
    len: usize,
    env_lifetime: PhantomData<&'a ()>,
}

impl<'a, T> Elements<'a, T> {
    /// # Safety
    ///
    /// `array` must be a live reference to an array of `len` elements as large as `T`, and until the value is dropped no
    /// function of the JVM may be called but taking and giving back elements.
    unsafe fn take(env: &'a Env, array: sys::jarray, len: usize) -> Result<Self, Failure> {
        let env = env.get_raw();
        // SAFETY: the environment is that of this thread, and the function exists since JNI 1.2.
        let elements =
            unsafe { ((**env).v1_2.GetPrimitiveArrayCritical)(env, array, std::ptr::null_mut()) };
        let Some(elements) = NonNull::new(elements.cast()) else {
            // An OutOfMemoryError is pending.
            return Err(jni::errors::Error::JavaException.into());
        };
        Ok(Self {
            env,
            array,
            elements,
            len,
            env_lifetime: PhantomData,
        })
    }

    fn as_mut(&mut self) -> &mut [T] {
        // SAFETY: the JVM keeps `len` elements in place until they are given back, which ends this borrow first, and
        // nobody else uses them meanwhile: a pooled array has one owner at a time.
        unsafe { std::slice::from_raw_parts_mut(self.elements.as_ptr(), self.len) }
    }
}

impl<T> Drop for Elements<'_, T> {
    fn drop(&mut self) {
        // SAFETY: taken from this array by this thread and not given back before.
        unsafe {
            let release = (**self.env).v1_2.ReleasePrimitiveArrayCritical;
            release(self.env, self.array, self.elements.as_ptr().cast(), 0);
        }
    }
}
