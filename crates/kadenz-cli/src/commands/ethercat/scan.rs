//! `kadenz ethercat scan`.

use clap::Args;
use kadenz::ethercat::main_device::from_esi::{Described, Matched};
use kadenz::ethercat::main_device::survey::SurveyedDevice;
use kadenz::ethercat::wire::sii::Protocols;
use kadenz::ethercat::wire::{AlStatus, AlStatusCode, Configured, PortStatus, State, register};
use kadenz::report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;

use super::esi::DevicesOptions;
use crate::output::{self, Column};

/// List the devices on the segment
///
/// Reads only: it changes no state and no address, so a robot that another MainDevice moves continues to move. Of the
/// four ports of each device a number means a cable that carries frames, `x` one that does not, `-` none. The bytes
/// of process data are the configured ones from SAFEOP on, and before that those of its ESI file (`--esi`) or of the
/// device's SII. With `--loop` positions are those at the loop's begin, and `gone` marks a device that does not
/// answer.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat scan --interface eth1          all devices with their states
  kadenz ethercat scan --sim 59                  a humanoid of 59 devices, in this process
  kadenz ethercat scan --sim robot.toml --json | jq '.devices[].name'
  kadenz ethercat scan --interface eth1 --esi vendors/   with the names of the vendors' ESI files
  kadenz ethercat scan --loop robot              through a running loop")]
pub(crate) struct Options {
    #[command(flatten)]
    devices: DevicesOptions,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Scan {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    devices: Vec<Scanned>,
}

#[derive(JsonSchema, Serialize)]
struct Scanned {
    position: u16,
    /// Station address; 0 if it has none.
    station: u16,
    alias: u16,
    name: String,
    description: String,
    vendor: u32,
    product: u32,
    revision: u32,
    serial: u32,
    /// null for an unknown state.
    #[schemars(extend("enum" = ["INIT", "PREOP", "BOOT", "SAFEOP", "OP", null]))]
    state: Option<&'static str>,
    error: bool,
    al_status_code: u16,
    #[schemars(length(equal = 4), inner(regex(pattern = "^(open|closed|unplugged)$")))]
    ports: Vec<&'static str>,
    output_bytes: u16,
    input_bytes: u16,
    #[schemars(inner(regex(pattern = "^(aoe|eoe|coe|foe|soe|voe)$")))]
    protocols: Vec<&'static str>,
    /// Whether the device has a distributed clock.
    clocks: bool,
    /// Name of the device in the vendor's ESI file; null where no file describes the device.
    esi: Option<String>,
    /// The state with its error, for people.
    #[serde(skip)]
    shown: String,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Scan> {
    let mut access = options.devices.open()?;
    let mut met = access.survey()?;
    let matched = described(options, &mut met)?;
    Ok(Scan {
        version: Version,
        segment: access.name(),
        devices: met.iter().map(|it| Scanned::of(it, &matched)).collect(),
    })
}

/// Matches devices with their ESI files. A device that is not configured yet gets the process data of its file.
fn described(options: &Options, met: &mut [SurveyedDevice]) -> anyhow::Result<Matched> {
    let descriptions = options.devices.esi.read()?;
    if descriptions.is_empty() {
        return Ok(Matched::default());
    }
    // A device may have no address of its own yet.
    let mut devices: Vec<_> = met.iter().map(|it| it.device.clone()).collect();
    for device in &mut devices {
        device.station = Configured(device.position.0);
    }
    let all: Vec<_> = devices.iter().collect();
    let matched = options.devices.esi.matched(&descriptions, &all)?;
    for (met, device) in met.iter_mut().zip(&devices) {
        let is_configured = matches!(met.status.state(), Some(State::SafeOp | State::Op));
        if let Some(described) = matched.of(device).filter(|_| !is_configured) {
            met.demand = described.process_data().demand();
        }
    }
    Ok(matched)
}

/// The description of a device, which may have no address of its own.
fn file_of<'m>(met: &SurveyedDevice, matched: &'m Matched) -> Option<&'m Described> {
    let mut device = met.device.clone();
    device.station = Configured(device.position.0);
    matched.of(&device)
}

