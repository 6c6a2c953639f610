//! The loop's status report: bytes in a process image, which the loop publishes without waiting for a reader.

use std::sync::atomic::{AtomicU32, Ordering};

use kadenz_rt::clock::MonotonicTime;

use super::status::{AxisStatus, StageName, Status, Stopped};
use crate::control::process_image::{ProcessImageError, ProcessImageWriter, Reader, words_for};
use crate::motion::axis_runner::AxisRunner;
use crate::motion::stage::{Cause, Stage};
use crate::sync::AtomicU64;
use crate::wire::cia402::Statusword;

/// Bytes before those of the axes.
const HEAD: usize = 64;
/// Bytes of an axis.
const AXIS: usize = 24;
/// How often a reader tries again after the loop overtook it.
const TRIES: u32 = 100;
/// Marks a code as known; 0 is a code too.
const KNOWN: u32 = 1 << 16;

/// The state that the loop and all handles share: the axes, the cause of a stop, and the words of the process image.
#[derive(Debug)]
pub(super) struct HandleShared {
    entries: Box<[AxisEntry]>,
    /// The error code of the axis that caused a stop, with [`KNOWN`], and the stop's number above. It stays when the
    /// drive no longer has the fault.
    cause: AtomicU64,
    words: Box<[AtomicU64]>,
}

/// An axis: its device and control by name, and the error code of its drive.
#[derive(Debug)]
struct AxisEntry {
    device: usize,
    name: String,
    control: String,
    /// The error code that another thread read from the drive, with [`KNOWN`].
    code: AtomicU32,
}

/// The loop's report of a cycle.
#[derive(Debug, Clone, Copy)]
pub(in crate::motion) struct Report {
    pub(in crate::motion) cycle: u64,
    pub(in crate::motion) now: MonotonicTime,
    pub(in crate::motion) stage: Stage,
    pub(in crate::motion) seconds: f64,
    pub(in crate::motion) stops: u64,
    /// The cause, cycle and time of the stop of all axes.
    pub(in crate::motion) stopped: Option<(Cause, u64, MonotonicTime)>,
    /// The requester of the stop.
    pub(in crate::motion) by: u32,
}

/// The loop's side. Neither allocates, locks nor waits.
#[derive(Debug)]
pub(in crate::motion) struct HandleWriter<'s> {
    writer: ProcessImageWriter<'s>,
    shared: &'s HandleShared,
    bytes: Vec<u8>,
}

impl<'s> HandleWriter<'s> {
    pub(super) fn new(writer: ProcessImageWriter<'s>, shared: &'s HandleShared) -> Self {
        Self {
            writer,
            shared,
            bytes: vec![0; shared.bytes()],
        }
    }

    pub(in crate::motion) fn publish(&mut self, report: &Report, runners: &[AxisRunner]) {
        self.bytes[..HEAD].copy_from_slice(&head(report));
        let (axes, _) = self.bytes[HEAD..].as_chunks_mut::<AXIS>();
        for ((to, runner), entry) in axes.iter_mut().zip(runners).zip(&self.shared.entries) {
            *to = axis(runner);
            if !runner.has_fault() {
                entry.code.store(0, Ordering::Relaxed);
            }
        }
        // The bytes are as many as the process image was made for.
        let _ = self.writer.publish(&self.bytes);
    }
}

fn head(report: &Report) -> [u8; HEAD] {
    let (stage, seconds) = match report.stage {
        Stage::Enabling => (0, report.seconds),
        Stage::Approaching(seconds) => (1, seconds),
        Stage::Playing(seconds) => (2, seconds),
        Stage::Stopped(_) => (3, report.seconds),
        Stage::Ending => (4, report.seconds),
    };
    let (cause, cycle, at) = match report.stopped {
        Some((cause, cycle, at)) => (numbers(cause), cycle, at),
        None => ([0; 3], 0, report.now),
    };
    let mut to = [0; HEAD];
    let words = [
        report.cycle,
        report.now.as_ns(),
        seconds.to_bits(),
        report.stops,
        cycle,
        at.as_ns(),
        pair(report.by, cause[0] << 8 | stage),
        pair(cause[1], cause[2]),
    ];
    for (to, word) in to.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    to
}

