//! Patience of the bring-up, and the devices that it expects.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kadenz::ethercat::{Missing, NetworkBuilder};

use super::BeatOption;
use crate::options::Span;

#[derive(Debug, Args)]
pub(super) struct BringUpOptions {
    /// How long to retry bring-up while devices do not answer
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "10s",
        help_heading = "Segment"
    )]
    bring_up_timeout: Span,

    /// All devices that the segment must have, as a segment's file (docs/ethercat.md); bring-up waits for them
    /// [default: the most devices that any attempt found]
    #[arg(long, value_name = "FILE", help_heading = "Segment")]
    expect: Option<PathBuf>,

    /// Start with the present devices when `--bring-up-timeout` has passed; the file configures the others, which
    /// reach OP when they appear
    #[arg(long, requires = "expect", help_heading = "Segment")]
    start_without_missing: bool,
}

impl BringUpOptions {
    /// Refuses options that contradict each other.
    pub(super) fn check(&self, beat: BeatOption) -> anyhow::Result<()> {
        anyhow::ensure!(
            !self.start_without_missing || beat == BeatOption::Own,
            "--start-without-missing: the delay to a device that is away cannot be measured, so its clock could not \
             follow; leave out --beat reference, or wait for all devices"
        );
        Ok(())
    }

    /// Applies these options to a network's builder.
    pub(super) fn apply<'a>(&self, net: NetworkBuilder<'a>) -> anyhow::Result<NetworkBuilder<'a>> {
        let net = net.bring_up_timeout(self.bring_up_timeout.0);
        let Some(path) = &self.expect else {
            return Ok(net);
        };
        let missing = match self.start_without_missing {
            true => Missing::JoinLater,
            false => Missing::Refused,
        };
        net.expected(path, missing).context("--expect")
    }
}
