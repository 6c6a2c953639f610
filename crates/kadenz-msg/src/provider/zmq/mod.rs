//! `zmq://HOST:PORT` or `zmq:///PATH`: ZeroMQ's PUB and SUB sockets, over TCP or a Unix socket.
//!
//! A message has the form of every ZeroMQ program: a frame with the channel, a frame with the payload. Kadenz
//! programs recognise each other by a property in the handshake and add a third frame with sender and number,
//! which others never get (decision 0531).
//!
//! One side of an address must listen. By default the first outlet does (`bind=outlet`), so that one
//! program publishes at an address and any number subscribe; with `bind=inlet` one program subscribes
//! and any number publish; with `bind=none` both connect to a forwarder of XPUB and XSUB sockets, which
//! listens at the address for inlets and at `outlets` for outlets.
//!
//! Guarantees: the order of each sender; no loss while a subscriber's buffer has room, and messages without
//! room are dropped for that subscriber, counted as overrun if the publisher is a Kadenz program; publishing
//! never waits for a subscriber; no history: messages that are published before a subscription has arrived
//! are lost to it, as with ZeroMQ.
//!
//! Cost: a message goes from the publishing thread's system call to the receiving thread's, without the two
//! threads that libzmq puts between.
//!
//! Not possible: CURVE and PLAIN security, version 2 of the protocol, messages of one frame (counted as
//! malformed), and counting the losses of publishers that are not Kadenz programs. Messages are not encrypted
//! and peers are not authenticated: listen on loopback or on a private network.
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `bind` | the side that listens: `outlet`, `inlet` or `none` | `outlet` |
//! | `outlets` | the address to which outlets connect with `bind=none` | the address |
//! | `more` | further publishers that inlets connect to, with commas between | none |
//! | `queue` | bytes that wait for one slow subscriber | 4 MiB |
//! | `largest` | the longest payload, in bytes | 64 MiB |

pub(super) mod publishing;
pub(super) mod subscribing;
pub(super) mod zmtp;

use std::io;
use std::sync::{Arc, Weak};

use super::parameters::Address;
use super::stream::acceptor::Acceptor;
use super::stream::note::{NOTE, Numbers, PeerInlet};
use super::stream::peer_receiver::PeerReceiver;
use super::stream::peer_set::{PeerSet, Side};
use super::stream::socket::SocketAddress;
use super::stream::{Buffered, Publish};
use super::{
    BackPressure, DeliveryOrder, Discovery, Guarantees, History, Inlet, Loss, Outlet, Provider,
    ProviderError, PublishError,
};
use crate::arrival::{SenderId, random_number};
use crate::channel::{Channel, MAX_CHANNEL};
use crate::sync::Lock;
use publishing::ZmtpSubscriber;
use subscribing::ZmtpPublisher;

/// Room for the bytes around a payload.
const AROUND: usize = 1024;

/// The side that listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bind {
    Outlet,
    Inlet,
    None,
}

/// Messages over ZeroMQ: `zmq://`.
#[derive(Debug)]
pub struct Zmq {
    address: Address,
    settings: ZmqSettings,
    /// The peers of the outlets that live.
    peers: Lock<Weak<PeerSet<ZmtpSubscriber>>>,
}

/// The parameters of the URL, with the defaults for missing ones.
#[derive(Debug)]
struct ZmqSettings {
    bind: Bind,
    publishers: Vec<SocketAddress>,
    outlets: SocketAddress,
    queue: usize,
    largest: usize,
}

impl Zmq {
    /// Reads the address; the first outlet or inlet connects or listens.
    ///
    /// ```
    /// use kadenz_msg::provider::{Provider, parameters::Address, zmq::Zmq};
    ///
    /// let address = Address::parse("zmq://127.0.0.1:5556?bind=inlet")?;
    /// assert_eq!(Zmq::open(&address)?.guarantees().longest_payload, 64 << 20);
    /// # Ok::<(), kadenz_msg::provider::ProviderError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no address, or a parameter is invalid.
    pub fn open(address: &Address) -> Result<Self, ProviderError> {
        let location = address.location();
        if !location.starts_with('/') && address.host_and_port()?.1.is_none() {
            let remedy = "write zmq://127.0.0.1:5556 or zmq:///tmp/robot";
            return Err(address.wrong("it has no port", remedy));
        }
        let mut parameters = address.parameters();
        let words = [
            ("outlet", Bind::Outlet),
            ("inlet", Bind::Inlet),
            ("none", Bind::None),
        ];
        let bind = parameters.choice("bind", &words)?.unwrap_or(Bind::Outlet);
        let outlets = parameters.text("outlets").unwrap_or(location);
        let more = parameters.text("more").unwrap_or_default();
        let more = more.split(',').filter(|endpoint| !endpoint.is_empty());
        let settings = ZmqSettings {
            bind,
            publishers: [location]
                .into_iter()
                .chain(more)
                .map(SocketAddress::of)
                .collect(),
            outlets: SocketAddress::of(outlets),
            queue: parameters.bytes("queue")?.unwrap_or(4 << 20),
            largest: parameters.bytes("largest")?.unwrap_or(64 << 20).max(1),
        };
        parameters.finish()?;
        Ok(Self {
            address: address.clone(),
            settings,
            peers: Lock::new(Weak::new()),
        })
    }

