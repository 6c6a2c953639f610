//! A network interface, by raw frames.

use std::io;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::packet::{PacketError, PacketPlan, PacketPort};

use super::{Port, Side};
use crate::wire::ETHERTYPE;

/// Frames that may wait: more than a segment at 4 kHz sends while its reader is off the CPU for 20 ms.
const WAITING: usize = 256;

/// The way in which a port waits for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WaitMode {
    /// In the kernel, which costs a wake-up.
    #[default]
    Blocking,
    /// By polling without pause, which has the lowest latency and occupies a CPU.
    Spinning,
}

/// EtherCAT frames on a network interface. Needs `CAP_NET_RAW`.
#[derive(Debug)]
pub struct InterfacePort {
    port: PacketPort,
    waiting: WaitMode,
}

impl InterfacePort {
    /// Opens the interface of that name. Allocates.
    ///
    /// # Errors
    /// [`PacketError`]: no such interface, or no permission.
    pub fn open(interface: &str, waiting: WaitMode) -> Result<Self, PacketError> {
        let port = PacketPort::open(&PacketPlan {
            interface: interface.to_owned(),
            ethertype: ETHERTYPE,
            frames: WAITING,
        })?;
        Ok(Self { port, waiting })
    }

    /// Frames dropped for want of room, since the port was opened.
    ///
    /// # Errors
    /// When the kernel does not report the count.
    pub fn dropped(&mut self) -> io::Result<u64> {
        self.port.dropped()
    }
}

impl Port for InterfacePort {
    fn now(&self) -> MonotonicTime {
        clock::now()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.port.send(frame)
    }

    fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        self.port.receive(frame).map(|it| it.length)
    }

    fn wait(&mut self, until: MonotonicTime) -> io::Result<bool> {
        match self.waiting {
            WaitMode::Blocking => self.port.wait(until.remaining(clock::now())),
            WaitMode::Spinning => {
                while !self.port.has_frame() {
                    if clock::now() >= until {
                        return Ok(false);
                    }
                    std::hint::spin_loop();
                }
                Ok(true)
            }
        }
    }
}

/// EtherCAT frames on two network interfaces, where a ring of cables begins and ends. Needs `CAP_NET_RAW`.
#[derive(Debug)]
pub struct RingPort {
    sides: [InterfacePort; 2],
    /// The side that is looked at first, so that neither side starves the other.
    turn: usize,
}

impl RingPort {
    const SIDES: [Side; 2] = [Side::Primary, Side::Redundant];

    /// Opens both interfaces. Allocates.
    ///
    /// # Errors
    /// [`PacketError`]: no such interface, or no permission.
    pub fn open(first: &str, second: &str, waiting: WaitMode) -> Result<Self, PacketError> {
        let mut sides = [
            InterfacePort::open(first, waiting)?,
            InterfacePort::open(second, waiting)?,
        ];
        let [one, other] = &mut sides;
        one.port.watch_too(&other.port);
        Ok(Self { sides, turn: 0 })
    }

    fn has_frame(&self) -> bool {
        self.sides.iter().any(|it| it.port.has_frame())
    }
}

impl Port for RingPort {
    fn now(&self) -> MonotonicTime {
        clock::now()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.send_by(Side::Primary, frame)
    }

    fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        self.receive_from(frame).map(|it| it.1)
    }

    fn wait(&mut self, until: MonotonicTime) -> io::Result<bool> {
        match self.sides[0].waiting {
            // The first waits for the second too.
            WaitMode::Blocking => self.sides[0].wait(until),
            WaitMode::Spinning => {
                while !self.has_frame() {
                    if clock::now() >= until {
                        return Ok(false);
                    }
                    std::hint::spin_loop();
                }
                Ok(true)
            }
        }
    }

    fn has_second(&self) -> bool {
        true
    }

    fn send_by(&mut self, side: Side, frame: &[u8]) -> io::Result<()> {
        self.sides[side as usize].send(frame)
    }

    fn receive_from(&mut self, frame: &mut [u8]) -> Option<(Side, usize)> {
        for at in [self.turn, 1 - self.turn] {
            if let Some(length) = self.sides[at].receive(frame) {
                self.turn = 1 - at;
                return Some((Self::SIDES[at], length));
            }
        }
        None
    }
}
