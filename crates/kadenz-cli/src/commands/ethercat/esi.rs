//! ESI files, by which devices are configured.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kadenz_ethercat::control::steward::Setup;
use kadenz_ethercat::esi::Transition;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::from_esi::{Described, Descriptions, Matched};

use super::device::whose;
use crate::output;

/// What vendors say of their devices.
#[derive(Clone, Debug, Args)]
pub(crate) struct EsiOption {
    /// Configure devices as an ESI file of their vendor says, or the files of a folder: PDOs, values that
    /// are written before SAFEOP, pulses, names. Devices that none describes go by their own word
    #[arg(
        id = "esi",
        long = "esi",
        value_name = "FILE|FOLDER",
        help_heading = "Segment"
    )]
    path: Option<PathBuf>,
}

impl EsiOption {
    /// What the files describe: nothing where none was named.
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

    /// Says who is described, where a file was named.
    pub(super) fn tell<'d>(
        &self,
        devices: impl ExactSizeIterator<Item = &'d SubDevice>,
        matched: &Matched,
    ) {
        if self.path.is_none() {
            return;
        }
        output::note(&format!(
            "{} of {} devices are described by --esi",
            matched.len(),
            devices.len()
        ));
        for device in devices {
            if let Some(described) = matched.of(device) {
                tell_deviations(device, described);
            }
        }
    }
}

/// Says what of a file is not as the device is, or not done.
fn tell_deviations(device: &SubDevice, described: &Described) {
    let (its, told) = (device.identity.revision, described.identity().revision);
    if its != told {
        output::note(&format!(
            "{}: it is of revision 0x{its:08X}, and described is 0x{told:08X}, the last one before",
            whose(device)
        ));
    }
    let left_out = described.commands(Transition::SafeOpToOp).count();
    if left_out > 0 {
        output::note(&format!(
            "{}: {left_out} values that its ESI file wants written on the way to OP are not written",
            whose(device)
        ));
    }
    let mode = described.mode_by_default();
    if let Some(unheeded) = mode.and_then(|it| described.unheeded(it)) {
        let asked: Vec<_> = unheeded.words().collect();
        output::note(&format!(
            "{}: its operation mode \"{}\" asks for more than is done: {}",
            whose(device),
            unheeded.mode,
            asked.join(", ")
        ));
    }
}

/// What is done with a device that comes back: what its file says, and then the rest.
pub(super) fn before(matched: Matched, then: Setup) -> Setup {
    Box::new(move |device, registers| {
        matched.set_up(registers, device)?;
        then(device, registers)
    })
}
