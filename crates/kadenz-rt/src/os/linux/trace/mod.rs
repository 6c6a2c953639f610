//! A program that is held before its first instruction, to make one system call in its name.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod call;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::mem::MaybeUninit;
use std::ptr;

use super::errno;
use super::signals::Mask;

/// Asks that the parent may hold this process at its next `exec`.
pub(crate) fn ask_to_be_traced() -> Result<(), i32> {
    // Whatever else would be delivered before that would stop the process as well, with nobody to
    // let it go on; so the rest is held back, and given back at the first instruction.
    super::signals::set_mask(&Mask::all_but(libc::SIGTRAP))?;
    // SAFETY: this request ignores its other arguments.
    let outcome = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
    if outcome == 0 { Ok(()) } else { Err(errno()) }
}

/// A process that is held. It goes on, with the mask it was given, when this is dropped.
#[derive(Debug)]
pub(crate) struct HeldProcess {
    pid: libc::pid_t,
    mask: Mask,
    /// A signal that came meanwhile and is handed over when the process goes on.
    pending: i32,
}

impl HeldProcess {
    /// Waits until the process, whose `exec` has succeeded, is held. `None` when it has ended.
    ///
    /// To be called by the thread that started the process: no other may act on it.
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
        // SAFETY: the process is held by this thread; the request takes a number as its data.
        unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options) };
        Some(held)
    }

    /// Waits for the trap; other signals are kept for later. `None` when the process has ended;
    /// how it ended is left for whoever waits for it.
    fn wait_for_trap(&mut self) -> Option<()> {
        loop {
            let signal = next_stop(self.pid)?;
            if signal == libc::SIGTRAP {
                return Some(());
            }
            self.pending = signal;
            // SAFETY: the process is held by this thread; the request takes numbers only.
            unsafe { libc::ptrace(libc::PTRACE_CONT, self.pid, 0, 0) };
        }
    }
}

impl Drop for HeldProcess {
    fn drop(&mut self) {
        let mask = self.mask.bits();
        // SAFETY: the process is held by this thread; the mask is live and as long as is said.
        // When the process has been killed the requests are refused, which harms nothing.
        unsafe {
            libc::ptrace(SETSIGMASK, self.pid, size_of::<u64>(), &raw const mask);
            libc::ptrace(libc::PTRACE_DETACH, self.pid, 0, self.pending as usize);
        }
    }
}

/// `PTRACE_SETSIGMASK` of linux/ptrace.h, Linux 3.11 and later.
const SETSIGMASK: libc::c_uint = 0x420b;

/// Waits until the process stops and takes that; the signal that stopped it. `None` when it ended.
fn next_stop(pid: libc::pid_t) -> Option<i32> {
    let mut about = MaybeUninit::<libc::siginfo_t>::zeroed();
    let id = pid.cast_unsigned();
    let events = libc::WEXITED | libc::WSTOPPED;
    loop {
        // SAFETY: `about` is there to be written, and zeroed memory is a valid value of it. The
        // event is only looked at, so that an end stays for whoever waits for the process.
        let outcome =
            unsafe { libc::waitid(libc::P_PID, id, about.as_mut_ptr(), events | libc::WNOWAIT) };
        match outcome {
            0 => break,
            _ if errno() == libc::EINTR => {}
            _ => return None,
        }
    }
    // SAFETY: waitid has filled it in for a child, or it is still zero.
    let about = unsafe { about.assume_init() };
    // SAFETY: for an event of a child this field is the signal.
    let signal = unsafe { about.si_status() };
    if !matches!(about.si_code, libc::CLD_TRAPPED | libc::CLD_STOPPED) {
        return None;
    }
    // SAFETY: as above; this takes the event that was seen.
    unsafe {
        libc::waitid(
            libc::P_PID,
            id,
            ptr::null_mut(),
            libc::WSTOPPED | libc::WNOHANG,
        )
    };
    Some(signal)
}

/// Why no call could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each processor has its part of them")]
pub(crate) enum CallError {
    /// The program's code is for another instruction set than this one, for example 32 bits.
    OtherCode,
    /// The kernel does not let this process touch the program; its error number.
    Refused(i32),
    /// The program is gone.
    Ended,
    /// Not written for this processor.
    Unsupported,
}

/// Processors for which nobody has written how a system call is made.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl HeldProcess {
    /// Refuses.
    pub(crate) fn call(&mut self, _number: libc::c_long, _argument: u64) -> Result<i64, CallError> {
        Err(CallError::Unsupported)
    }
}
