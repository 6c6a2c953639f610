use std::error::Error;
use std::time::Duration;

use kadenz_ethercat::control::supervisor::ObjectError;
use kadenz_ethercat::main_device::bring_up::{self, BringUpError, NotAloneError};
use kadenz_ethercat::main_device::clocks::ClockError;
use kadenz_ethercat::main_device::configure::ConfigureError;
use kadenz_ethercat::main_device::discover::DiscoverError;
use kadenz_ethercat::main_device::expected::ExpectedError;
use kadenz_ethercat::main_device::from_esi::DescriptionsError;
use kadenz_ethercat::main_device::sdo::SdoError;
use kadenz_ethercat::motion::PlanError;
use kadenz_ethercat::sim::file::{BuildError, FileError, MAX_DEVICES};
use kadenz_ethercat::wire::Configured;
use kadenz_ethercat::wire::coe::Address;
use kadenz_record::numbers;
use kadenz_record::run::folder::AddSeriesError;
use kadenz_rt::beat::ParseRateError;
use kadenz_rt::pi_mutex::CreatePiMutexError;
use kadenz_rt::sleep::OpenSleeperError;
use kadenz_rt::units::ParseQuantityError;

use super::device::listed;

/// Why a segment cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenNetworkError {
    /// The interface is not there, or raw frames on it need a right.
    #[error(transparent)]
    Interface(Box<dyn std::error::Error + Send + Sync>),
    /// A virtual segment cannot be made.
    #[error(transparent)]
    Sim(#[from] BuildError),
    /// No virtual segment has so many devices.
    #[error("a virtual segment has 1 to {MAX_DEVICES} devices, not {0}")]
    Devices(usize),
    /// The cycle is too short or too long for a fieldbus.
    #[error(
        "{0} is not a valid cycle; take 20 us to 1 s, or as a rate 1Hz to 50kHz, for example 1kHz"
    )]
    Cycle(String),
    /// The text is not a rate.
    #[error(transparent)]
    Rate(#[from] ParseRateError),
    /// The text is not a duration.
    #[error(transparent)]
    Duration(#[from] ParseQuantityError),
    /// ESI files cannot be read.
    #[error(transparent)]
    Esi(#[from] DescriptionsError),
    /// The ESI files describe no device.
    #[error("{} describes no device; ESI files are .xml and come from the devices' vendors", .0.display())]
    NoDescription(std::path::PathBuf),
    /// The file of the devices that are expected cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file of the expected devices does not describe a valid segment.
    #[error(transparent)]
    Expected(#[from] ExpectedError),
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
        /// The name, position and station address of the device, in words.
        device: String,
        /// What failed while the device was configured.
        source: ConfigureError,
    },
    /// A device did not tell its PDO mapping.
    #[error("{device} does not tell what is in its process data: {source}")]
    Mapping {
        /// The name, position and station address of the device, in words.
        device: String,
        /// What failed while the device was configured.
        source: ConfigureError,
    },
    /// The choice among the options of ESI files is not available.
    #[error(transparent)]
    Choice(Box<dyn Error + Send + Sync>),
    /// The motion does not fit the devices.
    #[error(transparent)]
    Motion(#[from] PlanError),
    /// A device did not say whether it is a drive.
    #[error(transparent)]
    Drive(#[from] SdoError),
    /// The clocks cannot be measured, set or aligned.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// There is no reference clock.
    #[error(
        "no device of this segment has a clock that the loop could follow; let it go by this computer's"
    )]
    NoClock,
    /// Pulses would come later than the cycle that they belong to.
    #[error(
        "a shift of SYNC0 of {shift:?} is not shorter than the cycle of {cycle:?}; take one from 0 to less than the cycle"
    )]
    Shift {
        /// The requested shift of SYNC0 against the start of the cycle.
        shift: Duration,
        /// The loop's cycle.
        cycle: Duration,
    },
    /// No device generates SYNC0.
    #[error("no device's SII or ESI file requests SYNC0; omit SYNC0")]
    NoPulses,
    /// The reference clock is to be followed while devices are away.
    #[error(
        "the delay to a device that is away cannot be measured, so its clock could not follow the reference; wait for \
         all devices, or let the loop go by this computer's clock"
    )]
    ClockOfMissing,
    /// The process image for other programs cannot be had.
    #[error(transparent)]
    ProcessImage(#[from] CreatePiMutexError),
    /// A device did not answer in any try.
    #[error(
        "{device} did not answer, tried for {}; is its power on, and are the cables before it whole? A longer \
         bring-up timeout (`--bring-up-timeout`) waits longer: {source}",
        numbers::span(within.as_nanos() as f64)
    )]
    Silent {
        /// The name, position and station address of the device, in words.
        device: String,
        /// For how long the loop tried.
        within: Duration,
        /// The error of the last try.
        source: Box<BringUpNetworkError>,
    },
    /// The user set the stop handle, or a client of the control socket ended the bring-up.
    #[error("{}bring-up was ended before all devices were configured", ended(by.as_deref()))]
    Stopped {
        /// The client of the control socket that ended it, where one did.
        by: Option<String>,
    },
}

