//! `kadenz ethercat sii read`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kadenz::ethercat::value::hex;
use kadenz::ethercat::wire::sii::{Image, Mailboxes, category};
use kadenz::report::document::{Answer, Document, Table, Version};
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::ethercat::access::{DeviceAccess, hex_rows};
use crate::commands::ethercat::device::{Device, DeviceSelector};
use crate::commands::ethercat::scan::protocols;
use crate::commands::ethercat::segment::SegmentOrLoop;
use crate::output;

/// Read the SII of a device: identity, mailboxes, and the categories behind them
///
/// Reads to the end of the categories. With `--loop` the answer is the SII from the loop's begin, and no frame is
/// sent.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sii read 0 --interface eth1                     in words
  kadenz ethercat sii read 8 --sim 59 --hex                       as bytes
  kadenz ethercat sii read 8 --interface eth1 --out knee.bin      into a file, for `sii write`
  kadenz ethercat sii read 'left knee' --loop robot               through a running loop")]
pub(crate) struct SiiReadOptions {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: DeviceSelector,

    #[command(flatten)]
    place: SegmentOrLoop,

    /// File for the bytes [default: standard output has them]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Show its bytes
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    hex: bool,
}

/// SII of a device, from `sii read`.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands::ethercat) struct SiiReport {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    device: Device,
    vendor: u32,
    product: u32,
    revision: u32,
    serial: u32,
    alias: u16,
    /// Whether the checksum of its first words is right.
    checksum_holds: bool,
    #[schemars(inner(regex(pattern = "^(aoe|eoe|coe|foe|soe|voe)$")))]
    protocols: Vec<&'static str>,
    categories: Vec<Category>,
    /// Pairs of hexadecimal digits.
    #[schemars(regex(pattern = r"^([0-9a-f]{2}( [0-9a-f]{2})*)?$"))]
    bytes: String,
    #[serde(skip)]
    mailboxes: Mailboxes,
    /// The bytes, if the command prints them.
    #[serde(skip)]
    dump: Option<Vec<u8>>,
}

#[derive(JsonSchema, Serialize)]
struct Category {
    number: u16,
    name: Option<&'static str>,
    /// Number of its first word.
    word: u16,
    /// Its length without the words of its number and length.
    bytes: usize,
}

pub(super) fn run(options: &SiiReadOptions) -> anyhow::Result<SiiReport> {
    let mut access = DeviceAccess::open(&options.place)?;
    let (device, bytes) = access.sii(&options.device)?;
    if let Some(path) = &options.out {
        std::fs::write(path, &bytes)
            .with_context(|| format!("cannot write {}; choose another file", path.display()))?;
        output::note(&format!("{} bytes in {}", bytes.len(), path.display()));
    }
    let mut report = SiiReport::of(access.name(), device, &bytes)?;
    report.dump = options.hex.then_some(bytes);
    Ok(report)
}

impl SiiReport {
    fn of(segment: String, device: Device, bytes: &[u8]) -> anyhow::Result<Self> {
        let image = Image::of(bytes).with_context(|| device.label())?;
        let fixed = image.fixed();
        let mut categories = Vec::new();
        for category in image.categories() {
            let category = category.with_context(|| device.label())?;
            categories.push(Category {
                number: category.number,
                name: name(category.number),
                word: category.word,
                bytes: category.data.len(),
            });
        }
        Ok(Self {
            version: Version,
            segment,
            device,
            vendor: fixed.identity.vendor,
            product: fixed.identity.product,
            revision: fixed.identity.revision,
            serial: fixed.identity.serial,
            alias: fixed.alias,
            checksum_holds: image.checksum_holds(),
            protocols: protocols(fixed.protocols),
            categories,
            bytes: hex(bytes),
            mailboxes: fixed.mailboxes,
            dump: None,
        })
    }

    fn mailboxes(&self) -> String {
        let (receive, send) = (self.mailboxes.receive, self.mailboxes.send);
        if receive.size == 0 || send.size == 0 {
            return "none".to_owned();
        }
        format!(
            "receives {} bytes at 0x{:04X}, sends {} bytes at 0x{:04X}: {}",
            receive.size,
            receive.start,
            send.size,
            send.start,
            self.protocols.join(", ")
        )
    }
}

impl Answer for SiiReport {
    fn document(&self) -> Document {
        if let Some(bytes) = &self.dump {
            return Document::new().listing(hex_rows(bytes, 0, 2));
        }
        let rows = self.categories.iter().map(|it| {
            vec![
                it.number.to_string(),
                it.name.unwrap_or("-").to_owned(),
                format!("0x{:04X}", it.word),
                it.bytes.to_string(),
            ]
        });
        let head = ["category", "what", "word", "bytes"];
        let checksum = match self.checksum_holds {
            true => "holds",
            false => "is wrong",
        };
        Document::new()
            .sentence(format!("{} ({})", self.device.called(), self.device.name))
            .sentence(format!(
                "vendor 0x{:08X}, product 0x{:08X}, revision 0x{:08X}, serial number {}",
                self.vendor, self.product, self.revision, self.serial
            ))
            .sentence(format!("alias {}; the checksum {checksum}", self.alias))
            .sentence(format!("mailbox: {}", self.mailboxes()))
            .table(Table::new(&head, 3, rows.collect()))
    }
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
