//! What is told at the end: what was asked for, and what was measured.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use kadenz_lab::load::{LoadRates, Rate};
use kadenz_report::document::Version;
use kadenz_report::numbers;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{self, Outcome};

/// What each load was asked for and did; docs/load.md tells more.
#[derive(Serialize, JsonSchema)]
pub(super) struct Told<'a> {
    /// A reader that knows another must refuse.
    version: Version<1>,
    /// The loads, in the order in which they were asked for.
    loads: Vec<ToldLoad<'a>>,
}

/// A load.
#[derive(Serialize, JsonSchema)]
struct ToldLoad<'a> {
    /// Its name.
    kind: &'static str,
    /// What it was asked for, in words.
    asked: &'a str,
    /// What it did.
    rates: Vec<ToldRate<'a>>,
    /// Why it did not do its work throughout; absent if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<&'a str>,
}

/// How much of its work it did a second.
#[derive(Serialize, JsonSchema)]
struct ToldRate<'a> {
    /// What was counted.
    name: &'a str,
    /// In what it was counted.
    unit: &'a str,
    /// Mean over all seconds.
    mean: f64,
    /// Of the second with the least; null where no second was whole.
    min: Option<f64>,
    /// Of the second with the most.
    max: Option<f64>,
    /// Whole seconds that were counted.
    seconds: u64,
}

/// Tells it, and whether every load did its work throughout.
pub(super) fn tell(loads: &[LoadRates]) -> anyhow::Result<Outcome> {
    if output::is_json() {
        let loads = loads.iter().map(told).collect();
        output::json(&Told {
            version: Version,
            loads,
        })?;
    } else {
        output::say(&words(loads));
    }
    let mut outcome = Outcome::Kept;
    for load in loads {
        if let Some(trouble) = &load.trouble {
            output::note(&format!("{}: {trouble}", load.kind));
            outcome = Outcome::Incomplete;
        }
    }
    Ok(outcome)
}

fn told(load: &LoadRates) -> ToldLoad<'_> {
    let rates = load.rates.iter().map(|rate| ToldRate {
        name: &rate.name,
        unit: &rate.unit,
        mean: rate.mean,
        min: rate.min,
        max: rate.max,
        seconds: rate.seconds,
    });
    ToldLoad {
        kind: load.kind.name(),
        asked: &load.asked,
        rates: rates.collect(),
        trouble: load.trouble.as_deref(),
    }
}

/// What was asked for, a line each, and what was measured as a table.
fn words(loads: &[LoadRates]) -> String {
    let asked = loads.iter();
    let asked: Vec<String> = asked
        .map(|load| format!("{}: {}", load.kind, load.asked))
        .collect();
    format!("{}\n\n{}", asked.join("\n"), table(loads))
}

fn table(loads: &[LoadRates]) -> Table {
    let mut table = Table::new();
    let style = match table.is_tty() {
        true => presets::UTF8_FULL_CONDENSED,
        false => presets::ASCII_MARKDOWN,
    };
    table
        .load_style(style)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["load", "measured", "min", "mean", "max", "unit", "seconds"]);
    for load in loads {
        for rate in &load.rates {
            table.add_row(row(load, rate));
        }
    }
    for column in [2, 3, 4, 6] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn row(load: &LoadRates, rate: &Rate) -> Vec<String> {
    let unknown = || "-".to_owned();
    vec![
        load.kind.to_string(),
        rate.name.clone(),
        rate.min.map_or_else(unknown, number),
        number(rate.mean),
        rate.max.map_or_else(unknown, number),
        rate.unit.clone(),
        rate.seconds.to_string(),
    ]
}

/// Three digits that count, and thousands parted: `0.98`, `612`, `48,213`.
pub(super) fn number(value: f64) -> String {
    if value >= 999.5 {
        numbers::thousands(value.round() as u64)
    } else {
        numbers::three_digits(value)
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_as_long_as_they_say_something() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(1.984), "1.98");
        assert_eq!(number(612.4), "612");
        assert_eq!(number(999.7), "1,000");
        assert_eq!(number(1_048_576.2), "1,048,576");
    }
}
