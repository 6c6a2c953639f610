//! `kadenz ethercat register read`.

use clap::{Args, ValueEnum};
use kadenz::ethercat::value::{EntryType, hex};
use kadenz::ethercat::wire::SyncManager;
use kadenz::ethercat::wire::register::{RAM, SYNC_MANAGER, SYNC_MANAGER_SIZE};
use kadenz::ethercat::wire::sync_manager::SyncManagerMode;
use kadenz::report::document::{Answer, Document, Table, Version};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::RegisterAddress;
use crate::commands::ethercat::access::{DeviceAccess, binary, hex_rows};
use crate::commands::ethercat::device::{Device, DeviceSelector};
use crate::commands::ethercat::segment::SegmentOrLoop;
use crate::options::complete;
use crate::output::{self, Outcome, Reply};

/// Read registers of one device or of all
///
/// For a register that Kadenz knows, its address suffices; for others state the number of bytes, or the type. One
/// datagram carries all bytes, so that they are consistent.
///
/// Refused without `--force`: memory of a mailbox, since a read takes the message away from its MainDevice.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat register read 8 0x0130 --interface eth1               AL status
  kadenz ethercat register read all 0x0300 --interface eth1             every device's error counters
  kadenz ethercat register read 8 0x0800 32 --form hex --sim 59         four SyncManagers
  kadenz ethercat register read 8 0x0110 --form bits --sim 59           links, bit by bit
  kadenz ethercat register read 8 0x092C --type u32 --loop robot        through a running loop
  kadenz ethercat register read 8 0x0F80 128 --form raw --interface eth1 >user.bin")]
pub(crate) struct RegisterReadOptions {
    /// Which devices: a position from 0, a name, alias:N, or all
    #[arg(value_name = "DEVICE")]
    device: DeviceSelector,

    /// Address of the first byte: 0x0130
    #[arg(value_name = "ADDRESS")]
    address: RegisterAddress,

    /// Number of bytes, 1 to 1024 [default: that of the register or the type]
    #[arg(value_name = "LENGTH")]
    length: Option<u16>,

    #[command(flatten)]
    place: SegmentOrLoop,

    /// Type: bool, u8 to u64, i8 to i64, f32, f64, text, bytes [default: that of the register]
    #[arg(long, value_name = "TYPE", value_parser = complete::<EntryType>(EntryType::COMMON), hide_possible_values = true)]
    r#type: Option<EntryType>,

    /// Read it in spite of objections
    #[arg(long)]
    force: bool,

    /// Format of the bytes
    #[arg(
        long,
        value_name = "FORM",
        default_value = "value",
        conflicts_with = "json",
        help_heading = "Output"
    )]
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A value of the register's type
    Value,
    /// Rows of bytes with their addresses
    Hex,
    /// Each byte from its highest bit down
    Bits,
    /// The raw bytes, of one device
    Raw,
}

/// Registers of one device or several, from `register read`.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands::ethercat) struct RegisterReport {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    address: u16,
    /// Number of bytes, 1 to 1024.
    length: u16,
    /// Name of the register; null where Kadenz knows no register at this address.
    name: Option<&'static str>,
    r#type: String,
    registers: Vec<DeviceRegisters>,
    #[serde(skip)]
    how: RegisterFormat,
}

#[derive(JsonSchema, Serialize)]
struct DeviceRegisters {
    device: Device,
    /// The value by its type; a text of the bytes where these fit no type, and null where the device does not answer
    /// there.
    value: Value,
    /// Pairs of hexadecimal digits.
    #[schemars(regex(pattern = r"^([0-9a-f]{2}( [0-9a-f]{2})*)?$"))]
    bytes: Option<String>,
    #[serde(skip)]
    raw: Option<Vec<u8>>,
}

/// Format of shown registers.
#[derive(Clone, Copy)]
struct RegisterFormat {
    form: Form,
    r#type: EntryType,
    address: RegisterAddress,
}

