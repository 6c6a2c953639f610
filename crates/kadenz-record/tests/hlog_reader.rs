//! Logs after crashes, editors and other programs.

use std::io::{self, BufReader, Read};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use hdrhistogram::{
    Histogram as Reference,
    serialization::{Serializer as _, V2DeflateSerializer},
};
use kadenz_record::{
    histogram::{Histogram, Layout},
    hlog::{
        codec::{Decoder, Encoder},
        reader::{Field, Interval, IntervalLog, MalformedLine, ReadLogError},
        writer::{AppendError, EncodeLineError, IntervalLogWriter, LineEncoder, header},
    },
};
use proptest::prelude::*;

const START: f64 = 1_441_812_279.474;

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.record(*value));
    histogram
}

/// A log of three intervals, the second of them tagged.
fn three() -> String {
    let mut log = IntervalLogWriter::new(Vec::new(), START).expect("a vector takes all");
    log.append(None, 0.127, 1.007, &of(&[10, 20, 30_000_000]))
        .expect("a vector takes all");
    log.append(Some("early"), 1.134, 0.999, &of(&[5]))
        .expect("a vector takes all");
    log.append(None, 2.133, 1.001, &of(&[]))
        .expect("a vector takes all");
    String::from_utf8(log.into_inner()).expect("a vector takes all")
}

fn read(text: &[u8]) -> (Vec<Result<Interval, ReadLogError>>, bool) {
    let mut log = IntervalLog::from_reader(text);
    let intervals = (&mut log).collect();
    (intervals, log.truncated())
}

fn sound(text: &[u8]) -> (Vec<Interval>, bool) {
    let (intervals, truncated) = read(text);
    (
        intervals
            .into_iter()
            .map(|it| it.expect("a sound line"))
            .collect(),
        truncated,
    )
}

