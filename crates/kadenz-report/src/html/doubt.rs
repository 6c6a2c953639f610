//! Findings that spoil or limit a result, each stated once for all series that it concerns, and their remedies:
//! commands in the typeface of commands, steps in words.

use kadenz_record::run::model::{TuningMeasure, Warning};

use super::markup::Markup;
use super::page::Page;
use crate::figures::{capitalised, printed};

/// Warnings of minor costs or absences, which do not make the result doubtful.
const MINOR: [&str; 4] = ["doctor_costs", "c_states", "no_network", "no_messages"];

/// A reason to doubt a result.
#[derive(Debug)]
pub(super) struct Doubt {
    title: String,
    text: String,
    remedy: Option<String>,
    /// Whether it stands beside the verdict.
    grave: bool,
    /// The series, or the runs of a comparison, that it concerns; empty for the only run.
    concerned: Vec<String>,
}

/// All doubts of the page, the grave ones first. A [`Doubt`]'s place is its number on the page.
pub(super) fn all(page: &Page<'_>) -> Vec<Doubt> {
    let mut found: Vec<Doubt> = Vec::new();
    for series in &page.series {
        for measure in &series.summary.series.tuning {
            if let Some(doubt) = of_measure(measure) {
                add(&mut found, doubt, Some(&series.label));
            }
        }
    }
    for run in &page.runs {
        let concerned = page.compares().then_some(&run.label);
        for warning in &run.summary.warnings {
            if !is_in_tuning(warning, page) {
                add(&mut found, of_warning(warning), concerned);
            }
        }
    }
    found.sort_by_key(|doubt| !doubt.grave);
    found
}

fn add(found: &mut Vec<Doubt>, doubt: Doubt, concerned: Option<&String>) {
    let same = |it: &Doubt| it.text == doubt.text && it.remedy == doubt.remedy;
    let at = found.iter().position(same).unwrap_or(found.len());
    if at == found.len() {
        found.push(doubt);
    }
    let known = &mut found[at].concerned;
    known.extend(concerned.filter(|it| !known.contains(it)).cloned());
}

