//! `shm://NAME`: shared memory of one host, by iceoryx2. Behind the feature `shm`, on Linux.
//!
//! A bus is one iceoryx2 service `kadenz/NAME` of bytes, whose user header holds the channel and the sender's
//! number of the message, and one event service of the same name. Every inlet is a subscriber and takes the
//! messages that it wants; that needs no discovery of channels, and the number of channels costs nothing
//! (decision 0530).
//!
//! Guarantees: the order of each sender; no loss while an inlet's queue has room, and the oldest message lost
//! if it has not, counted as overrun; publishing never waits; no history; every program that opens the same
//! name on the same host, with the same parameters and as the same user, takes part.
//!
//! Cost: about a microsecond if the inlet polls, and a datagram that wakes it if it waits. Publishing waits
//! for nothing, but iceoryx2 0.10 allocates a block of 104 bytes for every message that it lends; receiving
//! allocates nothing. So the provider is not real-time safe.
//! A message is written into shared memory once and read there, however long it is. The memory of an
//! outlet is reserved for the largest number of messages that all inlets together may hold, but taken
//! only as it is used.
//!
//! Not possible: other hosts; other users, since all files of a bus are in a folder that its user alone may
//! enter (decision 0572); more inlets or outlets than its first program set. The next program that opens the
//! bus removes the remains of a killed program.
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `wait` | `event`: inlets sleep until a message arrives; `poll`: they spin, which is quickest | `event` |
//! | `queue` | messages that wait in an inlet | 64 |
//! | `inlets`, `outlets` | how many there may be at once | 64 |
//! | `largest` | the longest payload, in bytes | 64 MiB |

mod inlet;
mod outlet;
mod private;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use iceoryx2::node::{Node, NodeBuilder};
use iceoryx2::prelude::{Alignment, LogLevel, ServiceName, set_log_level};
use iceoryx2::service::builder::event::EventOpenOrCreateError;
use iceoryx2::service::builder::publish_subscribe::PublishSubscribeOpenOrCreateError;
use iceoryx2::service::port_factory::{event, publish_subscribe};
use iceoryx2::signal_handling_mode::SignalHandlingMode;

use super::parameters::Address;
use super::{
    BackPressure, DeliveryOrder, Discovery, Guarantees, History, Inlet, Loss, Outlet, Provider,
    ProviderError,
};
use crate::channel::{Channel, MAX_CHANNEL};
use private::FileService;

/// iceoryx2's user header beside a payload, as words because iceoryx2 requires a type with a default.
type UserHeader = [u64; 9];

/// The bytes of a [`UserHeader`] in memory: the length of the channel's name, the name, zeros, and the
/// number of the message in little-endian order.
type HeaderBytes = [u8; 72];

/// The offset of the number.
const NUMBER_AT: usize = 68;

/// The event of a new message.
const MESSAGE: usize = 0;

/// The event by which an inlet is woken.
const WAKE: usize = 1;

type Messages = publish_subscribe::PortFactory<FileService, [u8], UserHeader>;

/// The way in which an inlet waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitMode {
    /// The inlet sleeps until an event.
    Event,
    /// The inlet spins.
    Poll,
}

/// The parameters of the URL, with the defaults for missing ones.
#[derive(Debug, Clone, Copy)]
struct ShmSettings {
    waiting: WaitMode,
    queue: usize,
    inlets: usize,
    outlets: usize,
    largest: usize,
}

/// Shared memory of one host.
#[derive(Debug, Clone)]
pub struct Shm(Arc<ShmBus>);

/// An opened bus, which its outlets and inlets keep alive.
struct ShmBus {
    address: Address,
    settings: ShmSettings,
    messages: Messages,
    events: event::PortFactory<FileService>,
    _node: Node<FileService>,
}

show_fields!(ShmBus: address, settings);

impl Shm {
    /// Opens the bus of that name, and makes it if it does not exist. Removes the remains of killed programs.
    ///
    /// ```
    /// use kadenz_msg::provider::{Provider, parameters::Address, shm::Shm};
    ///
    /// let address = Address::parse(&format!("shm://example-{}?queue=8", std::process::id()))?;
    /// let bus = Shm::open(&address)?;
    /// assert!(bus.guarantees().zero_copy);
    /// # Ok::<(), kadenz_msg::provider::ProviderError>(())
    /// ```
    ///
    /// # Errors
    /// If the name or a parameter is invalid, the folder in `/dev/shm` cannot be made or is not this user's,
    /// the bus was opened before with other parameters, or it does not open within ten seconds.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    pub fn open(address: &Address) -> Result<Self, ProviderError> {
        let settings = settings(address)?;
        // Errors are returned here; the library would print them as well.
        set_log_level(LogLevel::Fatal);
        let folder = private::folder();
        let wanted = address.clone();
        // iceoryx2 waits until another program finishes what it began, and forever if that program was
        // killed.
        match within(OPENING, move || open_in(&folder, wanted, settings)) {
            Ok(opened) => opened,
            Err(error) => {
                let remedy = error.remedy(&private::folder());
                Err(address.wrong(error.to_string(), remedy))
            }
        }
    }
}

