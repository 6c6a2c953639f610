//! The topology of a segment.

use crate::description::PortKind;
use crate::port::Side;
use crate::sim::{CableId, DeviceId, SubDeviceController};
use crate::wire::{LoopControl, PortStatus};

/// An end of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// At the MainDevice.
    Main(Side),
    /// At a device's port, 0 to 3.
    Device(DeviceId, u8),
}

/// A cable, or the contacts between two terminals: a hop with what a device adds to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cable {
    /// From a frame's first bit at one port to its first bit at the other, each way, in ns.
    pub delay_ns: u64,
    /// The largest random addition to it, uniform, in ns.
    pub jitter_ns: u64,
}

impl Default for Cable {
    /// The delay of an ET1100 with a metre or two of cable.
    fn default() -> Self {
        Self {
            delay_ns: 600,
            jitter_ns: 0,
        }
    }
}

/// Why a cable cannot be laid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CableError {
    /// The segment has no device of that number.
    #[error("there is no device {0}; the segment has {1}")]
    NoDevice(u16, usize),
    /// The device has no port of that number.
    #[error("device {0} has no port {1}")]
    NoPort(u16, u8),
    /// The port is taken.
    #[error("{0:?} is taken; a port takes one cable")]
    Taken(End),
    /// Both ends are the same.
    #[error("{0:?} cannot be plugged into itself")]
    Same(End),
    /// Too many devices or cables.
    #[error("a segment has at most {0} devices")]
    Full(usize),
}

/// Most devices of a segment.
pub const MAX_DEVICES: usize = 1_024;

/// A device in its place.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) controller: SubDeviceController,
    pub(super) powered: bool,
    /// Whether a passing frame left it work to do.
    pub(super) touched: bool,
    /// The cable at each port.
    pub(super) ports: [Option<usize>; 4],
}

/// A cable in its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct InstalledCable {
    pub(super) ends: [End; 2],
    pub(super) cable: Cable,
    pub(super) whole: bool,
}

impl InstalledCable {
    pub(super) fn other(&self, end: End) -> End {
        if self.ends[0] == end {
            self.ends[1]
        } else {
            self.ends[0]
        }
    }
}

/// The devices of a segment, and the cables between them.
#[derive(Debug, Default)]
pub(super) struct Cabling {
    pub(super) nodes: Vec<Node>,
    pub(super) cables: Vec<InstalledCable>,
    pub(super) main: [Option<usize>; 2],
}

impl Cabling {
    pub(super) fn add(&mut self, controller: SubDeviceController) -> Result<DeviceId, CableError> {
        if self.nodes.len() >= MAX_DEVICES {
            return Err(CableError::Full(MAX_DEVICES));
        }
        self.nodes.push(Node {
            controller,
            powered: true,
            touched: false,
            ports: [None; 4],
        });
        Ok(DeviceId(self.nodes.len() as u16 - 1))
    }

    pub(super) fn lay(&mut self, a: End, b: End, cable: Cable) -> Result<CableId, CableError> {
        if a == b {
            return Err(CableError::Same(a));
        }
        for end in [a, b] {
            if self.slot(end)?.is_some() {
                return Err(CableError::Taken(end));
            }
        }
        let id = self.cables.len();
        for end in [a, b] {
            *self.slot(end)? = Some(id);
        }
        self.cables.push(InstalledCable {
            ends: [a, b],
            cable,
            whole: true,
        });
        Ok(CableId(id as u16))
    }

    fn slot(&mut self, end: End) -> Result<&mut Option<usize>, CableError> {
        match end {
            End::Main(side) => Ok(&mut self.main[side as usize]),
            End::Device(DeviceId(id), port) => {
                let known = self.nodes.len();
                let node = self
                    .nodes
                    .get_mut(usize::from(id))
                    .ok_or(CableError::NoDevice(id, known))?;
                let kind = node.controller.hardware().ports.get(usize::from(port));
                match kind {
                    None | Some(PortKind::Absent) => Err(CableError::NoPort(id, port)),
                    Some(_) => Ok(&mut node.ports[usize::from(port)]),
                }
            }
        }
    }

    fn alive(&self, end: End) -> bool {
        match end {
            End::Main(_) => true,
            End::Device(DeviceId(id), _) => self.nodes[usize::from(id)].powered,
        }
    }

    /// Whether a port has a link to another device or the MainDevice.
    fn link(&self, device: usize, port: u8) -> bool {
        let node = &self.nodes[device];
        node.powered
            && node.ports[usize::from(port)].is_some_and(|cable| {
                let laid = &self.cables[cable];
                let here = End::Device(DeviceId(device as u16), port);
                laid.whole && self.alive(laid.other(here))
            })
    }

    /// The status of a port.
    pub(super) fn port(&self, device: usize, port: u8) -> PortStatus {
        let link = self.link(device, port);
        let open = match self.nodes[device].controller.dl_control().port(port) {
            LoopControl::Auto | LoopControl::AutoClose => link,
            LoopControl::AlwaysOpen => true,
            LoopControl::AlwaysClosed => false,
        };
        match (open, link) {
            (true, _) => PortStatus::Open,
            (false, true) => PortStatus::Closed,
            (false, false) => PortStatus::Unplugged,
        }
    }

    /// Where a frame arrives that leaves by an end, and over which cable; `None` where it is lost.
    pub(super) fn follow(&self, from: End) -> Option<(End, usize)> {
        let cable = match from {
            End::Main(side) => self.main[side as usize],
            End::Device(DeviceId(id), port) => self.nodes[usize::from(id)].ports[usize::from(port)],
        }?;
        let laid = &self.cables[cable];
        let to = laid.other(from);
        (laid.whole && self.alive(to)).then_some((to, cable))
    }

    /// Sets the status of their ports in the devices.
    pub(super) fn show_ports(&mut self) {
        for device in 0..self.nodes.len() {
            for port in 0..4 {
                let status = self.port(device, port);
                self.nodes[device].controller.set_port(port, status);
            }
        }
    }
}
