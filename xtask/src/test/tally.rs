//! Counts the results of test runners, and keeps which tests were skipped and why.

use std::fmt::Write;
use std::time::Duration;

use super::Outcome;

/// Totals of one `cargo xtask test`.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    skip_nothing: bool,
    not_to_be_had: Vec<String>,
    passed: u64,
    failed: u64,
    ignored: u64,
    skips: Vec<String>,
    failures: Vec<String>,
    failing: Failing,
    steps: Vec<(String, String, Duration)>,
}

impl Tally {
    /// A tally without a result. `not_to_be_had` names steps that may be skipped even when nothing may.
    pub(crate) fn new(skip_nothing: bool, not_to_be_had: Vec<String>) -> Self {
        Self {
            skip_nothing,
            not_to_be_had,
            ..Self::default()
        }
    }

    /// Whether a skip is a failure.
    pub(crate) fn skip_nothing(&self) -> bool {
        self.skip_nothing
    }

    /// Takes in one line of a test runner: `test result: ...`, `# pass 3`, `skipped: ...`.
    pub(crate) fn read(&mut self, line: &str) {
        let line = line.trim();
        self.failing.read(line);
        if let Some(counts) = line.strip_prefix("test result:") {
            self.passed += number_before(counts, " passed");
            self.failed += number_before(counts, " failed");
            self.ignored += number_before(counts, " ignored");
        } else if let Some(skip) = line.strip_prefix("skipped:") {
            self.skip(skip.trim().to_owned());
        } else if let Some(count) = node_count(line, "pass") {
            self.passed += count;
        } else if let Some(count) = node_count(line, "fail") {
            self.failed += count;
        } else if let Some(count) = node_count(line, "skipped") {
            self.ignored += count;
        }
    }

    fn skip(&mut self, skip: String) {
        if !self.skips.contains(&skip) {
            self.skips.push(skip);
        }
    }

    /// Counts checks that are not a test runner's: a fuzz target that ran, a target that type-checks.
    pub(crate) fn count(&mut self, success: bool) {
        self.passed += u64::from(success);
        self.failed += u64::from(!success);
    }

    /// Records a step's outcome.
    pub(crate) fn close(&mut self, step: &str, outcome: Outcome, took: Duration) {
        let word = match outcome {
            Outcome::Passed => "passed",
            Outcome::Failed(why) => {
                self.failures.push(format!("{step}: {why}"));
                "FAILED"
            }
            Outcome::Skipped { missing, remedy } => {
                self.skip(format!("{step}: {missing}: {remedy}"));
                "skipped"
            }
        };
        self.steps.push((step.to_owned(), word.to_owned(), took));
    }

    /// Skips that count as failures.
    fn forbidden_skips(&self) -> impl Iterator<Item = &String> {
        let is_forbidden = move |skip: &&String| {
            let step = skip.split(':').next().unwrap_or_default();
            self.skip_nothing && self.not_to_be_had.iter().all(|it| it != step)
        };
        self.skips.iter().filter(is_forbidden)
    }

    /// Whether nothing failed, and nothing was skipped that must not be.
    pub(crate) fn passed(&self) -> bool {
        self.failures.is_empty() && self.failed == 0 && self.forbidden_skips().next().is_none()
    }

    /// The summary: steps with their times, skips, failures, and the totals as the last line.
    pub(crate) fn report(&self) -> String {
        let mut text = String::from("\n== summary\n");
        for (step, word, took) in &self.steps {
            let _ = writeln!(text, "{step:<10} {word:<8} {:>6.1} s", took.as_secs_f64());
        }
        self.report_skips(&mut text);
        self.failing.report(&mut text);
        for failure in &self.failures {
            let _ = writeln!(text, "FAILED {failure}");
        }
        if self.ignored > 0 {
            let _ = writeln!(
                text,
                "{} tests are marked as not for every run",
                self.ignored
            );
        }
        let failed = self.failed.max(self.failures.len() as u64);
        let failed = failed + self.forbidden_skips().count() as u64;
        let skipped = self.skips.len() - self.forbidden_skips().count();
        let _ = writeln!(
            text,
            "{} passed, {failed} failed, {skipped} skipped",
            self.passed
        );
        text
    }

    fn report_skips(&self, text: &mut String) {
        if self.skips.is_empty() {
            text.push_str("nothing was skipped\n");
            return;
        }
        text.push_str("skipped, each with what is missing and how to get it:\n");
        let forbidden: Vec<&String> = self.forbidden_skips().collect();
        for skip in &self.skips {
            let mark = if forbidden.contains(&skip) {
                " [a failure: nothing may be skipped here]"
            } else if self.skip_nothing {
                " [cannot be had on this machine]"
            } else {
                ""
            };
            let _ = writeln!(text, "  {skip}{mark}");
        }
    }
}

/// The number that stands before a word: 12 in `ok. 12 passed; 0 failed`.
fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split_once(word).map_or("", |(before, _)| before);
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|it| it.parse().ok()).unwrap_or(0)
}

/// Node's closing lines are `# pass 3` or, for a terminal, `ℹ pass 3`.
fn node_count(line: &str, word: &str) -> Option<u64> {
    let rest = line
        .strip_prefix("# ")
        .or_else(|| line.strip_prefix("ℹ "))?;
    rest.strip_prefix(word)?.strip_prefix(' ')?.parse().ok()
}

// Keeps which tests failed and the first lines of their output, for a reader who sees only the end of a long log.

/// Lines of a failed test's own output that are kept.
const KEPT_LINES: usize = 6;

/// The failed tests, in the order of the output.
#[derive(Debug, Default)]
pub(crate) struct Failing {
    tests: Vec<Failed>,
    /// The failed test whose output is being read.
    speaks: Option<usize>,
}

