//! `udpm://`: LCM's own transport, by multicast of UDP datagrams; every LCM program takes part unchanged.
//!
//! `udpm://239.255.76.67:7667?ttl=0` is LCM's default. Order is as the network delivers, which on one host
//! and in one switched network is the order of sending. A slow receiver loses the datagrams that its socket's
//! buffer does not hold, and networks lose some; both are counted, the first by the kernel, all by the
//! senders' numbers. No receiver slows a publisher.
//!
//! One thread waits in the call that receives and hands the message to its subscriptions; LCM's receivers
//! need a second thread and a pipe. Every message carries the kernel's stamp. After the first messages,
//! publishing and receiving allocate nothing.
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `ttl` | networks that a datagram may pass; 0 keeps it on this host | 0 |
//! | `iface` | the interface to send and receive by | as the routes lead |
//! | `recv_buf_size` | room for datagrams that wait to be read | 8MB, as far as allowed |
//! | `send_buf_size` | room for datagrams that wait to be sent | as the system is set up |
//! | `send_wait` | how long a long message waits for such room | 100ms |
//! | `reassembly` | memory for messages of which parts are missing; none may be longer | 16MiB |
//! | `fragment` | bytes of a long message in a datagram; 1423 keeps it in an Ethernet frame | 65487 |
//! | `busy_poll` | how long a receiver polls the card before it sleeps | 0 |
//! | `priority` | `SO_PRIORITY` of sent datagrams | 0 |
//! | `dscp` | the priority for switches, 0 to 63 | 0 |

mod inlet;
mod outlet;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::port::{Inbox, Multicast, OpenPortError, PortOptions, Stamping, UdpPort, Wait};
use kadenz_rt::tuning::Measure;

use super::parameters::Address;
use super::stream::Buffered;
use super::{
    BackPressure, DeliveryOrder, Discovery, Guarantees, History, Inlet, Loss, Outlet, Provider,
    ProviderError,
};
use crate::channel::Channel;
use crate::sync::Lock;
use crate::wire::{
    FRAGMENT_BYTES, Fragments, MAX_MESSAGE, Packet, ReassemblyLimits, SELF_TEST, short_header,
};
use inlet::UdpmInlet;
use outlet::UdpmOutlet;

/// LCM's default group.
const GROUP: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 255, 76, 67));
/// LCM's default port.
const PORT: u16 = 7667;
/// The receive buffer if the URL sets none: LCM leaves it at the system's 208 KiB, which three datagrams of a
/// long message fill.
const RECEIVE_BUFFER: usize = 8_000_000;

/// A multicast group, to which LCM's programs publish by UDP.
#[derive(Debug)]
pub struct Udpm {
    options: Options,
    measures: Arc<Lock<Vec<Measure>>>,
}

/// The parameters of a URL.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    address: Address,
    pub(crate) group: SocketAddr,
    /// How many networks a datagram may pass.
    pub(crate) ttl: u8,
    pub(crate) interface: Option<String>,
    receive_buffer: Option<usize>,
    send_buffer: Option<usize>,
    send_wait: Duration,
    reassembly: usize,
    fragment: usize,
    busy_poll: Option<Duration>,
    priority: Option<u32>,
    dscp: Option<u8>,
}

impl Udpm {
    /// Opens the provider that a URL describes. It opens no socket yet.
    ///
    /// ```
    /// use kadenz_msg::provider::parameters::Address;
    /// use kadenz_msg::provider::udpm::Udpm;
    ///
    /// Udpm::open(&Address::parse("udpm://239.255.76.67:7667?ttl=1&iface=eth0&dscp=46")?)?;
    /// let error = Udpm::open(&Address::parse("udpm://10.0.0.1:7667")?).unwrap_err();
    /// assert!(error.to_string().contains("not a multicast group"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the address is not a multicast group, or a parameter is unknown or invalid.
    pub fn open(address: &Address) -> Result<Self, ProviderError> {
        Ok(Self {
            options: Options::read(address)?,
            measures: Arc::new(Lock::new(Vec::new())),
        })
    }

