//! A SubDevice's mailboxes from the MainDevice's side: a message in, and the answer out.
//!
//! Either way may lose a frame, and a mailbox is emptied by being read. A message that may not have come is
//! sent again with its number, by which the SubDevice knows its repetition and does nothing twice. An answer
//! that did not come is asked for by the repeat request of SyncManager 1 (ETG.1000.4, chapter 5.6): its bit
//! is toggled, the SubDevice puts its last message there again and says so by a bit of its own.

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
/// Between two looks.
const PAUSE: Duration = Duration::from_micros(100);
/// Bytes of the smallest mailbox that carries CoE, and of the largest that a frame carries.
const USABLE: std::ops::RangeInclusive<u16> = 16..=1486;
const LARGEST: usize = *USABLE.end() as usize;
/// Registers of the SyncManager of answers.
const ANSWERS: u16 = SYNC_MANAGER + SYNC_MANAGER_SIZE;

/// Why a message has no answer.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The segment did not answer.
    #[error("{0}")]
    Exchange(#[from] ExchangeError),
    /// The message does not fit.
    #[error("{whose} cannot be sent the message: {cause}; look whether its SII is damaged")]
    NoRoom {
        /// Who was to be asked.
        whose: Target,
        /// What is too small.
        cause: MailboxError,
    },
    /// The SubDevice has no mailbox.
    #[error("{0} has no mailbox, by its SII; it has no objects, and nothing can be asked of it")]
    None(Target),
    /// The SubDevice's mailbox is none that a message fits into, or that fits into a frame.
    #[error(
        "{whose} has a mailbox of {size} bytes by its SII, and from {least} to {most} are usable; look whether its SII is damaged",
        least = USABLE.start(),
        most = USABLE.end()
    )]
    Size {
        /// Who was asked.
        whose: Target,
        /// Bytes of the smaller or larger mailbox, whichever is not usable.
        size: u16,
    },
    /// It answered that it did not understand.
    #[error(
        "{whose} did not understand the message (mailbox error {detail}); look what its mailbox speaks, and whether somebody else uses it"
    )]
    NotUnderstood {
        /// Who was asked.
        whose: Target,
        /// The detail that the device gave.
        detail: ErrorDetail,
    },
    /// Nothing came.
    #[error("{whose} did not answer within {waited:?}; is it in PREOP or higher?")]
    Silent {
        /// Who was asked.
        whose: Target,
        /// How long was waited.
        waited: Duration,
    },
    /// Messages came that nobody can read, and no answer.
    #[error(
        "{whose} did not answer within {waited:?}; what it sent cannot be read ({times} of that, the last: {cause}): look for newer firmware of it, and whether somebody else uses its mailbox"
    )]
    Unreadable {
        /// Who was asked.
        whose: Target,
        /// How long was waited.
        waited: Duration,
        /// How many messages that were.
        times: u32,
        /// What is wrong with the last.
        cause: ReadError,
    },
    /// The answer was in a frame that got lost, and did not come again.
    #[error(
        "the answer of {whose} was in a frame that got lost, and it did not send it again within {waited:?}; look at the cables, and ask again"
    )]
    Lost {
        /// Who was asked.
        whose: Target,
        /// How long was waited.
        waited: Duration,
    },
}

/// Why a message of a SubDevice cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is cut short.
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
    /// It is no CoE message.
    #[error(transparent)]
    Coe(#[from] CoeError),
}

/// What a message is to whoever waits for an answer.
enum Sorted<'b> {
    /// Perhaps the answer: the data of a CoE message.
    Data(&'b [u8]),
    /// Somebody else's, or an emergency, which is kept.
    Other,
    /// Nobody's: it cannot be read.
    Unreadable(ReadError),
}

/// What is kept of a SubDevice's mailboxes from message to message: by what either side knows what it has
/// already. The default is for a SubDevice that was met in PREOP or higher, with whom somebody else may have
/// spoken before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbering {
    /// Number of the last message to it; `None` when that is not known.
    sent: Option<Counter>,
    /// The last message from it, header and data; `None` when that is not known.
    came: Option<Vec<u8>>,
}

impl Numbering {
    /// Of a SubDevice that was in INIT: nobody has spoken with it since.
    #[must_use]
    pub const fn fresh() -> Self {
        Self {
            sent: Some(Counter::NONE),
            came: Some(Vec::new()),
        }
    }

    /// The number of the next message. A SubDevice whose last number is not known might take any for that
    /// of a repetition, and is sent one message without.
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

    /// Whether it is the message that came last, once more. Of a SubDevice that does not count, two
    /// messages may be equal.
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
    whose: Target,
    mailboxes: Mailboxes,
    counter: &'m mut Numbering,
    emergencies: &'m mut Vec<Emergency>,
}

/// Emergencies that are kept; the oldest goes when there are more.
const MAX_EMERGENCIES: usize = 64;

impl<'m> Mail<'m> {
    /// Mailboxes that are configured. `counter` and `emergencies` are the SubDevice's, kept between uses.
    ///
    /// # Errors
    /// [`MailError::None`] for a SubDevice without, [`MailError::Size`] for one whose mailbox is none.
    pub fn of(
        whose: Target,
        mailboxes: Mailboxes,
        counter: &'m mut Numbering,
        emergencies: &'m mut Vec<Emergency>,
    ) -> Result<Self, MailError> {
        let sizes = [mailboxes.receive.size, mailboxes.send.size];
        if sizes.contains(&0) {
            return Err(MailError::None(whose));
        }
        if let Some(size) = sizes.into_iter().find(|it| !USABLE.contains(it)) {
            return Err(MailError::Size { whose, size });
        }
        Ok(Self {
            whose,
            mailboxes,
            counter,
            emergencies,
        })
    }

