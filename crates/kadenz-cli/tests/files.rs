//! Reading commands as a user types them: report, show, compare, import, export.

mod common;
use common::*;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A short run to read.
fn measured(folder: &Path, name: &str) -> PathBuf {
    let out = folder.join(name);
    let said = run_line(&format!(
        "timer cyclic --count 400 --interval 50ms --deadline 10s --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    out
}

#[test]
fn a_run_compared_with_itself_differs_by_nothing() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    let said = run(&[
        "compare",
        text(&out),
        text(&out),
        "--fail-if",
        "p99 > 1.2x",
        "--fail-if",
        "misses > 0",
    ]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("lateness"), "{}", said.out);
}

#[test]
fn a_quiet_comparison_is_one_sentence() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    for runs in [vec![text(&out)], vec![text(&out), text(&out)]] {
        let said = run(&[&["compare", "--quiet"][..], &runs[..]].concat());
        assert_eq!((said.code, said.err.as_str()), (0, ""));
        assert_eq!(said.out.lines().count(), 1, "{}", said.out);
        assert!(!said.out.contains(". "), "{}", said.out);
    }
}

/// A link and a device stay what they are; the file to which a link points gets the page.
#[cfg(unix)]
#[test]
fn a_page_is_written_through_a_link() {
    use std::os::unix::fs::symlink;

    let folder = folder();
    let out = measured(folder.path(), "run");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("page.html"), "old").unwrap();
    symlink("page.html", at("link")).unwrap();
    symlink("/dev/null", at("nothing")).unwrap();
    for link in [at("link"), at("nothing")] {
        for arguments in [
            ["report", text(&out), "--out", text(&link)],
            ["compare", text(&out), "--report", text(&link)],
        ] {
            let said = run(&arguments);
            assert_eq!(said.code, 0, "{}", said.err);
            assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        }
    }
    let page = std::fs::read_to_string(at("page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>"));
    // A pipe would block until a program reads it, and is replaced.
    let made = Command::new("mkfifo").arg(at("pipe")).status();
    assert!(made.is_ok_and(|it| it.success()));
    assert_eq!(
        run(&["report", text(&out), "--out", text(&at("pipe"))]).code,
        0
    );
    assert!(std::fs::metadata(at("pipe")).unwrap().is_file());
}

#[test]
fn a_crossed_limit_is_exit_code_1_and_says_which() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    let said = run(&["compare", text(&out), "--fail-if", "lateness: max > 1ns"]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("lateness: max > 1ns"), "{}", said.err);
}

#[test]
fn what_the_sample_cannot_carry_is_not_decided() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    let said = run(&[
        "compare",
        text(&out),
        "--fail-if",
        "p99.999 > 1us",
        "--json",
    ]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert_eq!(said.json()["version"], 1);
}

#[test]
fn one_page_of_several_runs() {
    let folder = folder();
    let runs = ["one", "two"].map(|name| measured(folder.path(), name));
    let page = folder.path().join("both.html");
    let said = run(&[
        "report",
        text(&runs[0]),
        text(&runs[1]),
        "--out",
        text(&page),
    ]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(std::fs::read_to_string(&page).unwrap().contains("</html>"));
}

#[test]
fn a_file_of_another_program_may_stand_in_the_place_of_a_run() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    let log = folder.path().join("night.hlog");
    std::fs::copy(out.join("lateness.hlog"), &log).unwrap();
    let said = run(&["show", text(&log), "--json"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_eq!(json["runs"][0]["folder"], text(&log));
    assert_eq!(json["series"][0]["count"], 400);

    let said = run(&["report", text(&log)]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(folder.path().join("night.html").exists());
    let said = run(&["compare", text(&log), text(&out)]);
    assert_eq!(said.code, 0, "{}", said.err);

    std::fs::write(&log, "no log\n").unwrap();
    let said = run(&["show", text(&log)]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("night.hlog"), "{}", said.err);
}

#[test]
fn every_export_leaves_what_it_names() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    for format in ["hlog", "hgrm", "csv", "parquet", "gnuplot"] {
        let file = folder.path().join(format);
        let said = run_line(&format!(
            "export {} --series lateness --format {format} --out {}",
            text(&out),
            text(&file)
        ));
        assert_eq!(said.code, 0, "{format}: {}", said.err);
        assert!(
            said.out
                .lines()
                .all(|line| Path::new(line).metadata().unwrap().len() > 0),
            "{}",
            said.out
        );
        assert!(!said.out.is_empty());
    }
}

#[test]
fn what_was_exported_can_be_imported_again() {
    let folder = folder();
    let out = measured(folder.path(), "run");
    let before = run(&["show", text(&out), "--json"]).json();
    for format in ["hlog", "csv"] {
        let file = folder.path().join(format!("run.{format}"));
        let again = folder.path().join(format!("again-{format}"));
        let said = run_line(&format!(
            "export {} --series lateness --format {format} --out {}",
            text(&out),
            text(&file)
        ));
        assert_eq!(said.code, 0, "{}", said.err);
        let said = run(&["import", text(&file), "--out", text(&again), "--json"]);
        assert_eq!(said.code, 0, "{}", said.err);
        let after = said.json();
        assert_described("import", "import", &after);
        assert_eq!(after["run"], text(&again));
        assert_eq!(after["series"][0]["count"], 400, "{format}");
        assert_eq!(
            after["series"][0]["percentiles"]["50"],
            series(&before, "lateness")["percentiles"]["50"],
            "{format}"
        );
    }
}

/// Samples of a minute at 100 Hz, as text: `scale` times values that spread evenly from 50 us to 100 us.
fn samples(file: &Path, scale: u64) {
    let mut state = 1_u64;
    let rows = (0..6_000_u64).map(|beat| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(scale);
        let value = (50_000 + (state >> 33) % 50_000) * scale;
        format!("{},{value}\n", beat * 10_000_000)
    });
    let text: String = std::iter::once("time_ns,value_ns\n".to_owned())
        .chain(rows)
        .collect();
    std::fs::write(file, text).expect("a writable temporary folder");
}

#[test]
fn files_are_compared_with_the_confidence_of_folders() {
    let folder = folder();
    let files = [("before", 1), ("after", 2)].map(|(name, scale)| {
        let file = folder.path().join(format!("{name}.csv"));
        samples(&file, scale);
        file
    });
    let folders = files.each_ref().map(|file| file.with_extension("run"));
    for (file, out) in files.iter().zip(&folders) {
        assert_eq!(run(&["import", text(file), "--out", text(out)]).code, 0);
    }
    let compared = |runs: &[PathBuf; 2]| {
        let limit = "p50 > 1.5x significantly";
        let words = [
            "compare",
            text(&runs[0]),
            text(&runs[1]),
            "--json",
            "--fail-if",
            limit,
        ];
        let said = run(&words);
        assert_eq!(said.code, 1, "{}", said.err);
        said.json()["comparisons"][0]["figures"].clone()
    };
    let figures = compared(&files);
    assert!(figures[1]["significant"] == true, "{figures}");
    let said = run(&["compare", text(&files[0]), text(&files[1])]);
    let first = said.out.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("after.csv is 2.") && first.contains(" times as slow at p9"),
        "{first}"
    );
    assert!(
        said.out.lines().count() <= 25 && !said.out.contains("p99.99"),
        "{}",
        said.out
    );
    let said = run(&["compare", "--details", text(&files[0]), text(&files[1])]);
    assert!(said.out.contains("stddev"), "{}", said.out);
    assert_eq!(figures, compared(&folders));
}

