//! What was asked of a machine against what it granted, on standard error.

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use kadenz_lab::session;
use kadenz_record::run::model::TuningMeasure;
use kadenz_rt::tuning::Measure;

use crate::output;

/// Measures as run.json and every JSON answer hold them.
pub(crate) fn recorded(measures: &[Measure]) -> Vec<TuningMeasure> {
    measures.iter().map(session::measure_of).collect()
}

/// A compact table, and below it what was refused with its remedy. Nothing asked for, nothing said.
pub(crate) fn tell(measures: &[TuningMeasure]) {
    if measures.is_empty() {
        return;
    }
    output::note(&table(measures));
    for measure in measures {
        let Some(reason) = &measure.reason else {
            continue;
        };
        output::note(&format!("{}: {reason}", measure.name));
        if let Some(remedy) = &measure.remedy {
            output::note(&format!("  remedy: {remedy}"));
        }
    }
}

fn table(measures: &[TuningMeasure]) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["measure", "requested", "granted", ""]);
    for measure in measures {
        table.add_row([
            measure.name.as_str(),
            &measure.requested,
            &measure.granted,
            if measure.ok { "ok" } else { "REFUSED" },
        ]);
    }
    table.trim_fmt()
}
