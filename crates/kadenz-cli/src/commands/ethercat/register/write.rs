//! `kadenz ethercat register write`.

use clap::Args;
use kadenz::ethercat::value::{EntryType, hex};
use kadenz::ethercat::wire::register::{RAM, Writing, writing};
use kadenz::report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::RegisterAddress;
use crate::commands::ethercat::access::DeviceAccess;
use crate::commands::ethercat::device::{Device, DeviceSelector};
use crate::commands::ethercat::segment::SegmentOrLoop;
use crate::options::complete;

/// Write registers of one device
///
/// Clears error counters without objection. All other registers are refused without `--force`, with the effect on a
/// running device: the loop may lose it, stop it, or make it act. With `--force` the command writes where no other
/// MainDevice exchanges frames on the interface, or with `--loop` through the running loop, which continues.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat register write 8 0x0300 00 --interface eth1                  clears its error counters
  kadenz ethercat register write 8 0x0310 '00 00 00 00' --loop robot           and those of lost links, through a loop
  kadenz ethercat register write 8 0x0420 500 --force --interface eth1         a watchdog of 50 ms
  kadenz ethercat register write 8 0x0F80 'c0 ff ee' --type bytes --force --sim 59")]
pub(crate) struct RegisterWriteOptions {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: DeviceSelector,

    /// Address to write: 0x0420
    #[arg(value_name = "ADDRESS")]
    address: RegisterAddress,

    /// The value: 8, -1, 0x10, 1.5, true, a text, or pairs of hexadecimal digits for bytes
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,

    #[command(flatten)]
    place: SegmentOrLoop,

    /// Type: bool, u8 to u64, i8 to i64, f32, f64, text, bytes [default: that of the register]
    #[arg(long, value_name = "TYPE", value_parser = complete::<EntryType>(EntryType::COMMON), hide_possible_values = true)]
    r#type: Option<EntryType>,

    /// Write it in spite of its effect on a running device
    #[arg(long)]
    force: bool,
}

/// Result of `register write`.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands::ethercat) struct RegisterWrite {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    device: Device,
    address: u16,
    /// Name of the register; null where Kadenz knows no register at this address.
    name: Option<&'static str>,
    r#type: String,
    /// The written value.
    value: Value,
    /// Pairs of hexadecimal digits.
    #[schemars(regex(pattern = r"^([0-9a-f]{2}( [0-9a-f]{2})*)?$"))]
    bytes: String,
    /// Value read back; null where the command does not read it back, as process memory.
    #[schemars(regex(pattern = r"^([0-9a-f]{2}( [0-9a-f]{2})*)?$"))]
    reads: Option<String>,
    /// The read value for people.
    #[serde(skip)]
    shown: String,
}

pub(super) fn run(options: &RegisterWriteOptions) -> anyhow::Result<RegisterWrite> {
    let address = options.address;
    let Some(r#type) = options.r#type.or_else(|| address.r#type()) else {
        anyhow::bail!(
            "no register that Kadenz knows begins at {address}; name a type: --type u16, or --type bytes"
        );
    };
    let bytes = r#type.encode(&options.value).map_err(anyhow::Error::msg)?;
    address.ensure_inside(bytes.len())?;
    let writing = writing(address.0, bytes.len());
    if let (Writing::Perilous(why), false) = (writing, options.force) {
        anyhow::bail!("{address} is protected: {why}; use --force to write it");
    }
    let mut access = DeviceAccess::open(&options.place)?;
    if writing != Writing::Harmless {
        access.ensure_alone()?;
    }
    let device = access.one(&options.device)?;
    anyhow::ensure!(
        access.write(&device, address.0, &bytes)?,
        "{} does not take what is written to {address}: it has no such register, or it is read only; `kadenz ethercat \
         register read` shows what is there",
        device.label()
    );
    let reads = reads(&mut access, &device, address, &bytes)?;
    let now = reads.as_ref().map_or_else(String::new, |it| {
        format!(", it reads {} now", r#type.shown(it))
    });
    Ok(RegisterWrite {
        version: Version,
        segment: access.name(),
        address: address.0,
        name: address.known().map(|it| it.name),
        r#type: r#type.to_string(),
        value: r#type.json(&bytes),
        bytes: hex(&bytes),
        reads: reads.as_deref().map(hex),
        shown: format!(
            "{address} = {}{now}   ({type}; {})",
            r#type.shown(&bytes),
            device.label()
        ),
        device,
    })
}

/// Reads the register back: it may act and show another value. Process memory is not read back, since a SyncManager
/// may guard it.
fn reads(
    access: &mut DeviceAccess,
    device: &Device,
    address: RegisterAddress,
    written: &[u8],
) -> anyhow::Result<Option<Vec<u8>>> {
    let length = u16::try_from(written.len())?;
    match u32::from(address.0) + u32::from(length) <= u32::from(RAM) {
        true => access.read(device, address.0, length),
        false => Ok(None),
    }
}

impl Answer for RegisterWrite {
    fn document(&self) -> Document {
        self.shown.clone().into()
    }
}
