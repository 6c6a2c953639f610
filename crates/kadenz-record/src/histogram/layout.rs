//! The layout of the counters: which values share one.

use thiserror::Error;

/// The layout of the counters, which values share one: HdrHistogram's, bit for bit.
///
/// Values fall into buckets, each of which spans twice the range of the one before; a bucket is cut into equal
/// sub-buckets, as many as the significant digits require. Counter `i` therefore always stands for the same range
/// of values as index `i` of HdrHistogram's array, which makes the encoded forms interchangeable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    lowest: u64,
    highest: u64,
    digits: u8,
    /// Log2 of the unit in which the first bucket counts.
    unit_magnitude: u32,
    /// Log2 of half the sub-buckets of a bucket.
    half_magnitude: u32,
    /// All bits set up to the largest value of the first bucket.
    first_bucket_mask: u64,
    len: usize,
}

/// Why a layout cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NewLayoutError {
    /// More digits than HdrHistogram's format supports.
    #[error("{0} significant digits: a histogram holds 0 to 5; choose 3 if in doubt")]
    Digits(u8),
    /// A lowest value of zero.
    #[error("lowest value 0: the lowest distinguishable value must be at least 1")]
    LowestIsZero,
    /// Less than one doubling between lowest and highest.
    #[error(
        "highest value {highest} is below twice the lowest, {lowest}: raise the highest or lower the lowest"
    )]
    RangeTooSmall {
        /// The requested lowest value.
        lowest: u64,
        /// The requested highest value.
        highest: u64,
    },
    /// Beyond 63 bits, which the encoded form could not carry.
    #[error(
        "values up to {highest} from {lowest} with {digits} digits need more than 63 bits: lower the highest value, the lowest value or the digits"
    )]
    TooWide {
        /// The requested lowest value.
        lowest: u64,
        /// The requested highest value.
        highest: u64,
        /// The requested significant decimal digits.
        digits: u8,
    },
}

impl Layout {
    /// The layout of every series of a run: 1 ns to 1 h at 3 significant digits.
    pub const STANDARD: Self = match Self::new(1, 3_600_000_000_000, 3) {
        Ok(layout) => layout,
        Err(_) => panic!("the standard layout is valid"),
    };

    /// A layout that tells values from `lowest` (at least 1) to `highest` apart at `digits`
    /// significant decimal digits (0 to 5). Values are in whatever unit the caller counts.
    ///
    /// # Errors
    /// When the three do not make a layout that HdrHistogram could make too.
    pub const fn new(lowest: u64, highest: u64, digits: u8) -> Result<Self, NewLayoutError> {
        if digits > 5 {
            return Err(NewLayoutError::Digits(digits));
        }
        if lowest == 0 {
            return Err(NewLayoutError::LowestIsZero);
        }
        let too_wide = Err(NewLayoutError::TooWide {
            lowest,
            highest,
            digits,
        });
        if highest > i64::MAX as u64 {
            return too_wide;
        }
        if highest / 2 < lowest {
            return Err(NewLayoutError::RangeTooSmall { lowest, highest });
        }
        // Each value below 2 * 10^digits must have a counter of its own.
        let single_units = 2 * 10_u64.pow(digits as u32);
        let half_magnitude = (64 - (single_units - 1).leading_zeros()) - 1;
        let unit_magnitude = lowest.ilog2();
        if half_magnitude + unit_magnitude > 61 {
            return too_wide;
        }
        let first_bucket_mask = ((2_u64 << half_magnitude) - 1) << unit_magnitude;
        let len = counters(half_magnitude, unit_magnitude, highest);
        Ok(Self {
            lowest,
            highest,
            digits,
            unit_magnitude,
            half_magnitude,
            first_bucket_mask,
            len,
        })
    }

    /// The lowest value that is distinguished from zero.
    #[must_use]
    pub const fn lowest(&self) -> u64 {
        self.lowest
    }

    /// The requested highest value; larger ones are recorded as this one.
    #[must_use]
    pub const fn highest(&self) -> u64 {
        self.highest
    }

    /// Significant decimal digits to which values are told apart.
    #[must_use]
    pub const fn digits(&self) -> u8 {
        self.digits
    }

    /// How many counters there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a layout is never empty")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The counter of `value`; a value above [`Layout::highest`] has the counter of the highest.
    ///
    /// # Real-time safety
    /// Real-time safe: a few instructions, which never panic.
    #[must_use]
    #[inline]
    pub const fn index_of(&self, value: u64) -> usize {
        let clamped = if value > self.highest {
            self.highest
        } else {
            value
        };
        self.unclamped_index(clamped)
    }

    /// As [`Layout::index_of`], but also distinguishes the counters beyond the highest value's own in the last
    /// bucket. For counts that were recorded elsewhere.
    #[inline]
    pub(crate) const fn covered_index(&self, value: u64) -> usize {
        let index = self.unclamped_index(value);
        if index < self.len {
            index
        } else {
            self.len - 1
        }
    }

    #[inline]
    const fn unclamped_index(&self, value: u64) -> usize {
        let bucket = self.bucket_of(value);
        let sub_bucket = value >> (bucket + self.unit_magnitude);
        // The first bucket uses both its halves, the others only the upper one.
        (((bucket as usize) << self.half_magnitude) as u64 + sub_bucket) as usize
    }

    #[inline]
    const fn bucket_of(&self, value: u64) -> u32 {
        let first = 64 - self.unit_magnitude - self.half_magnitude - 1;
        first - (value | self.first_bucket_mask).leading_zeros()
    }

    /// How many values share a counter with `value`.
    const fn width_at(&self, value: u64) -> u64 {
        1 << (self.bucket_of(value) + self.unit_magnitude)
    }

    /// The lowest value that shares a counter with `value`.
    #[must_use]
    pub const fn lowest_equivalent(&self, value: u64) -> u64 {
        value & !(self.width_at(value) - 1)
    }

    /// The highest value that shares a counter with `value`.
    #[must_use]
    pub const fn highest_equivalent(&self, value: u64) -> u64 {
        value | (self.width_at(value) - 1)
    }

    /// The middle of the values that share a counter with `value`, rounded up.
    #[must_use]
    pub const fn median_equivalent(&self, value: u64) -> u64 {
        self.lowest_equivalent(value) + self.width_at(value) / 2
    }

    /// The lowest value counted at `index`; `index` must be below [`Layout::len`].
    pub(crate) const fn lowest_at(&self, index: usize) -> u64 {
        let half = 1_usize << self.half_magnitude;
        if index < 2 * half {
            return (index as u64) << self.unit_magnitude;
        }
        let bucket = (index >> self.half_magnitude) - 1;
        ((index & (half - 1)) + half) as u64 * (1 << (bucket as u32 + self.unit_magnitude))
    }

    /// Whether equal indices mean equal values in both, up to the shorter one's length.
    pub(crate) const fn same_scale(&self, other: &Self) -> bool {
        self.unit_magnitude == other.unit_magnitude && self.half_magnitude == other.half_magnitude
    }
}

/// How many counters cover values up to `highest`: half a bucket for each doubling, and the lower
/// half of the first.
const fn counters(half_magnitude: u32, unit_magnitude: u32, highest: u64) -> usize {
    let mut buckets = 1;
    let mut beyond = 2_u64 << (half_magnitude + unit_magnitude);
    while beyond <= highest {
        beyond <<= 1;
        buckets += 1;
    }
    (buckets + 1) << half_magnitude
}
