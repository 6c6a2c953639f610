//! A network by one handle from opening to end, for languages whose types cannot enforce the order of calls.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kadenz_ethercat::wire::coe::Address;
use kadenz_rt::tuning::Tuning;

use super::device::Device;
use super::error::{BringUpNetworkError, LookUpError, OpenNetworkError, RunNetworkError};
use super::network::Network;
use super::network_loop::NetworkReport;
use super::object::ValueType;
use super::running_network::RunningNetwork;
use super::shared_values::{SharedInput, SharedOutput, SharedValues};
use crate::recording::Recording;

/// Options of a [`SharedNetwork`].
#[derive(Debug, Clone, Default)]
pub struct SharedNetworkOptions {
    /// The rate, as `1kHz`, which is the default.
    pub cycle: Option<String>,
    /// The deadline of a cycle's start, as `400us`.
    pub deadline: Option<String>,
    /// The requested tuning of the loop's thread.
    pub tuning: Tuning,
    /// An ESI file of a vendor, or a folder of them.
    pub esi: Option<PathBuf>,
}

/// A network in one of three stages: brought up, with a loop in the background, ended. Any thread may use it. Dropping it
/// stops the loop, also while other threads wait for its cycles, and waits for its end.
///
/// ```
/// use kadenz::ethercat::{SharedNetwork, SharedNetworkOptions};
///
/// let net = SharedNetwork::open("sim:8", &SharedNetworkOptions::default())?;
/// let actual = net.input("waist yaw", 0x6064, None)?;
/// net.start(None)?;
/// net.running()?.wait_cycle(10, std::time::Duration::from_secs(10));
/// println!("{:?}", actual.get());
/// println!("{}", net.stop()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// No method is for a real-time loop: they lock. The methods of the values that they return are.
#[derive(Debug)]
pub struct SharedNetwork(Mutex<Stage>);

