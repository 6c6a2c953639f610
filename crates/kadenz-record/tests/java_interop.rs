//! The Java HdrHistogram reads our logs, and we read its: totals and percentiles are equal.
//! Needs `java` and HdrHistogram 2.2.2, whose path is in `KADENZ_HDRHISTOGRAM_JAR`.
#![expect(clippy::print_stderr, reason = "what is skipped is named there")]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use kadenz_record::{
    histogram::Histogram,
    hlog::{reader::IntervalLog, writer::IntervalLogWriter},
};

const START_S: f64 = 1_441_812_279.474;

/// The percentiles of `Interop.java`.
const PERCENTILES: [f64; 14] = [
    0.0, 0.1, 7.0, 25.0, 50.0, 55.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999, 100.0,
];

/// The content of a log under one tag.
#[derive(Debug, PartialEq)]
struct TagContent {
    intervals: u64,
    count: u64,
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    percentiles: Vec<u64>,
}

type ByTag = BTreeMap<String, TagContent>;

/// The path of the library, or `None` when the test must be skipped.
fn jar(test: &str) -> Option<PathBuf> {
    let missing = if Command::new("java").arg("-version").output().is_err() {
        "no java (apt-get install default-jdk-headless)"
    } else if let Some(jar) = std::env::var_os("KADENZ_HDRHISTOGRAM_JAR") {
        let jar = PathBuf::from(jar);
        assert!(
            jar.is_file(),
            "KADENZ_HDRHISTOGRAM_JAR names no file: {}",
            jar.display()
        );
        return Some(jar);
    } else {
        "KADENZ_HDRHISTOGRAM_JAR names no HdrHistogram-2.2.2.jar (org.hdrhistogram:HdrHistogram:2.2.2 \
         from Maven Central)"
    };
    let skip_nothing = std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1");
    assert!(!skip_nothing, "{test} may not be skipped: {missing}");
    eprintln!("skipped: {test}: {missing}");
    None
}

fn java(jar: &Path, arguments: &[&str], log: &Path) -> String {
    let output = Command::new("java")
        .arg("-cp")
        .arg(jar)
        .args(arguments)
        .arg(log)
        .output();
    let output = output.expect("java starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "java {arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("ASCII")
}

/// The output of `Interop.java`: the start time and the tags.
fn interop(jar: &Path, mode: &str, log: &Path) -> (f64, ByTag) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/java/Interop.java");
    let output = java(jar, &[source, mode], log);
    let (first, rest) = output.split_once('\n').expect("a start time");
    let start = first
        .trim_start_matches("start ")
        .trim()
        .parse()
        .expect("seconds");
    (start, rest.lines().map(parse).collect())
}

fn parse(line: &str) -> (String, TagContent) {
    let fields: Vec<_> = line.split_whitespace().collect();
    let whole = |field: &&str| field.parse::<u64>().expect("a whole number");
    let fraction = |field: &str| field.parse::<f64>().expect("a number");
    let content = TagContent {
        intervals: whole(&fields[1]),
        count: whole(&fields[2]),
        min: whole(&fields[3]),
        max: whole(&fields[4]),
        mean: fraction(fields[5]),
        stddev: fraction(fields[6]),
        percentiles: fields[7..].iter().map(whole).collect(),
    };
    (fields[0].to_owned(), content)
}

fn content(intervals: u64, sum: &Histogram) -> TagContent {
    TagContent {
        intervals,
        count: sum.count(),
        min: sum.min(),
        max: sum.max(),
        mean: sum.mean(),
        stddev: sum.stddev(),
        percentiles: PERCENTILES.map(|it| sum.value_at_percentile(it)).to_vec(),
    }
}

fn assert_same(ours: &ByTag, theirs: &ByTag) {
    assert_eq!(
        ours.keys().collect::<Vec<_>>(),
        theirs.keys().collect::<Vec<_>>()
    );
    for ((tag, ours), theirs) in ours.iter().zip(theirs.values()) {
        let close = |ours: f64, theirs: f64| (ours - theirs).abs() <= 1e-9 * theirs.abs();
        assert!(close(ours.mean, theirs.mean), "{tag}: {ours:?} {theirs:?}");
        assert!(
            close(ours.stddev, theirs.stddev),
            "{tag}: {ours:?} {theirs:?}"
        );
        let exact = |it: &TagContent| {
            (
                it.intervals,
                it.count,
                it.min,
                it.max,
                it.percentiles.clone(),
            )
        };
        assert_eq!(exact(ours), exact(theirs), "{tag}");
    }
}

/// Writes a log of 30 intervals, with early values from every other one, and returns its content.
fn write_ours(path: &Path) -> ByTag {
    let mut log = IntervalLogWriter::create(path, START_S).expect("a log");
    let mut sums = BTreeMap::from(["-", "early"].map(|tag| (tag, (0, Histogram::new()))));
    let mut state = 1_u64;
    let mut append = |tag: Option<&'static str>, start_s: f64, bits: u32| {
        let mut interval = Histogram::new();
        for _ in 0..(start_s as u32 * 37 % 500) {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            interval.record(state >> (64 - bits + (state >> 20) as u32 % bits));
        }
        log.append(tag, start_s, 1.0, &interval).expect("appends");
        let (intervals, sum) = sums.get_mut(tag.unwrap_or("-")).expect("a known tag");
        *intervals += 1;
        sum.add(&interval);
    };
    for second in 0..30 {
        append(None, f64::from(second), 41);
        if second % 2 == 1 {
            append(Some("early"), f64::from(second), 10);
        }
    }
    sums.into_iter()
        .map(|(tag, (intervals, sum))| (tag.to_owned(), content(intervals, &sum)))
        .collect()
}

