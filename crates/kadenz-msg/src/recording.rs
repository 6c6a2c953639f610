//! Recording a bus: messages of its provider go into a log until an end.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_msg::log::record::RecordOptions;
//! use kadenz_msg::provider;
//! use kadenz_msg::recording::{BusRecording, BusRecordingOptions};
//! use kadenz_msg::service::types_on_wire::KnownTypes;
//!
//! let folder = tempfile::tempdir()?;
//! let robot = provider::open("memq://")?;
//! let options = BusRecordingOptions {
//!     path: folder.path().join("drive.mcap"),
//!     record: RecordOptions::default(),
//!     duration: Some(Duration::from_millis(100)),
//!     ..BusRecordingOptions::default()
//! };
//! let describe = KnownTypes::default().into_describe(Duration::ZERO);
//! let recording = BusRecording::start(&*robot, options, describe)?;
//! robot.outlet()?.publish(&"ARM".parse()?, b"12345678")?;
//! let recorded = recording.run(&mut |notice| eprintln!("{notice:?}"));
//! assert_eq!((recorded.written(), recorded.dropped()), (1, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_rt::clock;

use crate::channel::{ChannelFilter, PatternError};
use crate::log::LogError;
use crate::log::record::{
    Describe, RecordOptions, Recorded, Recorder, RecorderQueue, SetBack, Watch, make_file,
};
use crate::provider::{Inlet, More, Provider, ProviderError, Received, Wait};

/// Interval at which receiving polls for the end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The options of a recording of a bus.
#[derive(Debug, Clone, Default)]
pub struct BusRecordingOptions {
    /// The first file.
    pub path: PathBuf,
    /// The options of the log.
    pub record: RecordOptions,
    /// The channels to record.
    pub channels: ChannelFilter,
    /// How long to record; without it until a stop, or the end of a log that is the bus.
    pub duration: Option<Duration>,
    /// Setting it ends the recording.
    pub stop: Arc<AtomicBool>,
}

/// The reason for which no recording began.
#[derive(Debug, thiserror::Error)]
pub enum BusRecordingError {
    /// The pattern of all channels is invalid.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The bus cannot be listened to.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The log cannot be created.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// An event of a recording; each is reported once, when it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordingNotice {
    /// Nothing can be received or written at present; the recording goes on.
    Trouble(String),
    /// There are more channels than are counted one by one.
    FurtherChannels,
    /// The wall clock was set back: how often and by how much until now.
    ClockSetBack(SetBack),
}

/// A recording of a bus.
pub struct BusRecording {
    inlet: Box<dyn Inlet>,
    recorder: Recorder,
    options: BusRecordingOptions,
    events: ReportedEvents,
}

impl BusRecording {
    /// Begins to receive, and creates the first file. Where the bus refuses, no file is created, renamed or deleted.
    ///
    /// # Errors
    /// [`BusRecordingError`] if the bus cannot be listened to or the log cannot be created.
    pub fn start(
        provider: &dyn Provider,
        options: BusRecordingOptions,
        describe: Describe,
    ) -> Result<Self, BusRecordingError> {
        let channels = options.channels.to_subscribe()?;
        let mut inlet = provider.inlet()?;
        // Its memory first, which takes long: what arrives meanwhile would be in the log beyond the duration.
        let queue = RecorderQueue::new(&options.record);
        inlet.want(&channels)?;
        let make = Box::new(make_file);
        let recorder = queue.start(make, &options.path, &options.record, describe)?;
        Ok(Self {
            inlet,
            events: ReportedEvents::of(&recorder),
            recorder,
            options,
        })
    }

    /// Records until the end, and finishes the log.
    #[must_use]
    pub fn run(mut self, notify: &mut dyn FnMut(RecordingNotice)) -> Recorded {
        let start = clock::now();
        let until = self.options.duration.map(|span| start + span);
        while !self.options.stop.load(Ordering::Relaxed) {
            let now = clock::now();
            if until.is_some_and(|until| now >= until) || !self.receive(now + POLL_INTERVAL, notify)
            {
                break;
            }
            self.events.look(notify);
        }
        self.recorder.finish()
    }

    /// Records what arrives before a time; returns `false` at the end of a log.
    fn receive(
        &mut self,
        until: clock::MonotonicTime,
        notify: &mut dyn FnMut(RecordingNotice),
    ) -> bool {
        let received = self.inlet.receive(Wait::Until(until), &mut |arrival| {
            if self.options.channels.wants(arrival.channel) {
                self.recorder.take(&arrival);
            }
            More::GoOn
        });
        match received {
            Ok(Received::Ended) => false,
            Ok(_) => true,
            Err(error) => {
                self.events.trouble(Some(error.to_string()), notify);
                std::thread::sleep(POLL_INTERVAL);
                true
            }
        }
    }
}

/// The events that were reported.
struct ReportedEvents {
    watch: Watch,
    trouble: Option<String>,
    further: bool,
    set_back: u64,
}

impl ReportedEvents {
    fn of(recorder: &Recorder) -> Self {
        Self {
            watch: recorder.watch(),
            trouble: None,
            further: false,
            set_back: 0,
        }
    }

