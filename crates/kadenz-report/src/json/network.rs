//! Counts of packets, and the testbed in which they were sent, as JSON.

use kadenz_record::run::network::{Broadcasts, Flow, Interface, LostHere, Places};
use kadenz_record::run::testbed::TestbedLink;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::broadcasts;
use crate::answers::testbed::{self, Beside};
use crate::summary::{Summary, TestbedError};
use crate::verdict::packets;
use crate::verdict::wire::PathOutput;

/// Counts of a network measurement; its series hold the times.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct NetworkOutput<'a> {
    /// Bytes of a packet's UDP payload.
    payload_bytes: u32,
    /// The counts in words.
    answer: String,
    /// The counts of all flows together.
    total: FlowOutput,
    /// One flow per device.
    flows: Vec<FlowOutput>,
    /// The interface that the packets use; `null` where it is unknown.
    interface: Option<InterfaceOutput<'a>>,
    /// Losses on this machine; `null` where they are unknown.
    here: Option<LostHere>,
    /// Packets that belonged to no flow.
    foreign: u64,
    /// The links to the devices; `null` where they are unknown.
    path: Option<PathOutput<'a>>,
    /// The testbed of the run; `null` on a real network.
    testbed: Option<TestbedOutput<'a>>,
    /// How devices answered broadcasts together; `null` where no broadcasts were sent.
    broadcasts: Option<BroadcastsOutput>,
}

/// How devices answered broadcasts together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct BroadcastsOutput {
    /// In words; `null` for a single device.
    answer: Option<String>,
    /// Broadcasts whose answers were awaited.
    sent: u64,
    /// Broadcasts that every device answered.
    complete: u64,
    /// Kendall's W of the orders of answers; `null` for fewer than two broadcasts or devices.
    concordance: Option<f64>,
    /// The most answers that the program found waiting at once.
    most_at_once: u64,
    /// Bytes that an answer occupies on an Ethernet link.
    answer_bytes: u32,
}

/// A device's places among the answers to broadcasts; 1 is the first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct PlacesOutput {
    /// Broadcasts that it answered.
    answers: u64,
    /// Broadcasts that it answered before all others.
    first: u64,
    /// Broadcasts that it answered after all other devices, all of which had answered.
    last: u64,
    /// Its first place; 0 if it never answered.
    lowest: u32,
    /// Its last place; 0 if it never answered.
    highest: u32,
    /// Its mean place; `null` if it never answered.
    mean: Option<f64>,
}

/// Counts of the packets of a device, or of all.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct FlowOutput {
    /// The device's name; `all` for the total.
    device: String,
    /// Address and port; empty for the total.
    address: String,
    /// Packets sent, answered or not.
    sent: u64,
    /// Packets answered in time.
    answered: u64,
    /// Packets without an answer in time.
    lost: u64,
    /// One-sided 95 % upper bound of the share that is lost (Clopper and Pearson).
    #[schemars(range(min = 0, max = 1))]
    loss_upper_bound_95: f64,
    /// Answers that had come before.
    duplicates: u64,
    /// Answers that came after the answer to a later packet.
    reordered: u64,
    /// Answers that came after the timeout.
    late: u64,
    /// Most packets lost in a row.
    longest_loss: u64,
    /// In which places it answered broadcasts; `null` where no broadcasts were sent, and for the total.
    places: Option<PlacesOutput>,
}

/// The network interface of the measurement, as far as it is known.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct InterfaceOutput<'a> {
    /// Name of the interface, for example `eth0`.
    name: &'a str,
    /// `loopback`, `wired`, `wireless`, `virtual`, ...
    kind: Option<&'a str>,
    /// Name of the driver, for example `r8169`; `null` where it is unknown.
    driver: Option<&'a str>,
    /// Speed of the link in Mbit/s.
    speed_mbit_s: Option<u32>,
    /// Largest IP packet in bytes.
    mtu_bytes: Option<u32>,
}

/// The testbed of a run: its topology, the results of ideal hosts there, and its own lateness.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct TestbedOutput<'a> {
    /// Name of the topology.
    topology: &'a str,
    /// Folder name of the testbed's own run.
    run: &'a str,
    /// The host of the measurement.
    host: &'a str,
    /// Names of all hosts of the topology.
    hosts: &'a [String],
    /// Names of all switches of the topology.
    switches: Vec<&'a str>,
    /// All links of the topology.
    links: &'a [TestbedLink],
    /// Round trips of the model, with ideal hosts; `null` where it could not be computed.
    model: Option<ModelOutput>,
    /// How much later frames were delivered than the topology requires; `null` where the testbed's own run is not
    /// beside the run's folder.
    error: Option<&'a TestbedError>,
}

/// Round trips of the model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ModelOutput {
    /// Times of the answered ones.
    #[serde(flatten)]
    times: Beside,
    /// Packets without an answer, in addition to the answered ones (count).
    lost: u64,
}

impl<'a> NetworkOutput<'a> {
    /// The output of a run that sent packets.
    pub(super) fn new(summary: &'a Summary) -> Option<Self> {
        let network = summary.run.network.as_ref()?;
        let together = |it: Broadcasts| BroadcastsOutput::new(it, broadcasts::answer(summary));
        Some(Self {
            payload_bytes: network.payload_bytes,
            answer: packets::answer(network),
            total: FlowOutput {
                loss_upper_bound_95: packets::total_loss_bound(network),
                ..FlowOutput::new(&packets::total(network))
            },
            flows: network.flows.iter().map(FlowOutput::new).collect(),
            interface: network.interface.as_ref().map(InterfaceOutput::new),
            here: network.here,
            foreign: network.foreign,
            path: network.path.as_ref().map(PathOutput::new),
            testbed: TestbedOutput::new(summary),
            broadcasts: network.broadcasts.map(together),
        })
    }
}

impl BroadcastsOutput {
    fn new(broadcasts: Broadcasts, answer: Option<String>) -> Self {
        Self {
            answer,
            sent: broadcasts.sent,
            complete: broadcasts.complete,
            concordance: broadcasts.concordance,
            most_at_once: broadcasts.most_at_once,
            answer_bytes: broadcasts.answer_bytes,
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

impl<'a> InterfaceOutput<'a> {
    fn new(interface: &'a Interface) -> Self {
        Self {
            name: &interface.name,
            kind: interface.kind.as_deref(),
            driver: interface.driver.as_deref(),
            speed_mbit_s: interface.speed_mbit_s,
            mtu_bytes: interface.mtu_bytes,
        }
    }
}

impl<'a> TestbedOutput<'a> {
    fn new(summary: &'a Summary) -> Option<Self> {
        let testbed = testbed::of(summary)?;
        let switches = testbed.switches.iter();
        Some(Self {
            topology: &testbed.topology,
            run: &testbed.run,
            host: &testbed.host,
            hosts: &testbed.hosts,
            switches: switches.map(|switch| switch.name.as_str()).collect(),
            links: &testbed.links,
            model: testbed.model.as_ref().map(|model| ModelOutput {
                times: testbed::by_model(model),
                lost: model.lost,
            }),
            error: summary.testbed_error.as_ref(),
        })
    }
}
