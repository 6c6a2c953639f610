//! Rows of one size to rows of another.
//!
//! Each axis by itself: shrinking takes the mean of the area that a pixel covers, with the shares of pixels
//! that it covers in part; enlarging is linear between the centres of pixels. Weights have 16 bits and add up to
//! exactly 1, so that an even area keeps its code. Columns of pixels are summed first and kept with 8 bits of
//! fraction, then rows. All arithmetic is integer: what comes out is the same on every machine, and differs from
//! the exact mean by less than 1.

use std::ops::Range;

/// Bits of fraction of a weight.
const WEIGHT: u32 = 16;
/// Bits of fraction between the two sums.
const BETWEEN: u32 = 8;

/// The pixels of the input that make each pixel of the output, along one axis.
#[derive(Debug, Default)]
pub(super) struct Axis {
    /// For each pixel of the output: the first pixel of the input, and the range of its weights.
    spans: Vec<(usize, Range<usize>)>,
    weights: Vec<u32>,
}

impl Axis {
    /// Scales `from` pixels to `to` pixels.
    pub(super) fn new(from: usize, to: usize) -> Self {
        let mut axis = Self::default();
        for pixel in 0..to {
            let start = axis.weights.len();
            let first = if to > from {
                axis.linear(pixel, from, to)
            } else {
                axis.area(pixel, from, to)
            };
            axis.spans.push((first, start..axis.weights.len()));
        }
        axis
    }

    /// Lengths are in parts of `to` of an input's pixel: an output's pixel is `from` of them long.
    fn area(&mut self, pixel: usize, from: usize, to: usize) -> usize {
        let (start, end) = (pixel * from, (pixel + 1) * from);
        let first = start / to;
        // The weights up to a pixel are rounded, not each by itself: they add up to 1 whatever their number.
        let up_to = |at: usize| (((at - start) as u64) << WEIGHT).div_euclid(from as u64) as u32;
        let mut before = 0;
        for input in first..end.div_ceil(to) {
            let until = up_to(((input + 1) * to).min(end));
            self.weights.push(until - before);
            before = until;
        }
        first
    }

    /// Lengths are in halves of parts of `to` of an input's pixel; `from` of them is half an output's pixel.
    fn linear(&mut self, pixel: usize, from: usize, to: usize) -> usize {
        let centre = ((2 * pixel + 1) * from).saturating_sub(to);
        let (first, part) = (centre / (2 * to), centre % (2 * to));
        let second = ((part as u64) << WEIGHT).div_euclid(2 * to as u64) as u32;
        self.weights.push((1 << WEIGHT) - second);
        if first + 1 < from {
            self.weights.push(second);
        } else {
            self.weights[..]
                .last_mut()
                .into_iter()
                .for_each(|it| *it = 1 << WEIGHT);
        }
        first
    }

    /// How many pixels come out.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Which pixels of the input make a pixel.
    #[inline(always)]
    pub(super) fn inputs(&self, pixel: usize) -> Range<usize> {
        let (first, weights) = &self.spans[pixel];
        *first..first + weights.len()
    }

    #[inline(always)]
    fn weights(&self, pixel: usize) -> &[u32] {
        &self.weights[self.spans[pixel].1.clone()]
    }
}

/// Sums for one row of the output.
#[derive(Debug, Default)]
pub(super) struct Sums {
    columns: Vec<u32>,
}

impl Sums {
    /// Sums for rows of `width` pixels.
    pub(super) fn new(width: usize) -> Self {
        Self {
            columns: vec![0; width],
        }
    }

    /// Adds one of the input's rows that make an output row: the `nth` of `axis.inputs(row)`.
    #[inline(always)]
    pub(super) fn add(&mut self, axis: &Axis, row: usize, nth: usize, pixels: &[u8]) {
        let weight = axis.weights(row)[nth];
        for (sum, pixel) in self.columns.iter_mut().zip(pixels) {
            let before = if nth == 0 { 0 } else { *sum };
            *sum = before + weight * u32::from(*pixel);
        }
    }

    /// Writes the output row, after all of its input rows have been added.
    #[inline(always)]
    pub(super) fn finish(&mut self, axis: &Axis, out: &mut [u8]) {
        let half = 1 << (WEIGHT - BETWEEN - 1);
        for sum in &mut self.columns {
            *sum = (*sum + half) >> (WEIGHT - BETWEEN);
        }
        for (pixel, out) in out.iter_mut().enumerate().take(axis.len()) {
            let inputs = &self.columns[axis.inputs(pixel)];
            let weighted = inputs.iter().zip(axis.weights(pixel));
            let sum: u32 = weighted.map(|(input, weight)| input * weight).sum();
            *out = ((sum + (1 << (WEIGHT + BETWEEN - 1))) >> (WEIGHT + BETWEEN)) as u8;
        }
    }
}