/// How long a bus may take to open. Another program that begins takes milliseconds.
const OPENING: Duration = Duration::from_secs(10);

/// The reason for which an opening did not end.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error("the system gives no thread to open it: {0}")]
    NoThread(std::io::Error),
    #[error("it did not open within {} s", .0.as_secs())]
    Late(Duration),
    #[error("iceoryx2 panicked over what it found")]
    Panicked,
}

impl OpenError {
    fn remedy(&self, folder: &Path) -> String {
        match self {
            Self::NoThread(_) => {
                "end other programs, or raise the limits of processes and of locked memory (`ulimit -u`, `ulimit -l`)"
                    .to_owned()
            }
            Self::Late(_) | Self::Panicked => reset(folder),
        }
    }
}

/// Runs `work` on another thread, and waits at most that long for it.
fn within<T: Send + 'static>(
    most: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, OpenError> {
    let (done, wait) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name("kadenz-shm".to_owned());
    let begun = thread.spawn(move || {
        // If no caller waits any more, the result is dropped again.
        let _ = done.try_send(work());
    });
    begun.map_err(OpenError::NoThread)?;
    wait.recv_timeout(most).map_err(|error| match error {
        RecvTimeoutError::Timeout => OpenError::Late(most),
        RecvTimeoutError::Disconnected => OpenError::Panicked,
    })
}

/// Returns the remedy that restarts a bus.
fn reset(folder: &Path) -> String {
    format!(
        "end this user's programs that use shm:// and remove {} (rm -r {0})",
        folder.display()
    )
}

fn open_in(folder: &Path, address: Address, settings: ShmSettings) -> Result<Shm, ProviderError> {
    let failed = |what: &str, error: &dyn fmt::Debug| {
        let remedy = format!(
            "let every program open the bus with the same parameters; else {}",
            reset(folder)
        );
        address.wrong(format!("{what}: {error:?}"), &remedy)
    };
    let config = private::config(folder)
        .map_err(|error| address.wrong("no folder of this user's own", error.to_string()))?;
    let node = NodeBuilder::new()
        .config(&config)
        .signal_handling_mode(SignalHandlingMode::Disabled)
        .create::<FileService>()
        .map_err(|error| failed("no node of iceoryx2", &error))?;
    let name = format!("kadenz/{}", address.location());
    let name = ServiceName::new(&name).map_err(|error| failed("the name", &error))?;
    let messages = messages(&node, &name, settings)
        .map_err(|error| failed("the messages' service", &error))?;
    let events =
        events(&node, &name, settings).map_err(|error| failed("the events' service", &error))?;
    Ok(Shm(Arc::new(ShmBus {
        address,
        settings,
        messages,
        events,
        _node: node,
    })))
}

fn messages(
    node: &Node<FileService>,
    name: &ServiceName,
    settings: ShmSettings,
) -> Result<Messages, PublishSubscribeOpenOrCreateError> {
    node.service_builder(name)
        .publish_subscribe::<[u8]>()
        .user_header::<UserHeader>()
        .payload_alignment(Alignment::new(8).unwrap_or(Alignment::ALIGN_8))
        .enable_safe_overflow(true)
        .history_size(0)
        .subscriber_max_buffer_size(settings.queue)
        .subscriber_max_borrowed_samples(2)
        .max_subscribers(settings.inlets)
        .max_publishers(settings.outlets)
        .max_nodes(settings.inlets + settings.outlets)
        .open_or_create()
}

fn events(
    node: &Node<FileService>,
    name: &ServiceName,
    settings: ShmSettings,
) -> Result<event::PortFactory<FileService>, EventOpenOrCreateError> {
    let ends = settings.inlets + settings.outlets;
    node.service_builder(name)
        .event()
        .event_id_max_value(WAKE)
        .max_listeners(settings.inlets)
        .max_notifiers(ends)
        .max_nodes(ends)
        .open_or_create()
}

