//! What lies where in the process data of a loop that runs.

use kadenz_ethercat::control::catalogue::{Catalogue, Direction, Item};
use kadenz_ethercat::control::control_socket::{Answer, Question};
use kadenz_ethercat::control::supervisor::DeviceStatus;
use kadenz_ethercat::wire::coe::DataType;

use super::{Options, Told, ToldEntry, rows};
use crate::commands::ethercat::asked::{ControlClient, known, nonsense};
use crate::commands::ethercat::device::ToldDevice;
use crate::commands::ethercat::value::ValueType;
use crate::output::{self, Outcome};

pub(super) fn run(options: &Options, mut control: ControlClient) -> anyhow::Result<Outcome> {
    let devices = control.devices()?;
    let chosen = options.device.among_known(&known(&devices))?;
    let Answer::Layout(layout) = control.client.ask(&Question::Layout {})? else {
        return Err(nonsense(&control.name));
    };
    let catalogue = layout.catalogue;
    let entries = catalogue.entries.iter().filter_map(|it| {
        let device = devices.get(it.device)?;
        chosen
            .contains(&it.device)
            .then(|| ToldEntry::asked(it, device, &catalogue))
    });
    let told = Told {
        version: 1,
        segment: control.segment(),
        outputs: catalogue.outputs,
        inputs: catalogue.inputs,
        entries: entries.collect(),
        cycles: Vec::new(),
    };
    match output::is_json() {
        true => output::json(&told)?,
        false => output::say(&rows(&told)),
    }
    Ok(Outcome::Kept)
}

impl ToldEntry {
    fn asked(item: &Item, device: &DeviceStatus, catalogue: &Catalogue) -> Self {
        let (direction, start) = match item.direction {
            Direction::Outputs => ("out", catalogue.outputs_at),
            Direction::Inputs => ("in", catalogue.inputs_at),
        };
        let bit = item.bit.saturating_sub(start * 8);
        Self {
            device: ToldDevice::asked(device),
            sync_manager: item.manager,
            direction,
            pdo: item.pdo,
            index: Some(item.index),
            sub: Some(item.sub),
            name: item.name.clone(),
            r#type: ValueType::of(DataType(item.data_type)).map(|it| it.to_string()),
            bits: item.bits,
            logical: (item.logical_bit / 8) as u32,
            logical_bit: (item.logical_bit % 8) as u8,
            byte: bit / 8,
            bit: bit % 8,
        }
    }
}