    /// Returns the parameters of the URL.
    pub(crate) fn asked(&self) -> &Options {
        &self.options
    }

    fn port(&self, options: &PortOptions) -> Result<UdpPort, ProviderError> {
        let port = self.options.open_port(options)?;
        let measures = port.granted().measures.clone();
        self.measures.with(|all| add(all, measures));
        Ok(port)
    }
}

/// Adds the measures that are not there yet: many outlets request the same.
fn add(all: &mut Vec<Measure>, measures: Vec<Measure>) {
    for measure in measures {
        if !all.contains(&measure) {
            all.push(measure);
        }
    }
}

impl Provider for Udpm {
    fn guarantees(&self) -> Guarantees {
        Guarantees {
            order: DeliveryOrder::AsDelivered,
            loss: Loss::Network,
            back_pressure: BackPressure::None,
            history: History::None,
            discovery: Discovery::Multicast,
            longest_payload: self.options.longest(),
            real_time: true,
            zero_copy: false,
        }
    }

    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        let port = self.port(&self.options.sending())?;
        let outlet = UdpmOutlet::new(port, &self.options);
        Ok(Buffered::outlet(outlet, self.options.longest()))
    }

    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
        let inlet = UdpmInlet::new(self.options.clone(), Arc::clone(&self.measures));
        Ok(Box::new(inlet?))
    }

    fn measures(&self) -> Vec<Measure> {
        self.measures.with(|all| all.clone())
    }
}

impl Options {
    pub(crate) fn read(address: &Address) -> Result<Self, ProviderError> {
        let group = address.socket_address(GROUP, PORT)?;
        let remedy =
            "give one of 224.0.0.0 to 239.255.255.255, or of ff00::/8; LCM's is 239.255.76.67";
        if !group.ip().is_multicast() {
            return Err(address.wrong(format!("{} is not a multicast group", group.ip()), remedy));
        }
        let mut given = address.parameters();
        let limits = ReassemblyLimits::default();
        let shortest = Fragments::MIN_BUDGET as u64;
        let options = Self {
            address: address.clone(),
            group,
            ttl: small(given.number("ttl", 0..=255)?).unwrap_or(0),
            interface: given.text("iface").map(str::to_owned),
            receive_buffer: given.bytes("recv_buf_size")?.filter(|bytes| *bytes > 0),
            send_buffer: given.bytes("send_buf_size")?.filter(|bytes| *bytes > 0),
            send_wait: given
                .span("send_wait")?
                .unwrap_or(Duration::from_millis(100)),
            reassembly: given.bytes("reassembly")?.unwrap_or(limits.bytes),
            fragment: given
                .number("fragment", shortest..=FRAGMENT_BYTES as u64)?
                .map_or(FRAGMENT_BYTES, |bytes| bytes as usize),
            busy_poll: given.span("busy_poll")?,
            priority: given.number("priority", 0..=15)?.map(|it| it as u32),
            dscp: small(given.number("dscp", 0..=63)?),
        };
        given.finish()?;
        Ok(options)
    }

    /// The longest message that a receiver of the same URL can put together: its memory also holds eight
    /// bytes for each fragment.
    fn longest(&self) -> usize {
        let fragments = self.reassembly / self.fragment + 2;
        self.reassembly
            .saturating_sub(8 * fragments)
            .min(MAX_MESSAGE)
    }

    /// Room for datagrams that wait to be read, in bytes.
    pub(crate) fn receive_buffer(&self) -> usize {
        self.receive_buffer.unwrap_or(RECEIVE_BUFFER)
    }

    fn multicast(&self, join: Option<IpAddr>) -> Multicast {
        Multicast {
            join,
            interface: self.interface.clone(),
            hops: self.ttl,
            loopback: true,
        }
    }

