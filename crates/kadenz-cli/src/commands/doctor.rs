//! `kadenz doctor`.

use clap::{Args, ValueEnum};
use kadenz::report::document::{Answer, Document, DocumentLine, Version};
use kadenz::report::text::{Emphasis, command_in};
use kadenz::rt::doctor::{self, Finding, Severity};
use kadenz::rt::shield::{self, Restored};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{self, Outcome, Reply};

/// Find what spoils real time on this machine, what it costs, and the command that fixes it
///
/// States how it read each finding. Changes nothing and needs no rights; with more rights fewer findings stay
/// unknown.
///
/// With --restore it restores the settings that a killed measurement left changed (--shield of the measuring
/// commands, `kadenz testbed`, the cable of `kadenz ethercat sim`), and examines nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz doctor                      what costs or spoils real time on this machine
  kadenz doctor --all                also the checks that are fine, and notes
  kadenz doctor --json | jq '.findings[] | select(.severity == \"spoils\") | .remedy'
  kadenz doctor --fail-on spoils     exit code 1 for CI
  sudo kadenz doctor --restore       restore what a killed measurement left changed")]
pub(crate) struct Options {
    /// Show findings that cost nothing (fine, note), too
    #[arg(long)]
    all: bool,

    /// Exit with 1 if there is a finding of this severity or a worse one
    #[arg(long, value_name = "SEVERITY")]
    fail_on: Option<Level>,

    /// Restore the settings that a killed measurement left changed; exits with 2 if one could not be restored
    #[arg(long, conflicts_with_all = ["all", "fail_on"])]
    restore: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Level {
    /// A finding that costs something, or worse
    Costs,
    /// Only a finding that spoils real time
    Spoils,
}

/// Result of `--restore`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Restoration {
    version: Version<1>,
    /// The restored settings, in words.
    put_back: Vec<String>,
    /// The settings that could not be restored.
    failed: Vec<Failure>,
    #[serde(skip)]
    restored: Restored,
}

impl Answer for Restoration {
    fn document(&self) -> Document {
        restoration(&self.restored).into()
    }
}

/// A setting that could not be restored.
#[derive(Serialize, JsonSchema)]
struct Failure {
    /// The change that stays, in words.
    what: String,
    /// Why it could not be restored.
    why: String,
    /// The command or step that fixes it.
    remedy: String,
}

/// Findings about the real-time behaviour of this machine.
#[derive(Serialize, JsonSchema)]
pub(super) struct DoctorReport {
    version: Version<1>,
    /// One finding of each check, the worst first.
    findings: Vec<Finding>,
    #[serde(skip)]
    all: bool,
}

impl Answer for DoctorReport {
    fn document(&self) -> Document {
        match output::is_quiet() {
            true => totals(&self.findings, true).into(),
            false => page(&self.findings, self.all),
        }
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    if options.restore {
        return restore();
    }
    let mut findings = doctor::examine();
    // Worst first; findings of one severity stay in the order of the checks.
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let limit = options.fail_on.map(|level| match level {
        Level::Costs => Severity::Costs,
        Level::Spoils => Severity::Spoils,
    });
    let failed =
        limit.is_some_and(|limit| findings.iter().any(|finding| finding.severity >= limit));
    let report = DoctorReport {
        version: Version,
        findings,
        all: options.all,
    };
    Ok(Reply::from(report).with(Outcome::missed_if(failed)))
}

fn restore() -> anyhow::Result<Reply> {
    let cleared = clear_networks()?;
    let mut restored = shield::restore()?;
    restored.put_back.extend(cleared);
    let left: Vec<String> = restored.failed.iter().map(ToString::to_string).collect();
    let reply = Reply::from(Restoration {
        version: Version,
        put_back: restored.put_back.clone(),
        failed: restored.failed.iter().map(failure).collect(),
        restored,
    });
    Ok(match left.is_empty() {
        true => reply,
        false => reply.and_error(anyhow::anyhow!("{}", left.join("\n"))),
    })
}

/// Removes what a killed testbed left, unless a testbed stands, and cables of killed programs.
#[cfg(target_os = "linux")]
fn clear_networks() -> anyhow::Result<Vec<String>> {
    use kadenz::rt::net::claim::{self, ClaimError};
    let mut cleared = match claim::restore() {
        Err(ClaimError::Held { .. } | ClaimError::Starting) => Vec::new(),
        other => other?,
    };
    cleared.extend(kadenz::rt::net::cable::restore()?);
    Ok(cleared)
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "fails on Linux")]
fn clear_networks() -> anyhow::Result<Vec<String>> {
    Ok(Vec::new())
}

fn failure(left: &shield::Unrestored) -> Failure {
    Failure {
        what: left.what.clone(),
        why: left.why.clone(),
        remedy: left.remedy.clone(),
    }
}

