//! Which device a datagram is for, without asking all.

use super::route::Route;
use super::topology::Node;

/// Who has an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Nobody,
    Device(u16),
    /// More than one: all are asked.
    Several,
}

const NOBODY: u16 = u16::MAX;
const SEVERAL: u16 = u16::MAX - 1;

/// Devices by address, and their places by logical address.
#[derive(Debug)]
pub(super) struct Index {
    /// By station address and alias.
    by_address: Box<[u16]>,
    /// Addresses that are in it.
    known: Vec<u16>,
    /// Places of a route whose devices have FMMUs, with the logical bytes among which theirs are.
    logical: Vec<(u64, u64, u16)>,
    stale: bool,
}

impl Index {
    pub(super) fn new() -> Self {
        Self {
            by_address: vec![NOBODY; 1 << 16].into_boxed_slice(),
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
            self.by_address[usize::from(address)] = NOBODY;
        }
        self.logical.clear();
        for (place, (device, _)) in route.order.iter().enumerate() {
            let controller = &nodes[usize::from(*device)].controller;
            for address in controller.addresses().into_iter().flatten() {
                let owner = &mut self.by_address[usize::from(address)];
                *owner = match *owner {
                    NOBODY => *device,
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
            NOBODY => Owner::Nobody,
            SEVERAL => Owner::Several,
            device => Owner::Device(device),
        }
    }

    /// How many devices have FMMUs.
    pub(super) fn mapped(&self) -> usize {
        self.logical.len()
    }

    /// The place of the one of that number, where it may have part of a range of logical bytes.
    pub(super) fn meets(&self, number: usize, start: u64, end: u64) -> Option<usize> {
        let (first, behind, place) = self.logical[number];
        (first < end && behind > start).then_some(usize::from(place))
    }
}
