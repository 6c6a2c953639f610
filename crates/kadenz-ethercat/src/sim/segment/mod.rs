//! The wire of a virtual segment, with all devices and cables.

mod passage;
mod route;
#[cfg(test)]
mod tests;
mod topology;
mod wire_faults;

pub use topology::{Cable, CableError, End, MAX_DEVICES};

use serde::Serialize;

use super::fault::{Fault, FaultPlan, FrameFault, WireFault};
use super::{CableId, DeviceId, DeviceSettings, Model, Random, SubDeviceController, Time};
use crate::port::Side;
use crate::wire::{
    Datagrams, DatagramsMut, ETHERNET_HEADER, FrameError, mark_as_returned, register,
};
use passage::Passage;
use route::{Exit, Index, Route};
use topology::Cabling;

/// The time of a byte at 100 Mbit/s, in ns.
const BYTE_NS: u64 = 80;
/// Bytes around a frame: preamble, check sequence, gap.
const AROUND: usize = 24;

/// The result of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// The frame is back.
    Returned {
        /// At this port of the MainDevice.
        side: Side,
        /// The time of its last bit.
        at: Time,
        /// How long faults delayed it, in ns.
        held_ns: u64,
        /// Number of bytes that came back.
        length: usize,
        /// The time of its second arrival.
        again: Option<Time>,
    },
    /// The frame does not come back.
    Lost(Loss),
}

/// Why a frame does not come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Loss {
    /// No cable is at the MainDevice's port.
    NoLink,
    /// The frame left by an open port with nothing behind it.
    Nowhere,
    /// The frame would circulate forever, and was destroyed.
    Circulated,
    /// The frame is not EtherCAT, and the first device lets nothing else pass.
    Foreign,
    /// A fault lost it.
    Fault,
    /// A fault made its check sequence wrong.
    Corrupted,
}

/// What happened to frames, since the segment began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Frames that were sent.
    pub frames: u64,
    /// Frames that came back, each once.
    pub returned: u64,
    /// Frames that did not come back.
    pub lost: u64,
    /// Faults of frames that struck.
    pub frame_faults: u64,
    /// Faults of the segment that struck.
    pub wire_faults: u64,
}

/// SubDevices, cables between them, and faults.
///
/// ```
/// use kadenz_ethercat::sim::{Model, Passed, Passive, Segment, Time};
/// use kadenz_ethercat::description::Hardware;
/// use kadenz_ethercat::wire::{DatagramAddress, Command, Datagrams, FrameWriter, register};
///
/// let model = || Model {
///     hardware: Hardware::et1100(),
///     sii: Vec::new(),
///     application: Box::new(Passive),
/// };
/// let mut segment = Segment::line([model(), model(), model()], 1)?;
///
/// let mut frame = [0_u8; 64];
/// let mut writer = FrameWriter::new(&mut frame, [0x10; 6])?;
/// writer.push(Command::Brd, 0, DatagramAddress::broadcast(register::TYPE), 1)?;
/// let length = writer.finish();
///
/// let passed = segment.pass(&mut frame[..length], Time::ZERO);
/// assert!(matches!(passed, Passed::Returned { .. }));
/// let datagram = Datagrams::of(&frame)?.next().expect("one was sent")?;
/// assert_eq!(datagram.working_counter, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// Passing a frame allocates nothing, after the first; adding devices and cables allocates, and so do faults that
/// change the topology.
#[derive(Debug)]
pub struct Segment {
    cabling: Cabling,
    routes: [Option<Route>; 2],
    index: Index,
    /// The side of the route that the index belongs to.
    indexed: Side,
    plan: FaultPlan,
    /// Commanded faults of frames, which strike the next one.
    commanded: Vec<FrameFault>,
    /// The faults that strike the present frame.
    struck: Vec<FrameFault>,
    /// Ends of faults: cables that heal, devices that get power.
    ends: Vec<(Time, WireFault)>,
    random: Random,
    times: Vec<Time>,
    touched: Vec<u16>,
    now: Time,
    counts: Counts,
}

