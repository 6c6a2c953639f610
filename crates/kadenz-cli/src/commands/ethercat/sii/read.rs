//! `kadenz ethercat sii read`.

#[cfg(target_os = "linux")]
mod running;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kadenz_ethercat::wire::sii::{Image, category};
use serde::Serialize;

use crate::commands::ethercat::device::{ToldDevice, Which};
use crate::commands::ethercat::scan::protocols;
use crate::commands::ethercat::segment::{Segment, SegmentOrLoop};
use crate::commands::ethercat::value;
use crate::commands::msg::table::table;
use crate::output::{self, Outcome};

/// What a device's memory says of it: identity, mailboxes, and the categories behind them
///
/// Reads as far as the categories go. With `--loop` it is told as it was when the loop began, and nobody on the
/// wire is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sii read 0 --interface eth1                     in words
  kadenz ethercat sii read 8 --sim 59 --hex                       its bytes
  kadenz ethercat sii read 8 --interface eth1 --out knee.bin      into a file, which `sii write` takes
  kadenz ethercat sii read 'left knee' --loop robot               of a loop that runs, and goes on")]
pub(crate) struct Read {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: Which,

    #[command(flatten)]
    place: SegmentOrLoop,

    /// Write its bytes to a file [default: they are told on standard output]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Show its bytes
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    hex: bool,
}

#[derive(Serialize)]
struct Told {
    version: u32,
    segment: String,
    device: ToldDevice,
    vendor: u32,
    product: u32,
    revision: u32,
    serial: u32,
    alias: u16,
    checksum_holds: bool,
    protocols: Vec<&'static str>,
    categories: Vec<ToldCategory>,
    bytes: String,
}

#[derive(Serialize)]
struct ToldCategory {
    number: u16,
    name: Option<&'static str>,
    word: u16,
    bytes: usize,
}

/// A device's memory, and whose it is.
struct Memory {
    segment: String,
    device: ToldDevice,
    bytes: Vec<u8>,
}

pub(super) fn run(options: &Read) -> anyhow::Result<Outcome> {
    let memory = memory(options)?;
    let bytes = &memory.bytes;
    if let Some(path) = &options.out {
        std::fs::write(path, bytes)
            .with_context(|| format!("cannot write {}; choose another file", path.display()))?;
        output::note(&format!("{} bytes in {}", bytes.len(), path.display()));
    }
    let told = told(&memory)?;
    if output::is_json() {
        output::json(&told)?;
    } else if options.hex {
        output::say(&value::hex_rows(bytes, 0, 2));
    } else {
        output::say(&words(&told, bytes)?);
    }
    Ok(Outcome::Kept)
}

fn memory(options: &Read) -> anyhow::Result<Memory> {
    #[cfg(target_os = "linux")]
    if let Some(control) = options.place.control()? {
        return running::memory(options, control);
    }
    #[cfg(not(target_os = "linux"))]
    options.place.ensure_none()?;
    let mut segment = Segment::open(&options.place.segment)?;
    let mut met = segment.survey()?;
    let device = met.swap_remove(options.device.one_among(&met)?).device;
    Ok(Memory {
        segment: segment.name,
        device: ToldDevice::of(&device),
        bytes: device.sii,
    })
}

fn told(memory: &Memory) -> anyhow::Result<Told> {
    let image = Image::of(&memory.bytes)?;
    let fixed = image.fixed();
    let mut categories = Vec::new();
    for category in image.categories() {
        let category = category?;
        categories.push(ToldCategory {
            number: category.number,
            name: name(category.number),
            word: category.word,
            bytes: category.data.len(),
        });
    }
    Ok(Told {
        version: 1,
        segment: memory.segment.clone(),
        device: memory.device.clone(),
        vendor: fixed.identity.vendor,
        product: fixed.identity.product,
        revision: fixed.identity.revision,
        serial: fixed.identity.serial,
        alias: fixed.alias,
        checksum_holds: image.checksum_holds(),
        protocols: protocols(fixed.protocols),
        categories,
        bytes: value::hex(&memory.bytes),
    })
}

const fn name(number: u16) -> Option<&'static str> {
    Some(match number {
        category::STRINGS => "strings",
        category::GENERAL => "general",
        category::FMMU => "FMMUs",
        category::SYNC_MANAGER => "SyncManagers",
        category::TX_PDO => "TxPDOs, inputs",
        category::RX_PDO => "RxPDOs, outputs",
        category::CLOCKS => "distributed clocks",
        _ => return None,
    })
}

fn words(told: &Told, bytes: &[u8]) -> anyhow::Result<String> {
    let areas = Image::of(bytes)?.fixed().mailboxes;
    let (receive, send) = (areas.receive, areas.send);
    let mailboxes = match receive.size > 0 && send.size > 0 {
        true => format!(
            "receives {} bytes at 0x{:04X}, sends {} bytes at 0x{:04X}: {}",
            receive.size,
            receive.start,
            send.size,
            send.start,
            told.protocols.join(", ")
        ),
        false => "none".to_owned(),
    };
    let rows = told.categories.iter().map(|it| {
        vec![
            it.number.to_string(),
            it.name.unwrap_or("-").to_owned(),
            format!("0x{:04X}", it.word),
            it.bytes.to_string(),
        ]
    });
    Ok(format!(
        "{} ({})\nvendor 0x{:08X}, product 0x{:08X}, revision 0x{:08X}, serial number {}\nalias {}; the \
         checksum {}\nmailbox: {mailboxes}\n\n{}",
        told.device.called(),
        told.device.name,
        told.vendor,
        told.product,
        told.revision,
        told.serial,
        told.alias,
        if told.checksum_holds {
            "holds"
        } else {
            "is wrong"
        },
        table(&["category", "what", "word", "bytes"], 3, rows.collect()),
    ))
}
