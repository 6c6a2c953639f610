//! `kadenz ethercat`, a file a command.

mod access;
mod alias;
#[cfg(target_os = "linux")]
mod axes;
mod dc;
mod device;
mod esi;
#[cfg(target_os = "linux")]
mod inputs;
mod latency;
mod operate;
#[cfg(target_os = "linux")]
mod output;
mod pdo;
mod register;
mod run;
#[cfg(target_os = "linux")]
mod running_loop;
mod scan;
mod sdo;
mod segment;
mod sii;
mod sim;
mod state;
#[cfg(target_os = "linux")]
mod stats;
mod value;

use clap::Subcommand;

use crate::output::Outcome;
pub(crate) use run::check_cycle;
pub(crate) use segment::{Virtual, check_interface};

/// Find, configure, read and run the devices of a fieldbus.
///
/// Every command talks to the segment that is plugged into a network interface (`--interface`, Linux,
/// with the right to raw frames), or to a virtual one in its own process (`--sim 59`, the humanoid of 59
/// devices, or `--sim FILE.toml`), which needs no rights and no time: so each can be tried anywhere. `state`,
/// `sdo`, `dc`, `register` and `sii read` also talk to the devices of a loop that runs (`--loop NAME`, Linux);
/// `stats`, `inputs`, `output`, `axes`, `stop` and `reset` are for such a loop alone.
#[derive(Debug, Subcommand)]
pub(crate) enum Ethercat {
    Sim(sim::Options),
    Scan(scan::Options),
    State(state::Options),
    #[command(subcommand)]
    Sdo(sdo::Sdo),
    Pdo(pdo::Options),
    Dc(dc::Options),
    Latency(latency::Options),
    #[command(subcommand)]
    Sii(sii::Sii),
    Alias(alias::Options),
    #[command(subcommand)]
    Register(register::Register),
    Run(Box<run::Options>),
    #[cfg(target_os = "linux")]
    Stats(stats::Options),
    #[cfg(target_os = "linux")]
    Inputs(inputs::Options),
    #[cfg(target_os = "linux")]
    Output(output::Options),
    #[cfg(target_os = "linux")]
    Axes(axes::Tell),
    #[cfg(target_os = "linux")]
    Stop(axes::Stop),
    #[cfg(target_os = "linux")]
    Reset(axes::Reset),
}

pub(crate) fn run(ethercat: &Ethercat) -> anyhow::Result<Outcome> {
    match ethercat {
        Ethercat::Sim(options) => sim::run(options),
        Ethercat::Scan(options) => scan::run(options),
        Ethercat::State(options) => state::run(options),
        Ethercat::Sdo(sdo) => sdo::run(sdo),
        Ethercat::Pdo(options) => pdo::run(options),
        Ethercat::Dc(options) => dc::run(options),
        Ethercat::Latency(options) => latency::run(options),
        Ethercat::Sii(sii) => sii::run(sii),
        Ethercat::Alias(options) => alias::run(options),
        Ethercat::Register(register) => register::run(register),
        Ethercat::Run(options) => run::run(options),
        #[cfg(target_os = "linux")]
        Ethercat::Stats(options) => stats::run(options),
        #[cfg(target_os = "linux")]
        Ethercat::Inputs(options) => inputs::run(options),
        #[cfg(target_os = "linux")]
        Ethercat::Output(options) => output::run(options),
        #[cfg(target_os = "linux")]
        Ethercat::Axes(options) => axes::tell(options),
        #[cfg(target_os = "linux")]
        Ethercat::Stop(options) => axes::stop(options),
        #[cfg(target_os = "linux")]
        Ethercat::Reset(options) => axes::reset(options),
    }
}

/// What the commands' JSON looks like.
#[cfg(all(test, target_os = "linux"))]
pub(crate) fn schemas() -> kadenz_report::schema::SchemaFile {
    kadenz_report::schema::SchemaFile::new("ethercat", 1)
        .answer::<sim::serve::SimReport>("sim")
        .answer::<scan::Scan>("scan")
        .answer::<state::States>("state")
        .answer::<sdo::transfer::Transfer>("sdo")
        .answer::<sdo::dictionary::Dictionary>("sdo-list")
        .answer::<pdo::ProcessData>("pdo")
        .answer::<dc::ClockReport>("dc")
        .answer::<latency::LatencyReport>("latency")
        .answer::<sii::read::SiiReport>("sii")
        .answer::<sii::write::SiiWrite>("sii-write")
        .answer::<alias::Alias>("alias")
        .answer::<register::read::RegisterReport>("register")
        .answer::<register::write::RegisterWrite>("register-write")
        .answer::<stats::Stats>("stats")
        .answer::<stats::DeviceStats>("stats-devices")
        .answer::<stats::NoticeLine>("stats-notice")
        .answer::<inputs::shown::InputReport>("inputs")
        .answer::<output::Written>("output")
        .answer::<axes::Axes<'_>>("axes")
}
