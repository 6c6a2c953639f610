//! `kadenz ethercat sii write`.

mod checks;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::sii::{Difference, Sii};
use kadenz_ethercat::wire::sii::word;
use serde::Serialize;

use crate::commands::ethercat::device::{ToldDevice, Which, weigh, whose};
use crate::commands::ethercat::segment::SegmentOrLoop;
use crate::commands::ethercat::way::Way;
use crate::commands::interrupt;
use crate::options::Steps;
use crate::output::{self, Outcome};

/// The longest memory that a controller can have: 4 MiBit.
const MAX: u64 = 512 * 1024;

/// Write a file into a device's memory
///
/// Only words that are otherwise are written, one after the other, which takes some 5 ms each: a memory of
/// 2 KiB some seconds. Words 0x00 to 0x07, by which the controller starts, come last. Then all are read again
/// and held against the file. The device goes by them when it gets its power the next time.
///
/// Without `--force` a file is refused that no MainDevice would understand (its length, the checksum of the
/// first words, the categories up to their end mark), that makes another device of this one (vendor, product,
/// revision, serial number), or that says otherwise how the controller is wired.
///
/// Ctrl-C ends it behind a word (of 0x00 to 0x07, once begun, behind the last), and says what the memory is then;
/// the same command goes on where it ended. Save what is there first, by `sii read --out`. Refused where another
/// MainDevice exchanges frames; with `--loop` it goes beside the frames of the loop that runs, which goes on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sii read 8 --interface eth1 --out before.bin
  kadenz ethercat sii write 8 new.bin --interface eth1
  kadenz ethercat sii write 8 before.bin --interface eth1 --force     back again, whatever was written
  kadenz ethercat sii write 8 new.bin --sim 59                        try it; nothing of it stays
  kadenz ethercat sii write 8 new.bin --loop robot                    of a loop that runs, and goes on")]
pub(crate) struct Write {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: Which,

    /// The bytes, from word 0 on; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    place: SegmentOrLoop,

    /// Write it whatever speaks against it
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Told {
    version: u32,
    segment: String,
    device: ToldDevice,
    bytes: usize,
    words: usize,
    written: usize,
    left: usize,
    overridden: Vec<String>,
}

pub(super) fn run(options: &Write) -> anyhow::Result<Outcome> {
    let image = image(&options.file)?;
    let mut way = Way::open(&options.place)?;
    way.ensure_alone()?;
    let mut all = way.all()?;
    let mut device = all.swap_remove(options.device.one_of(&all)?);
    device.sii = way.memory(&device).with_context(|| whose(&device))?;
    let objections = checks::objections(&image, &device);
    weigh(&device, &objections, options.force)?;
    let done = write(&mut way, &device, &image).with_context(|| whose(&device))?;
    let told = Told {
        version: 1,
        segment: way.name(),
        device: ToldDevice::of(&device),
        bytes: image.len(),
        words: done.words,
        written: done.written,
        left: done.left,
        overridden: objections,
    };
    if output::is_json() {
        output::json(&told)?;
    } else {
        output::say(&(words(&told, &whose(&device)) + way.when_it_counts()));
    }
    Ok(match told.left {
        0 => Outcome::Kept,
        _ => Outcome::Incomplete,
    })
}

/// What the file holds.
fn image(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = match path.as_os_str() == "-" {
        true => std::io::stdin()
            .lock()
            .take(MAX + 1)
            .read_to_end(&mut bytes),
        false => std::fs::File::open(path).and_then(|it| it.take(MAX + 1).read_to_end(&mut bytes)),
    };
    let length = read.with_context(|| format!("cannot read {}", path.display()))?;
    anyhow::ensure!(length > 0, "{} is empty", path.display());
    anyhow::ensure!(
        length as u64 <= MAX,
        "{} is longer than any memory of a device, {MAX} bytes",
        path.display()
    );
    Ok(bytes)
}

/// What became of it, in words of the memory.
struct Done {
    words: usize,
    written: usize,
    /// What is still to be written.
    left: usize,
}

/// Writes what is otherwise, and holds the memory against the image then.
fn write(way: &mut Way, device: &SubDevice, image: &[u8]) -> anyhow::Result<Done> {
    let stop = interrupt::quietly_stop_on_interrupt()?;
    way.ask(device, |registers, whose| {
        let mut sii = Sii::borrow(registers, whose)?;
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
        Ok(Done {
            words: differences.len(),
            written,
            left: left.len(),
        })
    })
}

/// Whether writing may end behind these words. The first words of a memory hold together by their checksum: once begun,
/// they are written to their end.
fn may_end(written: &[Difference]) -> bool {
    let last = written.last();
    last.is_none_or(|it| it.word > word::CHECKSUM.into())
}

/// What a memory is whose writing failed in the middle.
fn left_by_failure(differences: &[Difference], written: usize) -> String {
    format!(
        "{written} of {} words were written, the memory is part new and part old; write it again before the \
         device loses its power",
        differences.len()
    )
}

fn words(told: &Told, whose: &str) -> String {
    if told.left > 0 {
        return format!(
            "{whose}: interrupted: {} of {} words are written, {} are still the old ones, so the memory is neither \
             as the file nor as before; write the same file again, which goes on from here, or the one from \
             before, and do that before the device loses its power",
            told.written, told.words, told.left
        );
    }
    match told.words {
        0 => format!("{whose}: its memory was the same already; nothing was written"),
        words => format!(
            "{whose}: {words} words of {} bytes were otherwise and are written; read again, all is as in the file; \
             the device goes by it when it gets its power the next time",
            told.bytes
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
