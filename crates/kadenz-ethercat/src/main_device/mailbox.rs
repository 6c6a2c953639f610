//! A SubDevice's mailboxes from the MainDevice's side: a message in, and the answer out.

use std::time::Duration;

use super::exchange::{ExchangeError, Registers, Whose};
use crate::wire::coe::Emergency;
use crate::wire::coe::{CoeError, Message};
use crate::wire::mailbox::{self, Counter, Header, MailboxError, Protocol};
use crate::wire::register::{SYNC_MANAGER, SYNC_MANAGER_SIZE};
use crate::wire::sii::Mailboxes;
use crate::wire::sync_manager::{self, Status};

/// How long a SubDevice may take to empty its mailbox (ETG.1020: 100 ms) and to answer (ETG.1020: 1 s,
/// for a change of state longer).
const LONGEST_ANSWER: Duration = Duration::from_secs(2);
/// Bytes of the largest mailbox that one frame carries.
const LARGEST: usize = 1486;

/// Why a message has no answer.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The segment did not answer.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// The message does not fit, or the answer is cut short.
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
    /// The SubDevice has no mailbox.
    #[error("the SubDevice has no mailbox; there is nothing to ask it")]
    None,
    /// It answered that it did not understand.
    #[error("the SubDevice did not understand the message (mailbox error 0x{0:04X})")]
    NotUnderstood(u16),
    /// Nothing came.
    #[error("the SubDevice did not answer within {0:?}; is it in PREOP or higher?")]
    Silent(Duration),
    /// An answer that makes no sense.
    #[error(transparent)]
    Coe(#[from] CoeError),
}

/// The mailboxes of one SubDevice. Every method waits.
pub struct Mail<'m> {
    whose: Whose,
    mailboxes: Mailboxes,
    counter: &'m mut Counter,
    emergencies: &'m mut Vec<Emergency>,
}

/// Emergencies that are kept; the oldest goes when there are more.
const MOST_EMERGENCIES: usize = 64;

impl<'m> Mail<'m> {
    /// Mailboxes that are configured. `counter` and `emergencies` are the SubDevice's, kept between uses.
    ///
    /// # Errors
    /// [`MailError::None`] for a SubDevice without.
    pub fn of(
        whose: Whose,
        mailboxes: Mailboxes,
        counter: &'m mut Counter,
        emergencies: &'m mut Vec<Emergency>,
    ) -> Result<Self, MailError> {
        let usable = |size: u16| (mailbox::HEADER + 10..=LARGEST).contains(&usize::from(size));
        if !usable(mailboxes.receive.size) || !usable(mailboxes.send.size) {
            return Err(MailError::None);
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
        let end = registers.exchange().now() + LONGEST_ANSWER;
        while registers.exchange().now() < end {
            let mut message = [0; LARGEST];
            let Some(length) = self.receive(registers, &mut message)? else {
                registers.exchange().pause(Duration::from_micros(100));
                continue;
            };
            if let Some(data) = self.sort(&message[..length])?
                && let Some(answered) = answer(data)
            {
                return Ok(answered);
            }
        }
        Err(MailError::Silent(LONGEST_ANSWER))
    }

    /// Takes what lies in the mailbox: emergencies are kept, answers to nobody dropped.
    ///
    /// # Errors
    /// [`MailError`] when the segment does not answer.
    pub fn drain(&mut self, registers: &mut Registers<'_>) -> Result<(), MailError> {
        // A SubDevice that talks all the time is not listened to for ever.
        for _ in 0..16 {
            let mut message = [0; LARGEST];
            let Some(length) = self.receive(registers, &mut message)? else {
                break;
            };
            // What makes no sense here answers nobody's question.
            let _ = self.sort(&message[..length]);
        }
        Ok(())
    }

    fn send(
        &mut self,
        registers: &mut Registers<'_>,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, MailboxError>,
    ) -> Result<(), MailError> {
        // The whole mailbox is written: its last byte tells the SubDevice that the message is there.
        let mut bytes = [0; LARGEST];
        let bytes = &mut bytes[..self.room()];
        *self.counter = self.counter.next();
        mailbox::write(bytes, Protocol::Coe, *self.counter, fill)?;
        let end = registers.exchange().now() + LONGEST_ANSWER;
        while registers.exchange().now() < end {
            if registers.count_writing(self.whose, self.mailboxes.receive.start, bytes)? > 0 {
                return Ok(());
            }
            // Still full with the message before.
            registers.exchange().pause(Duration::from_micros(100));
        }
        Err(MailError::Silent(LONGEST_ANSWER))
    }

    /// A message, if one lies there; its bytes.
    fn receive(
        &mut self,
        registers: &mut Registers<'_>,
        to: &mut [u8],
    ) -> Result<Option<usize>, MailError> {
        let status = SYNC_MANAGER + SYNC_MANAGER_SIZE + sync_manager::STATUS;
        let [status] = registers.get(self.whose, status)?;
        if !Status(status).full() {
            return Ok(None);
        }
        let length = usize::from(self.mailboxes.send.size);
        let got =
            registers.count_reading(self.whose, self.mailboxes.send.start, &mut to[..length])?;
        Ok((got > 0).then_some(length))
    }

    /// The data of a CoE message that may be an answer.
    fn sort<'b>(&mut self, message: &'b [u8]) -> Result<Option<&'b [u8]>, MailError> {
        let (header, data) = Header::read(message)?;
        match header.protocol() {
            Some(Protocol::Coe) => {}
            Some(Protocol::Error) => {
                let detail = data
                    .get(2..4)
                    .map_or(0, |it| u16::from_le_bytes([it[0], it[1]]));
                return Err(MailError::NotUnderstood(detail));
            }
            _ => return Ok(None),
        }
        if let Message::Emergency(emergency) = Message::read(data)? {
            if self.emergencies.len() == MOST_EMERGENCIES {
                self.emergencies.remove(0);
            }
            self.emergencies.push(emergency);
            return Ok(None);
        }
        Ok(Some(data))
    }
}
