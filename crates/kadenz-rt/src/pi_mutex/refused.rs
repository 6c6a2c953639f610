//! Stands where the operating system has no priority inheritance; it cannot be made.

use super::CreatePiMutexError;

pub(super) enum RawMutex {}

impl RawMutex {
    pub(super) fn create() -> Result<Self, CreatePiMutexError> {
        Err(CreatePiMutexError::Unsupported)
    }

    pub(super) fn lock(&self) {
        match *self {}
    }

    pub(super) fn try_lock(&self) -> bool {
        match *self {}
    }

    /// # Safety
    /// None needed: there is no such mutex.
    pub(super) unsafe fn unlock(&self) {
        match *self {}
    }
}