/// The doubt of a measure that was refused, or granted with a reason to read.
fn of_measure(measure: &TuningMeasure) -> Option<Doubt> {
    let name = measure.name.replace('_', " ");
    let (title, text) = match (&measure.reason, measure.ok) {
        (None, true) => return None,
        (Some(reason), true) => {
            let reason = reason.trim_start_matches("granted, but ");
            (first_clause(reason), reason.to_owned())
        }
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
    Some(Doubt {
        title: capitalised(&title),
        text: capitalised(&text),
        remedy: measure.remedy.clone(),
        grave: true,
        concerned: Vec::new(),
    })
}

fn of_warning(warning: &Warning) -> Doubt {
    Doubt {
        title: capitalised(first_clause(&warning.text).trim_end_matches(['.', ' '])),
        text: capitalised(&warning.text),
        remedy: warning.remedy.clone(),
        grave: !MINOR.contains(&warning.id.as_str()),
        concerned: Vec::new(),
    }
}

/// Whether a refusal that became a warning is in the tuning of a series, too.
fn is_in_tuning(warning: &Warning, page: &Page<'_>) -> bool {
    let Some(name) = &warning.tuning else {
        return false;
    };
    let mut measures = page.series.iter().flat_map(|it| &it.summary.series.tuning);
    measures.any(|it| it.name == *name && !it.ok)
}

/// The number of a measure's doubt; absent where it has none.
pub(super) fn number(doubts: &[Doubt], measure: &TuningMeasure) -> Option<usize> {
    let own = of_measure(measure)?;
    let same = |it: &Doubt| it.text == own.text && it.remedy == own.remedy;
    doubts.iter().position(same)
}

/// The doubts beside the verdict: the grave ones by their titles, and how many more there are.
pub(super) fn beside_the_verdict(out: &mut Markup, doubts: &[Doubt]) {
    let grave = doubts.iter().filter(|it| it.grave).count();
    if doubts.is_empty() {
        return;
    }
    out.tag(
        "<div class=\"doubts\"><p><svg aria-hidden=\"true\"><use href=\"#i-warning\"/></svg><b>",
    );
    out.tag(match grave {
        0 => "Read this result with",
        _ => "This makes the result doubtful",
    });
    out.tag("</b></p><ul>");
    for (number, doubt) in doubts.iter().enumerate().take(grave) {
        out.tag("<li><a")
            .attr("href", format!("#doubt-{number}"))
            .tag(">");
        out.text(printed(&doubt.title)).tag("</a></li>");
    }
    let rest = doubts.len() - grave;
    if rest > 0 {
        out.tag("<li><a href=\"#warnings\">").text(rest);
        out.tag(if rest == 1 { " note" } else { " notes" });
        out.tag(if grave == 0 { "" } else { " more" })
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

/// A sentence up to its explanation.
fn first_clause(text: &str) -> String {
    let ends = [": ", "; ", " (", ". "]
        .iter()
        .filter_map(|it| text.find(it));
    text[..ends.min().unwrap_or(text.len())].to_owned()
}

/// The section with all doubts in full.
pub(super) fn section(out: &mut Markup, doubts: &[Doubt]) {
    out.tag("<section id=\"warnings\"><h2>What spoils or limits this result</h2>");
    if doubts.is_empty() {
        out.tag("<p class=\"fine\"><svg aria-hidden=\"true\"><use href=\"#i-kept\"/></svg>The instrument found nothing to warn of.</p></section>");
        return;
    }
    out.tag("<ul class=\"warnings\">");
    for (number, doubt) in doubts.iter().enumerate() {
        out.tag("<li").attr("id", format!("doubt-{number}"));
        out.tag("><svg aria-hidden=\"true\"><use href=\"#i-warning\"/></svg><div><p>");
        out.text(printed(&doubt.text)).tag("</p>");
        if let Some(remedy) = &doubt.remedy {
            write_remedy(out, remedy);
        }
        if !doubt.concerned.is_empty() {
            out.tag("<p class=\"concerned\">Concerns ")
                .text(named(&doubt.concerned))
                .tag("</p>");
        }
        out.tag("</div></li>");
    }
    out.tag("</ul></section>");
}

/// Words that a command starts with; anything else is a step in words.
const PROGRAMS: [&str; 12] = [
    "sudo",
    "kadenz",
    "sysctl",
    "systemctl",
    "echo",
    "printf",
    "for",
    "cat",
    "chmod",
    "chrt",
    "top",
    "apt-get",
];

/// A remedy, a line each: `now: sudo sysctl -w ...`, or a step in words.
pub(super) fn write_remedy(out: &mut Markup, remedy: &str) {
    out.tag("<p class=\"remedy\"><b>Remedy</b> ");
    for (index, line) in remedy.lines().enumerate() {
        if index > 0 {
            out.tag("<br>");
        }
        let (when, what) = split_remedy(line);
        out.text(when);
        match is_command(what) {
            true => out.element("code", what),
            false => out.ticked(what),
        };
    }
    out.tag("</p>");
}

/// `now: sudo x` into `now: ` and `sudo x`, where a command follows the colon.
fn split_remedy(line: &str) -> (&str, &str) {
    match line.split_once(": ") {
        Some((when, what)) if is_command(what) && !is_command(line) => {
            line.split_at(when.len() + 2)
        }
        _ => ("", line),
    }
}

/// Whether this is a known program with an argument that no prose would have.
fn is_command(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let known = words.next().is_some_and(|first| PROGRAMS.contains(&first));
    known && text.contains(['-', '/', '=', '.', '|'])
}

#[cfg(test)]
mod tests {
    use kadenz_record::run::model::Kind;

    use super::*;
    use crate::testing::{named, run_of, series_of};

    fn throttled(name: &str) -> crate::summary::SeriesSummary {
        let mut series = named(name, Kind::Lateness);
        series.tuning = vec![TuningMeasure {
            reason: Some("granted, but the RT throttle is on: 50 ms in every 1000 ms".into()),
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
        let doubts = all(&page);
        assert_eq!(doubts.len(), 1);
        assert_eq!(doubts[0].concerned.len(), 15);
        assert_eq!(
            number(&doubts, &runs[0].series[7].series.tuning[0]),
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
        let doubts = all(&Page::of(&runs));
        let texts: Vec<&str> = doubts.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert_eq!(texts[1..], ["Virtualisation", "Doctor_costs"]);
    }

    #[test]
    fn a_title_says_what_is_wrong_without_its_reasons() {
        let warning = |text: &str| {
            of_warning(&Warning {
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
            of_measure(&refused).map(|it| it.title).as_deref(),
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
