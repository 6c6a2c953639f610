//! From options to a network, from its events to lines, and from its measurement to a run.

use anyhow::Context as _;
use kadenz::ethercat::control::cyclic::{EndedBy, LoopSettings};
use kadenz::ethercat::motion;
use kadenz::ethercat::{
    BringUpNetworkError, CycleSeries, Flow, Network, NetworkBuilder, NetworkEvent, NetworkLoop,
    NetworkReport, RunRecording,
};
use kadenz::lab::load::LoadKind;
use kadenz::lab::measuring::Measuring;
use kadenz::lab::measuring_threads::{self, LoopContext};
use kadenz::lab::session;
use kadenz::lab::stop::Stop;
use serde_json::Value;

use super::live::{LoopProgress, cut_off};
use super::{BeatOption, Options};
use crate::commands::child::{self, Running};
use crate::commands::ethercat::segment::SegmentLocation;
use crate::options::Span;
use crate::output;

/// Runs the loop on the segment of the options, and records it in a run.
pub(super) fn drive(
    options: &Options,
    file: Option<motion::Plan>,
    measuring: &Measuring,
    settings: &LoopSettings,
    stop: &Stop,
) -> anyhow::Result<NetworkReport> {
    let net = network(options, file, settings)?
        .tuned(measuring.tuning.clone())
        .stopped_by(stop.flag().into())
        .bring_up()
        .map_err(with_option)?;
    let run = session::begin(&measuring.session)?;
    let load = options.load.map(|kind| start_load(kind, stop));
    let load = load.transpose()?;
    let ongoing = session::start(run, measuring.session.interval, measuring.shield.as_ref())?;
    let net = net.record_in(RunRecording {
        running: &ongoing.running,
        start: ongoing.origin,
        deadline: measuring.deadline,
        raw: measuring.session.raw,
    });
    let is_still = net.axes() == 0;
    let mut live = LoopProgress::of(&net, options.duration.map(|it| it.0));
    let (worked, report) = net.with_loop(|network_loop: NetworkLoop| {
        let work = move |context: &mut LoopContext<'_>| {
            network_loop.run(Some(context.start), context.sleeper, |io| {
                Flow::until(is_still && io.is_ending())
            });
        };
        let member = measuring.member(&CycleSeries::ALL, work);
        measuring_threads::work(&ongoing, vec![member], stop, &mut live)
    })?;
    drop(live);
    if let Some(load) = load {
        let done = end_load(load)?;
        ongoing
            .running
            .update(|run| run.insert_found("load_done", done));
    }
    ongoing.finish(worked?)?;
    let report = report.context("the loop was not run")?;
    anyhow::ensure!(
        report.ended.by != EndedBy::Overrun,
        "the loop ended by --overrun stop after {} cycles: one was not done when the next was due",
        report.timing.cycles
    );
    Ok(report)
}

/// The network of the options.
fn network(
    options: &Options,
    file: Option<motion::Plan>,
    settings: &LoopSettings,
) -> anyhow::Result<NetworkBuilder<'static>> {
    let (net, demo) = match options.segment.place()? {
        SegmentLocation::Interface(interface) => (Network::open(interface)?, options.demo),
        SegmentLocation::Virtual(sim) => {
            let net = Network::simulated(&sim.plan()?)?;
            (net.named(&sim.to_string()), true)
        }
    };
    let net = match file {
        Some(file) => net.motion(file)?,
        None if demo => net.demo_motion(),
        None => net,
    };
    let net = net
        .interval(settings.interval)?
        .mode(settings.mode)
        .overrun(settings.overrun)
        .warm_up(options.warm_up.0)
        .descriptions(options.esi.read()?)
        .choose(options.esi.chooser(&options.modes))
        .process_image(options.readers.into());
    let net = options.bring_up.apply(net)?;
    let net = match options.duration {
        Some(duration) => net.duration(duration.0),
        None => net,
    };
    let net = match (options.beat, options.sync0) {
        (BeatOption::Own, _) => net,
        (BeatOption::Reference, None) => net.reference_clock(),
        (BeatOption::Reference, Some(shift)) => net.sync0(shift.0),
    };
    let (net, name) = with_control_socket(net, options.name.as_deref())?;
    Ok(net.on_event(move |event| note_event(event, name.as_deref())))
}

/// Prefixes an error with the option that requires what the segment lacks.
fn with_option(error: BringUpNetworkError) -> anyhow::Error {
    let option = match &error {
        BringUpNetworkError::NoClock => "--beat reference",
        BringUpNetworkError::NoPulses => "--sync0",
        _ => return error.into(),
    };
    anyhow::Error::from(error).context(option)
}

/// Opens a control socket with the given name; returns the name. Without a given name the loop also runs where a
/// socket cannot be made.
#[cfg(target_os = "linux")]
fn with_control_socket<'a>(
    net: NetworkBuilder<'a>,
    name: Option<&str>,
) -> anyhow::Result<(NetworkBuilder<'a>, Option<String>)> {
    use kadenz::ethercat::running_loop::control_socket::{ControlServer, UNNAMED};

    let server = match name {
        Some(name) => ControlServer::open(name)?,
        None => match ControlServer::open(&format!("{UNNAMED}{}", std::process::id())) {
            Ok(server) => server,
            Err(error) => {
                output::note(&format!(
                    "`kadenz ethercat stats` will not reach this loop: {error}"
                ));
                return Ok((net, None));
            }
        },
    };
    let name = server.name().to_owned();
    Ok((net.control_server(server), Some(name)))
}

/// This system has no control sockets.
#[cfg(not(target_os = "linux"))]
fn with_control_socket<'a>(
    net: NetworkBuilder<'a>,
    name: Option<&str>,
) -> anyhow::Result<(NetworkBuilder<'a>, Option<String>)> {
    anyhow::ensure!(name.is_none(), "--name needs Linux");
    Ok((net, None))
}

/// Prints an event, cut off to one line except for notes and stops of the axes; and the command that lets stopped axes
/// continue.
fn note_event(event: &NetworkEvent<'_>, name: Option<&str>) {
    let text = match event {
        NetworkEvent::Retrying { error, within } => {
            let within = Span(*within);
            format!("bring-up, tried again for up to {within}: {error}")
        }
        event => event.to_string(),
    };
    match (event, name) {
        // `LoopProgress` prints them, with their times.
        (NetworkEvent::Incident(_), _) => {}
        (NetworkEvent::Note(_), _) => output::note(&text),
        (NetworkEvent::AxesStopped(_), _) if output::is_quiet() => {}
        (NetworkEvent::AxesStopped(_), Some(name)) => output::note(&format!(
            "{text}\n  `kadenz ethercat reset --loop {name}` lets them continue"
        )),
        (NetworkEvent::AxesStopped(_), None) => output::note(&text),
        _ => output::note(&cut_off(&text, output::width_of_notes())),
    }
}

/// Starts the load for the measurement and waits until it is under way.
fn start_load(kind: LoadKind, stop: &Stop) -> anyhow::Result<Running> {
    let mut words: Vec<String> = ["load", kind.name(), "--json"].map(str::to_owned).to_vec();
    if matches!(kind, LoadKind::Heavy | LoadKind::Disk) {
        // The machine of [Yoon2009] had memory for two of its files: its writes reached the disk.
        words.push("--fsync".to_owned());
    }
    Ok(child::start_load(&words, stop)?)
}

/// Ends the load; returns its report.
fn end_load(load: Running) -> anyhow::Result<Value> {
    let said = load.finish()?;
    Ok(serde_json::from_slice(&said.stdout).unwrap_or(Value::Null))
}
