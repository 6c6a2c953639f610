//! Exports of runs, read by the programs for which they are made.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kadenz_report::export::{self, ExportError, ExportFormat, Exported, Unit};
use kadenz_report::import;
use tempfile::TempDir;
use tools::conformance;

/// Imports a file of the golden data as a run.
fn run_of(fixture: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (path, run) = (conformance(fixture), folder.path().join("run"));
    import::import(&path, import::detect(&path).unwrap(), &run).unwrap();
    (folder, run)
}

/// A run of samples, 100 per second, with a long tail; with early samples too if `early` is set.
fn run_of_samples(count: u64, early: bool) -> (TempDir, PathBuf) {
    let mut text = "time_ns,value_ns\n".to_owned();
    let mut noise = 1_u64;
    for sample in 0..count {
        noise = noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let value = 40_000
            + (noise >> 49) as i64
            + if sample % 97 == 0 {
                1 << (noise >> 60) << 10
            } else {
                0
            };
        let value = if early && sample % 5 == 0 {
            -value / 8
        } else {
            value
        };
        text += &format!("{},{value}\n", sample * 10_000_000);
    }
    let folder = tempfile::tempdir().unwrap();
    let (csv, run) = (folder.path().join("samples.csv"), folder.path().join("run"));
    fs::write(&csv, text).unwrap();
    import::import(&csv, import::ImportFormat::Csv, &run).unwrap();
    (folder, run)
}

/// Exports to a file beside the run; returns its path and the export's report.
fn exported(run: &Path, series: Option<&str>, format: ExportFormat) -> (PathBuf, Exported) {
    let out = run.with_file_name(format!("exported.{}", format.ending()));
    let exported = export::export(run, series, format, &out).unwrap();
    (out, exported)
}

/// The percentile distribution that HdrHistogram's Java tool makes of an interval log, without its header.
fn java_distribution(jar: &Path, log: &Path, unit_ns: u32) -> String {
    let out = log.with_extension("java");
    run_tool(
        jar,
        &[
            "-i",
            &log.to_string_lossy(),
            "-o",
            &out.to_string_lossy(),
            "-outputValueUnitRatio",
            &unit_ns.to_string(),
        ],
    );
    let text = fs::read_to_string(out.with_extension("java.hgrm")).unwrap();
    text.lines()
        .filter(|line| !line.starts_with("#[Overall") && !line.starts_with("#[StartTime"))
        .fold(String::new(), |text, line| text + line + "\n")
}

fn run_tool(jar: &Path, arguments: &[&str]) {
    let class = "org.HdrHistogram.HistogramLogProcessor";
    tools::run(
        Command::new("java")
            .arg("-cp")
            .arg(jar)
            .arg(class)
            .args(arguments),
    );
}

#[test]
fn hgrm_is_what_java_prints() {
    let Some(jar) = tools::hdrhistogram_jar("hgrm_is_what_java_prints") else {
        return;
    };
    let runs = [
        run_of("hlog/jHiccup-2.0.6.logV1.hlog"),
        run_of("hlog/jHiccup-2.0.7S.logV2.hlog"),
        run_of("import/cyclictest-nanoseconds.json"),
        run_of("import/sockperf.csv"),
        run_of_samples(10_000, false),
    ];
    for (_folder, run) in &runs {
        for unit in [Unit::Milliseconds, Unit::Nanoseconds] {
            let (log, _) = exported(run, None, ExportFormat::Hlog);
            let (hgrm, _) = exported(run, None, ExportFormat::Hgrm(unit));
            let unit_ns = if unit == Unit::Milliseconds {
                1_000_000
            } else {
                1
            };
            let java = java_distribution(&jar, &log, unit_ns);
            assert_eq!(fs::read_to_string(hgrm).unwrap(), java, "{}", run.display());
        }
    }
}

#[test]
fn java_reads_a_merged_log_by_its_tags() {
    let Some(jar) = tools::hdrhistogram_jar("java_reads_a_merged_log_by_its_tags") else {
        return;
    };
    let (_folder, run) = run_of("import/irtt.json");
    let (log, _) = exported(&run, None, ExportFormat::Hlog);
    let out = log.with_extension("java");
    run_tool(
        &jar,
        &[
            "-i",
            &log.to_string_lossy(),
            "-o",
            &out.to_string_lossy(),
            "-tag",
            "send-delay",
        ],
    );
    let text = fs::read_to_string(out.with_extension("java.hgrm")).unwrap();
    assert!(text.contains("Total count    =           50]"), "{text}");
}

