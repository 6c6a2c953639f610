//! The terminal that a program was started from.

use std::io;

#[cfg(target_os = "linux")]
use crate::os::linux::signals;
#[cfg(unix)]
use rustix::termios::{self, OptionalActions, SpecialCodeIndex, Termios};

/// Standard input as a terminal that returns each key as it is pressed and echoes none of them. A read returns no
/// bytes where no key was pressed. Dropping this restores the terminal.
#[derive(Debug)]
pub struct RawMode {
    #[cfg(unix)]
    before: Termios,
}

impl RawMode {
    /// Switches the terminal.
    ///
    /// # Errors
    /// Where standard input is not a terminal, and on systems other than Unix.
    #[cfg(unix)]
    pub fn enable() -> io::Result<Self> {
        let before = termios::tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { before })
    }

    /// Fails: this system has no such terminal.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(unix))]
    pub fn enable() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(unix)]
impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Lets this process continue in the background (`PROGRAM &`, or Ctrl-Z and `bg`) when it reads from its terminal:
/// the read then fails ([`is_background`]), where otherwise the kernel stops the process (`SIGTTIN`), and with it
/// everything else that it does. Programs that it starts inherit that.
///
/// ```
/// kadenz_rt::terminal::read_without_stopping()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// When the kernel refuses, which Linux does not.
#[cfg(target_os = "linux")]
pub fn read_without_stopping() -> io::Result<()> {
    signals::ignore(libc::SIGTTIN)
}

/// Whether a read of a terminal failed because this process is in the background. It may come to the foreground
/// later: try again then.
#[cfg(target_os = "linux")]
#[must_use]
pub fn is_background(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EIO)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_signal_that_stops_readers_is_ignored() {
        let ignored = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
            let mask = u64::from_str_radix(line.unwrap().trim(), 16).unwrap();
            mask & 1 << (libc::SIGTTIN - 1) != 0
        };
        read_without_stopping().unwrap();
        assert!(ignored());
    }
}
