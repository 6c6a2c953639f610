//! Findings on a page, and their remedies: commands in the typeface of commands, steps in words.

use kadenz_record::run::model::TuningMeasure;

use super::markup::Markup;
use super::page::Page;
use crate::figures::{capitalised, printed};
use crate::findings::{Finding, findings};
use crate::text::command_in;

/// All findings of the page. A [`Finding`]'s place is its number on the page.
pub(super) fn all(page: &Page<'_>) -> Vec<Finding> {
    let series = page.series.iter();
    let measures = series.flat_map(|it| {
        let measures = it.summary.series.tuning.iter();
        measures.map(|measure| (measure, it.label.as_str()))
    });
    let warnings = page.runs.iter().flat_map(|run| {
        let concerned = page.compares().then_some(run.label.as_str());
        run.summary.warnings.iter().map(move |it| (it, concerned))
    });
    findings(&measures.collect::<Vec<_>>(), warnings)
}

/// The number of a measure's finding; absent where it has none.
pub(super) fn number(findings: &[Finding], measure: &TuningMeasure) -> Option<usize> {
    let own = Finding::of_measure(measure)?;
    findings.iter().position(|it| it.is_same(&own))
}

/// The findings beside the verdict: the serious ones by their titles, and how many more there are.
pub(super) fn beside_the_verdict(out: &mut Markup, findings: &[Finding]) {
    let serious = findings.iter().filter(|it| it.is_serious).count();
    if findings.is_empty() {
        return;
    }
    out.tag(
        "<div class=\"doubts\"><p><svg aria-hidden=\"true\"><use href=\"#i-warning\"/></svg><b>",
    );
    out.tag(match serious {
        0 => "Read this result with",
        _ => "This makes the result doubtful",
    });
    out.tag("</b></p><ul>");
    for (number, finding) in findings.iter().enumerate().take(serious) {
        out.tag("<li><a")
            .attr("href", format!("#doubt-{number}"))
            .tag(">");
        out.text(printed(&finding.title)).tag("</a></li>");
    }
    let rest = findings.len() - serious;
    if rest > 0 {
        out.tag("<li><a href=\"#warnings\">").text(rest);
        out.tag(if rest == 1 { " note" } else { " notes" });
        out.tag(if serious == 0 { "" } else { " more" })
            .tag("</a></li>");
    }
    out.tag("</ul></div>");
}

/// The first few names, and how many more there are.
fn named(concerned: &[String]) -> String {
    const MAX: usize = 4;
    let first = concerned[..concerned.len().min(MAX)].join(", ");
    match concerned.len().saturating_sub(MAX) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The section with all findings in full.
pub(super) fn section(out: &mut Markup, findings: &[Finding]) {
    out.tag("<section id=\"warnings\"><h2>What spoils or limits this result</h2>");
    if findings.is_empty() {
        out.tag("<p class=\"fine\"><svg aria-hidden=\"true\"><use href=\"#i-kept\"/></svg>The instrument found nothing to warn of.</p></section>");
        return;
    }
    out.tag("<ul class=\"warnings\">");
    for (number, finding) in findings.iter().enumerate() {
        out.tag("<li").attr("id", format!("doubt-{number}"));
        out.tag("><svg aria-hidden=\"true\"><use href=\"#i-warning\"/></svg><div><p>");
        out.text(printed(&capitalised(&finding.text))).tag("</p>");
        if let Some(remedy) = &finding.remedy {
            write_remedy(out, remedy);
        }
        if !finding.concerned.is_empty() {
            out.tag("<p class=\"concerned\">Concerns ")
                .text(named(&finding.concerned))
                .tag("</p>");
        }
        out.tag("</div></li>");
    }
    out.tag("</ul></section>");
}

/// A remedy, a line each: `now: sudo sysctl -w ...`, or a step in words.
pub(super) fn write_remedy(out: &mut Markup, remedy: &str) {
    out.tag("<p class=\"remedy\"><b>Remedy</b> ");
    for (index, line) in remedy.lines().enumerate() {
        if index > 0 {
            out.tag("<br>");
        }
        match command_in(line) {
            Some((when, command)) => out.text(when).element("code", command),
            None => out.ticked(line),
        };
    }
    out.tag("</p>");
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

    fn written(remedy: &str) -> String {
        let mut out = Markup::default();
        write_remedy(&mut out, remedy);
        out.finish()
            .replace("<p class=\"remedy\"><b>Remedy</b> ", "")
            .replace("</p>", "")
    }

    #[test]
    fn commands_stand_in_the_letters_of_commands() {
        assert_eq!(
            written("sudo sysctl -w a.b=1"),
            "<code>sudo sysctl -w a.b=1</code>"
        );
        assert_eq!(
            written("now: sudo x -y\nfor good: add a to b"),
            "now: <code>sudo x -y</code><br>for good: add a to b"
        );
    }

    #[test]
    fn steps_stand_in_words() {
        for step in [
            "measure on bare metal; else pin its CPUs",
            "kadenz doctor says what each costs",
        ] {
            assert_eq!(written(step), step);
        }
        assert_eq!(written("run `x <y>`"), "run <code>x &lt;y&gt;</code>");
    }
}
