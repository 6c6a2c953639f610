//! Logs of other programs, in `conformance/hlog`, against the totals stated there.

use std::path::PathBuf;

use kadenz_record::{
    histogram::{Histogram, SparseHistogram},
    hlog::{
        codec::DecodeError,
        reader::{Field, Interval, IntervalLog, MalformedLine, ReadLogError},
    },
};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../conformance/hlog")
        .join(name)
}

fn intervals(name: &str) -> Vec<Interval> {
    let mut log = IntervalLog::open(path(name)).expect("a log");
    let intervals = (&mut log).collect::<Result<_, _>>().expect("sound lines");
    assert!(!log.truncated(), "{name}");
    intervals
}

fn sum<'a>(intervals: impl Iterator<Item = &'a Interval>) -> (usize, Histogram) {
    let mut sum = Histogram::new();
    let mut lines = 0;
    for interval in intervals {
        interval.histogram.add_to(&mut sum).expect("a histogram");
        lines += 1;
    }
    (lines, sum)
}

/// Intervals, total count, p99.9 and maximum.
fn totals<'a>(intervals: impl Iterator<Item = &'a Interval>) -> (usize, u64, u64, u64) {
    let (lines, sum) = sum(intervals);
    (lines, sum.count(), sum.value_at_percentile(99.9), sum.max())
}

#[test]
fn jhiccup_v1() {
    let intervals = intervals("jHiccup-2.0.6.logV1.hlog");
    assert_eq!(
        totals(intervals.iter()),
        (88, 65964, 1_829_765_119, 1_888_485_375)
    );
}

#[test]
fn jhiccup_v2() {
    let intervals = intervals("jHiccup-2.0.7S.logV2.hlog");
    assert_eq!(
        totals(intervals.iter()),
        (62, 48761, 1_745_879_039, 1_796_210_687)
    );
    let part = intervals
        .iter()
        .filter(|it| (5.0..=20.0).contains(&it.relative_s));
    assert_eq!(totals(part), (15, 11664, 1_536_163_839, 1_544_552_447));
    assert_eq!(intervals[0].relative_s, 0.127);
    assert!((intervals[0].start_s - 1_441_812_279.601).abs() < 1e-6);
    assert_eq!(intervals[0].length_s, 1.007);
    // The log's own column, which is in milliseconds.
    assert_eq!(intervals[0].histogram.max_ns().unwrap() / 1000, 2768);
}

#[test]
fn header_of_jhiccup() {
    let mut log = IntervalLog::open(path("jHiccup-2.0.7S.logV2.hlog")).unwrap();
    assert_eq!(log.start_time_s(), None);
    log.next();
    assert_eq!(log.start_time_s(), Some(1_441_812_279.474));
    assert_eq!(
        log.comments()[0],
        "[Logged with jHiccup version 2.0.7-SNAPSHOT]"
    );
    assert_eq!(log.comments()[1], "[Histogram log format version 1.2]");
}

#[test]
fn a_base_time_moves_everything() {
    let intervals = intervals("jHiccup-with-basetime-2.0.7S.logV2.hlog");
    assert_eq!(
        totals(intervals.iter()),
        (62, 48761, 1_745_879_039, 1_796_210_687)
    );
    assert!((intervals[0].start_s - 1_441_812_123.25).abs() < 1e-6);
}

#[test]
fn tags_distinguish_histograms() {
    let intervals = intervals("tagged-Log.logV2.hlog");
    assert_eq!(sum(intervals.iter()).1.count(), 32290);
    let (tagged, untagged): (Vec<_>, Vec<_>) = intervals
        .iter()
        .partition(|it| it.tag.as_deref() == Some("A"));
    assert_eq!((tagged.len(), untagged.len()), (21, 21));
    assert_eq!(sum(tagged.into_iter()), sum(untagged.into_iter()));
}

#[test]
fn no_header_a_space_at_the_end_and_no_line_break() {
    let intervals = intervals("bug-whitespace.hlog");
    assert_eq!(intervals.len(), 1);
    assert_eq!(intervals[0].tag.as_deref(), Some("bo-global-http"));
    assert_eq!(intervals[0].start_s, 1_527_510_686.313);
    assert_eq!(intervals[0].relative_s, 0.0);
    assert!(intervals[0].histogram.decode().unwrap().is_empty());
}

