//! The machine: host facts, the requested and the granted tuning, and how to repeat the run.

use kadenz_record::run::model::{Host, Run, TuningMeasure};
use serde_json::Value;

use super::doubt::{self, Doubt};
use super::markup::Markup;
use super::page::{Page, RunOnPage, SeriesOnPage};
use crate::figures::{duration, printed, significant};

type Fact = (&'static str, fn(&Run) -> Option<String>);

/// The facts in the order of their weight; an unknown one is a dash.
const FACTS: [Fact; 13] = [
    ("Processor", |run| run.host.cpu.clone()),
    ("CPUs online", |run| {
        (run.host.cpus > 0).then(|| run.host.cpus.to_string())
    }),
    ("Memory", |run| run.host.memory_bytes.map(memory)),
    ("System", |run| system(&run.host)),
    ("Kernel", |run| run.host.kernel.clone()),
    ("Preemption", |run| run.host.preemption.clone()),
    ("Clock source", |run| run.host.clock_source.clone()),
    ("Frequency governor", |run| run.host.governor.clone()),
    ("Virtualisation", |run| run.host.virtualisation.clone()),
    ("Control group", |run| run.host.cgroup.clone()),
    ("Clock read", |run| {
        Some(run.clock.name.clone()).filter(|name| !name.is_empty())
    }),
    ("Cost of reading it", |run| cost(run.clock.read_cost_ns)),
    ("Cost of recording a value", |run| {
        run.clock.record_cost_ns.and_then(cost)
    }),
];

fn memory(bytes: u64) -> String {
    format!("{} GiB", significant(bytes as f64 / f64::from(1 << 30), 3))
}

fn system(host: &Host) -> Option<String> {
    host.os_release
        .clone()
        .or_else(|| Some(host.os.clone()).filter(|os| !os.is_empty()))
}

fn cost(ns: f64) -> Option<String> {
    (ns > 0.0).then(|| duration(ns))
}

fn known(fact: fn(&Run) -> Option<String>, run: &Run) -> String {
    fact(run).unwrap_or_else(|| String::from("— not known"))
}

/// Pairs of a name and its value, in as many columns as there is room for.
pub(super) fn pairs<'a>(out: &mut Markup, pairs: impl Iterator<Item = (&'a str, String)>) {
    out.tag("<dl class=\"pairs\">");
    for (name, value) in pairs {
        out.tag("<div>")
            .element("dt", name)
            .element("dd", value)
            .tag("</div>");
    }
    out.tag("</dl>");
}

pub(super) fn host(out: &mut Markup, page: &Page<'_>) {
    out.tag("<section id=\"host\"><h2>The machine</h2>");
    match page.runs.as_slice() {
        [only] => {
            let run = &only.summary.run;
            pairs(
                out,
                FACTS
                    .into_iter()
                    .map(|(name, fact)| (name, known(fact, run))),
            );
        }
        _ => compared(out, page),
    }
    out.tag("</section>");
}

fn compared(out: &mut Markup, page: &Page<'_>) {
    out.tag("<div class=\"scroll\" role=\"region\" aria-label=\"Table of the machine\" tabindex=\"0\"><table class=\"prose\">");
    out.tag("<caption>Where it was measured</caption><thead><tr><th scope=\"col\">Fact</th>");
    for run in &page.runs {
        out.tag("<th scope=\"col\">").text(&run.label).tag("</th>");
    }
    out.tag("</tr></thead><tbody>");
    for (name, fact) in FACTS {
        out.tag("<tr><th scope=\"row\">").tag(name).tag("</th>");
        for run in &page.runs {
            out.element("td", known(fact, &run.summary.run));
        }
        out.tag("</tr>");
    }
    out.tag("</tbody></table></div>");
}

