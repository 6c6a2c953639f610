//! `kadenz testbed`.

#[cfg(target_os = "linux")]
mod live;
mod model;
mod shown;

use std::path::Path;

use anyhow::Context as _;
use kadenz::lab::testbed::topology::{READY, Topology, limits, ready};

commands! {
    /// Build or compute a network of hosts, links and switches from a topology file
    ///
    /// `model` computes the round trips and losses of datagrams on plain Ethernet in such a network; `up`, `run` and
    /// `exec` build it out of network namespaces and run programs on its hosts (Linux, as root). `kadenz testbed list`
    /// lists the built-in topologies.
    enum Testbed in testbed {
        List(shown::TestbedListOptions) = shown::list => "list": shown::Topologies;
        Show(shown::Show) = shown::show => "show": shown::ShownTopology;
        Model(model::Options) = model::run => "testbed-model": model::ModelledTimes;
        #[cfg(target_os = "linux")]
        Up(live::up::Options) = live::up::run
            => "up": live::up::EndedTestbed,
            "up-detach": live::up::DetachedTestbed;
        #[cfg(target_os = "linux")]
        Run(live::run::Options) = live::run::run;
        #[cfg(target_os = "linux")]
        Exec(live::standing::ExecOptions) = live::standing::exec;
        #[cfg(target_os = "linux")]
        Status(live::standing::StatusOptions) = live::standing::status
            => "testbed-status": live::standing::StandingTestbed;
        #[cfg(target_os = "linux")]
        Down(live::standing::DownOptions) = live::standing::down => "down": live::standing::EndedOrCleared;
    }
}

/// The names of the built-in topologies.
fn built_in() -> impl Iterator<Item = &'static str> {
    READY.iter().map(|(name, _)| *name)
}

/// The text of a topology.
fn text_of(named: &str) -> anyhow::Result<String> {
    if let Some(text) = ready(named) {
        return Ok(text.to_owned());
    }
    let path = Path::new(named);
    let size = std::fs::metadata(path).with_context(|| {
        let known: Vec<&str> = built_in().collect();
        format!(
            "`{named}` is neither a file nor a built-in topology ({})",
            known.join(", ")
        )
    })?;
    anyhow::ensure!(
        size.is_file() && size.len() <= limits::FILE as u64,
        "{named} is not a valid topology: it is not a file of at most {} bytes",
        limits::FILE
    );
    std::fs::read_to_string(path).with_context(|| format!("cannot read {named}"))
}

/// The validated topology.
fn topology(named: &str) -> anyhow::Result<Topology> {
    Ok(topology_with_text(named)?.1)
}

/// The topology with its text, from one read: if the file changes meanwhile, the text beside the run must still be
/// that of the run's topology.
fn topology_with_text(named: &str) -> anyhow::Result<(String, Topology)> {
    let text = text_of(named)?;
    let topology =
        Topology::parse(&text).with_context(|| format!("{named} is not a valid topology"))?;
    Ok((text, topology))
}
