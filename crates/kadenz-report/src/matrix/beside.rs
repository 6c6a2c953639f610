//! The control periods of one run, in the rows of Yoon's figures 7 and 8.

use kadenz_record::run::matrix::{Combination, Load, Measure};
use kadenz_record::run::model::TuningMeasure;

use super::period::{Periods, shares};
use super::yoon2009;
use crate::document::{Document, Table};
use crate::numbers;

/// A combination without the measures that the system refused.
#[must_use]
pub fn granted(asked: Combination, measures: &[TuningMeasure]) -> Combination {
    let refused = measures.iter().filter(|it| !it.ok);
    let refused = refused.filter_map(|it| match it.name.as_str() {
        "policy" => Some(Measure::Priority),
        "memory_lock" => Some(Measure::Memory),
        "shield" | "shield_entered" => Some(Measure::Cpu),
        "cpu_dma_latency" => Some(Measure::Idle),
        _ => None,
    });
    refused.fold(asked, Combination::without)
}

impl Periods {
    /// A table in Yoon's rows, with the published column of the combination under the load. Where Yoon measured no such
    /// combination, or no such load, the table holds these periods alone.
    #[must_use]
    pub fn beside_yoon2009(&self, combination: Combination, load: Option<Load>) -> Document {
        let column = Combination::YOON2009
            .iter()
            .position(|it| *it == combination);
        let published = load.zip(column);
        let shares = shares().map(Some).chain([None]);
        let rows = shares.enumerate().map(|(place, share)| {
            let us = |ns: f64| format!("{:.1}", ns / 1e3);
            let ours = self.row(share);
            let ours = ours.map(|it| [us(it.max_ns), us(it.mean_ns), us(it.stddev_ns)]);
            let mut row = vec![share.map_or_else(|| "all".to_owned(), |it| format!("low {it} %"))];
            row.extend(ours.unwrap_or_else(|| ["-"; 3].map(str::to_owned)));
            if let Some((load, column)) = published {
                let yoon = &yoon2009::table(load).rows[place];
                let yoon = [yoon.max_us, yoon.mean_us, yoon.stddev_us];
                row.extend(yoon.map(|it| format!("{:.1}", it[column])));
            }
            row
        });
        let mut head = vec!["periods, us", "max", "mean", "SD"];
        let about = match published {
            Some((load, _)) => {
                head.extend(["Yoon2009: max", "mean", "SD"]);
                let figure = yoon2009::table(load).figure;
                format!(
                    "figure {figure} of Yoon, column {combination}; its period is 1 ms, its robot had 59 devices, 10 minutes a \
                     column"
                )
            }
            None => "Yoon has no such column".to_owned(),
        };
        let shortest = numbers::value(self.min_ns);
        let caption = format!("Control periods; the shortest was {shortest}");
        let table = Table::new(&head, 1, rows.collect());
        Document::from(caption).table(table).sentence(about)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_measure_is_not_in_the_column() {
        let measure = |name: &str, ok| TuningMeasure {
            ok,
            ..TuningMeasure::granted(name, "")
        };
        let asked = [Measure::Priority, Measure::Memory, Measure::Cpu];
        let asked = asked.into_iter().fold(Combination::NONE, Combination::with);
        let of = |measures: &[TuningMeasure]| granted(asked, measures).to_string();
        assert_eq!(of(&[measure("policy", true)]), "PMC");
        assert_eq!(of(&[measure("policy", false)]), "MC");
        let both = [measure("memory_lock", false), measure("policy", false)];
        assert_eq!(of(&both), "C");
        assert_eq!(of(&[measure("shield_entered", false)]), "PM");
        assert_eq!(of(&[measure("sleeper", false)]), "PMC");
    }
}
