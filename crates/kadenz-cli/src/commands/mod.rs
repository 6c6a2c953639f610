//! The commands, a file each.

mod check;
mod compare;
mod completions;
mod doctor;
mod experiment;
mod export;
mod hiccup;
mod import;
mod interrupt;
mod man;
mod outcome;
mod report;
mod show;
mod timer;

use clap::Subcommand;

use crate::output::Outcome;

/// Every command of the program.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Can this machine keep a rate and a deadline? One minute, one answer
    Check(check::Options),
    /// What spoils real time on this machine, what it costs and how to mend it
    Doctor(doctor::Options),
    /// How long does this machine hold a sleeping thread back? (jHiccup's measurement)
    Hiccup(hiccup::Options),
    /// Does a timer keep a timeout, or a rate?
    #[command(subcommand)]
    Timer(timer::Timer),
    /// Repeat a published experiment here, and set the result beside the published one
    #[command(subcommand)]
    Experiment(experiment::Experiment),
    /// Make one self-contained HTML page of one run or several
    Report(report::Options),
    /// Show runs in the terminal, or as JSON
    Show(show::Options),
    /// Compare runs, with confidence; fail where a limit is crossed
    Compare(compare::Options),
    /// Make a run of what another tool measured
    Import(import::Options),
    /// Write a run in another format
    Export(export::Options),
    /// Print a completion script for a shell
    Completions(completions::Options),
    /// Write the manual pages
    Man(man::Options),
}

/// Does what was asked for.
pub(crate) fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Check(options) => check::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Hiccup(options) => hiccup::run(&options),
        Command::Timer(timer) => timer::run(&timer),
        Command::Experiment(experiment) => experiment::run(&experiment),
        Command::Report(options) => report::run(&options),
        Command::Show(options) => show::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Import(options) => import::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Completions(options) => completions::run(&options),
        Command::Man(options) => man::run(&options),
    }
}
