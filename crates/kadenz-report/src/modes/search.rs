//! Finds the strongest mode, takes its events out, and searches again.

use super::baseline::{BLOCK, Block, SIDE, median};
use super::chain::{Chain, chain};
use super::classes::{Class, classes, of_phases};
use super::coverage::{Coverage, Demand, LEAST_COVERAGE, LEAST_FOR_PART, coverage};
use super::events::{Collected, Event};
use super::lags::{Candidate, Lags, TOLERANCES};
use super::{FEWEST_OCCURRENCES, LEAST_CONFIDENCE, Mode, ModeKind};

/// Modes that are looked for, at most.
const MOST_MODES: usize = 16;

/// Least share of its occurrences that a mode must show.
const LEAST_SEEN: f64 = 0.5;

/// Tolerances that are tried beside those of a candidate, once its period is known.
const SHARPER: [f64; 3] = [0.0, 0.0003, 0.003];

/// Share of what it needs that a period must show to be looked at with sharper windows: in logarithms.
const HOPELESS: f64 = 0.1;

/// From here on (natural logarithm) one is as sure as the other, and other things decide.
const SURE: f64 = -28.0;

/// Logarithm of the ratio up to which two classes are worth the same.
const ALIKE: f64 = 0.03;

/// Runs of fewer samples are spikes, longer ones phases.
const LONGEST_SPIKE: f64 = 16.0;

/// What is known of the record as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Seconds in which there were samples.
    pub(super) watched_s: f64,
    pub(super) interval_s: f64,
    pub(super) level_ns: f64,
}

/// A mode that a class suggests.
#[derive(Clone, Copy, Debug)]
struct Suggested {
    class: usize,
    coverage: Coverage,
    /// With what the number of sets and periods that were tried adds.
    ln_chance: f64,
    kind: ModeKind,
    /// Whether the class is one of block medians, not of runs.
    phases: bool,
    /// Share of the class that the mode is, and of the mode that the class has: harmonic mean.
    fit: f64,
    resolution_s: f64,
}

/// The modes of a record, the strongest first.
pub(super) fn search(ladder: &[Collected], mut blocks: Vec<Block>, record: Record) -> Vec<Mode> {
    let mut classes = classes(ladder, record);
    classes.extend(of_phases(&blocks, record));
    let mut modes = Vec::new();
    let octaves = per_octave(&classes);
    let suggest = |index: usize, class: &Class| {
        // Phases are looked for again in what is left, and may then be of a new size.
        let same_size = octaves.get(class.octave() as usize).copied().unwrap_or(1);
        suggested(index, class, same_size.max(1), record)
    };
    let mut found: Vec<Option<Suggested>> = classes
        .iter()
        .enumerate()
        .map(|(index, class)| suggest(index, class))
        .collect();
    while modes.len() < MOST_MODES {
        let Some(best) = found.iter().flatten().copied().reduce(better) else {
            break;
        };
        let class = &classes[best.class];
        let candidate = following(class, best.coverage.candidate, class.watched_s);
        let chain = chain(&class.events, candidate);
        let members: Vec<Event> = chain.members.iter().map(|&at| class.events[at]).collect();
        let mode = mode(&best, &chain, &members, (class.watched_s, record));
        let share = mode.occurrences as f64 / mode.expected as f64;
        if mode.occurrences < FEWEST_OCCURRENCES || share < LEAST_SEEN {
            found[best.class] = None;
            continue;
        }
        let grid = Grid::of(&mode, &members, candidate);
        modes.push(mode);
        if best.phases {
            // At coarser scales a phase would come back as its own beat with the blocks.
            leave_out(&mut blocks, &members, best.resolution_s);
            classes.retain(|class| !class.phases);
            classes.extend(of_phases(&blocks, record));
            found.resize(classes.len(), None);
            for (index, class) in classes.iter().enumerate().filter(|(_, it)| it.phases) {
                found[index] = suggest(index, class);
            }
        }
        for (index, class) in classes.iter_mut().enumerate() {
            let lost = remove(class, &members, best, record) + grid.clear(class);
            // What showed no mode shows none for having lost a few events of another.
            if lost > 0 && (found[index].is_some() || 20 * lost > class.events.len()) {
                found[index] = suggest(index, class);
            }
        }
    }
    modes
}

/// Drops the blocks that a phase touches.
fn leave_out(blocks: &mut Vec<Block>, phases: &[Event], resolution_s: f64) {
    let mut first = 0;
    blocks.retain(|block| {
        while phases
            .get(first)
            .is_some_and(|it| it.end_s + resolution_s < block.at_s)
        {
            first += 1;
        }
        phases
            .get(first)
            .is_none_or(|it| it.at_s - resolution_s > block.end_s)
    });
}

