//! `kadenz msg doctor`.

use clap::Args;
use kadenz::msg::multicast;
use kadenz::msg::provider::parameters::Address;
use kadenz::report::document::{Answer, Document, Version};
use kadenz::rt::doctor::{Finding, Severity};
use schemars::JsonSchema;
use serde::Serialize;

use super::bus::BusOptionOrUrl;
use crate::output::{self, Outcome};

/// Find out why LCM's messages do not arrive: route, interface, TTL, buffers, filters and listening programs, each
/// with its evidence, its cost and the command that mends it, and whether this host receives its own messages.
///
/// Changes nothing and needs no rights. It sends a few datagrams that every LCM program ignores.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg doctor                                                     LCM_DEFAULT_URL, or LCM's own
  kadenz msg doctor --url 'udpm://239.255.76.67:7667?ttl=1&iface=eth0'  for a robot of several hosts
  kadenz msg doctor --json | jq '.findings[] | select(.severity == \"spoils\") | .remedy'

Exit codes: 0 messages can arrive, 1 they cannot, 2 the URL is wrong.")]
pub(crate) struct Options {
    #[command(flatten)]
    bus: BusOptionOrUrl,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Examined {
    version: Version<1>,
    url: String,
    works: bool,
    findings: Vec<Finding>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let url = options.bus.url();
    let findings = multicast::examine(&Address::parse(&url)?)?;
    let works = multicast::works(&findings);
    output::answer(&Examined {
        version: Version,
        url,
        works,
        findings,
    })?;
    Ok(Outcome::missed_if(!works))
}

impl Answer for Examined {
    fn document(&self) -> Document {
        let findings: String = self.findings.iter().map(shown).collect();
        let answer = match self.works {
            true => "messages can arrive on this host",
            false => "messages do not arrive",
        };
        Document::new()
            .listing(findings.trim_end())
            .sentence(format!("{}: {answer}", self.url))
    }
}

fn shown(finding: &Finding) -> String {
    let mut text = format!("{:<8}{}\n", finding.severity, finding.title);
    if finding.severity == Severity::Fine {
        return text;
    }
    let mut add = |label: &str, words: &str| {
        let words = words.replace('\n', "\n                ");
        text.push_str(&format!("        {label:<8}{words}\n"));
    };
    add("costs", &finding.cost);
    add("seen", &finding.evidence);
    if let Some(remedy) = &finding.remedy {
        add("remedy", remedy);
    }
    text
}
