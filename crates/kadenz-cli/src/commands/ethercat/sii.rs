//! `kadenz ethercat sii`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::wire::sii::{Image, category};
use serde::Serialize;

use super::device::{ToldDevice, Which, called};
use super::scan::protocols;
use super::segment::{Segment, SegmentOptions};
use super::value;
use crate::commands::msg::table::table;
use crate::output::{self, Outcome};

/// What does a device's memory say of it?
///
/// The slave information interface, its EEPROM: identity, mailboxes, and the categories behind them. Reads
/// only.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sii 0 --interface eth1                     in words
  kadenz ethercat sii 8 --sim 59 --hex                       its bytes
  kadenz ethercat sii 8 --interface eth1 --out knee.bin      into a file")]
pub(crate) struct Options {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: Which,

    #[command(flatten)]
    segment: SegmentOptions,

    /// Write its bytes to a file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Show its bytes
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    hex: bool,

    /// Print it as JSON on standard output (schema: docs/schema/ethercat.schema.json)
    #[arg(long, help_heading = "Output")]
    json: bool,
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

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut segment = Segment::open(&options.segment)?;
    let met = segment.survey()?;
    let device = &met[options.device.one_among(&met)?].device;
    let told = told(&segment.name, device)?;
    if let Some(path) = &options.out {
        std::fs::write(path, &device.sii)
            .with_context(|| format!("cannot write {}; choose another file", path.display()))?;
        output::note(&format!("{} bytes in {}", device.sii.len(), path.display()));
    }
    if options.json {
        output::json(&told)?;
    } else if options.hex {
        output::say(&hex_rows(&device.sii));
    } else {
        output::say(&words(device, &told));
    }
    Ok(Outcome::Kept)
}

fn told(segment: &str, device: &SubDevice) -> anyhow::Result<Told> {
    let image = Image::of(&device.sii)?;
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
        segment: segment.to_owned(),
        device: ToldDevice::of(device),
        vendor: fixed.identity.vendor,
        product: fixed.identity.product,
        revision: fixed.identity.revision,
        serial: fixed.identity.serial,
        alias: fixed.alias,
        checksum_holds: image.checksum_holds(),
        protocols: protocols(fixed.protocols),
        categories,
        bytes: value::hex(&device.sii),
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

fn words(device: &SubDevice, told: &Told) -> String {
    let (receive, send) = (device.mailboxes.receive, device.mailboxes.send);
    let mailboxes = match device.has_mailbox() {
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
    format!(
        "{} ({})\nvendor 0x{:08X}, product 0x{:08X}, revision 0x{:08X}, serial number {}\nalias {}; the \
         checksum {}\nmailbox: {mailboxes}\n\n{}",
        called(device),
        device.name,
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
    )
}

fn hex_rows(bytes: &[u8]) -> String {
    let rows = (0..).step_by(8).zip(bytes.chunks(16));
    let rows = rows.map(|(word, row): (u32, &[u8])| {
        let printable = |byte: &u8| match byte.is_ascii_graphic() || *byte == b' ' {
            true => char::from(*byte),
            false => '.',
        };
        let text: String = row.iter().map(printable).collect();
        format!("0x{word:04X}  {:<47}  {text}", value::hex(row))
    });
    rows.collect::<Vec<_>>().join("\n")
}
