//! cyclictest of rt-tests.
//!
//! Sources: recordings of cyclictest 2.4 (Debian 12) in `conformance/import`, its
//! `--help`, and `print_hist` and `timerthread` of rt-tests 0.84 (`src/cyclictest/cyclictest.c`),
//! which newer versions print alike. A value is wake-up time less intended time; whole microseconds,
//! the rest cut off, or nanoseconds with `-N`. Values at or above the limit of `-h` are in no bin
//! but counted: as `# Histogram Overflows:` in text, by `cycles` alone in JSON. After a value longer
//! than the interval the next intended times up to now are passed over.

mod json;
mod text;

pub(super) use self::json::Json;
pub(super) use self::text::{CyclictestText, CyclictestUnit};

use super::Sink;

/// The program keeps no more bins than this, whatever `-h` says (`HIST_MAX` of rt-tests).
const MAX_BINS: i64 = 1_000_000;

const NO_HISTOGRAM: super::ReadError = super::ReadError::Lacks {
    what: "histogram",
    remedy: "cyclictest keeps one with -h: measure again with -h 1000 (microseconds)",
};

/// Warnings for every import of cyclictest.
fn warn(sink: &mut dyn Sink, width_ns: i64) {
    if width_ns > 1 {
        super::bins::warn_of_bins(
            sink,
            "microsecond",
            "the whole microseconds that cyclictest prints, its lower end",
        );
    }
    let text = "cyclictest passes over the wake-ups that it misses while it is late: a long stall \
                counts as one late wake-up (coordinated omission)";
    sink.warn(
        "coordinated_omission",
        text.to_owned(),
        Some("measure with kadenz timer cyclic"),
    );
}
