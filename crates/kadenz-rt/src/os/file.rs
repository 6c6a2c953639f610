//! Whose files are.

/// The effective user of this process, by number.
#[cfg(unix)]
#[must_use]
pub fn user() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}