fn restoration(restored: &Restored) -> String {
    match restored.put_back.len() {
        0 if restored.is_complete() => "nothing is left to put back".to_owned(),
        n => {
            let lines = restored.put_back.iter().map(|line| format!("  {line}\n"));
            format!("{}{n} put back", lines.collect::<String>())
        }
    }
}

/// The findings, a paragraph each, and their numbers.
fn page(findings: &[Finding], all: bool) -> Document {
    let shown = |finding: &&Finding| all || finding.severity > Severity::Note;
    let shown = findings.iter().filter(shown).map(lines);
    let document = shown.fold(Document::new(), Document::lines);
    document.sentence(totals(findings, all)).fitted()
}

/// Where the words of a finding begin, after their labels.
const INDENT: u16 = 15;

/// A finding with its cost, its evidence and its remedy.
pub(super) fn lines(finding: &Finding) -> Vec<DocumentLine> {
    let fact = |label: &'static str, words: &str| DocumentLine::labelled(label, INDENT, words);
    let remedy = finding.remedy.iter().flat_map(|it| it.lines().enumerate());
    let remedy = remedy.map(|(index, words)| {
        let label = if index == 0 { "       remedy" } else { "" };
        match command_in(words) {
            Some(_) => fact(label, words).whole(),
            None => fact(label, words),
        }
    });
    let costs = fact("       costs", &finding.cost);
    let seen = fact("       seen", &finding.evidence);
    [title(finding), costs, seen]
        .into_iter()
        .chain(remedy)
        .collect()
}

/// The title of a finding, with its severity in its colour.
pub(super) fn title(finding: &Finding) -> DocumentLine {
    let emphasis = match finding.severity {
        Severity::Spoils => Emphasis::Bad,
        Severity::Costs => Emphasis::Warning,
        Severity::Note => Emphasis::Bold,
        Severity::Fine => Emphasis::Good,
    };
    let word = finding.severity.to_string();
    let length = word.len();
    DocumentLine::labelled(word, INDENT, &finding.title).emphasised(length, emphasis)
}

fn totals(findings: &[Finding], all: bool) -> String {
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    format!(
        "{} {}, {} {}, {} to note, {} fine{}",
        count(Severity::Spoils),
        match count(Severity::Spoils) {
            1 => "spoils real time",
            _ => "spoil real time",
        },
        count(Severity::Costs),
        match count(Severity::Costs) {
            1 => "costs something",
            _ => "cost something",
        },
        count(Severity::Note),
        count(Severity::Fine),
        if all { "" } else { " (--all shows everything)" },
    )
}

#[cfg(test)]
mod tests {
    use kadenz::report::text::Style;

    use super::*;

    fn finding(severity: Severity) -> Finding {
        Finding {
            id: "throttle",
            severity,
            title: "the kernel takes time from real-time threads".to_owned(),
            cost: "up to fifty milliseconds in each second, which a beat does not survive"
                .to_owned(),
            evidence: "/proc/sys/kernel/sched_rt_runtime_us is 950000".to_owned(),
            remedy: Some("echo -1 | sudo tee /proc/sys/kernel/sched_rt_runtime_us".to_owned()),
        }
    }

    #[test]
    fn findings_are_wrapped_at_words() {
        let style = Style::plain().of_width(60);
        let text = page(&[finding(Severity::Spoils)], false).terminal(style);
        let said = finding(Severity::Spoils);
        let remedy = said.remedy.unwrap();
        let words = [&said.title, &said.cost, &said.evidence, &remedy];
        for word in words.iter().flat_map(|it| it.split(' ')) {
            assert!(text.contains(word), "{word} is broken: {}", &*text);
        }
        let others = text.lines().filter(|it| !it.ends_with(&*remedy));
        assert!(
            others.clone().all(|it| it.chars().count() <= 60),
            "{text:?}"
        );
        assert_eq!(
            others.count() + 1,
            text.lines().count(),
            "the command is whole: {text:?}"
        );
        assert!(text.lines().count() > 6, "wrapped: {}", &*text);
        assert!(!text.contains('\u{1b}'), "a plain style has no colours");
    }

    #[test]
    fn severities_have_colours() {
        let rich = Style {
            rich: true,
            ..Style::plain()
        };
        let colour = |severity| {
            let text = page(&[finding(severity)], true).terminal(rich);
            let line = text.lines().next().unwrap().to_owned();
            let at = line.find(&severity.to_string()).unwrap();
            assert!(at > 0, "{line}");
            line[..at].to_owned()
        };
        let all = [
            Severity::Spoils,
            Severity::Costs,
            Severity::Note,
            Severity::Fine,
        ]
        .map(colour);
        for (at, one) in all.iter().enumerate() {
            assert!(one.starts_with('\u{1b}'), "{one:?}");
            assert!(!all[..at].contains(one), "two severities look alike");
        }
    }
}
