//! `kadenz ethercat scan`.

use clap::Args;
use kadenz_ethercat::main_device::survey::Surveyed;
use kadenz_ethercat::wire::sii::Protocols;
use kadenz_ethercat::wire::{AlStatus, DlStatus, PortStatus, register};
use serde::Serialize;

use super::device::called;
use super::segment::{Segment, SegmentOptions};
use crate::commands::msg::table::table;
use crate::output::{self, Outcome};

/// Who is on the segment?
///
/// Looks on only: no state and no address is changed, so a robot that another MainDevice moves goes on
/// moving. Of the four ports of each device a number stands for a cable by which frames pass, `x` for one
/// by which they do not, `-` for none. Bytes of process data are those that are configured from SAFEOP on,
/// and before that those of the device's memory.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat scan --interface eth1          who is there, in which state
  kadenz ethercat scan --sim 59                  the paper's humanoid, in this process
  kadenz ethercat scan --sim robot.toml --json | jq '.devices[].name'")]
pub(crate) struct Options {
    #[command(flatten)]
    segment: SegmentOptions,

    /// Print it as JSON on standard output (schema: docs/schema/ethercat.schema.json)
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Serialize)]
struct Told {
    version: u32,
    segment: String,
    devices: Vec<ToldScanned>,
}

#[derive(Serialize)]
struct ToldScanned {
    position: u16,
    station: u16,
    alias: u16,
    name: String,
    description: String,
    vendor: u32,
    product: u32,
    revision: u32,
    serial: u32,
    state: Option<&'static str>,
    error: bool,
    al_status_code: u16,
    ports: Vec<&'static str>,
    output_bytes: u16,
    input_bytes: u16,
    protocols: Vec<&'static str>,
    clocks: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut segment = Segment::open(&options.segment)?;
    let met = segment.survey()?;
    if options.json {
        output::json(&Told {
            version: 1,
            segment: segment.name,
            devices: met.iter().map(ToldScanned::of).collect(),
        })?;
    } else {
        output::say(&shown(&met));
    }
    Ok(Outcome::Kept)
}

fn shown(met: &[Surveyed]) -> String {
    let rows = met.iter().map(|it| {
        let device = &it.device;
        let identity = device.identity;
        vec![
            device.position.0.to_string(),
            device.name.clone(),
            called(device),
            format!(
                "0x{:08x}:0x{:08x}:0x{:08x}",
                identity.vendor, identity.product, identity.revision
            ),
            state_shown(it),
            ports_shown(device.links),
            device.alias.to_string(),
            it.demand.outputs.to_string(),
            it.demand.inputs.to_string(),
        ]
    });
    let head = [
        "pos",
        "name",
        "description",
        "vendor:product:revision",
        "state",
        "ports",
        "alias",
        "out B",
        "in B",
    ];
    let outputs: u32 = met.iter().map(|it| u32::from(it.demand.outputs)).sum();
    let inputs: u32 = met.iter().map(|it| u32::from(it.demand.inputs)).sum();
    format!(
        "{}\n\n{} devices, {outputs} bytes of outputs, {inputs} bytes of inputs",
        table(&head, 6, rows.collect()),
        met.len(),
    )
}

/// `SAFEOP+ERROR (0x001B, sync manager watchdog)`.
pub(super) fn state_shown(met: &Surveyed) -> String {
    let state = state_name(met.status);
    match met.status.error() {
        true => format!("{state}+ERROR ({})", met.code),
        false => state,
    }
}

/// `OP`, or the number of what is none.
pub(super) fn state_name(status: AlStatus) -> String {
    let state = status.state();
    state.map_or_else(|| format!("0x{:02X}", status.0), |it| it.name().to_owned())
}

fn ports_shown(links: DlStatus) -> String {
    let port = |port: u8| match links.port(port) {
        PortStatus::Open => char::from(b'0' + port),
        PortStatus::Closed => 'x',
        PortStatus::Unplugged => '-',
    };
    (0..4).map(port).collect()
}

impl ToldScanned {
    fn of(met: &Surveyed) -> Self {
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
        }
    }
}

/// What a mailbox speaks.
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
