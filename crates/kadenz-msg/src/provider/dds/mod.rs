//! `dds://DOMAIN`: DDS, interoperable with Cyclone DDS, Fast DDS, RTI Connext and ROS 2. Behind the feature
//! `dds`.
//!
//! A bus is one topic, `kadenz_<bus>`, whose samples hold channel and payload; `docs/schema/kadenz.idl` has
//! its type, `kadenz::Message`, for the compilers of other DDS programs, which then take part. The
//! implementation is rustdds, which is Rust alone. An outlet is a DataWriter and an inlet a DataReader, so
//! that DDS's own numbers show the losses of every sender, of other programs too.
//!
//! Guarantees:
//!
//! - The order of each sender.
//! - Reliable, which is the default: nothing is lost between an outlet and an inlet that have found each
//!   other, while the inlet takes messages faster than `history` of them arrive; messages that it does not
//!   take are counted as overrun, the oldest first. Publishing waits, for `send_wait` at most, while that
//!   many messages are not acknowledged, and then fails because there is no room.
//! - Best effort: no outlet waits, and messages that the network or a slow inlet loses stay lost, and are
//!   counted.
//! - No history: an inlet gets the messages that are published after its start. Discovery takes a tenth of a
//!   second or two, in which messages reach no inlet. An outlet that is dropped waits, for `send_wait` at
//!   most, until its messages are acknowledged.
//! - Programs find each other by multicast, and on loopback, which has none, by asking the first 12
//!   participants of the domain on this host; further ones do not meet each other there. A program that
//!   publishes and subscribes is two of them.
//!
//! Cost: rustdds's thread stands between both ends, and allocates for every message. An inlet keeps the last
//! `history` messages in memory, also those that were taken: with large messages, make it small.
//!
//! Long messages: a message that does not fit into one datagram is sent in fragments of 256 bytes, many in a
//! datagram, all at once. They must fit into the receiver's socket buffer: losses there are repaired at some
//! 800 kB a second, or never, and messages behind wait. With `net.core.rmem_max` at 4 MiB, bare rustdds
//! carried messages of 6 MB on loopback, and of messages of 8 MB none; Debian's own limit is 208 KiB.
//!
//! Not possible: DDS partitions, security, IPv6 and shared memory, since rustdds has none of them (security
//! only with OpenSSL). **By `iface=lo` a bus announces itself on this host alone, but rustdds binds its
//! sockets to every address**: every host that reaches UDP ports 7400 + 250 * domain and above can still send
//! to it; a firewall must block unknown hosts. With best effort, an inlet receives nothing for as long as the
//! wall clock was set back.
//!
//! | parameter | what it is | without it |
//! |---|---|---|
//! | `bus` | its name; the topic is `kadenz_<bus>` | `messages` |
//! | `iface` | the interface of discovery: `lo`, a name, an IPv4 address, or `all` | `lo` |
//! | `reliability` | `reliable` or `best_effort`; a reliable inlet ignores best-effort outlets | `reliable` |
//! | `history` | messages that wait in an inlet, or for acknowledgement (at least 16) | 256 |
//! | `send_wait` | how long a reliable outlet waits for acknowledgements | 100ms |
//! | `largest` | the longest payload, in bytes | 4MiB |
//! | `recv_buf_size` | room for datagrams that wait to be read | 8 MiB, as far as allowed |

mod inlet;
mod outlet;
mod settings;
pub(super) mod wire;

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex};

use rustdds::bytes::Bytes;
use rustdds::no_key::{Decode, DeserializerAdapter, SerializerAdapter};
use rustdds::{
    DomainParticipant, DomainParticipantBuilder, QosPolicies, RepresentationIdentifier, Topic,
    TopicKind,
};

use super::parameters::Address;
use super::{
    BackPressure, DeliveryOrder, Discovery, Guarantees, History, Inlet, Loss, Outlet, Provider,
    ProviderError,
};
use crate::channel::{Channel, Pattern};
use crate::sync::lock;
use settings::DdsSettings;

/// The type of a topic's samples.
const TYPE: &str = "kadenz::Message";

/// A domain of DDS.
#[derive(Debug, Clone)]
pub struct Dds(Arc<DdsBus>);

/// A domain of DDS, with the participants in it that outlets and inlets share.
#[derive(Debug)]
struct DdsBus {
    address: Address,
    settings: DdsSettings,
    /// One for outlets and one for inlets, since a participant whose only interface is loopback sends nothing
    /// to itself.
    publishing: Mutex<Option<Arc<Participant>>>,
    subscribing: Mutex<Option<Arc<Participant>>>,
}

/// A participant of the domain.
struct Participant {
    topic: Topic,
    policies: QosPolicies,
    participant: DomainParticipant,
}

impl fmt::Debug for Participant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Participant");
        shown.field("participant", &self.participant.participant_id());
        shown.finish_non_exhaustive()
    }
}

impl DdsBus {
    /// Joins the domain, unless that was done before. Starts rustdds's two threads.
    fn join(
        &self,
        joined: &Mutex<Option<Arc<Participant>>>,
    ) -> Result<Arc<Participant>, ProviderError> {
        let mut joined = lock(joined);
        if let Some(joined) = &*joined {
            return Ok(Arc::clone(joined));
        }
        let new = Arc::new(self.participate()?);
        *joined = Some(Arc::clone(&new));
        Ok(new)
    }

