//! Facts of Windows. What `windows-sys` lacks is declared as Microsoft documents it.

use windows_sys::Win32::System::Power::{GetSystemPowerStatus, SYSTEM_POWER_STATUS};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};

/// `OSVERSIONINFOW`.
#[repr(C)]
struct Version {
    size: u32,
    major: u32,
    minor: u32,
    build: u32,
    platform: u32,
    service_pack: [u16; 128],
}

#[link(name = "ntdll")]
unsafe extern "system" {
    fn RtlGetVersion(version: *mut Version) -> i32;
    fn NtQueryTimerResolution(coarsest: *mut u32, finest: *mut u32, current: *mut u32) -> i32;
}

/// Major, minor and build number.
pub(crate) fn version() -> Option<(u32, u32, u32)> {
    let size = u32::try_from(size_of::<Version>()).ok()?;
    let mut version = Version {
        size,
        major: 0,
        minor: 0,
        build: 0,
        platform: 0,
        service_pack: [0; 128],
    };
    // SAFETY: the pointer leads to a structure of the size it states, alive through the call.
    let status = unsafe { RtlGetVersion(&raw mut version) };
    (status == 0).then_some((version.major, version.minor, version.build))
}

/// Physical memory in bytes.
pub(crate) fn memory_bytes() -> Option<u64> {
    let mut status = MEMORYSTATUSEX {
        dwLength: u32::try_from(size_of::<MEMORYSTATUSEX>()).ok()?,
        ..MEMORYSTATUSEX::default()
    };
    // SAFETY: the pointer leads to a structure of the length it states, alive through the call.
    let result = unsafe { GlobalMemoryStatusEx(&raw mut status) };
    (result != 0).then_some(status.ullTotalPhys)
}

/// Whether the machine runs on battery; `None` when Windows does not know.
pub(crate) fn on_battery() -> Option<bool> {
    let mut status = SYSTEM_POWER_STATUS::default();
    // SAFETY: the pointer leads to a structure that lives through the call.
    let result = unsafe { GetSystemPowerStatus(&raw mut status) };
    // 0 battery, 1 mains, 255 unknown.
    (result != 0 && status.ACLineStatus <= 1).then_some(status.ACLineStatus == 0)
}

/// The timer interrupt's interval in units of 100 ns: coarsest, finest and current.
pub(crate) fn timer_interval() -> Option<(u32, u32, u32)> {
    let (mut coarsest, mut finest, mut current) = (0, 0, 0);
    // SAFETY: the pointers lead to three numbers that live through the call.
    let status =
        unsafe { NtQueryTimerResolution(&raw mut coarsest, &raw mut finest, &raw mut current) };
    (status == 0).then_some((coarsest, finest, current))
}
