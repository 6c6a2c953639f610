//! The segment at an interface, until somebody ends it.

use std::io::{BufRead as _, Read as _};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use anyhow::Context as _;
use kadenz_ethercat::port::{InterfacePort, Waiting};
use kadenz_ethercat::sim::fault::{Fault, When};
use kadenz_ethercat::sim::file::Plan;
use kadenz_ethercat::sim::serve::{Pace, Server};
use kadenz_lab::stop::Stop;
use kadenz_report::numbers;
use kadenz_rt::net::cable::Cable;
use serde::Serialize;

use super::command::{self, Command, Moment};
use super::names::Names;
use super::{Options, PaceOption};
use crate::commands::interrupt;
use crate::output::{self, Outcome};

/// Lines that may wait to be obeyed; whoever writes more waits.
const WAITING: usize = 64;

/// What happened to frames, as JSON.
#[derive(Serialize)]
struct Told {
    version: u32,
    interface: String,
    devices: usize,
    for_s: f64,
    frames: u64,
    returned: u64,
    lost: u64,
    unsent: u64,
    frame_faults: u64,
    wire_faults: u64,
}

pub(super) fn serve(options: &Options, plan: &Plan, interface: &str) -> anyhow::Result<Outcome> {
    let mut segment = plan.build()?;
    let names = Names::of(plan, &mut segment);
    // Whoever ends it from now on finds nothing left.
    let stop = stop(options)?;
    let far = options.cable.as_deref();
    let cable = far.map(|far| Cable::create(interface, far)).transpose()?;
    let port = InterfacePort::open(interface, Waiting::Blocking)?;
    let pace = match options.pace {
        PaceOption::AtOnce => Pace::AtOnce,
        PaceOption::AsWire => Pace::AsWire,
    };
    let devices = segment.len();
    let mut server = Server::new(port, segment, pace);
    let lines = listen(options.until_stdin_closes.then(|| stop.clone()));
    let other_end = far.map_or_else(String::new, |far| format!(", its other end is {far}"));
    output::note(&format!(
        "{devices} devices on {interface}{other_end}; `help` lists what can go wrong, Ctrl-C ends"
    ));
    let start = Instant::now();
    while !stop.requested() {
        server.step().with_context(|| {
            format!("frames on {interface} cannot be waited for any more; is it still there?")
        })?;
        while let Ok(line) = lines.try_recv() {
            obey(&line, &names, &mut server);
        }
    }
    drop(cable);
    let counts = server.segment_mut().counts();
    let told = Told {
        version: 1,
        interface: interface.to_owned(),
        devices,
        for_s: start.elapsed().as_secs_f64(),
        frames: counts.frames,
        returned: counts.returned,
        lost: counts.lost,
        unsent: server.unsent(),
        frame_faults: counts.frame_faults,
        wire_faults: counts.wire_faults,
    };
    if options.json {
        output::json(&told)?;
    } else {
        output::say(&words(&mut server));
    }
    Ok(Outcome::Kept)
}

fn stop(options: &Options) -> anyhow::Result<Stop> {
    let stop = interrupt::quietly_stop_on_interrupt()?;
    if let Some(duration) = options.duration {
        let ends = stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(duration.0);
            ends.request();
        });
    }
    Ok(stop)
}

/// Lines of standard input, by a thread that ends with it; `at_end` is asked to stop then.
fn listen(at_end: Option<Stop>) -> Receiver<String> {
    let (sender, lines) = sync_channel(WAITING);
    std::thread::spawn(move || {
        read_lines(&sender);
        if let Some(stop) = at_end {
            stop.request();
        }
    });
    lines
}

fn read_lines(lines: &SyncSender<String>) {
    let mut input = std::io::stdin().lock();
    loop {
        let mut line = Vec::new();
        // A line without end is refused by its length, and takes no more memory than this.
        let most = command::LONGEST as u64 + 2;
        match input.by_ref().take(most).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if lines
            .send(String::from_utf8_lossy(&line).into_owned())
            .is_err()
        {
            return;
        }
    }
}

fn obey(line: &str, names: &Names, server: &mut Server<InterfacePort>) {
    match command::parse(line, names) {
        Ok(None) => {}
        Ok(Some(Command::Help)) => output::note(command::HELP),
        Ok(Some(Command::Devices)) => output::note(&names.list()),
        Ok(Some(Command::Counts)) => output::note(&words(server)),
        Ok(Some(Command::Clear)) => {
            let faults = server.segment_mut().faults();
            let planned: Vec<_> = faults.lines().map(|(id, _)| id).collect();
            for id in &planned {
                faults.remove(*id);
            }
            output::note(&format!("{} taken back", planned.len()));
        }
        Ok(Some(Command::Strike(moment, fault))) => match strike(moment, fault, server) {
            Ok(()) => output::note(&format!("done: {}", line.trim())),
            Err(error) => output::note(&error),
        },
        Err(error) => output::note(&error),
    }
}

fn strike(moment: Moment, fault: Fault, server: &mut Server<InterfacePort>) -> Result<(), String> {
    let now = server.now();
    let segment = server.segment_mut();
    let when = match moment {
        Moment::Now(1) => {
            segment.inflict(fault, now);
            return Ok(());
        }
        Moment::Now(frames) => {
            let next = segment.counts().frames.saturating_add(1);
            When::Frames(next, next.saturating_add(frames))
        }
        Moment::In(span) => When::At(now.after(span.as_ns())),
        Moment::Every(span) => When::Every {
            first: now.after(span.as_ns()),
            period: span.as_ns(),
        },
        Moment::Chance(chance) => When::Chance(chance),
    };
    let added = segment.faults().add(when, fault);
    added.map(|_| ()).map_err(|error| error.to_string())
}

fn words(server: &mut Server<InterfacePort>) -> String {
    let unsent = server.unsent();
    let counts = server.segment_mut().counts();
    let mut parts = vec![
        format!("{} frames", numbers::thousands(counts.frames)),
        format!("{} sent back", numbers::thousands(counts.returned)),
    ];
    for (count, words) in [
        (counts.lost, "lost"),
        (unsent, "that the interface did not take"),
        (counts.frame_faults, "faults of frames"),
        (counts.wire_faults, "faults of cables and devices"),
    ] {
        if count > 0 {
            parts.push(format!("{} {words}", numbers::thousands(count)));
        }
    }
    parts.join(", ")
}
