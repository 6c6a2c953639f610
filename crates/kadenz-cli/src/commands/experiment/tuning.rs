//! The experiment of the paper on a humanoid: the control period under each combination of priority,
//! locked memory, CPU shield and spinning sleep, unloaded and under heavy load.

use clap::Args;
use kadenz_report::matrix::{self, Matrix};
use kadenz_report::summary::Summary;

use super::steps::Step;
use super::{Output, Plan};
use crate::options::Span;

/// Which real-time measure steadies a control period, unloaded and under heavy load?
///
/// The matrix of H. Yoon, J. Song and J. Lee, "Real-Time Performance Analysis in Linux-Based Robotic
/// Systems" (2009), figures 7 and 8, in its rows and columns beside the published ones. As in the
/// paper each period is counted from the last wake-up; its nine combinations take turns instead of
/// following each other. `kadenz tune` is the same with everything to choose.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz experiment tuning                     three minutes a combination and load: an hour
  kadenz experiment tuning --duration 10min    as long as in the paper")]
pub(crate) struct Options {
    /// How long each combination is measured under each load
    #[arg(long, value_name = "SPAN", default_value = "3min")]
    duration: Span,

    /// How long a turn is
    #[arg(long, value_name = "SPAN", default_value = "10s")]
    round: Span,

    #[command(flatten)]
    pub(super) output: Output,
}

pub(super) fn plan(options: &Options) -> Plan {
    let command = format!(
        "tune --rate 1kHz --load both --pace relative --spin-margin 50us --duration {} --round {}",
        options.duration, options.round
    );
    Plan {
        name: "tuning",
        groups: vec![vec![Step::new("matrix", &command)]],
        tables,
    }
}

fn tables(runs: &[Summary]) -> String {
    let matrices = runs.iter().filter_map(Matrix::of);
    matrices.map(|matrix| matrix::markdown(&matrix)).collect()
}
