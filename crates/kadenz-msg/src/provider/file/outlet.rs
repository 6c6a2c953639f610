use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime, WallTime};

use crate::channel::Channel;
use crate::log::{Entry, LogError, LogWriter, LoggedChannel};
use crate::provider::parameters::Address;
use crate::provider::stream::Publish;
use crate::provider::{ProviderError, PublishError};
use crate::sync::lock;

/// The log that all outlets of a bus write to.
pub(super) struct OutletLog {
    state: Mutex<OutletLogState>,
}

/// The writer of the log, and the state for its next entry.
struct OutletLogState {
    writer: Option<Box<dyn LogWriter>>,
    channels: HashMap<Channel, Arc<LoggedChannel>>,
    entry: Entry,
    number: u32,
    flush_at: MonotonicTime,
}

/// The default of lcm-logger's `--flush-interval`.
const FLUSH_EVERY: Duration = Duration::from_millis(100);

/// The most channels that are remembered.
const MAX_CHANNELS: usize = 4096;

show_fields!(OutletLog: );

impl OutletLog {
    pub(super) fn over(
        writer: Result<Box<dyn LogWriter>, LogError>,
        address: &Address,
    ) -> Result<Arc<Self>, ProviderError> {
        let writer = writer.map_err(|error| {
            address.wrong(
                error.to_string(),
                "name a file in a folder that you may write to",
            )
        })?;
        let state = OutletLogState {
            writer: Some(writer),
            channels: HashMap::new(),
            entry: Entry::default(),
            number: 0,
            flush_at: clock::now() + FLUSH_EVERY,
        };
        let state = Mutex::new(state);
        Ok(Arc::new(Self { state }))
    }
}

impl Drop for OutletLog {
    fn drop(&mut self) {
        let state = lock(&self.state).writer.take();
        if let Some(writer) = state {
            let _ = writer.finish();
        }
    }
}

impl OutletLogState {
    fn write(&mut self, channel: &Channel) -> Result<(), LogError> {
        if self.channels.len() >= MAX_CHANNELS {
            self.channels.clear();
        }
        let known = self.channels.entry(*channel);
        let known = known.or_insert_with(|| Arc::new(LoggedChannel::lcm(channel.as_str())));
        self.entry.channel = Arc::clone(known);
        self.entry.log_time = WallTime::now();
        self.entry.publish_time = self.entry.log_time;
        self.entry.sequence = self.number;
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        writer.write(&self.entry)?;
        self.number = self.number.wrapping_add(1);
        let now = clock::now();
        if now >= self.flush_at {
            self.flush_at = now + FLUSH_EVERY;
            writer.flush()?;
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct FileOutlet(pub(super) Arc<OutletLog>);

impl Publish for FileOutlet {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        let mut state = lock(&self.0.state);
        state.entry.payload.clear();
        state.entry.payload.extend_from_slice(payload);
        state.write(channel).map_err(|error| {
            let (channel, reason) = (*channel, "the disk is full");
            match error {
                LogError::NoRoom(_) => PublishError::Full { channel, reason },
                LogError::Io(error) | LogError::File { source: error, .. } => {
                    let reason = error.kind();
                    PublishError::Refused { channel, reason }
                }
                _ => PublishError::TooLong {
                    channel,
                    length: payload.len(),
                    longest: i32::MAX as usize,
                },
            }
        })
    }
}
