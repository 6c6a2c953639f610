use kadenz_ethercat::main_device::bring_up::{BringUpError, NotAloneError, is_passing};
use kadenz_ethercat::main_device::configure::ConfigureError;
use kadenz_ethercat::main_device::discover::DiscoverError;
use kadenz_ethercat::sim::file::BuildError;
use kadenz_ethercat::wire::coe::Address;
use kadenz_record::run::folder::AddSeriesError;
use kadenz_rt::beat::ParseRateError;
use kadenz_rt::sleep::OpenSleeperError;
use kadenz_rt::units::ParseQuantityError;

/// Why there is no way to a segment.
#[derive(Debug, thiserror::Error)]
pub enum OpenNetworkError {
    /// The interface is not there, or raw frames on it need a right.
    #[error(transparent)]
    Interface(Box<dyn std::error::Error + Send + Sync>),
    /// A virtual segment cannot be made.
    #[error(transparent)]
    Sim(#[from] BuildError),
    /// A cycle that no fieldbus has.
    #[error("{0} is not a valid cycle rate; write 1Hz to 50kHz, for example 1kHz")]
    Cycle(String),
    /// Not a rate.
    #[error(transparent)]
    Rate(#[from] ParseRateError),
    /// Not a duration.
    #[error(transparent)]
    Duration(#[from] ParseQuantityError),
}

/// Why a segment is not brought up.
#[derive(Debug, thiserror::Error)]
pub enum BringUpNetworkError {
    /// Another MainDevice drives it.
    #[error(transparent)]
    NotAlone(#[from] NotAloneError),
    /// A device did not answer, or refused.
    #[error(transparent)]
    BringUp(#[from] BringUpError),
    /// The number and kinds of devices are not known.
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    /// The user's set-up of a device failed.
    #[error("set-up of {device}: {source}")]
    Setup {
        /// The device.
        device: String,
        /// Why.
        source: ConfigureError,
    },
    /// A device did not say what is mapped in its process data.
    #[error("{device} does not tell what is in its process data: {source}")]
    Mapping {
        /// The device.
        device: String,
        /// Why.
        source: ConfigureError,
    },
    /// The stop handle was set.
    #[error("bring-up was stopped before all devices were configured")]
    Stopped,
}

impl BringUpNetworkError {
    /// Whether a new try may help.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::BringUp(error) => is_passing(error),
            Self::Discover(error) => is_passing(error),
            Self::Setup { source, .. } | Self::Mapping { source, .. } => is_passing(source),
            Self::NotAlone(_) | Self::Stopped => false,
        }
    }
}

/// Why there is no such device or object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookUpError {
    /// No device has that name.
    #[error("no device is called `{name}`; there are {known}")]
    NoDevice {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// Several devices have that name.
    #[error(
        "{} devices are called `{name}`; take one by its position: {}",
        positions.len(), words(positions)
    )]
    SeveralDevices {
        /// The name.
        name: String,
        /// Where they are.
        positions: Vec<usize>,
    },
    /// No device is there.
    #[error("there is no device at position {position}; the last is at {last}")]
    NoPosition {
        /// The position.
        position: usize,
        /// The last one that there is.
        last: usize,
    },
    /// The object is not in the process data.
    #[error("{address} is not in the {direction} of `{device}`; mapped are {mapped}")]
    NotMapped {
        /// The device.
        device: String,
        /// `inputs` or `outputs`.
        direction: &'static str,
        /// The object.
        address: Address,
        /// What is mapped.
        mapped: String,
    },
    /// The object is in the process data more than once.
    #[error("{address} is mapped more than once in the {direction} of `{device}`; map it once")]
    Ambiguous {
        /// The device.
        device: String,
        /// `inputs` or `outputs`.
        direction: &'static str,
        /// The object.
        address: Address,
    },
    /// The object has another type or size.
    #[error("{address} of `{device}` is mapped as {mapped}, which is not read as {asked}")]
    Type {
        /// The device.
        device: String,
        /// The object.
        address: Address,
        /// What it is mapped as.
        mapped: String,
        /// The type that was asked for.
        asked: &'static str,
    },
}

fn words(positions: &[usize]) -> String {
    let words: Vec<_> = positions.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// Why the loop did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunNetworkError {
    /// This machine lacks what the loop sleeps with.
    #[error(transparent)]
    Sleeper(#[from] OpenSleeperError),
    /// The run cannot have the series.
    #[error(transparent)]
    Series(#[from] AddSeriesError),
    /// The loop ended for want of time.
    #[error(
        "cycle {0} was not done when the next was due, which ends the loop by Overrun::Stop; take a lower rate"
    )]
    Overrun(u64),
}