    fn look(&mut self, notify: &mut dyn FnMut(RecordingNotice)) {
        let trouble = self.watch.trouble();
        self.trouble(trouble, notify);
        if !self.further && self.watch.has_further_channels() {
            self.further = true;
            notify(RecordingNotice::FurtherChannels);
        }
        let set_back = self.watch.set_back();
        if set_back.times > self.set_back {
            self.set_back = set_back.times;
            notify(RecordingNotice::ClockSetBack(set_back));
        }
    }

    fn trouble(&mut self, now: Option<String>, notify: &mut dyn FnMut(RecordingNotice)) {
        if let Some(trouble) = &now
            && self.trouble != now
        {
            notify(RecordingNotice::Trouble(trouble.clone()));
            self.trouble = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{Channel, Pattern};
    use crate::log::record::Naming;
    use crate::log::{self, Entry, LoggedChannel};
    use crate::provider::memq::Memq;
    use crate::provider::{Guarantees, Outlet, ReceiveError, Take, Wake};

    /// Records a moment of a bus, and returns the channels in the log and the events.
    fn recorded(
        channels: ChannelFilter,
        most_channels: usize,
    ) -> (Vec<String>, Vec<RecordingNotice>) {
        let folder = tempfile::tempdir().unwrap();
        let bus = Memq::default();
        let options = BusRecordingOptions {
            path: folder.path().join("log.mcap"),
            record: RecordOptions {
                most_channels,
                ..RecordOptions::default()
            },
            channels,
            duration: Some(Duration::from_millis(150)),
            ..BusRecordingOptions::default()
        };
        let path = options.path.clone();
        let describe = Box::new(|channel: &Channel, _| LoggedChannel::lcm(channel.as_str()));
        let recording = BusRecording::start(&bus, options, describe).unwrap();
        let mut outlet = bus.outlet().unwrap();
        for channel in ["ARM", "LEG"] {
            outlet
                .publish(&Channel::new(channel).unwrap(), b"12345678")
                .unwrap();
        }
        let mut notices = Vec::new();
        let recorded = recording.run(&mut |notice| notices.push(notice));
        let (mut reader, mut entry) = (log::open(&path).unwrap(), Entry::default());
        let mut names = Vec::new();
        while reader.read(&mut entry).unwrap() {
            names.push(entry.channel.name.clone());
        }
        assert_eq!(recorded.written(), names.len() as u64);
        (names, notices)
    }

    /// A bus that refuses to be listened to.
    #[derive(Debug)]
    struct Refusing;

    impl Provider for Refusing {
        fn guarantees(&self) -> Guarantees {
            Memq::default().guarantees()
        }
        fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
            Memq::default().outlet()
        }
        fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
            Ok(Box::new(Self))
        }
    }

    impl Inlet for Refusing {
        fn want(&mut self, _: &[Pattern]) -> Result<(), ProviderError> {
            Err(ProviderError {
                url: "memq://".into(),
                reason: "refused".into(),
                remedy: "none".into(),
            })
        }
        fn receive(&mut self, _: Wait, _: Take<'_>) -> Result<Received, ReceiveError> {
            Ok(Received::Ended)
        }
        fn waker(&self) -> Arc<dyn Wake> {
            Memq::default().inlet().unwrap().waker()
        }
    }

    #[test]
    fn a_bus_that_refuses_leaves_all_files_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let refused = |name: &str, naming| {
            let options = BusRecordingOptions {
                path: path(name),
                record: RecordOptions {
                    naming,
                    overwrite: true,
                    ..RecordOptions::default()
                },
                ..BusRecordingOptions::default()
            };
            let describe = Box::new(|channel: &Channel, _| LoggedChannel::lcm(channel.as_str()));
            let refused = BusRecording::start(&Refusing, options, describe).err();
            assert!(matches!(refused, Some(BusRecordingError::Provider(_))));
        };
        refused("new.mcap", Naming::Numbered);
        assert!(!path("new.mcap").exists());
        let kept = ["log.mcap", "log-0.mcap", "log-1.mcap"];
        for name in kept {
            std::fs::write(path(name), name).unwrap();
        }
        refused("log.mcap", Naming::Numbered);
        refused("log.mcap", Naming::Rotating(2));
        let contents = kept.map(|name| std::fs::read_to_string(path(name)).unwrap());
        assert_eq!(contents, kept);
    }

    #[test]
    fn the_wanted_channels_are_in_the_log() {
        let (all, notices) = recorded(ChannelFilter::default(), 4096);
        assert_eq!((all, notices), (vec!["ARM".into(), "LEG".into()], vec![]));
        for (inverted, name) in [(false, "ARM"), (true, "LEG")] {
            let patterns = vec![Pattern::new("A.*").unwrap()];
            let (names, _) = recorded(ChannelFilter { patterns, inverted }, 4096);
            assert_eq!(names, [name]);
        }
    }

    #[test]
    fn more_channels_than_are_counted_are_reported_once() {
        let (names, notices) = recorded(ChannelFilter::default(), 1);
        assert_eq!(names.len(), 2);
        assert_eq!(notices, [RecordingNotice::FurtherChannels]);
    }
}