#[derive(Debug)]
struct Failed {
    name: String,
    said: Vec<String>,
}

impl Failing {
    /// Takes in one line of a test runner.
    pub(crate) fn read(&mut self, line: &str) {
        let line = line.trim();
        if let Some(name) = failed_name(line) {
            self.tests.push(Failed {
                name: name.to_owned(),
                said: Vec::new(),
            });
        } else if let Some(name) = heading(line) {
            let of_it = |it: &Failed| it.name == name && it.said.is_empty();
            self.speaks = self.tests.iter().rposition(of_it);
        } else if line.starts_with("test result:") || line == "failures:" || line == "successes:" {
            self.speaks = None;
        } else if let Some(test) = self.speaks.and_then(|at| self.tests.get_mut(at)) {
            test.hear(line);
        }
    }

    /// A paragraph for every failed test.
    pub(crate) fn report(&self, text: &mut String) {
        for test in &self.tests {
            let _ = writeln!(text, "failed test {}", test.name);
            for line in &test.said {
                let _ = writeln!(text, "    {line}");
            }
        }
    }
}

impl Failed {
    /// Takes a line of output from the panic on; what the test printed before it is not kept.
    fn hear(&mut self, line: &str) {
        let wanted = !self.said.is_empty() || line.contains("panicked at");
        if wanted && !line.is_empty() && self.said.len() < KEPT_LINES {
            self.said.push(line.to_owned());
        }
    }
}

/// `test a::b ... FAILED` of cargo, `not ok 3 - the page opens` and `✖ the page opens` of node.
fn failed_name(line: &str) -> Option<&str> {
    if let Some(test) = line.strip_prefix("test ") {
        return test.strip_suffix(" ... FAILED");
    }
    let node = line.strip_prefix("not ok ");
    node.and_then(|rest| rest.split_once(" - "))
        .map(|(_, name)| name)
        .or_else(|| line.strip_prefix("✖ ").filter(|it| *it != "failing tests:"))
}

/// `---- a::b stdout ----`.
fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(skip_nothing: bool, lines: &[&str]) -> Tally {
        let mut tally = Tally::new(skip_nothing, vec!["miri".to_owned()]);
        lines.iter().for_each(|line| tally.read(line));
        tally
    }

    #[test]
    fn the_counts_of_cargo_and_node_add_up() {
        let tally = tally(
            false,
            &[
                "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out",
                "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured",
                "# pass 4",
                "ℹ fail 1",
                "# duration_ms 12",
            ],
        );
        assert_eq!((tally.passed, tally.failed, tally.ignored), (19, 3, 1));
        assert!(!tally.passed());
        assert!(tally.report().ends_with("19 passed, 3 failed, 0 skipped\n"));
    }

    #[test]
    fn a_skip_is_named_once_and_fails_only_where_nothing_may_be_skipped() {
        let lines = ["skipped: java_reads_us: no java: apt install default-jre"; 2];
        let lenient = tally(false, &lines);
        assert!(lenient.passed());
        assert_eq!(lenient.report().matches("java_reads_us").count(), 1);
        assert!(
            lenient
                .report()
                .ends_with("0 passed, 0 failed, 1 skipped\n")
        );
        let strict = tally(true, &lines);
        assert!(!strict.passed());
        assert!(strict.report().ends_with("0 passed, 1 failed, 0 skipped\n"));
    }

    #[test]
    fn what_cannot_be_had_may_be_skipped_even_then_but_nothing_else() {
        let mut tally = tally(true, &["test result: ok. 1 passed; 0 failed"]);
        tally.close(
            "miri",
            Outcome::skipped("no Miri", "rustup"),
            Duration::ZERO,
        );
        assert!(tally.passed());
        assert!(tally.report().contains("cannot be had on this machine"));
        tally.close("loom", Outcome::skipped("no loom", "none"), Duration::ZERO);
        assert!(!tally.passed());
    }

    #[test]
    fn a_failed_step_fails_the_whole_even_if_no_test_was_counted() {
        let mut tally = tally(false, &[]);
        tally.close(
            "workspace",
            Outcome::Failed("does not build".to_owned()),
            Duration::ZERO,
        );
        assert!(!tally.passed());
        assert!(tally.report().contains("FAILED workspace: does not build"));
        assert!(tally.report().ends_with("0 passed, 1 failed, 0 skipped\n"));
    }
}

#[cfg(test)]
mod failing_tests {
    use super::*;

    fn report(lines: &[&str]) -> String {
        let mut failing = Failing::default();
        lines.iter().for_each(|line| failing.read(line));
        let mut text = String::new();
        failing.report(&mut text);
        text
    }

    #[test]
    fn a_failed_test_is_named_with_its_panic_and_the_others_are_not() {
        let text = report(&[
            "test a::good ... ok",
            "test a::bad ... FAILED",
            "---- a::good stdout ----",
            "thread 'a::good' panicked at a harmless place",
            "failures:",
            "---- a::bad stdout ----",
            "chatter",
            "thread 'a::bad' panicked at src/a.rs:3:5:",
            "assertion failed: 1 == 2",
            "",
            "failures:",
            "a::bad",
            "test result: FAILED. 1 passed; 1 failed",
        ]);
        assert_eq!(
            text,
            "failed test a::bad\n    thread 'a::bad' panicked at src/a.rs:3:5:\n    assertion failed: 1 == 2\n"
        );
    }

    #[test]
    fn nodes_ways_of_saying_it_are_understood() {
        let text = report(&[
            "not ok 3 - the page opens",
            "✖ the table sorts",
            "ok 1 - fine",
        ]);
        assert_eq!(
            text,
            "failed test the page opens\nfailed test the table sorts\n"
        );
    }
}