pub(super) fn run(options: &RegisterReadOptions) -> anyhow::Result<Reply> {
    let address = options.address;
    let (r#type, length) = address.span(options.r#type, options.length)?;
    let mut access = DeviceAccess::open(&options.place)?;
    let devices = access.among(&options.device)?;
    anyhow::ensure!(
        options.form != Form::Raw || devices.len() == 1,
        "--form raw shows one device's bytes, and {} are {}; name one",
        devices.len(),
        options.device
    );
    let mut registers = Vec::with_capacity(devices.len());
    for device in devices {
        let raw = read(&mut access, &device, options, length)?;
        let bytes = raw.as_deref();
        registers.push(DeviceRegisters {
            device,
            value: bytes.map_or(Value::Null, |it| r#type.json(it)),
            bytes: bytes.map(hex),
            raw,
        });
    }
    ensure_answered(address, &registers)?;
    if let (Form::Raw, Some(bytes)) = (options.form, &registers[0].raw) {
        output::raw(bytes)?;
        return Ok(Outcome::Kept.into());
    }
    Ok(Reply::from(RegisterReport {
        version: Version,
        segment: access.name(),
        address: address.0,
        length,
        name: address.known().map(|it| it.name),
        r#type: r#type.to_string(),
        registers,
        how: RegisterFormat {
            form: options.form,
            r#type,
            address,
        },
    }))
}

fn ensure_answered(address: RegisterAddress, registers: &[DeviceRegisters]) -> anyhow::Result<()> {
    if registers.iter().any(|it| it.raw.is_some()) {
        return Ok(());
    }
    let silent = match registers {
        [one] => format!("{} does not answer", one.device.label()),
        _ => "no device answers".to_owned(),
    };
    anyhow::bail!(
        "{silent} at {address}: it has no such register, as a controller without clocks has none from 0x0910 on, or a \
         SyncManager guards it now"
    )
}

fn read(
    access: &mut DeviceAccess,
    device: &Device,
    options: &RegisterReadOptions,
    length: u16,
) -> anyhow::Result<Option<Vec<u8>>> {
    let address = options.address;
    anyhow::ensure!(
        options.force || !touches_a_mailbox(access, device, address.0, length)?,
        "{}: a mailbox lies at {address}: reading a message there takes it away from its MainDevice; --force reads \
         it nevertheless",
        device.label()
    );
    access.read(device, address.0, length)
}

/// Whether these bytes overlap a mailbox.
fn touches_a_mailbox(
    access: &mut DeviceAccess,
    device: &Device,
    address: u16,
    length: u16,
) -> anyhow::Result<bool> {
    let end = u32::from(address) + u32::from(length);
    if end <= u32::from(RAM) {
        return Ok(false);
    }
    let all = access.read(device, SYNC_MANAGER, 16 * SYNC_MANAGER_SIZE)?;
    let all = all.unwrap_or_default();
    let managers = all.as_chunks::<8>().0.iter();
    let mut managers = managers.map(|it| SyncManager::from_bytes(*it));
    Ok(managers.any(|it| {
        let behind = u32::from(it.start) + u32::from(it.length);
        let overlaps = u32::from(it.start) < end && behind > u32::from(address);
        it.active() && it.control.mode() == Some(SyncManagerMode::Mailbox) && overlaps
    }))
}

impl RegisterFormat {
    /// A register's bytes; `-` where the device does not answer there.
    fn of(self, registers: &DeviceRegisters) -> String {
        let Some(bytes) = &registers.raw else {
            return "-".to_owned();
        };
        match self.form {
            Form::Value => self.r#type.shown(bytes),
            Form::Hex => hex_rows(bytes, self.address.0.into(), 1),
            Form::Bits | Form::Raw => binary(bytes),
        }
    }
}

impl Answer for RegisterReport {
    fn document(&self) -> Document {
        let how = self.how;
        let document = Document::new();
        match &self.registers[..] {
            [one] if how.form == Form::Hex => document.listing(how.of(one)),
            [one] => document.sentence(format!(
                "{} = {}   ({}; {})",
                how.address,
                how.of(one),
                how.r#type,
                one.device.label()
            )),
            several if how.form == Form::Hex => {
                let rows = several
                    .iter()
                    .map(|it| format!("{}\n{}", it.device.label(), how.of(it)));
                document.listing(rows.collect::<Vec<_>>().join("\n"))
            }
            several => {
                let rows = several.iter().map(|it| {
                    let (position, name) = (it.device.position, it.device.called());
                    vec![position.to_string(), name.to_owned(), how.of(it)]
                });
                let name = how.address.to_string();
                document.table(Table::new(&["pos", "device", &name], 3, rows.collect()))
            }
        }
    }
}