impl Segment {
    /// Creates an empty segment. The seed determines jitter and random faults.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            cabling: Cabling::default(),
            routes: [None, None],
            index: Index::new(),
            indexed: Side::Primary,
            plan: FaultPlan::new(seed ^ 0x5EED),
            commanded: Vec::new(),
            struck: Vec::new(),
            ends: Vec::new(),
            random: Random::new(seed),
            times: Vec::new(),
            touched: Vec::new(),
            now: Time::ZERO,
            counts: Counts::default(),
        }
    }

    /// Devices in a line, each port 1 in the next one's port 0.
    ///
    /// # Errors
    /// [`CableError`], where a device has no port 1.
    pub fn line(models: impl IntoIterator<Item = Model>, seed: u64) -> Result<Self, CableError> {
        let mut segment = Self::new(seed);
        let mut end = End::Main(Side::Primary);
        for model in models {
            let id = segment.add(model, DeviceSettings::default())?;
            segment.connect(end, End::Device(id, 0), Cable::default())?;
            end = End::Device(id, 1);
        }
        Ok(segment)
    }

    /// Adds a device, which gets power at once. It has no cable.
    ///
    /// # Errors
    /// [`CableError::Full`].
    pub fn add(&mut self, model: Model, settings: DeviceSettings) -> Result<DeviceId, CableError> {
        self.replug();
        self.cabling
            .add(SubDeviceController::new(model, settings, self.now))
    }

    /// Lays a cable.
    ///
    /// # Errors
    /// [`CableError`]: an end that does not exist or is taken.
    pub fn connect(&mut self, a: End, b: End, cable: Cable) -> Result<CableId, CableError> {
        self.replug();
        self.cabling.lay(a, b, cable)
    }

    /// Handles a change of the topology.
    fn replug(&mut self) {
        self.routes = [None, None];
        self.index.spoil();
    }

    /// How many devices there are, also without power.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cabling.nodes.len()
    }

    /// Whether there are no devices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cabling.nodes.is_empty()
    }

    /// The controller of a device; `None` where the segment has no such device.
    #[must_use]
    pub fn device(&self, id: DeviceId) -> Option<&SubDeviceController> {
        let node = self.cabling.nodes.get(usize::from(id.0))?;
        Some(&node.controller)
    }

    /// A device, to be changed.
    pub fn device_mut(&mut self, id: DeviceId) -> Option<&mut SubDeviceController> {
        let node = self.cabling.nodes.get_mut(usize::from(id.0))?;
        Some(&mut node.controller)
    }

    /// Whether a device has power.
    #[must_use]
    pub fn powered(&self, id: DeviceId) -> Option<bool> {
        Some(self.cabling.nodes.get(usize::from(id.0))?.powered)
    }

    /// The cable at an end.
    #[must_use]
    pub fn cable_at(&self, end: End) -> Option<CableId> {
        let cable = match end {
            End::Main(side) => self.cabling.main[side as usize],
            End::Device(id, port) => {
                let node = self.cabling.nodes.get(usize::from(id.0))?;
                *node.ports.get(usize::from(port))?
            }
        };
        cable.map(|it| CableId(it as u16))
    }

    /// Devices in the order in which a frame from that side is processed: their positions.
    pub fn positions(&mut self, side: Side) -> Vec<DeviceId> {
        let route = self.route(side);
        route.order.iter().map(|it| DeviceId(it.0)).collect()
    }

    /// The delay of a frame from that side to each device's processing unit, in ns and without jitter, in the order
    /// of positions: the true values, to compare with a MainDevice's measurement.
    pub fn delays(&mut self, side: Side) -> Vec<(DeviceId, u64)> {
        self.ensure_routes();
        let cables = &self.cabling.cables;
        let Some(route) = &self.routes[side as usize] else {
            return Vec::new();
        };
        let mut at = 0;
        let steps = route.steps.iter();
        let times: Vec<u64> = steps
            .map(|step| {
                at += cables[usize::from(step.cable)].cable.delay_ns;
                at
            })
            .collect();
        let order = route.order.iter();
        order
            .map(|(device, step)| (DeviceId(*device), times[usize::from(*step)]))
            .collect()
    }

    /// The planned faults, to add or remove some.
    pub fn faults(&mut self) -> &mut FaultPlan {
        &mut self.plan
    }

    /// The counters of frames.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The latest time of the segment.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// When the next event of its own is due: call [`advance`](Self::advance) then, unless a frame comes before.
    #[must_use]
    pub fn due(&self) -> Time {
        let nodes = self.cabling.nodes.iter().filter(|it| it.powered);
        let ends = self.ends.iter().map(|it| it.0);
        nodes
            .map(|it| it.controller.due())
            .chain(ends)
            .min()
            .unwrap_or(Time::NEVER)
            .min(self.plan.due())
    }

    /// Handles the events that are due until `now`.
    pub fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.apply_due_faults();
        self.ensure_routes();
        for node in self.cabling.nodes.iter_mut().filter(|it| it.powered) {
            if node.controller.due() <= self.now {
                node.controller.advance(self.now);
            }
        }
    }

    fn ensure_routes(&mut self) {
        if self.routes[0].is_some() {
            return;
        }
        self.cabling.show_ports();
        for node in &mut self.cabling.nodes {
            node.controller.take_changes();
        }
        self.routes =
            [Side::Primary, Side::Redundant].map(|side| Some(Route::of(&self.cabling, side)));
        self.index.spoil();
    }

    fn route(&mut self, side: Side) -> &Route {
        self.ensure_routes();
        self.routes[side as usize].get_or_insert_with(|| Route::of(&self.cabling, side))
    }

    /// Passes a frame that the MainDevice sends by its first port; see [`pass_from`](Self::pass_from).
    pub fn pass(&mut self, frame: &mut [u8], now: Time) -> Passed {
        self.pass_from(Side::Primary, frame, now)
    }

    /// Passes a frame, from its Ethernet header on: the devices execute it and change it in place. `now` is when its
    /// first bit is sent.
    ///
    /// # Real-time safety
    /// Allocates nothing as long as the topology stays; takes some microseconds for a hundred devices, and the time
    /// of their applications.
    pub fn pass_from(&mut self, side: Side, frame: &mut [u8], now: Time) -> Passed {
        self.now = self.now.max(now);
        self.apply_due_faults();
        self.counts.frames += 1;
        self.collect_frame_faults();
        self.ensure_routes();
        let passed = self.travel(side, frame);
        self.advance(self.now);
        match passed {
            Passed::Returned { .. } => self.counts.returned += 1,
            Passed::Lost(_) => self.counts.lost += 1,
        }
        passed
    }

    fn travel(&mut self, side: Side, frame: &mut [u8]) -> Passed {
        let Some(route) = self.routes[side as usize].take() else {
            return Passed::Lost(Loss::NoLink);
        };
        if std::mem::replace(&mut self.indexed, side) != side {
            self.index.spoil();
        }
        let back = self.stamp(&route);
        let passed = self.travel_by(&route, frame, back);
        let replugged = self.routes[1 - side as usize].is_none();
        self.routes[side as usize] = Some(route).filter(|_| !replugged);
        passed
    }

    /// Computes when the frame reaches each step of its way, and the MainDevice again.
    fn stamp(&mut self, route: &Route) -> Time {
        let mut at = self.now;
        let cables = &self.cabling.cables;
        let mut hop = |cable: u16, random: &mut Random| {
            let Cable {
                delay_ns,
                jitter_ns,
            } = cables[usize::from(cable)].cable;
            let extra = match jitter_ns {
                0 => 0,
                most => random.below(most.saturating_add(1)),
            };
            at = at.after(delay_ns).after(extra);
            at
        };
        self.times.clear();
        for step in &route.steps {
            self.times.push(hop(step.cable, &mut self.random));
        }
        match route.exit {
            Exit::Main(_, cable) => hop(cable, &mut self.random),
            _ => at,
        }
    }

    fn travel_by(&mut self, route: &Route, frame: &mut [u8], back: Time) -> Passed {
        if let Some(loss) = self.turned_away(route, frame) {
            return Passed::Lost(loss);
        }
        let reach = self.reach(route, frame);
        self.process(route, frame, reach.devices);
        if let Some(loss) = reach.loss {
            if loss == Loss::Corrupted {
                self.count_corrupted(route, reach.devices);
            }
            return Passed::Lost(loss);
        }
        let Exit::Main(side, _) = route.exit else {
            return Passed::Lost(match route.exit {
                Exit::NoLink => Loss::NoLink,
                Exit::Circle => Loss::Circulated,
                _ => Loss::Nowhere,
            });
        };
        self.corrupt_returned(frame, side, back)
    }

    /// Why no device handles the frame; `None` where a device does.
    fn turned_away(&self, route: &Route, frame: &[u8]) -> Option<Loss> {
        if route.exit == Exit::NoLink {
            return Some(Loss::NoLink);
        }
        let foreign = matches!(
            Datagrams::of(frame),
            Err(FrameError::Foreign(_) | FrameError::CutShort { .. })
        );
        let first = route.order.first()?;
        let node = &self.cabling.nodes[usize::from(first.0)];
        let strict = node.controller.dl_control().0 & crate::wire::DlControl::ONLY_ETHERCAT != 0;
        (foreign && strict).then_some(Loss::Foreign)
    }

    /// Lets the devices execute the frame.
    fn process(&mut self, route: &Route, frame: &mut [u8], limit: usize) {
        let steps = match route.order.get(limit) {
            Some((_, step)) => usize::from(*step),
            None => route.steps.len(),
        };
        let on_wire = (frame.len() + AROUND) as u64 * BYTE_NS;
        self.touched.clear();
        let nodes = &mut self.cabling.nodes;
        let events = nodes.iter().any(|it| it.controller.events() != 0);
        let mut passage = Passage {
            nodes,
            route,
            index: &mut self.index,
            times: &self.times,
            limit,
            steps,
            touched: &mut self.touched,
            ports_changed: false,
            events,
        };
        let mut broken = false;
        if let Ok(datagrams) = DatagramsMut::of(frame) {
            for datagram in datagrams {
                match datagram {
                    Ok(mut datagram) => passage.datagram(&mut datagram),
                    Err(_) => broken = true,
                }
            }
        }
        let mut ports_changed = passage.ports_changed;
        for place in &self.touched {
            let (device, step) = route.order[usize::from(*place)];
            let node = &mut nodes[usize::from(device)];
            node.touched = false;
            let end = self.times[usize::from(step)].after(on_wire);
            node.controller.finish_frame(end);
            let (index, ports) = node.controller.take_changes();
            if index {
                self.index.spoil();
            }
            ports_changed |= ports;
        }
        if broken {
            for (device, _) in &route.order[..limit] {
                let controller = &mut nodes[usize::from(*device)].controller;
                controller.count_error(register::PROCESSING_UNIT_ERRORS);
            }
        }
        self.mark_returned(route, frame, limit);
        if ports_changed {
            self.replug();
        }
    }

    /// Marks the frame as the first device's processing unit does, unless its settings let all frames pass.
    fn mark_returned(&self, route: &Route, frame: &mut [u8], limit: usize) {
        let strict = route.order[..limit].iter().any(|(device, _)| {
            let control = self.cabling.nodes[usize::from(*device)]
                .controller
                .dl_control();
            control.0 & crate::wire::DlControl::ONLY_ETHERCAT != 0
        });
        if strict && frame.len() >= ETHERNET_HEADER {
            mark_as_returned(frame);
        }
    }
}
