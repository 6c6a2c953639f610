//! Processors for which nobody has written how a system call is made.

use super::{CallError, Held};

impl Held {
    /// Refuses.
    pub(crate) fn call(&mut self, _number: libc::c_long, _argument: u64) -> Result<i64, CallError> {
        Err(CallError::Unsupported)
    }
}
