//! The interface of other threads to all axes: requests and status.

mod shared;
mod status;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::axis_runner::AxisRunner;
use super::stage::Cause;
use crate::control::process_image::ProcessImageWriter;
use crate::wire::cia402::DriveState;
use shared::HandleShared;

pub(super) use shared::{HandleWriter, Report};
pub use status::{AxisStatus, StageName, Status, Stopped};

/// The number of no requester.
const NO_REQUESTER: u32 = 0;
/// The number of a requester without a name.
const PROGRAM: u32 = 1;
/// Most names that the handle keeps.
const MAX_NAMES: usize = 16;
/// Most characters of a name that the handle keeps.
const MAX_NAME: usize = 100;

/// The handle of all axes, for any thread: stop, reset, end, status.
///
/// It belongs to one [`AxisGroup`](super::AxisGroup), which reads it once a cycle and publishes its status there.
///
/// ```
/// use std::sync::Arc;
/// use kadenz_ethercat::motion::{AxisGroup, Policy, MotionHandle};
///
/// let handle = Arc::new(MotionHandle::default());
/// let group = AxisGroup::new(Vec::new(), Policy::default(), &handle);
/// handle.stop_by("the operator");
/// assert!(handle.status().is_none(), "the loop has not run yet");
/// # drop(group);
/// ```
///
/// # Real-time safety
/// The loop's side neither allocates, locks nor waits, whatever other threads do with it.
#[derive(Debug, Default)]
pub struct MotionHandle {
    stop: AtomicU32,
    reset: AtomicBool,
    end: AtomicBool,
    /// The requester of the current stop.
    in_force: AtomicU32,
    names: Mutex<Names>,
    shared: OnceLock<HandleShared>,
}

/// Names of requesters, by the number that the loop uses. The loop never accesses them.
#[derive(Debug, Default)]
struct Names {
    last: u32,
    all: VecDeque<(u32, String)>,
}

impl Names {
    /// Returns the number of a name. Forgets the oldest of the names that do not belong to the current stop.
    fn number(&mut self, requester: &str, in_force: u32) -> u32 {
        let name: String = requester.chars().take(MAX_NAME).collect();
        if let Some((number, _)) = self.all.iter().find(|it| it.1 == name) {
            return *number;
        }
        self.last = self.last.wrapping_add(1).max(PROGRAM + 1);
        if self.all.len() >= MAX_NAMES {
            let oldest = self.all.iter().position(|it| it.0 != in_force);
            self.all.remove(oldest.unwrap_or(0));
        }
        self.all.push_back((self.last, name));
        self.last
    }
}

impl MotionHandle {
    /// Stops all axes, in the next cycle. Wait-free.
    pub fn stop(&self) {
        self.stop_for(PROGRAM);
    }

    /// Stops all axes in the name of a requester, which [`Status`] reports; keeps 100 characters of the name.
    ///
    /// # Real-time safety
    /// It allocates, and takes a lock that the loop does not use.
    pub fn stop_by(&self, requester: &str) {
        let in_force = self.in_force.load(Ordering::Relaxed);
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let number = names.number(requester, in_force);
        // Under the lock, before another name can get the number.
        self.stop_for(number);
    }

    /// Of several requests before the loop reads them, the loop reports the first.
    fn stop_for(&self, number: u32) {
        let first =
            self.stop
                .compare_exchange(NO_REQUESTER, number, Ordering::AcqRel, Ordering::Relaxed);
        // Otherwise another request is there, and stops the axes as well.
        let _ = first;
    }

    /// Lets the axes go on after a stop, whatever its cause: those that still brake come to rest, and each drive's
    /// fault is reset once. The group ignores it unless the axes are stopped. Wait-free.
    pub fn reset(&self) {
        self.reset.store(true, Ordering::Release);
    }

    /// Brings all axes to rest and ends the loop, as its flag would. Wait-free.
    pub fn end(&self) {
        self.end.store(true, Ordering::Release);
    }

