use std::io;

use super::{OpenSleeperError, Sleeper, SleeperKind, SleeperOptions, spin, std_sleep};

/// Makes a sleeper. All that it will ever allocate is allocated here.
///
/// # Errors
/// Where this operating system has no such mechanism, or refuses one more timer or descriptor.
pub fn open(
    kind: SleeperKind,
    options: SleeperOptions,
) -> Result<Box<dyn Sleeper>, OpenSleeperError> {
    if !kind.is_available() {
        return Err(OpenSleeperError::Unavailable(kind));
    }
    make(kind, options).map_err(|source| OpenSleeperError::Refused { kind, source })
}

#[cfg(target_os = "linux")]
fn make(kind: SleeperKind, options: SleeperOptions) -> io::Result<Box<dyn Sleeper>> {
    use super::{condvar, nanosleep, nanosleep_relative, poll, posix_timer, timerfd};
    Ok(match kind {
        SleeperKind::NanosleepRelative => {
            Box::new(nanosleep_relative::NanosleepRelative::default())
        }
        SleeperKind::Timerfd => Box::new(timerfd::Timerfd::create()?),
        SleeperKind::PosixTimer => Box::new(posix_timer::PosixTimerSleeper::create()?),
        SleeperKind::Condvar => Box::new(condvar::Condvar::create()?),
        SleeperKind::Poll => Box::new(poll::Poll::default()),
        SleeperKind::Std => Box::new(std_sleep::StdSleep::default()),
        SleeperKind::Spin => Box::new(spin::Spin::new(
            nanosleep::Nanosleep::default(),
            options.spin_margin,
        )),
        SleeperKind::Nanosleep | SleeperKind::WaitableTimer | SleeperKind::MachWait => {
            Box::new(nanosleep::Nanosleep::default())
        }
    })
}

#[cfg(target_os = "macos")]
fn make(kind: SleeperKind, options: SleeperOptions) -> io::Result<Box<dyn Sleeper>> {
    use super::{condvar_std, mach_wait, nanosleep_relative};
    Ok(match kind {
        SleeperKind::NanosleepRelative => {
            Box::new(nanosleep_relative::NanosleepRelative::default())
        }
        SleeperKind::Condvar => Box::new(condvar_std::Condvar::create()?),
        SleeperKind::Std => Box::new(std_sleep::StdSleep::default()),
        SleeperKind::Spin => Box::new(spin::Spin::new(
            mach_wait::MachWait::new(),
            options.spin_margin,
        )),
        _ => Box::new(mach_wait::MachWait::new()),
    })
}

#[cfg(windows)]
fn make(kind: SleeperKind, options: SleeperOptions) -> io::Result<Box<dyn Sleeper>> {
    use super::{condvar_std, waitable_timer};
    Ok(match kind {
        SleeperKind::Condvar => Box::new(condvar_std::Condvar::create()?),
        SleeperKind::Std => Box::new(std_sleep::StdSleep::default()),
        SleeperKind::Spin => {
            let timer = waitable_timer::WaitableTimerSleeper::create()?;
            Box::new(spin::Spin::new(timer, options.spin_margin))
        }
        _ => Box::new(waitable_timer::WaitableTimerSleeper::create()?),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
fn make(kind: SleeperKind, options: SleeperOptions) -> io::Result<Box<dyn Sleeper>> {
    use super::condvar_std;
    Ok(match kind {
        SleeperKind::Condvar => Box::new(condvar_std::Condvar::create()?),
        SleeperKind::Spin => Box::new(spin::Spin::new(
            std_sleep::StdSleep::default(),
            options.spin_margin,
        )),
        _ => Box::new(std_sleep::StdSleep::default()),
    })
}