fn cause(result: &Result<Interval, ReadLogError>) -> (u64, &MalformedLine) {
    match result {
        Err(ReadLogError::Malformed { line, cause }) => (*line, cause),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_written_is_read() {
    let (intervals, truncated) = sound(three().as_bytes());
    assert!(!truncated);
    let times: Vec<_> = intervals
        .iter()
        .map(|it| (it.relative_s, it.length_s))
        .collect();
    assert_eq!(times, [(0.127, 1.007), (1.134, 0.999), (2.133, 1.001)]);
    assert!((intervals[0].start_s - START - 0.127).abs() < 1e-6);
    let tags: Vec<_> = intervals.iter().map(|it| it.tag.as_deref()).collect();
    assert_eq!(tags, [None, Some("early"), None]);
    let counts: Vec<_> = intervals
        .iter()
        .map(|it| it.histogram.decode().unwrap().count())
        .collect();
    assert_eq!(counts, [3, 1, 0]);
    assert_eq!(intervals[0].histogram.line(), 6);
}

#[test]
fn the_header_is_what_viewers_look_for() {
    let text = header(START, &["series lateness", "two\nlines"]);
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].contains("jHiccup"), "{}", lines[0]);
    assert_eq!(lines[1], "#[Histogram log format version 1.3]");
    assert_eq!(lines[2..4], ["#[series lateness]", "#[two lines]"]);
    let start = "#[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 15:24:39 UTC 2015]";
    assert_eq!(lines[4], start);
    assert_eq!(
        lines[5],
        "#[BaseTime: 1441812279.474 (seconds since epoch)]"
    );
    assert!(lines[6].starts_with("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","));
    assert!(text.ends_with('\n'));
}

/// As on a board without a battery for its clock.
#[test]
fn a_log_of_a_clock_that_was_never_set_has_its_times() {
    let mut log = IntervalLogWriter::new(Vec::new(), 40.0).unwrap();
    log.append(None, 0.0, 1.0, &Histogram::new()).unwrap();
    let (intervals, _) = sound(&log.into_inner());
    assert_eq!((intervals[0].relative_s, intervals[0].start_s), (0.0, 40.0));
}

#[test]
fn a_log_cut_anywhere_opens_and_says_so() {
    let text = three();
    let whole = sound(text.as_bytes()).0;
    let ends: Vec<_> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    for cut in 0..text.len() {
        let (intervals, truncated) = read(&text.as_bytes()[..cut]);
        let complete = ends.iter().filter(|end| **end <= cut).count();
        if complete == 0 && intervals.iter().any(Result::is_err) {
            continue; // nothing told yet that this is a log
        }
        let intervals: Vec<_> = intervals
            .into_iter()
            .map(|it| it.expect("no error"))
            .collect();
        // A line that lacks no more than its line break and padding counts.
        let rest = text[cut..].split_once('\n').map_or("", |(rest, _)| rest);
        let nearly = !ends.contains(&cut) && rest.trim_matches('=').is_empty();
        let lines = complete + usize::from(nearly);
        assert_eq!(
            intervals[..],
            whole[..lines.saturating_sub(5)],
            "cut at {cut}"
        );
        let at_an_end = nearly || cut == 0 || ends.contains(&cut);
        // A comment or a legend does not show whether it is complete.
        if complete >= 5 {
            assert_eq!(truncated, !at_an_end, "cut at {cut}");
        }
    }
}

#[test]
fn damage_before_the_last_line_is_an_error_and_reading_goes_on() {
    let text = three().replacen("0.127,1.007,", "0.127,1.0x7,", 1);
    let (intervals, truncated) = read(text.as_bytes());
    assert!(!truncated);
    let number = MalformedLine::Number {
        field: Field::IntervalLength,
        text: "1.0x7".into(),
    };
    assert_eq!(cause(&intervals[0]), (6, &number));
    assert_eq!(intervals.len(), 3);
    assert!(intervals[1..].iter().all(Result::is_ok));
}

#[test]
fn a_cut_line_that_was_appended_to_is_an_error() {
    let text = three();
    let cut = text.len() - 30;
    let glued = format!("{}{}", &text[..cut], text.lines().nth(5).unwrap());
    let (intervals, truncated) = read(glued.as_bytes());
    assert!(!truncated);
    assert_eq!(cause(&intervals[2]).0, 8);
}

#[test]
fn a_histogram_of_rust_s_hdrhistogram_up_to_u64_max_is_read() {
    let mut recorded = Reference::<u64>::new_with_bounds(1, u64::MAX, 3).expect("its own example");
    recorded.record(12_345).expect("within its bounds");
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(&recorded, &mut bytes)
        .expect("a vector takes all");
    let read = Decoder::new().decode(&bytes).expect("a readable histogram");
    assert_eq!((read.count(), read.max()), (1, recorded.max()));
    assert_eq!(read.layout().highest(), i64::MAX.unsigned_abs());
}

#[test]
fn quirks_of_other_writers() {
    let text = three();
    let whole = sound(text.as_bytes()).0;
    let crlf = text.replace('\n', "\r\n");
    let spaced = text.replace(',', ", ");
    let blank = text.replace('\n', "\n\n");
    let marked = format!("\u{feff}{text}");
    let strip_lines = |it: Vec<Interval>| -> Vec<_> {
        it.iter()
            .map(|it| (it.start_s, it.histogram.decode().unwrap()))
            .collect()
    };
    for variant in [crlf, spaced, marked] {
        assert_eq!(sound(variant.as_bytes()).0, whole);
    }
    assert_eq!(strip_lines(sound(blank.as_bytes()).0), strip_lines(whole));
}

#[test]
fn whole_seconds_need_no_point() {
    let payload = BASE64.encode(Encoder::new().compressed(&of(&[7])));
    let text = format!("#[StartTime: 1441812279]\n17,1,0,{payload}\n1e1 +2 0 {payload}");
    let (intervals, truncated) = sound(text.as_bytes());
    assert!(!truncated);
    let times: Vec<_> = intervals
        .iter()
        .map(|it| (it.start_s, it.length_s))
        .collect();
    assert_eq!(times, [(1_441_812_296.0, 1.0), (1_441_812_289.0, 2.0)]);
}

#[test]
fn base64_without_padding_is_read() {
    let payload = BASE64.encode(Encoder::new().compressed(&of(&[7, 9])));
    for payload in [payload.trim_end_matches('='), &payload] {
        let (intervals, truncated) = sound(format!("1,1,0,{payload}").as_bytes());
        assert_eq!(intervals[0].histogram.decode().unwrap(), of(&[7, 9]));
        assert!(!truncated);
    }
}

#[test]
fn numbers_that_are_none() {
    let payload = BASE64.encode(Encoder::new().compressed(&of(&[7])));
    for times in ["nan,1", "inf,1", "1,NaN", "--1,1", "0x10,1", "1_000,1"] {
        let (intervals, _) = read(format!("{times},0,{payload}\n").as_bytes());
        assert!(
            matches!(cause(&intervals[0]).1, MalformedLine::Number { .. }),
            "{times}"
        );
    }
    let (intervals, _) = read(format!("1,1,0,{payload},more\n").as_bytes());
    assert_eq!(cause(&intervals[0]).1, &MalformedLine::Extra("more".into()));
}

#[test]
fn a_damaged_payload_is_an_error_that_names_the_line() {
    let text = three();
    let line = text.lines().nth(5).unwrap();
    let damaged = line.replace("HISTFAAAA", "HISTFAAAB");
    let mut bytes = BASE64.decode(line.rsplit(',').next().unwrap()).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1; // the checksum of the zlib stream
    let checksum = format!("0.1,1,0,{}\n", BASE64.encode(&bytes));
    for text in [format!("{damaged}\n"), checksum] {
        let (intervals, _) = read(text.as_bytes());
        let error = match &intervals[0] {
            Ok(interval) => interval.histogram.decode().unwrap_err(),
            Err(_) => continue,
        };
        assert!(error.to_string().starts_with("line 1 of"), "{error}");
        let mut sum = of(&[3]);
        assert!(
            intervals[0]
                .as_ref()
                .unwrap()
                .histogram
                .add_to(&mut sum)
                .is_err()
        );
        assert_eq!(sum, of(&[3]), "a failed sum leaves nothing behind");
    }
}

#[test]
fn a_log_that_was_appended_to_after_a_restart() {
    let second = three().replace("1441812279.474", "1441812379.474");
    let (intervals, _) = sound(format!("{}{second}", three()).as_bytes());
    let times: Vec<_> = intervals
        .iter()
        .map(|it| (it.relative_s * 1e3).round() as i64)
        .collect();
    assert_eq!(times, [127, 1134, 2133, 100_127, 101_134, 102_133]);
}

#[test]
fn lines_that_cannot_be_written() {
    let mut log = IntervalLogWriter::new(Vec::new(), START).unwrap();
    for tag in ["a,b", "a b", "a\nb", "a\rb"] {
        let error = log.append(Some(tag), 0.0, 1.0, &of(&[])).unwrap_err();
        assert!(matches!(&error, AppendError::Line(EncodeLineError::Tag(it)) if it == tag));
        assert!(error.to_string().contains("leave them out"), "{error}");
    }
    assert!(log.append(None, f64::NAN, 1.0, &of(&[])).is_err());
    assert!(log.append(None, 0.0, f64::INFINITY, &of(&[])).is_err());
    assert_eq!(
        String::from_utf8(log.into_inner()).unwrap(),
        header(START, &[])
    );
}

#[test]
fn a_new_log_overwrites_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lateness.hlog");
    let mut log = IntervalLogWriter::create(&path, START).unwrap();
    log.append(None, 0.0, 1.0, &of(&[5])).unwrap();
    let error = IntervalLogWriter::create(&path, START).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    // Read while it is still being written: every line is there.
    assert_eq!(IntervalLog::open(&path).unwrap().count(), 1);
}

#[test]
fn a_reader_that_fails_ends_the_log() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let text = three();
    let cut = text.find("2.133").unwrap();
    let reader = BufReader::new(text.as_bytes()[..cut].chain(Failing));
    let results: Vec<_> = IntervalLog::from_reader(reader).collect();
    assert_eq!(results.len(), 3);
    let error = results[2].as_ref().unwrap_err();
    assert!(
        matches!(error, ReadLogError::Read { line: 7, .. }),
        "{error}"
    );
}

