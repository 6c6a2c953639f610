//! Takes receive times, round by round.

use kadenz_rt::clock::MonotonicTime;

use super::delays::{Delays, PassageTimes};
use super::topology::{self, Topology, TopologyError};
use super::{ClockError, ClockSettings, Clocks, DeviceClock, width};
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::{Registers, Target};
use crate::wire::register::{DC_RECEIVE_TIME, DL_CONTROL, DL_STATUS};
use crate::wire::{DlControl, DlStatus, LoopControl, PortStatus};

/// Bytes from the receive time of port 0 up to and including that of the processing unit.
const BYTES: usize = 0x20;

/// Receive times of one SubDevice in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    ports: [u32; 4],
    unit: u64,
}

impl Times {
    fn read(bytes: &[u8; BYTES]) -> Self {
        let word = |at: usize| {
            let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            u32::from_le_bytes(word)
        };
        Self {
            ports: [word(0), word(4), word(8), word(12)],
            unit: u64::from(word(0x1C)) << 32 | u64::from(word(0x18)),
        }
    }

    /// How much later than by `entry` the frame came in by `port`; times wrap, so it is less than 2 s.
    fn after(&self, port: u8, entry: u8) -> i32 {
        let later = self.ports[usize::from(port)];
        later.wrapping_sub(self.ports[usize::from(entry)]) as i32
    }

    /// The open port by which the frame came in first.
    fn first(&self, links: DlStatus) -> Option<u8> {
        let mut open = topology::open_ports(links);
        let first = open.next()?;
        Some(
            open.fold(first, |first, port| match self.after(port, first) {
                ..0 => port,
                _ => first,
            }),
        )
    }
}

/// The receive times that one SubDevice latched.
struct LatchedTimes {
    links: DlStatus,
    entry: u8,
    clock: bool,
    rounds: Vec<Times>,
}

pub(super) fn measure(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    settings: &ClockSettings,
) -> Result<Clocks, ClockError> {
    let mut told = look(registers, devices)?;
    let all: Vec<_> = told.iter().map(|it| (it.links, it.entry)).collect();
    let topology = Topology::of(&all)?;
    let Some((at, port)) = topology.back else {
        let taken = take_rounds(registers, devices, &mut told, settings)?;
        return Ok(compute(devices, &topology, &told, taken, settings)?);
    };
    // A ring is a line for as long as its end is closed: the measured frames must come back.
    let whose = devices[at].whose();
    let before = DlControl(registers.get_u32(whose, DL_CONTROL)?);
    let closed = before.with_port(port, LoopControl::AlwaysClosed);
    registers.write(whose, DL_CONTROL, &closed.0.to_le_bytes())?;
    told[at].links = told[at].links.with_port(port, PortStatus::Closed);
    let taken = take_rounds(registers, devices, &mut told, settings);
    registers.write(whose, DL_CONTROL, &before.0.to_le_bytes())?;
    Ok(compute(devices, &topology, &told, taken?, settings)?)
}

/// Reads the links of all, and the ports by which frames come in.
fn look(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
) -> Result<Vec<LatchedTimes>, ClockError> {
    let mut all = Vec::with_capacity(devices.len());
    for device in devices {
        let links = DlStatus(registers.get_u16(device.whose(), DL_STATUS)?);
        let clock = width(device).is_some();
        let entry = match topology::entry_by_links(links) {
            None if clock => {
                registers.count_writing(Target::All(0), DC_RECEIVE_TIME, &[0; 4])?;
                let bytes = registers.get(device.whose(), DC_RECEIVE_TIME)?;
                Times::read(&bytes).first(links).unwrap_or(0)
            }
            known => known.unwrap_or(0),
        };
        all.push(LatchedTimes {
            links,
            entry,
            clock,
            rounds: Vec::new(),
        });
    }
    Ok(all)
}

/// Takes the rounds; returns the time at which the last one began.
fn take_rounds(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    told: &mut [LatchedTimes],
    settings: &ClockSettings,
) -> Result<MonotonicTime, ClockError> {
    let mut taken = registers.exchange().now();
    for round in 0..settings.rounds.max(1) {
        if round > 0 {
            registers.exchange().pause(settings.pause);
        }
        taken = registers.exchange().now();
        registers.count_writing(Target::All(0), DC_RECEIVE_TIME, &[0; 4])?;
        for (device, told) in devices.iter().zip(&mut *told).filter(|it| it.1.clock) {
            let bytes = registers.get(device.whose(), DC_RECEIVE_TIME)?;
            told.rounds.push(Times::read(&bytes));
        }
    }
    Ok(taken)
}

/// How many ns of its own a clock counts for each ns of the reference's.
fn speed(reference: &LatchedTimes, told: &LatchedTimes) -> f64 {
    // The lower halves suffice: a measurement takes less than 4 s.
    let span = |told: &LatchedTimes| match (told.rounds.first(), told.rounds.last()) {
        (Some(first), Some(last)) => (last.unit as u32).wrapping_sub(first.unit as u32),
        _ => 0,
    };
    match (span(told), span(reference)) {
        (0, _) | (_, 0) => 1.0,
        (own, there) => f64::from(own) / f64::from(there),
    }
}

/// The mean times of one SubDevice, by the reference's clock.
fn passage(position: u16, told: &LatchedTimes, speed: f64) -> Result<PassageTimes, TopologyError> {
    let mut times = [0.0; 4];
    for port in topology::open_ports(told.links) {
        let all = told.rounds.iter().map(|it| it.after(port, told.entry));
        if all.clone().any(|it| it < 0) {
            return Err(TopologyError::Backwards { position, port });
        }
        let sum: i64 = all.map(i64::from).sum();
        times[usize::from(port)] = sum as f64 / told.rounds.len().max(1) as f64 / speed;
    }
    Ok(PassageTimes {
        clock: told.clock,
        times,
    })
}

fn compute(
    devices: &[SubDevice],
    topology: &Topology,
    told: &[LatchedTimes],
    taken: MonotonicTime,
    settings: &ClockSettings,
) -> Result<Clocks, TopologyError> {
    let reference = told.iter().position(|it| it.clock);
    let speeds: Vec<_> = told
        .iter()
        .map(|it| reference.map_or(1.0, |reference| speed(&told[reference], it)))
        .collect();
    let passages = told.iter().zip(&speeds).enumerate();
    let passages = passages.map(|(at, (told, speed))| match told.clock {
        true => passage(at as u16, told, *speed),
        false => Ok(PassageTimes::default()),
    });
    let passages = passages.collect::<Result<Vec<_>, _>>()?;
    let arrivals = Delays::of(topology, &passages, settings.processing_ns);
    let start = reference.map_or(0.0, |it| arrivals[it].ns);
    let clocks = devices.iter().enumerate().map(|(at, device)| DeviceClock {
        position: device.position,
        station: device.station,
        width: width(device),
        parent: topology.places[at]
            .parent
            .map(|(parent, port)| (devices[parent].position, port)),
        delay_ns: (arrivals[at].ns - start).max(0.0).round() as u32,
        measured: arrivals[at].measured,
        rate_ppb: ((speeds[at] - 1.0) * 1e9).round() as i64,
        local_ns: told[at].rounds.last().map_or(0, |it| it.unit),
    });
    Ok(Clocks {
        devices: clocks.collect(),
        reference,
        taken,
        pulses: Vec::new(),
    })
}
