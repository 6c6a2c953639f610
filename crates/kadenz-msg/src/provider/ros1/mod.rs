//! `ros1://HOST:PORT`: the topics of a running ROS 1 master.
//!
//! The channel `robot/arm` is the topic `/robot/arm`, and a payload is a message as ROS serialises it: this
//! provider carries bytes and knows no type of ROS. Subscribing takes every type. To publish, the URL names
//! the type of the bytes, as other nodes refuse a topic of an unknown one:
//! `ros1://localhost:11311?type=std_msgs/String&md5=992ce8a1687cec8c8bd883ec73ca41d1`.
//!
//! Guarantees: the order of each sender's messages on a channel; no loss while a subscriber's buffer has
//! room, and messages without room are dropped for that subscriber, counted as overrun if the publisher is a
//! Kadenz program (Kadenz programs recognise each other by a field of the connection's header, and number
//! their messages); publishing never waits for a subscriber; no history, unless the URL has `latch=yes`: then
//! a later subscriber first gets the last message of each channel, for as long as an outlet of this bus
//! lives. Messages that other nodes latch are received without that. Discovery by the master, within half a
//! second for patterns.
//!
//! A master that starts again has forgotten its nodes. This provider notices within some half a second,
//! registers all again, and keeps the connections that it has: also those with publishers that do not
//! register again, such as nodes of ROS itself, until they do not answer three times in a row. While there is
//! no master, known channels go on; the first message of a new one is refused.
//!
//! Services: [`Ros1::service_client`] calls one, [`Ros1::offer_service`] offers one. Both carry bytes, as channels do.
//!
//! Cost: as `zmq://`, a message goes from the publishing thread's system call to the receiving thread's. The
//! first message of a channel waits for the master, at most 4 s, and for a name server if the host is given
//! by name. A latched message is copied once more, and stays in memory until the next one.
//!
//! Not possible: parameters, UDPROS, names of more than 63 bytes; and recognising whether a received message
//! was latched.
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `type`, `md5` | the type of published messages | none: the bus only receives |
//! | `definition` | the type's text, for programs that record | empty |
//! | `latch` | whether the last message of each channel is kept for later subscribers: `yes`, `no` | `no` |
//! | `host` | the address of this host that other nodes reach | the one that reaches the master |
//! | `queue` | bytes that wait for one slow subscriber | 4 MiB |
//! | `largest` | the longest payload, in bytes | 64 MiB |

mod callers;
pub(super) mod http;
mod inlet;
mod node;
pub(super) mod services;
pub(super) mod tcpros;
pub(super) mod xmlrpc;

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

use super::parameters::Address;
use super::stream::acceptor::Acceptor;
use super::stream::note::{NOTE, Numbers};
use super::stream::peer_receiver::PeerReceiver;
use super::stream::peer_set::{PeerSet, Side};
use super::stream::{Buffered, Publish};
use super::{
    BackPressure, DeliveryOrder, Discovery, Guarantees, History, Inlet, Loss, Outlet, Provider,
    ProviderError, PublishError,
};
use crate::arrival::random_number;
use crate::channel::Channel;
use crate::sync::Lock;
use node::RosNode;
pub use services::{ServiceClient, ServiceError, ServiceServer, ServiceType};
use tcpros::{Framed, TcprosSubscriber, TopicType};

/// Room for the bytes around a payload.
const AROUND: usize = 1024;

/// The topics and services that a ROS 1 master registers.
#[derive(Debug)]
pub struct Ros1 {
    address: Address,
    master: String,
    kind: Option<Arc<TopicType>>,
    host: Option<IpAddr>,
    queue: usize,
    largest: usize,
    is_latched: bool,
    /// The sending side of the living outlets.
    publishers: Lock<Weak<PublisherSide>>,
}

