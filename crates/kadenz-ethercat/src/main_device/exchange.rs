//! Exchanges of one question and its answer with the segment, by any way: the link itself before the loop runs,
//! a queue to the loop's thread while it does.

use std::fmt;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::link::{Link, SendError};
use crate::port::Port;
use crate::wire::{
    Command, Configured, DATAGRAM_OVERHEAD, DatagramAddress, Datagrams, FrameError, FrameWriter,
    MAX_FRAME, OverflowError, Position,
};

/// A frame in the caller's memory.
#[derive(Debug, Clone)]
pub struct FrameBuffer {
    bytes: [u8; MAX_FRAME],
    length: usize,
}

impl Default for FrameBuffer {
    fn default() -> Self {
        Self {
            bytes: [0; MAX_FRAME],
            length: 0,
        }
    }
}

impl FrameBuffer {
    /// Starts the frame again.
    ///
    /// # Errors
    /// The errors of `write`.
    pub fn write<R>(
        &mut self,
        write: impl FnOnce(&mut FrameWriter<'_>) -> Result<R, OverflowError>,
    ) -> Result<R, OverflowError> {
        let mut writer = FrameWriter::new(&mut self.bytes, [0; 6])?;
        let written = write(&mut writer)?;
        self.length = writer.finish();
        Ok(written)
    }

    /// The frame's bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The frame's bytes, mutable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }

    /// Takes over the answer.
    pub fn replace(&mut self, answer: &[u8]) {
        self.length = answer.len().min(MAX_FRAME);
        self.bytes[..self.length].copy_from_slice(&answer[..self.length]);
    }
}

/// The result of an exchange.
pub type ExchangeResult<T = ()> = Result<T, ExchangeError>;

/// The reason why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// Nothing came back, in any of the tries.
    #[error(
        "no response within {0:?}, {1} attempts; is the cable plugged in, and the segment powered?"
    )]
    Lost(Duration, u32),
    /// The wire did not take the question.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The question does not fit into a frame.
    #[error(transparent)]
    Overflow(#[from] OverflowError),
    /// The answer is damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Not the expected number of SubDevices took part.
    #[error(
        "{command:?} of register 0x{register:04X}: working counter {got} of {expected} for {target}; is it on the segment, with power, and are the cables whole?"
    )]
    WorkingCounter {
        /// The SubDevices that the datagram was addressed to.
        target: Target,
        /// The command of the datagram.
        command: Command,
        /// The address of the register.
        register: u16,
        /// The expected working counter.
        expected: u16,
        /// The working counter of the answer.
        got: u16,
    },
    /// The loop that carries the questions has ended.
    #[error("the loop has ended; restart it and retry")]
    Ended,
}

/// A way to exchange frames with the segment.
pub trait Exchange {
    /// Sends a frame and puts the answer in its place. Waits, and asks again after a loss.
    ///
    /// # Errors
    /// [`ExchangeError`] when nothing came back.
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult;

