//! Checks whether a decoder has the pictures from which a picture is predicted.

use super::DecodeError;
use crate::source::Unit;

/// Units that are passed over after a fault while waiting for a key picture. A stream that refreshes its pictures
/// without key pictures is then decoded.
const MAX_PASSED_OVER: u32 = 300;

/// The state of a decoder's references. After a fault it shows nothing until the next key picture: a picture that is
/// predicted from a missing or broken one is wrong, but looks right.
pub(super) struct References {
    /// Units passed over since the fault; `None` without a fault.
    passed_over: Option<u32>,
}

impl Default for References {
    /// A stream that has not begun.
    fn default() -> Self {
        let passed_over = Some(0);
        Self { passed_over }
    }
}

impl References {
    /// Whether a unit can be decoded.
    ///
    /// # Errors
    /// Where the unit is broken, or needs a missing picture.
    pub(super) fn check(&mut self, what: &'static str, unit: &Unit<'_>) -> Result<(), DecodeError> {
        if unit.is_damaged {
            self.mark_fault();
            return Err(DecodeError::new(what, "a part of it is missing"));
        }
        if unit.is_key {
            self.passed_over = None;
        } else if unit.missed > 0 {
            self.mark_fault();
        }
        match &mut self.passed_over {
            Some(passed_over) if *passed_over < MAX_PASSED_OVER => {
                *passed_over += 1;
                let cause = "it needs a picture that is missing; the next key frame fixes it";
                Err(DecodeError::new(what, cause))
            }
            _ => {
                self.passed_over = None;
                Ok(())
            }
        }
    }

    /// Notes a fault.
    pub(super) fn mark_fault(&mut self) {
        self.passed_over.get_or_insert(0);
    }
}
