//! `amqp://HOST:PORT`: a broker with AMQP 0-9-1, such as RabbitMQ.
//!
//! A bus is a topic exchange, a channel is a routing key, and every inlet has a queue of its own, which the
//! broker deletes with the inlet. Programs of any language take part by publishing to the exchange and
//! binding queues to it; Kadenz's messages carry a header `kadenz` with sender and number, which others may
//! ignore.
//!
//! Guarantees: the order of each sender; no loss while both ends live, except for an inlet so slow that its
//! queue in the broker is full: then its oldest messages are dropped, counted as overrun if the publisher is
//! a Kadenz program. A broker that cannot keep up takes no more, and publishing then fails with
//! [`PublishError::Full`] rather than wait. No history. Discovery is the broker, which must be running.
//!
//! Cost: two ways over TCP and a broker between, some 100 us. Messages are not persistent, not acknowledged
//! and not confirmed: those that are in the broker when it dies are lost.
//!
//! Not possible: TLS (put a tunnel before it), and patterns other than plain names in the broker: an inlet
//! with a regular expression gets every message and discards the others.
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `exchange` | the name of the topic exchange, which is used as it is, and made if it is missing | `kadenz` |
//! | `user`, `password_file` | the user's name, and the file that holds the password | `guest`, `guest` |
//! | `vhost` | the broker's virtual host | `/` |
//! | `depth` | messages that wait in the broker for one inlet | 10000 |
//! | `queue` | bytes that wait here for a busy broker | 4 MiB |
//! | `largest` | the longest payload, in bytes | 64 MiB |

pub(super) mod session;
pub(super) mod subscribing;
mod wire;

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kadenz_rt::clock;

use super::parameters::Address;
use super::stream::note::{Numbers, PeerInlet};
use super::stream::peer_receiver::PeerReceiver;
use super::stream::peer_set::{PeerSet, Side};
use super::stream::socket::SocketAddress;
use super::stream::{Buffered, Publish};
use super::{
    BackPressure, DeliveryOrder, Discovery, Guarantees, History, Inlet, Loss, More, Outlet,
    Provider, ProviderError, PublishError, Wait,
};
use crate::channel::Channel;
use crate::sync::Lock;
use session::{Account, Status};

/// How long a broker may take to let a program in.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Room for the bytes around a payload.
const AROUND: usize = 1 << 18;

/// A topic exchange of an AMQP broker.
#[derive(Debug)]
pub struct Amqp {
    address: Address,
    broker: SocketAddress,
    account: Arc<Account>,
    depth: u32,
    queue: usize,
    largest: usize,
}

impl Amqp {
    /// Reads the address; the first outlet or inlet connects to the broker.
    ///
    /// ```
    /// use kadenz_msg::provider::{Provider, amqp::Amqp, parameters::Address};
    ///
    /// let bus = Amqp::open(&Address::parse("amqp://localhost:5672?exchange=robot")?)?;
    /// assert_eq!(bus.guarantees().longest_payload, 64 << 20);
    /// # Ok::<(), kadenz_msg::provider::ProviderError>(())
    /// ```
    ///
    /// # Errors
    /// If the address or a parameter is invalid, or the password's file cannot be read.
    pub fn open(address: &Address) -> Result<Self, ProviderError> {
        let broker = address.endpoint("localhost", 5672)?;
        let mut parameters = address.parameters();
        let password = match parameters.text("password_file") {
            None => "guest".to_owned(),
            Some(file) => std::fs::read_to_string(file).map_err(|error| {
                address.wrong(format!("{file}: {error}"), "name a file that can be read")
            })?,
        };
        let account = Account {
            user: parameters.text("user").unwrap_or("guest").to_owned(),
            password: password.trim_end_matches(['\r', '\n']).to_owned(),
            virtual_host: parameters.text("vhost").unwrap_or("/").to_owned(),
            exchange: parameters.text("exchange").unwrap_or("kadenz").to_owned(),
        };
        let depth = parameters.number("depth", 1..=1 << 30)?.unwrap_or(10_000);
        let queue = parameters.bytes("queue")?.unwrap_or(4 << 20);
        let largest = parameters.bytes("largest")?.unwrap_or(64 << 20).max(1);
        parameters.finish()?;
        Ok(Self {
            address: address.clone(),
            broker: SocketAddress::Tcp(broker),
            account: Arc::new(account),
            depth: depth as u32,
            queue,
            largest,
        })
    }

    fn failed(&self, error: &io::Error) -> ProviderError {
        let remedy = "start the broker, or name its host and port in the URL";
        self.address.wrong(format!("no broker: {error}"), remedy)
    }

