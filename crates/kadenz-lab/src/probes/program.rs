//! A probe as a process: it leads a process group of its own, and ends with the measurement, however that ends.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Seek as _, Write as _};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kadenz_record::run::model::{TuningMeasure, Warning};
use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::launch::{self, Launch, Program};

use super::protocol::{BadLine, Line, Lines, Order, Settings};
use crate::session::measures_of;

/// A command that starts a probe.
#[derive(Clone, Debug)]
pub struct ProbeCommand {
    /// Program and arguments; at least one word.
    pub words: Vec<String>,
    /// How the process is started.
    pub launch: Launch,
}

/// Why a probe did not do its work, in words that name the probe.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the probe `{words}` {why}")]
pub struct ProbeFailed {
    words: String,
    why: String,
}

/// An event of a probe.
#[derive(Debug)]
pub(crate) enum ProbeEvent {
    /// The probe wrote a line.
    Line(Line),
    /// The probe has ended, or is no longer read; with the reason, unless that was in order.
    Ended(Option<String>),
}

/// What the measurement still needs of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Further lines with measured values.
    More,
    /// The end of the probe.
    Nothing,
}

/// How a probe ended whose lines were read.
#[derive(Debug)]
pub(crate) struct ProbeEnd {
    /// The reason of a failure.
    pub(crate) failed: Option<ProbeFailed>,
    /// Whether the probe had received the order to end.
    pub(crate) was_ordered_to_end: bool,
}

/// A running probe.
pub(crate) struct ProbeProgram {
    words: String,
    /// The name of its middleware, with the version.
    pub(crate) middleware: String,
    pub(crate) measures: Vec<TuningMeasure>,
    orders: Option<PipeWriter>,
    events: Receiver<ProbeEvent>,
    /// Events before the probe was ready.
    early: VecDeque<ProbeEvent>,
    /// Requests that the thread that reads the probe kills it.
    kill: SyncSender<()>,
    thread: Option<JoinHandle<()>>,
}

/// Time for a probe to open its middleware.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
/// A probe that received the order to end ends within this time.
pub(crate) const END: Duration = Duration::from_secs(3);
/// How long a wait for a line lasts before this checks whether further lines are needed.
const WAIT: Duration = Duration::from_millis(20);
/// How often the thread checks whether a probe has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time to read what a probe wrote before its end.
const READ: Duration = Duration::from_millis(500);
/// Bytes of a probe's standard error that are shown.
const MAX_SAID: u64 = 4096;
/// Lines that may wait for the recording thread; beyond that the pipe fills, and in the end the probe waits.
const MAX_WAITING: usize = 1 << 16;
/// Bytes that one read from a pipe returns at most.
const BLOCK: usize = 1 << 16;
/// Size of the pipe for a probe's output, where the system grants it: ten seconds at 1 kHz, so that a probe does not
/// wait for its reader.
const PIPE: usize = 1 << 20;
/// How long before the start of this probe another probe may have published its first message.
const EARLIER: Duration = Duration::from_secs(60);
/// Margin for the difference to a clock that is read later.
const CLOCK_MARGIN: Duration = Duration::from_millis(1);

impl ProbeProgram {
    /// Starts the probe and waits until it is ready.
    pub(crate) fn start(command: &ProbeCommand, settings: &Settings) -> Result<Self, ProbeFailed> {
        let words = command.words.join(" ");
        let failed = |why: String| ProbeFailed {
            words: words.clone(),
            why,
        };
        let cannot = |error: io::Error| failed(format!("cannot be started: {error}"));
        let (their_input, mut orders) = io::pipe().map_err(cannot)?;
        let (output, their_output) = io::pipe().map_err(cannot)?;
        // A smaller pipe does as well, while the reader keeps up.
        let _ = launch::enlarge_pipe(&output, PIPE);
        let notes = tempfile::tempfile().map_err(cannot)?;
        let mut start = Command::new(&command.words[0]);
        start.args(&command.words[1..]).stdin(their_input);
        start.stdout(their_output);
        start.stderr(notes.try_clone().map_err(cannot)?);
        let (events_to, events) = mpsc::sync_channel(MAX_WAITING);
        let (kill, killed) = mpsc::sync_channel(1);
        let (started_to, started) = mpsc::sync_channel(1);
        let launch = Launch {
            with_this_thread: true,
            ..command.launch.clone()
        };
        let read_to_end = move || match launch::start(start, &launch) {
            Err(error) => {
                let _ = started_to.send(Err(error.to_string()));
            }
            Ok(program) => {
                let measures = measures_of(program.measures());
                let _ = started_to.send(Ok(measures));
                ProbeThread::new(program, events_to).read_to_end(output, &killed, notes);
            }
        };
        let thread = std::thread::Builder::new().name("probe".to_owned());
        let thread = thread.spawn(read_to_end).map_err(cannot)?;
        let lost = || failed("was lost by the thread that started it".to_owned());
        let measures: Result<Vec<TuningMeasure>, String> = started.recv().map_err(|_| lost())?;
        let measures = measures.map_err(failed)?;
        // A probe that has ended gives the reason below.
        let _ = writeln!(orders, "{settings}");
        let mut program = Self {
            words,
            middleware: String::new(),
            measures,
            orders: Some(orders),
            events,
            early: VecDeque::new(),
            kill,
            thread: Some(thread),
        };
        program.middleware = program.wait_until_ready()?;
        Ok(program)
    }