    /// As [`exchange`](Self::exchange), but sends only once; returns whether an answer came. For requests that
    /// must not be sent twice unnoticed, such as reading a mailbox, which empties it. A way that repeats
    /// requests by itself implements this too.
    ///
    /// # Errors
    /// [`ExchangeError`] when the frame was not sent.
    fn exchange_once(&mut self, frame: &mut FrameBuffer) -> ExchangeResult<bool> {
        match self.exchange(frame) {
            Ok(()) => Ok(true),
            Err(ExchangeError::Lost(..)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits while others go on.
    fn pause(&mut self, span: Duration);

    /// The time by the segment's port.
    fn now(&self) -> MonotonicTime;
}

/// How long to wait for an answer, and how often to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The time for one answer.
    pub answer: Duration,
    /// How often a question is asked at most.
    pub tries: u32,
}

impl Default for RetryPolicy {
    /// 20 ms and five times: a frame over 200 SubDevices takes 0.3 ms, and a lost one is rare.
    fn default() -> Self {
        Self {
            answer: Duration::from_millis(20),
            tries: 5,
        }
    }
}

impl RetryPolicy {
    /// 100 ms and ten times: a busy computer answers late, and a dead wire is an error within a second.
    pub const BUSY_HOST: Self = Self {
        answer: Duration::from_millis(100),
        tries: 10,
    };

    /// Repeats an exchange by a way that can ask once.
    pub(crate) fn exchange(
        self,
        exchange: &mut impl Exchange,
        frame: &mut FrameBuffer,
    ) -> ExchangeResult {
        for _ in 0..self.tries {
            if exchange.exchange_once(frame)? {
                return Ok(());
            }
        }
        Err(ExchangeError::Lost(self.answer, self.tries))
    }
}

/// The link itself, for a thread that may wait.
#[derive(Debug)]
pub struct BlockingExchange<'l, P> {
    /// The link that carries the frames.
    pub link: &'l mut Link<P>,
    /// How long to wait for an answer, and how often to ask.
    pub retry: RetryPolicy,
}

impl<'l, P> BlockingExchange<'l, P> {
    /// A way over a link, with the default retry policy.
    pub fn over(link: &'l mut Link<P>) -> Self {
        let retry = RetryPolicy::default();
        Self { link, retry }
    }
}

impl<P: Port> Exchange for BlockingExchange<'_, P> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        self.retry.exchange(self, frame)
    }

    fn exchange_once(&mut self, frame: &mut FrameBuffer) -> ExchangeResult<bool> {
        let until = self.link.now() + self.retry.answer;
        let ticket = self.link.send(frame.bytes_mut())?;
        let mut answer = [0; MAX_FRAME];
        loop {
            while let Some(arrived) = self.link.receive(&mut answer) {
                if Link::<P>::is_answer(&ticket, arrived) {
                    frame.replace(&answer[..arrived.length]);
                    return Ok(true);
                }
            }
            if self.link.now() >= until {
                self.link.give_up(&ticket);
                return Ok(false);
            }
            if let Err(error) = self.link.wait(until) {
                self.link.give_up(&ticket);
                return Err(SendError::Refused(error).into());
            }
        }
    }

    fn pause(&mut self, span: Duration) {
        let until = self.link.now() + span;
        let mut dropped = [0; MAX_FRAME];
        while self.link.now() < until {
            // An error of the port shows at the next question.
            let _ = self.link.wait(until);
            while self.link.receive(&mut dropped).is_some() {}
        }
    }

    fn now(&self) -> MonotonicTime {
        self.link.now()
    }
}

/// The SubDevices that a register access addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The one at a position.
    At(Position),
    /// The one of a station address.
    Of(Configured),
    /// All, of which there are so many.
    All(u16),
}

impl Target {
    pub(crate) fn reading(self, register: u16) -> (Command, DatagramAddress, u16) {
        match self {
            Self::At(position) => (
                Command::Aprd,
                DatagramAddress::position(position, register),
                1,
            ),
            Self::Of(station) => (
                Command::Fprd,
                DatagramAddress::configured(station, register),
                1,
            ),
            Self::All(count) => (Command::Brd, DatagramAddress::broadcast(register), count),
        }
    }

    pub(crate) fn writing(self, register: u16) -> (Command, DatagramAddress, u16) {
        match self {
            Self::At(position) => (
                Command::Apwr,
                DatagramAddress::position(position, register),
                1,
            ),
            Self::Of(station) => (
                Command::Fpwr,
                DatagramAddress::configured(station, register),
                1,
            ),
            Self::All(count) => (Command::Bwr, DatagramAddress::broadcast(register), count),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(position) => write!(f, "the SubDevice at position {}", position.0),
            Self::Of(station) => write!(f, "the SubDevice with address 0x{:04X}", station.0),
            Self::All(count) => write!(f, "every one of {count} SubDevices"),
        }
    }
}

/// Reads and writes registers, one question at a time. Every method waits; see [`Exchange`].
pub struct Registers<'x> {
    exchange: &'x mut dyn Exchange,
    frame: FrameBuffer,
}

impl<'x> Registers<'x> {
    /// Registers through this way.
    pub fn by(exchange: &'x mut dyn Exchange) -> Self {
        Self {
            exchange,
            frame: FrameBuffer::default(),
        }
    }

    /// The way that carries the questions.
    pub fn exchange(&mut self) -> &mut dyn Exchange {
        self.exchange
    }

    /// Reads bytes; returns the number of SubDevices that put theirs in.
    ///
    /// # Errors
    /// [`ExchangeError`] when nothing came back.
    pub fn count_reading(
        &mut self,
        target: Target,
        register: u16,
        to: &mut [u8],
    ) -> ExchangeResult<u16> {
        let (command, address, _) = target.reading(register);
        let slot = self
            .frame
            .write(|it| it.push(command, 0, address, to.len()))?;
        self.request(slot, to)
    }

