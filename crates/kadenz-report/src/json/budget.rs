//! Where a deadline's time goes, as JSON.

use serde::Serialize;

use crate::verdict::budget::{Budget, Layer};

/// The layers of a round trip against the deadline. Percentiles of layers do not add up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BudgetOutput {
    /// The budget in words.
    pub sentence: String,
    /// The deadline.
    pub limit_ns: u64,
    /// Packets it rests on.
    pub packets: u64,
    /// Packets that were never answered; they count as longer than any that was.
    pub unanswered: u64,
    /// From a packet's beat until its answer was there.
    pub whole: LayerOutput,
    /// Its parts, in the order in which a packet meets them.
    pub layers: Vec<LayerOutput>,
    /// What is left of the deadline after 99.9 % of all packets; below zero if nothing is.
    pub left_p99_9_ns: Option<i64>,
    /// What is left after the longest round trip; `null` where a packet was never answered.
    pub left_max_ns: Option<i64>,
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerOutput {
    /// In words.
    pub name: &'static str,
    /// The series it was measured in.
    pub series: &'static str,
    /// Median.
    pub p50_ns: Option<i64>,
    /// 99.9th percentile.
    pub p99_9_ns: Option<i64>,
    /// Largest value.
    pub max_ns: Option<i64>,
    /// What of each is wire, computed; `null` where that is not known, or there is none.
    pub wire_ns: Option<i64>,
}

impl BudgetOutput {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            sentence: budget.to_string(),
            limit_ns: budget.limit_ns,
            packets: budget.packets,
            unanswered: budget.unanswered,
            whole: LayerOutput::new(&budget.whole),
            layers: budget.layers.iter().map(LayerOutput::new).collect(),
            left_p99_9_ns: budget.left_p99_9_ns(),
            left_max_ns: budget.left_max_ns(),
        }
    }
}

impl LayerOutput {
    fn new(layer: &Layer) -> Self {
        let Layer {
            name,
            series,
            p50_ns,
            p99_9_ns,
            max_ns,
            wire_ns,
        } = *layer;
        Self {
            name,
            series,
            p50_ns,
            p99_9_ns,
            max_ns,
            wire_ns,
        }
    }
}
