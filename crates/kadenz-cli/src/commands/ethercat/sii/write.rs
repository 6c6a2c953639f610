//! `kadenz ethercat sii write`, and its objections to an image for a device's memory.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use kadenz::ethercat::main_device::device::SubDevice;
use kadenz::ethercat::main_device::sii::{Difference, Sii};
use kadenz::ethercat::wire::sii::{Fixed, Image, problems, word};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::rt::regular_file;
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::ethercat::access::DeviceAccess;
use crate::commands::ethercat::device::{Device, DeviceSelector, weigh};
use crate::commands::ethercat::segment::SegmentOrLoop;
use crate::commands::interrupt;
use crate::options::Steps;
use crate::output::{Outcome, Reply};

/// The longest memory that a controller can have: 4 MiBit.
const MAX: u64 = 512 * 1024;

/// Write a file into a device's memory
///
/// Writes only words that differ, one after the other, which takes some 5 ms each: a memory of 2 KiB some seconds.
/// Words 0x00 to 0x07, which configure the controller, come last. Then it reads all words back and compares them with
/// the file. The device uses them from its next power-on.
///
/// Without `--force` it refuses a file that no MainDevice would understand (its length, the checksum of the first
/// words, the categories up to their end mark), that changes the identity of the device (vendor, product, revision,
/// serial number), or that states another wiring of the controller.
///
/// Ctrl-C ends it after a word (of 0x00 to 0x07, once begun, after the last), and reports the state of the memory;
/// the same command then continues where it ended. Save the present content first, by `sii read --out`. Refused where
/// another MainDevice exchanges frames; with `--loop` the running loop carries it between its own frames, and
/// continues.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sii read 8 --interface eth1 --out before.bin
  kadenz ethercat sii write 8 new.bin --interface eth1
  kadenz ethercat sii write 8 before.bin --interface eth1 --force     restores the old content
  kadenz ethercat sii write 8 new.bin --sim 59                        try it; nothing stays changed
  kadenz ethercat sii write 8 new.bin --loop robot                    through a running loop")]
pub(crate) struct SiiWriteOptions {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: DeviceSelector,

    /// The bytes, from word 0 on; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    place: SegmentOrLoop,

    /// Write it in spite of objections
    #[arg(long)]
    force: bool,
}

/// Result of `sii write`.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands::ethercat) struct SiiWrite {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    device: Device,
    /// Length of the file.
    bytes: usize,
    #[serde(flatten)]
    words: WordCounts,
    /// Objections that `--force` overrode.
    overridden: Vec<String>,
    /// When the new content takes effect.
    #[serde(skip)]
    when: &'static str,
}

/// Counts of words in the SII.
#[derive(JsonSchema, Serialize)]
struct WordCounts {
    /// Words that differed before.
    words: usize,
    written: usize,
    /// Words that still differ when read back at the end; 0 unless the command was interrupted.
    left: usize,
}

pub(super) fn run(options: &SiiWriteOptions) -> anyhow::Result<Reply> {
    let image = image(&options.file)?;
    let mut access = DeviceAccess::open(&options.place)?;
    access.ensure_alone()?;
    let mut all = access.sub_devices()?;
    let mut known = all.swap_remove(options.device.one_among(&all)?);
    let device = Device::from(&known);
    known.sii = access.memory(&device).with_context(|| device.label())?;
    let objections = objections(&image, &known);
    weigh(&device, &objections, options.force)?;
    let words = write(&mut access, &device, &image).with_context(|| device.label())?;
    let outcome = Outcome::Kept.or_incomplete(words.left > 0);
    let written = SiiWrite {
        version: Version,
        segment: access.name(),
        device,
        bytes: image.len(),
        words,
        overridden: objections,
        when: access.when_it_counts(),
    };
    Ok(Reply::from(written).with(outcome))
}

/// Reads the file.
fn image(path: &Path) -> anyhow::Result<Vec<u8>> {
    let file = path.display();
    let bytes = match path.as_os_str() == "-" {
        true => {
            let mut bytes = Vec::new();
            let input = std::io::stdin().lock();
            input.take(MAX + 1).read_to_end(&mut bytes).map(|_| bytes)
        }
        false => regular_file::bytes(path, MAX),
    };
    let is_too_long = match &bytes {
        Ok(bytes) => bytes.len() as u64 > MAX,
        Err(error) => error.kind() == ErrorKind::FileTooLarge,
    };
    anyhow::ensure!(
        !is_too_long,
        "{file} is longer than any memory of a device, {MAX} bytes; is it another file?"
    );
    let bytes = bytes.map_err(|error| {
        let remedy = regular_file::remedy(&error);
        let or = match error.kind() {
            ErrorKind::InvalidInput => ", or pipe it into `-`",
            _ => "",
        };
        anyhow::anyhow!("cannot read {file}: {error}; {remedy}{or}")
    })?;
    anyhow::ensure!(
        !bytes.is_empty(),
        "{file} is empty; take a file that `kadenz ethercat sii read --out` wrote"
    );
    Ok(bytes)
}

/// Writes the words that differ, and then compares the SII with the image.
fn write(access: &mut DeviceAccess, device: &Device, image: &[u8]) -> anyhow::Result<WordCounts> {
    let stop = interrupt::quietly_stop_on_interrupt()?;
    access.ask(device, |registers, target| {
        let mut sii = Sii::borrow(registers, target)?;
        let differences = sii.differences(image)?;
        let steps = Steps::new("writing words of the memory", differences.len());
        let mut written = 0;
        for it in &differences {
            if stop.requested() && may_end(&differences[..written]) {
                break;
            }
            let failed = || left_by_failure(&differences, written);
            sii.write(it.word, it.wanted).with_context(failed)?;
            written += 1;
            steps.done(written);
        }
        drop(steps);
        let left = sii.differences(image)?;
        sii.give_back()?;
        let is_whole = written == differences.len();
        if let (Some(first), true) = (left.first(), is_whole) {
            anyhow::bail!(
                "verification failed: {} words differ, the first at 0x{:04X}: it is 0x{:04X}, not \
                 0x{:04X}; is the memory write-protected, or worn out?",
                left.len(),
                first.word,
                first.has,
                first.wanted
            );
        }
        Ok(WordCounts {
            words: differences.len(),
            written,
            left: left.len(),
        })
    })
}