#[test]
fn a_merged_log_comes_back_as_it_was() {
    let (_folder, run) = run_of("import/irtt.json");
    let (log, exported) = exported(&run, None, ExportFormat::Hlog);
    assert_eq!(
        exported,
        Exported {
            files: vec![log.clone()],
            notes: vec![]
        }
    );
    let again = run.with_file_name("again");
    let run = import::import(&log, import::ImportFormat::Hlog, &again).unwrap();
    let counts: Vec<_> = run
        .series
        .iter()
        .map(|series| (series.name.as_str(), series.counts.recorded))
        .collect();
    assert_eq!(
        counts,
        [("rtt", 50), ("send-delay", 50), ("receive-delay", 50)]
    );
}

#[test]
fn early_values_come_back_too() {
    let (_folder, run) = run_of_samples(1000, true);
    let (log, _) = exported(&run, Some("values"), ExportFormat::Hlog);
    let again = import::import(
        &log,
        import::ImportFormat::Hlog,
        &run.with_file_name("again"),
    )
    .unwrap();
    assert_eq!(again.series.len(), 1);
    assert_eq!(
        (
            again.series[0].counts.recorded,
            again.series[0].counts.early
        ),
        (1000, 200)
    );
}

#[test]
fn csv_comes_back_as_it_was() {
    let (_folder, run) = run_of_samples(20_000, true);
    let (csv, _) = exported(&run, None, ExportFormat::Csv);
    let text = fs::read_to_string(&csv).unwrap();
    assert!(text.starts_with("sequence,intended_ns,actual_ns,value_ns\n0,0,0,"));
    assert_eq!(text.lines().count(), 20_001);
    let again = run.with_file_name("again");
    import::import(&csv, import::detect(&csv).unwrap(), &again).unwrap();
    let (csv_again, _) = exported(&again, None, ExportFormat::Csv);
    assert_eq!(fs::read_to_string(csv_again).unwrap(), text);
}

#[test]
fn without_samples_csv_has_buckets() {
    let (_folder, run) = run_of("import/cyclictest-overflow.txt");
    let (csv, exported) = exported(&run, Some("thread0"), ExportFormat::Csv);
    assert!(exported.notes[0].contains("buckets of its histogram"));
    let text = fs::read_to_string(csv).unwrap();
    let counted: u64 = text
        .lines()
        .skip(1)
        .map(|l| l.rsplit(',').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(counted, 600);
    assert!(
        text.starts_with("low_ns,high_ns,count\n22000,22015,1\n"),
        "{text}"
    );
}

#[test]
fn what_was_cut_off_is_left_out_and_said() {
    let (_folder, run) = run_of("hlog/jHiccup-2.0.7S.logV2.hlog");
    let log = run.join("hiccup.hlog");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..whole.len() - 10]).unwrap();
    let (hlog, exported) = exported(&run, None, ExportFormat::Hlog);
    assert!(exported.notes[0].contains("the last line of its log was cut off"));
    assert!(fs::read(hlog).unwrap().ends_with(b"\n"));
}

#[test]
fn several_series_become_a_folder() {
    let (_folder, run) = run_of("import/cyclictest.txt");
    let out = run.with_file_name("exported");
    let exported = export::export(&run, None, "hgrm".parse().unwrap(), &out).unwrap();
    assert_eq!(
        exported.files,
        [out.join("thread0.hgrm"), out.join("thread1.hgrm")]
    );
    assert!(out.join("thread1.hgrm").is_file());
}

#[test]
fn several_series_are_refused_where_a_file_is_named() {
    let (_folder, run) = run_of("import/cyclictest.txt");
    let out = run.with_file_name("samples.csv");
    let error = export::export(&run, None, ExportFormat::Csv, &out).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("thread0, thread1"), "{text}");
    assert!(text.contains("--series"), "{text}");
    assert!(!out.exists());
    export::export(&run, Some("thread0"), ExportFormat::Csv, &out).unwrap();
    assert!(out.is_file());
}

#[test]
fn a_failed_export_of_several_series_leaves_nothing_behind() {
    let (_folder, run) = run_of("import/cyclictest.txt");
    let out = run.with_file_name("exported");
    export::export(&run, None, ExportFormat::Parquet, &out).unwrap_err();
    assert!(!out.exists());

    // The second file cannot be made.
    let obstacle = out.join("thread1.csv.new");
    fs::create_dir_all(&obstacle).unwrap();
    export::export(&run, None, ExportFormat::Csv, &out).unwrap_err();
    let left = fs::read_dir(&out).unwrap().map(|it| it.unwrap().path());
    assert_eq!(left.collect::<Vec<_>>(), [obstacle]);
}