fn histogram() -> impl Strategy<Value = Histogram> {
    let value = (0..64_u32, any::<u64>()).prop_map(|(bits, value)| value >> bits);
    let count = (1..60_u32, any::<u64>()).prop_map(|(bits, count)| (count >> 4) >> bits);
    prop::collection::vec((value, count), 0..40).prop_map(|counts| {
        let mut histogram = Histogram::new();
        counts
            .into_iter()
            .for_each(|(value, count)| histogram.record_n(value, count));
        histogram
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn encoded_histograms_come_back(histogram in histogram()) {
        prop_assume!(i64::try_from(histogram.count()).is_ok());
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new());
        prop_assert_eq!(&decoder.decode(encoder.plain(&histogram)).unwrap(), &histogram);
        prop_assert_eq!(&decoder.decode(encoder.compressed(&histogram)).unwrap(), &histogram);
    }

    #[test]
    fn lines_come_back(
        histogram in histogram(),
        tag in prop::option::of("[^, \r\n\t]{0,20}"),
        start_ms in 0..100_000_000_000_i64,
        length_ms in 0..10_000_000_i64,
    ) {
        prop_assume!(i64::try_from(histogram.count()).is_ok());
        let (start_s, length_s) = (start_ms as f64 / 1e3, length_ms as f64 / 1e3);
        let mut lines = LineEncoder::new();
        let line = lines.line(tag.as_deref(), start_s, length_s, &histogram).unwrap();
        let (intervals, _) = sound(line.as_bytes());
        prop_assert_eq!(intervals.len(), 1);
        prop_assert_eq!(&intervals[0].tag, &tag);
        prop_assert_eq!((intervals[0].start_s, intervals[0].length_s), (start_s, length_s));
        prop_assert_eq!(intervals[0].histogram.decode().unwrap(), histogram);
    }

    #[test]
    fn damage_is_an_error_at_worst(
        histogram in histogram(),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        compressed: bool,
    ) {
        let mut encoder = Encoder::new();
        let bytes = if compressed { encoder.compressed(&histogram) } else { encoder.plain(&histogram) };
        let mut bytes = bytes.to_vec();
        for (place, byte) in places {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        let mut decoder = Decoder::new();
        if let Ok(decoded) = decoder.decode(&bytes) {
            prop_assert_eq!(decoder.max(&bytes).unwrap(), decoded.max());
        }
        prop_assert_eq!(decoder.decode(encoder.plain(&of(&[1]))).unwrap(), of(&[1]));
    }

    #[test]
    fn noise_is_an_error_at_worst(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Decoder::new().decode(&bytes);
        for interval in IntervalLog::from_reader(&bytes[..]).flatten() {
            let _ = interval.histogram.decode();
        }
    }
}

#[test]
fn zeros_beyond_all_counters_count_for_nothing() {
    let coarse = Layout::new(1, 1_000_000, 2).unwrap();
    let mut histogram = Histogram::with_layout(coarse);
    histogram.record(700);
    let mut bytes = Encoder::new().plain(&histogram).to_vec();
    // Two runs of 2^31 - 1 zeros, in ZigZag and LEB128 as all numbers of this form.
    for _ in 0..2 {
        bytes.extend([0xFD, 0xFF, 0xFF, 0xFF, 0x0F]);
    }
    let length = u32::try_from(bytes.len() - 40).unwrap();
    bytes[4..8].copy_from_slice(&length.to_be_bytes());
    let mut sum = Histogram::new();
    Decoder::new().add_to(&bytes, &mut sum).unwrap();
    assert_eq!(sum.count(), 1);
}
