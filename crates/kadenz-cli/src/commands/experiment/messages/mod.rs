//! One-way latency of messages: Kadenz's providers, and other middlewares through their own clients, on this machine.

mod contestants;
mod figures;

use clap::Args;
use kadenz::lab::pubsub::MIN;
use kadenz::rt::beat::Rate;
use kadenz::rt::tuning::Policy;
use schemars::JsonSchema;
use serde::Serialize;

use self::contestants::{Contestant, FLOOR};
pub(crate) use self::figures::MessageFigures;
use self::figures::{Contestants, MessageRun, MissingContestant};
use super::steps::Step;
use super::{ExperimentPlan, ExperimentSummary, Output};
use crate::options::{Size, Span, waiting};
use crate::output;

/// Measure how long a message takes from one program to another, by each middleware
///
/// Measures Kadenz's providers, other middlewares through their own clients (`kadenz msg probes`), and the operating
/// system's own transports as the baseline: 200 B at 1 kHz to one subscriber of this host, ordinary and at SCHED_FIFO
/// 80, unless options state otherwise. Each round begins with another contestant; ratios are taken within a round, and
/// printed with their 95 % interval. Times are from the publishing call until the subscriber has the decoded message:
/// of several subscribers the slowest. For a middleware that is not installed, the command that installs it is
/// printed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz experiment messages                             three rounds of 20 s for each, an hour
  kadenz experiment messages --duration 2s --rounds 5    a quarter of an hour
  kadenz experiment messages --only kadenz-udpm,lcm,unix LCM's wire by two clients, and the floor
  kadenz experiment messages --sizes 200B,64KiB,1MiB --subscribers 1,5 --rates 100Hz,1kHz
                                                         everything: a night

ROS 2 takes part in a shell that has sourced its setup.sh, which needs cmake as well.")]
pub(crate) struct Options {
    /// How long to measure each in each round
    #[arg(long, value_name = "SPAN", default_value = "20s")]
    duration: Span,

    /// How many rounds; an interval needs two at least
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,

    /// Measure only these
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    only: Vec<String>,

    /// Lengths of a message
    #[arg(
        long,
        value_name = "SIZE,...",
        value_delimiter = ',',
        default_value = "200B"
    )]
    sizes: Vec<Size>,

    /// How many subscribers
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u16).range(1..=200))]
    subscribers: Vec<u16>,

    /// Rates of the beat
    #[arg(
        long,
        value_name = "RATE,...",
        value_delimiter = ',',
        default_value = "1kHz"
    )]
    rates: Vec<Rate>,

    /// Scheduling policies
    #[arg(
        long,
        value_name = "POLICY,...",
        value_delimiter = ',',
        default_value = "other,fifo:80"
    )]
    policies: Vec<String>,

    /// Baseline of the ratios
    #[arg(long, value_name = "NAME", default_value = FLOOR)]
    floor: String,

    #[command(flatten)]
    pub(super) output: Output,
}

/// Message size, rate, subscribers and scheduling of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct MessageLoad {
    /// Length of a message.
    #[serde(serialize_with = "written")]
    #[schemars(with = "String")]
    pub(super) size: Size,
    /// Number of subscribers.
    pub(super) subscribers: u16,
    /// Rate of the beat.
    #[serde(serialize_with = "written")]
    #[schemars(with = "String")]
    pub(super) rate: Rate,
    /// Scheduling policy of all threads.
    pub(super) policy: String,
}

/// Serializes a value as the user types it.
fn written<S: serde::Serializer>(value: &impl std::fmt::Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

impl Options {
    fn loads(&self) -> Vec<MessageLoad> {
        let mut loads = Vec::new();
        for &size in &self.sizes {
            for &subscribers in &self.subscribers {
                for &rate in &self.rates {
                    for policy in &self.policies {
                        let policy = policy.clone();
                        loads.push(MessageLoad {
                            size,
                            subscribers,
                            rate,
                            policy,
                        });
                    }
                }
            }
        }
        loads
    }

    fn check(&self) -> anyhow::Result<()> {
        for policy in &self.policies {
            policy
                .parse::<Policy>()
                .map_err(|error| anyhow::anyhow!("`--policies {policy}`: {error}"))?;
        }
        for size in &self.sizes {
            anyhow::ensure!(
                size.0 >= MIN as u64,
                "`--sizes {size}`: a message has {MIN} B at least"
            );
        }
        contestants::chosen(std::slice::from_ref(&self.floor)).map(drop)
    }
}

pub(super) fn plan(options: &Options) -> anyhow::Result<ExperimentPlan> {
    options.check()?;
    let chosen = contestants::chosen(&options.only)?;
    let (present, absent) = waiting("building probes", || present(&chosen));
    for MissingContestant { name, why } in &absent {
        output::note(&format!("left out: {name}: {why}"));
    }
    anyhow::ensure!(
        !present.is_empty(),
        "none of these can be measured here; the missing parts are listed above"
    );
    let loads = options.loads();
    let (mut groups, mut measured) = (Vec::new(), Vec::new());
    for round in 0..usize::from(options.rounds) {
        for (at, load) in loads.iter().enumerate() {
            let fit: Vec<&Contestant> = present
                .iter()
                .filter(|it| it.fits(load.size.0, load.subscribers))
                .collect();
            for turn in 0..fit.len() {
                let contestant = *fit[(turn + round) % fit.len()];
                let name = format!("{:04}-{}", groups.len() + 1, contestant.name);
                groups.push(vec![step(&name, &contestant, load, options)]);
                measured.push(MessageRun {
                    name,
                    contestant: contestant.name,
                    load: at,
                    round,
                });
            }
        }
    }
    let contestants = Contestants {
        contestants: present,
        floor: options.floor.clone(),
        loads,
        absent,
        measured,
    };
    Ok(ExperimentPlan {
        name: "messages",
        groups,
        tables: Box::new(move |runs| {
            let figures = contestants.figures(runs);
            ExperimentSummary {
                document: figures.document(),
                messages: Some(figures),
            }
        }),
    })
}

/// Splits the contestants into those that can be measured here, and the others with the reason.
fn present(chosen: &[Contestant]) -> (Vec<Contestant>, Vec<MissingContestant>) {
    let (mut present, mut absent) = (Vec::new(), Vec::new());
    for contestant in chosen {
        match contestant.missing() {
            None => present.push(*contestant),
            Some(why) => absent.push(MissingContestant {
                name: contestant.name,
                why,
            }),
        }
    }
    (present, absent)
}

fn step(folder: &str, contestant: &Contestant, load: &MessageLoad, options: &Options) -> Step {
    let MessageLoad {
        size,
        subscribers,
        rate,
        policy,
    } = load;
    let command = format!(
        "msg latency --untold --no-samples --unexamined {} --rate {rate:#} --size {size} --subscribers {subscribers} \
         --duration {} --policy {policy}",
        contestant.options(),
        options.duration
    );
    Step::new(folder, &command).may_fail()
}
