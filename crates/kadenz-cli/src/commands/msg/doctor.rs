//! `kadenz msg doctor`.

use std::fmt::Write as _;

use clap::Args;
use kadenz::msg::multicast;
use kadenz::msg::provider::parameters::Address;
use kadenz_rt::doctor::{Finding, Severity};
use serde::Serialize;

use super::bus::BusOptionOrUrl;
use crate::output::{self, Outcome};

/// Why do LCM's messages not arrive? Route, interface, TTL, buffers, filters and who listens, each with
/// how it was seen, what it costs and the command that mends it, and whether this host hears what it
/// sends.
///
/// Changes nothing and needs no rights. It sends a few datagrams that every LCM program ignores.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg doctor                                                     LCM_DEFAULT_URL, or LCM's own
  kadenz msg doctor --url 'udpm://239.255.76.67:7667?ttl=1&iface=eth0'  what a robot of several hosts uses
  kadenz msg doctor --json | jq '.findings[] | select(.severity == \"spoils\") | .remedy'

Exit codes: 0 messages can arrive, 1 they cannot, 2 the URL is wrong.")]
pub(crate) struct Options {
    #[command(flatten)]
    bus: BusOptionOrUrl,
}

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    url: &'a str,
    works: bool,
    findings: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    severity: &'static str,
    title: &'a str,
    cost: &'a str,
    evidence: &'a str,
    remedy: Option<&'a str>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let url = options.bus.url();
    let findings = multicast::examine(&Address::parse(&url)?)?;
    let works = multicast::works(&findings);
    if output::is_json() {
        output::json(&Report {
            version: 1,
            url: &url,
            works,
            findings: findings.iter().map(row).collect(),
        })?;
    } else {
        output::say(&page(&url, &findings, works));
    }
    Ok(if works {
        Outcome::Kept
    } else {
        Outcome::Missed
    })
}

fn row(finding: &Finding) -> Row<'_> {
    Row {
        id: finding.id,
        severity: word(finding.severity),
        title: &finding.title,
        cost: &finding.cost,
        evidence: &finding.evidence,
        remedy: finding.remedy.as_deref(),
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Spoils => "spoils",
        Severity::Costs => "costs",
        Severity::Note => "note",
        Severity::Fine => "fine",
    }
}

fn page(url: &str, findings: &[Finding], works: bool) -> String {
    let mut text = String::new();
    for finding in findings {
        let _ = writeln!(text, "{:<8}{}", word(finding.severity), finding.title);
        if finding.severity == Severity::Fine {
            continue;
        }
        let _ = writeln!(text, "        costs   {}", finding.cost);
        let _ = writeln!(text, "        seen    {}", finding.evidence);
        if let Some(remedy) = &finding.remedy {
            let remedy = remedy.replace('\n', "\n                ");
            let _ = writeln!(text, "        remedy  {remedy}");
        }
    }
    let answer = if works {
        "messages can arrive on this host"
    } else {
        "messages do not arrive"
    };
    let _ = writeln!(text, "\n{url}: {answer}");
    text
}
