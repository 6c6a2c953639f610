//! Set-ups of many devices side by side.
//!
//! A set-up asks its device question after question, and waits for each answer. Each runs on a thread of its
//! own that only computes: the supervisor sends its questions. The supervisor waits until every set-up has
//! asked, pauses or is done, sends the questions in as few frames as hold them, the longest-waiting first, and
//! hands the answers back. So the result does not depend on the order in which threads run, time may be
//! virtual, and a device that does not answer delays no other.
//!
//! The supervisor sends a lost frame again with the questions in it, except for those that may be asked only
//! once: their set-ups receive no answer, and handle that themselves.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::{DeviceTable, Setup};
use crate::main_device::configure::ConfigureError;
use crate::main_device::exchange::{
    Exchange, ExchangeError, ExchangeResult, FrameBuffer, Registers,
};
use crate::wire::register::DC_RECEIVE_TIME;
use crate::wire::{
    DATAGRAM_OVERHEAD, Datagram, Datagrams, DatagramsMut, FrameError, FrameWriter, OverflowError,
};

#[cfg(test)]
mod tests;

/// Set-ups at once; further ones wait until one of these is done.
const MAX: usize = 64;
/// Bytes of a set-up's stack. Where memory is locked, the thread occupies all of them.
const STACK: usize = 512 * 1024;

/// The result of a set-up; `None` where another thread had the device.
type SetupOutcome = Option<Result<(), ConfigureError>>;

/// A frame that a set-up asks the supervisor to send.
struct SetupRequest {
    frame: Box<FrameBuffer>,
    /// Whether it must not be sent twice unnoticed: reading a mailbox empties it.
    once: bool,
}

impl SetupRequest {
    fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        let all = Datagrams::of(self.frame.bytes()).into_iter().flatten();
        all.filter_map(Result::ok)
    }

    /// Bytes of its datagrams.
    fn length(&self) -> usize {
        let lengths = self.datagrams().map(|it| it.data.len());
        lengths.map(|it| it + DATAGRAM_OVERHEAD).sum()
    }

    /// Whether it lets controllers take receive times. The same frame cannot read them (Beckhoff's ESC data
    /// sheet, section II, register 0x0900), so a question that reads them must go in another frame.
    fn takes_times(&self) -> bool {
        let mut all = self.datagrams();
        all.any(|it| it.command.writes() && it.address.register() == DC_RECEIVE_TIME)
    }
}

/// A message from a set-up's thread to the supervisor.
enum SetupMessage {
    Request(SetupRequest),
    Pauses(Duration),
    Done(SetupOutcome),
}

/// The reply to a set-up: the time, and the answer where it asked; none where that got lost.
struct SetupReply {
    now: MonotonicTime,
    answer: Option<Box<FrameBuffer>>,
}

/// The stage of a set-up.
enum SetupStage {
    /// It computes: the supervisor waits for its next message.
    Computes,
    /// Its question waits to be sent.
    Request(SetupRequest),
    /// It pauses until that time.
    Pauses(MonotonicTime),
    Done(SetupOutcome),
}

struct Job {
    replies: SyncSender<SetupReply>,
    receiver: Receiver<SetupMessage>,
    thread: JoinHandle<()>,
    stage: SetupStage,
}

/// The progress of a device's set-up.
#[derive(Debug)]
pub(super) enum SetupProgress {
    Done,
    UnderWay,
    Failed(ConfigureError),
}

/// All set-ups that are under way.
pub(super) struct SetupPool {
    device_table: Arc<DeviceTable>,
    setup: Option<Arc<Setup>>,
    jobs: BTreeMap<usize, Job>,
    /// Set-ups with a question to be sent, the longest-waiting first.
    waiting: VecDeque<usize>,
}