const COLUMNS: [Column<Scanned>; 9] = [
    ("pos", |it| it.position.to_string()),
    ("name", |it| it.name.clone()),
    ("description", |it| it.described().to_owned()),
    ("vendor:product:revision", |it| {
        format!(
            "0x{:08x}:0x{:08x}:0x{:08x}",
            it.vendor, it.product, it.revision
        )
    }),
    ("state", |it| it.shown.clone()),
    ("ports", Scanned::ports_shown),
    ("alias", |it| it.alias.to_string()),
    ("out B", |it| it.output_bytes.to_string()),
    ("in B", |it| it.input_bytes.to_string()),
];

impl Answer for Scan {
    fn document(&self) -> Document {
        let sum = |bytes: fn(&Scanned) -> u16| -> u32 {
            self.devices.iter().map(|it| u32::from(bytes(it))).sum()
        };
        Document::new()
            .table(output::table(&COLUMNS, 6, &self.devices))
            .sentence(format!(
                "{} devices, {} bytes of outputs, {} bytes of inputs",
                self.devices.len(),
                sum(|it| it.output_bytes),
                sum(|it| it.input_bytes)
            ))
    }
}

/// `SAFEOP+ERROR (0x001B, sync manager watchdog)`; `gone` without a status, which a loop's device that does not
/// answer has.
pub(super) fn state_shown(status: Option<AlStatus>, code: AlStatusCode) -> String {
    let Some(status) = status else {
        return "gone".to_owned();
    };
    let state = state_name(status);
    match status.error() {
        true => format!("{state}+ERROR ({code})"),
        false => state,
    }
}

/// `OP`, or the number of an unknown state.
fn state_name(status: AlStatus) -> String {
    let state = status.state();
    state.map_or_else(|| format!("0x{:02X}", status.0), |it| it.name().to_owned())
}

impl Scanned {
    /// The name in the ESI file, else the long name, else the short one.
    fn described(&self) -> &str {
        let described = [self.esi.as_ref(), Some(&self.description)];
        let described = described.into_iter().flatten().find(|it| !it.is_empty());
        described.unwrap_or(&self.name)
    }

    /// A number for a port with a cable that carries frames, `x` for one that does not.
    fn ports_shown(&self) -> String {
        let ports = self.ports.iter().zip("0123".chars());
        let ports = ports.map(|(state, number)| match *state {
            "open" => number,
            "closed" => 'x',
            _ => '-',
        });
        ports.collect()
    }

    fn of(met: &SurveyedDevice, matched: &Matched) -> Self {
        let device = &met.device;
        let port = |port: u8| match device.links.port(port) {
            PortStatus::Open => "open",
            PortStatus::Closed => "closed",
            PortStatus::Unplugged => "unplugged",
        };
        Self {
            position: device.position.0,
            station: device.station.0,
            alias: device.alias,
            name: device.name.clone(),
            description: device.long_name(),
            vendor: device.identity.vendor,
            product: device.identity.product,
            revision: device.identity.revision,
            serial: device.identity.serial,
            state: met.status.state().map(|it| it.name()),
            error: met.status.error(),
            al_status_code: met.code.0,
            ports: (0..4).map(port).collect(),
            output_bytes: met.demand.outputs,
            input_bytes: met.demand.inputs,
            protocols: protocols(device.protocols),
            clocks: device.features & register::features::DC != 0,
            esi: file_of(met, matched).map(|it| it.name().to_owned()),
            shown: state_shown(Some(met.status).filter(|it| it.0 != 0), met.code),
        }
    }
}

/// The names of a mailbox's protocols.
pub(super) fn protocols(of: Protocols) -> Vec<&'static str> {
    let all = [
        (Protocols::AOE, "aoe"),
        (Protocols::EOE, "eoe"),
        (Protocols::COE, "coe"),
        (Protocols::FOE, "foe"),
        (Protocols::SOE, "soe"),
        (Protocols::VOE, "voe"),
    ];
    let spoken = all.into_iter().filter(|(it, _)| of.has(*it));
    spoken.map(|(_, name)| name).collect()
}
