//! Windows: waitable timers, the timer resolution, thread priority, facts of the machine. Items that `windows-sys`
//! lacks are declared as Microsoft documents them.

use std::io;
use std::ptr;

use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, WAIT_OBJECT_0};
use windows_sys::Win32::Media::{TIMERR_NOERROR, timeBeginPeriod, timeEndPeriod};
use windows_sys::Win32::System::Power::{GetSystemPowerStatus, SYSTEM_POWER_STATUS};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
use windows_sys::Win32::System::Threading::{
    CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, CreateWaitableTimerExW, GetCurrentThread,
    GetThreadPriority, INFINITE, SetThreadAffinityMask, SetThreadPriority, SetWaitableTimer,
    TIMER_ALL_ACCESS, WaitForSingleObject,
};

/// Makes Windows raise timer interrupts every millisecond, for as long as it lives.
#[derive(Debug)]
pub(crate) struct TimerResolution(());

impl TimerResolution {
    const PERIOD_MS: u32 = 1;

    /// `None` when Windows refuses.
    pub(crate) fn begin() -> Option<Self> {
        // SAFETY: the call takes a number.
        let outcome = unsafe { timeBeginPeriod(Self::PERIOD_MS) };
        (outcome == TIMERR_NOERROR).then_some(Self(()))
    }
}

impl Drop for TimerResolution {
    fn drop(&mut self) {
        // SAFETY: `begin` requested this period, and it is given back once.
        unsafe { timeEndPeriod(Self::PERIOD_MS) };
    }
}

/// A timer that a thread can wait for.
#[derive(Debug)]
pub(crate) struct WaitableTimer {
    handle: HANDLE,
    /// Held where Windows is too old for a high-resolution timer.
    _resolution: Option<TimerResolution>,
}

// SAFETY: a handle belongs to the process, and any of its threads may use it.
unsafe impl Send for WaitableTimer {}

impl WaitableTimer {
    /// Creates a high-resolution timer (Windows 10 1803 and later), else an ordinary one together
    /// with a finer timer resolution.
    pub(crate) fn create() -> io::Result<Self> {
        let fine = Self::create_with(CREATE_WAITABLE_TIMER_HIGH_RESOLUTION);
        if !fine.is_null() {
            return Ok(Self {
                handle: fine,
                _resolution: None,
            });
        }
        let coarse = Self::create_with(0);
        if coarse.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            handle: coarse,
            _resolution: TimerResolution::begin(),
        })
    }

    fn create_with(flags: u32) -> HANDLE {
        // SAFETY: default security and no name may both be null.
        unsafe { CreateWaitableTimerExW(ptr::null(), ptr::null(), flags, TIMER_ALL_ACCESS) }
    }

    /// Waits for a span. Returns false when the wait failed.
    #[inline]
    pub(crate) fn wait_for(&self, span_ns: u64) -> bool {
        // Negative means relative, in units of 100 ns; rounded up so that no wait ends early.
        let due = i64::try_from(span_ns.div_ceil(100)).map_or(i64::MIN, |units| -units);
        // SAFETY: the handle is a timer that `self` owns, `due` is live, and there is no routine
        // to call.
        let armed =
            unsafe { SetWaitableTimer(self.handle, &raw const due, 0, None, ptr::null(), 0) };
        // SAFETY: the handle is a timer that `self` owns.
        armed != 0 && unsafe { WaitForSingleObject(self.handle, INFINITE) } == WAIT_OBJECT_0
    }
}

impl Drop for WaitableTimer {
    fn drop(&mut self) {
        // SAFETY: the handle is owned and closed once.
        unsafe { CloseHandle(self.handle) };
    }
}

/// The calling thread's priority; see `THREAD_PRIORITY_*`.
pub(crate) fn thread_priority() -> i32 {
    // SAFETY: the pseudo handle of the calling thread is always valid.
    unsafe { GetThreadPriority(GetCurrentThread()) }
}

/// Sets the calling thread's priority.
pub(crate) fn set_thread_priority(priority: i32) -> io::Result<()> {
    // SAFETY: as above.
    let done = unsafe { SetThreadPriority(GetCurrentThread(), priority) };
    if done != 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Sets the processors of the calling thread, and returns the previous mask.
pub(crate) fn set_affinity(mask: usize) -> io::Result<usize> {
    // SAFETY: as above.
    let before = unsafe { SetThreadAffinityMask(GetCurrentThread(), mask) };
    if before != 0 {
        Ok(before)
    } else {
        Err(io::Error::last_os_error())
    }
}

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
