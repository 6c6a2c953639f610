//! Modes in words.

use kadenz_record::run::model::Kind;

use super::{Mode, ModeKind, SeriesModes, Source};
use crate::numbers;

/// A period that strays by more than this share of itself is described with "about".
pub(crate) const ABOUT: f64 = 0.005;

/// A mode in words.
///
/// ```
/// use kadenz_record::run::model::Kind;
/// use kadenz_report::modes::{Mode, ModeKind, describe};
///
/// let mode = Mode {
///     kind: ModeKind::Phase,
///     period_s: 322.0,
///     stray_s: 0.1,
///     duration_s: 15.01,
///     samples: 1501,
///     height_ns: 4_000,
///     peak_ns: 197_500,
///     first_s: 100.0,
///     occurrences: 268,
///     expected: 268,
///     confidence: 1.0,
/// };
/// assert_eq!(describe(&mode, Kind::Latency), "every 5 min 22 s a 15.0 s phase of +4 us");
/// ```
#[must_use]
pub fn describe(mode: &Mode, kind: Kind) -> String {
    let noun = if kind == Kind::Latency {
        "packet"
    } else {
        "sample"
    };
    let peak = numbers::span(mode.peak_ns as f64);
    let height = numbers::span(mode.height_ns as f64);
    let what = match (mode.kind, mode.samples) {
        (ModeKind::Spike, 0 | 1) => format!("one {noun} at {peak}"),
        (ModeKind::Spike, count) => format!("{count} {noun}s in a row of up to {peak}"),
        (ModeKind::Phase, _) => format!("a {} phase of +{height}", short(mode.duration_s)),
        (ModeKind::Ramp, count) => format!("a ramp of up to {height} over {count} {noun}s"),
    };
    format!("{} {what}", every(mode))
}

/// How often, in words.
fn every(mode: &Mode) -> String {
    if mode.stray_s <= ABOUT * mode.period_s {
        return format!("every {}", length(mode.period_s));
    }
    let near = |seconds: f64| (mode.period_s / seconds - 1.0).abs() < 0.03;
    let once = [
        (1.0, "a second"),
        (60.0, "a minute"),
        (3600.0, "an hour"),
        (86_400.0, "a day"),
    ];
    match once.into_iter().find(|(seconds, _)| near(*seconds)) {
        Some((_, name)) => format!("about once {name}"),
        None => format!("about every {}", length(mode.period_s)),
    }
}

/// A length of time to the second above two minutes, with three digits below.
fn length(seconds: f64) -> String {
    if seconds < 120.0 {
        return short(seconds);
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    let parts = [(hours, "h"), (minutes, "min"), (rest, "s")];
    let texts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count} {unit}"))
        .collect();
    texts.join(" ")
}

/// Three digits, trailing zeros too: "15.0 s" is more exact than "15 s".
fn short(seconds: f64) -> String {
    let (scaled, unit) = match seconds {
        _ if seconds >= 1.0 => (seconds, "s"),
        _ if seconds >= 1e-3 => (seconds * 1e3, "ms"),
        _ => (seconds * 1e6, "us"),
    };
    let decimals = match scaled {
        _ if scaled < 9.995 => 2,
        _ if scaled < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$} {unit}")
}

/// All modes of a series: one line per mode, or that there is none.
#[must_use]
pub fn describe_series(found: &SeriesModes) -> String {
    let searched = extent(found);
    let mut lines = vec![match found.modes.len() {
        0 => format!("{}: no recurring mode in {searched}", found.series),
        1 => format!("{}: 1 recurring mode in {searched}", found.series),
        count => format!("{}: {count} recurring modes in {searched}", found.series),
    }];
    for mode in &found.modes {
        lines.push(format!(
            "  {}  ({} of {} seen, confidence {})",
            describe(mode, found.kind),
            numbers::thousands(mode.occurrences),
            numbers::thousands(mode.expected),
            confidence(mode.confidence),
        ));
    }
    lines.extend(found.notes.iter().map(|note| format!("  note: {note}")));
    lines.join("\n")
}

/// What was searched: "8,640,000 samples over 24 h".
pub(crate) fn extent(found: &SeriesModes) -> String {
    let what = match found.source {
        Source::Samples => "samples",
        Source::Intervals => "intervals",
    };
    let count = numbers::thousands(found.count);
    format!("{count} {what} over {}", numbers::span(found.span_s * 1e9))
}

/// A confidence rounded down, because rounding up would overstate it.
pub(crate) fn confidence(share: f64) -> String {
    if share >= 0.9999 {
        return "above 99.99 %".to_owned();
    }
    format!("{:.2} %", (share * 1e4).floor() / 1e2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{mode_of, searched};

    fn mode(kind: ModeKind, period_s: f64, stray_s: f64, samples: u64) -> Mode {
        Mode {
            stray_s,
            confidence: 0.9987,
            ..mode_of(kind, period_s, samples)
        }
    }

    #[test]
    fn modes_read_as_in_enner2016b() {
        let cases = [
            (
                mode(ModeKind::Spike, 5.0, 0.0, 1),
                "every 5.00 s one packet at 210 us",
            ),
            (
                mode(ModeKind::Spike, 0.04, 0.0, 3),
                "every 40.0 ms 3 packets in a row of up to 210 us",
            ),
            (
                mode(ModeKind::Ramp, 3590.0, 40.0, 10),
                "about once an hour a ramp of up to 150 us over 10 packets",
            ),
            (
                mode(ModeKind::Ramp, 7200.0, 100.0, 10),
                "about every 2 h a ramp of up to 150 us over 10 packets",
            ),
        ];
        for (mode, text) in cases {
            assert_eq!(describe(&mode, Kind::Latency), text);
        }
    }

    #[test]
    fn what_was_searched_and_how_sure_it_is_stand_beside_it() {
        let spike = mode(ModeKind::Spike, 5.0, 0.0, 1);
        let mut found = searched("rtt", Kind::Lateness, vec![spike]);
        assert_eq!(
            describe_series(&found),
            "rtt: 1 recurring mode in 8,640,000 samples over 24 h\n  every 5.00 s one sample at \
             210 us  (3 of 3 seen, confidence 99.87 %)"
        );
        found.modes.clear();
        found.source = Source::Intervals;
        assert!(
            describe_series(&found).starts_with("rtt: no recurring mode in 8,640,000 intervals")
        );
        assert_eq!(confidence(0.999_999), "above 99.99 %");
        assert_eq!(confidence(0.999_89), "99.98 %");
    }
}
