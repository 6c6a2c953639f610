//! A frame on its way through the devices.
//!
//! A datagram passes all devices before the next one does. In hardware they overlap; each device sees them in the
//! same order either way.

use super::route::{Index, Owner, Route};
use super::topology::Node;
use crate::sim::controller::Role;
use crate::sim::{Arrival, SubDeviceController, Time};
use crate::wire::{Addressing, Command, DatagramAddress, DatagramMut, register};

pub(super) struct Passage<'a> {
    pub(super) nodes: &'a mut [Node],
    pub(super) route: &'a Route,
    pub(super) index: &'a mut Index,
    /// When the frame reaches each step of the route.
    pub(super) times: &'a [Time],
    /// How many devices of the route's order see the frame.
    pub(super) limit: usize,
    /// How many steps of the route it makes.
    pub(super) steps: usize,
    /// Devices with work to do when the frame has passed.
    pub(super) touched: &'a mut Vec<u16>,
    /// The settings of a port changed.
    pub(super) ports_changed: bool,
    /// Some device has events to report.
    pub(super) events: bool,
}

impl Passage<'_> {
    pub(super) fn datagram(&mut self, datagram: &mut DatagramMut<'_>) {
        let Some(command) = datagram.command() else {
            return;
        };
        self.index.refresh(self.nodes, self.route);
        let address = datagram.address();
        let counted = match command.addressing() {
            Addressing::None => 0,
            Addressing::Logical => self.logical(command, address, datagram.data),
            Addressing::Broadcast => self.all(command, address, datagram.data),
            Addressing::Position => self.by_position(command, address, datagram.data),
            Addressing::Configured => self.by_address(command, address, datagram.data),
        };
        if counted > 0 {
            datagram.count(counted);
        }
        if matches!(
            command.addressing(),
            Addressing::Broadcast | Addressing::Position
        ) {
            let passed = address.device().wrapping_add(self.limit as u16);
            let register = u32::from(address.register()) << 16;
            datagram.set_address(DatagramAddress::from_raw(register | u32::from(passed)));
        }
        if self.events {
            self.collect_events(datagram);
        }
    }

    fn collect_events(&self, datagram: &mut DatagramMut<'_>) {
        let events = self.route.order[..self.limit]
            .iter()
            .fold(0, |all, (device, _)| {
                all | self.nodes[usize::from(*device)].controller.events()
            });
        datagram.add_events(events);
    }

    fn logical(&mut self, command: Command, address: DatagramAddress, data: &mut [u8]) -> u16 {
        let start = u64::from(address.raw());
        let end = start + data.len() as u64;
        let mut counted = 0_u16;
        for number in 0..self.index.mapped() {
            let Some(place) = self.index.meets(number, start, end) else {
                continue;
            };
            if place >= self.limit {
                break;
            }
            let grown = self.visit(place, false, |controller, _| {
                controller.serve_logical(command, address.raw(), data)
            });
            counted = counted.wrapping_add(grown);
        }
        counted
    }

    /// All devices in their order, in the same role.
    fn all(&mut self, command: Command, address: DatagramAddress, data: &mut [u8]) -> u16 {
        (0..self.limit).fold(0, |counted: u16, place| {
            counted.wrapping_add(self.one(place, command, Role::OneOfMany, address, data))
        })
    }

    fn by_position(&mut self, command: Command, address: DatagramAddress, data: &mut [u8]) -> u16 {
        let meant = usize::from(address.device().wrapping_neg());
        if command == Command::Armw {
            return (0..self.limit).fold(0, |counted: u16, place| {
                let role = if place == meant {
                    Role::Meant
                } else {
                    Role::OneOfMany
                };
                counted.wrapping_add(self.one(place, command, role, address, data))
            });
        }
        if meant >= self.limit {
            return 0;
        }
        self.one(meant, command, Role::Meant, address, data)
    }

    fn by_address(&mut self, command: Command, address: DatagramAddress, data: &mut [u8]) -> u16 {
        let station = address.device();
        let owner = self.index.owner(station);
        if command != Command::Frmw
            && let Owner::NoDevice | Owner::Device(_) = owner
        {
            let Owner::Device(device) = owner else {
                return 0;
            };
            let place = usize::from(self.route.places[usize::from(device)]);
            if place >= self.limit {
                return 0;
            }
            return self.one(place, command, Role::Meant, address, data);
        }
        (0..self.limit).fold(0, |counted: u16, place| {
            let device = usize::from(self.route.order[place].0);
            let role = match self.nodes[device].controller.is(station) {
                true => Role::Meant,
                false if command == Command::Frmw => Role::OneOfMany,
                false => return counted,
            };
            counted.wrapping_add(self.one(place, command, role, address, data))
        })
    }

    /// One device, by its registers.
    fn one(
        &mut self,
        place: usize,
        command: Command,
        role: Role,
        address: DatagramAddress,
        data: &mut [u8],
    ) -> u16 {
        let start = u32::from(address.register());
        let latch = u32::from(register::DC_RECEIVE_TIME);
        let latches = start < latch + 4 && start + data.len() as u32 > latch;
        self.visit(place, latches, |controller, arrival| {
            controller.serve(command, role, address, data, arrival)
        })
    }

    fn visit(
        &mut self,
        place: usize,
        latches: bool,
        serve: impl FnOnce(&mut SubDeviceController, &Arrival) -> u16,
    ) -> u16 {
        let (device, step) = self.route.order[place];
        let arrival = self.arrival(device, usize::from(step), latches);
        let node = &mut self.nodes[usize::from(device)];
        node.controller.advance(arrival.unit);
        let counted = serve(&mut node.controller, &arrival);
        if node.controller.has_news() && !std::mem::replace(&mut node.touched, true) {
            self.touched.push(place as u16);
        }
        let (index, ports) = node.controller.take_changes();
        if index {
            self.index.spoil();
        }
        self.ports_changed |= ports;
        self.events |= node.controller.events() != 0;
        counted
    }

    /// When the frame reaches the device; at its ports only where the device latches that.
    fn arrival(&self, device: u16, step: usize, latches: bool) -> Arrival {
        let mut arrival = Arrival {
            unit: self.times[step],
            ports: [Time::NEVER; 4],
        };
        if latches {
            let steps = self.route.steps[..self.steps].iter().zip(self.times);
            for (step, at) in steps.filter(|(step, _)| step.device == device) {
                let port = &mut arrival.ports[usize::from(step.port)];
                *port = (*port).min(*at);
            }
        }
        arrival
    }
}