    /// Reads bytes by a frame that is not sent again when it gets lost, for memory that a read changes; returns
    /// the number of SubDevices that put theirs in, `None` when that is not known as no whole frame came back.
    ///
    /// # Errors
    /// [`ExchangeError`] when the frame was not sent.
    pub(crate) fn count_reading_once(
        &mut self,
        target: Target,
        register: u16,
        to: &mut [u8],
    ) -> ExchangeResult<Option<u16>> {
        let (command, address, _) = target.reading(register);
        let slot = self
            .frame
            .write(|it| it.push(command, 0, address, to.len()))?;
        if !self.exchange.exchange_once(&mut self.frame)? {
            return Ok(None);
        }
        Ok(self.answer(slot, to).ok())
    }

    /// Reads bytes of a register.
    ///
    /// # Errors
    /// [`ExchangeError`], for example when the SubDevice did not answer.
    pub fn read(&mut self, target: Target, register: u16, to: &mut [u8]) -> ExchangeResult {
        let got = self.count_reading(target, register, to)?;
        let (command, _, expected) = target.reading(register);
        check(target, command, register, expected, got)
    }

    /// Reads a register of N bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn get<const N: usize>(
        &mut self,
        target: Target,
        register: u16,
    ) -> ExchangeResult<[u8; N]> {
        let mut bytes = [0; N];
        self.read(target, register, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads a register of 16 bits.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn get_u16(&mut self, target: Target, register: u16) -> ExchangeResult<u16> {
        self.get(target, register).map(u16::from_le_bytes)
    }

    /// Reads a register of 32 bits.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn get_u32(&mut self, target: Target, register: u16) -> ExchangeResult<u32> {
        self.get(target, register).map(u32::from_le_bytes)
    }

    /// Writes bytes; returns the number of SubDevices that took them.
    ///
    /// # Errors
    /// [`ExchangeError`] when nothing came back.
    pub fn count_writing(
        &mut self,
        target: Target,
        register: u16,
        bytes: &[u8],
    ) -> ExchangeResult<u16> {
        let (command, address, _) = target.writing(register);
        let slot = self.frame.write(|it| {
            let slot = it.push(command, 0, address, bytes.len())?;
            it.data(slot).copy_from_slice(bytes);
            Ok(slot)
        })?;
        self.request(slot, &mut [])
    }

    /// Writes bytes of a register.
    ///
    /// # Errors
    /// [`ExchangeError`], for example when the SubDevice did not take them.
    pub fn write(&mut self, target: Target, register: u16, bytes: &[u8]) -> ExchangeResult {
        let got = self.count_writing(target, register, bytes)?;
        let (command, _, expected) = target.writing(register);
        check(target, command, register, expected, got)
    }

    /// Writes a register of 16 bits.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn put_u16(&mut self, target: Target, register: u16, value: u16) -> ExchangeResult {
        self.write(target, register, &value.to_le_bytes())
    }

    /// Reads a register of one SubDevice and writes it to that of all behind it, in one frame (FRMW).
    ///
    /// # Errors
    /// [`ExchangeError`], for example when the SubDevice did not answer.
    pub(crate) fn distribute<const N: usize>(
        &mut self,
        from: Configured,
        register: u16,
    ) -> ExchangeResult<[u8; N]> {
        let address = DatagramAddress::configured(from, register);
        let command = Command::Frmw;
        let slot = self.frame.write(|it| it.push(command, 0, address, N))?;
        let mut bytes = [0; N];
        match self.request(slot, &mut bytes)? {
            0 => Err(ExchangeError::WorkingCounter {
                target: Target::Of(from),
                command,
                register,
                expected: 1,
                got: 0,
            }),
            _ => Ok(bytes),
        }
    }

    fn request(&mut self, slot: crate::wire::Slot, to: &mut [u8]) -> ExchangeResult<u16> {
        self.exchange.exchange(&mut self.frame)?;
        self.answer(slot, to)
    }

    /// Reads the answer from the frame.
    fn answer(&self, slot: crate::wire::Slot, to: &mut [u8]) -> ExchangeResult<u16> {
        let answer = Datagrams::of(self.frame.bytes())?
            .next()
            .ok_or(FrameError::Overrun)??;
        if answer.data.len() != slot.length() {
            return Err(FrameError::CutShort {
                have: answer.data.len() + DATAGRAM_OVERHEAD,
                need: slot.length() + DATAGRAM_OVERHEAD,
            }
            .into());
        }
        for (to, from) in to.iter_mut().zip(answer.data) {
            *to = *from;
        }
        Ok(answer.working_counter)
    }
}

fn check(
    target: Target,
    command: Command,
    register: u16,
    expected: u16,
    got: u16,
) -> ExchangeResult {
    if got == expected {
        return Ok(());
    }
    Err(ExchangeError::WorkingCounter {
        target,
        command,
        register,
        expected,
        got,
    })
}