    /// Whether a group has published its axes. Wait-free.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.shared.get().is_some_and(HandleShared::has_begun)
    }

    /// The state of all axes as of the last cycle; `None` before the first cycle of the group that this handle was
    /// given to first ([`has_begun`](Self::has_begun)), and where the loop overtook a hundred reads in a row.
    ///
    /// # Real-time safety
    /// It allocates, and takes a lock that only other threads use; it does not disturb the loop.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        let shared = self.shared.get()?;
        let by = |number| {
            let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            let found = names.all.iter().find(|it| it.0 == number);
            match number {
                PROGRAM => Some("the program".to_owned()),
                _ => found.map(|it| it.1.clone()),
            }
        };
        shared.status(by)
    }

    /// Reads the error codes (object 0x603F) of drives that have a fault and no code in their process data, so that
    /// [`status`](Self::status) can report them. `read` gets a device's position, and may wait.
    pub fn read_error_codes(&self, mut read: impl FnMut(usize) -> Option<u16>) {
        let (Some(shared), Some(status)) = (self.shared.get(), self.status()) else {
            return;
        };
        let fault = DriveState::Fault.to_string();
        for axis in &status.axes {
            if axis.state == fault
                && axis.error_code.is_none()
                && let Some(code) = read(axis.device)
            {
                shared.note_code(&status, axis.axis, code);
            }
        }
    }

    /// Takes the stop that was requested since the last call, as its requester's number.
    pub(crate) fn take_stop(&self) -> Option<u32> {
        let number = self.stop.swap(NO_REQUESTER, Ordering::AcqRel);
        (number != NO_REQUESTER).then_some(number)
    }

    /// Whether a reset was requested since the last call.
    pub(super) fn take_reset(&self) -> bool {
        self.reset.swap(false, Ordering::AcqRel)
    }

    /// Whether the end was requested.
    pub(super) fn ends(&self) -> bool {
        self.end.load(Ordering::Acquire)
    }

    /// Sets the requester of the current stop.
    pub(super) fn set_in_force(&self, cause: Option<Cause>, by: u32) {
        let by = if cause == Some(Cause::Asked) {
            by
        } else {
            NO_REQUESTER
        };
        self.in_force.store(by, Ordering::Relaxed);
    }

    /// Returns the writer of these axes' state; `None` where another group already publishes here.
    pub(super) fn writer(&self, runners: &[AxisRunner]) -> Option<HandleWriter<'_>> {
        let mut is_new = false;
        let shared = self.shared.get_or_init(|| {
            is_new = true;
            HandleShared::of(runners)
        });
        if !is_new {
            return None;
        }
        let writer = ProcessImageWriter::begin(shared.words(), shared.bytes()).ok()?;
        Some(HandleWriter::new(writer, shared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_requester_of_a_stop_is_kept_until_the_loop_has_read_it() {
        let handle = MotionHandle::default();
        assert_eq!(handle.take_stop(), None);
        handle.stop_by("anna");
        handle.stop_by("ben");
        handle.stop();
        let number = handle.take_stop().unwrap();
        assert_eq!(
            handle.names.lock().unwrap().all[0],
            (number, "anna".to_owned())
        );
        assert_eq!(handle.take_stop(), None);
        handle.stop_by("anna");
        assert_eq!(
            handle.take_stop(),
            Some(number),
            "the same name, the same number"
        );
    }

    #[test]
    fn names_are_bounded_and_the_one_that_stands_is_kept() {
        let handle = MotionHandle::default();
        handle.stop_by("operator");
        let number = handle.take_stop().unwrap();
        handle.set_in_force(Some(Cause::Asked), number);
        for other in 0..1000 {
            handle.stop_by(&format!("{other} {}", "x".repeat(1000)));
        }
        let names = handle.names.lock().unwrap();
        assert_eq!(names.all.len(), MAX_NAMES);
        assert!(names.all.iter().all(|it| it.1.len() <= MAX_NAME));
        assert_eq!(names.all[0], (number, "operator".to_owned()));
    }
}
