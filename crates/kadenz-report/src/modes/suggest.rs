//! The mode that a class of events suggests, and which of two suggestions is worth more.

use super::classes::Class;
use super::coverage::{Coverage, Demand, LEAST_COVERAGE, LEAST_FOR_PART, coverage};
use super::lags::{Candidate, Lags, TOLERANCES};
use super::measure::kind;
use super::search::Record;
use super::{FEWEST_OCCURRENCES, LEAST_CONFIDENCE, ModeKind};

/// Tolerances that are tried beside those of a candidate, once its period is known.
const SHARPER: [f64; 3] = [0.0, 0.0003, 0.003];

/// Share of what it needs that a period must show to be looked at with sharper windows: in logarithms.
const HOPELESS: f64 = 0.1;

/// From here on (natural logarithm) one is as sure as the other, and other things decide.
const SURE: f64 = -28.0;

/// Logarithm of the ratio up to which two classes are worth the same.
const ALIKE: f64 = 0.03;

/// A mode that a class suggests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suggested {
    pub(super) class: usize,
    pub(super) coverage: Coverage,
    /// With what the number of sets and periods that were tried adds.
    pub(super) ln_chance: f64,
    pub(super) kind: ModeKind,
    /// Whether the class is one of block medians, not of runs.
    pub(super) phases: bool,
    /// Share of the class that the mode is, and of the mode that the class has: harmonic mean.
    fit: f64,
    pub(super) resolution_s: f64,
}

/// The best of two: a phase; then the surer one; of sure ones a ramp; then the finer resolution; then the
/// class that holds more of the mode and less else; of such, for a ramp the lowest level and for a phase the
/// finest scale, which see most of it, else the highest level, at which no noise lengthens an event.
pub(super) fn better(a: Suggested, b: Suggested) -> Suggested {
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
pub(super) fn suggested(
    index: usize,
    class: &Class,
    same_size: usize,
    record: Record,
) -> Option<Suggested> {
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
