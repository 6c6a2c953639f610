//! Systems without `mlockall` and without fault counts a thread.

use super::{Faults, LockMemoryError};

/// Cannot be made on this operating system.
#[derive(Debug)]
pub enum LockedMemory {}

/// Locks nothing: this operating system cannot lock all memory of a process.
///
/// # Errors
/// Always.
pub fn lock(_future: bool) -> Result<LockedMemory, LockMemoryError> {
    Err(LockMemoryError::Unsupported)
}

/// Page faults of the calling thread since it started; not counted on this operating system.
#[must_use]
pub fn faults() -> Option<Faults> {
    None
}

/// Not known here.
pub(super) const fn stack_left() -> Option<usize> {
    None
}
