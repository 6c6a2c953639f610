//! The effect of each measure: ratios over all pairs of cells that differ in it alone.

use super::cell::Cell;
use super::ratio::{BootstrapFigure, Figures, Ratio, ratio};
use super::words;
use kadenz_record::run::matrix::{Combination, Load, Measure};
use schemars::JsonSchema;
use serde::Serialize;

/// A figure of the lateness that a measure may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum EffectFigure {
    /// The 99th percentile.
    #[serde(rename = "p99")]
    P99,
    /// The 99.9th percentile.
    #[serde(rename = "p99.9")]
    P99_9,
    /// The maximum, which has no interval.
    #[serde(rename = "max")]
    Max,
}

impl EffectFigure {
    /// All figures, the 99th percentile first.
    pub const ALL: [Self; 3] = [Self::P99, Self::P99_9, Self::Max];

    /// `p99`, `p99.9`, `max`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::P99 => "p99",
            Self::P99_9 => "p99.9",
            Self::Max => "max",
        }
    }
}

/// The effect of a measure under a load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Contribution {
    /// The measure whose effect this is.
    pub measure: Measure,
    /// The load under which the cells were compared.
    pub load: Load,
    /// The figure of the lateness that is compared.
    pub figure: EffectFigure,
    /// The geometric mean of the ratio of the figure with the measure to the figure without it: below 1 it helped.
    /// Absent where no pair of cells supports the figure.
    #[serde(rename = "effect")]
    pub ratio: Option<Ratio>,
    /// The cells that differ in this measure alone: without it, and with it. A cell that was not granted all
    /// its measures is in no pair.
    #[schemars(length(min = 1))]
    pub pairs: Vec<(Combination, Combination)>,
    /// The effect in words.
    pub sentence: String,
}

/// A cell with its draws.
pub(super) struct Drawn<'a> {
    pub(super) cell: &'a Cell,
    pub(super) figures: &'a Figures,
}

impl Drawn<'_> {
    fn figure(&self, figure: EffectFigure) -> Option<BootstrapFigure> {
        match figure {
            EffectFigure::P99 => self.figures.p99.clone(),
            EffectFigure::P99_9 => self.figures.p99_9.clone(),
            EffectFigure::Max => self.cell.lateness.max_ns.map(|max| BootstrapFigure {
                value_ns: max as f64,
                draws: Vec::new(),
            }),
        }
    }
}

/// The effects of all measures under a load, each with all figures. A measure without a pair under the load is left
/// out.
pub(super) fn contributions(load: Load, cells: &[Drawn<'_>], floor_ns: f64) -> Vec<Contribution> {
    let mut all = Vec::new();
    for measure in Measure::ALL {
        let pairs = pairs(measure, load, cells);
        if pairs.is_empty() {
            continue;
        }
        for figure in EffectFigure::ALL {
            all.push(contribution(measure, load, figure, &pairs, floor_ns));
        }
    }
    all
}

type Pair<'a> = (&'a Drawn<'a>, &'a Drawn<'a>);

fn pairs<'a>(measure: Measure, load: Load, cells: &'a [Drawn<'a>]) -> Vec<Pair<'a>> {
    let usable = |cell: &&Drawn<'_>| cell.cell.load == load && cell.cell.granted;
    let with = |without: &Drawn<'_>| {
        let wanted = without.cell.combination.with(measure);
        let mut partners = cells.iter().filter(usable);
        partners.find(|partner| partner.cell.combination == wanted)
    };
    cells
        .iter()
        .filter(usable)
        .filter(|cell| !cell.cell.combination.has(measure))
        .filter_map(|without| Some((without, with(without)?)))
        .collect()
}

fn contribution(
    measure: Measure,
    load: Load,
    figure: EffectFigure,
    pairs: &[Pair<'_>],
    floor_ns: f64,
) -> Contribution {
    let figures: Vec<(BootstrapFigure, BootstrapFigure)> = pairs
        .iter()
        .filter_map(|(without, with)| without.figure(figure).zip(with.figure(figure)))
        .collect();
    let of_figures: Vec<(&BootstrapFigure, &BootstrapFigure)> =
        figures.iter().map(|(a, b)| (a, b)).collect();
    let ratio = ratio(&of_figures, floor_ns);
    let effect = words::effect(figure, load, ratio.as_ref());
    Contribution {
        measure,
        load,
        figure,
        ratio,
        sentence: format!("{}: {effect}", measure.letter()),
        pairs: pairs
            .iter()
            .map(|(a, b)| (a.cell.combination, b.cell.combination))
            .collect(),
    }
}
