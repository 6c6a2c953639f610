//! A probe as a process: it leads a group of its own, and ends with the measurement, however that ends.

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
use crate::session::measure_of;

/// A command that starts a probe.
#[derive(Clone, Debug)]
pub struct ProbeCommand {
    /// Program and arguments; at least one word.
    pub words: Vec<String>,
    /// How it is started.
    pub launch: Launch,
}

/// Why a probe did not do its work, in words that name it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the probe `{words}` {why}")]
pub struct ProbeFailed {
    words: String,
    why: String,
}

/// What comes from a probe.
#[derive(Debug)]
pub(crate) enum ProbeEvent {
    /// It wrote a line.
    Line(Line),
    /// It runs no more, or is not listened to any more; why, unless that was in order.
    Ended(Option<String>),
}

/// What is wanted of a probe still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// What it will tell.
    More,
    /// That it ends.
    Nothing,
}

/// How a probe ended that was attended to.
#[derive(Debug)]
pub(crate) struct Attended {
    /// Why it failed, if it did.
    pub(crate) failed: Option<ProbeFailed>,
    /// Whether it had been told to end.
    pub(crate) was_told: bool,
}

/// A probe that runs.
pub(crate) struct ProbeProgram {
    words: String,
    /// What it calls its middleware, with the version.
    pub(crate) middleware: String,
    pub(crate) measures: Vec<TuningMeasure>,
    orders: Option<PipeWriter>,
    events: Receiver<ProbeEvent>,
    /// What it told before it was ready.
    early: VecDeque<ProbeEvent>,
    /// Asks the thread that attends to it to kill it.
    kill: SyncSender<()>,
    thread: Option<JoinHandle<()>>,
}

/// A probe opens its middleware in this time, and ends in the next.
const PATIENCE: Duration = Duration::from_secs(20);
/// A probe that was told to end ends in this time.
pub(crate) const END: Duration = Duration::from_secs(3);
/// How long a wait for a line lasts until it is looked whether more is wanted.
const WAIT: Duration = Duration::from_millis(20);
/// How often it is looked whether a probe has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// What a probe wrote before its end is read in this time.
const READ: Duration = Duration::from_millis(500);
/// What a probe said on standard error is shown so far.
const MAX_SAID: u64 = 4096;
/// So many lines may wait for the thread that records; the pipe, and in the end the probe, waits beyond that.
const MAX_WAITING: usize = 1 << 16;
/// A pipe hands on so much at once.
const BLOCK: usize = 1 << 16;
/// A probe's output holds so much, where the system grants it: ten seconds at 1 kHz, so that a probe does not wait
/// for its reader.
const PIPE: usize = 1 << 20;
/// How long before this probe another may have published its first message.
const EARLIER: Duration = Duration::from_secs(60);
/// By how much a clock may differ that is read later.
const CLOCK_MARGIN: Duration = Duration::from_millis(1);

impl ProbeProgram {
    /// Starts it and waits until it is ready.
    pub(crate) fn start(command: &ProbeCommand, settings: &Settings) -> Result<Self, ProbeFailed> {
        let words = command.words.join(" ");
        let failed = |why: String| ProbeFailed {
            words: words.clone(),
            why,
        };
        let cannot = |error: io::Error| failed(format!("cannot be started: {error}"));
        let (their_input, mut orders) = io::pipe().map_err(cannot)?;
        let (output, their_output) = io::pipe().map_err(cannot)?;
        // A smaller one does as well, while the reader keeps up.
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
        let attend = move || match launch::start(start, &launch) {
            Err(error) => {
                let _ = started_to.send(Err(error.to_string()));
            }
            Ok(program) => {
                let measures = program.measures().iter().map(measure_of).collect();
                let _ = started_to.send(Ok(measures));
                ProbeThread::new(program, events_to).attend(output, &killed, notes);
            }
        };
        let thread = std::thread::Builder::new().name("probe".to_owned());
        let thread = thread.spawn(attend).map_err(cannot)?;
        let lost = || failed("was lost by the thread that started it".to_owned());
        let measures: Result<Vec<TuningMeasure>, String> = started.recv().map_err(|_| lost())?;
        let measures = measures.map_err(failed)?;
        // One that has ended says why below.
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
        let until = Instant::now() + PATIENCE;
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
                    let seconds = PATIENCE.as_secs();
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

    /// What comes next, if anything does in that time. After the end, the end again.
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

    /// Hands on each line until the probe has ended; between lines, now and then, nothing. Told to end once `take`
    /// says that nothing more is wanted, as a probe tells first what it holds still.
    pub(crate) fn attend(
        &mut self,
        silence: Option<Duration>,
        mut take: impl FnMut(Option<Line>) -> Wanted,
    ) -> Attended {
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
                break Some(format!("says nothing for {} s", silence.as_secs()));
            }
        };
        Attended {
            failed: failed.map(|why| self.failed(why)),
            was_told: until.is_some(),
        }
    }

    pub(crate) fn tell(&mut self, order: Order) {
        if let Some(orders) = &mut self.orders {
            // One that has ended says so by itself.
            let _ = orders.write_all(order.line().as_bytes());
        }
    }

    /// Tells it to end; its input closes, too.
    pub(crate) fn end(&mut self) {
        self.tell(Order::End);
        self.orders = None;
    }

    pub(crate) fn kill(&self) {
        // One that waits there says the same.
        let _ = self.kill.try_send(());
    }
}

impl Drop for ProbeProgram {
    fn drop(&mut self) {
        self.end();
        self.kill();
        // The thread waits for nobody who listens.
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
    /// No message of it can have been published before.
    since: MonotonicTime,
    /// What the probe said why it ends, and when.
    error: Option<(String, Instant)>,
    /// When the probe was seen to have ended.
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

    /// Reads to the end of the probe's output, then waits for its own.
    fn attend(mut self, output: PipeReader, killed: &Receiver<()>, notes: File) {
        let (blocks_to, blocks) = mpsc::sync_channel(16);
        // A thread of its own, as a read cannot be given up: what a killed probe has started may hold the pipe.
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
        // What it has started holds its output: the group is there still, and goes, too.
        if !matches!(
            blocks.recv_timeout(POLL_INTERVAL),
            Err(mpsc::RecvTimeoutError::Disconnected)
        ) {
            self.program.kill();
        }
        let _ = self.events.send(ProbeEvent::Ended(why));
    }

    /// Whether it has ended, and what it wrote would have been read by now.
    fn ended_long_ago(&mut self) -> bool {
        if matches!(self.program.try_wait(), Ok(None)) {
            return false;
        }
        self.ended_at.get_or_insert_with(Instant::now).elapsed() > READ
    }

    /// Whether it said why it ends, and has had its time to do so: a library's threads may keep it.
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
        // Nobody listens any more where the measurement has ended.
        let _ = self.events.send(ProbeEvent::Line(line));
        Ok(())
    }

    /// Whether the two times are of the clock that a probe is to read.
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

    /// Waits for its end; what there is to say about it.
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

/// The status, and the last line that it wrote to standard error.
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

/// What a probe noted, as warnings of the run.
pub(crate) fn noted<'a>(name: &'a str, notes: &'a [String]) -> impl Iterator<Item = Warning> + 'a {
    notes
        .iter()
        .map(move |text| Warning::new("probe_note", format!("{name}: {text}"), None))
}