fn read_ours(path: &Path) -> (f64, ByTag) {
    let mut sums: BTreeMap<String, (u64, Histogram)> = BTreeMap::new();
    let mut log = IntervalLog::open(path).expect("a log");
    for interval in &mut log {
        let interval = interval.expect("a sound line");
        let tag = interval.tag.unwrap_or_else(|| "-".to_owned());
        let (intervals, sum) = sums.entry(tag).or_default();
        *intervals += 1;
        interval.histogram.add_to(sum).expect("a histogram");
    }
    assert!(!log.truncated());
    let contents = sums
        .into_iter()
        .map(|(tag, (intervals, sum))| (tag, content(intervals, &sum)));
    (
        log.start_time_s().expect("a start time"),
        contents.collect(),
    )
}

#[test]
fn java_reads_our_logs() {
    let Some(jar) = jar("java_reads_our_logs") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("ours.hlog");
    let ours = write_ours(&log);
    let (start, theirs) = interop(&jar, "read", &log);
    assert_eq!(start, START_S);
    assert_same(&ours, &theirs);
    assert_same(&ours, &read_ours(&log).1);
}

#[test]
fn we_read_the_logs_of_java() {
    let Some(jar) = jar("we_read_the_logs_of_java") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("theirs.hlog");
    let (start, theirs) = interop(&jar, "write", &log);
    let (our_start, ours) = read_ours(&log);
    assert_eq!(our_start, start);
    assert_same(&ours, &theirs);
}

/// The library's own program for logs, as users run it.
#[test]
fn the_log_processor_reads_our_logs() {
    let Some(jar) = jar("the_log_processor_reads_our_logs") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("ours.hlog");
    let ours = write_ours(&log);
    let processor = [
        "org.HdrHistogram.HistogramLogProcessor",
        "-outputValueUnitRatio",
        "1",
    ];
    for (tag, options) in [("-", &[][..]), ("early", &["-tag", "early"])] {
        let arguments = [&processor, options, &["-i"]].concat();
        let output = java(&jar, &arguments, &log);
        let total = format!("Total count    = {:>12}]", ours[tag].count);
        assert!(output.contains(&total), "{total} is not in\n{output}");
        let max = format!("#[Max     = {:>12.3},", ours[tag].max as f64);
        assert!(output.contains(&max), "{max} is not in\n{output}");
    }
}
