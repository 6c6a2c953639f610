//! ESI files, from which Kadenz configures devices.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kadenz::ethercat::main_device::device::SubDevice;
use kadenz::ethercat::main_device::from_esi::{Choice, Descriptions, Matched};
use kadenz::ethercat::value::number;

use super::access::DeviceAccess;
use super::device::{DeviceSelector, label_of};
use super::segment::SegmentOrLoop;
use crate::output;

/// Device descriptions of vendors.
#[derive(Clone, Debug, Args)]
pub(crate) struct EsiOption {
    /// Configure devices by an ESI file of their vendor, or by the files of a folder: PDOs, values to write before
    /// SAFEOP, distributed clocks, names. A device without a description is configured by its own SII and dictionary
    #[arg(
        id = "esi",
        long = "esi",
        value_name = "FILE|FOLDER",
        help_heading = "Segment"
    )]
    path: Option<PathBuf>,

    /// PDOs to assign to a device, both ways, in place of the defaults of its ESI file; once for each such device:
    /// 8=0x1601,0x1A00 or 'left knee=0x1601,0x1A00'
    #[arg(
        long = "pdos",
        value_name = "DEVICE=PDO,...",
        value_parser = pdos,
        requires = "esi",
        help_heading = "Segment"
    )]
    pdos: Vec<DeviceChoice>,
}

/// Location of the devices, and their vendors' descriptions.
#[derive(Clone, Debug, Args)]
pub(crate) struct DevicesOptions {
    #[command(flatten)]
    pub(super) place: SegmentOrLoop,

    #[command(flatten)]
    pub(super) esi: EsiOption,
}

impl DevicesOptions {
    /// The segment, or the loop.
    pub(super) fn open(&self) -> anyhow::Result<DeviceAccess> {
        anyhow::ensure!(
            self.place.running.is_none() || self.esi.path.is_none(),
            "--esi: a loop that runs goes by the files that it began with (`kadenz ethercat run --esi`); leave it out \
             with --loop"
        );
        DeviceAccess::open(&self.place)
    }
}

/// Operation modes of devices.
#[derive(Clone, Debug, Args)]
pub(crate) struct ModesOption {
    /// Operation mode of a device's distributed clock, by its name in the ESI file (`OpMode` of its `Dc`), in place
    /// of the first mode with sync signals; once for each such device: 8='DC-Synchron'
    #[arg(
        long = "dc-mode",
        value_name = "DEVICE=MODE",
        value_parser = mode,
        requires = "esi",
        requires = "sync0",
        help_heading = "Segment"
    )]
    modes: Vec<DeviceChoice>,
}

/// A choice for a device among the options of its ESI file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DeviceChoice {
    device: DeviceSelector,
    choice: Choice,
}

/// Parses a device and its PDOs.
fn pdos(text: &str) -> Result<DeviceChoice, String> {
    let refused =
        || format!("`{text}` chooses no PDOs; write a device and its PDOs: 8=0x1601,0x1A00");
    let (device, pdos) = text.split_once('=').ok_or_else(refused)?;
    let device = device.parse()?;
    let pdos = pdos
        .split(',')
        .map(|it| number::hexadecimal::<u16>(it.trim()));
    let pdos: Option<Vec<u16>> = pdos.collect();
    let pdos = Some(pdos.ok_or_else(refused)?);
    let choice = Choice { pdos, mode: None };
    Ok(DeviceChoice { device, choice })
}

/// Parses a device and its operation mode.
fn mode(text: &str) -> Result<DeviceChoice, String> {
    let (device, mode) = text.split_once('=').ok_or_else(|| {
        format!("`{text}` chooses no mode; write a device and its mode's name: 8='DC-Synchron'")
    })?;
    let device = device.parse()?;
    let mode = Some(mode.to_owned());
    let choice = Choice { pdos: None, mode };
    Ok(DeviceChoice { device, choice })
}

impl DeviceChoice {
    /// Applies the choice to the selected devices.
    fn apply(&self, devices: &[&SubDevice], matched: &mut Matched) -> anyhow::Result<()> {
        for place in self.device.among(devices.iter().copied())? {
            let device = devices[place];
            let chosen = matched.choose(device, &self.choice);
            chosen.with_context(|| label_of(device))?;
        }
        Ok(())
    }
}

impl EsiOption {
    /// Reads the descriptions; none where no file was named.
    pub(super) fn read(&self) -> anyhow::Result<Descriptions> {
        let Some(path) = &self.path else {
            return Ok(Descriptions::default());
        };
        let read = Descriptions::read(path).context("--esi")?;
        for error in read.passed_over() {
            output::note(&format!("passed over: {error}"));
        }
        anyhow::ensure!(
            !read.is_empty(),
            "--esi: {} describes no device; ESI files are .xml and come from the devices' vendors",
            path.display()
        );
        Ok(read)
    }

    /// The chosen PDOs and operation modes, for the bring-up of a network.
    pub(super) fn chooser(
        &self,
        modes: &ModesOption,
    ) -> impl Fn(&[SubDevice], &mut Matched) -> anyhow::Result<()> + use<> {
        let (esi, modes) = (self.clone(), modes.clone());
        move |devices, matched| {
            let devices: Vec<_> = devices.iter().collect();
            esi.choose(&devices, matched)?;
            for it in &modes.modes {
                it.apply(&devices, matched).context("--dc-mode")?;
            }
            Ok(())
        }
    }

    /// Matches devices with their descriptions and the choices for them, and reports it. Each device needs a station
    /// address of its own.
    pub(super) fn matched(
        &self,
        descriptions: &Descriptions,
        devices: &[&SubDevice],
    ) -> anyhow::Result<Matched> {
        let mut matched = descriptions.matching(devices.iter().copied());
        self.choose(devices, &mut matched)?;
        self.note_matches(devices.iter().copied(), &matched);
        Ok(matched)
    }

    /// Assigns the chosen PDOs to devices.
    pub(super) fn choose(
        &self,
        devices: &[&SubDevice],
        matched: &mut Matched,
    ) -> anyhow::Result<()> {
        for it in &self.pdos {
            it.apply(devices, matched).context("--pdos")?;
        }
        Ok(())
    }

    /// Notes which devices have a description, where a file was named.
    pub(super) fn note_matches<'d>(
        &self,
        devices: impl ExactSizeIterator<Item = &'d SubDevice>,
        matched: &Matched,
    ) {
        if self.path.is_none() {
            return;
        }
        let notes = matched.notes(devices);
        notes.iter().for_each(|it| output::note(it));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_a_device_and_what_it_is_to_have() {
        let device = DeviceSelector::Name("left knee".to_owned());
        let choice = Choice {
            pdos: Some(vec![0x1601, 0x1A00]),
            mode: None,
        };
        assert_eq!(
            pdos("left knee=0x1601, 0x1a00"),
            Ok(DeviceChoice { device, choice })
        );
        for text in ["8", "8=", "8=5633", "8=0x1601,", "8=0x11601"] {
            assert!(pdos(text).unwrap_err().contains("0x1601"), "{text}");
        }
        let chosen = mode("8=DC = fixed").unwrap();
        assert_eq!(
            (chosen.device, chosen.choice.mode.as_deref()),
            (DeviceSelector::Position(8), Some("DC = fixed"))
        );
        assert!(mode("8").is_err());
    }
}
