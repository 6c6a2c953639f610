//! What is needed to repeat a run: the command line and the parameters that were in force.

use serde_json::Value;

use super::machine::pairs;
use super::markup::Markup;
use super::page::{Page, RunOnPage};

/// The section.
pub(super) fn section(out: &mut Markup, page: &Page<'_>) {
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
        out.tag("<p class=\"missing\">The run does not say which command made it.</p>");
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

/// A word as a POSIX shell reads it back.
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