    /// Returns the peers that all outlets share, as only one can listen at an address.
    fn peers(&self) -> io::Result<Arc<PeerSet<ZmtpSubscriber>>> {
        self.peers.with(|known| {
            if let Some(peers) = known.upgrade() {
                return Ok(peers);
            }
            let endpoint = &self.settings.outlets;
            let side = match self.settings.bind {
                Bind::Outlet => Side::Listen(Acceptor::new(endpoint.listen()?)),
                Bind::Inlet | Bind::None => Side::Connect(endpoint.clone()),
            };
            let make = Box::new(ZmtpSubscriber::begin_handshake);
            let peers = Arc::new(PeerSet::start(side, self.settings.queue, make)?);
            *known = Arc::downgrade(&peers);
            Ok(peers)
        })
    }

    fn failed(&self, what: &str, error: &io::Error) -> ProviderError {
        let remedy = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another program listens there: publish from that one, or give ?bind=inlet"
            }
            _ => "give an address of this host that may be listened at",
        };
        self.address.wrong(format!("{what}: {error}"), remedy)
    }
}

impl Provider for Zmq {
    fn guarantees(&self) -> Guarantees {
        Guarantees {
            order: DeliveryOrder::Kept,
            loss: Loss::WhenSlow,
            back_pressure: BackPressure::None,
            history: History::None,
            discovery: Discovery::Server,
            longest_payload: self.settings.largest,
            real_time: true,
            zero_copy: false,
        }
    }

    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        let peers = self
            .peers()
            .map_err(|error| self.failed("no outlet", &error))?;
        let numbers = Numbers::new();
        let outlet = ZmqOutlet { peers, numbers };
        Ok(Buffered::outlet(outlet, self.settings.largest))
    }

    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
        let failed = |error: io::Error| self.failed("no inlet", &error);
        let longest = self.settings.largest;
        let mut receiver = PeerReceiver::new(longest + AROUND).map_err(failed)?;
        let begin_handshake = move |buffer: &mut Vec<u8>| {
            ZmtpPublisher::begin_handshake(buffer, SenderId(random_number().into()), longest)
        };
        if self.settings.bind == Bind::Inlet {
            let listener = self.settings.outlets.listen().map_err(failed)?;
            receiver.open(listener, Box::new(begin_handshake));
        } else {
            for (id, endpoint) in (0..).zip(&self.settings.publishers) {
                receiver.connect(id, endpoint.clone(), Box::new(begin_handshake));
            }
        }
        Ok(Box::new(PeerInlet::numbered(receiver)))
    }
}

#[derive(Debug)]
struct ZmqOutlet {
    peers: Arc<PeerSet<ZmtpSubscriber>>,
    numbers: Numbers,
}

impl Publish for ZmqOutlet {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        let note = self.numbers.note(channel);
        let ours = MessagePrefix::of(channel, payload.len(), true);
        let theirs = MessagePrefix::of(channel, payload.len(), false);
        let mut tail = [0; 2 + NOTE];
        tail[1] = NOTE as u8;
        tail[2..].copy_from_slice(&note);
        self.peers.publish(|peer| {
            let wants = peer.wants(channel.as_str());
            wants.then_some(if peer.is_ours {
                [ours.bytes(), payload, &tail]
            } else {
                [theirs.bytes(), payload, &[]]
            })
        });
        Ok(())
    }
}

/// The bytes before a payload: the channel's frame and the payload's header.
struct MessagePrefix {
    bytes: [u8; 2 + MAX_CHANNEL + zmtp::MAX_HEADER],
    length: usize,
}

impl MessagePrefix {
    fn of(channel: &Channel, payload: usize, has_more: bool) -> Self {
        let name = channel.as_str().as_bytes();
        let mut bytes = [0; 2 + MAX_CHANNEL + zmtp::MAX_HEADER];
        bytes[..2].copy_from_slice(&[1, name.len() as u8]);
        bytes[2..2 + name.len()].copy_from_slice(name);
        let mut header = [0; zmtp::MAX_HEADER];
        let header_length = zmtp::header(&mut header, payload, has_more);
        let length = 2 + name.len() + header_length;
        bytes[2 + name.len()..length].copy_from_slice(&header[..header_length]);
        Self { bytes, length }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
