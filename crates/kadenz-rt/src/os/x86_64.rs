//! Facts from the instruction CPUID.

#![allow(
    unused_unsafe,
    reason = "later compilers than the oldest supported call CPUID safe"
)]

use std::arch::x86_64::{__cpuid, CpuidResult};

/// The twelve letters with which a hypervisor names itself; `None` on bare metal.
pub(crate) fn hypervisor_signature() -> Option<String> {
    // Bit 31 of leaf 1's ecx means that a hypervisor answers the leaf with its name.
    if leaf(1).ecx & (1 << 31) == 0 {
        return None;
    }
    let CpuidResult { ebx, ecx, edx, .. } = leaf(0x4000_0000);
    text(&[ebx, ecx, edx])
}

/// The processor's name.
#[cfg_attr(
    target_os = "linux",
    allow(dead_code, reason = "Linux has it in /proc/cpuinfo")
)]
pub(crate) fn brand() -> Option<String> {
    if leaf(0x8000_0000).eax < 0x8000_0004 {
        return None;
    }
    let leaves = [0x8000_0002, 0x8000_0003, 0x8000_0004].map(leaf);
    let words: Vec<u32> = leaves
        .iter()
        .flat_map(|l| [l.eax, l.ebx, l.ecx, l.edx])
        .collect();
    text(&words)
}

fn leaf(number: u32) -> CpuidResult {
    // SAFETY: every x86_64 processor has CPUID, and answers unknown leaves with numbers.
    unsafe { __cpuid(number) }
}

fn text(words: &[u32]) -> Option<String> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let text = String::from_utf8_lossy(&bytes)
        .trim_matches(['\0', ' '])
        .to_owned();
    (!text.is_empty()).then_some(text)
}