    /// Bytes of a message with its header.
    #[must_use]
    pub fn room(&self) -> usize {
        usize::from(self.mailboxes.receive.size)
    }

    /// Sends the data of a CoE message and gives that of its answer to `answer`, until that says that it
    /// is the one: it returns `None` for a message that is not.
    ///
    /// # Errors
    /// [`MailError`].
    pub fn ask<R>(
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
                Sorted::Data(data) => {
                    if let Some(answered) = answer(data) {
                        return Ok(answered);
                    }
                }
                Sorted::Other => {}
                Sorted::Unreadable(cause) => {
                    let times = unreadable.map_or(0, |(times, _): (u32, ReadError)| times);
                    unreadable = Some((times.saturating_add(1), cause));
                }
            }
        }
        Err(self.unanswered(unreadable))
    }

    /// Takes what lies in the mailbox: emergencies are kept, answers to nobody dropped.
    ///
    /// # Errors
    /// [`MailError`] when the segment does not answer.
    pub fn drain(&mut self, registers: &mut Registers<'_>) -> Result<(), MailError> {
        // A SubDevice that talks all the time is not listened to for ever.
        let mut message = [0; LARGEST];
        for _ in 0..16 {
            match self.receive(registers, &mut message) {
                // What makes no sense here answers nobody's question.
                Ok(Some(length)) => drop(self.sort(&message[..length])),
                // Nobody waits for what was lost.
                Ok(None) | Err(MailError::Lost { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn silent(&self) -> MailError {
        MailError::Silent {
            whose: self.whose,
            waited: MAX_ANSWER,
        }
    }

    /// Nothing came, or nothing that can be read, so often.
    fn unanswered(&self, unreadable: Option<(u32, ReadError)>) -> MailError {
        match unreadable {
            None => self.silent(),
            Some((times, cause)) => MailError::Unreadable {
                whose: self.whose,
                waited: MAX_ANSWER,
                times,
                cause,
            },
        }
    }

    /// The error of a message that does not fit into a mailbox.
    pub(super) fn no_room(&self, cause: MailboxError) -> MailError {
        MailError::NoRoom {
            whose: self.whose,
            cause,
        }
    }

    fn lost(&self) -> MailError {
        MailError::Lost {
            whose: self.whose,
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
            if registers.count_writing(self.whose, self.mailboxes.receive.start, bytes)? > 0 {
                return Ok(());
            }
            // Still full, with the message before or with this one, when the frame that said so got lost.
            // The SubDevice knows it by its number then.
            registers.exchange().pause(PAUSE);
        }
        Err(self.silent())
    }

    /// A message, if one lies there; its bytes. What gets lost on its way is asked for again.
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
            let got = registers.count_reading_once(self.whose, start, to)?;
            if !matches!(got, Some(1..)) {
                repeated |= self.ask_again(registers)?;
            } else if !(repeated && self.counter.is_last(to)) {
                self.counter.keep(to);
                return Ok(Some(length));
            } else if !self.fills(registers)? {
                // It was the question that got lost, not the answer: what came was there before.
                return Ok(None);
            }
        }
        Err(self.lost())
    }

    /// After a frame that read the mailbox got lost, with or without having read it: sees to it that the
    /// message lies there. Whether it was the SubDevice that put it there again.
    fn ask_again(&mut self, registers: &mut Registers<'_>) -> Result<bool, MailError> {
        // With somebody unknown, what was read last may be another's answer.
        if self.counter.came.is_none() && self.is_full(registers)? {
            return Ok(false);
        }
        let register = ANSWERS + sync_manager::ACTIVATE;
        let [activate, _] = registers.get(self.whose, register)?;
        let asked = activate ^ SyncManager::REPEAT;
        registers.write(self.whose, register, &[asked])?;
        let end = registers.exchange().now() + MAX_REPEAT;
        let answers =
            |it: u8| (it & SyncManager::REPEATED != 0) == (asked & SyncManager::REPEAT != 0);
        loop {
            let [_, answer] = registers.get(self.whose, register)?;
            if answers(answer) || registers.exchange().now() >= end {
                break;
            }
            registers.exchange().pause(PAUSE);
        }
        // A SubDevice that repeats nothing may have it there still.
        match self.is_full(registers)? {
            true => Ok(true),
            false => Err(self.lost()),
        }
    }

    /// Waits until a message lies there; whether one does.
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
        let [status] = registers.get(self.whose, ANSWERS + sync_manager::STATUS)?;
        Ok(SyncManagerStatus(status).full())
    }

    /// What a message is. A vendor's own service, a message that is cut short and whatever else nobody can
    /// read end no question: the answer may follow.
    fn sort<'b>(&mut self, message: &'b [u8]) -> Result<Sorted<'b>, MailError> {
        let (header, data) = match Header::read(message) {
            Ok(read) => read,
            Err(cause) => return Ok(Sorted::Unreadable(cause.into())),
        };
        match header.protocol() {
            Some(Protocol::Coe) => {}
            Some(Protocol::Error) => {
                let detail = ErrorDetail::read(data).unwrap_or(ErrorDetail(0));
                let whose = self.whose;
                return Err(MailError::NotUnderstood { whose, detail });
            }
            _ => return Ok(Sorted::Other),
        }
        let message = match Message::read(data) {
            Ok(message) => message,
            Err(cause) => return Ok(Sorted::Unreadable(cause.into())),
        };
        if let Message::Emergency(emergency) = message {
            if self.emergencies.len() == MAX_EMERGENCIES {
                self.emergencies.remove(0);
            }
            self.emergencies.push(emergency);
            return Ok(Sorted::Other);
        }
        Ok(Sorted::Data(data))
    }
}

#[cfg(test)]
mod tests;
