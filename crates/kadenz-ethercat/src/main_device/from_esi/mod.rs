//! Configures devices by their vendors' ESI files: mailboxes, PDOs and their mapping, objects to write on the way
//! up, pulses, and names.
//!
//! Without a file the device's own SII and objects count, which is enough for most devices. A file is for devices
//! whose start-up needs objects that only the vendor knows, or whose SII has no names.
//!
//! ```
//! use kadenz_ethercat::esi::Esi;
//! use kadenz_ethercat::main_device::exchange::{RetryPolicy, Registers, BlockingExchange};
//! use kadenz_ethercat::main_device::from_esi::{Descriptions, find};
//! use kadenz_ethercat::main_device::link::Link;
//! use kadenz_ethercat::sim::WirePort;
//! use kadenz_ethercat::sim::humanoid::humanoid;
//!
//! let mut descriptions = Descriptions::default();
//! descriptions.add(&Esi::read(r##"<EtherCATInfo>
//!     <Vendor><Id>#x2</Id></Vendor>
//!     <Descriptions><Devices><Device Physics="YK">
//!         <Type ProductCode="#x044c2c52" RevisionNo="#x00110000">EK1100</Type>
//!         <Name>Coupler</Name>
//!     </Device></Devices></Descriptions>
//! </EtherCATInfo>"##)?);
//!
//! let mut link = Link::new(WirePort::new(humanoid(12).build()?), 1);
//! let mut exchange = BlockingExchange { link: &mut link, retry: RetryPolicy::default() };
//! let (devices, matched) = find(&mut Registers::by(&mut exchange), &descriptions)?;
//! assert_eq!(matched.of(&devices[0]).expect("it is described").name(), "Coupler");
//! assert!(matched.of(&devices[1]).is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod described;
mod files;
mod set_up;

use std::sync::Arc;

use super::bring_up::{BringUpError, because};
use super::clocks::{self, Clocks, Sync};
use super::configure::{self, ConfigureError};
use super::device::SubDevice;
use super::discover;
use super::exchange::Registers;
use crate::wire::{Configured, Position};

pub use described::{Described, SelectionError};
pub use files::{Descriptions, DescriptionsError};
pub use set_up::SetUpError;

/// The described devices of a segment, each by its station address; then those whose description cannot be read.
#[derive(Debug, Clone, Default)]
pub struct Matched(
    Vec<(Configured, Arc<Described>)>,
    Vec<(Configured, Arc<DescriptionsError>)>,
);

/// Finds all SubDevices, brings them to PREOP, sets up those that are described, and reads the process data of
/// each: [`bring_up::find`](super::bring_up::find) with ESI files. Waits, allocates.
///
/// # Errors
/// [`BringUpError`]: the first SubDevice that fails, or refuses a value of its file, ends it.
pub fn find(
    registers: &mut Registers<'_>,
    descriptions: &Descriptions,
) -> Result<(Vec<SubDevice>, Matched), BringUpError> {
    let mut devices = discover::discover(registers)?;
    let all = |_: &[SubDevice], _: &mut Matched| Ok(());
    let matched = configure_chosen::<BringUpError>(registers, &mut devices, descriptions, all)?;
    Ok((devices, matched))
}

/// As [`find`], with devices that are found already and in INIT; before any of them is configured, `choose` may
/// [choose](Matched::choose) otherwise than their files. Waits, allocates.
///
/// # Errors
/// [`BringUpError`] as of [`find`], and the error of `choose`.
pub fn configure_chosen<E: From<BringUpError>>(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
    descriptions: &Descriptions,
    choose: impl FnOnce(&[SubDevice], &mut Matched) -> Result<(), E>,
) -> Result<Matched, E> {
    let mut matched = descriptions.matching(&*devices);
    choose(devices, &mut matched)?;
    for device in devices {
        one(registers, device, &matched).map_err(|source| because(device)(source))?;
    }
    Ok(matched)
}

fn one(
    registers: &mut Registers<'_>,
    device: &mut SubDevice,
    matched: &Matched,
) -> Result<(), ConfigureError> {
    matched.prepare(device);
    configure::to_pre_op(registers, device)?;
    matched.learn(registers, device)
}

/// A file's description of a device cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}; fix the file, or omit it: the device is then configured by its SII")]
struct Unreadable(Arc<DescriptionsError>);

impl Matched {
    /// The description of a device, if its file has one.
    #[must_use]
    pub fn of(&self, device: &SubDevice) -> Option<&Described> {
        let mut all = self.0.iter();
        let found = all.find(|it| it.0 == device.station)?;
        Some(&*found.1)
    }

    /// The reason why a device's description cannot be read, where that is so.
    #[must_use]
    pub fn fault_of(&self, device: &SubDevice) -> Option<&Arc<DescriptionsError>> {
        let mut all = self.1.iter();
        let found = all.find(|it| it.0 == device.station)?;
        Some(&found.1)
    }

