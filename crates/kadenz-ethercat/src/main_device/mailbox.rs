//! A SubDevice's mailboxes from the MainDevice's side: a message in, and the answer out.
//!
//! Either way may lose a frame, and reading a mailbox empties it. The MainDevice sends a message that may
//! not have come again with its number, by which the SubDevice detects the repetition and does nothing
//! twice. It requests an answer that did not come by the repeat request of SyncManager 1 (ETG.1000.4,
//! chapter 5.6): it toggles a bit, and the SubDevice puts its last message there again and confirms that by
//! a bit of its own.

use std::time::Duration;

use super::exchange::{ExchangeError, Registers, Target};
use crate::wire::SyncManager;
use crate::wire::coe::Emergency;
use crate::wire::coe::{CoeError, Message};
use crate::wire::mailbox::{self, Counter, ErrorDetail, Header, MailboxError, Protocol};
use crate::wire::register::{SYNC_MANAGER, SYNC_MANAGER_SIZE};
use crate::wire::sii::Mailboxes;
use crate::wire::sync_manager::{self, SyncManagerStatus};

/// How long a SubDevice may take to empty its mailbox (ETG.1020: 100 ms) and to answer (ETG.1020: 1 s,
/// for a change of state longer).
const MAX_ANSWER: Duration = Duration::from_secs(2);
/// How long it may take to put its last message there again.
const MAX_REPEAT: Duration = Duration::from_millis(200);
/// Frames that may get lost one after the other while a message is read.
const MAX_LOSSES: u32 = 8;
/// The pause between two polls.
const PAUSE: Duration = Duration::from_micros(100);
/// Bytes of the smallest mailbox that carries CoE, and of the largest that a frame carries.
const USABLE: std::ops::RangeInclusive<u16> = 16..=1486;
const LARGEST: usize = *USABLE.end() as usize;
/// Registers of the SyncManager of answers.
const ANSWERS: u16 = SYNC_MANAGER + SYNC_MANAGER_SIZE;

/// The reason why a message has no answer.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The segment did not answer.
    #[error("{0}")]
    Exchange(#[from] ExchangeError),
    /// The message does not fit.
    #[error("{target} cannot be sent the message: {cause}; look whether its SII is damaged")]
    NoRoom {
        /// The SubDevice that the message was for.
        target: Target,
        /// The part that is too small.
        cause: MailboxError,
    },
    /// The SubDevice has no mailbox.
    #[error("{0} has no mailbox (SII), so it has no CoE objects")]
    None(Target),
    /// The SubDevice's mailbox is too small for a message, or too large for a frame.
    #[error(
        "{target} has a mailbox of {size} bytes by its SII, and from {least} to {most} are usable; look whether its SII is damaged",
        least = USABLE.start(),
        most = USABLE.end()
    )]
    Size {
        /// The SubDevice that the message was for.
        target: Target,
        /// Bytes of the smaller or larger mailbox, whichever is not usable.
        size: u16,
    },
    /// The SubDevice answered that it did not understand.
    #[error(
        "{target} did not understand the message (mailbox error {detail}); look which protocols its mailbox supports, and whether another program uses it"
    )]
    NotUnderstood {
        /// The SubDevice that the message was for.
        target: Target,
        /// The detail that the device gave.
        detail: ErrorDetail,
    },
    /// No answer came.
    #[error("{target} did not answer within {waited:?}; is it in PREOP or higher?")]
    Silent {
        /// The SubDevice that the message was for.
        target: Target,
        /// How long the MainDevice waited.
        waited: Duration,
    },
    /// Unreadable messages came, and no answer.
    #[error(
        "{target} did not answer within {waited:?}; what it sent cannot be read ({times} of that, the last: {cause}): look for newer firmware of it, and whether another program uses its mailbox"
    )]
    Unreadable {
        /// The SubDevice that the message was for.
        target: Target,
        /// How long the MainDevice waited.
        waited: Duration,
        /// The number of those messages.
        times: u32,
        /// The error of the last one.
        cause: ReadError,
    },
    /// The answer was in a frame that got lost, and did not come again.
    #[error(
        "the answer of {target} was in a frame that got lost, and it did not send it again within {waited:?}; check the cables, and retry"
    )]
    Lost {
        /// The SubDevice that the message was for.
        target: Target,
        /// How long the MainDevice waited.
        waited: Duration,
    },
}

