//! Publishing into shared memory.

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;

use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::{LoanError, SendError};
use iceoryx2::prelude::{AllocationStrategy, EventId, PortFactory as _};
use iceoryx2::sample_mut::SampleMut;

use super::{FileService, MESSAGE, ShmBus, UserHeader, header_of};
use crate::channel::Channel;
use crate::provider::stream::refuse_too_long;
use crate::provider::{Outlet, ProviderError, PublishError};

/// How long the messages are that need no larger memory than an outlet begins with, in bytes.
const FIRST_LENGTH: usize = 4096;

type Loan = SampleMut<FileService, [u8], UserHeader>;

/// Memory that was lent before there was a message for it, for one as long as the last: lending takes as long
/// as sending, and no caller waits for it then.
struct SpareLoan {
    length: usize,
    sample: Loan,
}

pub(super) struct ShmOutlet {
    bus: Arc<ShmBus>,
    ahead: Option<SpareLoan>,
    publisher: Publisher<FileService, [u8], UserHeader>,
    notifier: Notifier<FileService>,
    next: u32,
}

show_fields!(ShmOutlet: bus, next);

impl ShmOutlet {
    pub(super) fn create(bus: &Arc<ShmBus>) -> Result<Self, ProviderError> {
        let failed = |error: &dyn fmt::Debug| {
            let remedy = "close another outlet, or open the bus with more by ?outlets=";
            bus.address.wrong(format!("no outlet: {error:?}"), remedy)
        };
        let publisher = bus
            .messages
            .publisher_builder()
            .initial_max_slice_len(FIRST_LENGTH.min(bus.settings.largest))
            .allocation_strategy(AllocationStrategy::PowerOfTwo)
            .max_loaned_samples(1)
            .create()
            .map_err(|error| failed(&error))?;
        let notifier = bus
            .events
            .notifier_builder()
            .default_event_id(EventId::new(MESSAGE))
            .create()
            .map_err(|error| failed(&error))?;
        Ok(Self {
            bus: Arc::clone(bus),
            ahead: None,
            publisher,
            notifier,
            next: 0,
        })
    }

    /// Returns the memory lent ahead, if it has that length; else releases it, as no more than one is lent.
    fn take_ahead(&mut self, length: usize) -> Option<Loan> {
        let ahead = self.ahead.take()?;
        (ahead.length == length).then_some(ahead.sample)
    }

    /// If lending fails now, the next message tries again, and reports the error.
    fn loan_ahead(&mut self, length: usize) {
        if length <= FIRST_LENGTH {
            let sample = self.publisher.loan_slice(length).ok();
            self.ahead = sample.map(|sample| SpareLoan { length, sample });
        }
    }

    fn send(
        &mut self,
        channel: &Channel,
        length: usize,
        mut sample: Loan,
    ) -> Result<(), PublishError> {
        *sample.user_header_mut() = header_of(channel, self.next);
        self.next = self.next.wrapping_add(1);
        sample.send().map_err(|error| not_sent(channel, &error))?;
        // Inlets that poll have no listener; notifying none would cost a look into shared memory.
        if self.bus.events.dynamic_config().number_of_listeners() > 0 {
            // A listener that cannot be notified has so many events that it is awake, or it is gone.
            let _ = self.notifier.notify();
        }
        self.loan_ahead(length);
        Ok(())
    }
}

impl Outlet for ShmOutlet {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        refuse_too_long(channel, payload.len(), self.bus.settings.largest)?;
        let length = payload.len();
        let sample = if let Some(mut sample) = self.take_ahead(length) {
            sample.payload_mut().copy_from_slice(payload);
            sample
        } else {
            let sample = self.publisher.loan_slice_uninit(length);
            let sample = sample.map_err(|error| not_lent(channel, &error))?;
            sample.write_from_slice(payload)
        };
        self.send(channel, length, sample)
    }

    fn publish_in_place(
        &mut self,
        channel: &Channel,
        length: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, PublishError> {
        refuse_too_long(channel, length, self.bus.settings.largest)?;
        let sample = match self.take_ahead(length) {
            Some(sample) => Ok(sample),
            None => self.publisher.loan_slice(length),
        };
        let mut sample = sample.map_err(|error| not_lent(channel, &error))?;
        if !fill(sample.payload_mut()) {
            return Ok(false);
        }
        self.send(channel, length, sample)?;
        Ok(true)
    }
}

fn not_lent(channel: &Channel, error: &LoanError) -> PublishError {
    match error {
        LoanError::OutOfMemory | LoanError::ExceedsMaxLoans => PublishError::Full {
            channel: *channel,
            reason: "the outlet's shared memory",
        },
        LoanError::ExceedsMaxLoanSize | LoanError::InternalFailure => PublishError::Refused {
            channel: *channel,
            reason: ErrorKind::OutOfMemory,
        },
    }
}

fn not_sent(channel: &Channel, error: &SendError) -> PublishError {
    match error {
        SendError::LoanError(error) => not_lent(channel, error),
        SendError::ConnectionBrokenSinceSenderNoLongerExists
        | SendError::ConnectionCorrupted
        | SendError::ConnectionError(_)
        | SendError::UnableToDeliver
        | SendError::InternalError => PublishError::Refused {
            channel: *channel,
            reason: ErrorKind::ConnectionAborted,
        },
    }
}
