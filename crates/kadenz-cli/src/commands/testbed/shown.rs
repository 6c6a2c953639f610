//! `kadenz testbed list` and `kadenz testbed show`.

use clap::Args;
use kadenz_lab::testbed::topology::{READY, Role, Topology};
use serde::Serialize;

use super::named;
use crate::options::complete;
use crate::output::{self, Outcome};

/// The topologies that are built in
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz testbed list")]
pub(crate) struct List {}

/// A topology's file, to read or to change
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz testbed show baseline
  kadenz testbed show baseline > arm.toml      a topology of your own begins so
  kadenz testbed show arm.toml --json          what was understood")]
pub(crate) struct Show {
    /// One that is built in, or a file
    #[arg(value_name = "TOPOLOGY", value_parser = complete::<String>(named::built_in()), hide_possible_values = true)]
    topology: String,
}

#[derive(Serialize)]
struct ToldList {
    version: u32,
    topologies: Vec<ToldName>,
}

#[derive(Serialize)]
struct ToldName {
    name: String,
    summary: String,
    hosts: usize,
    switches: usize,
    links: usize,
}

#[derive(Serialize)]
struct Told {
    version: u32,
    name: String,
    summary: String,
    hosts: Vec<ToldHost>,
    switches: Vec<String>,
    links: Vec<ToldLink>,
}

#[derive(Serialize)]
struct ToldHost {
    name: String,
    role: &'static str,
    program: Vec<String>,
}

#[derive(Serialize)]
struct ToldLink {
    name: String,
    between: [String; 2],
    bits_per_second: u64,
    propagation_ns: f64,
}

pub(super) fn list(_: &List) -> anyhow::Result<Outcome> {
    let topologies = READY
        .iter()
        .map(|(_, text)| Ok(name(&Topology::parse(text)?)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    if output::is_json() {
        output::json(&ToldList {
            version: 1,
            topologies,
        })?;
        return Ok(Outcome::Kept);
    }
    let longest = topologies.iter().map(|it| it.name.len()).max().unwrap_or(0);
    let lines: Vec<String> = topologies
        .iter()
        .map(|it| format!("{:<longest$}  {}", it.name, it.summary))
        .collect();
    output::say(&lines.join("\n"));
    Ok(Outcome::Kept)
}

pub(super) fn show(options: &Show) -> anyhow::Result<Outcome> {
    // What is wrong is said, also where the text alone is wanted.
    let (text, topology) = named::with_text(&options.topology)?;
    if output::is_json() {
        output::json(&told(&topology))?;
    } else {
        output::data(&text);
    }
    Ok(Outcome::Kept)
}

fn name(topology: &Topology) -> ToldName {
    ToldName {
        name: topology.name.clone(),
        summary: topology.summary.clone(),
        hosts: topology.hosts.len(),
        switches: topology.switches.len(),
        links: topology.links.len(),
    }
}

fn told(topology: &Topology) -> Told {
    let host = |host: &kadenz_lab::testbed::topology::Host| ToldHost {
        name: host.name.clone(),
        role: match host.role {
            Role::Controller => "controller",
            Role::Device => "device",
            Role::Bystander => "bystander",
        },
        program: host.program.clone(),
    };
    let link = |link: &kadenz_lab::testbed::topology::Link| ToldLink {
        name: link.name.clone(),
        between: link.ends.map(|end| topology.name_of(end).to_owned()),
        bits_per_second: link.speed.bits_per_second(),
        propagation_ns: link.propagation.as_ns_f64(),
    };
    Told {
        version: 1,
        name: topology.name.clone(),
        summary: topology.summary.clone(),
        hosts: topology.hosts.iter().map(host).collect(),
        switches: topology.switches.iter().map(|it| it.name.clone()).collect(),
        links: topology.links.iter().map(link).collect(),
    }
}
