//! `kadenz ethercat`, one file per command.

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

pub(crate) use run::check_cycle;
pub(crate) use segment::{Virtual, check_interface};

#[cfg(all(test, target_os = "linux"))]
use crate::commands::outcome::Measures;

commands! {
    /// Find, configure, read and run the devices of a fieldbus.
    ///
    /// Every command uses the segment at a network interface (`--interface`, Linux, with the right to raw frames), or
    /// a virtual one in its own process (`--sim 59`, the humanoid of 59 devices, or `--sim FILE.toml`), which needs
    /// no privileges, so every command can be tried anywhere. `scan`, `state`, `sdo`, `pdo`, `dc`, `alias`, `register`
    /// and `sii` also reach the devices of a running loop (`--loop NAME`, Linux); `stats`, `inputs`, `output`, `axes`,
    /// `stop` and `reset` are for such a loop alone.
    enum Ethercat in ethercat {
        Sim(sim::Options) = sim::run => "sim": sim::serve::SimReport;
        Scan(scan::Options) = scan::run => "scan": scan::Scan;
        State(state::Options) = state::run => "state": state::States;
        #[command(subcommand)]
        Sdo(sdo::Sdo) = sdo::run => "sdo": sdo::transfer::Transfer, "sdo-list": sdo::dictionary::Dictionary;
        Pdo(pdo::Options) = pdo::run => "pdo": pdo::ProcessData;
        Dc(dc::Options) = dc::run => "dc": dc::ClockReport;
        Latency(latency::Options) = latency::run => "latency": latency::LatencyReport;
        #[command(subcommand)]
        Sii(sii::Sii) = sii::run => "sii": sii::read::SiiReport, "sii-write": sii::write::SiiWrite;
        Alias(alias::Options) = alias::run => "alias": alias::Alias;
        #[command(subcommand)]
        Register(register::Register) = register::run
            => "register": register::read::RegisterReport,
            "register-write": register::write::RegisterWrite;
        Run(Box<run::Options>) = run::run => "run": Measures;
        #[cfg(target_os = "linux")]
        Stats(stats::Options) = stats::run
            => "stats": stats::Stats,
            "stats-devices": stats::DeviceStats,
            "stats-notice": stats::NoticeLine;
        #[cfg(target_os = "linux")]
        Inputs(inputs::Options) = inputs::run => "inputs": inputs::shown::InputReport;
        #[cfg(target_os = "linux")]
        Output(output::Options) = output::run => "output": output::Written;
        #[cfg(target_os = "linux")]
        Axes(axes::AxesOptions) = axes::status => "axes": axes::Axes;
        #[cfg(target_os = "linux")]
        Stop(axes::Stop) = axes::stop;
        #[cfg(target_os = "linux")]
        Reset(axes::Reset) = axes::reset;
    }
}
