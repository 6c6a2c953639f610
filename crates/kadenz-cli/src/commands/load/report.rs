//! The report at the end: requested loads, and their measured work.

use kadenz::lab::load::{LoadRates, Rate};
use kadenz::report::document::{Answer, Document, Table, Version};
use kadenz::report::numbers;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{self, Outcome};

/// Each load as requested and as measured; docs/load.md explains it.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct LoadReport<'a> {
    /// A reader must refuse an unknown version.
    version: Version<1>,
    /// The loads, in the order of the request.
    loads: &'a [LoadRates],
}

/// Prints the report; the outcome is whether every load worked throughout.
pub(super) fn print_result(loads: &[LoadRates]) -> anyhow::Result<Outcome> {
    output::answer(&LoadReport {
        version: Version,
        loads,
    })?;
    let mut outcome = Outcome::Kept;
    for load in loads {
        if let Some(trouble) = &load.trouble {
            output::note(&format!("{}: {trouble}", load.kind));
            outcome = Outcome::Incomplete;
        }
    }
    Ok(outcome)
}

impl Answer for LoadReport<'_> {
    /// The requested loads, a line each, and the measured work as a table.
    fn document(&self) -> Document {
        let loads = self.loads.iter();
        let asked = loads.map(|load| format!("{}: {}", load.kind, load.asked));
        let rows = self.loads.iter().flat_map(|load| {
            let rates = load.rates.iter();
            rates.map(|rate| row(load, rate))
        });
        let head = ["load", "measured", "unit", "min", "mean", "max", "seconds"];
        let table = Table::new(&head, 3, rows.collect());
        asked.fold(Document::new(), Document::sentence).table(table)
    }
}

fn row(load: &LoadRates, rate: &Rate) -> Vec<String> {
    let unknown = || "-".to_owned();
    vec![
        load.kind.to_string(),
        rate.name.clone(),
        rate.unit.clone(),
        rate.min.map_or_else(unknown, number),
        number(rate.mean),
        rate.max.map_or_else(unknown, number),
        rate.seconds.to_string(),
    ]
}

/// Three significant digits, with separated thousands: `0.98`, `612`, `48,213`.
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
