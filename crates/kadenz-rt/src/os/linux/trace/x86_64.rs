//! A system call of x86_64: by `syscall`, the number in `rax`, the argument in `rdi`.

use libc::user_regs_struct as Registers;

/// Length of the instruction.
pub(super) const LENGTH: u64 = 2;
/// Selector of the code segment for 64 bits: `__USER_CS` of the kernel's asm/segment.h.
const CODE_64: u64 = 0x33;

/// Whether the program's code is 64-bit.
pub(super) fn is_64_bits(registers: &Registers) -> bool {
    registers.cs == CODE_64
}

/// The address of the next instruction.
pub(super) fn at(registers: &Registers) -> u64 {
    registers.rip
}

/// A word of code that begins with the instruction.
pub(super) fn instruction(code: i64) -> i64 {
    (code & !0xffff) | 0x050f
}

/// The registers for the call.
pub(super) fn calling(before: &Registers, number: libc::c_long, argument: u64) -> Registers {
    Registers {
        rax: number.cast_unsigned(),
        // Marks the thread as outside a system call, so that the kernel does not restart one.
        orig_rax: u64::MAX,
        rdi: argument,
        ..*before
    }
}

/// The kernel's result.
pub(super) fn answer(after: &Registers) -> i64 {
    after.rax.cast_signed()
}
