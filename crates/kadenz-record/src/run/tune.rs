//! The request of a run of `kadenz tune`: a matrix of combinations under loads.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::matrix::{Combination, Content, Load, Measure, name_of, of_series};
use super::model::Run;
use crate::histogram::Percent;

/// The experiment's name in `run.json`.
pub const EXPERIMENT: &str = "tune";
/// P: the default priority.
pub const DEFAULT_PRIORITY: u8 = 80;

/// The request of a matrix, and the measures of it that this machine does not grant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tune {
    /// The share of wake-ups that is to keep the deadline, as a percentage.
    pub claim_percent: Percent,
    /// The loads, in turn.
    pub loads: Vec<Load>,
    /// The requested combinations, also those that the machine does not grant.
    pub cells: Vec<Combination>,
    /// P: the `SCHED_FIFO` priority.
    pub priority: u8,
    /// C: the shielded CPUs; empty where there is none to give away.
    #[serde(default)]
    pub shield: BTreeSet<u32>,
    /// The measures that the machine does not grant, each with the reason.
    #[serde(default)]
    pub not_granted: Vec<NotGranted>,
}

/// An unavailable measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotGranted {
    /// The measure that was requested.
    pub measure: Measure,
    /// The reason and the remedy, in a sentence.
    pub sentence: String,
}

impl Default for Tune {
    /// The request of a run that states none, from before there was I.
    fn default() -> Self {
        Self {
            claim_percent: Percent::P99_99,
            loads: Vec::new(),
            cells: Combination::YOON2009.to_vec(),
            priority: DEFAULT_PRIORITY,
            shield: BTreeSet::new(),
            not_granted: Vec::new(),
        }
    }
}

/// Fills in what older runs of a matrix keep among the parameters: the request, and the rounds of each series
/// (`rounds_done`). No other code parses these.
pub(crate) fn tune_by_parameters(run: &mut Run) {
    if run.experiment != EXPERIMENT {
        return;
    }
    if run.tune.is_none() {
        run.tune = Some(of_parameters(&run.parameters));
    }
    let Some(Value::Object(rounds)) = run.parameters.remove("rounds_done") else {
        return;
    };
    for series in &mut run.series {
        series.files.hlog_parts = of_series(series).and_then(|(load, cell, _)| {
            let rounds = rounds.get(&name_of(load, cell, Content::Lateness))?;
            u32::try_from(rounds.as_u64()?).ok()
        });
    }
}

fn of_parameters(parameters: &BTreeMap<String, Value>) -> Tune {
    let text = |name: &str| match parameters.get(name) {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let (loads, cells) = (text("loads"), text("cells_asked"));
    let loads: Vec<&str> = loads.split(',').map(str::trim).collect();
    let cells: Result<_, _> = cells.split(',').map(str::parse).collect();
    let claim = text("confidence").trim_end_matches('%').trim().parse();
    let priority = text("priority").parse();
    let refused = parameters.get("not_granted").and_then(Value::as_array);
    let sentences = refused.into_iter().flatten().filter_map(Value::as_str);
    let not_granted = sentences.filter_map(|sentence| {
        let (letter, _) = sentence.split_once(' ')?;
        let mut measures = Measure::ALL.into_iter();
        Some(NotGranted {
            measure: measures.find(|it| letter.chars().eq([it.letter()]))?,
            sentence: sentence.to_owned(),
        })
    });
    let unsaid = Tune::default();
    Tune {
        claim_percent: claim.unwrap_or(unsaid.claim_percent),
        loads: Load::ALL
            .into_iter()
            .filter(|it| loads.contains(&it.name()))
            .collect(),
        cells: cells.unwrap_or(unsaid.cells),
        priority: priority
            .ok()
            .filter(|it| (1..=99).contains(it))
            .unwrap_or(unsaid.priority),
        shield: cpus(&text("shield")).unwrap_or_default(),
        not_granted: not_granted.collect(),
    }
}

/// The CPUs of a list such as `1,3-5`; absent if the text is not a list.
fn cpus(text: &str) -> Option<BTreeSet<u32>> {
    let number = |text: &str| text.trim().parse::<u16>().ok().map(u32::from);
    let mut cpus = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last || cpus.len() > usize::from(u16::MAX) {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::matrix::labels_of;
    use crate::run::model::Series;

    fn of(parameters: &[(&str, Value)]) -> Tune {
        let own = |(name, value): &(&str, Value)| ((*name).to_owned(), value.clone());
        let mut run = Run {
            experiment: EXPERIMENT.to_owned(),
            parameters: parameters.iter().map(own).collect(),
            ..Run::default()
        };
        tune_by_parameters(&mut run);
        run.tune.expect("a matrix")
    }

    #[test]
    fn texts_of_before_there_was_a_request_are_understood() {
        let refusal = "I cannot be had here, combinations with it are left out: no right";
        let tune = of(&[
            ("confidence", "99.9%".into()),
            ("loads", "unloaded, heavy".into()),
            ("cells_asked", "none,PMI".into()),
            ("priority", "70".into()),
            ("shield", "5, 2-3,3".into()),
            ("not_granted", serde_json::json!([refusal, "nonsense", 1])),
        ]);
        let expected = Tune {
            claim_percent: Percent::P99_9,
            loads: Load::ALL.to_vec(),
            cells: vec![Combination::NONE, "PMI".parse().unwrap()],
            priority: 70,
            shield: [2, 3, 5].into(),
            not_granted: vec![NotGranted {
                measure: Measure::Idle,
                sentence: refusal.to_owned(),
            }],
        };
        assert_eq!(tune, expected);
        let json = serde_json::to_value(&tune).unwrap();
        assert_eq!(json["claim_percent"], 99.9);
        assert_eq!(json["cells"][1], "PMI");
        assert_eq!(serde_json::from_value::<Tune>(json).unwrap(), tune);
    }

    #[test]
    fn rounds_done_of_an_older_run_becomes_hlog_parts() {
        let series = |content| {
            let (load, cell) = (Load::Heavy, Combination::NONE);
            Series {
                labels: labels_of(load, cell, content),
                ..Series::default()
            }
        };
        let mut run = Run {
            experiment: EXPERIMENT.to_owned(),
            parameters: [(
                "rounds_done".to_owned(),
                serde_json::json!({"heavy-none": 3}),
            )]
            .into(),
            series: vec![
                series(Content::Lateness),
                series(Content::Jitter),
                Series::default(),
            ],
            ..Run::default()
        };
        tune_by_parameters(&mut run);
        let parts: Vec<_> = run.series.iter().map(|it| it.files.hlog_parts).collect();
        assert_eq!(parts, [Some(3), Some(3), None]);
        assert!(run.parameters.is_empty());
    }

    #[test]
    fn what_was_no_text_of_its_kind_is_what_was_not_said() {
        assert_eq!(of(&[]), Tune::default());
        for hostile in [
            "1; reboot",
            "$(reboot)",
            "-1",
            "1-",
            "3-1",
            "99999",
            "</script>",
        ] {
            let all = ["confidence", "loads", "cells_asked", "priority", "shield"];
            let values = all.map(|name| (name, hostile.into()));
            assert_eq!(of(&values), Tune::default(), "{hostile}");
        }
        let nested = serde_json::json!([1]);
        assert_eq!(of(&[("loads", nested)]), Tune::default());
        assert_eq!(of(&[("shield", 1.into())]).shield, [1].into());
    }
}
