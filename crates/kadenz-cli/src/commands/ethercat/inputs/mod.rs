//! `kadenz ethercat inputs`.

mod images;
pub(super) mod shown;

use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use kadenz::ethercat::control::catalogue::{Direction, Item};
use kadenz::ethercat::running_loop::control_socket::ProcessImageLayout;
use kadenz::rt::beat::Rate;

use super::device::DeviceSelector;
use super::running_loop::{LoopName, RunningLoop};
use super::sdo::ObjectAddress;
use crate::commands::interrupt;
use crate::options::Span;
use crate::output::{self, Outcome, Reply};
use images::Images;
use shown::{ImageEntry, Printer};

pub(super) use shown::type_of;

/// Show the sensor values of a running loop.
///
/// Reads the process image that the loop publishes in shared memory every cycle: the loop gets no request and does not
/// wait. All values of one line belong to one cycle. Where the loop publishes behind a lock instead (`run --readers
/// pi-mutex`), the command asks its control socket, which a thread outside the loop serves.
///
/// A loop whose last cycle is old stands still, and its values are out of date: the command then fails with an error
/// that states the age. When the loop ends, so does --watch. Programs in other languages read the same memory:
/// docs/ethercat-inputs.md.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat inputs                                   every sensor's last value, of the only running loop
  kadenz ethercat inputs --loop robot --device 'torso imu'
  kadenz ethercat inputs --loop robot --name 0x6064 --watch --rate 100Hz --csv > positions.csv
  kadenz ethercat inputs --loop robot --device 8 --outputs --units
  kadenz ethercat inputs --json | jq '.entries[] | select(.name | test(\"Position\")) | .value'")]
pub(crate) struct Options {
    #[command(flatten)]
    running: LoopName,

    /// Target: a position from 0, a name, alias:N, or all
    #[arg(long, value_name = "DEVICE", default_value = "all")]
    device: DeviceSelector,

    /// Only entries of this object, or with these words in their name: 0x6064, 0x6000:1, position
    #[arg(long = "name", value_name = "ENTRY")]
    entry: Option<EntrySelector>,

    /// Outputs, too: the values that the loop sends to its actuators
    #[arg(long)]
    outputs: bool,

    /// Read the units of objects from each device whose dictionary has them; takes some cycles each
    #[arg(long)]
    units: bool,

    /// Repeat until Ctrl-C
    #[arg(long)]
    watch: bool,

    /// Rate of the repetition, with --watch [default: 10Hz]
    #[arg(long, value_name = "RATE", requires = "watch")]
    rate: Option<Rate>,

    /// End after this time, with --watch [default: at Ctrl-C]
    #[arg(long, value_name = "SPAN", requires = "watch")]
    duration: Option<Span>,

    /// Greatest age of the last cycle before the loop counts as standing still [default: 1s, or ten cycles where
    /// these are longer]
    #[arg(long, value_name = "SPAN")]
    oldest: Option<Span>,

    /// Print a line of comma-separated values for each cycle read, below a line with their names
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    csv: bool,
}

/// Selects entries.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EntrySelector {
    Object(ObjectAddress),
    /// In lower case.
    Words(String),
}

impl FromStr for EntrySelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("0x") {
            return text.parse().map(Self::Object);
        }
        match text.trim() {
            "" => Err("name an object (0x6064, 0x6000:1), or words of an entry's name".to_owned()),
            words => Ok(Self::Words(words.to_lowercase())),
        }
    }
}

impl EntrySelector {
    fn is(&self, item: &Item) -> bool {
        match self {
            Self::Object(address) => {
                item.index == address.index && address.sub.is_none_or(|sub| sub == item.sub)
            }
            Self::Words(words) => item.name.to_lowercase().contains(words),
        }
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let mut running = options.running.open()?;
    let layout = running.client.layout()?;
    let printer = Printer {
        name: running.name.clone(),
        pid: running.pid,
        entries: chosen(options, &mut running, &layout)?,
        is_csv: options.csv,
    };
    let mut images = Images::open(running, &layout, options.oldest.map(|it| it.0))?;
    printer.head();
    if !options.watch {
        let last = images.next()?;
        let last = last.context("the loop has ended, and its last values are out of date")?;
        return Ok(printer.reply(&last));
    }
    watch(options, &mut images, &printer).map(Reply::from)
}

/// The selected entries.
fn chosen(
    options: &Options,
    running: &mut RunningLoop,
    layout: &ProcessImageLayout,
) -> anyhow::Result<Vec<ImageEntry>> {
    let devices = running.devices()?;
    let meant = options.device.among(devices.iter().cloned())?;
    let items = layout.catalogue.entries.iter().filter(|it| {
        let is_named = options.entry.as_ref().is_none_or(|named| named.is(it));
        let is_shown = it.direction == Direction::Inputs || options.outputs;
        meant.contains(&it.device) && is_named && is_shown
    });
    let shown = |item: &Item| ImageEntry::of(item, devices[item.device].clone());
    let mut entries: Vec<_> = items.map(shown).collect();
    anyhow::ensure!(
        !entries.is_empty(),
        "no {} matches --device/--name; without them all are shown{}",
        if options.outputs { "entry" } else { "input" },
        if options.outputs {
            ""
        } else {
            ", and with --outputs those too"
        },
    );
    if options.units {
        for entry in &mut entries {
            entry.learn_unit(running)?;
        }
    }
    Ok(entries)
}

fn watch(options: &Options, images: &mut Images, printer: &Printer) -> anyhow::Result<Outcome> {
    let stop = interrupt::quietly_stop_on_interrupt()?;
    let begun = Instant::now();
    let end = options.duration.map(|span| begun + span.0);
    let pause = options
        .rate
        .map_or(Duration::from_millis(100), |it| it.interval().as_duration());
    let mut next = begun;
    while !stop.requested() && end.is_none_or(|end| Instant::now() < end) {
        let Some(seen) = images.next()? else {
            output::note("the loop has ended");
            break;
        };
        if !printer.print(&seen)? {
            break;
        }
        // A delayed reader continues from now: the cycles that it missed are gone.
        next = (next + pause).max(Instant::now());
        let until = end.map_or(next, |end| next.min(end));
        while !stop.requested() && Instant::now() < until && !images.has_ended() {
            let left = until.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
    Ok(Outcome::Kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(index: u16, sub: u8, name: &str) -> Item {
        Item {
            device: 0,
            device_name: String::new(),
            direction: Direction::Inputs,
            manager: 3,
            pdo: 0x1A00,
            index,
            sub,
            name: name.to_owned(),
            data_type: 0,
            bits: 16,
            bit: 0,
            logical_bit: 0,
            axis: false,
        }
    }

    #[test]
    fn an_entry_is_named_by_its_object_or_words_of_its_name() {
        let position = item(0x6064, 0, "Position actual value");
        let axis = item(0x6000, 16, "Acceleration Y");
        for (named, is) in [
            ("0x6064", [true, false]),
            ("0x6000", [false, true]),
            ("0x6000:16", [false, true]),
            ("0x6000:0x10", [false, true]),
            ("0x6000:10", [false, false]),
            ("position", [true, false]),
            ("ACTUAL Value", [true, false]),
            ("a", [true, true]),
        ] {
            let named: EntrySelector = named.parse().unwrap();
            assert_eq!([named.is(&position), named.is(&axis)], is, "{named:?}");
        }
        for none in ["", " ", "0x", "0x1:2:3"] {
            assert!(none.parse::<EntrySelector>().is_err(), "{none}");
        }
    }
}
