//! Facts on systems other than Linux, from the standard library and simple calls.

use super::HostFacts;

#[cfg(target_os = "macos")]
pub(super) fn facts() -> HostFacts {
    use crate::os::macos::{sysctl_number as number, sysctl_text as text};

    let virtual_machine = number("kern.hv_vmm_present");
    HostFacts {
        os_release: text("kern.osproductversion").map(|version| format!("macOS {version}")),
        kernel: text("kern.osrelease"),
        cpu: text("machdep.cpu.brand_string"),
        cpus: number("hw.activecpu")
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(0),
        memory_bytes: number("hw.memsize"),
        virtualisation: virtual_machine.map(|present| {
            let word = if present == 0 {
                "none"
            } else {
                "unnamed hypervisor"
            };
            word.to_owned()
        }),
        ..HostFacts::default()
    }
}

#[cfg(windows)]
pub(super) fn facts() -> HostFacts {
    use crate::os::windows;

    let version = windows::version();
    #[cfg(target_arch = "x86_64")]
    let cpu = crate::os::x86_64::brand();
    #[cfg(not(target_arch = "x86_64"))]
    let cpu = std::env::var("PROCESSOR_IDENTIFIER").ok();
    // Windows itself runs above Hyper-V where its security features are on, so a hypervisor that
    // names itself so proves no virtual machine.
    let layer = super::virtualisation::cpuid().filter(|layer| layer.name != "hyper-v");
    HostFacts {
        os_release: version.map(|(major, minor, build)| {
            // Windows 11 still calls itself 10.0; its builds begin at 22000.
            let name = if build >= 22_000 { 11 } else { major };
            format!("Windows {name} ({major}.{minor}.{build})")
        }),
        kernel: version.map(|(major, minor, build)| format!("{major}.{minor}.{build}")),
        cpu,
        memory_bytes: windows::memory_bytes(),
        virtualisation: layer.map(|layer| layer.name),
        ..HostFacts::default()
    }
}

#[cfg(not(any(target_os = "macos", windows)))]
pub(super) fn facts() -> HostFacts {
    HostFacts::default()
}
