//! One line a second at most: events of the segment, or else the state of the loop.

use std::collections::VecDeque;
use std::time::Duration;

use kadenz::ethercat::control::notice::{Event, Incident, Incidents, Notice, Subscription};
use kadenz::ethercat::control::timing::Spread;
use kadenz::ethercat::{Network, NetworkMonitor};
use kadenz::lab::measuring_threads::Watch;
use kadenz::record::run::folder::Progress as RunProgress;
use kadenz::record::run::model::TuningMeasure;
use kadenz::report::numbers;
use kadenz::rt::clock::{self, MonotonicTime};

use crate::options::Progress;
use crate::output;

/// Notices that may wait in the queue.
const NOTICES: usize = 4_096;

/// Reports on standard error how the loop runs.
pub(super) struct LoopProgress {
    network: NetworkMonitor,
    notices: Subscription,
    devices: u16,
    begun: MonotonicTime,
    /// Whether all devices have been in OP yet.
    was_well: bool,
    quiet: bool,
    /// Reports refused tuning.
    progress: Progress,
    shown_s: u64,
    incidents: Incidents,
    lines: Lines,
}

impl LoopProgress {
    pub(super) fn of(network: &Network<'_>, duration: Option<Duration>) -> Self {
        let devices = u16::try_from(network.devices().count()).unwrap_or(u16::MAX);
        let network = network.monitor();
        Self {
            notices: network.notices.subscribe(NOTICES),
            network,
            devices,
            begun: clock::now(),
            was_well: false,
            quiet: output::is_quiet(),
            progress: Progress::new("driving the segment", duration),
            shown_s: 0,
            incidents: Incidents::default(),
            lines: Lines::default(),
        }
    }

    /// Takes in the notices. The start of all devices gets one line; later events get a line for each fault.
    fn hear(&mut self) {
        while let Some(notice) = self.notices.try_next() {
            if output::is_verbose() {
                self.note_in_full(&notice);
            } else if self.was_well || !matches!(notice.event, Event::State { code: 0, .. }) {
                self.incidents.add(notice);
            }
        }
        if !self.was_well && self.network.health.snapshot().is_well(self.devices) {
            self.was_well = true;
            let took = self.seconds(clock::now());
            self.lines
                .add(format!("{took} s: all {} devices are in OP", self.devices));
        }
    }

    fn note_in_full(&self, notice: &Notice) {
        if self.quiet {
            return;
        }
        let at = self.seconds(MonotonicTime::from_ns(notice.at_ns));
        let source = notice.device.as_ref();
        let source = source.map_or_else(String::new, |it| format!("{} ({}): ", it.device, it.name));
        output::note(&format!("{at} s: {source}{}", notice.event));
    }

    fn add(&mut self, incidents: Vec<Incident>) {
        for incident in incidents {
            let at = self.seconds(MonotonicTime::from_ns(incident.at_ns));
            self.lines.add(format!("{at} s: {incident}"));
        }
    }

    /// Prints the next line, if one is due.
    fn note_due_line(&mut self, elapsed_s: u64) {
        let now = clock::now();
        let settled = self.incidents.settled(now);
        self.add(settled);
        let line = match self.lines.due(now, elapsed_s > self.shown_s) {
            Some(StatusLine::Event(event)) => cut_off(&event, output::width_of_notes()),
            Some(StatusLine::State) => {
                self.shown_s = elapsed_s;
                fitting(&self.state(), output::width_of_notes())
            }
            None => return,
        };
        if !self.quiet {
            output::note(&line);
        }
    }

    /// The state of the loop, the most important part first.
    fn state(&self) -> Vec<String> {
        let snapshot = self.network.timing.snapshot();
        let health = self.network.health.snapshot();
        let at = self.shown_s;
        let mut parts = match health.is_well(self.devices) {
            true => {
                let devices = numbers::counted(self.devices.into(), "device");
                vec![format!("{at} s: {devices} in OP")]
            }
            false => vec![
                format!(
                    "{at} s: {} of {} devices answer",
                    health.answered, self.devices
                ),
                "not all in OP".to_owned(),
            ],
        };
        let frames = &snapshot.frames;
        let troubles = [
            (snapshot.overruns, "overrun", "overruns"),
            (frames.lost, "frame lost", "frames lost"),
            (frames.late, "late", "late"),
            (
                frames.working_counter_mismatches,
                "wrong working counter",
                "wrong working counters",
            ),
            (health.link.damaged, "damaged", "damaged"),
            (health.link.foreign, "foreign", "foreign"),
            (health.link.refused, "refused", "refused"),
        ];
        let troubles = troubles.into_iter().filter(|(count, ..)| *count > 0);
        parts.extend(troubles.map(|(count, one, many)| {
            let what = if count == 1 { one } else { many };
            format!("{} {what}", numbers::thousands(count))
        }));
        parts.extend([
            format!("wake-up {}", tail(&snapshot.wake_up)),
            format!("period {}", tail(&snapshot.period)),
            format!("exchange {}", tail(&snapshot.exchange)),
            numbers::counted(snapshot.cycles, "cycle"),
        ]);
        parts
    }

    /// Time since the loop began, in seconds with two decimal digits.
    fn seconds(&self, at: MonotonicTime) -> String {
        format!("{:.2}", at.since(self.begun) as f64 / 1e9)
    }
}

/// `p99.9 1.012 ms, max 1.034 ms`, or the percentiles that the sample supports.
fn tail(spread: &Spread) -> String {
    let shown = |ns: Option<u64>| ns.map(|ns| numbers::value(ns as f64));
    let percentiles = [
        ("p99.9", spread.p999_ns),
        ("p99", spread.p99_ns),
        ("p50", spread.p50_ns),
    ];
    let carried = percentiles
        .into_iter()
        .find_map(|(name, ns)| Some((name, shown(ns)?)));
    match (carried, shown(spread.max_ns)) {
        (Some((name, value)), Some(max)) => format!("{name} {value} max {max}"),
        (None, Some(max)) => format!("max {max}"),
        _ => "-".to_owned(),
    }
}

