//! A program that is held before its first instruction, to make one system call in its name.

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
pub(crate) struct Held {
    pid: libc::pid_t,
    mask: Mask,
    /// A signal that came meanwhile and is handed over when the process goes on.
    pending: i32,
}

impl Held {
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

impl Drop for Held {
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

#[cfg(not(target_arch = "x86_64"))]
impl Held {
    /// Makes a system call in the name of the process.
    pub(crate) fn call(&mut self, _number: libc::c_long, _argument: u64) -> Result<i64, CallError> {
        Err(CallError::Unsupported)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::{CallError, Held, MaybeUninit, errno, ptr};

    /// `syscall`, as the lowest two bytes of a word.
    const SYSCALL: i64 = 0x050f;
    const SYSCALL_BYTES: u64 = 2;
    /// Selector of the code segment for 64 bits: `__USER_CS` of the kernel's asm/segment.h.
    const CODE_64: u64 = 0x33;

    impl Held {
        /// Makes a system call in the name of the process and returns the kernel's answer, an
        /// error number negated. The process is afterwards as it was before.
        pub(crate) fn call(
            &mut self,
            number: libc::c_long,
            argument: u64,
        ) -> Result<i64, CallError> {
            let before = self.registers()?;
            if before.cs != CODE_64 {
                return Err(CallError::OtherCode);
            }
            let code = self.word(before.rip)?;
            self.set_word(before.rip, (code & !0xffff) | SYSCALL)?;
            let after = self.step(&libc::user_regs_struct {
                rax: number.cast_unsigned(),
                // Not within a system call any more, so that the kernel does not repeat one.
                orig_rax: u64::MAX,
                rdi: argument,
                ..before
            });
            self.set_word(before.rip, code)?;
            self.set_registers(&before)?;
            let after = after?;
            if after.rip == before.rip + SYSCALL_BYTES {
                Ok(after.rax.cast_signed())
            } else {
                Err(CallError::OtherCode)
            }
        }

        /// Executes one instruction.
        fn step(
            &mut self,
            registers: &libc::user_regs_struct,
        ) -> Result<libc::user_regs_struct, CallError> {
            self.set_registers(registers)?;
            // SAFETY: the process is held by this thread; the request takes numbers only.
            let outcome = unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, self.pid, 0, 0) };
            self.checked(outcome)?;
            self.wait_for_trap().ok_or(CallError::Ended)?;
            self.registers()
        }

        fn registers(&self) -> Result<libc::user_regs_struct, CallError> {
            let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
            // SAFETY: the process is held by this thread; the structure is there to be written, and
            // zeroed memory is a valid value of it.
            let (outcome, registers) = unsafe {
                let data = registers.as_mut_ptr();
                let outcome = libc::ptrace(libc::PTRACE_GETREGS, self.pid, 0, data);
                (outcome, registers.assume_init())
            };
            self.checked(outcome).map(|()| registers)
        }

        fn set_registers(&self, registers: &libc::user_regs_struct) -> Result<(), CallError> {
            let data = ptr::from_ref(registers);
            // SAFETY: the process is held by this thread; the structure is live.
            self.checked(unsafe { libc::ptrace(libc::PTRACE_SETREGS, self.pid, 0, data) })
        }

        fn word(&self, address: u64) -> Result<i64, CallError> {
            // A word of -1 looks like an error; then this number tells.
            // SAFETY: the place of this thread's error number is always there to be written.
            unsafe { *libc::__errno_location() = 0 };
            // SAFETY: the process is held by this thread; the address is in that process, and the
            // kernel refuses one that is not mapped there.
            let word = unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, self.pid, address, 0) };
            match errno() {
                0 => Ok(word),
                errno => Err(CallError::Refused(errno)),
            }
        }

        fn set_word(&self, address: u64, word: i64) -> Result<(), CallError> {
            // SAFETY: as above; what is written is code of that process, put back before it goes on.
            self.checked(unsafe { libc::ptrace(libc::PTRACE_POKETEXT, self.pid, address, word) })
        }

        fn checked(&self, outcome: libc::c_long) -> Result<(), CallError> {
            match outcome {
                -1 if errno() == libc::ESRCH => Err(CallError::Ended),
                -1 => Err(CallError::Refused(errno())),
                _ => Ok(()),
            }
        }
    }
}
