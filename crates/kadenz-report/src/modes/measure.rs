//! What the occurrences of a mode have in common: its kind, how long, how high, how often.

use super::baseline::median;
use super::chain::Chain;
use super::classes::Class;
use super::events::Event;
use super::search::Record;
use super::suggest::Suggested;
use super::{Mode, ModeKind};

/// Runs of fewer samples are spikes, longer ones phases.
const MAX_SPIKE: f64 = 16.0;

/// Starts that a mode lists, at most.
pub(super) const MAX_STARTS: usize = 1024;

/// What most events of a class are.
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

/// What the events of a chain have in common.
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

/// How far a mode can be relied on: the share of its occurrences that is present beyond chance, of what chance
/// leaves, times the probability that it is a mode at all.
fn confidence(present: f64, best: &Suggested) -> f64 {
    let chance = best.presence.chance;
    let beyond = ((present - chance) / (1.0 - chance)).max(0.0);
    beyond * (1.0 - best.ln_chance.exp())
}

/// Where occurrences began, of many a share that is spread over the record. The mark of an event is known
/// better than its first sample, which may hide in the noise; and a period that is kept to the resolution
/// is known better than any mark.
pub(super) fn starts(members: &[Event], mode: &Mode, resolution_s: f64) -> Vec<f64> {
    let Some(first) = members.first() else {
        return Vec::new();
    };
    // A ramp is known from its line, and its mark is its last sample.
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

/// How long phases last: the mean of those that are as long as the median of them, to the resolution at
/// both edges. Edges fall now into one block and now into the next, so that a mean knows more than a block.
fn usual_length(phases: &[Event], resolution_s: f64) -> f64 {
    let lengths: Vec<f64> = phases.iter().map(|it| it.end_s - it.at_s).collect();
    let middle = median(&mut lengths.clone()).unwrap_or(0.0);
    let usual = lengths
        .iter()
        .filter(|it| (*it - middle).abs() <= 2.0 * resolution_s);
    let (sum, count) = usual.fold((0.0, 0_u32), |(sum, count), it| (sum + it, count + 1));
    sum / f64::from(count.max(1))
}
