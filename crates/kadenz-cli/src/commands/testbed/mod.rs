//! `kadenz testbed`.

#[cfg(target_os = "linux")]
mod live;
mod model;
mod named;
mod round_trips;
mod shown;

use clap::Subcommand;

use crate::output::Outcome;

/// A network of this machine: hosts, links and switches as a file describes them.
///
/// `model` computes what plain Ethernet does to datagrams in such a network; `up`, `run` and `exec`
/// build it out of network namespaces and run programs on its hosts (Linux, as root). Ready topologies
/// are built in: `kadenz testbed list`.
#[derive(Debug, Subcommand)]
pub(crate) enum Testbed {
    List(shown::List),
    Show(shown::Show),
    Model(model::Options),
    #[cfg(target_os = "linux")]
    Up(live::up::Options),
    #[cfg(target_os = "linux")]
    Run(live::run::Options),
    #[cfg(target_os = "linux")]
    Exec(live::exec::Options),
    #[cfg(target_os = "linux")]
    Status(live::status::Options),
    #[cfg(target_os = "linux")]
    Down(live::down::Options),
}

pub(crate) fn run(testbed: &Testbed) -> anyhow::Result<Outcome> {
    match testbed {
        Testbed::List(options) => shown::list(options),
        Testbed::Show(options) => shown::show(options),
        Testbed::Model(options) => model::run(options),
        #[cfg(target_os = "linux")]
        Testbed::Up(options) => live::up::run(options),
        #[cfg(target_os = "linux")]
        Testbed::Run(options) => live::run::run(options),
        #[cfg(target_os = "linux")]
        Testbed::Exec(options) => live::exec::run(options),
        #[cfg(target_os = "linux")]
        Testbed::Status(options) => live::status::run(options),
        #[cfg(target_os = "linux")]
        Testbed::Down(options) => live::down::run(options),
    }
}

/// What the commands' JSON looks like.
#[cfg(all(test, target_os = "linux"))]
pub(crate) fn schemas() -> [kadenz_report::schema::SchemaFile; 3] {
    use kadenz_report::schema::SchemaFile;
    [
        SchemaFile::root::<model::ModelledTimes>("testbed-model", 1),
        SchemaFile::root::<live::status::StandingTestbed>("testbed-status", 1),
        SchemaFile::new("testbed", 1)
            .answer::<shown::Topologies>("list")
            .answer::<shown::ShownTopology>("show")
            .answer::<live::up::EndedTestbed>("up")
            .answer::<live::up::DetachedTestbed>("up-detach")
            .answer::<live::down::EndedOrCleared>("down"),
    ]
}
