//! The mode that a class of events suggests, the common properties of its occurrences, and the choice between two
//! suggestions.

use super::baseline::median;
use super::chain::Chain;
use super::classes::Class;
use super::events::Event;
use super::lags::{Lags, PeriodCandidate, TOLERANCES};
use super::presence::{Presence, presence};
use super::search::Record;
use super::{MAX_CHANCE, MIN_OCCURRENCES, Mode, ModeKind};

/// Tolerances that are tried beside those of a candidate, once its period is known.
const SHARPER: [f64; 3] = [0.0, 0.0003, 0.003];

/// Minimum share of the required logarithm that a period must reach before sharper windows are tried.
const HOPELESS: f64 = 0.1;

/// Two modes beyond this (natural logarithm) are equally certain, and other criteria decide.
const SURE: f64 = -28.0;

/// Logarithm of the ratio up to which two classes are equally good.
const ALIKE: f64 = 0.03;

/// A mode that a class suggests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suggested {
    pub(super) class: usize,
    pub(super) presence: Presence,
    /// Of its presence, corrected for the number of sets, tolerances and periods that were tried.
    pub(super) ln_chance: f64,
    pub(super) kind: ModeKind,
    /// Whether the class is one of block medians, not of runs.
    pub(super) phases: bool,
    /// Harmonic mean of the share of the class that belongs to the mode, and of the share of the mode that the class
    /// holds.
    fit: f64,
    pub(super) resolution_s: f64,
}

/// The better of two: a phase; then the more certain one; of equally certain ones a ramp; then the finer resolution;
/// then the class that holds more of the mode and less else; of such, for a ramp the lowest level and for a phase the
/// finest scale, which see most of it, otherwise the highest level, at which no noise lengthens an event.
pub(super) fn better(a: Suggested, b: Suggested) -> Suggested {
    let rank = |it: &Suggested| match it.kind {
        ModeKind::Ramp => 0,
        ModeKind::Phase => 1,
        ModeKind::Spike => 2,
    };
    // The edges of a phase are long runs themselves, known to the sample and so more certain than the phase.
    let order = b
        .phases
        .cmp(&a.phases)
        .then(a.ln_chance.max(SURE).total_cmp(&b.ln_chance.max(SURE)))
        .then(rank(&a).cmp(&rank(&b)))
        .then(a.resolution_s.total_cmp(&b.resolution_s))
        .then(if (worth(&a) / worth(&b)).ln().abs() < ALIKE {
            std::cmp::Ordering::Equal
        } else {
            worth(&b).total_cmp(&worth(&a))
        })
        .then(match a.kind {
            ModeKind::Ramp => a.class.cmp(&b.class),
            ModeKind::Phase if a.phases => a.class.cmp(&b.class),
            ModeKind::Phase | ModeKind::Spike => b.class.cmp(&a.class),
        });
    if order.is_le() { a } else { b }
}

/// A class that fills the whole record with the mode and little else is the best.
fn worth(it: &Suggested) -> f64 {
    it.fit * it.presence.present as f64
}

/// The most certain period of a class.
pub(super) fn suggested(
    index: usize,
    class: &Class,
    same_size: usize,
    record: Record,
) -> Option<Suggested> {
    let times = class.times();
    if (times.len() as u64) < MIN_OCCURRENCES {
        return None;
    }
    let span_s = class.watched_s;
    let lags = Lags::of(&times, class.resolution_s, span_s / 2.0);
    // Chance has as many tries as there are sets, tolerances and periods. Sets of few events, of which there are few,
    // get half of the permitted probability of error, the next octave half of the rest.
    let sets = same_size as f64 * 2_f64.powi(class.octave() as i32 + 1);
    let periods = lags.pairs.min(lags.bins()) as f64;
    let windows = (TOLERANCES.len() + SHARPER.len()) as f64;
    let tries = (sets * windows * periods).ln();
    let limit = MAX_CHANCE.ln();
    let sure = |candidate: PeriodCandidate| {
        // A sharper window may be more certain, unless this one shows almost nothing.
        let mut found = presence(&times, candidate, span_s, HOPELESS * (limit - tries))?;
        found.ln_chance = sharpest(&times, found, class.resolution_s, span_s);
        (found.ln_chance + tries <= limit).then_some(found)
    };
    let surest = TOLERANCES
        .iter()
        .flat_map(|&tolerance| lags.candidates(tolerance, span_s))
        .filter_map(sure)
        .min_by(|a, b| a.ln_chance.total_cmp(&b.ln_chance))?;
    let presence = fundamental(surest, &sure);
    Some(Suggested {
        class: index,
        presence,
        ln_chance: presence.ln_chance + tries,
        kind: kind(class, record),
        phases: class.phases,
        fit: 2.0 * presence.present as f64 / (times.len() + presence.expected) as f64,
        resolution_s: class.resolution_s,
    })
}

/// How certain the same period is with the window that makes it most certain.
fn sharpest(times: &[f64], found: Presence, resolution_s: f64, span_s: f64) -> f64 {
    let PeriodCandidate { period_s, window_s } = found.candidate;
    SHARPER
        .iter()
        .map(|&tolerance| PeriodCandidate::new(period_s, tolerance, resolution_s))
        .filter(|sharper| sharper.window_s < window_s)
        .filter_map(|sharper| presence(times, sharper, span_s, found.ln_chance))
        .map(|it| it.ln_chance)
        .fold(found.ln_chance, f64::min)
}

