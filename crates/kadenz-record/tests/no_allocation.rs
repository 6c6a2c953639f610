//! The real-time side allocates nothing.

mod common;

use common::{numbered, run, spec};
use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::model::EndedBy;

#[test]
fn recording_allocates_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = RunWriter::create(folder.path(), run()).expect("creates");
    let mut raw = writer.series(spec("raw", true)).expect("a series");
    let mut counted = writer.series(spec("counted", false)).expect("a series");
    let running = writer.start(common::INTERVAL).expect("starts");
    // Counts this thread alone. More samples than the ring holds: a full ring does not allocate either.
    let allocations = allocation_counter::measure(|| {
        for n in 0..50_000 {
            raw.record(numbered(n));
            counted.record(numbered(n));
        }
    });
    assert_eq!(allocations.count_total, 0, "{allocations:?}");
    let run = running.finish(EndedBy::Finished).expect("finishes");
    let recorded = run.series.iter().map(|series| series.counts.recorded);
    assert!(recorded.eq([50_000, 50_000]));
}
