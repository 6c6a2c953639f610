//! What became of packets, as JSON.

use kadenz_record::run::network::{
    Broadcasts, Flow, Interface, LostHere, Places, ToldBy, WirePath,
};
use serde::Serialize;

use super::TestbedOutput;
use crate::summary::Summary;
use crate::verdict::{broadcasts, packets, wire};

/// What a network measurement counted; times stand in its series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkOutput {
    /// Bytes of UDP payload a packet carries.
    pub payload_bytes: u32,
    /// The counts in words.
    pub answer: String,
    /// All flows together.
    pub total: FlowOutput,
    /// A device each.
    pub flows: Vec<FlowOutput>,
    /// The interface that the packets go through; `null` where nobody tells.
    pub interface: Option<InterfaceOutput>,
    /// What was lost on this machine; `null` where nobody tells.
    pub here: Option<LostHereOutput>,
    /// Packets that belonged to no flow.
    pub foreign: u64,
    /// The links to the devices; `null` where nobody tells.
    pub path: Option<PathOutput>,
    /// The testbed that the run was taken in; `null` on a real network.
    pub testbed: Option<TestbedOutput>,
    /// How devices answered broadcasts together; `null` where nobody was asked by them.
    pub broadcasts: Option<BroadcastsOutput>,
}

/// The links to the devices, and what of a round trip is wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathOutput {
    /// In words.
    pub connection: String,
    /// Each link in bits a second, from this machine on.
    pub links_bit_s: Vec<u64>,
    /// `user`, `testbed`, `interface` (one link is assumed) or `loopback`.
    pub told_by: ToldBy,
    /// How long one packet and its answer are on the wire.
    pub round_trip_ns: u64,
}

/// How devices answered broadcasts together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BroadcastsOutput {
    /// In words; `null` of a single device.
    pub answer: Option<String>,
    /// Broadcasts whose answers were awaited.
    pub sent: u64,
    /// Broadcasts that every device answered.
    pub complete: u64,
    /// Kendall's W of the orders of answers; `null` of fewer than two broadcasts or devices.
    pub concordance: Option<f64>,
    /// The most answers that the program found waiting at once.
    pub most_at_once: u64,
    /// Bytes that an answer takes of an Ethernet link.
    pub answer_bytes: u32,
}

/// A device's places among the answers to broadcasts; 1 is the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlacesOutput {
    /// Broadcasts that it answered.
    pub answers: u64,
    /// Broadcasts that it answered before all others.
    pub first: u64,
    /// Broadcasts that it answered after all others, and none was missing.
    pub last: u64,
    /// Its first place; 0 if it never answered.
    pub lowest: u32,
    /// Its last place; 0 if it never answered.
    pub highest: u32,
    /// Its mean place; `null` if it never answered.
    pub mean: Option<f64>,
}

/// What became of the packets of a device, or of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowOutput {
    /// The device's name; `all` for the total.
    pub device: String,
    /// Address and port; empty for the total.
    pub address: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets answered in time.
    pub answered: u64,
    /// Packets without an answer in time.
    pub lost: u64,
    /// One-sided 95 % upper bound of the share that is lost (Clopper and Pearson).
    pub loss_upper_bound_95: f64,
    /// Answers that had come before.
    pub duplicates: u64,
    /// Answers that came after the answer to a later packet.
    pub reordered: u64,
    /// Answers that came after the timeout.
    pub late: u64,
    /// Most packets lost in a row.
    pub longest_loss: u64,
    /// In which places it answered broadcasts; `null` where nobody was asked by them, and for the total.
    pub places: Option<PlacesOutput>,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InterfaceOutput {
    /// Name.
    pub name: String,
    /// `loopback`, `wired`, `wireless`, `virtual`, ...
    pub kind: Option<String>,
    /// Driver.
    pub driver: Option<String>,
    /// Speed of the link in Mbit/s.
    pub speed_mbit_s: Option<u32>,
    /// Largest IP packet in bytes.
    pub mtu_bytes: Option<u32>,
}

/// Packets lost on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LostHereOutput {
    /// Dropped at the socket, its buffer being full.
    pub socket: u64,
    /// Dropped by the interface or its queue.
    pub interface: u64,
    /// Sends that the system refused.
    pub unsent: u64,
}

impl NetworkOutput {
    /// Of a run that sent packets.
    pub(super) fn new(summary: &Summary) -> Option<Self> {
        let network = summary.run.network.as_ref()?;
        let together = |it: Broadcasts| BroadcastsOutput::new(it, broadcasts::answer(summary));
        Some(Self {
            payload_bytes: network.payload_bytes,
            answer: packets::answer(network),
            total: FlowOutput::new(&packets::total(network)),
            flows: network.flows.iter().map(FlowOutput::new).collect(),
            interface: network.interface.as_ref().map(InterfaceOutput::new),
            here: network.here.map(LostHereOutput::new),
            foreign: network.foreign,
            path: network.path.as_ref().map(PathOutput::new),
            testbed: TestbedOutput::new(summary),
            broadcasts: network.broadcasts.map(together),
        })
    }
}

impl PathOutput {
    pub(super) fn new(path: &WirePath) -> Self {
        Self {
            connection: wire::connection(path),
            links_bit_s: path.links_bit_s.clone(),
            told_by: path.told_by,
            round_trip_ns: path.round_trip_ns,
        }
    }
}

impl BroadcastsOutput {
    fn new(told: Broadcasts, answer: Option<String>) -> Self {
        let Broadcasts {
            sent,
            complete,
            concordance,
            most_at_once,
            answer_bytes,
        } = told;
        Self {
            answer,
            sent,
            complete,
            concordance,
            most_at_once,
            answer_bytes,
        }
    }
}

impl PlacesOutput {
    fn new(places: Places) -> Self {
        Self {
            answers: places.answers,
            first: places.first,
            last: places.last,
            lowest: places.lowest,
            highest: places.highest,
            mean: places.mean(),
        }
    }
}

impl FlowOutput {
    fn new(flow: &Flow) -> Self {
        Self {
            device: flow.device.clone(),
            address: flow.address.clone(),
            sent: flow.sent,
            answered: flow.answered,
            lost: flow.lost,
            loss_upper_bound_95: packets::loss_bound(flow),
            duplicates: flow.duplicates,
            reordered: flow.reordered,
            late: flow.late,
            longest_loss: flow.longest_loss,
            places: flow.places.map(PlacesOutput::new),
        }
    }
}

impl InterfaceOutput {
    fn new(interface: &Interface) -> Self {
        let Interface {
            name,
            kind,
            driver,
            speed_mbit_s,
            mtu_bytes,
        } = interface.clone();
        Self {
            name,
            kind,
            driver,
            speed_mbit_s,
            mtu_bytes,
        }
    }
}

impl LostHereOutput {
    fn new(lost: LostHere) -> Self {
        let LostHere {
            socket,
            interface,
            unsent,
        } = lost;
        Self {
            socket,
            interface,
            unsent,
        }
    }
}
