//! `kadenz wire`.

use clap::Args;
use kadenz::lab::testbed::wire::{Burst, Chain, EthernetFrame, Payload, Tag};
use kadenz::lab::testbed::{ByteSize, LinkSpeed, Picoseconds};
use kadenz::report::document::{Answer, Document, Table, Version};
use kadenz::report::numbers;
use schemars::JsonSchema;
use serde::Serialize;

/// Compute the wire's share of a round trip
///
/// Pure arithmetic, no measurement: the length of a UDP datagram on Ethernet, the time it occupies a link, the time
/// of each store-and-forward hop, and the share of computers and switches in a measured round trip. With --devices,
/// also when the last of many answers to one broadcast has arrived.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz wire --size 200B --measured 193.8us                 two links of 100 Mbit/s, one switch
  kadenz wire --size 200B --links 100M,1G,100M               a second switch, reached by 1 Gbit/s
  kadenz wire --size 200B --link 1G --devices 40 --device-link 100M
                                                             40 answers queue at one port
  kadenz wire --size 4kB --json | jq .frames                 a datagram in three fragments")]
pub(crate) struct Options {
    /// Bytes of the datagram's payload, in both directions
    #[arg(long = "size", value_name = "SIZE", default_value = "200B")]
    payload: ByteSize,

    /// The speed of every link
    #[arg(long, value_name = "SPEED", default_value = "100Mbit/s")]
    link: LinkSpeed,

    /// Switches between the two computers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(..=64))]
    switches: u8,

    /// The speed of each link from the sender on, instead of --link and --switches
    #[arg(long, value_name = "SPEEDS", value_delimiter = ',', conflicts_with_all = ["link", "switches"])]
    links: Vec<LinkSpeed>,

    /// Forwarding delay of each switch after it has received the frame
    #[arg(long, value_name = "SPAN", default_value = "0us")]
    forwarding: Picoseconds,

    /// Frames carry an 802.1Q tag
    #[arg(long)]
    vlan: bool,

    /// A measured round trip, to compute its share that is not wire
    #[arg(long, value_name = "SPAN")]
    measured: Option<Picoseconds>,

    /// This many devices on one switch answer a broadcast at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    devices: Option<u32>,

    /// The speed of each device's link [default: that of the last link]
    #[arg(long, value_name = "SPEED", requires = "devices")]
    device_link: Option<LinkSpeed>,
}

/// How long a datagram is on Ethernet. Times are in nanoseconds, exact to the picosecond.
#[derive(JsonSchema, Serialize)]
pub(super) struct WireTimes {
    version: Version<1>,
    payload_bytes: u32,
    /// Headers, check sequences and padding; neither preamble nor gap.
    overhead_bytes: u32,
    #[schemars(length(min = 1))]
    frames: Vec<FrameSize>,
    /// The links from the sender on.
    #[schemars(length(min = 1))]
    links: Vec<LinkTimes>,
    switches: usize,
    #[schemars(range(min = 0.0))]
    forwarding_ns: f64,
    #[schemars(range(min = 0.0))]
    one_way_ns: f64,
    #[schemars(range(min = 0.0))]
    round_trip_ns: f64,
    #[schemars(range(min = 0.0))]
    measured_ns: Option<f64>,
    /// The measured round trip less the computed one.
    not_wire_ns: Option<f64>,
    burst: Option<BurstTimes>,
}

#[derive(JsonSchema, Serialize)]
struct FrameSize {
    /// From the destination to the check sequence.
    bytes: u32,
    /// With preamble and gap.
    bytes_on_link: u32,
}

#[derive(JsonSchema, Serialize)]
struct LinkTimes {
    bits_per_second: u64,
    /// How long the frames occupy the link.
    #[schemars(range(min = 0.0))]
    occupancy_ns: f64,
    /// Store-and-forward time of one hop on this link, summed over all frames.
    #[schemars(range(min = 0.0))]
    store_and_forward_ns: f64,
    #[serde(skip)]
    speed: LinkSpeed,
}

