//! The way to devices: over the wire, or by a loop that runs.

use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::discover;
use kadenz_ethercat::main_device::exchange::{Registers, Target};
use kadenz_ethercat::wire::register::{RAM, SYNC_MANAGER, SYNC_MANAGER_SIZE};
use kadenz_ethercat::wire::sync_manager::Mode;
use kadenz_ethercat::wire::{Position, SyncManager};

#[cfg(target_os = "linux")]
use crate::commands::ethercat::asked::{self, ControlClient};
use crate::commands::ethercat::device::{ToldDevice, Which};
use crate::commands::ethercat::segment::{Segment, SegmentOrLoop};

/// Where devices are asked.
pub(super) enum Way {
    Wire(Box<Segment>),
    #[cfg(target_os = "linux")]
    Loop(ControlClient),
}

/// Before what went wrong with a device.
pub(super) fn whose(device: &ToldDevice) -> String {
    format!("device {} ({})", device.position, device.called())
}

impl Way {
    pub(super) fn open(place: &SegmentOrLoop) -> anyhow::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(control) = place.control()? {
            return Ok(Self::Loop(control));
        }
        #[cfg(not(target_os = "linux"))]
        place.ensure_none()?;
        Ok(Self::Wire(Box::new(Segment::open(&place.segment)?)))
    }

    /// As people call it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Wire(segment) => segment.name.clone(),
            #[cfg(target_os = "linux")]
            Self::Loop(control) => control.segment(),
        }
    }

    /// Those that are meant.
    pub(super) fn among(&mut self, which: &Which) -> anyhow::Result<Vec<ToldDevice>> {
        match self {
            Self::Wire(segment) => {
                let met = segment.survey()?;
                let places = which.among(&met)?.into_iter();
                Ok(places.map(|it| ToldDevice::of(&met[it].device)).collect())
            }
            #[cfg(target_os = "linux")]
            Self::Loop(control) => {
                let all = control.devices()?;
                let places = which.among_known(&asked::known(&all))?.into_iter();
                Ok(places.map(|it| ToldDevice::asked(&all[it])).collect())
            }
        }
    }

    /// The one that is meant.
    pub(super) fn one(&mut self, which: &Which) -> anyhow::Result<ToldDevice> {
        match self {
            Self::Wire(segment) => {
                let met = segment.survey()?;
                Ok(ToldDevice::of(&met[which.one_among(&met)?].device))
            }
            #[cfg(target_os = "linux")]
            Self::Loop(control) => Ok(ToldDevice::asked(&control.device(which)?)),
        }
    }

    /// Everybody with what its memory says: over the wire as it is now, of a loop as it was when that began.
    pub(super) fn all(&mut self) -> anyhow::Result<Vec<SubDevice>> {
        match self {
            Self::Wire(segment) => Ok(segment.survey()?.into_iter().map(|it| it.device).collect()),
            #[cfg(target_os = "linux")]
            Self::Loop(control) => control.known_devices(),
        }
    }

    /// Asks a device's registers.
    pub(super) fn ask<R>(
        &mut self,
        device: &SubDevice,
        work: impl FnOnce(&mut Registers<'_>, Target) -> R,
    ) -> R {
        match self {
            Self::Wire(segment) => {
                segment.ask(|registers| work(registers, Target::At(device.position)))
            }
            #[cfg(target_os = "linux")]
            Self::Loop(control) => control.ask(device, |registers| work(registers, device.whose())),
        }
    }

    /// A device's memory as it is now.
    pub(super) fn memory(&mut self, device: &SubDevice) -> anyhow::Result<Vec<u8>> {
        Ok(self.ask(device, discover::memory)?)
    }

    /// What counts only when a loop that runs is begun anew, for behind what was written.
    pub(super) const fn when_it_counts(&self) -> &'static str {
        match self {
            Self::Wire(_) => "",
            #[cfg(target_os = "linux")]
            Self::Loop(_) => {
                "; this loop knows the device by what it was when it began, so begin it anew then"
            }
        }
    }

    /// Refuses an interface on which another MainDevice exchanges frames. A loop is asked itself.
    pub(super) fn ensure_alone(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Wire(segment) => segment.ensure_alone(),
            #[cfg(target_os = "linux")]
            Self::Loop(_) => Ok(()),
        }
    }

    /// Reads bytes; `None` where the device does not answer there.
    pub(super) fn read(
        &mut self,
        device: &ToldDevice,
        address: u16,
        length: u16,
    ) -> anyhow::Result<Option<Vec<u8>>> {
        match self {
            Self::Wire(segment) => {
                let mut bytes = vec![0; usize::from(length)];
                let whose = Target::At(Position(device.position));
                let got = segment.ask(|it| it.count_reading(whose, address, &mut bytes))?;
                Ok((got > 0).then_some(bytes))
            }
            #[cfg(target_os = "linux")]
            Self::Loop(control) => {
                let bytes = running::read(control, device, address, length)?;
                Ok((!bytes.is_empty()).then_some(bytes))
            }
        }
    }

    /// Writes bytes; whether the device took them.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(
            unused_variables,
            reason = "only a loop's control socket asks for force itself"
        )
    )]
    pub(super) fn write(
        &mut self,
        device: &ToldDevice,
        address: u16,
        bytes: &[u8],
        force: bool,
    ) -> anyhow::Result<bool> {
        match self {
            Self::Wire(segment) => {
                let whose = Target::At(Position(device.position));
                let got = segment.ask(|it| it.count_writing(whose, address, bytes))?;
                Ok(got > 0)
            }
            #[cfg(target_os = "linux")]
            Self::Loop(control) => running::write(control, device, address, bytes, force),
        }
    }

    /// Whether a mailbox lies in these bytes: reading it takes a message away from its MainDevice.
    pub(super) fn touches_a_mailbox(
        &mut self,
        device: &ToldDevice,
        address: u16,
        length: u16,
    ) -> anyhow::Result<bool> {
        let end = u32::from(address) + u32::from(length);
        if end <= u32::from(RAM) {
            return Ok(false);
        }
        let all = self.read(device, SYNC_MANAGER, 16 * SYNC_MANAGER_SIZE)?;
        let all = all.unwrap_or_default();
        let mut managers = all
            .as_chunks::<8>()
            .0
            .iter()
            .map(|it| SyncManager::from_bytes(*it));
        Ok(managers.any(|it| {
            let behind = u32::from(it.start) + u32::from(it.length);
            let overlaps = u32::from(it.start) < end && behind > u32::from(address);
            it.active() && it.control.mode() == Some(Mode::Mailbox) && overlaps
        }))
    }
}

/// The same by a loop's control socket.
#[cfg(target_os = "linux")]
mod running {
    use anyhow::Context as _;
    use kadenz_ethercat::control::control_socket::{Answer, Question};

    use super::{ControlClient, ToldDevice, whose};
    use crate::commands::ethercat::asked::nonsense;

    pub(super) fn read(
        control: &mut ControlClient,
        device: &ToldDevice,
        address: u16,
        length: u16,
    ) -> anyhow::Result<Vec<u8>> {
        let answer = control.client.ask(&Question::RegisterRead {
            device: device.position.into(),
            address,
            length,
        });
        match answer.with_context(|| whose(device))? {
            Answer::Bytes(bytes) => Ok(bytes),
            _ => Err(nonsense(&control.name)),
        }
    }

    pub(super) fn write(
        control: &mut ControlClient,
        device: &ToldDevice,
        address: u16,
        bytes: &[u8],
        force: bool,
    ) -> anyhow::Result<bool> {
        let answer = control.client.ask(&Question::RegisterWrite {
            device: device.position.into(),
            address,
            value: bytes.to_vec(),
            force,
        });
        match answer.with_context(|| whose(device))? {
            Answer::Done => Ok(true),
            _ => Err(nonsense(&control.name)),
        }
    }
}
