//! Where other processes reach the loop.

use std::sync::atomic::AtomicBool;

use kadenz_ethercat::control::health::Health;
use kadenz_ethercat::control::notice::Notices;
use kadenz_ethercat::control::steward::Roster;
use kadenz_ethercat::control::timing::Timing;
use kadenz_ethercat::main_device::postbox::Postbox;

/// What is told of the loop.
pub(super) struct Told<'t> {
    pub(super) roster: &'t Roster,
    pub(super) notices: &'t Notices,
    pub(super) health: &'t Health,
    pub(super) timing: &'t Timing,
    pub(super) postbox: &'t Postbox,
}

#[cfg(target_os = "linux")]
pub(super) use linux::Desk;

#[cfg(target_os = "linux")]
mod linux {
    use super::{AtomicBool, Told};
    use crate::output;
    use kadenz_ethercat::control::desk;

    /// A socket that answers, where there could be one.
    pub(in super::super) struct Desk(Option<desk::Desk>);

    impl Desk {
        /// By the name that was given. Without one a loop runs also where there is no place for a socket.
        pub(in super::super) fn open(name: Option<&str>) -> anyhow::Result<Self> {
            if let Some(name) = name {
                return Ok(Self(Some(desk::Desk::open(name)?)));
            }
            match desk::Desk::open(&format!("run-{}", std::process::id())) {
                Ok(desk) => Ok(Self(Some(desk))),
                Err(error) => {
                    output::note(&format!(
                        "`kadenz ethercat stats` will not reach this loop: {error}"
                    ));
                    Ok(Self(None))
                }
            }
        }

        /// Answers until `stop` is set.
        pub(in super::super) fn serve(&self, told: &Told<'_>, stop: &AtomicBool) {
            let Some(desk) = &self.0 else { return };
            let counter = desk::Counter {
                roster: told.roster,
                notices: told.notices,
                health: told.health,
                timing: Some(told.timing),
                postbox: told.postbox,
            };
            desk.serve(&counter, stop);
        }
    }
}

/// There is none on this system.
#[cfg(not(target_os = "linux"))]
pub(super) struct Desk;

#[cfg(not(target_os = "linux"))]
impl Desk {
    pub(super) fn open(name: Option<&str>) -> anyhow::Result<Self> {
        anyhow::ensure!(name.is_none(), "--name needs Linux");
        Ok(Self)
    }

    pub(super) fn serve(&self, told: &Told<'_>, _: &AtomicBool) {
        // Nobody can ask for them here.
        let _ = (
            told.roster,
            told.notices,
            told.health,
            told.timing,
            told.postbox,
        );
    }
}