/// The period, a more certain fraction of it, or the multiple of that which explains the present occurrences better.
/// For a period with absences a fraction explains as much with more absences, and a multiple explains less with as
/// many: so the fundamental is the most certain.
fn fundamental(surest: Presence, sure: &impl Fn(PeriodCandidate) -> Option<Presence>) -> Presence {
    let times = |of: Presence, factor: f64| {
        let PeriodCandidate { period_s, window_s } = of.candidate;
        let period_s = factor * period_s;
        sure(PeriodCandidate {
            period_s,
            window_s: window_s.min(period_s / 6.0),
        })
    };
    let parts = (2..=5).filter_map(|divisor| times(surest, 1.0 / f64::from(divisor)));
    let part = parts.min_by(|a, b| a.ln_chance.total_cmp(&b.ln_chance));
    let surest = part
        .filter(|it| it.ln_chance < surest.ln_chance)
        .unwrap_or(surest);
    let multiple = surest.multiple;
    let multiple = multiple.and_then(|it| times(surest, f64::from(it)));
    multiple.unwrap_or(surest)
}

/// Runs of fewer samples are spikes, longer ones phases.
const MAX_SPIKE: f64 = 16.0;

/// Starts that a mode lists, at most.
pub(super) const MAX_STARTS: usize = 1024;

/// The form of most events of a class.
pub(super) fn kind(class: &Class, record: Record) -> ModeKind {
    if class.phases {
        return ModeKind::Phase;
    }
    kind_of(&class.events, record)
}

fn kind_of(events: &[Event], record: Record) -> ModeKind {
    let ramps = events.iter().filter(|it| it.slope_ns > 0.0).count();
    let mut lengths: Vec<f64> = events
        .iter()
        .map(|it| (it.end_s - it.at_s) / record.interval_s)
        .collect();
    if 2 * ramps > events.len() {
        ModeKind::Ramp
    } else if median(&mut lengths).is_some_and(|it| it > MAX_SPIKE) {
        ModeKind::Phase
    } else {
        ModeKind::Spike
    }
}

/// The mode with the common properties of a chain's events.
pub(super) fn mode(
    best: &Suggested,
    chain: &Chain,
    members: &[Event],
    (watched_s, record): (f64, Record),
) -> Mode {
    let of = |value: &dyn Fn(&Event) -> f64| {
        median(&mut members.iter().map(value).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let period_s = chain.period_s().unwrap_or(best.presence.candidate.period_s);
    let strays = chain
        .steps
        .iter()
        .map(|&(step, count)| (step - f64::from(count) * period_s).abs() / f64::from(count));
    let kind = if best.kind == ModeKind::Phase {
        ModeKind::Phase
    } else {
        kind_of(members, record)
    };
    let (height_ns, samples) = (of(&|it| it.height_ns), of(&Event::length).round());
    let duration_s = if kind == ModeKind::Phase {
        usual_length(members, best.resolution_s)
    } else {
        samples * record.interval_s
    };
    let expected = ((watched_s / period_s).round() as u64).max(members.len() as u64);
    Mode {
        kind,
        period_s,
        stray_s: median(&mut strays.collect::<Vec<_>>()).unwrap_or(0.0),
        duration_s,
        samples: (duration_s / record.interval_s).round() as u64,
        height_ns: height_ns.round() as i64,
        peak_ns: (record.level_ns + height_ns).round() as i64,
        first_s: members.first().map_or(0.0, |it| it.at_s),
        occurrences: members.len() as u64,
        expected,
        confidence: confidence(members.len() as f64 / expected as f64, best),
    }
}

/// How far a mode can be relied on: the share of its occurrences that is present beyond chance, relative to what chance
/// leaves, times the probability that it is a mode at all.
fn confidence(present: f64, best: &Suggested) -> f64 {
    let chance = best.presence.chance;
    let beyond = ((present - chance) / (1.0 - chance)).max(0.0);
    beyond * (1.0 - best.ln_chance.exp())
}

/// Starts of the occurrences; with many, a selection spread over the record. The mark of an event is known better than
/// its first sample, which may be hidden in the noise; and a period that is kept to the resolution is known better than
/// any mark.
pub(super) fn starts(members: &[Event], mode: &Mode, resolution_s: f64) -> Vec<f64> {
    let Some(first) = members.first() else {
        return Vec::new();
    };
    // A ramp is located by its line, and its mark is its last sample.
    let before_s = if mode.kind == ModeKind::Ramp {
        mode.duration_s - mode.duration_s / mode.samples.max(1) as f64
    } else {
        let before = members.iter().map(|it| it.mark_s - it.at_s);
        median(&mut before.collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let strays = mode.stray_s > resolution_s;
    let start = |event: &Event| {
        let since_s = event.mark_s - first.mark_s;
        let on_grid = (since_s / mode.period_s).round() * mode.period_s;
        let is_kept = !strays && (since_s - on_grid).abs() <= resolution_s;
        first.mark_s - before_s + if is_kept { on_grid } else { since_s }
    };
    let stride = members.len().div_ceil(MAX_STARTS).max(1);
    members.iter().step_by(stride).map(start).collect()
}

/// Usual length of phases: the mean of those that are as long as their median, to the resolution at both edges. Edges
/// fall into one block or the next, so that a mean is finer than a block.
fn usual_length(phases: &[Event], resolution_s: f64) -> f64 {
    let lengths: Vec<f64> = phases.iter().map(|it| it.end_s - it.at_s).collect();
    let middle = median(&mut lengths.clone()).unwrap_or(0.0);
    let usual = lengths
        .iter()
        .filter(|it| (*it - middle).abs() <= 2.0 * resolution_s);
    let (sum, count) = usual.fold((0.0, 0_u32), |(sum, count), it| (sum + it, count + 1));
    sum / f64::from(count.max(1))
}
