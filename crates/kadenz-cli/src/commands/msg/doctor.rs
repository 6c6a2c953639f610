//! `kadenz msg doctor`.

use clap::Args;
use kadenz::msg::multicast;
use kadenz::msg::provider::parameters::Address;
use kadenz::report::document::{Answer, Document, Version};
use kadenz::rt::doctor::{Finding, Severity};
use schemars::JsonSchema;
use serde::Serialize;

use super::bus::BusOptionOrUrl;
use crate::commands::doctor;
use crate::output::{Outcome, Reply};

/// Find out why LCM's messages do not arrive: route, interface, TTL, buffers, filters and listening programs, each
/// with its evidence, its cost and the command that fixes it, and whether this host receives its own messages.
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
pub(super) struct BusReport {
    version: Version<1>,
    url: String,
    works: bool,
    findings: Vec<Finding>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let url = options.bus.url();
    let findings = multicast::examine(&Address::parse(&url)?)?;
    let works = multicast::works(&findings);
    let reply = Reply::from(BusReport {
        version: Version,
        url,
        works,
        findings,
    });
    Ok(reply.with(Outcome::missed_if(!works)))
}

impl Answer for BusReport {
    fn document(&self) -> Document {
        let (fine, other): (Vec<_>, Vec<_>) = self
            .findings
            .iter()
            .partition(|it| it.severity == Severity::Fine);
        let document = other.into_iter().map(doctor::lines);
        let document = document.fold(Document::new(), Document::lines);
        let answer = match self.works {
            true => "messages can arrive on this host",
            false => "messages do not arrive",
        };
        document
            .lines(fine.into_iter().map(doctor::title))
            .fitted()
            .sentence(format!("{}: {answer}", self.url))
    }
}
