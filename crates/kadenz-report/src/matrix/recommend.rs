//! The cheapest combination that keeps the deadline, or the best known one where none does.

use std::cmp::Ordering;

use super::cell::{self, Cell};
use super::permanent::Permanent;
use super::words;
use crate::statistics::Percent;
use crate::verdict::Plan;
use kadenz_record::run::matrix::{Combination, Load};
use schemars::JsonSchema;
use serde::Serialize;

/// The recommendation of a matrix.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(into = "RecommendationOutput")]
#[schemars(from = "RecommendationOutput")]
pub struct Recommendation {
    /// Whether the named combination keeps the deadline.
    pub standing: RecommendationStanding,
    /// The combination that it names; absent where there is none.
    pub combination: Option<Combination>,
    /// The answer in words: a paragraph, then one for each further note.
    pub sentences: Vec<String>,
    /// How to use the combination; absent where nothing is needed, or nothing can be recommended.
    pub permanent: Option<Permanent>,
}

/// Whether a combination keeps the deadline, as far as the samples show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecommendationStanding {
    /// The combination keeps it, by as many samples as the claim needs.
    Keeps,
    /// The combination kept it so far; under some load the claim needs this many more samples.
    SoFar {
        /// Samples that the claim still needs.
        more: u64,
    },
    /// None keeps it; the combination comes closest.
    NoneKeeps,
    /// There is no deadline, or no cell with a result.
    Unknown,
}

/// What the matrix recommends.
#[derive(Serialize, JsonSchema)]
struct RecommendationOutput {
    /// keeps: the cheapest cell without a miss in enough samples. so_far: without a miss, but in too few.
    /// none_keeps: the cell that comes closest.
    #[schemars(extend("enum" = ["keeps", "so_far", "none_keeps", "unknown"]))]
    standing: &'static str,
    /// The cell that it names.
    cell: Option<Combination>,
    /// Whether the cell keeps the deadline.
    keeps: bool,
    /// Under the load with the most missing; `null` where more samples would not help.
    samples_missing: Option<u64>,
    /// The recommendation in words.
    sentence: String,
    /// How to run with it; `null` where nothing is needed, or nothing can be recommended.
    command: Option<String>,
    /// A systemd unit that runs a program with the combination; `null` where there is none to give.
    unit: Option<String>,
    /// Kernel parameters for cells with C.
    kernel_parameters: Option<String>,
    /// For cells with I: how to turn idle states off without `kadenz run`.
    idle_states: Option<String>,
}

impl From<Recommendation> for RecommendationOutput {
    fn from(recommendation: Recommendation) -> Self {
        let (standing, samples_missing) = match recommendation.standing {
            RecommendationStanding::Keeps => ("keeps", Some(0)),
            RecommendationStanding::SoFar { more } => ("so_far", Some(more)),
            RecommendationStanding::NoneKeeps => ("none_keeps", None),
            RecommendationStanding::Unknown => ("unknown", None),
        };
        let permanent = recommendation.permanent.as_ref();
        Self {
            standing,
            cell: recommendation.combination,
            keeps: recommendation.standing == RecommendationStanding::Keeps,
            samples_missing,
            sentence: recommendation.sentences.join(" "),
            command: permanent.map(|it| it.command.clone()),
            unit: permanent.map(|it| it.unit.clone()),
            kernel_parameters: permanent.and_then(|it| it.kernel_parameters.clone()),
            idle_states: permanent.and_then(|it| it.idle_states.clone()),
        }
    }
}

/// The input of a recommendation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    pub(super) cells: &'a [Cell],
    /// The loads with samples.
    pub(super) loads: &'a [Load],
    /// The requested loads without samples.
    pub(super) missing_loads: &'a [Load],
    pub(super) interval_ns: Option<u64>,
    pub(super) deadline_ns: Option<u64>,
    /// The share of wake-ups that must keep it.
    pub(super) claim: Percent,
}

/// A combination with its results under all measured loads.
#[derive(Clone, Debug)]
pub(super) struct CombinationCandidate<'a> {
    pub(super) combination: Combination,
    /// Its cells with samples, one per load.
    pub(super) cells: Vec<&'a Cell>,
    pub(super) keeping: Keeping,
}

/// The result of a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeping {
    Keeps,
    SoFar {
        more: u64,
    },
    Misses,
    /// It was not in force, so its cells give no result for it.
    NotGranted,
    /// Under some measured load it has no samples.
    NotMeasured,
}

