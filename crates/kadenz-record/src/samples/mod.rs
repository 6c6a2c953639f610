//! Raw samples: from the real-time thread through a bounded ring into an Arrow file, and back.
//!
//! * [`ring`] passes [`Sample`]s from one thread to another; samples that do not fit are counted,
//!   never waited for.
//! * [`writer`] appends them to an Arrow IPC stream, a record batch a flush, which pyarrow, polars
//!   and DuckDB read as it is.
//! * [`reader`] reads such a file in constant memory, also one that was cut off, and as fast as
//!   the disk when only the values are needed.

pub mod reader;
mod ring;
mod wire;
pub mod writer;

pub(crate) use self::ring::MAX_CAPACITY;
pub use self::ring::{SampleConsumer, SampleProducer, ring};
pub use writer::SamplesHeader;

/// One value with its sequence number and its intended and actual time.
///
/// Times count from the start of the run on the run's clock
/// ([`Run::start_monotonic_ns`](crate::run::model::Run::start_monotonic_ns)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Number of the sample in its series; a gap is a dropped sample.
    pub sequence: u64,
    /// When the event should have been, in ns since the run's start.
    pub intended_ns: i64,
    /// When the event was, in ns since the run's start.
    pub actual_ns: i64,
    /// The value of the series, in ns; negative is early.
    pub value_ns: i64,
}