/// Requested and granted tuning, folded away; series with the same tuning share a part of the table.
pub(super) fn tuning(out: &mut Markup, page: &Page<'_>, doubts: &[Doubt]) {
    out.tag("<section id=\"tuning\"><h2>Tuning</h2>");
    let mut sorts: Vec<(&[TuningMeasure], Vec<&str>)> = Vec::new();
    for series in page.series.iter().filter(|it| !measures(it).is_empty()) {
        match sorts
            .iter_mut()
            .find(|(known, _)| *known == measures(series))
        {
            Some((_, labels)) => labels.push(&series.label),
            None => sorts.push((measures(series), vec![&series.label])),
        }
    }
    if sorts.is_empty() {
        out.tag("<p class=\"missing\">No tuning was requested: the threads ran as the system runs any other.</p></section>");
        return;
    }
    let all = sorts.iter().flat_map(|(measures, _)| measures.iter());
    let refused = all.filter(|measure| !measure.ok).count();
    out.tag("<details><summary>Requested and granted settings: ");
    match refused {
        0 => out.tag("everything was granted"),
        number => out.text(number).tag(" refused"),
    };
    out.tag("</summary><div class=\"scroll\" role=\"region\" aria-label=\"Table of tuning\" tabindex=\"0\"><table class=\"prose\">");
    out.tag("<caption>Requested and granted settings</caption><thead><tr>");
    out.tag(HEAD);
    for (measures, labels) in sorts {
        out.tag("<tbody><tr class=\"group\"><th scope=\"rowgroup\" colspan=\"4\">");
        out.text(labels.join(", ")).tag("</th></tr>");
        for measure in measures {
            row(out, measure);
            if let Some(number) = doubt::number(doubts, measure) {
                out.tag(" <a").attr("href", format!("#doubt-{number}"));
                out.tag(">why</a>");
            }
            out.tag("</td></tr>");
        }
        out.tag("</tbody>");
    }
    out.tag("</table></div></details></section>");
}

fn measures<'a>(series: &SeriesOnPage<'a>) -> &'a [TuningMeasure] {
    &series.summary.series.tuning
}

const HEAD: &str = concat!(
    "<th scope=\"col\">Measure</th><th scope=\"col\">Asked</th><th scope=\"col\">Granted</th>",
    "<th scope=\"col\">Result</th></tr></thead>",
);
const GRANTED: &str =
    "<td><span class=\"yes\"><svg aria-hidden=\"true\"><use href=\"#i-kept\"/></svg>granted</span>";
const REFUSED: &str = "<td><span class=\"no\"><svg aria-hidden=\"true\"><use href=\"#i-missed\"/></svg>refused</span>";

/// A row without its last cell, which stays open.
fn row(out: &mut Markup, measure: &TuningMeasure) {
    out.tag("<tr><th scope=\"row\">")
        .text(measure.name.replace('_', " "))
        .tag("</th>");
    out.element("td", &measure.requested)
        .element("td", &measure.granted);
    out.tag(match measure.ok {
        true => GRANTED,
        false => REFUSED,
    });
}

/// One measure with its reason in full; a granted one may have a reason, too.
pub(super) fn tuning_row(out: &mut Markup, measure: &TuningMeasure) {
    row(out, measure);
    if let Some(reason) = &measure.reason {
        out.tag(" ").text(printed(reason));
    }
    if let Some(remedy) = &measure.remedy {
        doubt::write_remedy(out, remedy);
    }
    out.tag("</td></tr>");
}

/// How to repeat the run: the command of each run, and its parameters with the defaults.
pub(super) fn repeat(out: &mut Markup, page: &Page<'_>) {
    out.tag("<section id=\"repeat\"><h2>Repeat it</h2>");
    for (index, run) in page.runs.iter().enumerate() {
        if page.compares() {
            out.element("h3", &run.label);
        }
        command(out, index, run);
        parameters(out, run);
    }
    out.tag("</section>");
}

fn command(out: &mut Markup, index: usize, run: &RunOnPage<'_>) {
    let words = &run.summary.run.command;
    if words.is_empty() {
        out.tag("<p class=\"missing\">The run does not record the command that made it.</p>");
        return;
    }
    let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let what = format!("the command of {}", run.label);
    out.copyable(&format!("command-{index}"), &what, &line.join(" "));
}

fn parameters(out: &mut Markup, run: &RunOnPage<'_>) {
    let parameters = &run.summary.run.parameters;
    if parameters.is_empty() {
        return;
    }
    out.tag("<details><summary>Parameters in force, defaults included</summary>");
    let words = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let all = parameters.iter();
    pairs(out, all.map(|(name, value)| (name.as_str(), words(value))));
    out.tag("</details>");
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("--rate"), "--rate");
        assert_eq!(quoted("my run"), "'my run'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("$(reboot)"), "'$(reboot)'");
    }
}
