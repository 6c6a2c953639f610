//! Sensors of a robot, with moving and noisy values.

use std::f64::consts::TAU;

use super::{Behaviour, Device, Moment, own_coe, own_description};
use crate::description::{Description, Pdo, PdoEntry};
use crate::sim::Random;
use crate::sim::coe::{Dictionary, DictionarySlot};
use crate::wire::coe::{Address, DataType, Emergency};
use crate::wire::sii::Direction;

/// Product code of the inertial measurement unit.
pub const IMU: u32 = 0x0501_0001;
/// Product code of the force and torque sensor.
pub(crate) const FORCE: u32 = 0x0502_0001;

/// The signal of a sensor's channel: it swings about a mean, with noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Channel {
    /// Its mean, in the channel's unit.
    pub mean: f64,
    /// Amplitude of its swing.
    pub swing: f64,
    /// Standard deviation of its noise.
    pub noise: f64,
}

/// Six channels, a counter of samples, and the lower four bytes of the device's system time of the sample, in ns, so
/// that a reader can compute the age of a value.
#[derive(Debug)]
pub struct SixAxes {
    /// The channels in their order.
    pub channels: [Channel; 6],
    /// Frequency of the robot's swing, in Hz.
    pub frequency: f64,
    noise: Random,
    samples: u32,
    slots: Option<[DictionarySlot; 8]>,
}

impl SixAxes {
    fn new(channels: [Channel; 6], seed: u64) -> Self {
        Self {
            channels,
            frequency: 0.8,
            noise: Random::new(seed),
            samples: 0,
            slots: None,
        }
    }
}

fn slots(objects: &Dictionary) -> Option<[DictionarySlot; 8]> {
    let slot = |sub| objects.slot(Address::new(0x6000, sub));
    let channels = [slot(1)?, slot(2)?, slot(3)?, slot(4)?, slot(5)?, slot(6)?];
    let [a, b, c, d, e, f] = channels;
    Some([a, b, c, d, e, f, slot(7)?, slot(8)?])
}

impl Behaviour for SixAxes {
    fn power_on(&mut self, objects: &mut Dictionary) {
        self.slots = slots(objects);
        self.samples = 0;
    }

    fn step(&mut self, moment: Moment, objects: &mut Dictionary) -> Option<Emergency> {
        let slots = self.slots?;
        let phase = moment.now.0 as f64 * 1e-9 * self.frequency * TAU;
        for (nth, (channel, slot)) in self.channels.iter().zip(slots).enumerate() {
            let swing = channel.swing * (phase + nth as f64).sin();
            let value = channel.mean + swing + channel.noise * self.noise.normal();
            let limited = value.clamp(f64::from(i16::MIN), f64::from(i16::MAX));
            objects.set(slot, limited.round() as i64);
        }
        self.samples = self.samples.wrapping_add(1);
        objects.set(slots[6], i64::from(self.samples as u16));
        objects.set(slots[7], i64::from(moment.system_time as u32));
        None
    }

    fn period_ns(&self) -> Option<u64> {
        Some(1_000_000)
    }
}

fn describe(kind: (u32, &str), which: (&str, u32), channels: [&str; 6]) -> Description {
    let mut description = own_description(kind, which, "Sensor");
    let mut entries: Vec<_> = (1..)
        .zip(channels)
        .map(|(sub, channel)| PdoEntry::new(0x6000, sub, channel, DataType::INTEGER16))
        .collect();
    let counter = DataType::UNSIGNED16;
    entries.push(PdoEntry::new(0x6000, 7, "Sample counter", counter));
    let time = DataType::UNSIGNED32;
    entries.push(PdoEntry::new(0x6000, 8, "Time of sample", time));
    let inputs = Direction::Inputs;
    description.pdos = vec![Pdo::new(inputs, 0x1A00, "Sample", Some(3), entries)];
    description.with_coe(own_coe(0, Vec::new()), 128)
}

/// An inertial measurement unit: acceleration in mm/s2, then angular velocity in mrad/s, each x, y, z.
/// It stands upright and sways a little.
#[must_use]
pub fn imu(name: &str, serial: u32, seed: u64) -> Device<SixAxes> {
    let channels = [
        "Acceleration X",
        "Acceleration Y",
        "Acceleration Z",
        "Angular velocity X",
        "Angular velocity Y",
        "Angular velocity Z",
    ];
    let acceleration = |mean, swing| Channel {
        mean,
        swing,
        noise: 12.0,
    };
    let turn = |swing| Channel {
        mean: 0.0,
        swing,
        noise: 2.0,
    };
    let moves = [
        acceleration(0.0, 150.0),
        acceleration(0.0, 400.0),
        acceleration(9_807.0, 80.0),
        turn(60.0),
        turn(25.0),
        turn(10.0),
    ];
    let description = describe((IMU, "KZ-IMU"), (name, serial), channels);
    Device::new(description, SixAxes::new(moves, seed))
}

/// A force and torque sensor: forces in 0.1 N, then torques in 0.01 N m, each x, y, z. It carries half a robot, with
/// a varying load.
#[must_use]
pub fn force(name: &str, serial: u32, seed: u64) -> Device<SixAxes> {
    let channels = [
        "Force X", "Force Y", "Force Z", "Torque X", "Torque Y", "Torque Z",
    ];
    let channel = |mean, swing, noise| Channel { mean, swing, noise };
    let moves = [
        channel(0.0, 200.0, 5.0),
        channel(0.0, 150.0, 5.0),
        channel(3_000.0, 2_500.0, 8.0),
        channel(0.0, 400.0, 6.0),
        channel(0.0, 600.0, 6.0),
        channel(0.0, 100.0, 4.0),
    ];
    let description = describe((FORCE, "KZ-Force"), (name, serial), channels);
    Device::new(description, SixAxes::new(moves, seed))
}
