//! The foundation of Kadenz: clocks, sleepers, the beat, tuning, the priority-inheriting mutex, host facts and the
//! doctor.
//!
//! A real-time loop takes its time from [`clock`], its wake-ups from [`sleep`] and its intended times from
//! [`beat`]. [`tuning`] requests the settings that the loop needs from the kernel and reports the granted ones,
//! [`net`] sends and receives with the kernel's stamps, and [`shield`] keeps everything else off its CPUs. None of
//! the loops allocates, locks or logs once it has been created. [`host`] and [`doctor`] examine the machine around
//! the loop.
//!
//! Of the crates, only this one holds `unsafe` code, in a few modules: `os` (system calls behind safe functions),
//! `clock::tsc` and [`pi_mutex`]. The bindings to C and Java have some of their own.

pub mod beat;
pub mod clock;
pub mod doctor;
pub mod host;
pub mod launch;
pub mod net;
mod os;
pub mod own_file;
pub mod pi_mutex;
pub mod random;
pub mod regular_file;
#[cfg(target_os = "linux")]
pub mod shared;
pub mod shield;
pub mod sleep;
pub mod terminal;
pub mod tuning;
pub mod units;
#[cfg(target_os = "linux")]
pub mod video;

/// How tests report what they skip, and how they become an ordinary user.
#[cfg(test)]
mod testing {
    /// Drops the capabilities of the calling thread alone, so that it has the rights of an ordinary user.
    #[cfg(target_os = "linux")]
    pub(crate) fn give_up_capabilities() {
        use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
        let none = CapabilitySet::empty();
        let sets = CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        };
        assert_eq!(set_capabilities(None, sets), Ok(()));
    }

    /// Reports that a test was skipped; with `KADENZ_SKIP_NOTHING=1` that is a failure.
    pub(crate) fn skip(test: &str, missing: &str) {
        let message = format!("skipped: {test}: {missing}");
        assert!(
            std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
            "{message}"
        );
        eprintln!("{message}");
    }
}
