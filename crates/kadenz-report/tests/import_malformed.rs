//! Malformed files: the error names line or field, and the fault.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use kadenz_report::import::{Collected, DetectError, ImportError, ImportFormat, detect, import};

/// Reads a text as a format; returns the error as text.
fn read(format: ImportFormat, text: &str) -> Result<Collected, String> {
    Collected::read(format, &mut text.as_bytes()).map_err(|error| error.to_string())
}

#[track_caller]
fn refused(format: ImportFormat, text: &str, cause: &str) {
    let said = read(format, text).map(|sink| sink.run).unwrap_err();
    assert!(
        said.contains(cause),
        "{format} of {text:?}\n says {said}\n   not {cause}"
    );
}

#[test]
fn csv() {
    let refused = |text: &str, cause: &str| refused(ImportFormat::Csv, text, cause);
    refused(
        "",
        "it holds no header; the first line must name the columns: time_ns,value_ns",
    );
    refused("time_ns,value_ns\n", "it holds no row after its header");
    refused(
        "1,2\n3,4\n",
        "line 1: \"1\" is not a known column; the first line must name",
    );
    refused(
        "time_ns,time_ns\n",
        "line 1: column time_ns stands there twice",
    );
    refused(
        "time_ns\n",
        "line 1: a column of times or of values is missing",
    );
    refused(
        "# c\ntime_ns,value_ns\n0,1\n1,x\n",
        "line 4: value_ns \"x\" is not a whole number",
    );
    refused(
        "time_ns,value_ns\n0,1.5\n",
        "line 2: value_ns \"1.5\" is not a whole number of nanoseconds",
    );
    refused(
        "time_ns,value_ns\n0,99999999999999999999\n",
        "within 64 bits",
    );
    refused("time_ns,value_ns\n0\n", "line 2: value_ns is missing");
    refused(
        "time_ns,value_ns\n0,1,2\n",
        "line 2: it has more than the 2 fields of the header",
    );
}

#[test]
fn csv_as_others_write_it() {
    let text = "\u{feff}\"value_ns\" , \"time_ns\"\r\n-5,  10\r\n\r\n\"7\",20\r\n";
    let sink = read(ImportFormat::Csv, text).unwrap();
    let counts = sink.run.series[0].counts;
    assert_eq!(
        (counts.recorded, counts.min_ns, counts.max_ns),
        (2, Some(-5), Some(7))
    );
}

#[test]
fn cyclictest_text() {
    let refused = |text: &str, cause: &str| refused(ImportFormat::CyclictestText, text, cause);
    refused("", "it holds no histogram; cyclictest keeps one with -h");
    refused(
        "000001 000002\n000002 00000x\n",
        "line 2: \"00000x\" is not a count",
    );
    refused(
        "000001 000002\n000002\n",
        "line 2: 0 counts in a row, 1 in the first",
    );
    refused(
        "000001 1\t2\n000002 3\n",
        "line 2: 1 counts in a row, 2 in the first",
    );
    refused(
        "000001 1\n000002 3\t4\n",
        "line 2: 2 counts or more in a row, fewer in the first",
    );
    refused(
        "99999999999999999999 1\n",
        "line 1: \"99999999999999999999\" is not a count",
    );
    refused("9223372036854775807 1\n", "is more than any latency");
    refused(
        "000001 1\n# Min Latencies: x\n",
        "line 2: \"x\" is not a count",
    );
}

/// A file that was cut off before its summary is imported with a warning.
#[test]
fn cyclictest_text_without_summary() {
    let sink = read(
        ImportFormat::CyclictestText,
        "# Histogram\n000007 12\t3\n000008 1\t0",
    )
    .unwrap();
    assert_eq!(sink.run.series.len(), 2);
    assert_eq!(sink.run.series[0].counts.max_ns, Some(8_000));
    assert!(
        sink.run
            .warnings
            .iter()
            .any(|warning| warning.id == "truncated"
                && warning.remedy.as_deref() == Some("measure again, or copy the whole file"))
    );
}