    /// Checks the progress of the connection until it is ready. `step` may do something meanwhile.
    fn until_ready(
        &self,
        status: &Lock<Status>,
        mut step: impl FnMut(),
    ) -> Result<(), ProviderError> {
        // Fails at once if no program listens, instead of after the timeout.
        self.broker.connect().map_err(|error| self.failed(&error))?;
        let end = clock::now() + LOGIN_TIMEOUT;
        while clock::now() < end {
            step();
            match status.with(|status| status.clone()) {
                Status::Waiting => {}
                Status::Ready => return Ok(()),
                Status::Refused(reason) => {
                    let remedy =
                        "give user, password_file, vhost and exchange as the broker knows them";
                    return Err(self
                        .address
                        .wrong(format!("the broker reports {reason}"), remedy));
                }
            }
        }
        let remedy = "look into its log: a broker closes the connection without a reason on a wrong password";
        Err(self.address.wrong("the broker accepts no login", remedy))
    }
}

impl Provider for Amqp {
    fn guarantees(&self) -> Guarantees {
        Guarantees {
            order: DeliveryOrder::Kept,
            loss: Loss::WhenSlow,
            back_pressure: BackPressure::Bounded(0),
            history: History::None,
            discovery: Discovery::Server,
            longest_payload: self.largest,
            real_time: true,
            zero_copy: false,
        }
    }

    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        let status = Arc::new(Lock::new(Status::default()));
        let (account, shared) = (Arc::clone(&self.account), Arc::clone(&status));
        let begin_handshake = move |buffer: &mut Vec<u8>| {
            session::PublisherSession::begin_handshake(buffer, &account, &shared)
        };
        let side = Side::Connect(self.broker.clone());
        let peers = PeerSet::start(side, self.queue, Box::new(begin_handshake));
        let peers = peers.map_err(|error| self.failed(&error))?;
        self.until_ready(&status, || thread::sleep(Duration::from_millis(2)))?;
        let outlet = AmqpOutlet {
            peers,
            exchange: self.account.exchange.clone(),
            numbers: Numbers::new(),
            head: Vec::with_capacity(512),
            long: Vec::new(),
        };
        Ok(Buffered::outlet(outlet, self.largest))
    }

    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
        let failed = |error: io::Error| self.failed(&error);
        let status = Arc::new(Lock::new(Status::default()));
        let (account, shared) = (Arc::clone(&self.account), Arc::clone(&status));
        let (depth, largest) = (self.depth, self.largest);
        let begin_handshake = move |buffer: &mut Vec<u8>| {
            subscribing::ConsumerSession::begin_handshake(buffer, &account, &shared, depth, largest)
        };
        let mut receiver = PeerReceiver::new(self.largest + AROUND).map_err(failed)?;
        receiver.connect(0, self.broker.clone(), Box::new(begin_handshake));
        self.until_ready(&status, || {
            // No key is bound yet, so that no message can arrive; a broken connection is made again.
            let soon = Wait::Until(clock::now() + Duration::from_millis(5));
            let _ = receiver.receive(soon, &mut |_| More::GoOn);
        })?;
        Ok(Box::new(PeerInlet::numbered(receiver)))
    }
}

#[derive(Debug)]
struct AmqpOutlet {
    peers: PeerSet<session::PublisherSession>,
    exchange: String,
    numbers: Numbers,
    /// The frames before a body.
    head: Vec<u8>,
    /// The frames of a body that needs more than one.
    long: Vec<u8>,
}

impl Publish for AmqpOutlet {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        let note = self.numbers.note(channel);
        let Self {
            peers, head, long, ..
        } = self;
        head.clear();
        wire::publish(head, &self.exchange, channel.as_str(), payload.len(), &note);
        let frame = peers
            .first_peer(session::PublisherSession::frame)
            .unwrap_or(4096);
        let is_long = payload.len() > frame;
        let mut tail = &[wire::END][..];
        let mut body = payload;
        if is_long {
            long.clear();
            for part in payload.chunks(frame) {
                long.extend_from_slice(&wire::body_head(part.len()));
                long.extend_from_slice(part);
                long.push(wire::END);
            }
            (body, tail) = (long, &[]);
        } else if payload.is_empty() {
            tail = &[];
        } else {
            head.extend_from_slice(&wire::body_head(payload.len()));
        }
        let sent = peers.publish(|broker| broker.is_ready.then_some([head, body, tail]));
        if sent.taken > 0 {
            return Ok(());
        }
        self.numbers.take_back(channel);
        let channel = *channel;
        Err(match sent.dropped {
            0 => PublishError::Refused {
                channel,
                reason: ErrorKind::NotConnected,
            },
            _ => PublishError::Full {
                channel,
                reason: "the broker does not keep up",
            },
        })
    }
}
