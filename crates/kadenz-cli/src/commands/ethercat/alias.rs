//! `kadenz ethercat alias`.

use anyhow::Context as _;
use clap::Args;
use kadenz::ethercat::main_device::device::SubDevice;
use kadenz::ethercat::main_device::sii::Sii;
use kadenz::ethercat::value::number;
use kadenz::ethercat::wire::sii::{checksum, word};
use kadenz::report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;

use super::access::DeviceAccess;
use super::device::{Device, DeviceSelector, label_of, weigh};
use super::segment::SegmentOrLoop;
use crate::commands::interrupt;

/// Give a device an alias, which identifies it at any place in the segment.
///
/// Writes word 0x04 of its SII memory, and the checksum of the first words behind it. The controller reads the alias
/// at its next power-on; from then on `alias:N` means this device in every command.
///
/// Refused without `--force`: an alias that another device of the segment has, and a memory whose checksum is wrong,
/// since with a right one the controller would use words that may be damaged. Refused where another MainDevice
/// exchanges frames; with `--loop` the running loop carries it between its own frames, and continues.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat alias 8 1008 --interface eth1          from its next power on
  kadenz ethercat alias 'left knee' 0x3F0 --sim 59       try it; nothing stays changed
  kadenz ethercat alias 8 0 --interface eth1             removes it
  kadenz ethercat alias 8 1008 --loop robot              through a running loop")]
pub(crate) struct Options {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: DeviceSelector,

    /// Its alias, 1 to 65535; 0 removes the present one
    #[arg(value_name = "ALIAS", value_parser = alias)]
    alias: u16,

    #[command(flatten)]
    place: SegmentOrLoop,

    /// Write it in spite of objections
    #[arg(long)]
    force: bool,
}

fn alias(text: &str) -> Result<u16, String> {
    number::unsigned(text).ok_or_else(|| {
        format!("`{text}` is not a valid alias; write 0 to 65535, or 0x and hexadecimal digits")
    })
}

/// A device's alias.
#[derive(JsonSchema, Serialize)]
pub(super) struct Alias {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    device: Device,
    /// The alias in the device's SII before.
    before: u16,
    /// The alias from the device's next power-on.
    alias: u16,
    /// false where the SII held it already.
    written: bool,
    /// Objections that `--force` overrode.
    overridden: Vec<String>,
    /// When the alias takes effect.
    #[serde(skip)]
    when: &'static str,
}

/// Bytes of the words that configure the controller itself.
const HEAD: usize = 16;

pub(crate) fn run(options: &Options) -> anyhow::Result<Alias> {
    let mut access = DeviceAccess::open(&options.place)?;
    access.ensure_alone()?;
    let all = access.sub_devices()?;
    let place = options.device.one_among(&all)?;
    let device = Device::from(&all[place]);
    let objections = objections(&all, place, options.alias);
    weigh(&device, &objections, options.force)?;
    let done = write(&mut access, &device, options.alias);
    let (before, written) = done.with_context(|| device.label())?;
    Ok(Alias {
        version: Version,
        segment: access.name(),
        device,
        before,
        alias: options.alias,
        written,
        overridden: objections,
        when: access.when_it_counts(),
    })
}

/// The alias in a device's memory.
fn alias_of(device: &SubDevice) -> u16 {
    device.image().map_or(0, |it| it.fixed().alias)
}

fn objections(all: &[SubDevice], place: usize, alias: u16) -> Vec<String> {
    let mut objections = Vec::new();
    let others = all.iter().enumerate().filter(|(at, _)| *at != place);
    let mut same = others.filter(|(_, it)| it.alias == alias || alias_of(it) == alias);
    if let Some((_, other)) = same.next().filter(|_| alias != 0) {
        objections.push(format!(
            "{} has the alias {alias} already: two devices would share the alias",
            label_of(other)
        ));
    }
    if !all[place].image().is_some_and(|it| it.checksum_holds()) {
        objections.push(
            "the SII checksum is wrong; the device ignores its configuration words (`kadenz ethercat sii read --hex` \
             shows them)"
                .to_owned(),
        );
    }
    objections
}

/// Writes alias and checksum, where they differ, and reads them back; returns the alias before, and whether it wrote.
fn write(access: &mut DeviceAccess, device: &Device, alias: u16) -> anyhow::Result<(u16, bool)> {
    // Ctrl-C waits: between the two words the memory holds a wrong checksum.
    let _stop = interrupt::quietly_stop_on_interrupt()?;
    access.ask(device, |registers, target| {
        let mut sii = Sii::borrow(registers, target)?;
        let mut head = [0; HEAD];
        sii.read(0, &mut head)?;
        let at = 2 * usize::from(word::ALIAS);
        let before = u16::from_le_bytes([head[at], head[at + 1]]);
        head[at..at + 2].copy_from_slice(&alias.to_le_bytes());
        let mut first = [0; 14];
        first.copy_from_slice(&head[..14]);
        head[2 * usize::from(word::CHECKSUM)] = checksum(&first);
        let differences = sii.differences(&head)?;
        for it in &differences {
            sii.write(it.word, it.wanted)
                .context("the alias is not written, or its checksum is not; write it again")?;
        }
        let left = sii.differences(&head)?;
        sii.give_back()?;
        anyhow::ensure!(
            left.is_empty(),
            "the alias was written and is not there; is the memory write-protected, or worn out?"
        );
        Ok((before, !differences.is_empty()))
    })
}

impl Answer for Alias {
    fn document(&self) -> Document {
        let (device, alias, before) = (self.device.label(), self.alias, self.before);
        let words = match (self.written, alias) {
            (false, _) => format!("{device}: its alias is {alias} already; nothing was written"),
            (true, 0) => format!(
                "{device}: alias removed from the SII EEPROM (was {before}); this takes effect at the next power-on"
            ),
            (true, _) => format!(
                "{device}: alias {alias} written to the SII EEPROM (was {before}); it takes effect at the next power-on"
            ),
        };
        (words + self.when).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_a_number_of_16_bits() {
        assert_eq!(alias("0x3F0"), Ok(0x3F0));
        assert_eq!(alias("65535"), Ok(65_535));
        for text in ["65536", "-1", "", "x", "0x"] {
            assert!(alias(text).unwrap_err().contains("65535"), "{text}");
        }
    }
}