fn cyclictest_json(thread: &str) -> String {
    format!(
        "{{\"file_version\": 1,\n\"cmdline:\": \"cyclictest -h 60\",\n\"rt_test_version:\": \"2.40\",\n\
         \"thread\": {{\"0\": {thread}}}}}"
    )
}

#[test]
fn cyclictest_json_fields() {
    let refused = |text: &str, cause: &str| refused(ImportFormat::CyclictestJson, text, cause);
    refused(
        "{\"file_version\": 1",
        "line 1, column 18: EOF while parsing an object",
    );
    refused(
        &cyclictest_json("{\"histogram\": {\"5\": 2}}"),
        "line 4, column 39: missing field `cycles`",
    );
    refused(&cyclictest_json("{\"cycles\": 9}"), "it holds no histogram");
    refused(
        &cyclictest_json("{\"histogram\": {\"5\": 2}, \"cycles\": 1}"),
        "thread.0.cycles: 1 is below the 2 values in the bins",
    );
    refused(
        &cyclictest_json("{\"histogram\": {\"5.5\": 2}, \"cycles\": 2}"),
        "thread.0.histogram.5.5: it is not a whole number",
    );
    refused(
        &cyclictest_json("{\"histogram\": {\"5\": 2}, \"cycles\": 2, \"max\": 4}"),
        "thread.0.max: it is below the highest bin, 5000 ns",
    );
}

#[test]
fn irtt() {
    let refused = |text: &str, cause: &str| refused(ImportFormat::Irtt, text, cause);
    let trip =
        "{\"seqno\": 0, \"lost\": \"true\", \"timestamps\": {\"client\": {}}, \"delay\": {}}";
    let no_reply = format!("{{\"round_trips\": [{trip}]}}");
    refused(
        "[]",
        "line 1, column 1: invalid type: sequence, expected the JSON object of irtt",
    );
    refused("{\"round_trips\": 5}", "expected an array of round trips");
    refused(
        "{\"round_trips\": []}",
        "it holds no round trip with a reply",
    );
    refused(&no_reply, "it holds no round trip with a reply");
    refused(
        "{\"round_trips\": [{\"seqno\": 0}]}",
        "missing field `timestamps`",
    );
    refused(
        "{\"version\": {\"json_format\": 2}}",
        "JSON format 2 is newer than 1",
    );
    refused("{\"round_trips\": [", "EOF while parsing");
    refused(&format!("{no_reply} x"), "trailing characters");
}

#[test]
fn jitterdebugger() {
    let refused = |text: String, cause| refused(ImportFormat::Jitterdebugger, &text, cause);
    let file = |version: u64, resolution: u64, cpu: &str| {
        format!(
            "{{\"version\": {version}, \"sysinfo\": {{\"resolution_in_ns\": {resolution}}}, \
             \"cpu\": {{\"1\": {cpu}}}}}"
        )
    };
    let good = "{\"histogram\": {\"7\": 3}, \"count\": 3, \"min\": 7, \"max\": 7, \"avg\": 7.0}";
    refused(
        file(2, 1000, good),
        "version: it is 2, but only version 3 is known",
    );
    refused(
        file(3, 0, good),
        "sysinfo.resolution_in_ns: 0 is not a valid resolution",
    );
    refused(
        file(3, 1000, &good.replace("\"count\": 3", "\"count\": 2")),
        "cpu.1.count: 2 is below the 3 values in the bins",
    );
    refused(
        file(3, 1000, &good.replace("\"7\"", "\"x\"")),
        "cpu.1.histogram.x: it is not a whole number",
    );
    let nothing = "{\"histogram\": {}, \"count\": 0, \"min\": 18446744073709551615, \"max\": 0, \"avg\": -nan}";
    refused(
        file(3, 1000, nothing),
        "it holds no value; the measurement was ended",
    );
}

