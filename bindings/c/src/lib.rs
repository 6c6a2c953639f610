//! `libkadenz` for C and C++: opaque handles, a return value that tells whether a call succeeded, and an error text.
//!
//! No panic crosses the boundary: a call that panics fails, except for `kadenz_now_ns` and `kadenz_series_record`,
//! where it would end the program. One thread at a time uses a handle; any number use a bus. Each `kadenz_*_free`
//! accepts NULL. Times are nanoseconds of `CLOCK_MONOTONIC`.

mod bus;
#[cfg(target_os = "linux")]
mod camera;
mod log;
mod network;
mod periodic;
mod run;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use kadenz_library::Tuning;
use kadenz_library::rt::clock;

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// The error text of this thread's last failed call, with the remedy; "" where none failed. It is valid until the next
/// call of this thread that fails.
#[unsafe(no_mangle)]
pub extern "C" fn kadenz_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}

/// The present time, in nanoseconds of `CLOCK_MONOTONIC`. Real-time safe: by the vDSO, without a system call.
#[unsafe(no_mangle)]
pub extern "C" fn kadenz_now_ns() -> u64 {
    clock::now().as_ns()
}

/// The version of the library, as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn kadenz_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// Runs the body of a call. Where it fails or panics, keeps the error text and returns `failed`.
fn answer<T>(failed: T, body: impl FnOnce() -> Result<T, String>) -> T {
    // A panic leaves a handle in a state that its own type allows: all of them are safe Rust.
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let why = match outcome {
        Ok(Ok(answer)) => return answer,
        Ok(Err(why)) => why,
        Err(_) => "a defect of Kadenz: it panicked; please report it with what standard error says"
            .to_owned(),
    };
    let text = CString::new(why.replace('\0', " ")).unwrap_or_default();
    ERROR.with_borrow_mut(|error| *error = text);
    failed
}

/// Makes a handle for C.
fn handle<T>(made: T) -> *mut T {
    Box::into_raw(Box::new(made))
}

fn error_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Borrows a text of C.
///
/// # Safety
/// It must be NULL or end with a zero, and live for as long as the result.
unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, String> {
    if text.is_null() {
        return Err(format!("{what} is NULL; pass a text"));
    }
    // SAFETY: the caller promises that it ends with a zero.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| format!("{what} is not UTF-8"))
}

/// As [`text`], where NULL means no text.
///
/// # Safety
/// As of [`text`].
unsafe fn text_or_none<'a>(it: *const c_char, what: &str) -> Result<Option<&'a str>, String> {
    if it.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller keeps the same promise.
    unsafe { text(it, what) }.map(Some)
}

/// The value behind a handle of C.
///
/// # Safety
/// It must be NULL, or come from this library, not be freed, and be used by no other thread meanwhile.
unsafe fn behind<'a, T>(handle: *mut T) -> Result<&'a mut T, String> {
    // SAFETY: the caller promises that it points to a live value that no other code uses.
    unsafe { handle.as_mut() }
        .ok_or_else(|| "the handle is NULL; the call that makes it failed".to_owned())
}

/// The caller's room for a result, which may be uninitialised.
///
/// # Safety
/// It must be NULL, or have room for a `T` that no other code uses meanwhile.
unsafe fn room<'a, T>(into: *mut T) -> Result<&'a mut MaybeUninit<T>, String> {
    // SAFETY: the caller promises the room; its content need not be a `T`.
    let room = unsafe { into.cast::<MaybeUninit<T>>().as_mut() };
    room.ok_or_else(|| "there is no room for the answer: the pointer is NULL".to_owned())
}

/// Frees a handle.
///
/// # Safety
/// It must be NULL, or come from this library and not be used again.
unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: the caller promises that it came from `Box::into_raw`, once.
        let owned = unsafe { Box::from_raw(handle) };
        answer((), || {
            drop(owned);
            Ok(())
        });
    }
}

/// The tuning of a loop; a priority of 0 leaves SCHED_FIFO out.
fn tuning(priority: u8, lock_memory: bool) -> Tuning {
    let mut tuning = match priority {
        0 => Tuning::default(),
        priority => Tuning::fifo(priority),
    };
    tuning.lock_memory = lock_memory;
    tuning
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A timeout of C: negative means no limit.
fn timeout(ns: i64) -> Duration {
    u64::try_from(ns).map_or(Duration::MAX, Duration::from_nanos)
}