/// How many classes there are of each octave of sizes.
fn per_octave(classes: &[Class]) -> Vec<usize> {
    let mut counts = Vec::new();
    for class in classes {
        let octave = class.octave() as usize;
        counts.resize(counts.len().max(octave + 1), 0);
        counts[octave] += 1;
    }
    counts
}

/// The best of two: a phase; then the surer one; of sure ones a ramp; then the finer resolution; then the
/// class that holds more of the mode and less else; of such, for a ramp the lowest level and for a phase the
/// finest scale, which see most of it, else the highest level, at which no noise lengthens an event.
fn better(a: Suggested, b: Suggested) -> Suggested {
    let rank = |it: &Suggested| match it.kind {
        ModeKind::Ramp => 0,
        ModeKind::Phase => 1,
        ModeKind::Spike => 2,
    };
    // The edges of a phase are long runs themselves, known to the sample and so surer than the phase.
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

/// A class that covers all of the record with the mode and little else is worth most.
fn worth(it: &Suggested) -> f64 {
    it.fit * it.coverage.covered as f64
}

/// The shortest sure period of a class.
fn suggested(index: usize, class: &Class, same_size: usize, record: Record) -> Option<Suggested> {
    let times: Vec<f64> = class.events.iter().map(|it| it.mark_s).collect();
    if (times.len() as u64) < FEWEST_OCCURRENCES {
        return None;
    }
    let span_s = class.watched_s;
    let lags = Lags::of(&times, class.resolution_s, span_s / 2.0);
    // Chance has as many tries as there are sets, tolerances and periods. Sets of few events, of
    // which there are few, get half of what may go wrong, the next octave half of the rest.
    let sets = same_size as f64 * 2_f64.powi(class.octave() as i32 + 1);
    let periods = lags.pairs.min(lags.bins()) as f64;
    let windows = (TOLERANCES.len() + SHARPER.len()) as f64;
    let tries = (sets * windows * periods).ln();
    let limit = (1.0 - LEAST_CONFIDENCE).ln();
    let sure = |candidate: Candidate, least: f64| {
        // A sharper window may be surer still, but not of what this one tells nothing.
        let demand = Demand {
            least,
            ln_limit: HOPELESS * (limit - tries),
        };
        let mut found = coverage(&times, candidate, span_s, demand)?;
        found.ln_chance = sharpest(&times, found, class.resolution_s, span_s);
        (found.ln_chance + tries <= limit).then_some(found)
    };
    let shortest = TOLERANCES
        .iter()
        .flat_map(|&tolerance| lags.candidates(tolerance, span_s))
        .filter_map(|candidate| sure(candidate, LEAST_COVERAGE))
        .min_by(order)?;
    let coverage = divided(shortest, &sure);
    Some(Suggested {
        class: index,
        coverage,
        ln_chance: coverage.ln_chance + tries,
        kind: kind(class, record),
        phases: class.phases,
        fit: 2.0 * coverage.covered as f64 / (times.len() + coverage.slots) as f64,
        resolution_s: class.resolution_s,
    })
}

/// How sure the same period is with the window that makes it surest.
fn sharpest(times: &[f64], found: Coverage, resolution_s: f64, span_s: f64) -> f64 {
    let Candidate { period_s, window_s } = found.candidate;
    let demand = Demand {
        least: LEAST_COVERAGE,
        ln_limit: found.ln_chance,
    };
    SHARPER
        .iter()
        .map(|&tolerance| Candidate::new(period_s, tolerance, resolution_s))
        .filter(|sharper| sharper.window_s < window_s)
        .filter_map(|sharper| coverage(times, sharper, span_s, demand))
        .map(|it| it.ln_chance)
        .fold(found.ln_chance, f64::min)
}

/// The window by which a chain is followed: that of the period covers most of a mode, not all of it.
/// Wider is better while chance puts few events into it.
fn following(class: &Class, candidate: Candidate, span_s: f64) -> Candidate {
    let few = span_s / (8.0 * class.events.len().max(1) as f64);
    let Candidate { period_s, window_s } = candidate;
    let widest = (3.0 * window_s).min(few).min(period_s / 4.0);
    Candidate {
        period_s,
        window_s: window_s.max(widest),
    }
}

/// The shorter period first; where two are about the same, the surer one.
fn order(a: &Coverage, b: &Coverage) -> std::cmp::Ordering {
    let (p, q) = (a.candidate.period_s, b.candidate.period_s);
    if (p / q - 1.0).abs() < 0.2 {
        a.ln_chance.total_cmp(&b.ln_chance)
    } else {
        p.total_cmp(&q)
    }
}

/// The period, or the part of it that is a period itself.
fn divided(whole: Coverage, sure: &impl Fn(Candidate, f64) -> Option<Coverage>) -> Coverage {
    let part = |divisor: u32| {
        let Candidate { period_s, window_s } = whole.candidate;
        let period_s = period_s / f64::from(divisor);
        let candidate = Candidate {
            period_s,
            window_s: window_s.min(period_s / 6.0),
        };
        sure(candidate, LEAST_FOR_PART)
    };
    (2..=5).rev().find_map(part).unwrap_or(whole)
}

/// What most events of a class are.
fn kind(class: &Class, record: Record) -> ModeKind {
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
    } else if median(&mut lengths).is_some_and(|it| it > LONGEST_SPIKE) {
        ModeKind::Phase
    } else {
        ModeKind::Spike
    }
}

