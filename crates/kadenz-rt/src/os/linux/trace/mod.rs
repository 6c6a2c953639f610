//! A program that is stopped before its first instruction, to make one system call in its name.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod call;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::errno;
use super::signals::Mask;

/// Lets the parent stop this process at its next `exec`.
pub(crate) fn ask_to_be_traced() -> Result<(), i32> {
    // Any other signal before that would stop the process as well, and the parent would not continue it; so all
    // others are blocked, and unblocked at the first instruction.
    super::signals::set_mask(&Mask::all_but(libc::SIGTRAP))?;
    // SAFETY: this request ignores its other arguments.
    let outcome = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
    if outcome == 0 { Ok(()) } else { Err(errno()) }
}

/// A process that is stopped. When this is dropped, the process continues with the given mask.
#[derive(Debug)]
pub(crate) struct HeldProcess {
    pid: libc::pid_t,
    mask: Mask,
    /// A signal that arrived meanwhile and is delivered when the process continues.
    pending: i32,
}

impl HeldProcess {
    /// Waits until the process, whose `exec` has succeeded, is stopped. Returns `None` when it has ended.
    ///
    /// Only the thread that started the process may call this: the kernel lets no other act on it.
    pub(crate) fn at_exec(pid: u32, mask: Mask) -> Option<Self> {
        let pid = libc::pid_t::try_from(pid).ok()?;
        let mut held = Self {
            pid,
            mask,
            pending: 0,
        };
        held.wait_for_trap()?;
        // If this process is killed now, the program must not run on half-changed.
        let options = libc::PTRACE_O_EXITKILL as usize;
        // SAFETY: this thread has stopped the process; the request takes a number as its data.
        unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options) };
        Some(held)
    }

    /// Waits for the trap, and keeps other signals for later. Returns `None` when the process has ended; its exit
    /// status stays for the thread that waits for it.
    fn wait_for_trap(&mut self) -> Option<()> {
        loop {
            let signal = next_stop(self.pid)?;
            if signal == libc::SIGTRAP {
                return Some(());
            }
            self.pending = signal;
            // SAFETY: this thread has stopped the process; the request takes numbers only.
            unsafe { libc::ptrace(libc::PTRACE_CONT, self.pid, 0, 0) };
        }
    }
}

impl Drop for HeldProcess {
    fn drop(&mut self) {
        let mask = self.mask.bits();
        // SAFETY: this thread has stopped the process; the mask is live and of the given length. When the process
        // has been killed the kernel refuses the requests, which harms nothing.
        unsafe {
            libc::ptrace(SETSIGMASK, self.pid, size_of::<u64>(), &raw const mask);
            libc::ptrace(libc::PTRACE_DETACH, self.pid, 0, self.pending as usize);
        }
    }
}

/// `PTRACE_SETSIGMASK` of linux/ptrace.h, Linux 3.11 and later.
const SETSIGMASK: libc::c_uint = 0x420b;

/// Waits until the process stops, takes that event and returns the signal that stopped it; `None` when it ended.
fn next_stop(pid: libc::pid_t) -> Option<i32> {
    let id = WaitId::Pid(Pid::from_raw(pid)?);
    // The event is only looked at, so that the exit status stays for the thread that waits for the process.
    let look = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    let seen = retry_on_intr(|| waitid(id.clone(), look)).ok()??;
    let signal = seen.trapping_signal().or(seen.stopping_signal())?;
    // This takes the event that was seen.
    let _ = waitid(id, WaitIdOptions::STOPPED | WaitIdOptions::NOHANG);
    Some(signal)
}

/// Why the call was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each processor has its part of them")]
pub(crate) enum CallError {
    /// The program's code is for another instruction set than this one, for example 32 bits.
    OtherCode,
    /// The kernel does not let this process touch the program; its error number.
    Refused(i32),
    /// The program is gone.
    Ended,
    /// This crate has no code for this processor.
    Unsupported,
}

/// Processors for which this crate has no code to make a system call.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl HeldProcess {
    /// Always fails.
    pub(crate) fn call(&mut self, _number: libc::c_long, _argument: u64) -> Result<i64, CallError> {
        Err(CallError::Unsupported)
    }
}