/// Whether writing may end after these words. The first words of a memory share a checksum: once begun, they are
/// written to their end.
fn may_end(written: &[Difference]) -> bool {
    let last = written.last();
    last.is_none_or(|it| it.word > word::CHECKSUM.into())
}

/// Describes a memory after a failure in the middle of writing.
fn left_by_failure(differences: &[Difference], written: usize) -> String {
    format!(
        "{written} of {} words were written: the SII EEPROM is partly written; repeat the command before the device \
         loses power",
        differences.len()
    )
}

/// Reasons not to write the image into this device, in words; none where all is well.
fn objections(image: &[u8], device: &SubDevice) -> Vec<String> {
    let mut objections: Vec<String> = problems(image).iter().map(ToString::to_string).collect();
    let (Ok(wanted), Some(has)) = (Image::of(image), device.image()) else {
        return objections;
    };
    let capacity = room(&has.fixed());
    // A memory whose first words have a wrong checksum gives no reliable identity.
    if has.checksum_holds() {
        objections.extend(against(&wanted.fixed(), &has.fixed()));
        if image.len() > capacity {
            objections.push(format!(
                "it has {} bytes, and the device says that its memory has {capacity}",
                image.len()
            ));
        }
    }
    objections
}

/// Bytes of a memory by its own size word.
fn room(fixed: &Fixed) -> usize {
    (usize::from(fixed.size) + 1) * 128
}

/// Differences that give the device another identity.
fn against(wanted: &Fixed, has: &Fixed) -> Vec<String> {
    let (new, old) = (&wanted.identity, &has.identity);
    let numbers = [
        ("vendor", old.vendor, new.vendor),
        ("product", old.product, new.product),
        ("revision", old.revision, new.revision),
        ("serial number", old.serial, new.serial),
    ];
    let changed = numbers.iter().filter(|(_, old, new)| old != new);
    let mut words: Vec<String> = changed
        .map(|(what, old, new)| format!("its {what} is 0x{new:08X}, and the device's 0x{old:08X}"))
        .collect();
    if (wanted.pdi, wanted.pdi_more) != (has.pdi, has.pdi_more) {
        words.push(
            "it says otherwise how the controller is wired to what is behind it (words 0x00 to 0x03, 0x05 and \
             0x06), and a wrong word there can keep the device from starting"
                .to_owned(),
        );
    }
    words
}

impl Answer for SiiWrite {
    fn document(&self) -> Document {
        let (device, when) = (self.device.label(), self.when);
        let WordCounts {
            words,
            written,
            left,
        } = self.words;
        let sentence = match (left, words) {
            (0, 0) => {
                format!(
                    "{device}: the SII EEPROM already equals the file; nothing was written{when}"
                )
            }
            (0, _) => format!(
                "{device}: {words} words of {} bytes differed and were written; a second reading equals the file; the \
                 new content takes effect at the next power-on{when}",
                self.bytes
            ),
            _ => format!(
                "{device}: interrupted: {written} of {words} words are written, {left} are not: the SII EEPROM is \
                 partly written; repeat the command to resume, or write the previous content, before the device loses \
                 power{when}"
            ),
        };
        sentence.into()
    }
}

#[cfg(test)]
mod tests {
    use kadenz::ethercat::wire::sii::Identity;

    use super::*;

    #[test]
    fn the_remedy_for_what_is_no_file_names_standard_input() {
        let remedy = |path: &Path| image(path).unwrap_err().to_string();
        let folder = remedy(Path::new("."));
        assert!(folder.ends_with("or pipe it into `-`"), "{folder}");
        let missing = remedy(Path::new("no-such.bin"));
        assert!(missing.ends_with("check the path"), "{missing}");
    }

    #[test]
    fn the_first_words_are_written_to_their_end() {
        // In the order in which they are written.
        let differences = [0x20, 0x08, 0x00, 0x04, 0x07].map(|word| Difference {
            word,
            has: 0,
            wanted: 1,
        });
        let may_end_behind: Vec<bool> = (0..differences.len())
            .map(|written| may_end(&differences[..written]))
            .collect();
        assert_eq!(may_end_behind, [true, true, true, false, false]);
    }

    #[test]
    fn whatever_makes_another_device_of_it_is_named() {
        let has = Fixed {
            identity: Identity {
                vendor: 2,
                product: 3,
                revision: 4,
                serial: 5,
            },
            pdi: [0x0C08, 0, 0, 0],
            ..Fixed::default()
        };
        assert!(against(&has, &has).is_empty());
        let alias = Fixed { alias: 7, ..has };
        assert!(against(&alias, &has).is_empty(), "an alias is the user's");
        let other = Fixed {
            identity: Identity {
                revision: 0x10,
                serial: 0,
                ..has.identity
            },
            pdi: [0, 0, 0, 0],
            ..has
        };
        let words = against(&other, &has).join("; ");
        for part in ["revision is 0x00000010", "serial number", "wired"] {
            assert!(words.contains(part), "{words}");
        }
        assert!(!words.contains("vendor"), "{words}");
    }
}