/// A link stays, and the file to which it points has the content; a device is written itself.
#[cfg(unix)]
#[test]
fn a_link_is_followed() {
    use std::os::unix::fs::{FileTypeExt as _, symlink};

    let (_folder, run) = run_of("import/cyclictest.txt");
    let (out, log) = exported(&run, None, ExportFormat::Hlog);
    let at = |name: &str| run.with_file_name(name);
    symlink("target.hlog", at("link.hlog")).unwrap();
    symlink("/dev/null", at("nothing.hlog")).unwrap();
    for link in [at("link.hlog"), at("nothing.hlog")] {
        let to_link = export::export(&run, None, ExportFormat::Hlog, &link).unwrap();
        assert_eq!(to_link.notes, log.notes);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
    let [expected, found] = [out, at("target.hlog")].map(|it| fs::read(it).unwrap());
    assert_eq!(found, expected);
    let device = fs::metadata("/dev/null").unwrap().file_type();
    assert!(device.is_char_device());
}

#[test]
fn what_cannot_be_is_said_clearly() {
    let (_folder, run) = run_of("import/cyclictest.txt");
    let out = run.with_file_name("x.parquet");
    let refused = |series| export::export(&run, series, ExportFormat::Parquet, &out).unwrap_err();
    let error = refused(Some("thread0"));
    assert!(matches!(error, ExportError::NeedsSamples { .. }));
    let text = "series \"thread0\" has no raw samples, which parquet is made of: measure again";
    assert!(error.to_string().starts_with(text), "{error}");
    let error = refused(Some("unknown")).to_string();
    assert_eq!(
        error,
        "the run has no series \"unknown\"; it has thread0, thread1"
    );
    assert!(!out.exists() && !run.with_file_name("x.parquet.new").exists());
    let error = export::export(&run, None, ExportFormat::Hlog, Path::new("/")).unwrap_err();
    assert!(error.to_string().contains("names no file"), "{error}");
    let nowhere = run.join("no/such/folder/x.hlog");
    let error = export::export(&run, None, ExportFormat::Hlog, &nowhere).unwrap_err();
    assert!(error.to_string().starts_with("cannot write"), "{error}");
    let error = "xls".parse::<ExportFormat>().unwrap_err();
    assert!(
        error.to_string().contains("known are hlog, hgrm"),
        "{error}"
    );
}

#[test]
fn pyarrow_reads_parquet() {
    let Some(python) = tools::python("pyarrow_reads_parquet") else {
        return;
    };
    let (_folder, run) = run_of_samples(20_000, true);
    let (parquet, _) = exported(&run, None, ExportFormat::Parquet);
    let (csv, _) = exported(&run, None, ExportFormat::Csv);
    let script = "import sys, pyarrow as pa, pyarrow.csv, pyarrow.parquet as pq\n\
        table = pq.read_table(sys.argv[1])\n\
        csv = pa.csv.read_csv(sys.argv[2])\n\
        assert [str(t) for t in table.schema.types] == ['uint64', 'int64', 'int64', 'int64'], table.schema\n\
        assert table.schema.names == csv.schema.names\n\
        assert table.cast(csv.schema).equals(csv)\n\
        print(table.num_rows, pq.read_metadata(sys.argv[1]).metadata[b'kadenz.series'].decode())";
    let read = tools::run(
        Command::new(python)
            .args(["-c", script])
            .args([parquet, csv]),
    );
    assert_eq!(read.trim(), "20000 values");
}

#[test]
fn parquet_has_row_groups_of_bounded_size() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let (_folder, run) = run_of_samples(300_000, false);
    let (path, _) = exported(&run, None, ExportFormat::Parquet);
    let file = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let metadata = file.metadata();
    assert_eq!(metadata.file_metadata().num_rows(), 300_000);
    let rows: Vec<i64> = metadata
        .row_groups()
        .iter()
        .map(|group| group.num_rows())
        .collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
}

#[test]
fn gnuplot_draws_what_it_is_given() {
    for fixture in [
        "import/cyclictest.txt",
        "import/bmwcarit-cyclic.log",
        "import/samples.csv",
    ] {
        let (_folder, run) = run_of(fixture);
        let (script, _) = exported(&run, None, ExportFormat::Gnuplot);
        if !tools::answers("gnuplot", &["--version"]) {
            return tools::skip(
                "gnuplot_draws_what_it_is_given",
                "gnuplot (apt install gnuplot-nox)",
            );
        }
        let folder = script.parent().unwrap();
        tools::run(Command::new("gnuplot").current_dir(folder).arg(&script));
        let picture = fs::read_to_string(folder.join("exported.svg")).unwrap();
        assert!(
            picture.contains("<path") && picture.contains("99.9%"),
            "{fixture}"
        );
    }
}
