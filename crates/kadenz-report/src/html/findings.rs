//! The findings of a page: in full in a section, and by their titles beside the verdict.

use kadenz_record::run::model::TuningMeasure;

use super::blocks;
use super::markup::Markup;
use super::page::Page;
use crate::document::{Document, Finding};
use crate::findings::findings;

/// All findings of the page. A [`Finding`]'s place is its number on the page.
pub(super) fn all(page: &Page<'_>) -> Vec<Finding> {
    let series = page.series.iter();
    let runs = page.runs.iter();
    findings(
        series.map(|it| (it.summary, it.label.as_str())),
        runs.map(|it| {
            let concerned = page.compares().then_some(it.label.as_str());
            (it.summary, concerned)
        }),
    )
}

/// The number of a measure's finding; absent where it has none.
pub(super) fn number(findings: &[Finding], measure: &TuningMeasure) -> Option<usize> {
    let own = Finding::of_measure(measure)?;
    findings.iter().position(|it| it.is_same(&own))
}

/// The findings beside the verdict: the serious ones by their titles, and how many more there are.
pub(super) fn beside_the_verdict(findings: &[Finding]) -> Document {
    let serious = findings.iter().filter(|it| it.is_serious).count();
    let (words, more) = match serious {
        0 => ("Read this result with", ""),
        _ => ("This makes the result doubtful", " more"),
    };
    let titles = findings.iter().take(serious).enumerate();
    let titles = titles.map(|(number, it)| (format!("#doubt-{number}"), it.title.clone()));
    let notes = match findings.len() - serious {
        0 => None,
        1 => Some(format!("1 note{more}")),
        rest => Some(format!("{rest} notes{more}")),
    };
    let notes = notes.map(|it| ("#warnings".to_owned(), it));
    Document::new().notice(words, titles.chain(notes).collect())
}

/// The section with all findings in full.
pub(super) fn section(out: &mut Markup, findings: &[Finding]) {
    let document = match findings.is_empty() {
        true => Document::new().no_findings(),
        false => Document::new().findings(findings.to_vec()),
    };
    blocks::section(
        out,
        "warnings",
        "What spoils or limits this result",
        &document,
    );
}

#[cfg(test)]
mod tests {
    use kadenz_record::run::model::{Kind, Warning};

    use super::*;
    use crate::testing::{named, run_of, series_of};

    fn throttled(name: &str) -> crate::summary::SeriesSummary {
        let mut series = named(name, Kind::Lateness);
        series.tuning = vec![TuningMeasure {
            reason: Some("the RT throttle is on: 50 ms in every 1000 ms".into()),
            remedy: Some("sleep in every cycle".into()),
            ..TuningMeasure::granted("policy", "SCHED_FIFO 80")
        }];
        series_of(series, &[(1, 1)])
    }

    #[test]
    fn what_fifteen_series_say_is_said_once() {
        let series = (0..15).map(|it| throttled(&format!("s{it}")));
        let runs = [run_of("run", series.collect())];
        let page = Page::of(&runs);
        let findings = all(&page);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].concerned.len(), 15);
        assert_eq!(
            number(&findings, &runs[0].series[7].series.tuning[0]),
            Some(0)
        );
    }

    #[test]
    fn a_refusal_is_not_said_again_as_a_warning() {
        let mut series = throttled("realtime");
        series.series.tuning[0].ok = false;
        let mut run = run_of("run", vec![series]);
        run.warnings = ["policy_refused", "doctor_costs", "virtualisation"]
            .map(|id| Warning {
                id: id.into(),
                text: id.into(),
                tuning: id.strip_suffix("_refused").map(str::to_owned),
                ..Warning::default()
            })
            .into();
        let runs = [run];
        let findings = all(&Page::of(&runs));
        let texts: Vec<&str> = findings.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert_eq!(texts[1..], ["Virtualisation", "Doctor_costs"]);
    }

    #[test]
    fn a_title_says_what_is_wrong_without_its_reasons() {
        let warning = |text: &str| {
            Finding::of_warning(&Warning {
                text: text.into(),
                ..Warning::default()
            })
        };
        let title = warning("this is a virtual machine (kvm): the host takes").title;
        assert_eq!(title, "This is a virtual machine");
        assert_eq!(warning("CPU 3 may sleep.").title, "CPU 3 may sleep");
        assert_eq!(warning("").title, "");
        let refused = TuningMeasure {
            name: "cpu_dma_latency".into(),
            requested: "0 us".into(),
            granted: "2 s".into(),
            ..TuningMeasure::default()
        };
        assert_eq!(
            Finding::of_measure(&refused).map(|it| it.title).as_deref(),
            Some("Cpu dma latency: 0 us was requested and not granted")
        );
    }
}
