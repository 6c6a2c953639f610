//! Serves the segment at an interface until its end.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use kadenz::ethercat::port::{InterfacePort, Port, RingPort, WaitMode};
use kadenz::ethercat::sim::Counts;
use kadenz::ethercat::sim::command::{self, MAX_LINE, SegmentNames, SimCommand};
use kadenz::ethercat::sim::file::SegmentPlan;
use kadenz::ethercat::sim::serve::Pace;
use kadenz::lab::stop::Stop;
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use kadenz::report::text::Style;
use kadenz::rt::net::cable::Cable;
use kadenz::rt::terminal;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Options, PaceOption};
use crate::commands::interrupt;
use crate::output::{self, Reply};

/// A segment at one interface, or as a ring at two.
type Server = kadenz::ethercat::sim::serve::Server<Box<dyn Port>>;

/// Counts of the frames that a virtual segment received.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands::ethercat) struct SimReport {
    version: Version<1>,
    interface: String,
    devices: usize,
    /// Duration in seconds.
    #[schemars(range(min = 0.0))]
    for_s: f64,
    #[serde(flatten)]
    counts: Counts,
    /// Frames lost since faults delayed too many at a time.
    crowded: u64,
    /// Frames that the interface did not accept.
    unsent: u64,
    /// Frames that had passed a segment already, as with another one on the same wire.
    echoed: u64,
}

impl SimReport {
    fn of(server: &mut Server, interface: &str, start: Instant) -> Self {
        let (crowded, unsent, echoed) = (server.overflowed(), server.unsent(), server.echoed());
        let segment = server.segment_mut();
        Self {
            version: Version,
            interface: interface.to_owned(),
            devices: segment.len(),
            for_s: start.elapsed().as_secs_f64(),
            counts: segment.counts(),
            crowded,
            unsent,
            echoed,
        }
    }
}

impl Answer for SimReport {
    fn document(&self) -> Document {
        let counts = &self.counts;
        let mut parts = vec![
            numbers::counted(counts.frames, "frame"),
            format!("{} sent back", numbers::thousands(counts.returned)),
        ];
        for (count, words) in [
            (counts.lost, "lost"),
            (self.crowded, "lost since too many were late at a time"),
            (self.unsent, "that the interface did not take"),
            (self.echoed, "that a segment had passed already"),
        ] {
            if count > 0 {
                parts.push(format!("{} {words}", numbers::thousands(count)));
            }
        }
        for (count, of) in [
            (counts.frame_faults, "frames"),
            (counts.wire_faults, "cables and devices"),
        ] {
            if count > 0 {
                parts.push(format!("{} of {of}", numbers::counted(count, "fault")));
            }
        }
        parts.join(", ").into()
    }
}

pub(super) fn serve(
    options: &Options,
    plan: &SegmentPlan,
    interface: &str,
) -> anyhow::Result<Reply> {
    let mut segment = plan.build()?;
    let is_ring = options.second.is_some();
    if !is_ring {
        segment.unplug_second();
    }
    let names = SegmentNames::of(plan, &mut segment, is_ring);
    // From here on every end removes the cables.
    let stop = stop(options)?;
    let ends = Ends::of(options, interface)?;
    let cables = ends.lay()?;
    let port = ends.open()?;
    let pace = match options.pace {
        PaceOption::AtOnce => Pace::AtOnce,
        PaceOption::AsWire => Pace::AsWire,
    };
    let devices = segment.len();
    let mut server = Server::new(port, segment, pace);
    let lines = listen(options.until_stdin_closes.then(|| stop.clone()));
    output::note(&format!(
        "{devices} devices on {ends}; `help` lists what can go wrong, Ctrl-C ends"
    ));
    let start = Instant::now();
    let report = |server: &mut Server| SimReport::of(server, interface, start);
    let mut warned = false;
    while !stop.requested() {
        server.step().with_context(|| {
            format!(
                "frames on {interface} cannot be waited for any more; was it deleted, or moved elsewhere?"
            )
        })?;
        while let Ok(line) = lines.try_recv() {
            obey(&line, &names, &mut server, &report);
        }
        if server.echoed() > 0 && !std::mem::replace(&mut warned, true) {
            output::note(
                "frames come that a segment has passed already, and are left: another one answers on this \
                 wire, or it is a loop; end one of both",
            );
        }
    }
    drop(cables);
    Ok(report(&mut server).into())
}

/// The interfaces of the segment, each with the other end of the cable made for it.
struct Ends<'o>(Vec<(&'o str, Option<&'o str>)>);

impl<'o> Ends<'o> {
    fn of(options: &'o Options, interface: &'o str) -> anyhow::Result<Self> {
        let mut ends = vec![(interface, options.cable.as_deref())];
        if let Some(second) = &options.second {
            anyhow::ensure!(
                second != interface,
                "a ring needs two interfaces, and {second} is one"
            );
            ends.push((second, options.second_cable.as_deref()));
        }
        Ok(Self(ends))
    }

    fn lay(&self) -> anyhow::Result<Vec<Cable>> {
        let wanted = self
            .0
            .iter()
            .filter_map(|(near, far)| Some((near, (*far)?)));
        let cables = wanted.map(|(near, far)| Ok(Cable::create(near, far)?));
        cables.collect()
    }