impl Watch for LoopProgress {
    fn tick(&mut self, progress: &RunProgress) {
        self.hear();
        self.note_due_line(progress.elapsed.as_secs());
    }

    fn tuned(&mut self, series: &[String], measures: &[TuningMeasure]) {
        self.progress.tuned(series, measures);
    }
}

impl Drop for LoopProgress {
    fn drop(&mut self) {
        self.hear();
        let rest = self.incidents.rest();
        self.add(rest);
        if self.quiet {
            return;
        }
        for line in self.lines.rest() {
            output::note(&cut_off(&line, output::width_of_notes()));
        }
    }
}

/// The shortest time between two lines.
const EVERY: Duration = Duration::from_secs(1);
/// The longest time without a line about the loop's state, whatever happens on the segment.
const MAX_SILENCE: Duration = Duration::from_secs(5);
/// Events that wait for a line of their own; further ones are counted.
const MAX: usize = 4;

/// Pending events, and the time of the last line.
#[derive(Debug, Default)]
struct Lines {
    waiting: VecDeque<String>,
    last: Option<MonotonicTime>,
    last_state: Option<MonotonicTime>,
}

/// The next line.
#[derive(Debug, PartialEq, Eq)]
enum StatusLine {
    /// An event in words, or the count of several.
    Event(String),
    /// A line about the loop's state is due.
    State,
}

impl Lines {
    /// Queues an event until a line is due.
    fn add(&mut self, event: String) {
        self.waiting.push_back(event);
    }

    /// Returns the due line, if there is one; the caller states whether a new second of the loop has begun.
    fn due(&mut self, now: MonotonicTime, new_second: bool) -> Option<StatusLine> {
        let since = |last: MonotonicTime| Duration::from_nanos(now.since(last).max(0) as u64);
        if self.last.is_some_and(|it| since(it) < EVERY) {
            return None;
        }
        let is_starved = since(*self.last_state.get_or_insert(now)) >= MAX_SILENCE;
        let line = match self.waiting.is_empty() || (is_starved && new_second) {
            false => self.next_event().map(StatusLine::Event),
            true => new_second.then_some(StatusLine::State),
        };
        if line.is_some() {
            self.last = Some(now);
        }
        if line == Some(StatusLine::State) {
            self.last_state = Some(now);
        }
        line
    }

    /// The pending events, as the last lines.
    fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next_event()).collect()
    }

    fn next_event(&mut self) -> Option<String> {
        if self.waiting.len() <= MAX {
            return self.waiting.pop_front();
        }
        let more = self.waiting.len();
        self.waiting.clear();
        Some(format!("{more} more events; --verbose lists them"))
    }
}

/// Joins as many parts as fit, the first ones first.
fn fitting(parts: &[String], width: usize) -> String {
    let mut line = String::new();
    for part in parts {
        let comma = if line.is_empty() { "" } else { ", " };
        if !line.is_empty() && columns(&line) + comma.len() + columns(part) > width {
            break;
        }
        line.push_str(comma);
        line.push_str(part);
    }
    cut_off(&line, width)
}

/// Cuts off a text that is too long, and marks that with three dots.
pub(super) fn cut_off(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * 1_000_000)
    }

    #[test]
    fn at_most_one_line_a_second_is_due_and_events_come_first() {
        let mut lines = Lines::default();
        lines.add("one".to_owned());
        lines.add("two".to_owned());
        let event = |it: &str| Some(StatusLine::Event(it.to_owned()));
        assert_eq!(lines.due(at(1_000), true), event("one"));
        assert_eq!(lines.due(at(1_999), true), None);
        assert_eq!(lines.due(at(2_000), true), event("two"));
        assert_eq!(lines.due(at(3_000), false), None);
        assert_eq!(lines.due(at(3_100), true), Some(StatusLine::State));
        let mut lines_of_100_s = 0;
        for ms in (4_000..104_000).step_by(100) {
            lines.add("again".to_owned());
            lines_of_100_s += u32::from(lines.due(at(ms), ms % 1_000 == 0).is_some());
        }
        assert!(lines_of_100_s <= 101, "{lines_of_100_s}");
    }

    #[test]
    fn many_events_are_counted_and_the_state_keeps_its_line() {
        let mut lines = Lines::default();
        let mut shown = Vec::new();
        for second in 0..12 {
            (0..9).for_each(|it| lines.add(format!("event {it}")));
            shown.extend(lines.due(at(second * 1_000), true));
        }
        let counted = StatusLine::Event("9 more events; --verbose lists them".to_owned());
        assert_eq!((shown.len(), &shown[0]), (12, &counted));
        assert!(shown.iter().filter(|it| **it == StatusLine::State).count() >= 2);
        assert!(lines.rest().is_empty(), "all were counted");
    }

    #[test]
    fn a_line_fits_the_width_and_its_first_part_counts_most() {
        let parts = [
            "12 s: 59 devices in OP",
            "3 frames lost",
            "wake-up p99.9 12 us",
        ];
        let parts = parts.map(str::to_owned);
        assert_eq!(fitting(&parts, 100), parts.join(", "));
        assert_eq!(fitting(&parts, 40), "12 s: 59 devices in OP, 3 frames lost");
        assert_eq!(fitting(&parts, 12), "12 s: 59...");
        assert_eq!(cut_off("Gelenk für links", 10), "Gelenk...");
    }
}
