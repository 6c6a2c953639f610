//! Lines of standard input, which a user or a program sends to the segment, and the names that devices have in them.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use kadenz::ethercat::port::Side;
use kadenz::ethercat::sim::file::SegmentPlan;
use kadenz::ethercat::sim::{CableId, DeviceId, End, Segment};
use kadenz::lab::stop::Stop;
use kadenz::rt::terminal;

use super::command::MAX;

/// Lines that may wait; a program that writes more is blocked.
const WAITING: usize = 64;
/// Interval between attempts to read a terminal that another program uses.
const IN_BACKGROUND: Duration = Duration::from_millis(200);

/// Reads lines of standard input on a thread that ends with the input; requests the stop `at_end` then.
pub(super) fn listen(at_end: Option<Stop>) -> Receiver<String> {
    // A segment in the background continues, and reads lines when it is in the foreground again.
    let _ = terminal::read_without_stopping();
    let (sender, lines) = sync_channel(WAITING);
    std::thread::spawn(move || {
        read_lines(BufReader::new(Patient(io::stdin().lock())), &sender);
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
    let most = MAX as u64 + 1;
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
struct Patient<R>(R);

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(to) {
                Err(error) if terminal::is_background(&error) => std::thread::sleep(IN_BACKGROUND),
                done => return done,
            }
        }
    }
}

/// Devices by position and name, each with the cable towards the MainDevice.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// In the order of positions; devices that only the second interface reaches come last.
    devices: Vec<NamedDevice>,
    /// The cable at the second interface.
    ring: Option<CableId>,
}

#[derive(Debug)]
struct NamedDevice {
    name: String,
    id: DeviceId,
    cable: CableId,
}

impl Names {
    /// Reads the names of a segment in which every cable is whole; `ring` is whether its second interface is
    /// connected.
    pub(super) fn of(plan: &SegmentPlan, segment: &mut Segment, ring: bool) -> Self {
        let mut positions = segment.positions(Side::Primary);
        let all = (0..segment.len()).map(|it| DeviceId(it as u16));
        let others: Vec<_> = all.filter(|it| !positions.contains(it)).collect();
        positions.extend(others);
        let named = |id: DeviceId| {
            Some(NamedDevice {
                name: plan.devices.get(usize::from(id.0))?.name.clone(),
                id,
                cable: segment.cable_at(End::Device(id, 0))?,
            })
        };
        Self {
            devices: positions.into_iter().filter_map(named).collect(),
            ring: segment
                .cable_at(End::Main(Side::Redundant))
                .filter(|_| ring),
        }
    }

    /// The cable before a device, or the one that closes the ring.
    pub(super) fn cable(&self, word: &str) -> Result<CableId, String> {
        match self.ring {
            Some(ring) if is_same(word, "ring") => Ok(ring),
            _ => self.device(word).map(|it| it.1),
        }
    }

    /// The device at a position, or of a name.
    pub(super) fn device(&self, word: &str) -> Result<(DeviceId, CableId), String> {
        let found = match word.parse::<usize>() {
            Ok(position) => self.devices.get(position),
            Err(_) => self.devices.iter().find(|it| is_same(&it.name, word)),
        };
        found.map(|it| (it.id, it.cable)).ok_or_else(|| {
            let last = self.devices.len().saturating_sub(1);
            format!("there is no device `{word}`; say a position from 0 to {last}, or a name: `devices` lists them")
        })
    }

    /// Lists the devices, a line each.
    pub(super) fn list(&self) -> String {
        let lines = self.devices.iter().enumerate();
        let lines = lines.map(|(position, it)| format!("{position:>3}  {}", it.name));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Compares names as a segment file does.
fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests {
    use kadenz::ethercat::sim::humanoid::humanoid;

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
        let longest = "x".repeat(MAX);
        assert_eq!(
            lines(&format!("{longest}\nlose\n")),
            [longest.as_str(), "lose"]
        );
    }

    #[test]
    fn what_follows_in_a_line_that_is_too_long_is_none_of_its_own() {
        for length in [MAX + 1, 3 * MAX] {
            let long = "#".repeat(length);
            let found = lines(&format!("{long} cut 0\nlose\n{long}"));
            let [first, second, third] = &found[..] else {
                panic!("{} lines", found.len());
            };
            assert_eq!(second, "lose");
            for line in [first, third] {
                assert_eq!(line.len(), MAX + 1);
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
        let mut input = BufReader::new(Patient(Busy(0)));
        assert_eq!(next_line(&mut input).as_deref(), Some("lose"));
        assert_eq!(next_line(&mut input), None);
    }

    #[test]
    fn capitals_make_no_other_name() {
        let mut plan = humanoid(5);
        "é".clone_into(&mut plan.devices[2].name);
        assert!(plan.close_ring());
        let names = Names::of(&plan, &mut plan.build().unwrap(), true);
        let small = names.device("é").unwrap();
        assert_eq!(names.device("É").unwrap(), small);
        let ring = names.cable("ring").unwrap();
        assert_eq!(names.cable("RING").unwrap(), ring);
        assert_ne!(ring, small.1);
    }
}
