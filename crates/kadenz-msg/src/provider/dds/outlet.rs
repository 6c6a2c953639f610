//! Publishing: a DataWriter.

use std::io::ErrorKind;
use std::sync::Arc;

use rustdds::bytes::Bytes;
use rustdds::dds::WriteError;
use rustdds::no_key::DataWriter;

use super::{Cdr, DdsBus, Written, wire};
use crate::channel::Channel;
use crate::provider::stream::refuse_too_long;
use crate::provider::{Outlet, ProviderError, PublishError};

pub(super) struct DdsOutlet {
    bus: Arc<DdsBus>,
    writer: DataWriter<Written, Cdr>,
}

show_fields!(DdsOutlet: bus);

impl DdsOutlet {
    pub(super) fn new(bus: &Arc<DdsBus>) -> Result<Self, ProviderError> {
        let joined = bus.join(&bus.publishing)?;
        let created = joined
            .participant
            .create_publisher(&joined.policies)
            .and_then(|it| it.create_datawriter_no_key::<Written, Cdr>(&joined.topic, None));
        Ok(Self {
            bus: Arc::clone(bus),
            writer: created.map_err(|error| bus.failed("no outlet", &error))?,
        })
    }
}

impl Outlet for DdsOutlet {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        let mut fill = |bytes: &mut [u8]| {
            bytes.copy_from_slice(payload);
            true
        };
        let sent = self.publish_in_place(channel, payload.len(), &mut fill);
        sent.map(|_| ())
    }

    fn publish_in_place(
        &mut self,
        channel: &Channel,
        length: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, PublishError> {
        refuse_too_long(channel, length, self.bus.settings.largest)?;
        let (mut bytes, place) = wire::begin(channel, length as u32);
        if !fill(&mut bytes[place]) {
            return Ok(false);
        }
        let written = self.writer.write(Written(Bytes::from(bytes)), None);
        written.map(|()| true).map_err(|error| match error {
            WriteError::WouldBlock { .. } => PublishError::Full {
                channel: *channel,
                reason: "subscribers have not acknowledged what was sent before",
            },
            _ => PublishError::Refused {
                channel: *channel,
                reason: ErrorKind::BrokenPipe,
            },
        })
    }
}

impl Drop for DdsOutlet {
    /// Unacknowledged messages would be lost with the writer.
    fn drop(&mut self) {
        let _ = self
            .writer
            .wait_for_acknowledgments(self.bus.settings.send_wait);
    }
}
