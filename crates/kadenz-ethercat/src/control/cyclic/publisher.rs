//! Publishes the inputs and outputs of every cycle on a process image, for readers in other threads and processes.
//!
//! There are two kinds of process image. [`SeqlockPublisher`] publishes on one that a sequence lock checks
//! ([`process_image`]): it waits for no reader, and other processes can map it. [`LockedPublisher`] publishes on one
//! behind a lock ([`locked`]), as in \[Yoon2009\]: it waits for at most one reader.
//!
//! [`process_image`]: crate::control::process_image
//! [`locked`]: crate::control::locked

use crate::control::locked::Locked;
use crate::control::process_image::{ProcessImageError, ProcessImageWriter, words_for};
use crate::main_device::layout::Layout;
use crate::sync::AtomicU64;

use super::report::{CycleReport, Observer};

/// Bytes before the inputs: [`ImageHeader`].
pub const HEAD: usize = 32;

/// Bytes of the process image of a segment with this layout: header, inputs, outputs.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[must_use]
pub const fn image_bytes(layout: &Layout) -> usize {
    HEAD + layout.inputs + layout.outputs
}

/// The header before the inputs of a process image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImageHeader {
    /// The cycle's number.
    pub number: u64,
    /// The time at which the inputs were taken in, in ns of the loop's clock (`CLOCK_MONOTONIC` in real time).
    pub received_ns: u64,
    /// Whether all of them are new: no frame was lost, every SubDevice took part.
    pub whole: bool,
    /// Bytes of all inputs, which follow.
    pub inputs: u32,
    /// Bytes of all outputs, which follow the inputs.
    pub outputs: u32,
}

impl ImageHeader {
    fn of(image: &[u8]) -> Option<(Self, &[u8])> {
        let (number, rest) = image.split_first_chunk()?;
        let (received, rest) = rest.split_first_chunk()?;
        let (whole, rest) = rest.split_first_chunk::<8>()?;
        let (inputs, rest) = rest.split_first_chunk()?;
        let (outputs, rest) = rest.split_first_chunk()?;
        let header = Self {
            number: u64::from_le_bytes(*number),
            received_ns: u64::from_le_bytes(*received),
            whole: whole[0] == 1,
            inputs: u32::from_le_bytes(*inputs),
            outputs: u32::from_le_bytes(*outputs),
        };
        Some((header, rest))
    }

    fn write(self, to: &mut [u8]) {
        to[..8].copy_from_slice(&self.number.to_le_bytes());
        to[8..16].copy_from_slice(&self.received_ns.to_le_bytes());
        to[16..24].copy_from_slice(&u64::from(self.whole).to_le_bytes());
        to[24..28].copy_from_slice(&self.inputs.to_le_bytes());
        to[28..HEAD].copy_from_slice(&self.outputs.to_le_bytes());
    }
}

/// What the loop read and wrote in a cycle.
///
/// # Real-time safety
/// Real-time safe: it borrows the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CycleImage<'p> {
    /// The number and time of the cycle.
    pub header: ImageHeader,
    /// All inputs, as the controller saw them.
    pub inputs: &'p [u8],
    /// All outputs, as the controller left them.
    pub outputs: &'p [u8],
}

impl<'p> CycleImage<'p> {
    /// Splits the bytes of a process image; `None` where they are fewer than its header says.
    #[must_use]
    pub fn of(bytes: &'p [u8]) -> Option<Self> {
        let (header, rest) = ImageHeader::of(bytes)?;
        let (inputs, rest) = rest.split_at_checked(header.inputs as usize)?;
        let outputs = rest.get(..header.outputs as usize)?;
        Some(Self {
            header,
            inputs,
            outputs,
        })
    }
}

/// A buffer for the bytes of a process image, allocated before the loop.
#[derive(Debug)]
struct ImageBuffer(Vec<u8>);

impl ImageBuffer {
    fn of(layout: &Layout) -> Self {
        Self(vec![0; image_bytes(layout)])
    }

    /// Writes a cycle; returns `None` where it is one of another segment.
    fn write(&mut self, report: &CycleReport<'_>) -> Option<&[u8]> {
        let (inputs, outputs) = (report.inputs, report.outputs);
        if self.0.len() != HEAD + inputs.len() + outputs.len() {
            debug_assert!(false, "a publisher for another segment");
            return None;
        }
        let header = ImageHeader {
            number: report.number,
            received_ns: report.received.as_ns(),
            whole: report.is_whole(),
            inputs: inputs.len() as u32,
            outputs: outputs.len() as u32,
        };
        header.write(&mut self.0);
        let (to, rest) = self.0[HEAD..].split_at_mut(inputs.len());
        to.copy_from_slice(inputs);
        rest.copy_from_slice(outputs);
        Some(&self.0)
    }
}

/// Publishes an [`ImageHeader`], all inputs and all outputs once a cycle. On drop, it marks the last image as final.
///
/// # Real-time safety
/// It neither allocates, locks nor waits, whatever readers do.
#[derive(Debug)]
pub struct SeqlockPublisher<'w> {
    writer: ProcessImageWriter<'w>,
    draft: ImageBuffer,
}

impl<'w> SeqlockPublisher<'w> {
    /// Makes a process image for a segment with this layout from words that are zero: in this process's memory, or
    /// shared with others (`kadenz_rt::shared`). Allocates.
    ///
    /// # Errors
    /// [`ProcessImageError::TooSmall`] for fewer words than [`words`](Self::words).
    pub fn begin(words: &'w [AtomicU64], layout: &Layout) -> Result<Self, ProcessImageError> {
        Ok(Self {
            writer: ProcessImageWriter::begin(words, image_bytes(layout))?,
            draft: ImageBuffer::of(layout),
        })
    }

    /// The number of words of a process image for this layout.
    #[must_use]
    pub const fn words(layout: &Layout) -> usize {
        words_for(image_bytes(layout))
    }
}

impl Observer for SeqlockPublisher<'_> {
    fn cycle(&mut self, report: &CycleReport<'_>) {
        let Some(image) = self.draft.write(report) else {
            return;
        };
        let published = self.writer.publish(image);
        debug_assert!(
            published.is_ok(),
            "the header and the images fill the memory"
        );
    }
}

impl Drop for SeqlockPublisher<'_> {
    fn drop(&mut self) {
        self.writer.end();
    }
}

/// Publishes the same on a process image behind a lock, as the loop of \[Yoon2009\]. On drop, it marks the last image
/// as final.
///
/// # Real-time safety
/// It allocates nothing. It locks, and waits for at most one reader.
#[derive(Debug)]
pub struct LockedPublisher<'b> {
    image: &'b Locked,
    draft: ImageBuffer,
}

impl<'b> LockedPublisher<'b> {
    /// Publishes on this process image, which should have been made for [`image_bytes`] bytes. Allocates.
    #[must_use]
    pub fn begin(image: &'b Locked, layout: &Layout) -> Self {
        image.end(false);
        Self {
            image,
            draft: ImageBuffer::of(layout),
        }
    }
}

impl Observer for LockedPublisher<'_> {
    fn cycle(&mut self, report: &CycleReport<'_>) {
        if let Some(image) = self.draft.write(report) {
            self.image.publish(image);
        }
    }
}

impl Drop for LockedPublisher<'_> {
    fn drop(&mut self) {
        self.image.end(true);
    }
}
