//! `kadenz ethercat register read`.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::what::RegisterAddress;
use crate::commands::ethercat::device::{ToldDevice, Which};
use crate::commands::ethercat::segment::SegmentOrLoop;
use crate::commands::ethercat::value::{self, TYPES, ValueType};
use crate::commands::ethercat::way::{Way, whose};
use crate::commands::msg::table::table;
use crate::options::complete;
use crate::output::{self, Outcome};

/// What stands in registers, of one device or of all
///
/// A register that Kadenz knows needs its address alone; for others say how many bytes, or the type. All bytes go in
/// one datagram, and so belong together.
///
/// Refused without `--force`: memory in which a mailbox lies, since who reads a message there takes it away from its
/// MainDevice.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat register read 8 0x0130 --interface eth1               AL status
  kadenz ethercat register read all 0x0300 --interface eth1             every device's error counters
  kadenz ethercat register read 8 0x0800 32 --form hex --sim 59         four SyncManagers
  kadenz ethercat register read 8 0x0110 --form bits --sim 59           links, bit by bit
  kadenz ethercat register read 8 0x092C --type u32 --loop robot        of a loop that runs, and goes on
  kadenz ethercat register read 8 0x0F80 128 --form raw --interface eth1 >user.bin")]
pub(crate) struct Read {
    /// Which: a position from 0, a name, alias:N, or all
    #[arg(value_name = "DEVICE")]
    device: Which,

    /// Where they begin: 0x0130
    #[arg(value_name = "ADDRESS")]
    address: RegisterAddress,

    /// How many bytes, 1 to 1024 [default: as the register or the type has]
    #[arg(value_name = "LENGTH")]
    length: Option<u16>,

    #[command(flatten)]
    place: SegmentOrLoop,

    /// Type: bool, u8 to u64, i8 to i64, f32, f64, text, bytes [default: as the register has]
    #[arg(long, value_name = "TYPE", value_parser = complete::<ValueType>(TYPES), hide_possible_values = true)]
    r#type: Option<ValueType>,

    /// Read it whatever speaks against it
    #[arg(long)]
    force: bool,

    /// How they are shown
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
    /// By their type
    Value,
    /// Rows of bytes with their addresses
    Hex,
    /// Each byte from its highest bit down
    Bits,
    /// The bytes as they are, of one device
    Raw,
}

#[derive(JsonSchema, Serialize)]
struct Told {
    version: u32,
    segment: String,
    address: u16,
    length: u16,
    name: Option<&'static str>,
    r#type: String,
    registers: Vec<ToldRegister>,
}

#[derive(JsonSchema, Serialize)]
struct ToldRegister {
    device: ToldDevice,
    value: Value,
    bytes: Option<String>,
}

/// What a device answered.
struct Answered {
    device: ToldDevice,
    bytes: Option<Vec<u8>>,
}

pub(super) fn run(options: &Read) -> anyhow::Result<Outcome> {
    let address = options.address;
    let (r#type, length) = address.span(options.r#type, options.length)?;
    let mut way = Way::open(&options.place)?;
    let devices = way.among(&options.device)?;
    anyhow::ensure!(
        options.form != Form::Raw || devices.len() == 1,
        "--form raw shows one device's bytes, and {} are {}",
        devices.len(),
        options.device
    );
    let mut answered = Vec::with_capacity(devices.len());
    for device in devices {
        let bytes = read(&mut way, &device, options, length)?;
        answered.push(Answered { device, bytes });
    }
    if answered.iter().all(|it| it.bytes.is_none()) {
        anyhow::bail!(
            "{} at {address}: it has no such register, as a controller without clocks has none from 0x0910 on, or \
             a SyncManager guards it now",
            match &answered[..] {
                [one] => format!("{} does not answer", whose(&one.device)),
                _ => "no device answers".to_owned(),
            }
        );
    }
    if output::is_json() {
        output::json(&Told {
            version: 1,
            segment: way.name(),
            address: address.0,
            length,
            name: address.known().map(|it| it.name),
            r#type: r#type.to_string(),
            registers: answered.into_iter().map(|it| it.told(r#type)).collect(),
        })?;
    } else if let (Form::Raw, Some(bytes)) = (options.form, &answered[0].bytes) {
        output::raw(bytes)?;
    } else {
        output::say(&shown(options, r#type, &answered));
    }
    Ok(Outcome::Kept)
}

fn read(
    way: &mut Way,
    device: &ToldDevice,
    options: &Read,
    length: u16,
) -> anyhow::Result<Option<Vec<u8>>> {
    let address = options.address;
    anyhow::ensure!(
        options.force || !way.touches_a_mailbox(device, address.0, length)?,
        "{}: a mailbox lies at {address}: who reads a message there takes it away from its MainDevice; --force reads \
         it all the same",
        whose(device)
    );
    way.read(device, address.0, length)
}

fn shown(options: &Read, r#type: ValueType, answered: &[Answered]) -> String {
    let first = usize::from(options.address.0);
    let of = |bytes: &[u8]| match options.form {
        Form::Value => r#type.shown(bytes),
        Form::Hex => value::hex_rows(bytes, first, 1),
        Form::Bits | Form::Raw => value::binary(bytes),
    };
    match answered {
        [one] => {
            let bytes = one.bytes.as_deref().unwrap_or_default();
            match options.form {
                Form::Hex => of(bytes),
                _ => format!(
                    "{} = {}   ({}; {})",
                    options.address,
                    of(bytes),
                    r#type,
                    whose(&one.device)
                ),
            }
        }
        several if options.form == Form::Hex => {
            let rows = several.iter().map(|it| {
                let bytes = it.bytes.as_deref();
                let rows = bytes.map_or_else(|| "-".to_owned(), of);
                format!("{}\n{rows}", whose(&it.device))
            });
            rows.collect::<Vec<_>>().join("\n")
        }
        several => {
            let rows = several.iter().map(|it| {
                vec![
                    it.device.position.to_string(),
                    it.device.called().to_owned(),
                    it.bytes.as_deref().map_or_else(|| "-".to_owned(), of),
                ]
            });
            let name = options.address.to_string();
            table(&["pos", "device", name.as_str()], 3, rows.collect())
        }
    }
}

impl Answered {
    fn told(self, r#type: ValueType) -> ToldRegister {
        let bytes = self.bytes.as_deref();
        ToldRegister {
            value: bytes.map_or(Value::Null, |it| r#type.json(it)),
            bytes: bytes.map(value::hex),
            device: self.device,
        }
    }
}
