//! `kadenz testbed list` and `kadenz testbed show`.

use clap::Args;
use kadenz::lab::testbed::topology::{READY, Role, Topology};
use kadenz::report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;

use crate::options::complete;
use crate::output::Reply;

/// List the built-in topologies
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz testbed list")]
pub(crate) struct TestbedListOptions {}

/// Print a topology's file, to read or to change
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz testbed show baseline
  kadenz testbed show baseline > arm.toml      a template for your own topology
  kadenz testbed show arm.toml --json          the parsed topology")]
pub(crate) struct Show {
    /// A built-in topology, or a file
    #[arg(value_name = "TOPOLOGY", value_parser = complete::<String>(super::built_in()), hide_possible_values = true)]
    topology: String,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Topologies {
    version: Version<1>,
    topologies: Vec<ListedTopology>,
}

#[derive(JsonSchema, Serialize)]
struct ListedTopology {
    name: String,
    summary: String,
    hosts: usize,
    switches: usize,
    links: usize,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct ShownTopology {
    version: Version<1>,
    name: String,
    summary: String,
    hosts: Vec<ShownHost>,
    switches: Vec<String>,
    links: Vec<ShownLink>,
    /// The file, for people.
    #[serde(skip)]
    text: String,
}

#[derive(JsonSchema, Serialize)]
struct ShownHost {
    name: String,
    role: &'static str,
    program: Vec<String>,
}

#[derive(JsonSchema, Serialize)]
struct ShownLink {
    name: String,
    between: [String; 2],
    bits_per_second: u64,
    propagation_ns: f64,
}

pub(super) fn list(_: &TestbedListOptions) -> anyhow::Result<Topologies> {
    let topologies = READY
        .iter()
        .map(|(_, text)| Ok(listed(&Topology::parse(text)?)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Topologies {
        version: Version,
        topologies,
    })
}

impl Answer for Topologies {
    fn document(&self) -> Document {
        let longest = self.topologies.iter().map(|it| it.name.len());
        let longest = longest.max().unwrap_or(0);
        let lines = self.topologies.iter();
        let lines = lines.map(|it| format!("{:<longest$}  {}", it.name, it.summary));
        Document::new().sentences(lines)
    }
}

pub(super) fn show(options: &Show) -> anyhow::Result<Reply> {
    // Errors are printed even where the user wants the text alone.
    let (text, topology) = super::topology_with_text(&options.topology)?;
    let shown = shown(&topology, text);
    let text = shown.text.clone();
    Ok(Reply::as_data(shown, text))
}

impl Answer for ShownTopology {
    fn document(&self) -> Document {
        Document::new().listing(self.text.as_str())
    }
}

fn listed(topology: &Topology) -> ListedTopology {
    ListedTopology {
        name: topology.name.clone(),
        summary: topology.summary.clone(),
        hosts: topology.hosts.len(),
        switches: topology.switches.len(),
        links: topology.links.len(),
    }
}

fn shown(topology: &Topology, text: String) -> ShownTopology {
    let host = |host: &kadenz::lab::testbed::topology::Host| ShownHost {
        name: host.name.clone(),
        role: match host.role {
            Role::Controller => "controller",
            Role::Device => "device",
            Role::Bystander => "bystander",
        },
        program: host.program.clone(),
    };
    let link = |link: &kadenz::lab::testbed::topology::Link| ShownLink {
        name: link.name.clone(),
        between: link.ends.map(|end| topology.name_of(end).to_owned()),
        bits_per_second: link.speed.bits_per_second(),
        propagation_ns: link.propagation.as_ns_f64(),
    };
    ShownTopology {
        version: Version,
        name: topology.name.clone(),
        summary: topology.summary.clone(),
        hosts: topology.hosts.iter().map(host).collect(),
        switches: topology.switches.iter().map(|it| it.name.clone()).collect(),
        links: topology.links.iter().map(link).collect(),
        text,
    }
}
