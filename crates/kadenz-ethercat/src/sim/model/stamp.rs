//! A device that reports when events happened outside, and when a command took effect.
//!
//! Events happen at random times, independent of the bus, as when a foot meets the ground. The device's microcontroller
//! samples once a cycle: the outputs or SYNC0 wake it, it works for a while, and then acts on the newest outputs and
//! samples at one moment, as the devices of \[Yoon2009\] do. It reports the number of events, the time of the last one,
//! the current command and since when it holds; all in the device's system time, as Beckhoff's EL1252 and EL2252 do
//! with distributed clocks. The results of [`control::latency`](crate::control::latency) hold on any segment with such
//! a device.

use super::{Behaviour, Device, Moment, own_coe, own_description};
use crate::description::{Pdo, PdoEntry};
use crate::sim::coe::{Dictionary, DictionarySlot};
use crate::sim::{Random, Time};
use crate::wire::coe::{Address, DataType, Emergency};
use crate::wire::sii::Direction;

/// Product code.
pub(crate) const STAMP: u32 = 0x0503_0001;

/// Bytes of its inputs.
pub const INPUTS: usize = 20;
/// Bytes of its outputs.
pub const OUTPUTS: usize = 2;

/// The device's settings. Times in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampSettings {
    /// How long its microcontroller works from being woken until it acts and samples.
    pub work_ns: u64,
    /// The shortest time from one event to the next.
    pub least_gap_ns: u64,
    /// The largest random addition to it.
    pub more_gap_ns: u64,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for StampSettings {
    /// Half a millisecond of work; from 8 to 13 ms between events, no whole number of cycles.
    fn default() -> Self {
        Self {
            work_ns: 500_000,
            least_gap_ns: 8_000_000,
            more_gap_ns: 5_000_000,
            seed: 1,
        }
    }
}

/// The device's inputs of a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StampOutput {
    /// Events so far; wraps around.
    pub events: u16,
    /// System time of the last one, ns.
    pub event_ns: u64,
    /// The command that the device follows now.
    pub command: u16,
    /// System time since which it holds, ns.
    pub command_ns: u64,
}

impl StampOutput {
    /// Reads the device's inputs; `None` for fewer than [`INPUTS`] bytes.
    #[must_use]
    pub fn read(inputs: &[u8]) -> Option<Self> {
        let (events, rest) = inputs.split_first_chunk()?;
        let (event, rest) = rest.split_first_chunk()?;
        let (command, rest) = rest.split_first_chunk()?;
        Some(Self {
            events: u16::from_le_bytes(*events),
            event_ns: u64::from_le_bytes(*event),
            command: u16::from_le_bytes(*command),
            command_ns: u64::from_le_bytes(*rest.first_chunk()?),
        })
    }
}

/// The behaviour of the device: events, and a command.
#[derive(Debug)]
pub struct Stamp {
    settings: StampSettings,
    random: Random,
    events: u16,
    event: Time,
    next: Time,
    command: i64,
    slots: Option<StampSlots>,
}

/// The places of its PDOs' objects in the dictionary.
#[derive(Debug, Clone, Copy)]
struct StampSlots {
    /// Events, time, command, time.
    inputs: [DictionarySlot; 4],
    command: DictionarySlot,
}

impl Stamp {
    fn new(settings: StampSettings) -> Self {
        Self {
            random: Random::new(settings.seed),
            settings,
            events: 0,
            event: Time::ZERO,
            next: Time::ZERO.after(settings.least_gap_ns),
            command: 0,
            slots: None,
        }
    }

    /// Advances the events outside to `now`.
    fn look(&mut self, now: Time) {
        while self.next <= now {
            self.event = self.next;
            self.events = self.events.wrapping_add(1);
            let more = self
                .random
                .below(self.settings.more_gap_ns.saturating_add(1));
            let gap = self.settings.least_gap_ns.saturating_add(more).max(1);
            self.next = self.next.after(gap);
        }
    }
}

impl Behaviour for Stamp {
    fn power_on(&mut self, objects: &mut Dictionary) {
        let slot = |sub| objects.slot(Address::new(0x6000, sub));
        self.slots = (|| {
            Some(StampSlots {
                inputs: [slot(1)?, slot(2)?, slot(3)?, slot(4)?],
                command: objects.slot(Address::new(0x7000, 1))?,
            })
        })();
        self.command = 0;
    }

    fn step(&mut self, moment: Moment, objects: &mut Dictionary) -> Option<Emergency> {
        let StampSlots { inputs, command } = self.slots?;
        self.look(moment.now);
        let ago = moment.now.since(self.event);
        let at = moment.system_time.wrapping_sub(ago);
        objects.set(inputs[0], self.events.into());
        objects.set(inputs[1], at.cast_signed());
        let wanted = objects.get(command);
        if std::mem::replace(&mut self.command, wanted) != wanted {
            objects.set(inputs[3], moment.system_time.cast_signed());
        }
        objects.set(inputs[2], wanted);
        None
    }

    fn works_ns(&self) -> u64 {
        self.settings.work_ns
    }
}

/// Makes a stamp device of this name and serial number.
#[must_use]
pub fn stamp(name: &str, serial: u32, settings: StampSettings) -> Device<Stamp> {
    let mut description = own_description((STAMP, "KZ-Stamp"), (name, serial), "Sensor");
    let number = DataType::UNSIGNED16;
    let time = DataType::UNSIGNED64;
    let inputs = vec![
        PdoEntry::new(0x6000, 1, "Events", number),
        PdoEntry::new(0x6000, 2, "Time of event", time),
        PdoEntry::new(0x6000, 3, "Command that stands", number),
        PdoEntry::new(0x6000, 4, "Time of command", time),
    ];
    let outputs = vec![PdoEntry::new(0x7000, 1, "Command", number)];
    description.pdos = vec![
        Pdo::new(Direction::Outputs, 0x1600, "Command", Some(2), outputs),
        Pdo::new(Direction::Inputs, 0x1A00, "Stamps", Some(3), inputs),
    ];
    let description = description.with_coe(own_coe(0, Vec::new()), 128);
    Device::new(description, Stamp::new(settings))
}
