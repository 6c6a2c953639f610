//! Keeps which tests failed and their first words, for a reader who sees only the end of a long log.

use std::fmt::Write;

/// Lines of a failed test's own output that are kept.
const KEPT_LINES: usize = 6;

/// Tests that failed, in the order they were told.
#[derive(Debug, Default)]
pub struct Failing {
    tests: Vec<Failed>,
    /// The test whose output is being read, if it failed.
    speaks: Option<usize>,
}

#[derive(Debug)]
struct Failed {
    name: String,
    said: Vec<String>,
}

impl Failing {
    /// Takes in one line of a test runner.
    pub fn read(&mut self, line: &str) {
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
    pub fn report(&self, text: &mut String) {
        for test in &self.tests {
            let _ = writeln!(text, "failed test {}", test.name);
            for line in &test.said {
                let _ = writeln!(text, "    {line}");
            }
        }
    }
}

impl Failed {
    /// What comes from the panic on; what the test printed before it is not kept.
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
