//! The terminal that a program was started from.

use std::io;

use crate::os::linux::signals;

/// Lets this process go on in the background (`PROGRAM &`, or Ctrl-Z and `bg`) when it reads from its
/// terminal: the read fails then ([`is_background`]), where otherwise the kernel stops the process
/// (`SIGTTIN`), and with it everything that it does besides. Programs that it starts inherit that.
///
/// ```
/// kadenz_rt::terminal::read_without_stopping()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// When the kernel refuses, which it does not on Linux.
pub fn read_without_stopping() -> io::Result<()> {
    signals::ignore(libc::SIGTTIN)
}

/// Whether a read of a terminal failed because this process is in the background, as it may not be for
/// ever: try again later.
#[must_use]
pub fn is_background(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EIO)
}

#[cfg(test)]
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