#[derive(JsonSchema, Serialize)]
struct BurstTimes {
    devices: u32,
    /// Time since the broadcast was sent, if devices answer at once.
    #[schemars(range(min = 0.0))]
    first_reply_ns: f64,
    #[schemars(range(min = 0.0))]
    last_reply_ns: f64,
    #[schemars(range(min = 0.0))]
    last_reply_since_answer_ns: f64,
    /// The most bytes of the answers in the switch's buffer.
    buffer_bytes: u64,
    /// A device's link, for people.
    #[serde(skip)]
    link: LinkTimes,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<WireTimes> {
    WireTimes::of(options)
}

impl FrameSize {
    fn of(frame: &EthernetFrame) -> Self {
        Self {
            bytes: frame.bytes(),
            bytes_on_link: frame.bytes_on_link(),
        }
    }
}

impl LinkTimes {
    /// The times of a datagram's frames on a link of this speed.
    fn of(frames: &[EthernetFrame], speed: LinkSpeed) -> Self {
        let occupancy = frames.iter().map(|it| it.occupancy(speed).time());
        let hop = frames.iter().map(|it| it.store_and_forward(speed).time());
        Self {
            bits_per_second: speed.bits_per_second(),
            occupancy_ns: occupancy.sum::<Picoseconds>().as_ns_f64(),
            store_and_forward_ns: hop.sum::<Picoseconds>().as_ns_f64(),
            speed,
        }
    }
}

impl BurstTimes {
    fn of(burst: &Burst, frame: EthernetFrame) -> Self {
        let last = burst.reply(burst.devices, frame);
        Self {
            devices: burst.devices,
            first_reply_ns: burst.reply(1, frame).since_broadcast.as_ns_f64(),
            last_reply_ns: last.since_broadcast.as_ns_f64(),
            last_reply_since_answer_ns: last.since_answer.as_ns_f64(),
            buffer_bytes: burst.buffer(frame).0,
            link: LinkTimes::of(&[frame], burst.device_speed),
        }
    }
}

impl Answer for WireTimes {
    fn document(&self) -> Document {
        let on_link: u32 = self.frames.iter().map(|it| it.bytes_on_link).sum();
        let frames = match self.frames.len() {
            1 => "one frame".to_owned(),
            n => format!("{n} frames (IPv4 fragments)"),
        };
        let document = Document::new()
            .sentence(format!(
                "{} bytes of payload are {frames}, {} bytes with {} of headers and check sequence; {on_link} \
                 on the link with preamble and gap.",
                self.payload_bytes,
                self.payload_bytes + self.overhead_bytes,
                self.overhead_bytes,
            ))
            .table(self.table())
            .sentence(self.ways());
        let document = document.sentences(self.measured());
        let Some(burst) = &self.burst else {
            return document;
        };
        document.sentence(format!(
            "{} answers to one broadcast: the first after {}, the last after {} if a device answers \
             at once. Until then they take up to {} bytes of the switch's buffer.",
            burst.devices,
            numbers::value(burst.first_reply_ns),
            numbers::value(burst.last_reply_ns),
            numbers::thousands(burst.buffer_bytes),
        ))
    }
}

impl WireTimes {
    fn of(options: &Options) -> anyhow::Result<Self> {
        let payload = Payload::new(options.payload.0)?;
        let tag = if options.vlan { Tag::Vlan } else { Tag::None };
        let frames: Vec<EthernetFrame> = payload.frames(tag).collect();
        let links = match options.links.as_slice() {
            [] => vec![options.link; usize::from(options.switches) + 1],
            links => links.to_vec(),
        };
        let burst = options.devices.map(|devices| Burst {
            devices,
            device_speed: options.device_link.unwrap_or(links[links.len() - 1]),
            controller_speed: links[0],
            forwarding: options.forwarding,
        });
        anyhow::ensure!(
            burst.is_none() || frames.len() == 1,
            "--devices takes answers of one frame; larger ones are for \
             `kadenz testbed model forty-devices --broadcast --size ...`"
        );
        let chain = Chain::new(links)?.with_forwarding(options.forwarding);
        let wire = chain.round_trip(payload, tag);
        anyhow::ensure!(
            options.measured.is_none_or(|measured| measured >= wire),
            "--measured {} is less than the {wire} of the wire alone; check payload and links",
            options.measured.unwrap_or_default()
        );
        let not_wire = options.measured.map(|measured| measured.since(wire));
        let links = chain.links().iter();
        Ok(Self {
            version: Version,
            payload_bytes: payload.bytes(),
            overhead_bytes: payload.overhead(tag),
            links: links.map(|speed| LinkTimes::of(&frames, *speed)).collect(),
            switches: chain.switches(),
            forwarding_ns: options.forwarding.as_ns_f64(),
            one_way_ns: chain.one_way(payload, tag).as_ns_f64(),
            round_trip_ns: wire.as_ns_f64(),
            measured_ns: options.measured.map(Picoseconds::as_ns_f64),
            not_wire_ns: not_wire.map(Picoseconds::as_ns_f64),
            burst: burst.map(|burst| BurstTimes::of(&burst, frames[0])),
            frames: frames.iter().map(FrameSize::of).collect(),
        })
    }

    fn ways(&self) -> String {
        let hops = self.links.len();
        format!(
            "One way over {hops} {} and {} {}: {}. There and back: {}.",
            plural(hops, "link", "links"),
            self.switches,
            plural(self.switches, "switch", "switches"),
            numbers::value(self.one_way_ns),
            numbers::value(self.round_trip_ns),
        )
    }

    fn measured(&self) -> Option<String> {
        let (measured, rest) = (self.measured_ns?, self.not_wire_ns?);
        Some(format!(
            "Of the measured {} that leaves {} that are not wire ({}).",
            numbers::value(measured),
            numbers::value(rest),
            numbers::percentage(rest / measured.max(f64::MIN_POSITIVE)),
        ))
    }

    /// A row for each link speed.
    fn table(&self) -> Table {
        let devices = self.burst.iter().map(|burst| &burst.link);
        let mut links: Vec<&LinkTimes> = self.links.iter().chain(devices).collect();
        links.sort_by_key(|it| it.speed);
        links.dedup_by_key(|it| it.speed);
        let rows = links.into_iter().map(|it| {
            vec![
                it.speed.to_string(),
                numbers::value(it.occupancy_ns),
                numbers::value(it.store_and_forward_ns),
                numbers::thousands((1e9 / it.occupancy_ns) as u64),
            ]
        });
        let head = [
            "link",
            "occupancy",
            "store-and-forward delay",
            "datagrams/s",
        ];
        Table::new(&head, 1, rows.collect())
    }
}

fn plural<'a>(count: usize, one: &'a str, more: &'a str) -> &'a str {
    if count == 1 { one } else { more }
}