impl Ros1 {
    /// Reads the address; the first outlet or inlet contacts the master.
    ///
    /// ```
    /// use kadenz_msg::provider::{Provider, parameters::Address, ros1::Ros1};
    ///
    /// let bus = Ros1::open(&Address::parse("ros1://localhost:11311")?)?;
    /// // Without a type nothing can be published.
    /// assert!(bus.outlet().unwrap_err().remedy.contains("type="));
    /// # Ok::<(), kadenz_msg::provider::ProviderError>(())
    /// ```
    ///
    /// # Errors
    /// If the address or a parameter is invalid, or there is a type without its md5.
    pub fn open(address: &Address) -> Result<Self, ProviderError> {
        let master = address.endpoint("localhost", 11311)?;
        let mut parameters = address.parameters();
        let (name, md5) = (parameters.text("type"), parameters.text("md5"));
        let definition = parameters.text("definition").unwrap_or_default();
        let kind = match (name, md5) {
            (Some(name), Some(md5)) => Some(Arc::new(TopicType {
                name: name.to_owned(),
                md5: md5.to_owned(),
                definition: definition.to_owned(),
            })),
            (None, None) => None,
            _ => {
                let remedy = "give both, as printed by rosmsg md5";
                return Err(address.wrong("type and md5 belong together", remedy));
            }
        };
        let host = parameters.text("host").map(str::parse::<IpAddr>);
        let host = host.transpose().map_err(|_| {
            let remedy = "give an address in digits, as 192.168.0.7";
            address.wrong("host is not a valid IP address", remedy)
        })?;
        let queue = parameters.bytes("queue")?.unwrap_or(4 << 20);
        let largest = parameters.bytes("largest")?.unwrap_or(64 << 20);
        let is_latched = parameters.switch("latch")?.unwrap_or(false);
        parameters.finish()?;
        Ok(Self {
            address: address.clone(),
            master,
            kind,
            host,
            queue,
            // The length takes four bytes on the wire.
            largest: largest.clamp(1, 1 << 30),
            is_latched,
            publishers: Lock::new(Weak::new()),
        })
    }

    fn node(&self) -> io::Result<RosNode> {
        let caller = format!("/kadenz_{}_{:x}", std::process::id(), random_number());
        RosNode::start(&self.master, self.host, &caller)
    }

    /// Returns the sending side of all outlets.
    fn publishers(&self, kind: &Arc<TopicType>) -> io::Result<Arc<PublisherSide>> {
        self.publishers.with(|known| {
            if let Some(publishers) = known.upgrade() {
                return Ok(publishers);
            }
            let node = self.node()?;
            let listener = http::socket_address(node.host(), 0).listen()?;
            node.publish_from(listener.port().unwrap_or(0));
            let topics = Arc::new(Lock::new(Topics::new(self.is_latched)));
            let (kind, caller, known_here) = (Arc::clone(kind), node.caller(), Arc::clone(&topics));
            let make = Box::new(move |_: &mut Vec<u8>| {
                let (kind, caller) = (Arc::clone(&kind), Arc::clone(&caller));
                TcprosSubscriber::new(kind, caller, Arc::clone(&known_here))
            });
            let peers = PeerSet::start(Side::Listen(Acceptor::new(listener)), self.queue, make)?;
            let publishers = Arc::new(PublisherSide {
                node,
                peers,
                topics,
            });
            *known = Arc::downgrade(&publishers);
            Ok(publishers)
        })
    }
}

fn no_master(address: &Address, error: &io::Error) -> ProviderError {
    let remedy = "start roscore there, or name the master's host and port in the URL";
    address.wrong(format!("the ROS master does not answer: {error}"), remedy)
}

impl Provider for Ros1 {
    fn guarantees(&self) -> Guarantees {
        Guarantees {
            order: DeliveryOrder::KeptPerChannel,
            loss: Loss::WhenSlow,
            back_pressure: BackPressure::None,
            history: match self.is_latched {
                true => History::LastOfEachChannel,
                false => History::None,
            },
            discovery: Discovery::Server,
            longest_payload: self.largest,
            real_time: true,
            zero_copy: false,
        }
    }

    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        let Some(kind) = &self.kind else {
            let remedy = "add ?type=std_msgs/String&md5=..., as printed by rosmsg md5";
            return Err(self
                .address
                .wrong("it is not known what is published", remedy));
        };
        let publishers = self
            .publishers(kind)
            .map_err(|error| no_master(&self.address, &error))?;
        let outlet = RosOutlet {
            publishers,
            kind: Arc::clone(kind),
            numbers: Numbers::new(),
            advertised: HashSet::new(),
        };
        Ok(Buffered::outlet(outlet, self.largest))
    }

    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
        let failed = |error: io::Error| no_master(&self.address, &error);
        let receiver = PeerReceiver::new(self.largest + AROUND).map_err(failed)?;
        let node = self.node().map_err(failed)?;
        let inlet = inlet::RosInlet::new(&self.address, node, receiver, self.largest);
        Ok(Box::new(inlet))
    }
}

