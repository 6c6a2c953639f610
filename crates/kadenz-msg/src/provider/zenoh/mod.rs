//! `zenoh://` or `zenoh://HOST:PORT`: Zenoh, for buses that span networks. Behind the feature `zenoh`.
//!
//! A channel `ARM` is the key `kadenz/ARM`, so that any program on Zenoh takes part; sender and number of a
//! message travel in its attachment. Routers of Zenoh carry a bus between networks, encrypt it and control
//! access: connect to one by its address.
//!
//! Guarantees: the order of each sender; no loss while the network keeps up and the inlet's queue has room:
//! messages dropped then are counted as overrun by the senders' numbers; publishing never waits for a slow
//! subscriber, and for the network, if `TX_BATCHES` parts of 64 KiB wait already, at most `MAX_WAIT`, before
//! it gives the message up; no history; programs find each other by multicast, or by the address of a router
//! or a peer.
//!
//! Cost: Zenoh's own threads and executor stand between both ends, and allocate for every message: not for a
//! control loop's thread. It is for buses of more than one machine.
//!
//! Not possible: TLS and QUIC without a router in between, as they are not built in.
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `mode` | `peer`, or `client` of a router | `peer` |
//! | `listen` | the address at which this peer listens, as `tcp/127.0.0.1:7447` | a port that Zenoh chooses |
//! | `connect` | further endpoints to connect to, with commas between | none |
//! | `multicast` | whether discovery uses multicast | `yes` without an address, else `no` |
//! | `interface` | the network interface that multicast uses, as `lo` | those that Zenoh chooses |
//! | `prefix` | the prefix of keys | `kadenz` |
//! | `config` | a file of Zenoh's configuration, read first; it then sets how long publishing waits | none |
//! | `queue` | messages that wait in an inlet | 1024 |
//! | `largest` | the longest payload, in bytes | 64 MiB |

mod inlet;

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use zenoh::Wait as _;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session};

use super::parameters::Address;
use super::stream::note::Numbers;
use super::stream::refuse_too_long;
use super::{
    BackPressure, DeliveryOrder, Discovery, Guarantees, History, Inlet, Loss, Outlet, Provider,
    ProviderError, PublishError,
};
use crate::channel::Channel;

/// Parts of 64 KiB that wait for Zenoh's thread. Zenoh's own two are full before a thread that is held up
/// runs again, and one message of 200 KB was lost so; this is the most that Zenoh takes.
const TX_BATCHES: u32 = 16;

/// How long publishing waits where all parts are full, before the message is dropped. Zenoh's own 50 ms
/// are less than a busy machine keeps a thread from running.
const MAX_WAIT: Duration = Duration::from_millis(200);

/// A network of Zenoh.
#[derive(Debug, Clone)]
pub struct Zenoh(Arc<ZenohBus>);

/// An opened session of Zenoh and the URL's settings, which outlets and inlets keep alive.
struct ZenohBus {
    address: Address,
    session: Session,
    prefix: String,
    places: usize,
    largest: usize,
}

show_fields!(ZenohBus: address);

impl ZenohBus {
    fn failed(&self, error: &zenoh::Error) -> ProviderError {
        failed(&self.address, error)
    }
}

fn failed(address: &Address, error: &zenoh::Error) -> ProviderError {
    let remedy = "look whether the router or peer listens there, and whether listen is free here";
    address.wrong(format!("Zenoh reports {error}"), remedy)
}

/// Zenoh's configuration, with room and time for a thread that a busy machine holds up.
fn patient() -> Result<Config, zenoh::Error> {
    let mut config = Config::default();
    let queue = "transport/link/tx/queue";
    let wait_us = (MAX_WAIT / 2).as_micros(); // Of the first part, and of all the others.
    let drop = format!("{queue}/congestion_control/drop");
    config.insert_json5(&format!("{queue}/size/data"), &TX_BATCHES.to_string())?;
    config.insert_json5(&format!("{drop}/wait_before_drop"), &wait_us.to_string())?;
    let fragments = format!("{drop}/max_wait_before_drop_fragments");
    config.insert_json5(&fragments, &wait_us.to_string())?;
    Ok(config)
}

impl Zenoh {
    /// Joins the network.
    ///
    /// ```no_run
    /// use kadenz_msg::provider::{Provider, parameters::Address, zenoh::Zenoh};
    ///
    /// let bus = Zenoh::open(&Address::parse("zenoh://192.168.0.7:7447?mode=client")?)?;
    /// assert!(!bus.guarantees().real_time);
    /// # Ok::<(), kadenz_msg::provider::ProviderError>(())
    /// ```
    ///
    /// # Errors
    /// If a parameter is invalid, the configuration's file cannot be read, or a required peer cannot be
    /// reached.
    ///
    /// # Real-time safety
    /// Not real-time safe; starts Zenoh's threads.
    pub fn open(address: &Address) -> Result<Self, ProviderError> {
        let mut parameters = address.parameters();
        let mut config = match parameters.text("config") {
            None => patient().map_err(|error| failed(address, &error))?,
            Some(file) => Config::from_file(file).map_err(|error| failed(address, &error))?,
        };
        let words = [("peer", "peer"), ("client", "client")];
        let mode = parameters.choice("mode", &words)?.unwrap_or("peer");
        let more = parameters.text("connect").unwrap_or_default().split(',');
        let first = address.location();
        let first = (!first.is_empty()).then(|| format!("tcp/{first}"));
        let more = more.filter(|endpoint| !endpoint.is_empty());
        let connect: Vec<String> = first.into_iter().chain(more.map(str::to_owned)).collect();
        let multicast = parameters
            .switch("multicast")?
            .unwrap_or(connect.is_empty());
        let mut settings = vec![
            ("mode", format!("{mode:?}")),
            ("scouting/multicast/enabled", multicast.to_string()),
        ];
        if !connect.is_empty() {
            settings.push(("connect/endpoints", format!("{connect:?}")));
        }
        if let Some(listen) = parameters.text("listen") {
            settings.push(("listen/endpoints", format!("[{listen:?}]")));
        }
        if let Some(interface) = parameters.text("interface") {
            settings.push(("scouting/multicast/interface", format!("{interface:?}")));
        }
        let prefix = parameters.text("prefix").unwrap_or("kadenz").to_owned();
        let places = parameters.number("queue", 1..=1 << 20)?.unwrap_or(1024);
        let largest = parameters.bytes("largest")?.unwrap_or(64 << 20).max(1);
        parameters.finish()?;
        for (name, value) in settings {
            let inserted = config.insert_json5(name, &value);
            inserted.map_err(|error| failed(address, &error))?;
        }
        let session = zenoh::open(config).wait();
        Ok(Self(Arc::new(ZenohBus {
            address: address.clone(),
            session: session.map_err(|error| failed(address, &error))?,
            prefix,
            places: places as usize,
            largest,
        })))
    }
}