fn settings(address: &Address) -> Result<ShmSettings, ProviderError> {
    if address.location().is_empty() {
        let remedy = "give the bus a name, as shm://robot";
        return Err(address.wrong("it has no name", remedy));
    }
    let mut parameters = address.parameters();
    let words = [("event", WaitMode::Event), ("poll", WaitMode::Poll)];
    let waiting = parameters.choice("wait", &words)?;
    let queue = parameters.number("queue", 1..=4096)?.unwrap_or(64);
    let inlets = parameters.number("inlets", 1..=1024)?.unwrap_or(64);
    let outlets = parameters.number("outlets", 1..=1024)?.unwrap_or(64);
    let largest = parameters.bytes("largest")?.unwrap_or(64 << 20);
    parameters.finish()?;
    Ok(ShmSettings {
        waiting: waiting.unwrap_or(WaitMode::Event),
        queue: queue as usize,
        inlets: inlets as usize,
        outlets: outlets as usize,
        largest: largest.clamp(1, 1 << 30),
    })
}

impl Provider for Shm {
    fn guarantees(&self) -> Guarantees {
        Guarantees {
            order: DeliveryOrder::Kept,
            loss: Loss::WhenSlow,
            back_pressure: BackPressure::None,
            history: History::None,
            discovery: Discovery::Host,
            longest_payload: self.0.settings.largest,
            // iceoryx2 allocates for every message that is lent.
            real_time: false,
            zero_copy: true,
        }
    }

    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        Ok(Box::new(outlet::ShmOutlet::create(&self.0)?))
    }

    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
        Ok(Box::new(inlet::ShmInlet::create(&self.0)?))
    }
}

fn header_of(channel: &Channel, number: u32) -> UserHeader {
    let mut bytes: HeaderBytes = [0; 72];
    let name = channel.as_str().as_bytes();
    bytes[0] = name.len() as u8;
    bytes[1..=name.len()].copy_from_slice(name);
    bytes[NUMBER_AT..].copy_from_slice(&number.to_le_bytes());
    let mut header = [0; 9];
    for (word, bytes) in header.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    header
}

fn bytes_of(header: &UserHeader) -> HeaderBytes {
    let mut bytes = [0; 72];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(header) {
        *bytes = word.to_ne_bytes();
    }
    bytes
}

/// Returns the channel and the number; `None` if no Kadenz outlet has written the header.
fn read_header(bytes: &HeaderBytes) -> Option<(&str, u32)> {
    let length = usize::from(bytes[0]);
    if length == 0 || length > MAX_CHANNEL {
        return None;
    }
    let name = std::str::from_utf8(&bytes[1..=length]).ok()?;
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[NUMBER_AT..]);
    Some((name, u32::from_le_bytes(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_channel_and_number() {
        let longest = "x".repeat(MAX_CHANNEL);
        for name in ["A", "robot/arm-1", &longest] {
            let header = header_of(&Channel::new(name).unwrap(), 0xfeed_f00d);
            assert_eq!(read_header(&bytes_of(&header)), Some((name, 0xfeed_f00d)));
        }
    }

    #[test]
    fn what_no_outlet_has_written_is_not_a_header() {
        assert_eq!(read_header(&[0; 72]), None);
        assert_eq!(read_header(&[0xff; 72]), None);
        let mut no_text = bytes_of(&header_of(&Channel::new("A").unwrap(), 1));
        no_text[1] = 0xff;
        assert_eq!(read_header(&no_text), None);
    }

    #[test]
    fn an_opening_that_takes_too_long_fails() {
        let (_keeps_waiting, wait) = mpsc::sync_channel::<()>(1);
        let endless = within(Duration::from_millis(10), move || wait.recv());
        let late = endless.unwrap_err();
        assert!(late.to_string().contains("did not open within"), "{late}");
        assert_eq!(within(OPENING, || 7).unwrap(), 7);
    }

    #[test]
    fn a_panic_of_the_library_is_an_error_with_a_remedy_at_once() {
        let error = within(OPENING, || panic!("what was found makes no sense")).map(|()| 0);
        let error = error.unwrap_err();
        assert!(matches!(error, OpenError::Panicked), "{error}");
        assert!(
            error
                .remedy(Path::new("/dev/shm/x"))
                .contains("rm -r /dev/shm/x")
        );
    }

    #[test]
    fn a_parameter_that_is_none_is_refused() {
        for url in [
            "shm://",
            "shm://a?wait=maybe",
            "shm://a?queue=0",
            "shm://a?que=1",
        ] {
            let address = Address::parse(url).unwrap();
            assert!(settings(&address).is_err(), "{url}");
        }
    }
}