#[derive(Debug)]
enum Stage {
    BroughtUp(Box<Network<'static>>, SharedValues),
    Running(Arc<RunningNetwork>),
    Ended,
    /// The start took the network and failed.
    Failed,
}

/// Why a call of a [`SharedNetwork`] failed.
#[derive(Debug, thiserror::Error)]
pub enum SharedNetworkError {
    /// The segment cannot be opened, or an option is not valid.
    #[error(transparent)]
    Open(#[from] OpenNetworkError),
    /// Bring-up failed.
    #[error(transparent)]
    BringUp(#[from] BringUpNetworkError),
    /// There is no such device or object.
    #[error(transparent)]
    LookUp(#[from] LookUpError),
    /// The loop cannot run, or ended with an error.
    #[error(transparent)]
    Run(#[from] RunNetworkError),
    /// The network has already started.
    #[error(
        "the network has started; get its values before it starts, or open another network and start that"
    )]
    HasStarted,
    /// The network has not started.
    #[error("the network's loop has not started; start it")]
    HasNotStarted,
    /// The network was stopped.
    #[error("the network's loop has ended; open another network and start that")]
    HasEnded,
    /// The start failed.
    #[error("the network's start failed; open another network to try again")]
    HasFailed,
}

impl Stage {
    /// Why no value can be shared and no loop started any more.
    const fn beyond_the_start(&self) -> SharedNetworkError {
        match self {
            Self::BroughtUp(..) | Self::Running(_) => SharedNetworkError::HasStarted,
            Self::Ended => SharedNetworkError::HasEnded,
            Self::Failed => SharedNetworkError::HasFailed,
        }
    }
}

impl SharedNetwork {
    /// Opens a segment by its text, as [`Network::open_segment`], and brings it up.
    ///
    /// # Errors
    /// [`SharedNetworkError`] where an option is not valid or the segment does not come up.
    pub fn open(segment: &str, options: &SharedNetworkOptions) -> Result<Self, SharedNetworkError> {
        let mut builder = Network::open_segment(segment)?.tuned(options.tuning.clone());
        if let Some(cycle) = &options.cycle {
            builder = builder.cycle(cycle)?;
        }
        if let Some(deadline) = &options.deadline {
            builder = builder.deadline(deadline)?;
        }
        if let Some(esi) = &options.esi {
            builder = builder.esi(esi)?;
        }
        let network = Box::new(builder.bring_up()?);
        Ok(Self(Mutex::new(Stage::BroughtUp(
            network,
            SharedValues::default(),
        ))))
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object in the inputs of a device, by the device's name or position; see [`SharedValues::input`].
    ///
    /// # Errors
    /// [`SharedNetworkError`] where there is no such object, or the loop was started before.
    pub fn input(
        &self,
        device: &str,
        object: impl Into<Address>,
        value_type: Option<ValueType>,
    ) -> Result<SharedInput, SharedNetworkError> {
        self.ask(device, |values, device| {
            values.input(device, object, value_type)
        })
    }

    /// An object in the outputs of a device, as [`input`](Self::input).
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn output(
        &self,
        device: &str,
        object: impl Into<Address>,
        value_type: Option<ValueType>,
    ) -> Result<SharedOutput, SharedNetworkError> {
        self.ask(device, |values, device| {
            values.output(device, object, value_type)
        })
    }

    fn ask<T>(
        &self,
        device: &str,
        ask: impl FnOnce(&mut SharedValues, &Device<'_>) -> Result<T, LookUpError>,
    ) -> Result<T, SharedNetworkError> {
        let mut stage = self.stage();
        let (network, values) = match &mut *stage {
            Stage::BroughtUp(network, values) => (network, values),
            other => return Err(other.beyond_the_start()),
        };
        let device = match (network.device(device), device.parse()) {
            (Ok(device), _) => device,
            (Err(_), Ok(position)) => network.device_at(position)?,
            (Err(error), Err(_)) => return Err(error.into()),
        };
        Ok(ask(values, &device)?)
    }

    /// Starts the loop, as [`Network::start`].
    ///
    /// # Errors
    /// [`SharedNetworkError`] where it has started before, or there is no thread.
    pub fn start(&self, run: Option<Arc<Recording>>) -> Result<(), SharedNetworkError> {
        let mut stage = self.stage();
        match std::mem::replace(&mut *stage, Stage::Failed) {
            Stage::BroughtUp(network, values) => {
                *stage = Stage::Running(Arc::new(network.start(values, run)?));
                Ok(())
            }
            other => {
                *stage = other;
                Err(stage.beyond_the_start())
            }
        }
    }

    /// The running loop.
    ///
    /// # Errors
    /// [`SharedNetworkError`] before the start, after a failed start, and after the stop.
    pub fn running(&self) -> Result<Arc<RunningNetwork>, SharedNetworkError> {
        match &*self.stage() {
            Stage::BroughtUp(..) => Err(SharedNetworkError::HasNotStarted),
            Stage::Running(running) => Ok(Arc::clone(running)),
            other => Err(other.beyond_the_start()),
        }
    }

    /// Ends the loop, as [`RunningNetwork::stop`].
    ///
    /// # Errors
    /// [`SharedNetworkError`] where the loop does not run, or ended by itself because a cycle was not done in time.
    pub fn stop(&self) -> Result<NetworkReport, SharedNetworkError> {
        let running = self.running()?;
        let report = running.stop();
        *self.stage() = Stage::Ended;
        Ok(report?)
    }

    /// The network after a start for which the machine gave no thread.
    #[cfg(test)]
    pub(super) const fn failed() -> Self {
        Self(Mutex::new(Stage::Failed))
    }
}

impl Drop for SharedNetwork {
    fn drop(&mut self) {
        let stage = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Threads that wait hold the loop, too: dropping this share of it alone would let it run on.
        if let Stage::Running(running) = stage {
            running.end();
        }
    }
}
