//! Run folders that were written once stay readable: those of `conformance/runs`.

mod common;

use std::path::Path;

use kadenz_record::recorder::Counts;
use kadenz_record::run::folder::RunReader;

fn open(name: &str) -> RunReader {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/runs");
    RunReader::open(runs.join(name)).expect("opens")
}

#[test]
fn both_runs_hold_what_their_readme_says() {
    let counts = Counts {
        recorded: 600,
        early: 50,
        misses: 40,
        longest_miss_run: 4,
        min_ns: Some(-5_000),
        max_ns: Some(54_000),
        ..Counts::default()
    };
    for (name, complete) in [("complete", true), ("killed", false)] {
        let reader = open(name);
        assert_eq!(reader.complete(), complete);
        assert_eq!(reader.run().series[0].counts, counts, "{name}");
        let log = common::intervals(&reader, "wakeup");
        assert_eq!(
            (log.recorded, log.early, log.truncated),
            (600, 50, !complete),
            "{name}"
        );
        common::assert_contiguous(&log.spans);
        let mut next = 0_i64;
        let mut samples = reader.samples("wakeup").expect("samples");
        let extent = samples
            .for_each_chunk(|chunk| {
                for sample in chunk {
                    let value = (next % 60) * 1_000 - 5_000;
                    assert_eq!(sample.sequence, next.cast_unsigned());
                    assert_eq!(sample.intended_ns, next * 1_000_000);
                    assert_eq!(sample.value_ns, value);
                    assert_eq!(sample.actual_ns, next * 1_000_000 + value);
                    next += 1;
                }
            })
            .expect("reads");
        assert_eq!(
            (extent.samples, extent.truncated),
            (600, !complete),
            "{name}"
        );
    }
}