/// The sending side of outlets. The node is dropped before the peers, so that the master names no closed port.
#[derive(Debug)]
struct PublisherSide {
    node: RosNode,
    peers: PeerSet<TcprosSubscriber>,
    topics: Arc<Lock<Topics>>,
}

#[derive(Debug)]
struct RosOutlet {
    publishers: Arc<PublisherSide>,
    kind: Arc<TopicType>,
    numbers: Numbers,
    /// The channels that the master knows.
    advertised: HashSet<Channel>,
}

impl RosOutlet {
    /// Registers a channel at the master, once. Waits for the answer.
    fn advertise(&mut self, channel: &Channel) -> Result<(), PublishError> {
        if self.advertised.contains(channel) {
            return Ok(());
        }
        let topic = format!("/{channel}");
        self.publishers
            .topics
            .with(|topics| topics.add(channel.as_str()));
        let advertised = self.publishers.node.advertise(&topic, &self.kind.name);
        advertised.map_err(|error| PublishError::Refused {
            channel: *channel,
            reason: error.kind(),
        })?;
        self.advertised.insert(*channel);
        Ok(())
    }
}

impl Publish for RosOutlet {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        self.advertise(channel)?;
        let note = self.numbers.note(channel);
        let (name, framed) = (channel.as_str(), Framed::new(payload, &note));
        let PublisherSide { peers, topics, .. } = &*self.publishers;
        let keep = || topics.with(|topics| topics.keep(name, payload, &note));
        peers.publish_after(keep, |peer| {
            peer.wants(name).then(|| framed.parts(peer.is_ours))
        });
        Ok(())
    }
}

/// The topics that this node publishes, and the last message of each if they are latched.
#[derive(Debug)]
pub(super) struct Topics {
    is_latched: bool,
    /// By channel.
    all: BTreeMap<String, Option<Last>>,
}

/// The last message of a topic.
#[derive(Debug)]
struct Last {
    payload: Vec<u8>,
    note: [u8; NOTE],
}

impl Topics {
    pub(super) fn new(is_latched: bool) -> Self {
        Self {
            is_latched,
            all: BTreeMap::new(),
        }
    }

    pub(super) fn is_latched(&self) -> bool {
        self.is_latched
    }

    pub(super) fn add(&mut self, channel: &str) {
        if !self.all.contains_key(channel) {
            self.all.insert(channel.to_owned(), None);
        }
    }

    /// Returns whether there is a topic of that name, in ROS's form.
    pub(super) fn has(&self, topic: &str) -> bool {
        let channel = topic.strip_prefix('/');
        channel.is_some_and(|channel| self.all.contains_key(channel))
    }

    /// Keeps a latched topic's message instead of the one before. Allocates if it is longer than all before
    /// it.
    pub(super) fn keep(&mut self, channel: &str, payload: &[u8], note: &[u8; NOTE]) {
        if !self.is_latched {
            return;
        }
        let Some(last) = self.all.get_mut(channel) else {
            return;
        };
        let last = last.get_or_insert_with(|| Last {
            payload: Vec::new(),
            note: *note,
        });
        last.payload.clear();
        last.payload.extend_from_slice(payload);
        last.note = *note;
    }

    /// The last message of a latched topic, and its note.
    pub(super) fn last(&self, channel: &str) -> Option<(&[u8], &[u8; NOTE])> {
        let last = self.all.get(channel)?.as_ref()?;
        Some((&last.payload, &last.note))
    }
}
