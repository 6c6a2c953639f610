//! Logs of `ros_realtime_tests` by BMW Car IT: the ROS 1 timer and communication tests.
//!
//! Sources: `PlotDataFileCreator.cpp`, `CyclicLatencyMeasurer.cpp`,
//! `OneShotLatencyMeasurer.cpp` and `Subscriber.cpp` of bmwcarit/ros_realtime_tests (revision
//! b53739c). A log is a gnuplot script: `set` commands, `# ` comments with the summary, then a row a
//! microsecond from 0 to the maximum, `000012 \t000345`, and `end`. Values below zero are rows
//! `-000005 \t000001`: in front in the logs of the cyclic test, commented out (`#-000005 ...`) at the
//! end in all others, where gnuplot would not plot them. Values are whole microseconds, the rest cut
//! off towards zero. In the communication tests -1 stands for a message that never came.

use std::io::BufRead;

use kadenz_record::run::model::Kind;

use super::bins::{Bins, scaled, warn_of_bins};
use super::source::{Lines, number_after, series};
use super::{Importer, LOST, ReadError, Sink};

/// Reads logs of `ros_realtime_tests`.
pub(super) struct Bmwcarit;

impl Importer for Bmwcarit {
    fn recognises(&self, head: &str) -> bool {
        head.contains("# Plot data for gnuplot") || head.contains("t 'Latency_Occurrence' w steps")
    }

    fn read(&self, source: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let mut log = Log::default();
        let mut lines = Lines::new(source);
        while let Some((number, line)) = lines.next()? {
            log.take(line.trim())
                .map_err(|cause| ReadError::line(number, cause))?;
        }
        log.store(sink)
    }
}

/// Minimum, average and maximum in microseconds, which distinguish the lines of a summary.
type MinAvgMax = [i64; 3];

#[derive(Default)]
struct Log {
    title: String,
    /// Extremes of the plotted values, from the axis.
    axis: Option<MinAvgMax>,
    test: RosTest,
    /// Number of values according to the summary.
    announced: Option<u64>,
    bins: Option<Bins>,
    /// Messages that never arrived.
    missing: u64,
    ended: bool,
}

/// The test of a log.
#[derive(Default)]
enum RosTest {
    #[default]
    Unknown,
    Cyclic {
        frequency_hz: u64,
    },
    OneShot {
        timeout_us: u64,
        /// `Measured`, `Reported`, `Difference`: the plotted one.
        plotted: Option<&'static str>,
    },
    Communication,
}

impl Log {
    fn take(&mut self, line: &str) -> Result<(), String> {
        let row = line
            .strip_prefix('#')
            .filter(|rest| rest.starts_with('-'))
            .unwrap_or(line);
        let digits = row.strip_prefix('-').unwrap_or(row);
        if digits.starts_with(|c: char| c.is_ascii_digit()) {
            self.row(row)?;
        } else if let Some(comment) = line.strip_prefix("# ") {
            self.comment(comment);
        } else if let Some(title) = line.strip_prefix("set title ") {
            title.trim_matches('"').clone_into(&mut self.title);
        } else if line.starts_with("set xlabel ") {
            self.axis = extremes(line);
        } else if line == "end" {
            self.ended = true;
        }
        Ok(())
    }

    fn row(&mut self, row: &str) -> Result<(), String> {
        let mut words = row.split_whitespace();
        let (Some(value), Some(count), None) = (words.next(), words.next(), words.next()) else {
            return Err("a row is a value in microseconds and a count".to_owned());
        };
        let value: i64 = value
            .parse()
            .map_err(|_| format!("{value:?} is not a whole number"))?;
        let count: u64 = count
            .parse()
            .map_err(|_| format!("{count:?} is not a count"))?;
        if value == -1 && matches!(self.test, RosTest::Communication) {
            self.missing = self.missing.saturating_add(count);
        } else {
            self.bins
                .get_or_insert_with(Bins::new)
                .add(scaled(value, 1000)?, count);
        }
        Ok(())
    }

    fn comment(&mut self, comment: &str) {
        let after = |mark: &str| number_after(comment, mark);
        if let Some(count) = after("with a total of ") {
            self.announced = Some(count);
            self.test = RosTest::Cyclic {
                frequency_hz: after("a frequency of ").unwrap_or(0),
            };
        } else if let Some(count) = after("with a loop length of ") {
            self.announced = Some(count);
            let timeout_us = after("a timeout of ").unwrap_or(0);
            self.test = RosTest::OneShot {
                timeout_us,
                plotted: None,
            };
        } else if let Some(count) = after("Amount messages: ") {
            self.announced = Some(count);
            self.test = RosTest::Communication;
        } else if let RosTest::OneShot {
            plotted: plotted @ None,
            ..
        } = &mut self.test
        {
            let names = ["Measured", "Reported", "Difference"];
            let name = names.into_iter().find(|name| comment.starts_with(name));
            *plotted = name.filter(|_| extremes(comment) == self.axis);
        }
    }

    fn store(self, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let Some(bins) = self.bins.filter(|bins| bins.count() > 0) else {
            return Err(ReadError::Lacks {
                what: "row with a count",
                remedy: "it must be a .log of the tests, not the picture that gnuplot makes of it",
            });
        };
        warn_of_bins(sink, "microsecond", "its end towards zero");
        sink.parameter("source_program", "ros_realtime_tests");
        sink.parameter("source_title", self.title);
        let (name, description, kind) = match &self.test {
            RosTest::Cyclic { .. } => (
                "jitter",
                "interval between callbacks less the expected one",
                Kind::Jitter,
            ),
            RosTest::OneShot {
                plotted: Some("Reported"),
                ..
            } => ("reported", "lateness as ROS reported it", Kind::Lateness),
            RosTest::OneShot {
                plotted: Some("Difference"),
                ..
            } => (
                "difference",
                "reported less measured lateness",
                Kind::Lateness,
            ),
            RosTest::OneShot { .. } => (
                "measured",
                "lateness of the timer's callback",
                Kind::Lateness,
            ),
            RosTest::Communication => ("latency", "from publisher to subscriber", Kind::Latency),
            RosTest::Unknown => ("latency", "latency", Kind::Latency),
        };
        let mut series = series(name, description, kind);
        match self.test {
            RosTest::Cyclic { frequency_hz } if frequency_hz > 0 => {
                series.expected_interval_ns = Some(1_000_000_000 / frequency_hz);
            }
            RosTest::OneShot { timeout_us, .. } => sink.parameter("timeout_us", timeout_us),
            _ => {}
        }
        let counted = bins.count().saturating_add(self.missing);
        if self.missing > 0 {
            let text = format!(
                "{} of {counted} messages never came and have no value",
                self.missing
            );
            sink.warn(LOST, text, None);
        }
        if !self.ended || self.announced.is_some_and(|announced| announced != counted) {
            let announced = self
                .announced
                .map_or("no number of".to_owned(), |n| n.to_string());
            let text = format!(
                "the summary speaks of {announced} values, the rows hold {counted}: the log was cut \
                 off or changed"
            );
            sink.warn("truncated", text, None);
        }
        bins.store(sink, series, 0.0, None)
    }
}

/// The values after `MIN:`, `AVG:` and `MAX:`.
fn extremes(text: &str) -> Option<MinAvgMax> {
    let mut found = [0; 3];
    for (mark, value) in ["MIN:", "AVG:", "MAX:"].into_iter().zip(&mut found) {
        let (_, rest) = text.split_once(mark)?;
        let (number, _) = rest.trim_start().split_once("us")?;
        *value = number.parse().ok()?;
    }
    Some(found)
}
