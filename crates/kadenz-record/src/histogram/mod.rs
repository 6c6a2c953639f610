//! Counts of values at a fixed number of significant digits.
//!
//! The layout of the counters and the meaning of every answer are HdrHistogram's: a value answered
//! is the *highest* value that cannot be told apart from a recorded one, so no latency is ever
//! reported smaller than it was. Two things are our own: values below zero (early wake-ups) are
//! counted too, by [`SignedHistogram`], and nothing here ever resizes or fails on a large value.
//!
//! ```
//! use kadenz_record::histogram::Histogram;
//!
//! let mut lateness = Histogram::new();
//! for micros in 1..=1000 {
//!     lateness.record(micros * 1000);
//! }
//! assert_eq!(lateness.count(), 1000);
//! assert_eq!(lateness.value_at_quantile(0.99), 990_207);
//! assert_eq!(lateness.value_at_quantile(1.0), lateness.max());
//! ```

mod counts;
mod layout;
mod percent;
mod signed;
mod sparse;
mod statistics;

pub use counts::{Bucket, Histogram};
pub use layout::{Layout, NewLayoutError};
pub use percent::{ParsePercentError, Percent};
pub use signed::{SignedBucket, SignedHistogram};
pub use sparse::SparseHistogram;

pub(crate) use sparse::Cell;
