//! The commands, a file each.

mod beside;
#[cfg(all(feature = "camera", target_os = "linux"))]
mod camera;
mod check;
mod child;
mod compare;
mod completions;
mod doctor;
mod ethercat;
mod experiment;
mod export;
mod hiccup;
mod import;
mod interrupt;
mod load;
mod log;
mod man;
mod modes;
mod msg;
mod outcome;
mod report;
mod run;
mod show;
mod testbed;
mod timer;
mod tune;
mod udp;
mod wire;

use clap::Subcommand;

use crate::output::Outcome;

/// Every command of the program. What each is for stands at its options, where help takes it from.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(check::Options),
    Tune(Box<tune::Options>),
    Doctor(doctor::Options),
    Hiccup(hiccup::Options),
    #[command(subcommand)]
    Timer(timer::Timer),
    #[command(subcommand)]
    Udp(udp::Udp),
    #[command(subcommand)]
    Msg(msg::Msg),
    #[command(subcommand)]
    Ethercat(ethercat::Ethercat),
    #[cfg(all(feature = "camera", target_os = "linux"))]
    #[command(subcommand)]
    Camera(camera::CameraCommand),
    #[command(subcommand)]
    Experiment(experiment::Experiment),
    Load(load::Options),
    #[command(subcommand)]
    Log(log::Log),
    Run(run::Options),
    Wire(wire::Options),
    #[command(subcommand)]
    Testbed(testbed::Testbed),
    Report(report::Options),
    Show(show::Options),
    Compare(compare::Options),
    Modes(modes::Options),
    Import(import::Options),
    Export(export::Options),
    Completions(completions::Options),
    Man(man::Options),
}

/// Does what was asked for.
pub(crate) fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Check(options) => check::run(&options),
        Command::Tune(options) => tune::run(*options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Hiccup(options) => hiccup::run(&options),
        Command::Timer(timer) => timer::run(&timer),
        Command::Udp(udp) => udp::run(&udp),
        Command::Msg(msg) => msg::run(&msg),
        Command::Ethercat(ethercat) => ethercat::run(&ethercat),
        #[cfg(all(feature = "camera", target_os = "linux"))]
        Command::Camera(command) => camera::run(&command),
        Command::Experiment(experiment) => experiment::run(&experiment),
        Command::Load(options) => load::run(&options),
        Command::Log(log) => log::run(&log),
        Command::Run(options) => run::run(&options),
        Command::Wire(options) => wire::run(&options),
        Command::Testbed(testbed) => testbed::run(&testbed),
        Command::Report(options) => report::run(&options),
        Command::Show(options) => show::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Modes(options) => modes::run(&options),
        Command::Import(options) => import::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Completions(options) => completions::run(&options),
        Command::Man(options) => man::run(&options),
    }
}

/// The schemas of `docs/schema`.
#[cfg(all(test, target_os = "linux"))]
pub(crate) fn schemas() -> Vec<kadenz_report::schema::SchemaFile> {
    let mut schemas = vec![
        #[cfg(feature = "camera")]
        camera::schemas(),
        doctor::schemas(),
        ethercat::schemas(),
        load::schemas(),
        log::schemas(),
        msg::schemas(),
        outcome::schemas(),
        tune::schemas(),
        udp::schemas(),
        wire::schemas(),
    ];
    schemas.extend(testbed::schemas());
    schemas.extend(kadenz_report::schema::SchemaFile::of_runs());
    schemas
}
