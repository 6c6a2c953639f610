//! The cheapest tuning that keeps the deadline of a check, determined from the check and from the matrix that was
//! measured after it.

use kadenz_record::run::check::{ORDINARY, REALTIME};

use super::{Combination, EffectFigure, Load, Matrix, Measure, RecommendationStanding, words};
use crate::summary::{SeriesSummary, Summary};
use crate::verdict;

/// Which of a check's two threads kept the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlinesKept {
    /// Whether the thread without tuning kept it.
    pub ordinary: bool,
    /// The one with priority and locked memory.
    pub realtime: bool,
    /// Whether idle states were held off meanwhile, for both.
    pub held: bool,
}

impl DeadlinesKept {
    /// Absent where the check was not measured to its end, or took too few samples.
    #[must_use]
    pub fn of(check: &Summary) -> Option<Self> {
        let kept = |name| match check.named(name)?.verdict?.standing {
            verdict::Standing::Kept => Some(true),
            verdict::Standing::Missed => Some(false),
            verdict::Standing::ValuesLost(_) | verdict::Standing::TooFew => None,
        };
        let mut tuning = check.named(REALTIME)?.series.tuning.iter();
        Some(Self {
            ordinary: kept(ORDINARY)?,
            realtime: kept(REALTIME)?,
            held: tuning.any(|it| Measure::Idle.is_recorded_as(&it.name) && it.ok),
        })
    }

    /// The tuning that kept the deadline in the check itself, the cheaper of the two.
    #[must_use]
    pub fn combination(self) -> Option<Combination> {
        let without_idle = match self {
            Self { ordinary: true, .. } => Combination::NONE,
            Self { realtime: true, .. } => Combination::NONE
                .with(Measure::Priority)
                .with(Measure::Memory),
            _ => return None,
        };
        Some(match self.held {
            true => without_idle.with(Measure::Idle),
            false => without_idle,
        })
    }
}

/// The answer where an ordinary thread kept the deadline, too.
pub const NOTHING_NEEDED: &str =
    "No tuning is needed to keep it here: an ordinary thread kept it, too.";

/// The cheapest tuning that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cheapest {
    /// The combination; absent if no tried one keeps the deadline.
    pub combination: Option<Combination>,
    /// The result in words.
    pub sentence: String,
    /// How to use it; absent where nothing is needed or nothing can be recommended.
    pub command: Option<String>,
    /// Benefit and cost of holding idle states off; absent where it was not measured.
    pub idle: Option<String>,
}

impl Cheapest {
    /// Determines it from a check, the run of tunings that was measured after it, and that run's matrix. Absent where
    /// the check was not measured to its end.
    #[must_use]
    pub fn of(check: &Summary, tried: &Summary, matrix: &Matrix) -> Option<Self> {
        let seen = DeadlinesKept::of(check)?;
        let recommended = matrix.recommendation.combination;
        let found = match matrix.recommendation.standing {
            RecommendationStanding::Keeps | RecommendationStanding::SoFar { .. } => recommended,
            RecommendationStanding::NoneKeeps | RecommendationStanding::Unknown => None,
        };
        let kept = seen.combination();
        // The check has more samples than a cell: combinations of the same or a higher cost add nothing.
        let cheaper = |it: &Combination| kept.is_none_or(|kept| it.cost() < kept.cost());
        let found = found.filter(cheaper);
        let permanent = matrix.recommendation.permanent.as_ref();
        Some(Self {
            combination: found.or(kept),
            sentence: sentence(check, matrix, seen, found),
            command: found.and(permanent).map(|it| it.command.clone()),
            idle: words_of_idle(matrix, tried),
        })
    }
}

fn sentence(
    check: &Summary,
    matrix: &Matrix,
    seen: DeadlinesKept,
    found: Option<Combination>,
) -> String {
    let kept = seen.combination();
    let tried = matrix.of_load(Load::Unloaded).map(|cell| cell.combination);
    let less = tried.filter(|it| kept.is_none_or(|kept| it.cost() < kept.cost()));
    let less: Vec<String> = less.map(|it| it.to_string()).collect();
    let less = less.join(", ");
    match (found, kept) {
        (Some(combination), _) => {
            let counted = matrix.cell(Load::Unloaded, combination);
            let counted = counted.and_then(|cell| cell.verdict);
            let words =
                counted.map_or_else(String::new, |it| format!(": {}", verdict::describe(&it)));
            let what = combination.words();
            format!("The cheapest tuning that keeps it here is {combination} ({what}){words}.")
        }
        (None, Some(Combination::NONE)) => NOTHING_NEEDED.to_owned(),
        (None, Some(kept)) => {
            let what = match seen.ordinary {
                true => kept.words(),
                false => asked_for(check),
            };
            format!("The cheapest tuning that keeps it here is {what}: less ({less}) does not.")
        }
        (None, None) => format!(
            "Nothing that was tried ({less}) keeps it here; `kadenz doctor` states what costs so much on \
             this machine."
        ),
    }
}

/// "what was requested (SCHED_FIFO 80)".
fn asked_for(check: &Summary) -> String {
    let measures = |it: &SeriesSummary| it.series.tuning.clone();
    let tuning = check.named(REALTIME).map(measures).unwrap_or_default();
    match tuning.iter().find(|it| it.name == "policy") {
        Some(policy) => format!("what was requested ({})", policy.requested),
        None => "what was requested".to_owned(),
    }
}

/// Benefit and cost of holding idle states off, from the pairs of cells that differ in it alone, or why it could not be
/// measured.
fn words_of_idle(matrix: &Matrix, run: &Summary) -> Option<String> {
    let mut all = matrix.contributions.iter();
    let effect = all.find(|it| {
        it.measure == Measure::Idle && it.figure == EffectFigure::P99 && it.ratio.is_some()
    });
    if let Some(effect) = effect {
        let words = words::effect(effect.figure, effect.load, effect.ratio.as_ref());
        let longer = match effect.ratio.and_then(|it| it.interval) {
            Some(_) => "",
            None => "; `kadenz tune --load none --cells PM,PMI` measures it for longer",
        };
        return Some(format!(
            "Holding idle states off (I, --cpu-dma-latency 0us): {words}{longer}. It costs power: no idle CPU \
             of the machine then enters a state that takes time to leave."
        ));
    }
    let mut refused = run.run.tune.as_ref()?.not_granted.iter();
    let own = refused.find(|it| it.measure == Measure::Idle)?;
    Some(format!("Idle states were not held off: {}.", own.sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check under `--cpu-dma-latency 0us` gives no result for a machine without it.
    #[test]
    fn what_kept_it_with_idle_states_held_off_has_an_i() {
        let kept = |ordinary, realtime, held| {
            let kept = DeadlinesKept {
                ordinary,
                realtime,
                held,
            };
            kept.combination().map(|it| it.to_string())
        };
        assert_eq!(kept(true, true, false).as_deref(), Some("none"));
        assert_eq!(kept(true, true, true).as_deref(), Some("I"));
        assert_eq!(kept(false, true, true).as_deref(), Some("PMI"));
        assert_eq!(kept(false, false, true), None);
    }
}