#[test]
fn the_page_of_a_file_has_as_much_as_that_of_a_folder() {
    let folder = folder();
    let file = folder.path().join("night.csv");
    samples(&file, 1);
    let out = folder.path().join("night.run");
    assert_eq!(run(&["import", text(&file), "--out", text(&out)]).code, 0);
    let page = |of: &Path| {
        let page = folder.path().join("page.html");
        let said = run(&["report", text(of), "--modes", "--out", text(&page)]);
        assert_eq!(said.code, 0, "{}", said.err);
        // The page names the file.
        let page = std::fs::read_to_string(page).unwrap();
        page.replace("night.csv", "night.run")
    };
    let (of_file, of_folder) = (page(&file), page(&out));
    let sections = |page: &str| -> Vec<String> {
        let ids = page.split("<section id=\"").skip(1);
        ids.filter_map(|it| it.split('"').next().map(str::to_owned))
            .collect()
    };
    assert!(sections(&of_folder).contains(&"modes".to_owned()));
    assert_eq!(sections(&of_file), sections(&of_folder));
    assert_eq!(
        of_file.len().abs_diff(of_folder.len()) * 100 / of_folder.len(),
        0
    );
}

#[test]
fn a_deadline_stated_afterwards_decides() {
    let folder = folder();
    let file = folder.path().join("late.csv");
    samples(&file, 1);
    let out = folder.path().join("run");
    let file = text(&file);
    let page = folder.path().join("page.html");
    let judge = |words: &[&str], code: i32| {
        let said = run(words);
        assert_eq!(said.code, code, "{words:?}: {}", said.err);
    };
    judge(&["show", file], 0);
    judge(&["show", file, "--deadline", "90us"], 1);
    judge(&["show", file, "--deadline", "1ms"], 0);
    judge(
        &[
            "report",
            file,
            "--deadline",
            "90us",
            "--output",
            text(&page),
        ],
        1,
    );
    let misses = ["compare", file, "--fail-if", "misses > 0"];
    judge(&misses, 2);
    judge(&[&misses[..], &["--deadline", "90us"]].concat(), 1);
    judge(
        &["import", file, "--deadline", "90us", "--out", text(&out)],
        1,
    );
    // The imported run keeps the deadline: 1200 of 6000 samples are expected above 90 us.
    let misses = run_json(&out)["series"][0]["counts"]["misses"]
        .as_u64()
        .unwrap();
    assert!((1_000..1_400).contains(&misses), "{misses}");
    judge(&["show", text(&out)], 1);
}

#[cfg(unix)]
#[test]
fn a_pipe_of_no_stated_format_is_refused() {
    let folder = folder();
    let pipe = folder.path().join("values.csv");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|it| it.success()));
    let said = run(&["import", text(&pipe)]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err
            .contains("values.csv is not a regular file; save it to a file first"),
        "{}",
        said.err
    );
}

#[cfg(unix)]
#[test]
fn what_takes_more_than_two_seconds_says_that_it_goes_on() {
    let folder = folder();
    let (pipe, out) = (folder.path().join("slow.csv"), folder.path().join("out"));
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|it| it.success()));
    let writer = pipe.clone();
    let writing = std::thread::spawn(move || {
        let mut pipe = File::options().write(true).open(writer)?;
        std::thread::sleep(Duration::from_secs(3));
        pipe.write_all(b"time_ns,value_ns\n0,100\n1000,200\n")
    });
    let file = text(&pipe);
    let said = run(&["import", file, "--format", "csv", "--out", text(&out)]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("importing ..."), "{}", said.err);
    assert!(writing.join().is_ok_and(|it| it.is_ok()));
}