#[test]
fn sockperf() {
    let refused = |text: &str, cause: &str| refused(ImportFormat::Sockperf, text, cause);
    let head = "packet, txTime(sec), rxTime(sec), latency(usec)\n";
    let row = |row: &str| format!("{head}{row}\n");
    refused(
        "",
        "it holds no row of packet times; sockperf leaves out 400 ms of warm-up",
    );
    refused(
        "packet, txTime(sec), rxTime(sec), x\n",
        "line 1: the last column is \"x\"",
    );
    refused(&row("0, 1.0, 2.0"), "line 2: the latency is missing");
    refused(
        &row("0, 1.0, 2.0, 3.0, 4"),
        "line 2: \"4\" is a fifth field",
    );
    refused(
        &row("x, 1.0, 2.0, 3.0"),
        "line 2: packet \"x\" is not a whole number",
    );
    refused(
        &row("0, 1.0, inf, 3.0"),
        "line 2: rxTime \"inf\" is not a number",
    );
    refused(&row("0, 99999999999999999999, 1, 3.0"), "line 2: txTime");
}

#[test]
fn sockperf_with_several_servers() {
    let one = |server: u64| {
        format!(
            "sockperf: ========= Printing statistics for Server No: {server}\n\
             \u{1b}[0;31m# dropped messages = {server}; # duplicated messages = 0; # out-of-order messages = 0\u{1b}[0m\n\
             ------\npacket, txTime(sec), rxTime(sec), rtt(usec)\n0, 1.0, 1.1, 100000.000\n------\n"
        )
    };
    let sink = read(ImportFormat::Sockperf, &format!("{}{}", one(0), one(1))).unwrap();
    let named: Vec<&str> = sink
        .run
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(named, ["rtt", "rtt-1"]);
    assert!(
        sink.run.warnings[0]
            .text
            .starts_with("server 1: 1 messages were sent and never answered")
    );
}

#[test]
fn bmwcarit() {
    let refused = |text: &str, cause: &str| refused(ImportFormat::Bmwcarit, text, cause);
    refused(
        "# Plot data for gnuplot\nend\n",
        "it holds no row with a count",
    );
    refused("000001 \tx\n", "line 1: \"x\" is not a count");
    refused(
        "000001 \t1 \t1\n",
        "line 1: a row is a value in microseconds and a count",
    );
    refused(
        "-99999999999999999999 \t1\n",
        "line 1: \"-99999999999999999999\" is not a whole number",
    );
    refused("#-9223372036854775807 \t1\n", "is more than any latency");
}

#[test]
fn what_no_importer_knows_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    for content in [
        &b"hello\n"[..],
        b"",
        b"{\"a\": 1}",
        &[0, 255, 1, 2],
        b"\x1f\x8b\x08",
    ] {
        std::fs::write(&path, content).unwrap();
        let error = detect(&path).unwrap_err();
        let said = error.to_string();
        let known = said.contains("say which it is, one of cyclictest-json, irtt,");
        assert!(known || matches!(error, DetectError::Open { .. }), "{said}");
    }
    assert!(matches!(
        detect(&folder.path().join("none")),
        Err(DetectError::Open { .. })
    ));
}

#[test]
fn a_folder_that_is_not_empty_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("x.csv");
    std::fs::write(&csv, "time_ns,value_ns\n0,1\n").unwrap();
    let error = import(&csv, ImportFormat::Csv, folder.path()).unwrap_err();
    assert!(matches!(error, ImportError::Store { .. }));
    assert!(
        error
            .to_string()
            .contains("is not empty: name another folder"),
        "{error}"
    );
    assert!(csv.exists());
    let under_a_file = csv.join("run");
    assert!(import(&csv, ImportFormat::Csv, &under_a_file).is_err());
}

/// A failed import removes the files that it has written, but not a folder of the user.
#[test]
fn a_failed_import_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, out) = (folder.path().join("x.csv"), folder.path().join("run"));
    std::fs::write(&csv, "time_ns,value_ns\n0,1\n1,x\n").unwrap();
    assert!(import(&csv, ImportFormat::Csv, &out).is_err());
    assert!(!out.exists());
    std::fs::create_dir(&out).unwrap();
    assert!(import(&csv, ImportFormat::Csv, &out).is_err());
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0);
}
