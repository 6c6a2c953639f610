//! Findings on a page, and their remedies: commands in the typeface of commands, steps in words.

use crate::document::Finding;
use crate::figures::{capitalised, printed};
use crate::html::markup::Markup;
use crate::text::command_in;

/// Writes findings in full, the first with this number, and counts them.
pub(super) fn list(out: &mut Markup, findings: &[Finding], number: &mut usize) {
    if findings.is_empty() {
        out.tag("<p class=\"fine\">").icon("kept");
        out.tag("The instrument found nothing to warn of.</p>");
        return;
    }
    out.tag("<ul class=\"warnings\">");
    for finding in findings {
        out.tag("<li").attr("id", format!("doubt-{number}"));
        *number += 1;
        out.tag(">").icon("warning").tag("<div><p>");
        out.text(printed(&capitalised(&finding.text))).tag("</p>");
        if let Some(it) = &finding.remedy {
            remedy(out, it);
        }
        if !finding.concerned.is_empty() {
            out.tag("<p class=\"concerned\">Concerns ");
            out.text(named(&finding.concerned)).tag("</p>");
        }
        out.tag("</div></li>");
    }
    out.tag("</ul>");
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

/// Writes a warning with links to its reasons.
pub(super) fn notice(out: &mut Markup, words: &str, links: &[(String, String)]) {
    out.tag("<div class=\"doubts\"><p>").icon("warning");
    out.element("b", words).tag("</p><ul>");
    for (address, words) in links {
        out.tag("<li><a").attr("href", address).tag(">");
        out.text(printed(words)).tag("</a></li>");
    }
    out.tag("</ul></div>");
}

/// Writes a remedy, a line each: `now: sudo sysctl -w ...`, or a step in words.
pub(super) fn remedy(out: &mut Markup, remedy: &str) {
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
    use super::*;

    fn written(remedy: &str) -> String {
        let mut out = Markup::default();
        super::remedy(&mut out, remedy);
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
