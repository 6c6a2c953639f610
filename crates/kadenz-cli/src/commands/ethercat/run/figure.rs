//! Control periods beside those of Yoon's figures 7 and 8.

use kadenz::ethercat::CycleSeries;
use kadenz::lab::measuring::Measuring;
use kadenz::record::run::model::TuningMeasure;
use kadenz::report::document::{Document, Table};
use kadenz::report::matrix::yoon2009;
use kadenz::report::matrix::{Combination, Load, Measure, Periods};
use kadenz::report::numbers;
use kadenz::report::statistics::Percent;
use kadenz::report::summary::Summary;
use kadenz::rt::sleep::SleeperKind;
use kadenz::rt::tuning::Policy;

/// The requested tuning, as `kadenz tune` names it: `PMCS`, `none`.
pub(super) fn combination(measuring: &Measuring) -> Combination {
    let asked = [
        (measuring.tuning.policy != Policy::Other, Measure::Priority),
        (measuring.tuning.lock_memory, Measure::Memory),
        (measuring.shield.is_some(), Measure::Cpu),
        (measuring.sleeper == SleeperKind::Spin, Measure::Spin),
        (
            measuring.tuning.cpu_dma_latency_us == Some(0),
            Measure::Idle,
        ),
    ];
    let asked = asked.into_iter().filter(|(is, _)| *is);
    asked.fold(Combination::NONE, |all, (_, it)| all.with(it))
}

/// A combination without the measures that the system refused.
fn granted(asked: Combination, measures: &[TuningMeasure]) -> Combination {
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

/// The share of the lowest control periods that each row of Yoon keeps; the last keeps all.
const SHARES: [Option<Percent>; 5] = [
    Some(Percent::P99),
    Some(Percent::P99_9),
    Some(Percent::P99_99),
    Some(Percent::P99_999),
    None,
];

/// A table in Yoon's rows; `None` without a period. The column is that of the granted part of the requested
/// combination. Where Yoon measured no such combination, the table holds the values of Kadenz alone.
pub(super) fn beside_yoon2009(
    run: &Summary,
    asked: Combination,
    load: Option<Load>,
) -> Option<Document> {
    let periods = Periods::of(run.named(CycleSeries::PERIOD)?)?;
    let wake_up = run.named(CycleSeries::WAKE_UP)?;
    let granted = granted(asked, &wake_up.series.tuning);
    let column = Combination::YOON2009.iter().position(|it| *it == granted);
    let published = load.zip(column);
    let rows = SHARES.into_iter().enumerate().map(|(place, share)| {
        let ours = periods.row(share);
        let yoon = published.map(|(load, column)| {
            let row = &yoon2009::table(load).rows[place];
            [
                row.max_us[column],
                row.mean_us[column],
                row.stddev_us[column],
            ]
        });
        let us = |ns: f64| format!("{:.1}", ns / 1e3);
        let ours = ours.map(|it| [us(it.max_ns), us(it.mean_ns), us(it.stddev_ns)]);
        let none = || ["-"; 3].map(str::to_owned);
        let mut row = vec![share.map_or_else(|| "all".to_owned(), |it| format!("low {it} %"))];
        row.extend(ours.unwrap_or_else(none));
        if let Some(yoon) = yoon {
            row.extend(yoon.map(|it| format!("{it:.1}")));
        }
        row
    });
    let mut head = vec!["periods, us", "max", "mean", "SD"];
    let about = match published {
        Some((load, _)) => {
            head.extend(["Yoon2009: max", "mean", "SD"]);
            let figure = yoon2009::table(load).figure;
            format!(
                "figure {figure} of Yoon, column {granted}; its period is 1 ms, its robot had 59 devices, 10 minutes a column"
            )
        }
        None => "Yoon has no such column".to_owned(),
    };
    let shortest = numbers::value(periods.min_ns);
    let caption = format!("Control periods; the shortest was {shortest}");
    let table = Table::new(&head, 1, rows.collect());
    Some(Document::from(caption).table(table).sentence(about))
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