fn ended(by: Option<&str>) -> String {
    by.map_or_else(String::new, |it| format!("ended by {it}: "))
}

impl BringUpNetworkError {
    /// The fieldbus error that is the cause of this one.
    fn cause(&self) -> &(dyn Error + 'static) {
        match self {
            Self::BringUp(error) => error,
            Self::Discover(error) => error,
            Self::Motion(error) => error,
            Self::Drive(error) => error,
            Self::Clock(error) => error,
            Self::Setup { source, .. } | Self::Mapping { source, .. } => source,
            other => other,
        }
    }

    /// Whether a new try may help: devices do not answer, or a device that the motion names is missing.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Self::Motion(PlanError::NoDevice { .. }))
            || bring_up::is_passing(self.cause())
    }

    /// The address of the device that did not answer, where that is the cause.
    pub(super) fn silent(&self) -> Option<Configured> {
        bring_up::silent(self.cause())
    }

    /// Whether its text names the missing devices.
    pub(super) const fn names_missing(&self) -> bool {
        matches!(self, Self::BringUp(BringUpError::Missing { .. }))
    }

    /// The same error with the client that ended the bring-up.
    pub(super) fn ended_by(self, by: Option<String>) -> Self {
        match self {
            Self::Stopped { .. } => Self::Stopped { by },
            other => other,
        }
    }
}

/// Why there is no such device or object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookUpError {
    /// No device has that name.
    #[error("no device is called `{name}`; there are {known}")]
    NoDevice {
        /// The requested name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// Several devices have that name.
    #[error(
        "{} devices are called `{name}`; take one by its position: {}{}",
        positions.len(), words(positions), long_names(name, names)
    )]
    SeveralDevices {
        /// The name that these devices share.
        name: String,
        /// The positions of the devices of that name, from 0.
        positions: Vec<usize>,
        /// Their long names, in the same order.
        names: Vec<String>,
    },
    /// No device is there.
    #[error("there is no device at position {position}; the last is at {last}")]
    NoPosition {
        /// The requested position.
        position: usize,
        /// The position of the last device of the segment.
        last: usize,
    },
    /// The object is not in the process data.
    #[error("{address} is not in the {direction} of `{device}`; mapped are {mapped}")]
    NotMapped {
        /// The device's name.
        device: String,
        /// `inputs` or `outputs`.
        direction: &'static str,
        /// Index and subindex of the requested object.
        address: Address,
        /// The objects that are mapped in that direction, in words.
        mapped: String,
    },
    /// The object is in the process data more than once.
    #[error("{address} is mapped more than once in the {direction} of `{device}`; map it once")]
    Ambiguous {
        /// The device's name.
        device: String,
        /// `inputs` or `outputs`.
        direction: &'static str,
        /// Index and subindex of the requested object.
        address: Address,
    },
    /// The object has another type or size.
    #[error("{address} of `{device}` is mapped as {mapped}, which is not read as {asked}")]
    Type {
        /// The device's name.
        device: String,
        /// Index and subindex of the requested object.
        address: Address,
        /// What it is mapped as.
        mapped: String,
        /// The requested Rust type, for example `i32`, or a request to state one.
        asked: &'static str,
    },
}

fn words(positions: &[usize]) -> String {
    let words: Vec<_> = positions.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// Why an object was not read or written by mailbox (SDO).
#[derive(Debug, thiserror::Error)]
pub enum AccessObjectError {
    /// There is no such device.
    #[error(transparent)]
    LookUp(#[from] LookUpError),
    /// The device refused, did not answer or is being set up, or the loop has ended.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The object has another size.
    #[error(
        "{object} has a length of {bytes} bytes and is not read as {asked}; take the type of the device's dictionary"
    )]
    Size {
        /// Index and subindex of the object.
        object: Address,
        /// Its length, bytes.
        bytes: usize,
        /// The requested Rust type, for example `i32`.
        asked: &'static str,
    },
}

/// The long names of devices that share a short one, as another way to take one.
fn long_names(name: &str, names: &[String]) -> String {
    match names.iter().any(|it| it == name) {
        true => String::new(),
        false => format!(", or by its long name: {}", listed(names.iter().cloned())),
    }
}

/// Why the loop did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunNetworkError {
    /// This machine lacks the timer of the loop's sleep.
    #[error(transparent)]
    Sleeper(#[from] OpenSleeperError),
    /// The recording cannot add the series.
    #[error(transparent)]
    Series(#[from] AddSeriesError),
    /// This machine gives no thread for a loop in the background.
    #[error(
        "no thread for the loop: {0}; end other programs, or raise the limit on threads (ulimit -u)"
    )]
    Thread(std::io::Error),
    /// A loop in the background was stopped before.
    #[error("the loop was stopped already; bring another network up")]
    Stopped,
    /// The loop ended because a cycle was not done when the next was due.
    #[error(
        "a cycle was not done when the next was due, which ended the loop by Overrun::Stop, here after {0} cycles; take a \
         lower rate"
    )]
    Overrun(u64),
}