    fn open(&self) -> anyhow::Result<Box<dyn Port>> {
        Ok(match self.0[..] {
            [(first, _), (second, _), ..] => {
                Box::new(RingPort::open(first, second, WaitMode::Blocking)?)
            }
            _ => Box::new(InterfacePort::open(self.0[0].0, WaitMode::Blocking)?),
        })
    }
}

impl std::fmt::Display for Ends<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, (near, far)) in self.0.iter().enumerate() {
            let and = if number > 0 {
                ", and as a ring on "
            } else {
                ""
            };
            write!(f, "{and}{near}")?;
            if let Some(far) = far {
                write!(f, ", its other end is {far}")?;
            }
        }
        Ok(())
    }
}

fn stop(options: &Options) -> anyhow::Result<Stop> {
    let stop = interrupt::quietly_stop_on_interrupt()?;
    interrupt::stop_after(options.duration, &stop);
    Ok(stop)
}

fn obey(
    line: &str,
    names: &SegmentNames,
    server: &mut Server,
    report: &impl Fn(&mut Server) -> SimReport,
) {
    match command::parse(line, names) {
        Ok(None) => {}
        Ok(Some(SimCommand::Help)) => output::note(command::HELP),
        Ok(Some(SimCommand::Devices)) => output::note(&names.list()),
        Ok(Some(SimCommand::Counts)) => {
            output::note(&report(server).document().terminal(Style::plain()));
        }
        Ok(Some(SimCommand::Clear)) => {
            let planned = server.segment_mut().faults().clear();
            let planned = numbers::counted(planned as u64, "planned fault");
            output::note(&format!("{planned} cancelled"));
        }
        Ok(Some(SimCommand::Inject(fault))) => {
            let now = server.now();
            match fault.inject_into(server.segment_mut(), now) {
                Ok(()) => output::note(&format!("done: {}", line.trim())),
                Err(error) => output::note(&error.to_string()),
            }
        }
        Err(error) => output::note(&error.to_string()),
    }
}

/// Lines that may wait; a program that writes more is blocked.
const WAITING: usize = 64;
/// Interval between attempts to read a terminal that another program uses.
const IN_BACKGROUND: Duration = Duration::from_millis(200);

/// Reads lines of standard input on a thread that ends with the input; requests the stop `at_end` then.
fn listen(at_end: Option<Stop>) -> Receiver<String> {
    // A segment in the background continues, and reads lines when it is in the foreground again.
    let _ = terminal::read_without_stopping();
    let (sender, lines) = sync_channel(WAITING);
    std::thread::spawn(move || {
        read_lines(BufReader::new(SharedTerminal(io::stdin().lock())), &sender);
        if let Some(stop) = at_end {
            stop.request();
        }
    });
    lines
}

fn read_lines(mut input: impl BufRead, lines: &SyncSender<String>) {
    while let Some(line) = next_line(&mut input) {
        if lines.send(line).is_err() {
            return;
        }
    }
}

/// The next line, without its end; `None` when there is none. Of a line that is too long it returns the beginning,
/// which is too long as well: the line takes no more memory than that, and its rest does not count as a line of its
/// own.
fn next_line(input: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let most = MAX_LINE as u64 + 1;
    let mut start = input.by_ref().take(most);
    if start.read_until(b'\n', &mut line).ok()? == 0 {
        return None;
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else {
        input.skip_until(b'\n').ok()?;
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}

/// Reads a terminal that another program may use at present.
struct SharedTerminal<R>(R);

impl<R: Read> Read for SharedTerminal<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(to) {
                Err(error) if terminal::is_background(&error) => std::thread::sleep(IN_BACKGROUND),
                done => return done,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        // The buffer holds less than a line.
        let mut input = BufReader::with_capacity(7, text.as_bytes());
        std::iter::from_fn(|| next_line(&mut input)).collect()
    }

    #[test]
    fn lines_come_as_they_were_said() {
        assert_eq!(
            lines("lose 3\n\n  cut 2\nheal 2"),
            ["lose 3", "", "  cut 2", "heal 2"]
        );
        assert!(lines("").is_empty());
        let longest = "x".repeat(MAX_LINE);
        assert_eq!(
            lines(&format!("{longest}\nlose\n")),
            [longest.as_str(), "lose"]
        );
    }

    #[test]
    fn what_follows_in_a_line_that_is_too_long_is_none_of_its_own() {
        for length in [MAX_LINE + 1, 3 * MAX_LINE] {
            let long = "#".repeat(length);
            let found = lines(&format!("{long} cut 0\nlose\n{long}"));
            let [first, second, third] = &found[..] else {
                panic!("{} lines", found.len());
            };
            assert_eq!(second, "lose");
            for line in [first, third] {
                assert_eq!(line.len(), MAX_LINE + 1);
                assert!(line.bytes().all(|it| it == b'#'));
            }
        }
    }

    #[test]
    fn a_terminal_that_another_program_has_is_read_later() {
        struct Busy(u32);
        impl Read for Busy {
            fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                match self.0 {
                    // EIO, the error of a read from the background.
                    1 | 3 => Err(io::Error::from_raw_os_error(5)),
                    2 => (&b"los"[..]).read(to),
                    4 => (&b"e\n"[..]).read(to),
                    _ => Ok(0),
                }
            }
        }
        let mut input = BufReader::new(SharedTerminal(Busy(0)));
        assert_eq!(next_line(&mut input).as_deref(), Some("lose"));
        assert_eq!(next_line(&mut input), None);
    }
}
