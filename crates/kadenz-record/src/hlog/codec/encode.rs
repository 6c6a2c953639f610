//! Encoding a histogram to bytes.

use flate2::{Compress, Compression, FlushCompress, Status};

use super::header::{WRITTEN_COMPRESSED, WRITTEN_PLAIN};
use crate::histogram::Histogram;

/// Encodes histograms as V2, which every HdrHistogram library of the last ten years reads.
/// Keeps its buffers, so that a log of many lines allocates them once.
#[derive(Debug)]
pub struct Encoder {
    plain: Vec<u8>,
    compressed: Vec<u8>,
    deflate: Compress,
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// An encoder with empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self {
            plain: Vec::new(),
            compressed: Vec::new(),
            deflate: Compress::new(Compression::default(), true),
        }
    }

    /// The plain form. Counts above `i64::MAX`, which no reader could take, are reduced to it.
    pub fn plain(&mut self, histogram: &Histogram) -> &[u8] {
        self.fill_plain(histogram);
        &self.plain
    }

    /// The compressed form, which interval logs carry in Base64.
    pub fn compressed(&mut self, histogram: &Histogram) -> &[u8] {
        self.fill_plain(histogram);
        self.compressed.clear();
        self.compressed.extend(WRITTEN_COMPRESSED.to_be_bytes());
        self.compressed.extend([0; 4]);
        self.deflate.reset();
        loop {
            let consumed = self.deflate.total_in() as usize;
            self.compressed.reserve(self.plain.len() / 2 + 64);
            let status = self.deflate.compress_vec(
                &self.plain[consumed..],
                &mut self.compressed,
                FlushCompress::Finish,
            );
            match status {
                Ok(Status::StreamEnd) => break,
                Ok(Status::Ok | Status::BufError) => {}
                Err(error) => unreachable!("deflate takes any bytes: {error}"),
            }
        }
        let length = (self.compressed.len() - 8) as u32;
        self.compressed[4..8].copy_from_slice(&length.to_be_bytes());
        &self.compressed
    }

    fn fill_plain(&mut self, histogram: &Histogram) {
        let layout = histogram.layout();
        let plain = &mut self.plain;
        plain.clear();
        plain.extend(WRITTEN_PLAIN.to_be_bytes());
        plain.extend([0; 4]); // length of the counts, known below
        plain.extend(0_u32.to_be_bytes()); // normalizing index offset
        plain.extend(u32::from(layout.digits()).to_be_bytes());
        plain.extend(layout.lowest().to_be_bytes());
        plain.extend(layout.highest().to_be_bytes());
        plain.extend(1.0_f64.to_be_bytes());
        let header = plain.len();
        put_counts(histogram, plain);
        let length = (plain.len() - header) as u32;
        plain[4..8].copy_from_slice(&length.to_be_bytes());
    }
}

/// Writes the counts up to the highest in use, runs of zeros as one negative number.
fn put_counts(histogram: &Histogram, out: &mut Vec<u8>) {
    let mut next = 0;
    for index in histogram.used() {
        let count = histogram.counts()[index];
        if count == 0 {
            continue;
        }
        match index - next {
            0 => {}
            1 => super::put(0, out),
            zeros => super::put(-(zeros as i64), out),
        }
        super::put(i64::try_from(count).unwrap_or(i64::MAX), out);
        next = index + 1;
    }
    if next == 0 {
        // An empty histogram still has its first counter.
        super::put(0, out);
    }
}
