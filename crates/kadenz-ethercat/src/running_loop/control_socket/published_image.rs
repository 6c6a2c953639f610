//! The process image that the loop publishes, and outputs that clients set.

use std::time::Duration;

use super::question::{Answer, ProcessImageLayout};
use super::server::ServerContext;
use crate::control::catalogue::{Catalogue, Item};
use crate::control::locked::Locked;
use crate::control::output_requests::Change;
use crate::control::process_image::{ProcessImageError, Reader};
use crate::sync::AtomicU64;
use crate::wire::coe::Address;

/// The longest time until the loop takes a request: it takes one a cycle, and a cycle lasts at most a second.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

/// The place at which a loop publishes what it read and wrote.
#[derive(Debug, Clone, Copy)]
pub enum ProcessImage<'c> {
    /// Memory that other processes map by its name; see [`SeqlockPublisher`](crate::control::cyclic::SeqlockPublisher).
    Shared {
        /// The name by which other processes map the memory.
        name: &'c str,
        /// The mapped memory, in words of 64 bits.
        words: &'c [AtomicU64],
    },
    /// Behind a lock; see [`LockedPublisher`](crate::control::cyclic::LockedPublisher).
    Locked(&'c Locked),
}

impl ProcessImage<'_> {
    /// The name of its memory, where other processes can map that.
    pub(super) fn memory(&self) -> Option<String> {
        match self {
            Self::Shared { name, .. } => Some((*name).to_owned()),
            Self::Locked(_) => None,
        }
    }

    /// Returns the last image: its number, its bytes, and whether it is the final one.
    fn read(&self, bytes: usize) -> Result<(u64, Vec<u8>, bool), ProcessImageError> {
        let mut copy = vec![0; bytes];
        // Whether the loop has ended is read first, so that no image is missed.
        let (ended, number) = match self {
            Self::Shared { words, .. } => {
                let reader = Reader::of(*words)?;
                (reader.has_ended(), reader.read(&mut copy)?)
            }
            Self::Locked(image) => (image.has_ended(), image.read(&mut copy)),
        };
        match number {
            0 => Err(ProcessImageError::Empty),
            number => Ok((number, copy, ended)),
        }
    }
}

/// A loop's process image with its layout.
#[derive(Debug, Clone, Copy)]
pub struct PublishedImage<'c> {
    /// The place at which the loop publishes.
    pub image: ProcessImage<'c>,
    /// The layout of a process image.
    pub catalogue: &'c Catalogue,
    /// Time between two images.
    pub interval: Duration,
}

impl PublishedImage<'_> {
    pub(super) fn layout(&self) -> ProcessImageLayout {
        ProcessImageLayout {
            memory: self.image.memory(),
            interval_ns: u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX),
            catalogue: self.catalogue.clone(),
        }
    }

    pub(super) fn last(&self) -> Result<Answer, String> {
        let read = self.image.read(self.catalogue.bytes);
        let (number, bytes, ended) = read.map_err(|it| it.to_string())?;
        Ok(Answer::ProcessImage {
            number,
            bytes,
            ended,
        })
    }
}

/// Returns the process image of the loop, or an error where it publishes none.
pub(super) fn of<'c>(context: &ServerContext<'c>) -> Result<PublishedImage<'c>, String> {
    let missing = || "this loop publishes no process data".to_owned();
    context.shown.ok_or_else(missing)
}

/// Sets an output, in the loop's next cycle.
pub(super) fn set(
    context: &ServerContext<'_>,
    device: usize,
    entry: Address,
    value: &[u8],
) -> Result<Answer, String> {
    let output_requests = context
        .output_requests
        .ok_or("this loop lets no client set outputs")?;
    let catalogue = of(context)?.catalogue;
    let found = catalogue.output(device, entry.index, entry.sub);
    let item = found.map_err(|it| it.to_string())?;
    let cycle = output_requests.set(change(catalogue, item, value)?, REQUEST_TIMEOUT);
    let cycle = cycle.map_err(|it| it.to_string())?;
    Ok(Answer::Set { cycle })
}

/// Returns the change of the outputs' bits that sets `item` to `value`.
fn change(catalogue: &Catalogue, item: &Item, value: &[u8]) -> Result<Change, String> {
    let (name, bits) = (&item.name, item.bits);
    if bits > 64 {
        return Err(format!(
            "`{name}` has {bits} bits; more than 64 cannot be set here"
        ));
    }
    let wanted = usize::from(bits).div_ceil(8);
    let mut wide = [0; 8];
    match wide.get_mut(..value.len()) {
        Some(bytes) if value.len() == wanted => bytes.copy_from_slice(value),
        _ => {
            return Err(format!(
                "{} bytes are not a value of `{name}`, which has {bits} bits; write {wanted}, the lowest first",
                value.len(),
            ));
        }
    }
    let value = u64::from_le_bytes(wide);
    if bits < 64 && value >> bits != 0 {
        return Err(format!(
            "{value} does not fit into `{name}`, which has {bits} bits"
        ));
    }
    let change = Change {
        bit: item.bit.saturating_sub(catalogue.outputs_at * 8),
        bits,
        value,
    };
    match catalogue.has_brake(item) {
        true => beside_the_brake(change, name),
        false => Ok(change),
    }
}

/// Returns the same change without the lowest bit, which stays as it is.
fn beside_the_brake(change: Change, name: &str) -> Result<Change, String> {
    if change.value & 1 != 0 || change.bits < 2 {
        return Err(format!(
            "bit 0 of `{name}` is the brake of a drive that an axis moves, and stays as it is; leave the bit 0, or \
             the axis out of the motion file"
        ));
    }
    Ok(Change {
        bit: change.bit + 1,
        bits: change.bits - 1,
        value: change.value >> 1,
    })
}