    fn sending(&self) -> PortOptions {
        let any: IpAddr = if self.group.is_ipv4() {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            std::net::Ipv6Addr::UNSPECIFIED.into()
        };
        PortOptions {
            local: SocketAddr::new(any, 0),
            multicast: Some(self.multicast(None)),
            send_buffer: self.send_buffer,
            priority: self.priority,
            type_of_service: self.dscp.map(|dscp| dscp << 2),
            ..PortOptions::default()
        }
    }

    fn receiving(&self) -> PortOptions {
        PortOptions {
            local: self.group,
            share_address: true,
            multicast: Some(self.multicast(Some(self.group.ip()))),
            wakers_may_be_late: true,
            receive_buffer: Some(self.receive_buffer()),
            busy_poll: self.busy_poll,
            receive_stamps: Stamping::Software,
            ..PortOptions::default()
        }
    }

    fn open_port(&self, options: &PortOptions) -> Result<UdpPort, ProviderError> {
        UdpPort::open(options).map_err(|error| {
            let doctor = format!(
                "`kadenz msg doctor --url '{}'` examines the network",
                self.address.as_str()
            );
            let reason = match &error {
                OpenPortError::Address { .. } => {
                    format!("{error}, or listen where the others share it")
                }
                _ => error.to_string(),
            };
            self.address.wrong(reason, doctor)
        })
    }
}

/// A number whose range was checked.
fn small(number: Option<u64>) -> Option<u8> {
    number.and_then(|number| u8::try_from(number).ok())
}

// Whether this host receives its own datagrams, tested without disturbing other programs.

/// Whether a host receives the datagrams that it sends to a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SelfTest {
    /// The host receives them.
    Heard {
        /// The time that the first received datagram took, with the scheduler's share.
        after: Duration,
    },
    /// No datagram came back.
    Silent {
        /// How many datagrams were sent.
        sent: u32,
    },
    /// A socket was refused, or could not send.
    Refused {
        /// Why the socket was refused, in words.
        why: String,
    },
}

/// How often a datagram is sent.
const TRIES: u32 = 5;
/// How long each is waited for.
const REPLY_TIMEOUT: Duration = Duration::from_millis(200);

impl Udpm {
    /// Sends on LCM's own channel for this, which every LCM program ignores, and listens; up to a
    /// second.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    pub(crate) fn self_test(&self) -> SelfTest {
        self.try_self_test()
            .unwrap_or_else(|why| SelfTest::Refused { why })
    }

    fn try_self_test(&self) -> Result<SelfTest, String> {
        let mut receiver = self
            .port(&self.options.receiving())
            .map_err(|it| it.reason)?;
        let mut mouth = self.port(&self.options.sending()).map_err(|it| it.reason)?;
        let channel = Channel::new(SELF_TEST).map_err(|it| it.to_string())?;
        let mut inbox = Inbox::new(8, 200);
        for number in 0..TRIES {
            let begun = clock::now();
            // No other program sends the same bytes.
            let mark = begun.as_ns().to_be_bytes();
            let header = short_header(number, &channel);
            let sent = mouth.send_parts([header.bytes(), &mark], self.options.group);
            sent.map_err(|error| error.to_string())?;
            if receives(&mut receiver, &mut inbox, &mark, begun + REPLY_TIMEOUT) {
                let after = clock::now().remaining(begun);
                return Ok(SelfTest::Heard { after });
            }
        }
        Ok(SelfTest::Silent { sent: TRIES })
    }
}

fn receives(receiver: &mut UdpPort, inbox: &mut Inbox, mark: &[u8], until: MonotonicTime) -> bool {
    while clock::now() < until {
        let _ = receiver.receive_batch(inbox, Wait::Until(until));
        let is_received = inbox.datagrams().any(|datagram| {
            let packet = Packet::parse(datagram.bytes);
            matches!(packet, Ok(Packet::Short { payload, .. }) if payload == mark)
        });
        if is_received {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;
