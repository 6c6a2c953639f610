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

/// Takes receive times, finds the topology, and computes delays. Writes only the latch, and closes a ring's last
/// port meanwhile. Waits, allocates.
///
/// # Errors
/// [`ClockError`].
pub fn measure(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    settings: &ClockSettings,
) -> Result<Clocks, ClockError> {
    let mut latched = look(registers, devices)?;
    let all: Vec<_> = latched.iter().map(|it| (it.links, it.entry)).collect();
    let topology = Topology::of(&all)?;
    let Some((at, port)) = topology.back else {
        let taken = measure_rounds(registers, devices, &mut latched, settings)?;
        return Ok(compute(devices, &topology, &latched, taken, settings)?);
    };
    // A ring is a line for as long as its end is closed: the measured frames must come back.
    let target = devices[at].target();
    let before = DlControl(registers.get_u32(target, DL_CONTROL)?);
    let closed = before.with_port(port, LoopControl::AlwaysClosed);
    registers.write(target, DL_CONTROL, &closed.0.to_le_bytes())?;
    latched[at].links = latched[at].links.with_port(port, PortStatus::Closed);
    let taken = measure_rounds(registers, devices, &mut latched, settings);
    registers.write(target, DL_CONTROL, &before.0.to_le_bytes())?;
    Ok(compute(devices, &topology, &latched, taken?, settings)?)
}

/// Reads the links of all, and the ports by which frames come in.
fn look(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
) -> Result<Vec<LatchedTimes>, ClockError> {
    let mut all = Vec::with_capacity(devices.len());
    for device in devices {
        let links = DlStatus(registers.get_u16(device.target(), DL_STATUS)?);
        let clock = width(device).is_some();
        let entry = match topology::entry_by_links(links) {
            None if clock => {
                registers.count_writing(Target::All(0), DC_RECEIVE_TIME, &[0; 4])?;
                let bytes = registers.get(device.target(), DC_RECEIVE_TIME)?;
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
fn measure_rounds(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    latched: &mut [LatchedTimes],
    settings: &ClockSettings,
) -> Result<MonotonicTime, ClockError> {
    let mut taken = registers.exchange().now();
    for round in 0..settings.rounds.max(1) {
        if round > 0 {
            registers.exchange().pause(settings.pause);
        }
        taken = registers.exchange().now();
        registers.count_writing(Target::All(0), DC_RECEIVE_TIME, &[0; 4])?;
        for (device, latched) in devices.iter().zip(&mut *latched).filter(|it| it.1.clock) {
            let bytes = registers.get(device.target(), DC_RECEIVE_TIME)?;
            latched.rounds.push(Times::read(&bytes));
        }
    }
    Ok(taken)
}

/// How many ns of its own a clock counts for each ns of the reference's.
fn speed(reference: &LatchedTimes, latched: &LatchedTimes) -> f64 {
    // The lower halves suffice: a measurement takes less than 4 s.
    let span = |latched: &LatchedTimes| match (latched.rounds.first(), latched.rounds.last()) {
        (Some(first), Some(last)) => (last.unit as u32).wrapping_sub(first.unit as u32),
        _ => 0,
    };
    match (span(latched), span(reference)) {
        (0, _) | (_, 0) => 1.0,
        (own, there) => f64::from(own) / f64::from(there),
    }
}

/// The mean times of one SubDevice, by the reference's clock.
fn passage(
    position: u16,
    latched: &LatchedTimes,
    speed: f64,
) -> Result<PassageTimes, TopologyError> {
    let mut times = [0.0; 4];
    for port in topology::open_ports(latched.links) {
        let all = latched
            .rounds
            .iter()
            .map(|it| it.after(port, latched.entry));
        if all.clone().any(|it| it < 0) {
            return Err(TopologyError::Backwards { position, port });
        }
        let sum: i64 = all.map(i64::from).sum();
        times[usize::from(port)] = sum as f64 / latched.rounds.len().max(1) as f64 / speed;
    }
    Ok(PassageTimes {
        clock: latched.clock,
        times,
    })
}

fn compute(
    devices: &[SubDevice],
    topology: &Topology,
    latched: &[LatchedTimes],
    taken: MonotonicTime,
    settings: &ClockSettings,
) -> Result<Clocks, TopologyError> {
    let reference = latched.iter().position(|it| it.clock);
    let speeds: Vec<_> = latched
        .iter()
        .map(|it| reference.map_or(1.0, |reference| speed(&latched[reference], it)))
        .collect();
    let passages = latched.iter().zip(&speeds).enumerate();
    let passages = passages.map(|(at, (latched, speed))| match latched.clock {
        true => passage(at as u16, latched, *speed),
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
        local_ns: latched[at].rounds.last().map_or(0, |it| it.unit),
    });
    Ok(Clocks {
        devices: clocks.collect(),
        reference,
        taken,
        pulses: Vec::new(),
    })
}
