//! How patiently the segment is brought up, and which devices it is to have.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kadenz_ethercat::main_device::bring_up::{self, BringUpError, UntilStopped, retry};
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{Exchange, Registers};
use kadenz_ethercat::main_device::expected::{Expected, Found};
use kadenz_ethercat::motion::PlanError;
use kadenz_ethercat::sim::file::Plan;
use kadenz_ethercat::wire::Configured;
use kadenz_lab::stop::Stop;

use super::BeatOption;
use super::lines::cut_off;
use crate::options::Span;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct BringUpOptions {
    /// How long bring-up is tried again while devices do not answer
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "10s",
        help_heading = "Segment"
    )]
    bring_up_timeout: Span,

    /// All devices that the segment is to have, as a segment's file (docs/ethercat.md); bring-up waits for them
    /// [default: the most that were seen while it was tried]
    #[arg(long, value_name = "FILE", help_heading = "Segment")]
    expect: Option<PathBuf>,

    /// Start with the devices that are there when `--bring-up-timeout` is over; the others are configured by the file
    /// and brought to OP when they come
    #[arg(long, requires = "expect", help_heading = "Segment")]
    start_without_missing: bool,
}

impl BringUpOptions {
    /// Refuses what does not go together.
    pub(super) fn check(&self, beat: BeatOption) -> anyhow::Result<()> {
        anyhow::ensure!(
            !self.start_without_missing || beat == BeatOption::Own,
            "--start-without-missing: the delay to a device that is away cannot be measured, so its clock could not \
             follow; leave out --beat reference, or wait for all devices"
        );
        Ok(())
    }

    /// The devices that there are to be.
    pub(super) fn expected(&self) -> anyhow::Result<Expected> {
        let Some(path) = &self.expect else {
            return Ok(Expected::default());
        };
        let plan = Plan::read(path).context("--expect")?;
        Expected::of(plan).context("--expect")
    }

    /// Brings up the segment, and again while devices do not answer, until all that are expected are configured:
    /// these, and what configuring them gave. Says once that it waits, and once that this is over.
    pub(super) fn run<T>(
        &self,
        segment: &mut dyn Exchange,
        expected: &mut Expected,
        stop: &Stop,
        mut configure: impl FnMut(&mut Registers<'_>, &mut [SubDevice]) -> anyhow::Result<T>,
    ) -> anyhow::Result<(Vec<SubDevice>, T)> {
        let within = self.bring_up_timeout.0;
        let is_stopped = || stop.requested();
        let segment = &mut UntilStopped {
            segment,
            is_stopped: &is_stopped,
        };
        let begun = segment.now();
        let (is_told, silent) = (Cell::new(false), Cell::new(None));
        let again = |error: &anyhow::Error| {
            silent.set(bring_up::silent(error.as_ref()).or(silent.get()));
            let again = may_pass(error) && !stop.requested();
            if again && !is_told.replace(true) {
                note(&format!(
                    "bring-up, tried again for up to {}: {}",
                    self.bring_up_timeout,
                    output::with_causes(error)
                ));
            }
            again
        };
        let failed = |error: anyhow::Error, expected: &Expected| match stop.requested() {
            true => anyhow::anyhow!("bring-up was ended before all devices were configured"),
            false => named(error, silent.get(), expected, within),
        };
        let complete = |segment: &mut dyn Exchange| {
            expected.bring_up(segment, Found::ensure_complete, &mut configure)
        };
        let error = match retry(segment, within, complete, again) {
            Ok(done) => {
                if is_told.get() {
                    let waited = segment.now().remaining(begun);
                    note(&format!(
                        "bring-up: done after {:.1} s",
                        waited.as_secs_f64()
                    ));
                }
                return Ok(done);
            }
            Err(error) => error,
        };
        if !again(&error) || !self.start_without_missing {
            return Err(failed(error, expected));
        }
        let mut without = None;
        let partly = |segment: &mut dyn Exchange| {
            let accept = |found: &Found| {
                without = (!found.missing.is_empty()).then(|| found.named_missing());
                found.ensure_told_apart()
            };
            expected.bring_up(segment, accept, &mut configure)
        };
        let done = retry(segment, within, partly, again);
        if let (Ok(_), Some(who)) = (&done, without) {
            note(&format!("bring-up: starts without {who}"));
        }
        done.map_err(|error| failed(error, expected))
    }
}

/// Says what goes on, in a line that fits.
fn note(text: &str) {
    output::note(&cut_off(text, output::width_of_notes()));
}

/// Whether a new try may help: devices do not answer, or one that the motion's file names is not there.
fn may_pass(error: &anyhow::Error) -> bool {
    let is_nobody = matches!(error.downcast_ref(), Some(PlanError::Nobody { .. }));
    is_nobody || bring_up::is_passing(error.as_ref())
}

/// An error that begins with who did not answer, where it comes of that and does not say so.
fn named(
    error: anyhow::Error,
    silent: Option<Configured>,
    expected: &Expected,
    within: Duration,
) -> anyhow::Error {
    let is_told = matches!(error.downcast_ref(), Some(BringUpError::Missing { .. }));
    let Some(station) = silent.filter(|_| !is_told && may_pass(&error)) else {
        return error;
    };
    let label = expected.label(station);
    error.context(format!(
        "{label} did not answer, tried for {}; is its power on, and are the cables before it whole? \
         --bring-up-timeout waits longer",
        Span(within)
    ))
}