/// The reason why a message of a SubDevice cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is cut short.
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
    /// It is not a CoE message.
    #[error(transparent)]
    Coe(#[from] CoeError),
}

/// The kind of a message, for a caller that waits for an answer.
enum MessageClass<'b> {
    /// Perhaps the answer: the data of a CoE message.
    Data(&'b [u8]),
    /// An answer to another question, or an emergency, which is kept.
    Other,
    /// A message that cannot be read.
    Unreadable(ReadError),
}

/// The state of a SubDevice's mailboxes between messages, by which either side knows which messages it has
/// already. The default is for a SubDevice found in PREOP or higher, with which another program may have
/// exchanged messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbering {
    /// Number of the last message to it; `None` when that is not known.
    sent: Option<Counter>,
    /// The last message from it, header and data; `None` when that is not known.
    came: Option<Vec<u8>>,
}

impl Numbering {
    /// The state of a SubDevice that was in INIT: it has exchanged no messages since.
    #[must_use]
    pub const fn fresh() -> Self {
        Self {
            sent: Some(Counter::NONE),
            came: Some(Vec::new()),
        }
    }

    /// The number of the next message. A SubDevice whose last number is not known might take any number for
    /// a repetition, and gets one message without.
    fn next(&mut self) -> Counter {
        let number = self.sent.map_or(Counter::NONE, Counter::next);
        self.sent = Some(number);
        number
    }

    fn keep(&mut self, message: &[u8]) {
        let came = self.came.get_or_insert_default();
        came.clear();
        came.extend_from_slice(whole(message));
    }

    /// Whether it is a repetition of the last message. Of a SubDevice that does not count, two messages may
    /// be equal.
    fn is_last(&self, message: &[u8]) -> bool {
        let counted = Header::read(message).is_ok_and(|(it, _)| it.counter != Counter::NONE);
        counted && self.came.as_deref() == Some(whole(message))
    }
}

/// Header and data; a mailbox's bytes behind them may be of any message before.
fn whole(message: &[u8]) -> &[u8] {
    match Header::read(message) {
        Ok((header, _)) => &message[..mailbox::HEADER + usize::from(header.length)],
        Err(_) => message,
    }
}

/// The mailboxes of one SubDevice. Every method waits.
pub struct Mail<'m> {
    target: Target,
    mailboxes: Mailboxes,
    counter: &'m mut Numbering,
    emergencies: &'m mut Vec<Emergency>,
}

/// Emergencies that are kept; the oldest goes when there are more.
const MAX_EMERGENCIES: usize = 64;

impl<'m> Mail<'m> {
    /// Configured mailboxes. `counter` and `emergencies` are the SubDevice's, kept between uses.
    ///
    /// # Errors
    /// [`MailError::None`] for a SubDevice without mailboxes, [`MailError::Size`] for one whose mailbox is
    /// not usable.
    pub fn of(
        target: Target,
        mailboxes: Mailboxes,
        counter: &'m mut Numbering,
        emergencies: &'m mut Vec<Emergency>,
    ) -> Result<Self, MailError> {
        let sizes = [mailboxes.receive.size, mailboxes.send.size];
        if sizes.contains(&0) {
            return Err(MailError::None(target));
        }
        if let Some(size) = sizes.into_iter().find(|it| !USABLE.contains(it)) {
            return Err(MailError::Size { target, size });
        }
        Ok(Self {
            target,
            mailboxes,
            counter,
            emergencies,
        })
    }

