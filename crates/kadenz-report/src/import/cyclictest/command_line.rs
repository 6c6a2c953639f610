//! What a command line of cyclictest says about its output.

use std::iter::Peekable;
use std::str::SplitWhitespace;

/// What a command line of cyclictest says about its output. What it does not say is absent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// `-h`, `-H`: the histogram's limit, in microseconds (nanoseconds with `-N`).
    pub(super) limit: Option<i64>,
    /// `-i`: interval in microseconds.
    pub(super) interval_us: Option<u64>,
}

/// Short options that stand alone.
const FLAGS: &str = "mMNqrRsSuvxnUX";
/// Short options whose value may be left out; it is attached then.
const OPTIONAL: &str = "at";

impl CommandLine {
    pub(super) fn parse(line: &str) -> Self {
        let mut found = Self::default();
        let mut words = line.split_whitespace().peekable();
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--") {
                found.long(long, &mut words);
            } else if let Some(short) = word.strip_prefix('-') {
                found.short(short, &mut words);
            }
        }
        found
    }

    fn long(&mut self, option: &str, words: &mut Peekable<SplitWhitespace<'_>>) {
        let (name, attached) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if matches!(name, "histogram" | "histofall" | "interval") {
            let value = attached.or_else(|| words.peek().copied()).unwrap_or("");
            self.set(if name == "interval" { 'i' } else { 'h' }, value);
        }
    }

    fn short(&mut self, options: &str, words: &mut Peekable<SplitWhitespace<'_>>) {
        for (at, option) in options.char_indices() {
            if FLAGS.contains(option) {
                continue;
            }
            let attached = &options[at + option.len_utf8()..];
            if attached.is_empty() && !OPTIONAL.contains(option) {
                self.set(option, words.next().unwrap_or(""));
            } else {
                self.set(option, attached);
            }
            return;
        }
    }

    fn set(&mut self, option: char, value: &str) {
        match option {
            'h' | 'H' => self.limit = value.parse().ok(),
            'i' => self.interval_us = value.parse().ok(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CommandLine;

    #[test]
    fn limits_and_intervals_are_found() {
        let cases = [
            (
                "cyclictest -q -t2 -i 1000 -l 800 -h 60 --json=ct.json",
                Some(60),
                Some(1000),
            ),
            (
                "cyclictest -l100000 -m -Sp90 -i200 -h400 -q",
                Some(400),
                Some(200),
            ),
            ("cyclictest -qmh 50", Some(50), None),
            (
                "cyclictest --histogram=400 --interval 250 --histfile=-h",
                Some(400),
                Some(250),
            ),
            ("cyclictest --histofall 400", Some(400), None),
            ("cyclictest -t -a -H 30", Some(30), None),
            ("cyclictest -q -D 10m", None, None),
            ("cyclictest -h abc -i", None, None),
            ("", None, None),
        ];
        for (line, limit, interval_us) in cases {
            assert_eq!(
                CommandLine::parse(line),
                CommandLine { limit, interval_us },
                "{line}"
            );
        }
    }
}
