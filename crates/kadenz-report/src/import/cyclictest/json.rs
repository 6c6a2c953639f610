//! `cyclictest --json`, and the facts about its output in a command line of cyclictest.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::iter::Peekable;
use std::str::SplitWhitespace;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use kadenz_record::run::model::Kind;
use serde::Deserialize;

use super::NO_HISTOGRAM;
use crate::import::bins::{Bins, Overflow, scaled};
use crate::import::source::{series, set_start};
use crate::import::{Importer, ReadError, Sink, source};

/// Reads `cyclictest --json`.
pub(in crate::import) struct Json;

/// The whole of the file; two of the keys hold a colon, as the program writes them.
#[derive(Deserialize)]
struct CyclictestFile {
    #[serde(rename = "cmdline:", alias = "cmdline", default)]
    command: String,
    #[serde(rename = "rt_test_version:", alias = "rt_test_version", default)]
    version: String,
    start_time: Option<String>,
    end_time: Option<String>,
    return_code: Option<i64>,
    sysinfo: Option<CyclictestSysinfo>,
    #[serde(default)]
    resolution_in_ns: u64,
    thread: BTreeMap<String, Thread>,
}

/// The object `sysinfo`.
#[derive(Deserialize)]
struct CyclictestSysinfo {
    #[serde(default)]
    sysname: String,
    release: Option<String>,
    #[serde(default)]
    version: String,
    #[serde(default)]
    realtime: u64,
}

#[derive(Deserialize)]
struct Thread {
    histogram: Option<BTreeMap<String, u64>>,
    cycles: u64,
    max: Option<i64>,
    cpu: Option<i64>,
}

impl Importer for Json {
    fn recognises(&self, head: &str) -> bool {
        source::has_json_keys(head, &["file_version", "rt_test_version:"])
            || source::has_json_keys(head, &["file_version", "rt_test_version", "thread"])
    }

    fn read(&self, source: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let bytes = source::read_json(source, "JSON of cyclictest")?;
        let file: CyclictestFile = match source::parse_json(&bytes) {
            Ok(file) => file,
            // The program does not escape its command line; the first error is the better one.
            Err(error) => source::parse_json(&escape_command(&bytes)).map_err(|_| error)?,
        };
        let command = CommandLine::parse(&file.command);
        // 0 stands for microseconds.
        let width_ns = if file.resolution_in_ns == 0 { 1000 } else { 1 };
        let length_s = describe(sink, &file, &command);
        let mut threads: Vec<_> = file.thread.iter().collect();
        threads.sort_by_key(|(number, _)| (number.len(), *number));
        if threads
            .iter()
            .all(|(_, thread)| thread.histogram.iter().all(BTreeMap::is_empty))
        {
            return Err(NO_HISTOGRAM);
        }
        super::warn(sink, width_ns);
        for (number, thread) in threads {
            store(sink, number, thread, &command, width_ns, length_s)?;
        }
        Ok(())
    }
}

/// Notes the facts about the run; returns how long it lasted, in seconds.
fn describe(sink: &mut dyn Sink, file: &CyclictestFile, command: &CommandLine) -> f64 {
    let time = |text: &Option<String>| -> Option<Timestamp> {
        Some(rfc2822::parse(text.as_ref()?).ok()?.timestamp())
    };
    let (start, end) = (time(&file.start_time), time(&file.end_time));
    let run = sink.run();
    if let Some(start) = start {
        set_start(run, start);
    }
    if let Some(system) = &file.sysinfo {
        run.host.os = system.sysname.to_ascii_lowercase();
        run.host.kernel.clone_from(&system.release);
        run.host.preemption = if system.realtime == 1 {
            Some("PREEMPT_RT".to_owned())
        } else {
            source::preemption(&system.version)
        };
    }
    let program = format!("cyclictest {}", file.version);
    sink.parameter("source_program", program.trim_end());
    sink.parameter("source_command", file.command.as_str());
    if let Some(code) = file.return_code {
        sink.parameter("source_exit_code", code);
    }
    // Whole seconds; for a short measurement the cycles are more exact.
    let cycles = file.thread.values().map(|thread| thread.cycles);
    let cycles = cycles.max().unwrap_or(0) as f64;
    let by_cycles = command.interval_us.map(|us| cycles * us as f64 / 1e6);
    let both = start.zip(end);
    let by_clock = both.map(|(start, end)| end.duration_since(start).as_secs_f64());
    match (by_clock, by_cycles) {
        (Some(seconds), _) if seconds > 5.0 => seconds,
        (_, Some(seconds)) => seconds,
        (Some(seconds), None) => seconds.max(0.0),
        (None, None) => 0.0,
    }
}

fn store(
    sink: &mut dyn Sink,
    number: &str,
    thread: &Thread,
    command: &CommandLine,
    width_ns: i64,
    length_s: f64,
) -> Result<(), ReadError> {
    let wrong =
        |field: &str, cause: String| ReadError::field(format!("thread.{number}.{field}"), cause);
    let scale =
        |field: &str, value: i64| scaled(value, width_ns).map_err(|cause| wrong(field, cause));
    let bins = Bins::of_json(thread.histogram.iter().flatten(), width_ns, wrong)?;
    let count = bins.missing(thread.cycles);
    let count = count.map_err(|cause| wrong("cycles", cause))?;
    let max_ns = thread.max.map(|max| scale("max", max)).transpose()?;
    let limit_ns = match command.limit {
        Some(limit) => scale("histogram", limit.min(super::MAX_BINS))?,
        // They are above every bin that has a value.
        None => bins
            .max_ns()
            .map_or(0, |max_ns| max_ns.saturating_add(width_ns)),
    };
    let overflow = Overflow {
        count,
        limit_ns,
        max_ns,
    };
    let on = thread
        .cpu
        .map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
    let description = format!("lateness of thread {number} of cyclictest{on}");
    let mut series = series(format!("thread{number}"), description, Kind::Lateness);
    series.expected_interval_ns = command.interval_us.map(|us| us.saturating_mul(1000));
    if let (Some(max_ns), Some(highest)) = (max_ns, bins.max_ns())
        && max_ns < highest
    {
        let cause = format!("it is below the highest bin, {highest} ns");
        return Err(wrong("max", cause));
    }
    bins.store(sink, series, length_s, Some(overflow))
}

/// Escapes the command line, which stands on a line of its own.
fn escape_command(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let (open, close) = ("\"cmdline:\": \"", "\",");
    let escaped = text.split_inclusive('\n').map(|line| {
        let parts = line.split_once(open).and_then(|(indent, rest)| {
            let (command, end) = rest.rsplit_once(close)?;
            Some((indent, command, end))
        });
        parts.map_or_else(
            || line.to_owned(),
            |(indent, command, end)| {
                let command = command
                    .replace('\\', "\\\\")
                    .replace('"', "\\\"")
                    .replace('\t', " ");
                format!("{indent}{open}{command}{close}{end}")
            },
        )
    });
    escaped.collect::<String>().into_bytes()
}

/// Facts about the output in a command line of cyclictest. Unstated ones are absent.
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