#[test]
fn every_version_holds_the_same() {
    let logs = ["2.1.4.logV0", "2.1.6.logV1", "2.2.2.logV2"]
        .map(|version| intervals(&format!("made-by-hdrhistogram-{version}.hlog")));
    for log in &logs {
        let (lines, sum) = sum(log.iter());
        assert_eq!(
            (lines, sum.count(), sum.max()),
            (24, 4_295_048_796, 1_932_525_567)
        );
        assert_eq!(sum.value_at_percentile(50.0), 1000);
        assert_eq!(log[12].histogram.decode().unwrap().count(), 0);
        // The first timestamp is 5 ms before the start time, and absolute.
        assert_eq!(log[0].start_s, 1_438_613_579.29);
        assert!((log[0].relative_s + 0.005).abs() < 1e-6);
    }
    let decoded = logs.map(|log| {
        log.iter()
            .map(|it| it.histogram.decode().unwrap())
            .collect::<Vec<_>>()
    });
    assert_eq!(decoded[0], decoded[1]);
    assert_eq!(decoded[1], decoded[2]);
}

#[test]
fn every_way_to_decode_gives_the_same() {
    let (mut into, mut sparse) = (Histogram::new(), SparseHistogram::default());
    for interval in intervals("made-by-hdrhistogram-2.2.2.logV2.hlog") {
        let encoded = interval.histogram;
        let decoded = encoded.decode().unwrap();
        encoded.decode_into(&mut into).unwrap();
        encoded.sparse_into(&mut sparse).unwrap();
        assert_eq!(sparse.layout(), into.layout());
        assert!(sparse.buckets().eq(into.buckets()));
        assert_eq!(
            (sparse.count(), sparse.min(), sparse.max()),
            (into.count(), into.min(), into.max())
        );
        assert_eq!(into, decoded);
        assert_eq!(encoded.max_ns().unwrap(), decoded.max());
        let (mut direct, mut by_way) = (Histogram::new(), Histogram::new());
        encoded.add_to(&mut direct).unwrap();
        by_way.add(&decoded);
        assert_eq!(direct, by_way);
        let mut of_sparse = Histogram::new();
        sparse.add_to(&mut of_sparse);
        assert_eq!(of_sparse, by_way);
    }
}

fn only_error(name: &str) -> (u64, MalformedLine, String) {
    let mut log = IntervalLog::open(path(name)).expect("a log");
    let error = log.next().expect("a line").expect_err("a malformed one");
    assert!(log.next().is_none());
    assert!(!log.truncated(), "{name}");
    let text = error.to_string();
    match error {
        ReadLogError::Malformed { line, cause } => (line, cause, text),
        other => panic!("{other}"),
    }
}

#[test]
fn malformed_lines_are_named() {
    let (line, cause, text) = only_error("test_tagged_invalid_timestamp.txt");
    let number = |text: &str| MalformedLine::Number {
        field: Field::StartTimestamp,
        text: text.to_owned(),
    };
    assert_eq!((line, cause), (1, number("7.1a33")));
    assert!(
        text.starts_with("line 1 of the interval log: its start timestamp \"7.1a33\""),
        "{text}"
    );
    assert_eq!(
        only_error("test_tagged_invalid_tag_key.txt").1,
        number("Ta=a7.133a")
    );
    let (_, cause, _) = only_error("test_tagged_missing_histogram.txt");
    assert_eq!(cause, MalformedLine::Ends(Field::Histogram));
    let (_, cause, text) = only_error("test_tagged_invalid_histogram.txt");
    assert_eq!(cause, DecodeError::TooShort { have: 21, need: 74 }.into());
    assert!(text.contains("cut off"), "{text}");
}

#[test]
fn a_double_histogram_is_refused_by_name() {
    let (line, cause, text) = only_error("double.logV2.hlog");
    assert_eq!((line, cause), (1, DecodeError::DoubleHistogram.into()));
    assert!(text.contains("whole nanoseconds"), "{text}");
}

#[test]
fn a_log_that_is_not_there() {
    let error = IntervalLog::open(path("none.hlog")).unwrap_err();
    assert!(error.to_string().contains("none.hlog"), "{error}");
}