impl<'a> Question<'a> {
    /// Every combination in the run, the cheapest first.
    fn candidates(&self) -> Vec<CombinationCandidate<'a>> {
        let needed = self.samples_needed();
        let all = cell::combinations(self.cells).into_iter();
        all.map(|combination| self.candidate(combination, needed))
            .collect()
    }

    /// Samples without a miss that the claim needs.
    pub(super) fn samples_needed(&self) -> u64 {
        Plan::new(self.claim, 0).samples
    }

    fn candidate(&self, combination: Combination, needed: u64) -> CombinationCandidate<'a> {
        let own = || {
            self.cells
                .iter()
                .filter(|cell| cell.combination == combination)
        };
        let cells: Vec<&Cell> = own().filter(|cell| cell.lateness.count > 0).collect();
        let missed = |cell: &&Cell| cell.verdict.is_none_or(|verdict| verdict.misses > 0);
        let fewest = cells
            .iter()
            .map(|cell| cell.lateness.count)
            .min()
            .unwrap_or(0);
        let keeping = if own().any(|cell| !cell.granted) {
            Keeping::NotGranted
        } else if cells.iter().any(missed) {
            Keeping::Misses
        } else if cells.len() < self.loads.len() || cells.is_empty() {
            Keeping::NotMeasured
        } else if fewest < needed {
            Keeping::SoFar {
                more: needed - fewest,
            }
        } else {
            Keeping::Keeps
        };
        CombinationCandidate {
            combination,
            cells,
            keeping,
        }
    }

    /// The recommendation that follows. `permanent` makes the commands of a combination.
    pub(super) fn answer(
        &self,
        permanent: impl Fn(Combination) -> Option<Permanent>,
    ) -> Recommendation {
        let candidates = self.candidates();
        let chosen = self.deadline_ns.and_then(|_| choose(&candidates));
        let Some((standing, best)) = chosen else {
            return Recommendation {
                standing: RecommendationStanding::Unknown,
                combination: None,
                sentences: words::unknown(self, &candidates),
                permanent: None,
            };
        };
        let of_use = standing != RecommendationStanding::NoneKeeps;
        Recommendation {
            standing,
            combination: Some(best.combination),
            sentences: words::recommendation(self, standing, best, &candidates),
            permanent: of_use.then(|| permanent(best.combination)).flatten(),
        }
    }
}

/// Chooses, from candidates in ascending cost, the first that keeps the deadline, otherwise the first that kept it so
/// far, otherwise the one that comes closest.
fn choose<'a, 'b>(
    candidates: &'b [CombinationCandidate<'a>],
) -> Option<(RecommendationStanding, &'b CombinationCandidate<'a>)> {
    let keeps = candidates.iter().find(|c| c.keeping == Keeping::Keeps);
    if let Some(candidate) = keeps {
        return Some((RecommendationStanding::Keeps, candidate));
    }
    let so_far = |candidate: &'b CombinationCandidate<'a>| match candidate.keeping {
        Keeping::SoFar { more } => Some((RecommendationStanding::SoFar { more }, candidate)),
        _ => None,
    };
    candidates.iter().find_map(so_far).or_else(|| {
        let missing = candidates.iter().filter(|c| c.keeping == Keeping::Misses);
        let closest = missing.min_by(|a, b| by_shortfall(a.shortfall(), b.shortfall()))?;
        Some((RecommendationStanding::NoneKeeps, closest))
    })
}

impl CombinationCandidate<'_> {
    /// The worst cell: the one with the highest rate of misses, then the largest lateness.
    pub(super) fn worst(&self) -> Option<&Cell> {
        let cells = self.cells.iter();
        let worst = cells.max_by(|a, b| by_shortfall(shortfall(a), shortfall(b)));
        worst.copied()
    }

    /// How far it is from keeping the deadline: the rate of misses and the largest lateness of its worst cell.
    fn shortfall(&self) -> (f64, i64) {
        self.worst().map_or((f64::INFINITY, i64::MAX), shortfall)
    }
}

fn shortfall(cell: &Cell) -> (f64, i64) {
    let rate = cell.verdict.map_or(1.0, |verdict| verdict.rate);
    (rate, cell.lateness.max_ns.unwrap_or(i64::MAX))
}

fn by_shortfall(a: (f64, i64), b: (f64, i64)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}