fn axis(runner: &AxisRunner) -> [u8; AXIS] {
    let reading = runner.reading();
    let status = reading.map_or(0, |it| it.status.0);
    let code = reading.and_then(|it| it.error_code);
    let code = code.map_or(0, |it| KNOWN | u32::from(it));
    let words = [
        reading.map_or(0.0, |it| it.position).to_bits(),
        runner.asked().to_bits(),
        pair(code, u32::from(status) | u32::from(runner.is_out()) << 16),
    ];
    let mut to = [0; AXIS];
    for (to, word) in to.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    to
}

const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

/// A cause as its kind and two numbers.
fn numbers(cause: Cause) -> [u32; 3] {
    let number = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
    match cause {
        Cause::Lost(cycles) => [1, cycles, 0],
        Cause::Late(cycles) => [2, cycles, 0],
        Cause::Fault { axis, code } => {
            [3, number(axis), code.map_or(0, |it| KNOWN | u32::from(it))]
        }
        Cause::NotEnabled { axis, status } => [4, number(axis), u32::from(status)],
        Cause::Asked => [5, 0, 0],
    }
}

fn cause([kind, first, second]: [u32; 3]) -> Option<Cause> {
    let axis = first as usize;
    Some(match kind {
        1 => Cause::Lost(first),
        2 => Cause::Late(first),
        3 => Cause::Fault {
            axis,
            code: known(second),
        },
        4 => Cause::NotEnabled {
            axis,
            status: second as u16,
        },
        5 => Cause::Asked,
        _ => return None,
    })
}

fn known(code: u32) -> Option<u16> {
    (code & KNOWN != 0).then_some(code as u16)
}

impl HandleShared {
    pub(super) fn of(runners: &[AxisRunner]) -> Self {
        let entry = |it: &AxisRunner| AxisEntry {
            device: it.axis().device(),
            name: it.name().to_owned(),
            control: it.axis().control().name().to_owned(),
            code: AtomicU32::new(0),
        };
        let words = words_for(HEAD + AXIS * runners.len());
        Self {
            entries: runners.iter().map(entry).collect(),
            cause: AtomicU64::new(0),
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    pub(super) fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    /// Whether the loop has published anything.
    pub(super) fn has_begun(&self) -> bool {
        Reader::of(&*self.words).is_ok_and(|it| it.images() > 0)
    }

    /// Bytes of a process image.
    pub(super) fn bytes(&self) -> usize {
        HEAD + AXIS * self.entries.len()
    }

    /// Notes a code that another thread read from a drive, as of a status.
    pub(super) fn note_code(&self, of: &Status, axis: usize, code: u16) {
        if let Some(entry) = self.entries.get(axis) {
            entry.code.store(KNOWN | u32::from(code), Ordering::Relaxed);
        }
        let cause = of.stopped.as_ref().map(|it| it.cause);
        if matches!(cause, Some(Cause::Fault { axis: it, code: None }) if it == axis) {
            self.keep(of.stops, code);
        }
    }

    /// Keeps the code of a stop's cause until the next stop: the first known one.
    fn keep(&self, stop: u64, code: u16) {
        // Zero means no error.
        if code == 0 {
            return;
        }
        let [stop, _] = halves(stop);
        let word = pair(KNOWN | u32::from(code), stop);
        let newer = |kept| (halves(kept)[1] < stop).then_some(word);
        // On failure there is a code already.
        let _ = self
            .cause
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, newer);
    }

    /// The kept code of that stop's cause.
    fn kept(&self, stop: u64) -> Option<u16> {
        let [code, of] = halves(self.cause.load(Ordering::Relaxed));
        known(code).filter(|_| of == halves(stop)[0])
    }

    /// Decodes the last image; `by` returns the name of a requester's number.
    pub(super) fn status(&self, by: impl Fn(u32) -> Option<String>) -> Option<Status> {
        let mut bytes = vec![0; self.bytes()];
        self.read(&mut bytes)?;
        let (head, axes) = bytes.split_at(HEAD);
        let axes = axes.as_chunks::<AXIS>().0.iter().enumerate();
        let axes = axes
            .zip(&self.entries)
            .map(|((number, from), entry)| entry.status(number, from));
        let axes: Vec<_> = axes.collect();
        let word = |place: usize| word(head, place);
        let [requester, kind] = halves(word(6));
        let [first, second] = halves(word(7));
        let stops = word(3);
        let cause = cause([kind >> 8, first, second]);
        let cause = cause.map(|it| self.with_code(it, stops, &axes));
        let ago_ns = word(1).saturating_sub(word(5));
        Some(Status {
            cycle: word(0),
            stage: StageName::ALL.get(kind as usize & 0xFF).copied()?,
            seconds: f64::from_bits(word(2)),
            stops,
            stopped: cause.map(|cause| Stopped {
                cause,
                why: self.why(cause),
                by: by(requester).filter(|_| cause == Cause::Asked),
                cycle: word(4),
                ago_s: ago_ns as f64 * 1e-9,
            }),
            axes,
        })
    }

    fn read(&self, to: &mut [u8]) -> Option<()> {
        let reader = Reader::of(&*self.words).ok()?;
        for _ in 0..TRIES {
            match reader.read(to) {
                Ok(_) => return Some(()),
                Err(ProcessImageError::Overtaken) => std::thread::yield_now(),
                Err(_) => return None,
            }
        }
        None
    }

    /// The cause of a stop; of a fault with the code that was read since.
    fn with_code(&self, cause: Cause, stop: u64, axes: &[AxisStatus]) -> Cause {
        let Cause::Fault { axis, code: None } = cause else {
            return cause;
        };
        let code = self.kept(stop).or_else(|| {
            let has_fault = |it: &&AxisStatus| Statusword(it.statusword).state().is_fault();
            let now = axes.get(axis).filter(has_fault);
            let now = now.and_then(|it| it.error_code);
            now.inspect(|it| self.keep(stop, *it))
        });
        Cause::Fault { axis, code }
    }

    fn why(&self, cause: Cause) -> String {
        let axis = match cause {
            Cause::Fault { axis, .. } | Cause::NotEnabled { axis, .. } => axis,
            _ => return cause.to_string(),
        };
        let name = self.entries.get(axis).map_or("", |it| &it.name);
        format!("{name}: {cause}")
    }
}

impl AxisEntry {
    fn code(&self) -> Option<u16> {
        known(self.code.load(Ordering::Relaxed))
    }

