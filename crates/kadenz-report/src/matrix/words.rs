//! A matrix in words.

use kadenz_record::run::model::TuningMeasure;

use super::cell::Cell;
use super::contribution::EffectFigure;
use super::ranking::{PublishedPair, Ranked, Reproduced};
use super::ratio::Ratio;
use super::recommend::{CombinationCandidate, Keeping, Question, RecommendationStanding};
use crate::answers;
use crate::compare::times;
use crate::figures::capitalised;
use crate::numbers;
use crate::verdict::{Assumption, Verdict, describe};
use kadenz_record::run::matrix::{Combination, Load, Measure};

/// The cost of I.
pub(super) const IDLE_COST: &str = "I costs power: while /dev/cpu_dma_latency is held at 0 us, no idle \
     CPU of the whole machine enters a state that takes time to leave.";
const DOCTOR: &str = "`kadenz doctor` states what on this machine costs so much, and the fix.";

/// The answer, and further notes.
pub(super) fn recommendation(
    question: &Question<'_>,
    standing: RecommendationStanding,
    best: &CombinationCandidate<'_>,
    candidates: &[CombinationCandidate<'_>],
) -> Vec<String> {
    let mut sentences = vec![match standing {
        RecommendationStanding::Keeps => keeps(question, best),
        RecommendationStanding::SoFar { more } => so_far(question, best, more),
        RecommendationStanding::NoneKeeps => none_keeps(question, best, candidates),
        RecommendationStanding::Unknown => String::new(),
    }];
    if standing != RecommendationStanding::NoneKeeps && best.combination.has(Measure::Idle) {
        sentences.push(IDLE_COST.to_owned());
    }
    if standing == RecommendationStanding::Keeps {
        sentences.extend(cheaper_so_far(best, candidates));
    }
    sentences.extend(left_out(question, candidates));
    sentences
}

/// The answer where nothing can be recommended.
pub(super) fn unknown(
    question: &Question<'_>,
    candidates: &[CombinationCandidate<'_>],
) -> Vec<String> {
    let first = if question.deadline_ns.is_none() {
        "No deadline was stated, so nothing can be recommended: repeat with --deadline, for example \
         --deadline 400us."
    } else {
        "No cell was measured in a way that allows a recommendation."
    };
    let mut sentences = vec![first.to_owned()];
    sentences.extend(left_out(question, candidates));
    sentences
}

fn keeps(question: &Question<'_>, best: &CombinationCandidate<'_>) -> String {
    let (asked, loads) = (asked(question), loads(question.loads));
    let claim = question.claim;
    let misses = evidence(best);
    let enough = format!("{misses}; {claim} % was to be shown.");
    if best.combination == Combination::NONE {
        return format!(
            "Nothing is needed: without any tuning this machine keeps {asked} {loads}: {enough}"
        );
    }
    let words = capitalised(&best.combination.words());
    let name = best.combination;
    let verb = if best.combination.measures().count() > 1 {
        "are"
    } else {
        "is"
    };
    format!(
        "Use {name}. {words} {verb} the cheapest combination that keeps {asked} {loads}: {enough}"
    )
}

fn so_far(question: &Question<'_>, best: &CombinationCandidate<'_>, more: u64) -> String {
    let (asked, loads) = (asked(question), loads(question.loads));
    let name = capitalised(&named(best.combination));
    let needed = question.samples_needed();
    let missing: Vec<String> = best
        .cells
        .iter()
        .filter(|cell| cell.lateness.count < needed)
        .map(|cell| {
            let more = numbers::thousands(needed - cell.lateness.count);
            format!("{more} samples more {}", cell.load.words())
        })
        .collect();
    let time = question.interval_ns.map_or_else(String::new, |interval| {
        let ns = u128::from(more) * u128::from(interval);
        format!(
            " ({} at {})",
            numbers::span(ns as f64),
            numbers::rate(interval)
        )
    });
    format!(
        "{name} kept {asked} so far {loads}: {}. To claim {} % it needs {}{time}.",
        evidence(best),
        question.claim,
        missing.join(" and ")
    )
}

fn none_keeps(
    question: &Question<'_>,
    best: &CombinationCandidate<'_>,
    candidates: &[CombinationCandidate<'_>],
) -> String {
    let asked = asked(question);
    let judged = candidates.iter().filter(|c| c.keeping == Keeping::Misses);
    let first = match judged.count() {
        1 if candidates.len() == 1 => format!("This machine does not keep {asked}."),
        _ => format!("No combination that was measured keeps {asked}."),
    };
    let Some((cell, verdict)) = best.worst().and_then(|cell| Some((cell, cell.verdict?))) else {
        return format!("{first} {DOCTOR}");
    };
    let name = named(best.combination);
    format!(
        "{first} {} comes closest: {} {}{}. {DOCTOR}",
        capitalised(&name),
        describe(&verdict),
        cell.load.words(),
        beyond(cell, &verdict),
    )
}

/// "; its largest lateness is 512 us, 112 us beyond the deadline".
fn beyond(cell: &Cell, verdict: &Verdict) -> String {
    let limit = i64::try_from(verdict.limit_ns).unwrap_or(i64::MAX);
    match cell.lateness.max_ns {
        Some(max) if max > limit => format!(
            "; its largest lateness is {}, {} beyond the deadline",
            numbers::span(max as f64),
            numbers::span((max - limit) as f64)
        ),
        _ => String::new(),
    }
}

/// "1 kHz with a 400 us deadline".
fn asked(question: &Question<'_>) -> String {
    answers::question(
        question.interval_ns,
        question.deadline_ns.unwrap_or_default(),
    )
}

/// "without load and under heavy load".
fn loads(loads: &[Load]) -> String {
    let words: Vec<&str> = loads.iter().map(|load| load.words()).collect();
    words.join(" and ")
}

/// "0 misses in 60,000 and in 61,000, so fewer than 50 in a million at 95 % confidence, if each is
/// independent".
fn evidence(best: &CombinationCandidate<'_>) -> String {
    let counts: Vec<String> = best
        .cells
        .iter()
        .map(|cell| numbers::thousands(cell.lateness.count))
        .collect();
    let verdicts = best.cells.iter().filter_map(|cell| cell.verdict);
    let bound = verdicts.map(|v| v.upper_bound_95).fold(0.0, f64::max);
    let counts = counts.join(" and in ");
    let bound = numbers::in_a_million(bound);
    // Without a miss there is no information on how misses follow each other.
    let assumption = Assumption::Independent;
    format!("0 misses in {counts}, so fewer than {bound} at 95 % confidence, {assumption}")
}

/// Cheaper combinations that kept the deadline so far: more samples might make the answer cheaper.
fn cheaper_so_far(
    best: &CombinationCandidate<'_>,
    candidates: &[CombinationCandidate<'_>],
) -> Option<String> {
    let cheaper: Vec<(String, u64)> = candidates
        .iter()
        .filter(|c| c.combination.cost() < best.combination.cost())
        .filter_map(|c| match c.keeping {
            Keeping::SoFar { more } => Some((c.combination.to_string(), more)),
            _ => None,
        })
        .collect();
    let more = cheaper.iter().map(|(_, more)| *more).max()?;
    let names: Vec<String> = cheaper.into_iter().map(|(name, _)| name).collect();
    Some(format!(
        "{}, cheaper, kept it so far too; {} more samples would decide.",
        names.join(", "),
        numbers::thousands(more)
    ))
}

/// Data that the answer could not take into account, and why.
fn left_out(question: &Question<'_>, candidates: &[CombinationCandidate<'_>]) -> Vec<String> {
    let names = |keeping| -> Vec<String> {
        let of = candidates.iter().filter(|c| c.keeping == keeping);
        of.map(|c| c.combination.to_string()).collect()
    };
    let mut sentences = Vec::new();
    let refused = names(Keeping::NotGranted);
    if !refused.is_empty() {
        let (verb, them) = plural(&refused);
        sentences.push(format!(
            "{} {verb} left out, because what {them} was not granted{}",
            refused.join(", "),
            reasons(question.cells)
        ));
    }
    let unmeasured = names(Keeping::NotMeasured);
    if !unmeasured.is_empty() {
        let (verb, _) = plural(&unmeasured);
        sentences.push(format!(
            "{} {verb} left out, because not every load was measured with it.",
            unmeasured.join(", ")
        ));
    }
    if !question.missing_loads.is_empty() {
        sentences.push(format!(
            "Nothing was measured {}: this says nothing of it.",
            loads(question.missing_loads)
        ));
    } else if question.loads == [Load::Unloaded] {
        sentences.push(
            "Heavy load was not measured; a robot at work is not idle, so measure under it before \
             relying on this."
                .to_owned(),
        );
    }
    sentences
}

fn plural(names: &[String]) -> (&'static str, &'static str) {
    match names.len() {
        1 => ("is", "it requests"),
        _ => ("are", "they request"),
    }
}

/// ": SCHED_FIFO 80 (no right; remedy: ulimit -r 99)." for each refusal, once.
fn reasons(cells: &[Cell]) -> String {
    let lacking = cells.iter().filter(|cell| !cell.granted);
    let refusals: Vec<(&Cell, &TuningMeasure)> = lacking
        .flat_map(|cell| cell.refused.iter().map(move |measure| (cell, measure)))
        .collect();
    let mut words: Vec<String> = Vec::new();
    for (cell, measure) in refusals {
        if !cell.lacking.iter().any(|m| m.is_recorded_as(&measure.name)) {
            continue;
        }
        let text = refusal(measure);
        if !words.contains(&text) {
            words.push(text);
        }
    }
    match words.is_empty() {
        true => ": the run does not record that it was.".to_owned(),
        false => format!(": {}.", words.join("; ")),
    }
}

fn refusal(measure: &TuningMeasure) -> String {
    let what = if measure.requested.is_empty() {
        &measure.name
    } else {
        &measure.requested
    };
    let parts: Vec<String> = [
        measure.reason.clone(),
        measure
            .remedy
            .as_ref()
            .map(|remedy| format!("remedy: {remedy}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    match parts.is_empty() {
        true => what.clone(),
        false => format!("{what} ({})", parts.join("; ")),
    }
}

/// The effect of a measure: "p99.9 lateness 41 times lower under heavy load (95 %: 35 to 48)".
pub(super) fn effect(figure: EffectFigure, load: Load, ratio: Option<&Ratio>) -> String {
    let figure = figure.name();
    let start = format!("{figure} lateness");
    let load = load.words();
    let Some(ratio) = ratio else {
        return format!("{start}: too few samples {load}");
    };
    match ratio.significant() {
        Some(false) => format!(
            "no difference in {figure} lateness that this sample can show {load}{}",
            interval(ratio)
        ),
        _ => format!("{start} {} {load}{}", change(ratio), confidence(ratio)),
    }
}

/// "41 times lower", "1.20 times higher".
fn change(ratio: &Ratio) -> String {
    match ratio.ratio {
        r if r < 1.0 => format!("{} times lower", times(1.0 / r)),
        r if r > 1.0 => format!("{} times higher", times(r)),
        _ => "the same".to_owned(),
    }
}

/// " (95 %: 35 to 48)", in the direction of [`change`]; without an interval a note of that.
fn confidence(ratio: &Ratio) -> String {
    let resolution = if ratio.at_resolution {
        "; as far as the clock can tell"
    } else {
        ""
    };
    match ratio.interval {
        None => format!(" (no confidence can be given{resolution})"),
        Some((low, high)) if ratio.ratio < 1.0 => format!(
            " (95 %: {} to {}{resolution})",
            times(1.0 / high),
            times(1.0 / low)
        ),
        Some((low, high)) => format!(" (95 %: {} to {}{resolution})", times(low), times(high)),
    }
}

/// " (0.97 to 1.04)".
fn interval(ratio: &Ratio) -> String {
    ratio.interval.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", times(low), times(high))
    })
}

/// "Best first without load: PMCS, PMC, ..., none." Absent where no cell supports the figure.
pub(super) fn ranking(load: Load, best_first: &[Ranked]) -> Option<String> {
    let names: Vec<String> = best_first
        .iter()
        .map(|ranked| match ranked.granted {
            true => ranked.combination.to_string(),
            false => format!("{} (not granted)", ranked.combination),
        })
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "By p99.9 lateness {}, best first: {}.",
            load.words(),
            names.join(", ")
        )
    })
}