impl SetupPool {
    /// A pool without set-ups; where `setup` is `None`, every device is done at once.
    pub(super) fn new(device_table: Arc<DeviceTable>, setup: Option<Setup>) -> Self {
        Self {
            device_table,
            setup: setup.map(Arc::new),
            jobs: BTreeMap::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Whether no set-up is under way, and no result waits to be read.
    pub(super) fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Whether some set-up is not done.
    pub(super) fn is_busy(&self) -> bool {
        !self.jobs.values().all(Job::is_done)
    }

    /// Returns the progress of a device's set-up; begins it where it has not begun. Reports once that it is
    /// done.
    pub(super) fn progress(&mut self, device: usize) -> SetupProgress {
        let Some(setup) = &self.setup else {
            return SetupProgress::Done;
        };
        match self.jobs.get(&device).map(|it| &it.stage) {
            Some(SetupStage::Done(_)) => {}
            Some(_) => return SetupProgress::UnderWay,
            None if self.jobs.len() >= MAX => return SetupProgress::UnderWay,
            None => {
                let setup = Arc::clone(setup);
                return self.begin(device, setup);
            }
        }
        match self.jobs.remove(&device).map(Job::end) {
            Some(Some(Ok(()))) => SetupProgress::Done,
            Some(Some(Err(error))) => SetupProgress::Failed(error),
            // Another thread had the device: the set-up starts again.
            Some(None) | None => SetupProgress::UnderWay,
        }
    }

    /// Begins a device's set-up once no other thread has the device. From then on no other thread gets it.
    fn begin(&mut self, device: usize, setup: Arc<Setup>) -> SetupProgress {
        self.device_table.set_up(device, true);
        if self.device_table.try_with(device, |_| ()).is_none() {
            return SetupProgress::UnderWay;
        }
        match Job::begin(device, Arc::clone(&self.device_table), setup) {
            Ok(job) => {
                self.jobs.insert(device, job);
                SetupProgress::UnderWay
            }
            Err(error) => {
                self.device_table.set_up(device, false);
                SetupProgress::Failed(ConfigureError::Setup(error.into()))
            }
        }
    }

    /// Ends a device's set-up, where there is one, and lets other threads have the device again.
    pub(super) fn cancel(&mut self, device: usize) {
        self.end(device);
        self.device_table.set_up(device, false);
    }

    /// Ends a device's set-up, where there is one: its further questions have no answer.
    pub(super) fn end(&mut self, device: usize) {
        if let Some(job) = self.jobs.remove(&device) {
            self.waiting.retain(|it| *it != device);
            job.end();
        }
    }

    /// Carries questions and answers until all are done, for `most` at the longest, and no longer than `least`
    /// where one is done already; by frames of `frame_bytes` of datagrams, except for a single question that
    /// is longer.
    ///
    /// # Errors
    /// [`ExchangeError`] when nothing was sent or the answer is damaged. The questions are sent again then,
    /// except for those that may be asked only once.
    pub(super) fn serve(
        &mut self,
        exchange: &mut dyn Exchange,
        (least, most): (Duration, Duration),
        frame_bytes: usize,
    ) -> ExchangeResult {
        let start = exchange.now();
        loop {
            let now = exchange.now();
            self.wake(now);
            self.receive(now);
            let until = match self.jobs.values().any(Job::is_done) {
                true => start + least,
                false => start + most,
            };
            if !self.is_busy() || now >= until {
                return Ok(());
            }
            if self.waiting.is_empty() {
                let pauses = self.jobs.values().filter_map(Job::pauses_until);
                let next = pauses.min().map_or(until, |it| it.min(until));
                exchange.pause(next.remaining(now));
            } else {
                self.exchange_frame(exchange, frame_bytes)?;
            }
        }
    }

    /// Ends the pauses that are over.
    fn wake(&mut self, now: MonotonicTime) {
        for job in self.jobs.values_mut() {
            if job.pauses_until().is_some_and(|it| it <= now) {
                job.reply(now, None);
            }
        }
    }

    /// Waits for the next message of every set-up that computes.
    fn receive(&mut self, now: MonotonicTime) {
        for (device, job) in &mut self.jobs {
            if !matches!(job.stage, SetupStage::Computes) {
                continue;
            }
            job.stage = match job.receiver.recv() {
                Ok(SetupMessage::Request(question)) => {
                    self.waiting.push_back(*device);
                    SetupStage::Request(question)
                }
                Ok(SetupMessage::Pauses(span)) => SetupStage::Pauses(now + span),
                Ok(SetupMessage::Done(result)) => SetupStage::Done(result),
                Err(_) => SetupStage::Done(Some(Err(ConfigureError::Setup(
                    "it panicked, which is an error of the program".into(),
                )))),
            };
            if matches!(job.stage, SetupStage::Done(_)) {
                self.device_table.set_up(*device, false);
            }
        }
    }

    /// Sends one frame of questions, and hands out the answers.
    fn exchange_frame(
        &mut self,
        exchange: &mut dyn Exchange,
        frame_bytes: usize,
    ) -> ExchangeResult {
        let mut frame = FrameBuffer::default();
        let aboard = frame.write(|writer| self.load(writer, frame_bytes))?;
        let came = exchange.exchange_once(&mut frame);
        let now = exchange.now();
        let unloaded = match came {
            Ok(true) => self.unload(&frame, &aboard, now),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        self.report_losses(&aboard, now);
        unloaded
    }

    /// Puts in the questions that fit, at least one; returns their set-ups.
    fn load(
        &self,
        writer: &mut FrameWriter<'_>,
        frame_bytes: usize,
    ) -> Result<Vec<usize>, OverflowError> {
        let most = frame_bytes.min(writer.room() + DATAGRAM_OVERHEAD);
        let (mut aboard, mut taken) = (Vec::new(), 0);
        for device in &self.waiting {
            let Some(SetupStage::Request(question)) = self.jobs.get(device).map(|it| &it.stage)
            else {
                continue;
            };
            let (alone, length) = (question.takes_times(), question.length());
            if !aboard.is_empty() && (alone || taken + length > most) {
                continue;
            }
            for it in question.datagrams() {
                let slot = writer.push(it.command, 0, it.address, it.data.len())?;
                writer.data(slot).copy_from_slice(it.data);
            }
            aboard.push(*device);
            taken += length;
            if alone {
                break;
            }
        }
        Ok(aboard)
    }

    /// Reports the loss to set-ups whose question may be asked only once. The other questions wait on.
    fn report_losses(&mut self, aboard: &[usize], now: MonotonicTime) {
        for device in aboard {
            let Some(job) = self.jobs.get_mut(device) else {
                continue;
            };
            if matches!(&job.stage, SetupStage::Request(question) if question.once) {
                self.waiting.retain(|it| it != device);
                job.reply(now, None);
            }
        }
    }

    fn unload(
        &mut self,
        frame: &FrameBuffer,
        aboard: &[usize],
        now: MonotonicTime,
    ) -> ExchangeResult {
        let mut answers = Datagrams::of(frame.bytes())?;
        for device in aboard {
            let Some(job) = self.jobs.get_mut(device) else {
                continue;
            };
            let SetupStage::Request(question) = &job.stage else {
                continue;
            };
            let mut answered = question.frame.clone();
            for asked in DatagramsMut::of(answered.bytes_mut())? {
                let mut asked = asked?;
                let answer = answers.next().ok_or(FrameError::Overrun)??;
                if answer.data.len() != asked.data.len() {
                    return Err(FrameError::Overrun.into());
                }
                asked.data.copy_from_slice(answer.data);
                asked.count(answer.working_counter);
            }
            self.waiting.retain(|it| it != device);
            job.reply(now, Some(answered));
        }
        Ok(())
    }
}

impl Drop for SetupPool {
    fn drop(&mut self) {
        for device in 0..self.device_table.len() {
            self.cancel(device);
        }
    }
}

impl Job {
    fn begin(device: usize, device_table: Arc<DeviceTable>, setup: Arc<Setup>) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(1);
        let (replies, answers) = sync_channel(1);
        let work = move || {
            let mut exchange = SetupChannel {
                sender,
                answers,
                // The first reply brings the time; until then no time has passed.
                now: MonotonicTime::from_ns(0),
            };
            exchange.pause(Duration::ZERO);
            let result =
                device_table.try_with(device, |it| (*setup)(it, &mut Registers::by(&mut exchange)));
            // Where the supervisor no longer listens, it does not miss the message.
            let _ = exchange.sender.send(SetupMessage::Done(result));
        };
        let thread = std::thread::Builder::new()
            .name(format!("set-up {device}"))
            .stack_size(STACK)
            .spawn(work)?;
        Ok(Self {
            replies,
            receiver,
            thread,
            stage: SetupStage::Computes,
        })
    }

    const fn is_done(&self) -> bool {
        matches!(self.stage, SetupStage::Done(_))
    }

    const fn pauses_until(&self) -> Option<MonotonicTime> {
        match self.stage {
            SetupStage::Pauses(until) => Some(until),
            _ => None,
        }
    }

    fn reply(&mut self, now: MonotonicTime, answer: Option<Box<FrameBuffer>>) {
        // A thread that is gone shows when its next message is awaited.
        let _ = self.replies.send(SetupReply { now, answer });
        self.stage = SetupStage::Computes;
    }

    /// Waits for its end. A set-up that is not done gets no more answers.
    fn end(self) -> SetupOutcome {
        drop((self.replies, self.receiver));
        // A panic was reported before.
        let _ = self.thread.join();
        match self.stage {
            SetupStage::Done(result) => result,
            _ => None,
        }
    }
}

/// The channel by which a set-up's thread reaches the segment.
struct SetupChannel {
    sender: SyncSender<SetupMessage>,
    answers: Receiver<SetupReply>,
    now: MonotonicTime,
}

impl SetupChannel {
    /// Sends a message and waits for the reply; `None` when the supervisor no longer listens.
    fn send(&mut self, word: SetupMessage) -> Option<SetupReply> {
        self.sender.send(word).ok()?;
        let reply = self.answers.recv().ok()?;
        self.now = reply.now;
        Some(reply)
    }

    /// Asks; returns whether there is an answer.
    fn request(&mut self, frame: &mut FrameBuffer, once: bool) -> ExchangeResult<bool> {
        let question = SetupRequest {
            frame: Box::new(frame.clone()),
            once,
        };
        let reply = self.send(SetupMessage::Request(question));
        let reply = reply.ok_or(ExchangeError::Ended)?;
        let Some(answer) = reply.answer else {
            return Ok(false);
        };
        frame.replace(answer.bytes());
        Ok(true)
    }
}

impl Exchange for SetupChannel {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        // A caller that asks until there is an answer sees no loss.
        let answered = self.request(frame, false)?;
        answered.then_some(()).ok_or(ExchangeError::Ended)
    }

    fn exchange_once(&mut self, frame: &mut FrameBuffer) -> ExchangeResult<bool> {
        self.request(frame, true)
    }

    fn pause(&mut self, span: Duration) {
        if self.send(SetupMessage::Pauses(span)).is_none() {
            // A set-up that waits for a time reaches it nevertheless.
            self.now = self.now + span;
        }
    }

    fn now(&self) -> MonotonicTime {
        self.now
    }
}
