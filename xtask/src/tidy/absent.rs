//! What the code of each crate must not use: a crate is understood by what it cannot do.

use super::Finding;
use crate::repository::SourceFile;
use crate::scan;

/// Words that the code below a folder must not have, and why.
const ABSENT: &[(&str, &[&str], &str)] = &[
    (
        "crates/kadenz-record/src/",
        &["std::net", "std::process"],
        "kadenz-record writes files and nothing else",
    ),
    (
        "crates/kadenz-report/src/",
        &["std::net", "std::process", "kadenz_rt"],
        "a report reads the run's files and nothing else",
    ),
    (
        "crates/kadenz-udp/src/",
        &["std", "alloc"],
        "firmware runs this: no allocation, no socket, no clock",
    ),
    (
        "crates/kadenz-cli/src/",
        &[
            "io::stdout",
            "io::stderr",
            "println!",
            "print!",
            "eprintln!",
            "eprint!",
            "dbg!",
        ],
        "what came from outside steers no terminal: write by `output`, which shows such characters",
    ),
    (
        "crates/",
        &["mpsc::channel", "unbounded_channel", "lazy_static"],
        "no queue without a bound, no hidden global state",
    ),
    (
        "crates/",
        &[
            "Utc::now",
            "Local::now",
            "Zoned::now",
            "SystemTime::now",
            "Timestamp::now",
        ],
        "wall time is taken only where a run is stamped",
    ),
];

/// Files that may use such a word; each states the reason.
const MAY: &[(&str, &str)] = &[
    ("io::stdout", "crates/kadenz-cli/src/output/"),
    ("io::stderr", "crates/kadenz-cli/src/output/"),
    ("Timestamp::now", "crates/kadenz-record/src/"),
    ("SystemTime::now", "crates/kadenz-rt/src/clock/"),
    ("SystemTime::now", "crates/kadenz-record/src/"),
    // The name of a new run folder holds its time.
    ("Zoned::now", "crates/kadenz-cli/src/"),
];

/// Rule `absent`.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is("rs")) {
        for (folder, words, reason) in ABSENT {
            if file.path.starts_with(folder) {
                let shipped = scan::shipped(&file.path, file.code());
                findings.extend(find(file, shipped, words, reason));
            }
        }
    }
    findings
}

fn find<'a>(
    file: &'a SourceFile,
    code: &'a str,
    words: &'a [&str],
    reason: &'a str,
) -> impl Iterator<Item = Finding> + 'a {
    let may = |word: &str| {
        MAY.iter()
            .any(|(it, path)| *it == word && file.path.starts_with(path))
    };
    code.lines().enumerate().flat_map(move |(at, line)| {
        let found = words
            .iter()
            .filter(move |it| scan::has_word(line, it) && !may(it));
        found.map(move |word| {
            let place = format!("{}:{}", file.path, at + 1);
            Finding::error(place, format!("{word} must not stand here: {reason}"))
        })
    })
}

/// A wait this long gives up on a hang; it is no limit for slowness.
const GIVING_UP_S: u64 = 30;

/// Rule `timed-asserts`: a busy machine is no defect of the code under test.
pub(crate) fn timed_asserts(files: &[SourceFile]) -> Vec<Finding> {
    let own = |file: &&SourceFile| file.is("rs") && file.path.starts_with("crates/");
    let mut findings = Vec::new();
    for file in files.iter().filter(own) {
        for (at, line) in file.code().lines().enumerate() {
            if limits_time(line) {
                let place = format!("{}:{}", file.path, at + 1);
                let text = "a test must not assert a maximum run time; benchmarks do that";
                findings.push(Finding::error(place, text));
            }
        }
    }
    findings
}

fn limits_time(line: &str) -> bool {
    let Some((before, after)) = line.split_once("elapsed()") else {
        return false;
    };
    let seconds = after
        .split("from_secs(")
        .nth(1)
        .and_then(|it| it.split(')').next());
    let gives_up = seconds
        .and_then(|it| it.parse().ok())
        .is_some_and(|it: u64| it >= GIVING_UP_S);
    before.contains("assert!(") && after.trim_start().starts_with('<') && !gives_up
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::{file, places};

    #[test]
    fn a_report_that_measures_is_found() {
        let files = [
            file(
                "crates/kadenz-report/src/lib.rs",
                "//! kadenz_rt is not ours.\nuse kadenz_rt::clock;\n",
            ),
            file("crates/kadenz-lab/src/lib.rs", "use kadenz_rt::clock;\n"),
            file(
                "crates/kadenz-report/tests/a.rs",
                "use std::process::Command;\n",
            ),
        ];
        assert_eq!(
            places(&check(&files)),
            ["crates/kadenz-report/src/lib.rs:2"]
        );
    }

    #[test]
    fn what_writes_past_the_filter_is_found() {
        let files = [
            file(
                "crates/kadenz-cli/src/commands/a.rs",
                "println!(\"{name}\");\nwriteln!(std::io::stdout(), \"{name}\")?;\n",
            ),
            file(
                "crates/kadenz-cli/src/output/mod.rs",
                "let mut out = io::stdout().lock();\n",
            ),
            file(
                "crates/kadenz-cli/src/commands/b.rs",
                "output::say(&name);\ncommand.stdout(Stdio::piped());\n",
            ),
        ];
        let expected = [
            "crates/kadenz-cli/src/commands/a.rs:1",
            "crates/kadenz-cli/src/commands/a.rs:2",
        ];
        assert_eq!(places(&check(&files)), expected);
    }

    #[test]
    fn what_firmware_has_not_is_found() {
        let files = [
            file("crates/kadenz-udp/src/a.rs", "use std::time::Instant;\n"),
            file("crates/kadenz-udp/src/b.rs", "extern crate alloc;\n"),
            file(
                "crates/kadenz-udp/src/c.rs",
                "//! Needs no std.\nuse core::net::IpAddr;\n",
            ),
            file("crates/kadenz-udp/tests/d.rs", "use std::net::UdpSocket;\n"),
        ];
        let expected = [
            "crates/kadenz-udp/src/a.rs:1",
            "crates/kadenz-udp/src/b.rs:1",
        ];
        assert_eq!(places(&check(&files)), expected);
    }

    #[test]
    fn endless_queues_and_wall_clocks_are_found_but_the_stamp_of_a_run_may() {
        let files = [
            file(
                "crates/kadenz-lab/src/a.rs",
                "let (a, b) = mpsc::channel();\n",
            ),
            file(
                "crates/kadenz-lab/src/b.rs",
                "let (a, b) = mpsc::sync_channel(1);\n",
            ),
            file(
                "crates/kadenz-lab/src/c.rs",
                "let now = jiff::Timestamp::now();\n",
            ),
            file(
                "crates/kadenz-record/src/run/folder.rs",
                "let now = Timestamp::now();\n",
            ),
        ];
        let expected = [
            "crates/kadenz-lab/src/a.rs:1",
            "crates/kadenz-lab/src/c.rs:1",
        ];
        assert_eq!(places(&check(&files)), expected);
    }

    #[test]
    fn a_test_with_a_time_limit_is_found_and_a_lower_bound_is_not() {
        let text = "assert!(start.elapsed() < LIMIT);\nassert!(start.elapsed() >= MIN);\n\
                    assert!(start.elapsed() < Duration::from_secs(60), \"hangs\");\n";
        let files = [file("crates/kadenz-rt/tests/sleep.rs", text)];
        assert_eq!(
            places(&timed_asserts(&files)),
            ["crates/kadenz-rt/tests/sleep.rs:1"]
        );
    }
}