    /// Bytes of a message with its header.
    #[must_use]
    pub(crate) fn room(&self) -> usize {
        usize::from(self.mailboxes.receive.size)
    }

    /// Sends the data of a CoE message and passes that of each message that comes to `answer`, until it
    /// accepts one as the answer: it returns `None` for any other message.
    ///
    /// # Errors
    /// [`MailError`].
    pub(crate) fn request<R>(
        &mut self,
        registers: &mut Registers<'_>,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, MailboxError>,
        mut answer: impl FnMut(&[u8]) -> Option<R>,
    ) -> Result<R, MailError> {
        self.drain(registers)?;
        self.send(registers, fill)?;
        let end = registers.exchange().now() + MAX_ANSWER;
        let mut message = [0; LARGEST];
        let mut unreadable = None;
        while registers.exchange().now() < end {
            let Some(length) = self.receive(registers, &mut message)? else {
                registers.exchange().pause(PAUSE);
                continue;
            };
            match self.sort(&message[..length])? {
                MessageClass::Data(data) => {
                    if let Some(answered) = answer(data) {
                        return Ok(answered);
                    }
                }
                MessageClass::Other => {}
                MessageClass::Unreadable(cause) => {
                    let times = unreadable.map_or(0, |(times, _): (u32, ReadError)| times);
                    unreadable = Some((times.saturating_add(1), cause));
                }
            }
        }
        Err(self.unanswered(unreadable))
    }

