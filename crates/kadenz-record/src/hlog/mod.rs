//! Interval logs: one line an interval, each with a whole histogram in it.
//!
//! The format is HdrHistogram's interval log 1.3, as jHiccup writes it, so that the tools people
//! have can open what Kadenz records, and Kadenz can open what they recorded.
//!
//! - [`writer`] appends lines; what was appended survives the death of the process.
//! - [`reader`] reads the logs of every version in the wild, whole or cut off.
//! - [`codec`] is the binary form of one histogram.
//!
//! ```text
//! #[Logged with jHiccup-compatible Kadenz 0.1.0]
//! #[Histogram log format version 1.3]
//! #[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 15:24:39 UTC 2015]
//! "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
//! 0.127,1.007,2.769,HISTFAAAAEV42pNpmSzMwMCgyAAB...
//! Tag=early,0.127,1.007,0.012,HISTFAAAAEJ42pNpmSzM...
//! ```

pub mod codec;
pub mod reader;
pub mod writer;

mod base64;
