//! `kadenz ethercat sim`.

#[cfg(target_os = "linux")]
pub(super) mod serve;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kadenz::ethercat::sim::file::SegmentPlan;

use super::segment::Virtual;
use crate::options::Span;
use crate::output::{self, Outcome, Reply};

/// Simulate a segment of SubDevices, for any MainDevice at the other end of an interface.
///
/// To an unmodified MainDevice (tried: SOEM and ethercrab) it behaves as a wire with real devices: the humanoid of
/// [Yoon2009] (docs/bibliography.md) with its 59 devices, fewer or more, or the devices of a TOML file. On one host,
/// `--cable` makes a cable of two interfaces and removes it at the end.
///
/// Each line on standard input injects a fault: `lose 3`, `cut 'left knee'`, `every 10s flap 7 300ms`; `help` lists
/// all.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sim --interface veth0 --cable veth1          the humanoid; a MainDevice uses veth1
  kadenz ethercat sim arm.toml --interface eth1 --pace as-wire
  kadenz ethercat sim --interface a0 --cable a1 --second b0 --second-cable b1     a ring; the MainDevice uses a1 and b1
  echo 'every 10s lose' | kadenz ethercat sim --interface veth0 --cable veth1 --duration 60s --json
  kadenz ethercat sim 12 --print > arm.toml                    a template for your own file
  kadenz run --policy fifo:70 --lock -- kadenz ethercat sim --interface veth0 --cable veth1")]
pub(crate) struct Options {
    /// How many devices of the humanoid, which has 59, or a segment's TOML file
    #[arg(value_name = "N|FILE", default_value = "59")]
    segment: Virtual,

    /// Network interface of the segment; needs the right to raw frames (root, or CAP_NET_RAW)
    #[arg(long, value_name = "NAME", required_unless_present = "print")]
    interface: Option<String>,

    /// Make a cable between the interface and this one, which the MainDevice then uses; needs CAP_NET_ADMIN
    #[arg(long, value_name = "NAME", requires = "interface")]
    cable: Option<String>,

    /// Second network interface, the return of a ring of cables: from the device that the file's [ring] names, or
    /// else from the last device that frames reach
    #[arg(long, value_name = "NAME", requires = "interface")]
    second: Option<String>,

    /// Make the second cable, as --cable makes the first
    #[arg(long, value_name = "NAME", requires = "second")]
    second_cable: Option<String>,

    /// The old name of N
    #[arg(long, hide = true, value_name = "N", conflicts_with = "segment")]
    devices: Option<Virtual>,

    /// When to send frames back
    #[arg(long, value_name = "PACE", default_value = "at-once")]
    pace: PaceOption,

    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// Write the segment as TOML on standard output, and end
    #[arg(long, conflicts_with_all = ["interface", "cable", "second", "second_cable", "pace", "duration", "json",
                                      "until_stdin_closes"], help_heading = "Output")]
    print: bool,

    /// End when standard input closes
    #[arg(long, hide = true)]
    until_stdin_closes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PaceOption {
    /// As soon as this computer can; a MainDevice then measures its own computer
    AtOnce,
    /// After the time on a wire of 100 Mbit/s
    AsWire,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let plan = plan(options)?;
    if options.print {
        output::data(&plan.to_toml()?);
        return Ok(Outcome::Kept.into());
    }
    let interface = options.interface.as_deref();
    let interface = interface.context("name an interface: --interface veth0")?;
    serve(options, &plan, interface)
}

fn plan(options: &Options) -> anyhow::Result<SegmentPlan> {
    let segment = options.devices.as_ref().unwrap_or(&options.segment);
    let mut plan = segment.plan()?;
    anyhow::ensure!(
        options.second.is_none() || plan.close_ring(),
        "the last device has no port for a ring; write [ring] with another device into the file"
    );
    Ok(plan)
}

#[cfg(target_os = "linux")]
fn serve(options: &Options, plan: &SegmentPlan, interface: &str) -> anyhow::Result<Reply> {
    serve::serve(options, plan, interface)
}

#[cfg(not(target_os = "linux"))]
fn serve(_: &Options, _: &SegmentPlan, interface: &str) -> anyhow::Result<Reply> {
    anyhow::bail!(
        "frames on an interface such as `{interface}` need Linux; other commands take --sim"
    )
}