    /// The number of described devices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes for people about devices and their files: how many are described, and which parts of a file differ
    /// from the device or are not supported. Allocates.
    #[must_use]
    pub fn notes<'d>(&self, devices: impl ExactSizeIterator<Item = &'d SubDevice>) -> Vec<String> {
        let (described, all) = (self.len(), devices.len());
        let mut notes = vec![format!(
            "{described} of {all} devices are described by ESI files"
        )];
        for device in devices {
            if let Some(described) = self.of(device) {
                let deviations = described.deviations(device.identity.revision);
                notes.extend(deviations.map(|it| format!("{}: {it}", device.label())));
            }
        }
        notes
    }

    /// Gives a device the mailboxes of its file, before it is brought to PREOP.
    pub fn prepare(&self, device: &mut SubDevice) {
        if let Some(described) = self.of(device) {
            described.prepare(device);
        }
    }

    /// Corrects a device's process data after [`read_process_data`](configure::read_process_data): SyncManagers
    /// are where its file puts them, and where the device gave no process data, it is that of the file.
    pub fn correct(&self, device: &mut SubDevice) {
        if let Some(described) = self.of(device) {
            described.correct(&mut device.process_data);
        }
    }

    /// Sets up a device in PREOP by its file, if it has one. The supervisor does this first, too, with a device
    /// that comes back, before its other set-up. Waits, allocates.
    ///
    /// # Errors
    /// [`ConfigureError`], for example when the device no longer takes a value that it took. A device whose
    /// description [cannot be read](Self::fault_of) is not set up by its own data instead: that is an error, too.
    pub fn set_up(
        &self,
        registers: &mut Registers<'_>,
        device: &mut SubDevice,
    ) -> Result<(), ConfigureError> {
        if let Some(fault) = self.fault_of(device) {
            let fault = Unreadable(Arc::clone(fault));
            return Err(ConfigureError::Setup(Box::new(fault)));
        }
        match self.of(device) {
            Some(described) => described.set_up(registers, device),
            None => Ok(()),
        }
    }

    /// Sets up a device in PREOP by its file, if it has one, and reads its process data. Waits, allocates.
    pub(super) fn learn(
        &self,
        registers: &mut Registers<'_>,
        device: &mut SubDevice,
    ) -> Result<(), ConfigureError> {
        self.set_up(registers, device)?;
        configure::read_process_data(registers, device)?;
        self.correct(device);
        Ok(())
    }

    /// The pulses of devices with a clock at a MainDevice's cycle: for each its first operation mode with pulses,
    /// `shift_ns` later than that says. The mode is that of its file, or else that of its SII; devices without such
    /// a mode are left out.
    #[must_use]
    pub fn pulses(
        &self,
        devices: &[SubDevice],
        clocks: &Clocks,
        cycle_ns: u32,
        shift_ns: i32,
    ) -> Vec<(Position, Sync)> {
        let mut pulses = clocks::pulses_by_sii(devices, clocks, cycle_ns, shift_ns);
        for device in devices {
            let Some(described) = self.of(device) else {
                continue;
            };
            pulses.retain(|it| it.0 != device.position);
            let mut all = clocks.devices().iter();
            let has_clock = all.any(|it| it.station == device.station && it.width.is_some());
            if let Some(sync) = described.pulse(cycle_ns).filter(|_| has_clock) {
                let shift0_ns = sync.shift0_ns.saturating_add(shift_ns);
                pulses.push((device.position, Sync { shift0_ns, ..sync }));
            }
        }
        pulses
    }
}

// A user's choices that differ from the defaults of a device's file.

/// A choice among the options of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The PDOs that are carried, in place of those that the file carries by default.
    pub pdos: Option<Vec<u16>>,
    /// The operation mode by which the device pulses, in place of the first that does.
    pub mode: Option<String>,
}

/// The reason why a choice is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// The device has no file.
    #[error(
        "no ESI file that was read describes it; name that of its vendor, or leave the choice out"
    )]
    NotDescribed,
    /// These PDOs cannot be carried.
    #[error(transparent)]
    Pdos(#[from] SelectionError),
    /// There is no such mode.
    #[error("its ESI file has no operation mode `{mode}`; it has {there}")]
    Mode {
        /// The name of the requested mode.
        mode: String,
        /// The modes of the device.
        there: String,
    },
}

impl Matched {
    /// Configures a device by a choice; to be called before [`prepare`](Self::prepare) and all else.
    ///
    /// # Errors
    /// [`ChoiceError`]; all stays as it was.
    pub fn choose(&mut self, device: &SubDevice, choice: &Choice) -> Result<(), ChoiceError> {
        let mut all = self.0.iter_mut();
        let found = all.find(|it| it.0 == device.station);
        let found = found.ok_or(ChoiceError::NotDescribed)?;
        let mut described = Described::clone(&found.1);
        if let Some(pdos) = &choice.pdos {
            described = described.with_pdos(pdos)?;
        }
        if let Some(mode) = &choice.mode {
            let there = described.modes().collect::<Vec<_>>().join(", ");
            let chosen = described.with_mode(mode);
            described = chosen.ok_or_else(|| ChoiceError::Mode {
                mode: mode.clone(),
                there: match there.as_str() {
                    "" => "none".to_owned(),
                    _ => there,
                },
            })?;
        }
        found.1 = Arc::new(described);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
