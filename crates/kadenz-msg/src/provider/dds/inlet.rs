//! Subscribing: a DataReader, into which rustdds's thread puts the samples.

use std::io::ErrorKind;
use std::sync::Arc;
use std::task;
use std::task::Waker;

use rustdds::GUID;
use rustdds::dds::ReadError;
use rustdds::no_key::{DeserializedCacheChange, SimpleDataReader};

use super::{Cdr, DdsBus, ReceivedSample, TopicFilter};
use crate::arrival::{Arrival, MessageInfo, Payload, Scope, SenderId, Sequence, SourceInfo};
use crate::channel::Pattern;
use crate::loss::LossMeter;
use crate::provider::notifier::Notifier;
use crate::provider::{
    Inlet, InletCounters, More, ProviderError, ReceiveError, Received, Take, Wait, Wake,
};

/// The maximum number of samples of one call before it checks whether it must end.
const MAX_BATCH: usize = 64;
/// The number of senders whose numbers are followed.
const SENDERS: usize = 1024;

pub(super) struct DdsInlet {
    bus: Arc<DdsBus>,
    reader: SimpleDataReader<ReceivedSample, Cdr>,
    notifier: Arc<Notifier>,
    wanted: Vec<Pattern>,
    meter: LossMeter,
    malformed: u64,
}

/// The outcome of a look at the reader.
struct Batch {
    handed: usize,
    /// Whether there may be more.
    is_full: bool,
}

show_fields!(DdsInlet: wanted);

impl DdsInlet {
    pub(super) fn new(bus: &Arc<DdsBus>) -> Result<Self, ProviderError> {
        let joined = bus.join(&bus.subscribing)?;
        let created = joined
            .participant
            .create_subscriber(&joined.policies)
            .and_then(|it| {
                it.create_simple_datareader_no_key::<ReceivedSample, Cdr>(&joined.topic, None)
            });
        Ok(Self {
            bus: Arc::clone(bus),
            reader: created.map_err(|error| bus.failed("no inlet", &error))?,
            notifier: Arc::default(),
            wanted: Vec::new(),
            meter: LossMeter::new(SENDERS),
            malformed: 0,
        })
    }

    /// Returns the next sample that is a message, or a malformed one.
    fn next(&mut self) -> Result<Option<DeserializedCacheChange<ReceivedSample>>, ReceiveError> {
        let filter = TopicFilter {
            wanted: &self.wanted,
            largest: self.bus.settings.largest,
        };
        loop {
            match self.reader.try_take_one_with(filter) {
                Ok(sample) => return Ok(sample),
                // Bytes of another representation, which are skipped.
                Err(ReadError::Deserialization { .. } | ReadError::UnknownKey { .. }) => {
                    self.malformed += 1;
                }
                Err(ReadError::Poisoned { .. } | ReadError::Internal { .. }) => {
                    return Err(ReceiveError::Disconnected {
                        peer: self.bus.address.as_str().to_owned(),
                        reason: ErrorKind::BrokenPipe,
                    });
                }
            }
        }
    }

    /// Hands over the present and wanted messages.
    fn take_batch(&mut self, take: Take<'_>) -> Result<Batch, ReceiveError> {
        let mut handed = 0;
        for _ in 0..MAX_BATCH {
            let Some(sample) = self.next()? else {
                let is_full = false;
                return Ok(Batch { handed, is_full });
            };
            if let Some(more) = self.hand(sample, take) {
                handed += 1;
                if more == More::Enough {
                    break;
                }
            }
        }
        let is_full = true;
        Ok(Batch { handed, is_full })
    }

    /// Hands one over; `None` if its channel is not wanted.
    fn hand(
        &mut self,
        sample: DeserializedCacheChange<ReceivedSample>,
        take: Take<'_>,
    ) -> Option<More> {
        let sender = sender_of(sample.writer_guid);
        let sequence = Sequence {
            // The receivers of these numbers account for their wrap.
            number: i64::from(sample.sequence_number) as u32,
            scope: Scope::Sender,
        };
        let (channel, payload) = match sample.sample {
            ReceivedSample::Message { channel, payload } => (channel, Some(payload)),
            ReceivedSample::Unwanted { channel } => (channel, None),
            ReceivedSample::Malformed => {
                self.malformed += 1;
                return None;
            }
        };
        self.meter.note(sender, sequence, channel.as_str());
        let mut payload = payload?;
        Some(take(Arrival {
            channel: channel.as_str(),
            payload: Payload::Owned(&mut payload),
            info: MessageInfo::now(SourceInfo::new(sender, Some(sequence))),
        }))
    }
}

fn sender_of(writer: GUID) -> SenderId {
    SenderId(u128::from_be_bytes(writer.to_bytes()))
}

impl Inlet for DdsInlet {
    fn want(&mut self, patterns: &[Pattern]) -> Result<(), ProviderError> {
        if self.wanted.is_empty() && !patterns.is_empty() {
            // Messages that arrived while no channel was wanted are discarded; their numbers count.
            let most = self.bus.settings.history / MAX_BATCH + 2;
            for _ in 0..most {
                let taken = self.take_batch(&mut |_| More::GoOn);
                if taken.map_or(true, |batch| !batch.is_full) {
                    break;
                }
            }
        }
        self.wanted = patterns.to_vec();
        Ok(())
    }

    fn receive(&mut self, wait: Wait, take: Take<'_>) -> Result<Received, ReceiveError> {
        loop {
            let first = self.take_batch(take)?;
            if first.handed > 0 {
                return Ok(Received::Messages(first.handed));
            }
            if !first.is_full {
                // Samples from here on notify, and those just before are found by one more look.
                let waker = Waker::from(Arc::clone(&self.notifier));
                self.reader.set_waker(Some(waker));
            }
            let second = self.take_batch(take)?;
            if second.handed > 0 {
                return Ok(Received::Messages(second.handed));
            }
            if second.is_full {
                self.notifier.notify();
            }
            if let Some(ended) = self.notifier.wait(wait) {
                return Ok(ended);
            }
        }
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::clone(&self.notifier) as Arc<dyn Wake>
    }

    fn counters(&self) -> InletCounters {
        let numbers = self.meter.total();
        InletCounters {
            // With reliable delivery, only an inlet's own slowness loses messages.
            overrun: if self.bus.settings.reliable {
                numbers.lost
            } else {
                0
            },
            malformed: self.malformed,
            lost: numbers.lost,
            duplicated: numbers.duplicated,
            reordered: numbers.reordered,
            restarted: numbers.restarted,
            ..InletCounters::default()
        }
    }

    fn losses(&self) -> Option<&LossMeter> {
        Some(&self.meter)
    }
}

/// RustDDS notifies it.
impl task::Wake for Notifier {
    fn wake(self: Arc<Self>) {
        self.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notify();
    }
}