    /// Reads the messages in the mailbox: emergencies are kept, late answers dropped.
    ///
    /// # Errors
    /// [`MailError`] when the segment does not answer.
    pub(crate) fn drain(&mut self, registers: &mut Registers<'_>) -> Result<(), MailError> {
        // Bounded, as a SubDevice may send without end.
        let mut message = [0; LARGEST];
        for _ in 0..16 {
            match self.receive(registers, &mut message) {
                // A message that cannot be read answers no question here.
                Ok(Some(length)) => drop(self.sort(&message[..length])),
                // No caller waits for the lost message.
                Ok(None) | Err(MailError::Lost { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn silent(&self) -> MailError {
        MailError::Silent {
            target: self.target,
            waited: MAX_ANSWER,
        }
    }

    /// The error where no answer came, or only messages that cannot be read.
    fn unanswered(&self, unreadable: Option<(u32, ReadError)>) -> MailError {
        match unreadable {
            None => self.silent(),
            Some((times, cause)) => MailError::Unreadable {
                target: self.target,
                waited: MAX_ANSWER,
                times,
                cause,
            },
        }
    }

    /// The error of a message that does not fit into a mailbox.
    pub(super) fn no_room(&self, cause: MailboxError) -> MailError {
        MailError::NoRoom {
            target: self.target,
            cause,
        }
    }

    fn lost(&self) -> MailError {
        MailError::Lost {
            target: self.target,
            waited: MAX_REPEAT,
        }
    }

    fn send(
        &mut self,
        registers: &mut Registers<'_>,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, MailboxError>,
    ) -> Result<(), MailError> {
        // The whole mailbox is written: its last byte tells the SubDevice that the message is there.
        let mut bytes = [0; LARGEST];
        let bytes = &mut bytes[..self.room()];
        mailbox::write(bytes, Protocol::Coe, Counter::NONE, fill)
            .map_err(|cause| self.no_room(cause))?;
        mailbox::set_counter(bytes, self.counter.next());
        let end = registers.exchange().now() + MAX_ANSWER;
        while registers.exchange().now() < end {
            if registers.count_writing(self.target, self.mailboxes.receive.start, bytes)? > 0 {
                return Ok(());
            }
            // Still full, with the message before or with this one, when the frame that reported so got
            // lost. The SubDevice knows it by its number then.
            registers.exchange().pause(PAUSE);
        }
        Err(self.silent())
    }

    /// Reads a message, if one is there; returns its length. Repeats the request for a message that gets
    /// lost on its way.
    fn receive(
        &mut self,
        registers: &mut Registers<'_>,
        to: &mut [u8],
    ) -> Result<Option<usize>, MailError> {
        if !self.is_full(registers)? {
            return Ok(None);
        }
        let length = usize::from(self.mailboxes.send.size);
        let to = &mut to[..length];
        let mut repeated = false;
        for _ in 0..MAX_LOSSES {
            let start = self.mailboxes.send.start;
            let got = registers.count_reading_once(self.target, start, to)?;
            if !matches!(got, Some(1..)) {
                repeated |= self.ask_again(registers)?;
            } else if !(repeated && self.counter.is_last(to)) {
                self.counter.keep(to);
                return Ok(Some(length));
            } else if !self.fills(registers)? {
                // The request got lost, not the answer: the message is the one that came before.
                return Ok(None);
            }
        }
        Err(self.lost())
    }

    /// After the loss of a frame that read the mailbox, whether or not it had read it: sees to it that the
    /// message is there. Returns whether the SubDevice put it there again.
    fn ask_again(&mut self, registers: &mut Registers<'_>) -> Result<bool, MailError> {
        // With a SubDevice of unknown state, the last message may be another program's answer.
        if self.counter.came.is_none() && self.is_full(registers)? {
            return Ok(false);
        }
        let register = ANSWERS + sync_manager::ACTIVATE;
        let [activate, _] = registers.get(self.target, register)?;
        let asked = activate ^ SyncManager::REPEAT;
        registers.write(self.target, register, &[asked])?;
        let end = registers.exchange().now() + MAX_REPEAT;
        let answers =
            |it: u8| (it & SyncManager::REPEATED != 0) == (asked & SyncManager::REPEAT != 0);
        loop {
            let [_, answer] = registers.get(self.target, register)?;
            if answers(answer) || registers.exchange().now() >= end {
                break;
            }
            registers.exchange().pause(PAUSE);
        }
        // A SubDevice that repeats nothing may still have it there.
        match self.is_full(registers)? {
            true => Ok(true),
            false => Err(self.lost()),
        }
    }

    /// Waits until a message is there; returns whether one is.
    fn fills(&self, registers: &mut Registers<'_>) -> Result<bool, MailError> {
        let end = registers.exchange().now() + MAX_REPEAT;
        loop {
            if self.is_full(registers)? {
                return Ok(true);
            }
            if registers.exchange().now() >= end {
                return Ok(false);
            }
            registers.exchange().pause(PAUSE);
        }
    }

    fn is_full(&self, registers: &mut Registers<'_>) -> Result<bool, MailError> {
        let [status] = registers.get(self.target, ANSWERS + sync_manager::STATUS)?;
        Ok(SyncManagerStatus(status).full())
    }

    /// Determines the kind of a message. A vendor's own service, a message that is cut short and other
    /// unreadable messages end no question: the answer may follow.
    fn sort<'b>(&mut self, message: &'b [u8]) -> Result<MessageClass<'b>, MailError> {
        let (header, data) = match Header::read(message) {
            Ok(read) => read,
            Err(cause) => return Ok(MessageClass::Unreadable(cause.into())),
        };
        match header.protocol() {
            Some(Protocol::Coe) => {}
            Some(Protocol::Error) => {
                let detail = ErrorDetail::read(data).unwrap_or(ErrorDetail(0));
                let target = self.target;
                return Err(MailError::NotUnderstood { target, detail });
            }
            _ => return Ok(MessageClass::Other),
        }
        let message = match Message::read(data) {
            Ok(message) => message,
            Err(cause) => return Ok(MessageClass::Unreadable(cause.into())),
        };
        if let Message::Emergency(emergency) = message {
            if self.emergencies.len() == MAX_EMERGENCIES {
                self.emergencies.remove(0);
            }
            self.emergencies.push(emergency);
            return Ok(MessageClass::Other);
        }
        Ok(MessageClass::Data(data))
    }
}

#[cfg(test)]
mod tests;
