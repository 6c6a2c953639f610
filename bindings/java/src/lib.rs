//! The native half of the package `kadenz` for Java: Java code holds what is small and typed, and this library what
//! measures, receives or waits, as the static methods of `kadenz.Native`.
//!
//! Java holds numbers, never addresses: a number that was closed, is of another kind, or was made up, is an exception.
//! A method that waits does so for one slice of Java's whole wait, so that Java sees an interrupt and a close in
//! between.

#![allow(unreachable_pub, reason = "jni_mangle wants it, and Java reaches it")]

mod bus;
#[cfg(target_os = "linux")]
mod camera;
mod handles;
mod log;
mod network;
mod periodic;
mod run;

use std::any::Any;
use std::time::Duration;

use jni::errors::ErrorPolicy;
use jni::objects::{JObjectArray, JString};
use jni::sys::jlong;
use jni::{Env, EnvUnowned, jni_str};

/// Why a native method failed.
enum Failure {
    /// The text of the exception.
    Text(String),
    /// The virtual machine refused, in most cases with an exception of its own.
    Jni(jni::errors::Error),
}

impl From<jni::errors::Error> for Failure {
    fn from(error: jni::errors::Error) -> Self {
        Self::Jni(error)
    }
}

type Answer<T> = Result<T, Failure>;

/// Makes a failure of an error of the library.
fn error(error: impl std::fmt::Display) -> Failure {
    Failure::Text(error.to_string())
}

/// Turns failures and panics into `kadenz.KadenzException`, unless the virtual machine has already thrown an exception.
struct Throw;

impl<T: Default> ErrorPolicy<T, Failure> for Throw {
    type Captures<'a: 'b, 'b> = ();

    fn on_error<'a: 'b, 'b>(
        env: &mut Env<'a>,
        (): &mut (),
        failure: Failure,
    ) -> jni::errors::Result<T> {
        let text = match failure {
            Failure::Text(text) => text,
            Failure::Jni(error) => error.to_string(),
        };
        Ok(throw(env, &text))
    }

    fn on_panic<'a: 'b, 'b>(
        env: &mut Env<'a>,
        (): &mut (),
        panic: Box<dyn Any + Send + 'static>,
    ) -> jni::errors::Result<T> {
        let said = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(text), _) => text,
            (_, Some(text)) => text.as_str(),
            _ => "unknown",
        };
        let text = format!("a defect of Kadenz, please report it: {said}");
        Ok(throw(env, &text))
    }
}

fn throw<T: Default>(env: &mut Env<'_>, text: &str) -> T {
    if !env.exception_check() {
        // By the class loader of the calling class, which may differ from the thread's: MATLAB has one of its own for
        // the dynamic class path. Where this fails, an exception is thrown nevertheless.
        if let Ok(class) = env.find_class(jni_str!("kadenz/KadenzException")) {
            let text = jni::strings::JNIString::new(text);
            let _ = env.throw_new(class, text);
        }
    }
    T::default()
}

/// Runs the body of a native method.
fn native<'local, T: Default>(
    mut env: EnvUnowned<'local>,
    body: impl FnOnce(&mut Env<'local>) -> Answer<T>,
) -> T {
    env.with_env(body).resolve::<Throw>()
}

/// A text of Java; null is an error.
fn text(env: &Env<'_>, text: &JString<'_>) -> Answer<String> {
    optional(env, text)?.ok_or_else(|| error("null is not a valid text; pass a string"))
}

/// A text of Java; `None` where it is null.
fn optional(env: &Env<'_>, text: &JString<'_>) -> Answer<Option<String>> {
    if text.is_null() {
        return Ok(None);
    }
    Ok(Some(text.try_to_string(env)?))
}

fn texts<'local>(
    env: &mut Env<'local>,
    texts: &[String],
) -> Answer<JObjectArray<'local, JString<'local>>> {
    let array = JObjectArray::<JString>::new(env, texts.len(), JString::null())?;
    for (place, text) in texts.iter().enumerate() {
        let element = JString::new(env, text)?;
        array.set_element(env, place, &element)?;
        env.delete_local_ref(element);
    }
    Ok(array)
}

/// A span from Java, at least 0.
fn span(ns: jlong) -> Duration {
    Duration::from_nanos(ns.try_into().unwrap_or(0))
}

/// A count or a time for Java, which has signed numbers only.
fn whole(number: u64) -> jlong {
    number.try_into().unwrap_or(jlong::MAX)
}