    fn participate(&self) -> Result<Participant, ProviderError> {
        let settings = &self.settings;
        let mut builder = DomainParticipantBuilder::new(settings.domain);
        if let Some(interfaces) = &settings.interfaces {
            builder = builder.with_only_networks(interfaces.clone());
        }
        if let Some(bytes) = settings.receive_buffer {
            builder = builder.socket_receive_buffer_size(bytes);
        }
        let built = builder.build();
        let participant = built.map_err(|error| self.failed("no participant", &error))?;
        let policies = settings.policies();
        let (name, kind) = (settings.topic.clone(), TYPE.to_owned());
        let created = participant.create_topic(name, kind, &policies, TopicKind::NoKey);
        Ok(Participant {
            topic: created.map_err(|error| self.failed("no topic", &error))?,
            policies,
            participant,
        })
    }

    fn failed(&self, what: &str, error: &dyn fmt::Display) -> ProviderError {
        let remedy = "look by `ss -ulnp` whether ports are free for one more participant (a domain has 120), \
                      or take another domain";
        self.address.wrong(format!("{what}: {error}"), remedy)
    }
}

impl Dds {
    /// Opens the provider that a URL describes. It joins nothing yet: the first outlet and the first inlet
    /// each join the domain, and start two threads of rustdds.
    ///
    /// ```
    /// use kadenz_msg::provider::{Provider, dds::Dds, parameters::Address};
    ///
    /// let bus = Dds::open(&Address::parse("dds://0?bus=robot&iface=lo")?)?;
    /// assert!(!bus.guarantees().real_time);
    /// # Ok::<(), kadenz_msg::provider::ProviderError>(())
    /// ```
    ///
    /// # Errors
    /// If the domain or a parameter is invalid.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    pub fn open(address: &Address) -> Result<Self, ProviderError> {
        Ok(Self(Arc::new(DdsBus {
            address: address.clone(),
            settings: DdsSettings::read(address)?,
            publishing: Mutex::default(),
            subscribing: Mutex::default(),
        })))
    }
}

impl Provider for Dds {
    fn guarantees(&self) -> Guarantees {
        let settings = &self.0.settings;
        Guarantees {
            order: DeliveryOrder::Kept,
            loss: if settings.reliable {
                Loss::WhenSlow
            } else {
                Loss::Network
            },
            back_pressure: if settings.reliable {
                BackPressure::Bounded(settings.longest_wait_ms())
            } else {
                BackPressure::None
            },
            history: History::None,
            discovery: Discovery::Multicast,
            longest_payload: settings.largest,
            real_time: false,
            zero_copy: false,
        }
    }

    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        Ok(Box::new(outlet::DdsOutlet::new(&self.0)?))
    }

    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
        Ok(Box::new(inlet::DdsInlet::new(&self.0)?))
    }
}

// The conversion between messages and bytes for rustdds.

/// The CDR serialisation of both ends.
struct Cdr;

/// A message that is written already, the lowest byte of a length first.
struct Written(Bytes);

impl SerializerAdapter<Written> for Cdr {
    type Error = Infallible;

    fn output_encoding() -> RepresentationIdentifier {
        RepresentationIdentifier::CDR_LE
    }

    fn to_bytes(message: &Written) -> Result<Bytes, Infallible> {
        Ok(message.0.clone())
    }
}

/// A received sample.
enum ReceivedSample {
    /// A message that is wanted, copied.
    Message { channel: Channel, payload: Vec<u8> },
    /// A message on a channel that no subscription wants.
    Unwanted { channel: Channel },
    /// No message at all.
    Malformed,
}

impl DeserializerAdapter<ReceivedSample> for Cdr {
    type Error = Infallible;
    type Decoded = ReceivedSample;

    fn supported_encodings() -> &'static [RepresentationIdentifier] {
        &[
            RepresentationIdentifier::CDR_LE,
            RepresentationIdentifier::CDR_BE,
        ]
    }

    fn transform_decoded(came: ReceivedSample) -> ReceivedSample {
        came
    }
}

/// Copies the payloads of wanted channels alone.
#[derive(Clone, Copy)]
struct TopicFilter<'a> {
    wanted: &'a [Pattern],
    /// The longest payload that is taken.
    largest: usize,
}

impl<'de> Decode<'de, ReceivedSample> for TopicFilter<'_> {
    type Error = Infallible;

    fn decode_bytes(
        self,
        bytes: &'de [u8],
        encoding: RepresentationIdentifier,
    ) -> Result<ReceivedSample, Infallible> {
        let order = if encoding == RepresentationIdentifier::CDR_BE {
            wire::ByteOrder::Big
        } else {
            wire::ByteOrder::Little
        };
        let received =
            wire::read(bytes, order).filter(|received| received.payload.len() <= self.largest);
        let named = received
            .and_then(|received| Some((Channel::new(received.channel).ok()?, received.payload)));
        let Some((channel, payload)) = named else {
            return Ok(ReceivedSample::Malformed);
        };
        if !self.wanted.iter().any(|it| it.matches(channel.as_str())) {
            return Ok(ReceivedSample::Unwanted { channel });
        }
        let payload = payload.to_vec();
        Ok(ReceivedSample::Message { channel, payload })
    }
}
