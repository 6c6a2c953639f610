//! The control socket, by which other processes reach the loop.

use kadenz_ethercat::control::notice::Notices;
use kadenz_ethercat::control::supervisor::DeviceTable;
use kadenz_ethercat::running_loop::threads::LoopThreads;

use super::network::StopHandle;
use super::process_image::ProcessImage;

/// The server of the control socket, where one was opened.
#[derive(Debug, Default)]
pub(super) struct ControlSocket {
    #[cfg(target_os = "linux")]
    pub(super) server: Option<kadenz_ethercat::running_loop::control_socket::ControlServer>,
}

/// The state of the loop that the socket shows.
#[cfg_attr(
    not(target_os = "linux"),
    expect(
        dead_code,
        reason = "only the control socket reads it, which exists on Linux"
    )
)]
pub(super) struct ControlContext<'t> {
    pub(super) device_table: &'t DeviceTable,
    pub(super) notices: &'t Notices,
    pub(super) threads: &'t LoopThreads,
    pub(super) image: &'t ProcessImage,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::sync::atomic::AtomicBool;
    use std::sync::{Mutex, PoisonError};

    use kadenz_ethercat::running_loop::control_socket::ServerContext;

    use super::super::running_network::SetOnDrop;
    use super::{ControlContext, ControlSocket, StopHandle};

    impl ControlSocket {
        /// The loop's name for clients, where there is a socket.
        pub(in super::super) fn name(&self) -> Option<&str> {
            self.server.as_ref().map(|it| it.name())
        }

        /// Runs a bring-up, which clients see and may end by `stop`; returns also the client that ended it.
        pub(in super::super) fn while_bringing_up<R>(
            &self,
            stop: &StopHandle,
            work: impl FnOnce() -> R,
        ) -> (R, Option<String>) {
            let Some(server) = &self.server else {
                return (work(), None);
            };
            let (done, ended_by) = (AtomicBool::new(false), Mutex::new(None));
            let end = |by: &str| {
                let mut ended_by = ended_by.lock().unwrap_or_else(PoisonError::into_inner);
                ended_by.get_or_insert_with(|| by.to_owned());
                stop.stop();
            };
            let worked = std::thread::scope(|scope| {
                scope.spawn(|| server.serve_bring_up(&end, &done));
                let _ends = SetOnDrop(&done);
                work()
            });
            let ended_by = ended_by.into_inner();
            (worked, ended_by.unwrap_or_else(PoisonError::into_inner))
        }

        /// Serves clients until the loop's threads end.
        pub(in super::super) fn serve(&self, state: &ControlContext<'_>) {
            let Some(server) = &self.server else { return };
            let threads = state.threads;
            let context = ServerContext {
                device_table: state.device_table,
                notices: state.notices,
                health: &threads.health,
                timing: Some(&threads.timing),
                queue: &threads.queue,
                shown: state.image.shown(),
                output_requests: Some(&threads.output_requests),
                handle: state.image.has_axes().then_some(&*threads.handle),
            };
            server.serve(&context, &threads.halt);
        }
    }
}

/// This system has no control socket.
#[cfg(not(target_os = "linux"))]
impl ControlSocket {
    pub(super) const fn name(&self) -> Option<&str> {
        None
    }

    pub(super) fn while_bringing_up<R>(
        &self,
        _: &StopHandle,
        work: impl FnOnce() -> R,
    ) -> (R, Option<String>) {
        (work(), None)
    }

    pub(super) fn serve(&self, _: &ControlContext<'_>) {}
}