impl Provider for Zenoh {
    fn guarantees(&self) -> Guarantees {
        Guarantees {
            order: DeliveryOrder::Kept,
            loss: Loss::WhenSlow,
            back_pressure: BackPressure::Bounded(MAX_WAIT.as_millis() as u32),
            history: History::None,
            discovery: Discovery::Peers,
            longest_payload: self.0.largest,
            real_time: false,
            zero_copy: false,
        }
    }

    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        Ok(Box::new(ZenohOutlet {
            bus: Arc::clone(&self.0),
            publishers: HashMap::new(),
            numbers: Numbers::new(),
        }))
    }

    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
        Ok(Box::new(inlet::ZenohInlet::new(&self.0)))
    }
}

struct ZenohOutlet {
    bus: Arc<ZenohBus>,
    publishers: HashMap<Channel, Publisher<'static>>,
    numbers: Numbers,
}

show_fields!(ZenohOutlet: bus);

impl ZenohOutlet {
    /// The publisher of a channel, which is declared at its first message.
    fn publisher(&mut self, channel: &Channel) -> Result<&Publisher<'static>, zenoh::Error> {
        if !self.publishers.contains_key(channel) {
            let key = key_of(&self.bus.prefix, channel.as_str());
            let declared = self.bus.session.declare_publisher(key);
            let declared = declared.congestion_control(CongestionControl::Drop);
            // Not express: few express messages find a place while Zenoh's thread is held up, and the next
            // ones are lost, while others wait in one batch. On an idle line both are sent at once.
            self.publishers.insert(*channel, declared.wait()?);
        }
        Ok(&self.publishers[channel])
    }

    fn put(&mut self, channel: &Channel, payload: Vec<u8>) -> Result<(), PublishError> {
        let note = self.numbers.note(channel);
        let put = self
            .publisher(channel)
            .and_then(|publisher| publisher.put(payload).attachment(&note[..]).wait());
        put.map_err(|_| PublishError::Refused {
            channel: *channel,
            reason: ErrorKind::NotConnected,
        })
    }
}

impl Outlet for ZenohOutlet {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        refuse_too_long(channel, payload.len(), self.bus.largest)?;
        self.put(channel, payload.to_vec())
    }

    fn publish_in_place(
        &mut self,
        channel: &Channel,
        length: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, PublishError> {
        refuse_too_long(channel, length, self.bus.largest)?;
        let mut payload = vec![0; length];
        if !fill(&mut payload) {
            return Ok(false);
        }
        self.put(channel, payload).map(|()| true)
    }
}

// Channels as Zenoh's key expressions.

/// Signs that a key expression must not hold, or takes for a pattern, and the sign that escapes them.
const SPECIAL: &[u8] = b"*$?#%";

/// The key of a channel: the prefix, a slash, and the name, in which special signs, and slashes that
/// would leave a part empty, are written as `%` and two digits.
fn key_of(prefix: &str, channel: &str) -> String {
    use std::fmt::Write as _;
    let mut key = format!("{prefix}/");
    let bytes = channel.as_bytes();
    for (at, sign) in channel.char_indices() {
        let is_empty_part =
            sign == '/' && (at == 0 || at + 1 == bytes.len() || bytes[at - 1] == b'/');
        if is_empty_part || u8::try_from(sign).is_ok_and(|sign| SPECIAL.contains(&sign)) {
            // Writing to a string cannot fail.
            let _ = write!(key, "%{:02x}", u32::from(sign));
        } else {
            key.push(sign);
        }
    }
    key
}

/// The channel of a key; `None` for a key that is not of this bus.
fn channel_of(prefix: &str, key: &str) -> Option<String> {
    let name = key.strip_prefix(prefix)?.strip_prefix('/')?;
    let mut parts = name.split('%');
    let mut channel = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        let code = u8::from_str_radix(code, 16).ok()?;
        channel.push(char::from(code));
        channel.push_str(rest);
    }
    Some(channel)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_channel_comes_back_from_a_key_that_zenoh_takes(channel in "[ -~äß]{1,30}") {
            let key = key_of("kadenz", &channel);
            prop_assert!(zenoh::key_expr::KeyExpr::try_from(key.as_str()).is_ok(), "{}", key);
            prop_assert_eq!(channel_of("kadenz", &key), Some(channel));
        }
    }

    #[test]
    fn a_key_of_another_bus_is_not_a_channel() {
        assert_eq!(channel_of("kadenz", "kadenzer/A"), None);
        assert_eq!(channel_of("kadenz", "kadenz/%z1"), None);
    }
}
