//! The way of a frame through the segment.
//!
//! Inside a device a frame goes from port 0 through the processing unit to ports 3, 1 and 2, and back to 0; a port
//! whose loop is closed sends it on at once. A frame that enters by another port joins there. If it then finds port 0
//! closed, it passes the processing unit, which marks it: it circulates in a ring that has lost its MainDevice, and
//! is destroyed the second time.

use super::topology::{Cabling, End, Node};
use crate::port::Side;
use crate::sim::DeviceId;
use crate::wire::PortStatus;

/// The port that follows each on a frame's way.
const NEXT: [u8; 4] = [3, 2, 0, 1];

/// One step of a route: a frame enters a device.
#[derive(Debug, Clone, Copy)]
pub(super) struct RouteStep {
    pub(super) device: u16,
    pub(super) port: u8,
    pub(super) cable: u16,
    /// Whether it passes the processing unit before it leaves.
    pub(super) processed: bool,
    /// Whether it does so because port 0 is closed.
    pub(super) circulates: bool,
}

/// Where a way ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// At the MainDevice, over a cable.
    Main(Side, u16),
    /// Out of a port with nothing behind it, or into a closed one.
    Nowhere,
    /// No cable is at the MainDevice's port.
    NoLink,
    /// In a circle.
    Circle,
}

/// The way of a frame.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) steps: Vec<RouteStep>,
    /// Devices in the order in which they process the frame, with their steps.
    pub(super) order: Vec<(u16, u16)>,
    /// The place of each device in that order; `u16::MAX` for none.
    pub(super) places: Vec<u16>,
    pub(super) exit: Exit,
}

impl Route {
    pub(super) const NOT_ON_IT: u16 = u16::MAX;

    pub(super) fn of(cabling: &Cabling, side: Side) -> Self {
        let mut route = Self {
            steps: Vec::new(),
            order: Vec::new(),
            places: vec![Self::NOT_ON_IT; cabling.nodes.len()],
            exit: Exit::NoLink,
        };
        route.exit = route.walk(cabling, side);
        for (at, step) in route.steps.iter().enumerate() {
            if step.processed {
                let place = &mut route.places[usize::from(step.device)];
                *place = (*place).min(route.order.len() as u16);
                route.order.push((step.device, at as u16));
            }
        }
        route
    }

    fn walk(&mut self, cabling: &Cabling, side: Side) -> Exit {
        let Some(mut hop) = cabling.follow(End::Main(side)) else {
            return Exit::NoLink;
        };
        let most = 8 * cabling.nodes.len() + 8;
        while self.steps.len() < most {
            let (device, port) = match hop.0 {
                End::Main(side) => return Exit::Main(side, hop.1 as u16),
                End::Device(device, port) => (usize::from(device.0), port),
            };
            if cabling.port(device, port) != PortStatus::Open {
                return Exit::Nowhere;
            }
            let leaves = self.enter(cabling, device, port, hop.1);
            match cabling.follow(End::Device(DeviceId(device as u16), leaves)) {
                Some(next) => hop = next,
                None => return Exit::Nowhere,
            }
        }
        Exit::Circle
    }

    /// Enters by an open port; returns the port by which the frame leaves.
    fn enter(&mut self, cabling: &Cabling, device: usize, port: u8, cable: usize) -> u8 {
        let mut step = RouteStep {
            device: device as u16,
            port,
            cable: cable as u16,
            processed: port == 0,
            circulates: false,
        };
        let mut leaves = NEXT[usize::from(port)];
        while cabling.port(device, leaves) != PortStatus::Open {
            if leaves == 0 {
                step.processed = true;
                step.circulates = true;
            }
            leaves = NEXT[usize::from(leaves)];
        }
        self.steps.push(step);
        leaves
    }
}

// An index of devices by address, to find the addressed one without a search.

/// The owner of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    NoDevice,
    Device(u16),
    /// More than one device: each is checked.
    Several,
}

const NO_DEVICE: u16 = u16::MAX;
const SEVERAL: u16 = u16::MAX - 1;

/// Devices by address, and their places by logical address.
#[derive(Debug)]
pub(super) struct Index {
    /// By station address and alias.
    by_address: Box<[u16]>,
    /// Addresses in the index.
    known: Vec<u16>,
    /// Places of a route whose devices have FMMUs, each with its range of logical bytes.
    logical: Vec<(u64, u64, u16)>,
    stale: bool,
}

impl Index {
    pub(super) fn new() -> Self {
        Self {
            by_address: vec![NO_DEVICE; 1 << 16].into_boxed_slice(),
            known: Vec::new(),
            logical: Vec::new(),
            stale: true,
        }
    }

    pub(super) fn spoil(&mut self) {
        self.stale = true;
    }

    pub(super) fn refresh(&mut self, nodes: &[Node], route: &Route) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        for address in self.known.drain(..) {
            self.by_address[usize::from(address)] = NO_DEVICE;
        }
        self.logical.clear();
        for (place, (device, _)) in route.order.iter().enumerate() {
            let controller = &nodes[usize::from(*device)].controller;
            for address in controller.addresses().into_iter().flatten() {
                let owner = &mut self.by_address[usize::from(address)];
                *owner = match *owner {
                    NO_DEVICE => *device,
                    same if same == *device => same,
                    _ => SEVERAL,
                };
                self.known.push(address);
            }
            let hull = controller.logical_hull();
            if !hull.is_empty() {
                self.logical.push((hull.start, hull.end, place as u16));
            }
        }
    }

    pub(super) fn owner(&self, address: u16) -> Owner {
        match self.by_address[usize::from(address)] {
            NO_DEVICE => Owner::NoDevice,
            SEVERAL => Owner::Several,
            device => Owner::Device(device),
        }
    }

    /// How many devices have FMMUs.
    pub(super) fn mapped(&self) -> usize {
        self.logical.len()
    }

    /// The place of such a device, where its range meets a range of logical bytes.
    pub(super) fn meets(&self, number: usize, start: u64, end: u64) -> Option<usize> {
        let (first, behind, place) = self.logical[number];
        (first < end && behind > start).then_some(usize::from(place))
    }
}
