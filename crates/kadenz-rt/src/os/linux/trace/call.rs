//! One system call in the name of a stopped process: an instruction replaces the next one, is executed alone, and
//! everything is restored.

use std::mem::MaybeUninit;

use libc::user_regs_struct as Registers;

#[cfg(target_arch = "aarch64")]
use super::aarch64 as processor;
#[cfg(target_arch = "x86_64")]
use super::x86_64 as processor;
use super::{CallError, HeldProcess, errno};

impl HeldProcess {
    /// Makes a system call in the name of the process and returns the kernel's answer, an error
    /// number negated. The process is afterwards as it was before.
    pub(crate) fn call(&mut self, number: libc::c_long, argument: u64) -> Result<i64, CallError> {
        let before = self.registers()?;
        if !processor::is_64_bits(&before) {
            return Err(CallError::OtherCode);
        }
        let place = processor::at(&before);
        let code = self.word(place)?;
        self.set_word(place, processor::instruction(code))?;
        let after = self.step(&processor::calling(&before, number, argument));
        self.set_word(place, code)?;
        self.set_registers(&before)?;
        let after = after?;
        if processor::at(&after) == place + processor::LENGTH {
            Ok(processor::answer(&after))
        } else {
            Err(CallError::OtherCode)
        }
    }

    /// Executes one instruction.
    fn step(&mut self, registers: &Registers) -> Result<Registers, CallError> {
        self.set_registers(registers)?;
        // SAFETY: this thread has stopped the process; the request takes numbers only.
        checked(unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, self.pid, 0, 0) })?;
        self.wait_for_trap().ok_or(CallError::Ended)?;
        self.registers()
    }

    fn registers(&self) -> Result<Registers, CallError> {
        let mut registers = MaybeUninit::<Registers>::zeroed();
        let mut place = libc::iovec {
            iov_base: registers.as_mut_ptr().cast(),
            iov_len: size_of::<Registers>(),
        };
        let data = &raw mut place;
        // SAFETY: this thread has stopped the process; the kernel writes into the live structure, at most the given
        // length, and notes how much that was.
        checked(unsafe { libc::ptrace(libc::PTRACE_GETREGSET, self.pid, GENERAL, data) })?;
        if place.iov_len != size_of::<Registers>() {
            return Err(CallError::OtherCode);
        }
        // SAFETY: it has been filled in, and any bytes are a value of it.
        Ok(unsafe { registers.assume_init() })
    }

    fn set_registers(&self, registers: &Registers) -> Result<(), CallError> {
        let mut place = libc::iovec {
            iov_base: std::ptr::from_ref(registers).cast_mut().cast(),
            iov_len: size_of::<Registers>(),
        };
        let data = &raw mut place;
        // SAFETY: this thread has stopped the process; the kernel only reads the live structure.
        checked(unsafe { libc::ptrace(libc::PTRACE_SETREGSET, self.pid, GENERAL, data) })
    }

    fn word(&self, address: u64) -> Result<i64, CallError> {
        // A word of -1 looks like an error; then the error number decides.
        // SAFETY: the place of this thread's error number is always there to be written.
        unsafe { *libc::__errno_location() = 0 };
        // SAFETY: this thread has stopped the process; the address is in that process, and the kernel refuses an
        // address that is not mapped there.
        let word = unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, self.pid, address, 0) };
        match errno() {
            0 => Ok(word),
            errno => Err(CallError::Refused(errno)),
        }
    }

    fn set_word(&self, address: u64, word: i64) -> Result<(), CallError> {
        // SAFETY: as above; the word is code of that process, and is restored before the process continues.
        checked(unsafe { libc::ptrace(libc::PTRACE_POKETEXT, self.pid, address, word) })
    }
}

/// `NT_PRSTATUS` of elf.h: the general registers.
const GENERAL: libc::c_long = 1;

fn checked(outcome: libc::c_long) -> Result<(), CallError> {
    match outcome {
        -1 if errno() == libc::ESRCH => Err(CallError::Ended),
        -1 => Err(CallError::Refused(errno())),
        _ => Ok(()),
    }
}
