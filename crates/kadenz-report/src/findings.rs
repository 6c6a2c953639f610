//! Findings that spoil or limit a result, each stated once for all that it concerns.

use kadenz_record::run::model::{TuningMeasure, Warning};

use crate::document::Finding;
use crate::figures::capitalised;
use crate::summary::{SeriesSummary, Summary};

/// Warnings of minor costs or absences, which do not make the result doubtful.
const MINOR: [&str; 4] = ["doctor_costs", "c_states", "no_network", "no_messages"];

/// The findings of series' measures and of runs' warnings, each with the names of what it concerns, the serious ones
/// first. A warning of a refusal that a measure states is left out.
pub(crate) fn findings<'f>(
    series: impl Iterator<Item = (&'f SeriesSummary, &'f str)>,
    runs: impl Iterator<Item = (&'f Summary, Option<&'f str>)>,
) -> Vec<Finding> {
    let measures = series.flat_map(|(it, name)| it.series.tuning.iter().map(move |it| (it, name)));
    let measures: Vec<(&TuningMeasure, &str)> = measures.collect();
    let warnings = runs.flat_map(|(it, name)| it.warnings.iter().map(move |it| (it, name)));
    let mut found: Vec<Finding> = Vec::new();
    for (measure, series) in &measures {
        if let Some(finding) = Finding::of_measure(measure) {
            add(&mut found, finding, Some(series));
        }
    }
    for (warning, run) in warnings {
        let same = |it: &TuningMeasure| !it.ok && warning.tuning.as_ref() == Some(&it.name);
        if !measures.iter().any(|(it, _)| same(it)) {
            add(&mut found, Finding::of_warning(warning), run);
        }
    }
    found.sort_by_key(|it| !it.is_serious);
    found
}

fn add(found: &mut Vec<Finding>, finding: Finding, concerned: Option<&str>) {
    let place = found.iter().position(|it| it.is_same(&finding));
    let place = place.unwrap_or(found.len());
    if place == found.len() {
        found.push(finding);
    }
    let known = &mut found[place].concerned;
    known.extend(
        concerned
            .map(str::to_owned)
            .filter(|it| !known.contains(it)),
    );
}

impl Finding {
    /// A measure that was refused, or granted with a reason to read.
    pub(crate) fn of_measure(measure: &TuningMeasure) -> Option<Self> {
        let name = measure.name.replace('_', " ");
        let (title, text) = match (&measure.reason, measure.ok) {
            (None, true) => return None,
            (Some(reason), true) => (first_clause(reason), reason.clone()),
            (reason, false) => {
                let (asked, granted) = (&measure.requested, &measure.granted);
                let title = format!("{name}: {asked} was requested and not granted");
                let why = reason
                    .as_ref()
                    .map_or_else(String::new, |it| format!(": {it}"));
                let text = format!("{title} ({granted} is in force){why}");
                (title, text)
            }
        };
        Some(Self {
            title: capitalised(&title),
            text,
            remedy: measure.remedy.clone(),
            is_serious: true,
            concerned: Vec::new(),
        })
    }

    pub(crate) fn of_warning(warning: &Warning) -> Self {
        Self {
            title: capitalised(first_clause(&warning.text).trim_end_matches(['.', ' '])),
            text: warning.text.clone(),
            remedy: warning.remedy.clone(),
            is_serious: !MINOR.contains(&warning.id.as_str()),
            concerned: Vec::new(),
        }
    }

    /// Whether both say the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.text == other.text && self.remedy == other.remedy
    }
}

/// A sentence up to its explanation.
fn first_clause(text: &str) -> String {
    let ends = [": ", "; ", " (", ". "]
        .iter()
        .filter_map(|it| text.find(it));
    text[..ends.min().unwrap_or(text.len())].to_owned()
}
