//! Facts of Windows. The declarations follow the documentation of the functions they name.

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

/// `MEMORYSTATUSEX`.
#[repr(C)]
struct MemoryStatus {
    length: u32,
    load: u32,
    total_physical: u64,
    rest: [u64; 6],
}

/// `SYSTEM_POWER_STATUS`.
#[repr(C)]
struct PowerStatus {
    line: u8,
    battery: u8,
    percent: u8,
    saver: u8,
    seconds: [u32; 2],
}

#[link(name = "ntdll")]
unsafe extern "system" {
    fn RtlGetVersion(version: *mut Version) -> i32;
    fn NtQueryTimerResolution(coarsest: *mut u32, finest: *mut u32, current: *mut u32) -> i32;
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GlobalMemoryStatusEx(status: *mut MemoryStatus) -> i32;
    fn GetSystemPowerStatus(status: *mut PowerStatus) -> i32;
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
    let length = u32::try_from(size_of::<MemoryStatus>()).ok()?;
    let mut status = MemoryStatus {
        length,
        load: 0,
        total_physical: 0,
        rest: [0; 6],
    };
    // SAFETY: the pointer leads to a structure of the length it states, alive through the call.
    let result = unsafe { GlobalMemoryStatusEx(&raw mut status) };
    (result != 0).then_some(status.total_physical)
}

/// Whether the machine runs on battery; `None` when Windows does not know.
pub(crate) fn on_battery() -> Option<bool> {
    let mut status = PowerStatus {
        line: 255,
        battery: 0,
        percent: 0,
        saver: 0,
        seconds: [0; 2],
    };
    // SAFETY: the pointer leads to a structure that lives through the call.
    let result = unsafe { GetSystemPowerStatus(&raw mut status) };
    // 0 battery, 1 mains, 255 unknown.
    (result != 0 && status.line <= 1).then_some(status.line == 0)
}

/// The timer interrupt's interval in units of 100 ns: coarsest, finest and current.
pub(crate) fn timer_interval() -> Option<(u32, u32, u32)> {
    let (mut coarsest, mut finest, mut current) = (0, 0, 0);
    // SAFETY: the pointers lead to three numbers that live through the call.
    let status =
        unsafe { NtQueryTimerResolution(&raw mut coarsest, &raw mut finest, &raw mut current) };
    (status == 0).then_some((coarsest, finest, current))
}