/// Whether Yoon's order is reproduced; absent where no pair of it was measured.
pub(super) fn published_order(pairs: &[PublishedPair]) -> Option<String> {
    let number = |outcome| pairs.iter().filter(|pair| pair.outcome == outcome).count();
    let (yes, no, open) = (
        number(Reproduced::Yes),
        number(Reproduced::No),
        number(Reproduced::Open),
    );
    let all = pairs.len();
    let rest = match (no, open) {
        (0, 0) => String::new(),
        (no, 0) => format!("; {no} stand otherwise"),
        (0, open) => format!("; of {open} this sample cannot tell"),
        (no, open) => format!("; {no} stand otherwise, of {open} this sample cannot tell"),
    };
    let start = "Yoon's order under heavy load (none and M worst, then C and MC, P and PM, PC \
                 and PMC, PMCS best)";
    match all {
        0 => None,
        _ if yes == all => Some(format!("{start} is reproduced in all {all} pairs of it.")),
        _ => Some(format!(
            "{start} is reproduced in {yes} of {all} pairs{rest}."
        )),
    }
}

/// "MC better than M: as in Yoon, 12 times lower (95 %: 10 to 14)".
pub(super) fn published_pair(
    (worse, better, equal): (Combination, Combination, bool),
    ratio: &Ratio,
    outcome: Reproduced,
) -> String {
    let claim = match equal {
        true => format!("{better} equal to {worse}"),
        false => format!("{better} better than {worse}"),
    };
    let outcome = match outcome {
        Reproduced::Yes => "as in Yoon",
        Reproduced::No => "not so here",
        Reproduced::Open => "this sample cannot tell",
    };
    format!("{claim}: {outcome}, {}{}", change(ratio), confidence(ratio))
}

fn named(combination: Combination) -> String {
    match combination {
        Combination::NONE => "the untuned thread (none)".to_owned(),
        other => format!("{other} ({})", other.words()),
    }
}
