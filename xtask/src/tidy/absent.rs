//! What the code of each crate must not use, and where unsafe code may be: a crate is understood by what it cannot do.

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
        let code = scan::shipped(&file.path, file.code());
        let may = |word: &str| {
            let mut all = MAY.iter().filter(|(it, _)| *it == word);
            all.any(|(_, path)| file.path.starts_with(path))
        };
        for (folder, words, reason) in ABSENT {
            if !file.path.starts_with(folder) {
                continue;
            }
            for (at, line) in code.lines().enumerate() {
                let is_found = |word: &&&str| scan::has_word(line, word) && !may(word);
                findings.extend(words.iter().filter(is_found).map(|word| {
                    let text = format!("{word} must not stand here: {reason}");
                    Finding::in_line(&file.path, at, text)
                }));
            }
        }
    }
    findings
}

/// A wait this long gives up on a hang; it is not a limit for slowness.
const GIVING_UP_S: u64 = 30;

/// Rule `timed-asserts`: a busy machine is not a defect of the code under test.
pub(crate) fn timed_asserts(files: &[SourceFile]) -> Vec<Finding> {
    let own = |file: &&SourceFile| file.is("rs") && file.path.starts_with("crates/");
    let mut findings = Vec::new();
    for file in files.iter().filter(own) {
        for (at, line) in file.code().lines().enumerate() {
            if limits_time(line) {
                let text = "a test must not assert a maximum run time; benchmarks do that";
                findings.push(Finding::in_line(&file.path, at, text));
            }
        }
    }
    findings
}

fn limits_time(line: &str) -> bool {
    let Some((before, after)) = line.split_once("elapsed()") else {
        return false;
    };
    let seconds = after.split("from_secs(").nth(1);
    let seconds = seconds.and_then(|it| it.split(')').next()?.parse::<u64>().ok());
    let gives_up = seconds.is_some_and(|it| it >= GIVING_UP_S);
    before.contains("assert!(") && after.trim_start().starts_with('<') && !gives_up
}

/// The crates that may have unsafe code: for the operating system's calls, the pointers of C, and the handles of Java.
const UNSAFE_CRATES: [&str; 3] = ["crates/kadenz-rt/", "bindings/c/", "bindings/java/"];

/// How many lines above an `unsafe` its reason may begin.
const REASON_WITHIN: usize = 12;

/// Rule `unsafe`.
pub(crate) fn unsafe_code(files: &[SourceFile]) -> Vec<Finding> {
    let rust = files.iter().filter(|file| file.is("rs"));
    rust.flat_map(unsafe_in).collect()
}

fn unsafe_in(file: &SourceFile) -> Vec<Finding> {
    let source: Vec<&str> = file.text.lines().collect();
    let mut findings = Vec::new();
    for (at, line) in file.code().lines().enumerate() {
        if !scan::has_word(line, "unsafe") || line.contains("unsafe(") {
            continue;
        }
        if !UNSAFE_CRATES.iter().any(|it| file.path.starts_with(it)) {
            let crates = UNSAFE_CRATES.map(|it| it.trim_end_matches('/')).join(", ");
            let text = format!("unsafe code belongs into one of {crates}");
            findings.push(Finding::in_line(&file.path, at, text));
        } else if is_block(line) && !has_reason(&source, at) {
            let text = "an unsafe block without a SAFETY comment above it";
            findings.push(Finding::in_line(&file.path, at, text));
        }
    }
    findings
}

/// Blocks and implementations give a reason; `unsafe fn` states its contract under `# Safety`.
fn is_block(line: &str) -> bool {
    let after = line.split("unsafe").nth(1).unwrap_or_default().trim_start();
    after.starts_with('{') || after.starts_with("impl")
}

fn has_reason(source: &[&str], at: usize) -> bool {
    let from = at.saturating_sub(REASON_WITHIN);
    source[from..=at]
        .iter()
        .any(|line| line.contains("SAFETY:"))
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

    #[test]
    fn unsafe_outside_its_crate_is_found_and_the_word_in_a_text_is_not() {
        let files = [
            file(
                "crates/kadenz-lab/src/lib.rs",
                "// unsafe\nlet a = \"unsafe\";\nunsafe { f() }\n",
            ),
            file("crates/kadenz-lab/Cargo.toml", "unsafe_code = \"deny\""),
        ];
        assert_eq!(
            places(&unsafe_code(&files)),
            ["crates/kadenz-lab/src/lib.rs:3"]
        );
    }

    #[test]
    fn a_block_without_a_reason_is_found() {
        let bare = "fn f() {\n    unsafe { g() }\n}\n";
        let reasoned = "fn f() {\n    // SAFETY: g has no conditions.\n    unsafe { g() }\n}\n";
        let files = [
            file("crates/kadenz-rt/src/a.rs", bare),
            file("crates/kadenz-rt/src/b.rs", reasoned),
            file(
                "crates/kadenz-rt/src/c.rs",
                "/// # Safety\npub unsafe fn f() {}\n",
            ),
            file("crates/kadenz-rt/src/d.rs", "unsafe impl Send for X {}\n"),
        ];
        let expected = ["crates/kadenz-rt/src/a.rs:2", "crates/kadenz-rt/src/d.rs:1"];
        assert_eq!(places(&unsafe_code(&files)), expected);
    }
}
