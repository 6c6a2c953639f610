//! The experiment of [Yoon2009] on a humanoid: the control period under each combination of priority,
//! locked memory, CPU shield and spinning sleep, unloaded and under heavy load.

use clap::Args;
use kadenz::report::document::Document;
use kadenz::report::matrix::{self, Combination, Matrix};

use super::steps::Step;
use super::{ExperimentPlan, Output, StepRun};
use crate::commands::tune::Bus;
use crate::options::Span;

/// Measure which real-time measure steadies a control period, unloaded and under heavy load
///
/// The matrix of [Yoon2009] (docs/bibliography.md), figures 7 and 8, in its rows and columns beside the
/// published ones. As there, each period is counted from the last wake-up; its nine combinations alternate instead of
/// following each other. `kadenz tune` is the same with all options.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz experiment tuning                     three minutes for each combination and load: an hour
  kadenz experiment tuning --duration 10min    as long as [Yoon2009]
  kadenz experiment tuning --bus 59            with the robot's 59 EtherCAT devices")]
pub(crate) struct Options {
    /// How long to measure each combination under each load
    #[arg(long, value_name = "SPAN", default_value = "3min")]
    duration: Span,

    /// Length of a round
    #[arg(long, value_name = "SPAN", default_value = "10s")]
    round: Span,

    /// Exchange process data with this EtherCAT segment in every cycle: 59 for the robot of [Yoon2009], a
    /// file, or an interface
    #[arg(long, value_name = "SEGMENT")]
    bus: Option<Bus>,

    #[command(flatten)]
    pub(super) output: Output,
}

pub(super) fn plan(options: &Options) -> ExperimentPlan {
    // [Yoon2009] has no combination with I.
    let cells = Combination::YOON2009.map(|it| it.to_string()).join(",");
    let command = format!(
        "tune --rate 1kHz --cells {cells} --load both --pace relative --spin-margin 50us --duration {} --round {}",
        options.duration, options.round
    );
    let step = Step::new("matrix", &command).accepts_no_answer();
    let step = match &options.bus {
        Some(bus) => step.and_word(format!("--bus={bus}")),
        None => step,
    };
    ExperimentPlan {
        name: "tuning",
        // No combination may keep the deadline, or too few samples may be left to say so: the tables hold either way.
        groups: vec![vec![step]],
        tables: Box::new(|runs| tables(runs).into()),
    }
}

fn tables(runs: &[StepRun<'_>]) -> Document {
    let matrices = runs.iter().filter_map(|it| Matrix::of(it.run));
    let document = |it: Matrix| matrix::document(&it).and(matrix::beside_yoon2009(&it));
    matrices.map(document).fold(Document::new(), Document::and)
}