    fn wait_until_ready(&mut self) -> Result<String, ProbeFailed> {
        let until = Instant::now() + READY_TIMEOUT;
        let mut early = VecDeque::new();
        loop {
            match self.next(until.saturating_duration_since(Instant::now())) {
                Some(ProbeEvent::Line(Line::Ready(name))) => {
                    self.early = early;
                    return Ok(name);
                }
                // A library may call back at once.
                Some(event @ ProbeEvent::Line(_)) => early.push_back(event),
                Some(ProbeEvent::Ended(why)) => {
                    let why = why.unwrap_or_else(|| "ended before it was ready".to_owned());
                    return Err(self.failed(why));
                }
                None => {
                    let seconds = READY_TIMEOUT.as_secs();
                    return Err(self.failed(format!(
                        "did not write `ready NAME` within {seconds} s; it must speak the probe protocol"
                    )));
                }
            }
        }
    }

    pub(crate) fn failed(&self, why: String) -> ProbeFailed {
        ProbeFailed {
            words: self.words.clone(),
            why,
        }
    }

    /// Returns the next event within that time. After the end, it returns the end again.
    pub(crate) fn next(&mut self, timeout: Duration) -> Option<ProbeEvent> {
        if let Some(event) = self.early.pop_front() {
            return Some(event);
        }
        match self.events.recv_timeout(timeout) {
            Ok(event) => Some(event),
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            Err(mpsc::RecvTimeoutError::Disconnected) => Some(ProbeEvent::Ended(None)),
        }
    }

    /// Passes on each line until the probe has ended, and calls `take` with none between lines now and then. Once
    /// `take` needs no more, the probe receives the order to end; it first reports what it still holds.
    pub(crate) fn read_to_end(
        &mut self,
        silence: Option<Duration>,
        mut take: impl FnMut(Option<Line>) -> Wanted,
    ) -> ProbeEnd {
        let (mut until, mut said_at) = (None, Instant::now());
        let failed = loop {
            let event = self.next(WAIT);
            let line = match event {
                Some(ProbeEvent::Ended(why)) => break why,
                Some(ProbeEvent::Line(line)) => Some(line),
                None => None,
            };
            if line.is_some() {
                said_at = Instant::now();
            }
            if take(line) == Wanted::Nothing && until.is_none() {
                self.end();
                until = Some(Instant::now() + END);
            }
            if until.is_some_and(|until| Instant::now() > until) {
                self.kill();
                break Some("does not end".to_owned());
            }
            if let Some(silence) = silence.filter(|it| said_at.elapsed() > *it) {
                self.kill();
                break Some(format!("prints nothing for {} s", silence.as_secs()));
            }
        };
        ProbeEnd {
            failed: failed.map(|why| self.failed(why)),
            was_ordered_to_end: until.is_some(),
        }
    }

    pub(crate) fn send(&mut self, order: Order) {
        if let Some(orders) = &mut self.orders {
            // A probe that has ended reports that by itself.
            let _ = orders.write_all(order.line().as_bytes());
        }
    }

    /// Orders the probe to end, and closes its input.
    pub(crate) fn end(&mut self) {
        self.send(Order::End);
        self.orders = None;
    }

    pub(crate) fn kill(&self) {
        // A waiting request says the same.
        let _ = self.kill.try_send(());
    }
}

