//! A system call of aarch64: by `svc #0`, the number in `x8`, the argument in `x0`.

use libc::user_regs_struct as Registers;

/// Length of the instruction.
pub(super) const LENGTH: u64 = 4;

/// Whether the program's code is 64-bit. 32-bit code has another set of registers, which was refused before.
pub(super) fn is_64_bits(_registers: &Registers) -> bool {
    true
}

/// The address of the next instruction.
pub(super) fn at(registers: &Registers) -> u64 {
    registers.pc
}

/// A word of code that begins with the instruction.
pub(super) fn instruction(code: i64) -> i64 {
    (code & !0xffff_ffff) | 0xd400_0001
}

/// The registers for the call.
pub(super) fn calling(before: &Registers, number: libc::c_long, argument: u64) -> Registers {
    let mut calling = *before;
    calling.regs[8] = number.cast_unsigned();
    calling.regs[0] = argument;
    calling
}

/// The kernel's result.
pub(super) fn answer(after: &Registers) -> i64 {
    after.regs[0].cast_signed()
}
