//! Lines for people while the loop runs: at most one a second, each within the terminal's width.

use std::collections::VecDeque;
use std::time::Duration;

use kadenz::rt::clock::MonotonicTime;

/// The shortest time between two lines.
const EVERY: Duration = Duration::from_secs(1);
/// The longest time without a line about the loop's state, whatever happens on the segment.
const MAX_SILENCE: Duration = Duration::from_secs(5);
/// Events that wait for a line of their own; further ones are counted.
const MAX: usize = 4;

/// Pending events, and the time of the last line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    waiting: VecDeque<String>,
    last: Option<MonotonicTime>,
    last_state: Option<MonotonicTime>,
}

/// The next line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StatusLine {
    /// An event.
    Event(String),
    /// A line about the loop's state is due.
    State,
}

impl Lines {
    /// Queues an event until a line is due.
    pub(super) fn add(&mut self, event: String) {
        self.waiting.push_back(event);
    }

    /// Returns the due line, if there is one; the caller states whether a new second of the loop has begun.
    pub(super) fn due(&mut self, now: MonotonicTime, new_second: bool) -> Option<StatusLine> {
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
    pub(super) fn rest(&mut self) -> Vec<String> {
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
pub(super) fn fitting(parts: &[String], width: usize) -> String {
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