    fn status(&self, axis: usize, from: &[u8]) -> AxisStatus {
        let [code, rest] = halves(word(from, 2));
        let status = Statusword(rest as u16);
        let code = known(code).filter(|it| *it != 0).or_else(|| self.code());
        AxisStatus {
            axis,
            device: self.device,
            name: self.name.clone(),
            control: self.control.clone(),
            state: status.state().to_string(),
            statusword: status.0,
            error_code: code,
            position_rad: f64::from_bits(word(from, 0)),
            target: f64::from_bits(word(from, 1)),
            out: rest >> 16 != 0,
        }
    }
}

fn word(from: &[u8], place: usize) -> u64 {
    from.as_chunks::<8>()
        .0
        .get(place)
        .map_or(0, |it| u64::from_le_bytes(*it))
}

const fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_process_image_that_no_reader_could_read_differs_from_none() {
        let shared = HandleShared::of(&[]);
        let mut writer = ProcessImageWriter::begin(shared.words(), shared.bytes()).unwrap();
        assert!(!shared.has_begun() && shared.status(|_| None).is_none());
        writer.publish(&[0; HEAD]).unwrap();
        assert!(shared.has_begun() && shared.status(|_| None).is_some());
        // As if the writer overtook every copy.
        for word in shared.words().iter().skip(4) {
            word.store(1, Ordering::Relaxed);
        }
        assert!(shared.has_begun() && shared.status(|_| None).is_none());
    }

    proptest! {
        #[test]
        fn a_cause_survives_its_encoding(kind in 1_u32..=5, first: u32, second: u16, known: bool) {
            let second = u32::from(second) | if known { KNOWN } else { 0 };
            let Some(decoded) = cause([kind, first, second]) else {
                panic!("no cause")
            };
            prop_assert_eq!(cause(numbers(decoded)), Some(decoded));
            let text = serde_json::to_string(&decoded).unwrap();
            prop_assert_eq!(serde_json::from_str::<Cause>(&text).unwrap(), decoded);
        }
    }
}