impl Drop for ProbeProgram {
    fn drop(&mut self) {
        self.end();
        self.kill();
        // The thread sends without a wait once the receiver is gone.
        self.events = mpsc::sync_channel(1).1;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread that started a probe, with which the probe ends.
struct ProbeThread {
    program: Program,
    events: SyncSender<ProbeEvent>,
    /// No message of the probe can have been published before.
    since: MonotonicTime,
    /// The probe's own reason for its end, and when it gave it.
    error: Option<(String, Instant)>,
    /// When the end of the probe was noticed.
    ended_at: Option<Instant>,
}

impl ProbeThread {
    fn new(program: Program, events: SyncSender<ProbeEvent>) -> Self {
        Self {
            program,
            events,
            since: clock::now(),
            error: None,
            ended_at: None,
        }
    }

    /// Reads to the end of the probe's output, then waits for the end of the probe.
    fn read_to_end(mut self, output: PipeReader, killed: &Receiver<()>, notes: File) {
        let (blocks_to, blocks) = mpsc::sync_channel(16);
        // A thread of its own, as a read cannot be cancelled: children of a killed probe may hold the pipe open.
        std::thread::spawn(move || read(output, &blocks_to));
        let mut lines = Lines::default();
        let bad = loop {
            if killed.try_recv().is_ok() || self.failed_long_ago() {
                self.program.kill();
                break None;
            }
            match blocks.recv_timeout(POLL_INTERVAL) {
                Ok(block) => {
                    if let Err(error) = lines.push(&block, |line| self.line(line)) {
                        self.program.kill();
                        break Some(error.to_string());
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) if self.ended_long_ago() => break None,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break None,
            }
        };
        let why = bad.or_else(|| self.why_it_ended(killed, notes));
        // Children of the probe hold its output open: the group still exists, and is killed, too.
        if !matches!(
            blocks.recv_timeout(POLL_INTERVAL),
            Err(mpsc::RecvTimeoutError::Disconnected)
        ) {
            self.program.kill();
        }
        let _ = self.events.send(ProbeEvent::Ended(why));
    }

    /// Whether the probe has ended so long ago that its output would have been read by now.
    fn ended_long_ago(&mut self) -> bool {
        if matches!(self.program.try_wait(), Ok(None)) {
            return false;
        }
        self.ended_at.get_or_insert_with(Instant::now).elapsed() > READ
    }

    /// Whether the probe gave the reason for its end and had its time to end: a library's threads may prevent that.
    fn failed_long_ago(&self) -> bool {
        let at = self.error.as_ref().map(|(_, at)| *at);
        at.is_some_and(|at| at.elapsed() > END)
    }

    fn line(&mut self, line: &[u8]) -> Result<(), BadLine> {
        let line = Line::parse(line)?;
        match &line {
            Line::Error(text) => self.error = Some((format!("says: {text}"), Instant::now())),
            Line::Message(it) => {
                self.check(it.sent_ns, it.received_ns)?;
                self.check(it.intended_ns, it.received_ns)?;
            }
            Line::Timer {
                start_ns, end_ns, ..
            }
            | Line::Ignored { start_ns, end_ns } => self.check(*start_ns, *end_ns)?,
            Line::Started(at_ns) | Line::Woke(at_ns) => self.check(*at_ns, *at_ns)?,
            _ => {}
        }
        // The receiver is gone where the measurement has ended.
        let _ = self.events.send(ProbeEvent::Line(line));
        Ok(())
    }

    /// Whether the two times are of the clock that a probe must read.
    fn check(&self, before_ns: i64, after_ns: i64) -> Result<(), BadLine> {
        let time = |ns: i64| u64::try_from(ns).ok().map(MonotonicTime::from_ns);
        let (Some(before), Some(after)) = (time(before_ns), time(after_ns)) else {
            return Err(BadLine::Clock);
        };
        let is_possible = before + EARLIER >= self.since
            && after + CLOCK_MARGIN >= before
            && after <= clock::now() + CLOCK_MARGIN;
        is_possible.then_some(()).ok_or(BadLine::Clock)
    }

    /// Waits for the end of the probe; returns the reason to report.
    fn why_it_ended(&mut self, killed: &Receiver<()>, notes: File) -> Option<String> {
        let until = Instant::now() + END;
        let status = loop {
            match self.program.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if killed.try_recv().is_ok() || Instant::now() > until => {
                    self.program.kill();
                }
                Ok(None) => {}
                Err(_) => break None,
            }
            std::thread::sleep(POLL_INTERVAL);
        };
        let error = self.error.take();
        error.map(|(text, _)| text).or_else(|| {
            let status = status.filter(|it| !it.success())?;
            Some(ended_badly(status, notes))
        })
    }
}

fn read(mut output: PipeReader, blocks: &mpsc::SyncSender<Vec<u8>>) {
    let mut block = vec![0; BLOCK];
    loop {
        match output.read(&mut block) {
            Ok(0) => return,
            Ok(length) if blocks.send(block[..length].to_vec()).is_err() => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// The status, and the last line that the probe wrote to standard error.
fn ended_badly(status: ExitStatus, mut notes: File) -> String {
    let mut said = Vec::new();
    let end = notes.metadata().map_or(0, |it| it.len());
    let from = io::SeekFrom::Start(end.saturating_sub(MAX_SAID));
    if notes.seek(from).is_ok() {
        let _ = notes.take(MAX_SAID).read_to_end(&mut said);
    }
    let said = String::from_utf8_lossy(&said);
    match said.trim().lines().last() {
        Some(last) => format!("ended with {status}: {last}"),
        None => format!("ended with {status}"),
    }
}

/// The notes of a probe, as warnings of the run.
pub(crate) fn noted<'a>(name: &'a str, notes: &'a [String]) -> impl Iterator<Item = Warning> + 'a {
    notes
        .iter()
        .map(move |text| Warning::new("probe_note", format!("{name}: {text}"), None))
}
