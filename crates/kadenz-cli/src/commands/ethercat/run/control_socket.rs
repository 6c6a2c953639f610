//! Where other processes reach the loop.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kadenz_ethercat::control::actuators::Actuators;
use kadenz_ethercat::control::health::Health;
use kadenz_ethercat::control::notice::Notices;
use kadenz_ethercat::control::supervisor::DeviceTable;
use kadenz_ethercat::control::timing::Timing;
use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
use kadenz_ethercat::motion::MotionHandle;

use super::process_image::ProcessImage;

/// What is told of the loop.
pub(super) struct Told<'t> {
    pub(super) device_table: &'t DeviceTable,
    pub(super) notices: &'t Notices,
    pub(super) health: &'t Health,
    pub(super) timing: &'t Timing,
    pub(super) queue: &'t AcyclicQueue,
    pub(super) image: &'t ProcessImage,
    pub(super) actuators: &'t Actuators,
    /// Where there are axes.
    pub(super) handle: Option<&'t MotionHandle>,
    /// Time between two beats.
    pub(super) interval: Duration,
}

#[cfg(target_os = "linux")]
pub(super) use linux::ControlServer;

#[cfg(target_os = "linux")]
mod linux {
    use std::sync::{Mutex, PoisonError};

    use kadenz_ethercat::control::control_socket;
    use kadenz_lab::stop::Stop;

    use super::{AtomicBool, Told};
    use crate::commands::ethercat::run::bus::Ends;
    use crate::output;

    /// A socket that answers, where there could be one.
    pub(in super::super) struct ControlServer(Option<control_socket::ControlServer>);

    impl ControlServer {
        /// By the name that was given. Without one a loop runs also where there is no place for a socket.
        pub(in super::super) fn open(name: Option<&str>) -> anyhow::Result<Self> {
            // Each client needs a descriptor. With as many as there are before, it hears as many as those allow.
            let _ = kadenz_rt::net::listener::raise_open_files();
            if let Some(name) = name {
                return Ok(Self(Some(control_socket::ControlServer::open(name)?)));
            }
            match control_socket::ControlServer::open(&format!(
                "{}{}",
                control_socket::UNNAMED,
                std::process::id()
            )) {
                Ok(server) => Ok(Self(Some(server))),
                Err(error) => {
                    output::note(&format!(
                        "`kadenz ethercat stats` will not reach this loop: {error}"
                    ));
                    Ok(Self(None))
                }
            }
        }

        /// The loop's name, where others can reach it.
        pub(in super::super) fn name(&self) -> Option<&str> {
            self.0.as_ref().map(control_socket::ControlServer::name)
        }

        /// Does the work of a bring-up, and lets others see that and end it by `stop`; who ended it.
        pub(in super::super) fn while_bringing_up<R>(
            &self,
            stop: &Stop,
            work: impl FnOnce() -> R,
        ) -> (R, Option<String>) {
            let Some(server) = &self.0 else {
                return (work(), None);
            };
            let (done, ended_by) = (AtomicBool::new(false), Mutex::new(None));
            let end = |by: &str| {
                let mut ended_by = ended_by.lock().unwrap_or_else(PoisonError::into_inner);
                ended_by.get_or_insert_with(|| by.to_owned());
                stop.request();
            };
            let worked = std::thread::scope(|scope| {
                scope.spawn(|| server.serve_bring_up(&end, &done));
                let _ends = Ends(&done);
                work()
            });
            let ended_by = ended_by.into_inner();
            (worked, ended_by.unwrap_or_else(PoisonError::into_inner))
        }

        /// Answers until `stop` is set.
        pub(in super::super) fn serve(&self, told: &Told<'_>, stop: &AtomicBool) {
            let Some(server) = &self.0 else { return };
            let counter = control_socket::ServerContext {
                device_table: told.device_table,
                notices: told.notices,
                health: told.health,
                timing: Some(told.timing),
                queue: told.queue,
                shown: told.image.shown(told.interval),
                actuators: Some(told.actuators),
                handle: told.handle,
            };
            server.serve(&counter, stop);
        }
    }
}

/// There is none on this system.
#[cfg(not(target_os = "linux"))]
pub(super) struct ControlServer;

#[cfg(not(target_os = "linux"))]
impl ControlServer {
    pub(super) fn open(name: Option<&str>) -> anyhow::Result<Self> {
        anyhow::ensure!(name.is_none(), "--name needs Linux");
        Ok(Self)
    }

    pub(super) fn name(&self) -> Option<&str> {
        None
    }

    pub(super) fn while_bringing_up<R>(
        &self,
        _: &kadenz_lab::stop::Stop,
        work: impl FnOnce() -> R,
    ) -> (R, Option<String>) {
        (work(), None)
    }

    pub(super) fn serve(&self, told: &Told<'_>, _: &AtomicBool) {
        // Nobody can ask for them here.
        let _ = (told.device_table, told.notices, told.health, told.timing);
        let _ = (told.queue, told.image, told.actuators, told.handle);
        let _ = told.interval;
    }
}
