//! The answer first and in large words, and what to type and to write to have it.

use crate::html::doubt::{self, Doubt};
use crate::html::figures::printed;
use crate::html::markup::Markup;
use crate::html::verdict::h1;
use crate::matrix::{Combination, Matrix, Permanent, Recommendation, Standing};

/// The section.
pub(super) fn section(out: &mut Markup, matrix: &Matrix, doubts: &[Doubt]) {
    let recommendation = &matrix.recommendation;
    let (class, icon) = look(recommendation.standing);
    out.tag("<section id=\"verdict\">");
    h1(out, class, icon, &headline(recommendation));
    doubt::beside_the_verdict(out, doubts);
    for sentence in &recommendation.sentences {
        out.tag("<p class=\"answer\">")
            .ticked(&printed(sentence))
            .tag("</p>");
    }
    if let Some(permanent) = &recommendation.permanent {
        how(out, permanent);
    }
    out.tag("</section>");
}

fn look(standing: Standing) -> (&'static str, &'static str) {
    match standing {
        Standing::Keeps => ("kept", "#i-kept"),
        Standing::SoFar { .. } => ("mixed", "#i-mixed"),
        Standing::NoneKeeps => ("missed", "#i-missed"),
        Standing::Unknown => ("unknown", "#i-unknown"),
    }
}

fn headline(recommendation: &Recommendation) -> String {
    let none = recommendation.combination == Some(Combination::NONE);
    let name = match recommendation.combination {
        Some(Combination::NONE) | None => "No tuning".to_owned(),
        Some(combination) => combination.to_string(),
    };
    match recommendation.standing {
        Standing::Keeps if none => "Nothing is needed".to_owned(),
        Standing::Keeps => format!("{name} is enough"),
        Standing::SoFar { .. } => format!("{name} kept the deadline so far"),
        Standing::NoneKeeps => "No combination keeps the deadline".to_owned(),
        Standing::Unknown => "Nothing can be recommended".to_owned(),
    }
}

fn how(out: &mut Markup, permanent: &Permanent) {
    out.tag("<div class=\"steps\"><div><h2>Try it</h2>");
    copyable(out, "try", "the command", &permanent.command);
    if let Some(parameters) = &permanent.kernel_parameters {
        out.tag("<h2>Keep the CPU free from the start</h2><p class=\"hint\">On the kernel’s command line:</p>");
        copyable(out, "kernel", "the kernel parameters", parameters);
    }
    if let Some(sentence) = &permanent.idle_states {
        out.tag("<p class=\"hint\">").ticked(sentence).tag("</p>");
    }
    out.tag("</div><div><h2>For good</h2><p class=\"hint\">As a systemd unit:</p>");
    copyable(out, "unit", "the unit", permanent.unit.trim_end());
    out.tag("</div></div>");
}

fn copyable(out: &mut Markup, id: &'static str, what: &'static str, text: &str) {
    out.tag("<div class=\"command\"><pre><code")
        .attr("id", format!("copy-{id}"))
        .tag(">");
    out.text(text)
        .tag("</code></pre><button type=\"button\" class=\"copy\"")
        .attr("data-copies", format!("copy-{id}"));
    out.attr("aria-label", format!("Copy {what}"));
    out.tag("><svg aria-hidden=\"true\"><use href=\"#i-copy\"/></svg><span aria-live=\"polite\">Copy</span></button></div>");
}
