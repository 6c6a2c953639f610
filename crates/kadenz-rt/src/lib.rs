//! The floor of Kadenz: clocks, sleepers, the beat, tuning, the priority-inheriting mutex, host
//! facts and the doctor.
//!
//! A real-time loop takes its time from [`clock`], its wake-ups from [`sleep`] and its intended
//! times from [`beat`]. [`tuning`] asks the kernel for what the loop needs and reports what was
//! granted, [`net`] sends and receives with the kernel's stamps, and [`shield`] keeps everything else
//! off its CPUs. None of the loops allocates, locks or logs once it has been created. [`host`] and
//! [`doctor`] look at the machine around the loop.
//!
//! This is the only crate of the workspace that holds `unsafe` code, and there it stands in few
//! modules: `os` (system calls behind safe functions), `clock::tsc` and [`pi_mutex`].

pub mod beat;
pub mod clock;
pub mod doctor;
pub mod host;
pub mod launch;
pub mod memory;
pub mod net;
mod os;
pub mod own_file;
pub mod pi_mutex;
#[cfg(target_os = "linux")]
pub mod shared;
pub mod shield;
pub mod sleep;
pub mod terminal;
pub mod tuning;
pub mod units;
#[cfg(target_os = "linux")]
pub mod video;

/// How tests name what they leave out.
#[cfg(test)]
mod testing {
    /// Says that a test was skipped; with `KADENZ_SKIP_NOTHING=1` that is a failure.
    pub(crate) fn skip(test: &str, missing: &str) {
        let message = format!("skipped: {test}: {missing}");
        assert!(
            std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
            "{message}"
        );
        eprintln!("{message}");
    }
}