/// What the events of a chain have in common.
fn mode(
    best: &Suggested,
    chain: &Chain,
    members: &[Event],
    (watched_s, record): (f64, Record),
) -> Mode {
    let of = |value: &dyn Fn(&Event) -> f64| {
        median(&mut members.iter().map(value).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let period_s = chain.period_s().unwrap_or(best.coverage.candidate.period_s);
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
        of(&|it| it.end_s - it.at_s)
    } else {
        samples * record.interval_s
    };
    Mode {
        kind,
        period_s,
        stray_s: median(&mut strays.collect::<Vec<_>>()).unwrap_or(0.0),
        duration_s,
        samples: samples as u64,
        height_ns: height_ns.round() as i64,
        peak_ns: (record.level_ns + height_ns).round() as i64,
        first_s: members.first().map_or(0.0, |it| it.at_s),
        occurrences: members.len() as u64,
        expected: ((watched_s / period_s).round() as u64).max(members.len() as u64),
        confidence: 1.0 - best.ln_chance.exp(),
    }
}

/// Where a mode that does not stray must be, seen or not.
#[derive(Clone, Copy, Debug)]
struct Grid {
    first_s: f64,
    period_s: f64,
    window_s: f64,
    height_ns: f64,
    /// Whether there is one: a mode that strays is on none.
    is_kept: bool,
}

impl Grid {
    fn of(mode: &Mode, members: &[Event], candidate: Candidate) -> Self {
        let last_s = members.last().map_or(0.0, |it| it.mark_s);
        let first_s = members[0].mark_s;
        // A grid that is off by more than the window at its end is none.
        let off = ((last_s - first_s) / mode.period_s).fract();
        let off = off.min(1.0 - off) * mode.period_s;
        Self {
            first_s,
            period_s: mode.period_s,
            window_s: candidate.window_s,
            height_ns: mode.height_ns as f64,
            is_kept: mode.stray_s <= candidate.window_s && off <= candidate.window_s,
        }
    }

    /// Takes events of about its height out of a class: how many there were. They are members that
    /// the class of the mode did not have, for noise had lifted them, or it was full.
    fn clear(self, class: &mut Class) -> usize {
        let before = class.events.len();
        if self.is_kept && !class.phases {
            class.events.retain(|it| !self.holds(it));
        }
        before - class.events.len()
    }

    fn holds(&self, event: &Event) -> bool {
        let place = (event.mark_s - self.first_s) / self.period_s;
        let off = (place - place.round()).abs() * self.period_s;
        off <= self.window_s && (0.5..2.0).contains(&(event.height_ns / self.height_ns))
    }
}

/// Takes what belongs to a mode out of a class: how many events. Of a phase that is its edges,
/// where the level lags behind; a spike that recurs within it stays.
fn remove(class: &mut Class, members: &[Event], best: Suggested, record: Record) -> usize {
    let before = class.events.len();
    let block_s = BLOCK as f64 * record.interval_s;
    let half = record.interval_s / 2.0;
    let edge = (SIDE + 1) as f64 * block_s + best.resolution_s;
    let mut stretches: Vec<(f64, f64)> = Vec::new();
    for it in members {
        match (best.kind, class.phases) {
            (ModeKind::Phase, false) => {
                stretches.push((it.at_s - edge, it.at_s + edge));
                stretches.push((it.end_s - edge, it.end_s + edge));
            }
            (ModeKind::Phase, true) => {
                let pad = best.resolution_s + class.resolution_s;
                stretches.push((it.at_s - pad, it.end_s + pad));
            }
            (_, false) => stretches.push((it.at_s - half, it.end_s - half)),
            (_, true) if it.length() > BLOCK as f64 / 4.0 => {
                stretches.push((it.at_s - class.resolution_s, it.end_s + class.resolution_s));
            }
            (_, true) => {}
        }
    }
    stretches.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut first = 0;
    class.events.retain(|event| {
        while stretches.get(first).is_some_and(|it| it.1 < event.at_s) {
            first += 1;
        }
        let overlaps = |it: &(f64, f64)| it.0 <= event.end_s - half && it.1 >= event.at_s;
        !stretches[first..]
            .iter()
            .take_while(|it| it.0 <= event.end_s)
            .any(overlaps)
    });
    before - class.events.len()
}
