//! The machine: host facts, what spoils the result and how to mend it, tuning asked and granted.

use kadenz_record::run::model::{Host, Run, TuningMeasure};

use super::figures::{duration, printed, significant};
use super::markup::Markup;
use super::page::Page;
use super::remedy;

/// Host, warnings and tuning.
pub(super) fn sections(out: &mut Markup, page: &Page<'_>) {
    host(out, page);
    warnings(out, page);
    tuning(out, page);
}

type Fact = (&'static str, fn(&Run) -> Option<String>);

/// The facts in the order of their weight; what could not be read stays a dash.
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

pub(super) fn host(out: &mut Markup, page: &Page<'_>) {
    out.tag("<section id=\"host\"><h2>The machine</h2>");
    out.tag("<div class=\"scroll\" role=\"region\" aria-label=\"Table of the machine\" tabindex=\"0\"><table class=\"prose\">");
    out.tag("<caption>Where it was measured</caption>");
    if page.compares() {
        out.tag("<thead><tr><th scope=\"col\">Fact</th>");
        for run in &page.runs {
            out.tag("<th scope=\"col\">").text(&run.label).tag("</th>");
        }
        out.tag("</tr></thead>");
    }
    out.tag("<tbody>");
    for (name, fact) in FACTS {
        out.tag("<tr><th scope=\"row\">").tag(name).tag("</th>");
        for run in &page.runs {
            let known = fact(&run.summary.run).unwrap_or_else(|| String::from("— not known"));
            out.element("td", known);
        }
        out.tag("</tr>");
    }
    out.tag("</tbody></table></div></section>");
}

pub(super) fn warnings(out: &mut Markup, page: &Page<'_>) {
    out.tag("<section id=\"warnings\"><h2>What spoils or limits this result</h2>");
    let mut none = true;
    for run in &page.runs {
        if run.summary.warnings.is_empty() {
            continue;
        }
        none = false;
        if page.compares() {
            out.element("h3", &run.label);
        }
        out.tag("<ul class=\"warnings\">");
        for warning in &run.summary.warnings {
            out.tag("<li><svg aria-hidden=\"true\"><use href=\"#i-warning\"/></svg><div><p>");
            out.text(printed(&warning.text)).tag("</p>");
            if let Some(remedy) = &warning.remedy {
                remedy::write(out, remedy);
            }
            out.tag("</div></li>");
        }
        out.tag("</ul>");
    }
    if none {
        out.tag("<p class=\"fine\"><svg aria-hidden=\"true\"><use href=\"#i-kept\"/></svg>The instrument found nothing to warn of.</p>");
    }
    out.tag("</section>");
}

fn tuning(out: &mut Markup, page: &Page<'_>) {
    out.tag("<section id=\"tuning\"><h2>Tuning: asked and granted</h2>");
    if page
        .series
        .iter()
        .all(|series| series.summary.series.tuning.is_empty())
    {
        out.tag("<p class=\"missing\">No tuning was asked for: the threads ran as the system runs any other.</p></section>");
        return;
    }
    out.tag("<div class=\"scroll\" role=\"region\" aria-label=\"Table of tuning\" tabindex=\"0\"><table class=\"prose\">");
    out.tag("<caption>What the measuring threads asked of the system, and what they got</caption><thead><tr>");
    out.tag(
        "<th scope=\"col\">Measure</th><th scope=\"col\">Asked</th><th scope=\"col\">Granted</th>",
    );
    out.tag("<th scope=\"col\">Result</th></tr></thead>");
    for series in page
        .series
        .iter()
        .filter(|series| !series.summary.series.tuning.is_empty())
    {
        out.tag("<tbody><tr class=\"group\"><th scope=\"rowgroup\" colspan=\"4\">");
        out.text(&series.label).tag("</th></tr>");
        for measure in &series.summary.series.tuning {
            tuning_row(out, measure);
        }
        out.tag("</tbody>");
    }
    out.tag("</table></div></section>");
}

const GRANTED: &str =
    "<td><span class=\"yes\"><svg aria-hidden=\"true\"><use href=\"#i-kept\"/></svg>granted</span>";
const REFUSED: &str = "<td><span class=\"no\"><svg aria-hidden=\"true\"><use href=\"#i-missed\"/></svg>refused</span>";

/// One measure; also what was granted may have a reason to read.
pub(super) fn tuning_row(out: &mut Markup, measure: &TuningMeasure) {
    out.tag("<tr><th scope=\"row\">")
        .text(measure.name.replace('_', " "))
        .tag("</th>");
    out.element("td", &measure.requested)
        .element("td", &measure.granted);
    out.tag(match measure.ok {
        true => GRANTED,
        false => REFUSED,
    });
    if let Some(reason) = &measure.reason {
        out.tag(" ").text(printed(reason));
    }
    if let Some(remedy) = &measure.remedy {
        remedy::write(out, remedy);
    }
    out.tag("</td></tr>");
}
