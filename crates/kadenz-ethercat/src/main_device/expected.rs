//! The devices that a segment is to have, and which of them are there while it is brought up.
//!
//! A segment's [file](crate::sim::file) lists the expected devices; without one, they are the most devices seen so far.
//! Found devices are matched with them by identity, alias and order, and get the addresses that they have in the whole
//! segment. Where a file describes a missing device, a virtual one of that kind answers in its place, so that it is
//! configured offline like all others: the loop has room for its process data, and the supervisor brings it to OP when
//! it comes.
//!
//! ```
//! use kadenz_ethercat::main_device::bring_up::{configure, prepare};
//! use kadenz_ethercat::main_device::exchange::{RetryPolicy, Registers, BlockingExchange};
//! use kadenz_ethercat::main_device::expected::Expected;
//! use kadenz_ethercat::main_device::link::Link;
//! use kadenz_ethercat::sim::WirePort;
//! use kadenz_ethercat::sim::humanoid::humanoid;
//!
//! let mut link = Link::new(WirePort::new(humanoid(5).build()?), 1);
//! let mut segment = BlockingExchange { link: &mut link, retry: RetryPolicy::default() };
//! let mut expected = Expected::of(humanoid(6))?;
//! let mut found = expected.discover(&mut Registers::by(&mut segment))?;
//! assert_eq!(found.missing, [5]);
//! let mut completed = expected.complete(&mut segment, &found);
//! let mut registers = Registers::by(&mut completed);
//! configure(&mut registers, &mut found.devices)?;
//! let cycle = prepare(&mut registers, &mut found.devices, None)?;
//! assert_eq!(cycle.layout().shares.len(), 6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::bring_up::BringUpError;
use super::device::SubDevice;
use super::discover::{self, DiscoverError, FIRST_STATION};
use super::exchange::{BlockingExchange, Exchange, ExchangeResult, FrameBuffer, Registers, Target};
use super::link::Link;
use super::place::{self, ConfiguredDevice, Newcomer, Serials};
use crate::sim::WirePort;
use crate::sim::file::{BuildError, SegmentPlan};
use crate::wire::register::STATION_ADDRESS;
use crate::wire::{Addressing, Configured, Datagrams, Position};

/// Most missing devices that an error names.
const MAX_NAMED: usize = 8;

/// The reason why a file gives no expected devices.
#[derive(Debug, thiserror::Error)]
pub enum ExpectedError {
    /// It describes no valid segment.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The virtual devices could not be discovered.
    #[error(
        "the virtual devices of the file are not found: {0}; does their EEPROM say what they are?"
    )]
    Discover(#[from] DiscoverError),
}

/// The expected devices. By default, those that were seen, as far as any were.
#[derive(Debug, Default)]
pub struct Expected {
    devices: Vec<SubDevice>,
    /// Without a file, the most devices that answered so far: a device whose identity cannot be read still counts.
    most: u16,
    /// Answers in place of missing devices, where a file describes them.
    stand_in: Option<Link<WirePort>>,
}

/// The expected devices, with those of them that are there.
#[derive(Debug)]
pub struct FoundDevices {
    /// All expected devices, in their order: the data of a found device by itself, of the others as expected.
    pub devices: Vec<SubDevice>,
    /// Indices of those that are not there.
    pub missing: Vec<usize>,
    /// Indices of found devices without the expected serial number: another device of the same kind may be meant.
    by_order: Vec<usize>,
    /// Number of devices on the wire, including unexpected ones.
    count: u16,
    /// The most devices counted before, where no file lists the expected ones.
    most: u16,
}

impl Expected {
    /// The devices of a segment file, without its faults. Allocates.
    ///
    /// # Errors
    /// [`ExpectedError`].
    pub fn of(plan: SegmentPlan) -> Result<Self, ExpectedError> {
        let faults = Vec::new();
        let segment = SegmentPlan { faults, ..plan }.build()?;
        let mut expected = Self {
            stand_in: Some(Link::new(WirePort::new(segment), 0)),
            ..Self::default()
        };
        expected.begin_anew()?;
        Ok(expected)
    }

    /// Whether a missing device can be configured in its absence.
    #[must_use]
    pub(crate) const fn is_described(&self) -> bool {
        self.stand_in.is_some()
    }

    /// Brings the stand-ins to INIT, the state of all devices that [`discover`](discover::discover) finds.
    fn begin_anew(&mut self) -> Result<(), DiscoverError> {
        if let Some(link) = &mut self.stand_in {
            let mut exchange = BlockingExchange::over(link);
            self.devices = discover::discover(&mut Registers::by(&mut exchange))?;
        }
        Ok(())
    }

    /// Where a file lists the expected devices, other devices may come and go.
    fn note_count(&mut self, count: u16) {
        if !self.is_described() {
            self.most = self.most.max(count);
        }
    }

    /// Brings all devices to INIT, reads their identities and gives each the address that it has among all expected
    /// ones. An unexpected device is left without an address. Waits, allocates.
    ///
    /// # Errors
    /// [`DiscoverError`].
    pub fn discover(
        &mut self,
        registers: &mut Registers<'_>,
    ) -> Result<FoundDevices, DiscoverError> {
        let counted = discover::count(registers)?;
        self.note_count(counted);
        let found = discover::discover(registers)?;
        let count = found.len() as u16;
        self.note_count(count);
        self.begin_anew()?;
        // A smaller number than once counted could be matched with the wrong devices.
        if !self.is_described() && count == self.most {
            self.devices.clone_from(&found);
        }
        let mut devices = match self.devices.is_empty() {
            true => found.clone(),
            false => self.devices.clone(),
        };
        let places = places(&devices, &found);
        let mut missing: Vec<_> = (0..devices.len()).collect();
        let mut by_order = Vec::new();
        for (device, place) in found.into_iter().zip(places) {
            let station = place.map_or(0, |it| FIRST_STATION.wrapping_add(it as u16));
            if device.station.0 != station {
                registers.put_u16(Target::At(device.position), STATION_ADDRESS, station)?;
            }
            let Some(place) = place else { continue };
            missing.retain(|it| *it != place);
            let serial = device.identity.serial;
            if serial == 0 || serial != devices[place].identity.serial {
                by_order.push(place);
            }
            devices[place] = SubDevice {
                station: Configured(station),
                position: Position(place as u16),
                ..device
            };
        }
        Ok(FoundDevices {
            devices,
            missing,
            by_order,
            count,
            most: self.most,
        })
    }

    /// Tries once to bring up all expected devices: finds them, lets `accept` decide whether the found ones suffice,
    /// and calls `configure` for all, with stand-ins for the missing. Returns the result of `configure`. Waits,
    /// allocates.
    ///
    /// # Errors
    /// Those of discovery, `accept` and `configure`, and [`BringUpError::Changed`] where a device came or went
    /// meanwhile.
    pub fn bring_up<T, E>(
        &mut self,
        segment: &mut dyn Exchange,
        accept: impl FnOnce(&FoundDevices) -> Result<(), BringUpError>,
        configure: impl FnOnce(&mut Registers<'_>, &mut [SubDevice]) -> Result<T, E>,
    ) -> Result<(Vec<SubDevice>, T), E>
    where
        E: From<DiscoverError> + From<BringUpError>,
    {
        let mut found = self.discover(&mut Registers::by(segment))?;
        accept(&found)?;
        let mut completed = self.complete(segment, &found);
        let done = configure(&mut Registers::by(&mut completed), &mut found.devices)?;
        found.ensure_unchanged(&mut Registers::by(segment))?;
        Ok((found.devices, done))
    }

    /// The way to all expected devices: for missing ones it leads to their stand-ins, where a file describes them. For
    /// frames whose datagrams all go to one station address.
    pub fn complete<'x>(
        &'x mut self,
        segment: &'x mut dyn Exchange,
        found: &FoundDevices,
    ) -> StandInExchange<'x> {
        let missing = found.missing.iter().map(|it| found.devices[*it].station);
        StandInExchange {
            segment,
            stand_in: self.stand_in.as_mut().map(BlockingExchange::over),
            missing: missing.collect(),
        }
    }

    /// The name of the device with a station address, as `left knee (position 8, address 0x1009)`.
    #[must_use]
    pub fn label(&self, station: Configured) -> String {
        let device = self.devices.iter().find(|it| it.station == station);
        device.map_or_else(
            || {
                let position = station.0.wrapping_sub(FIRST_STATION);
                format!(
                    "the device at position {position} (address 0x{:04X})",
                    station.0
                )
            },
            SubDevice::label,
        )
    }
}

impl FoundDevices {
    /// Returns an error where a device is missing.
    ///
    /// # Errors
    /// [`BringUpError::Missing`], or [`BringUpError::Changed`] for a counted device that went before it was identified.
    pub fn ensure_complete(&self) -> Result<(), BringUpError> {
        if !self.missing.is_empty() {
            let devices = self.named_missing();
            return Err(BringUpError::Missing { devices });
        }
        let (before, now) = (self.most, self.count);
        match now < before {
            true => Err(BringUpError::Changed { before, now }),
            false => Ok(()),
        }
    }

    /// Returns an error where a missing device may be one that is there: of the same kind and alias, and with no serial
    /// number to distinguish them. It would be given the settings and outputs of the other.
    ///
    /// # Errors
    /// [`BringUpError::Ambiguous`].
    pub fn ensure_unambiguous(&self) -> Result<(), BringUpError> {
        let is_like = |one: usize, other: usize| {
            let (one, other) = (&self.devices[one], &self.devices[other]);
            let kind = |it: &SubDevice| {
                let of = it.identity;
                (of.vendor, of.product, of.revision, it.alias)
            };
            kind(one) == kind(other)
        };
        let is_doubtful = |missing: &usize| self.by_order.iter().any(|it| is_like(*missing, *it));
        let doubtful: Vec<_> = self.missing.iter().copied().filter(is_doubtful).collect();
        if doubtful.is_empty() {
            return Ok(());
        }
        let devices = self.named(&doubtful);
        Err(BringUpError::Ambiguous { devices })
    }

    /// The names of the missing devices, for people; the first of many.
    #[must_use]
    pub fn named_missing(&self) -> String {
        self.named(&self.missing)
    }

    fn named(&self, places: &[usize]) -> String {
        let labels = places.iter().map(|it| self.devices[*it].label());
        let mut named = labels.take(MAX_NAMED).collect::<Vec<_>>().join(", ");
        let more = places.len().saturating_sub(MAX_NAMED);
        if more > 0 {
            named.push_str(&format!(" and {more} more"));
        }
        named
    }

    /// Checks that as many devices are there as when they were found. Waits.
    ///
    /// # Errors
    /// [`BringUpError::Changed`] where a device came or went meanwhile.
    pub(crate) fn ensure_unchanged(
        &self,
        registers: &mut Registers<'_>,
    ) -> Result<(), BringUpError> {
        let (before, now) = (self.count, discover::count(registers)?);
        if now == before {
            return Ok(());
        }
        Err(BringUpError::Changed { before, now })
    }
}

/// The way to a segment in which stand-ins answer for missing devices.
pub struct StandInExchange<'x> {
    segment: &'x mut dyn Exchange,
    stand_in: Option<BlockingExchange<'x, WirePort>>,
    missing: Vec<Configured>,
}

impl StandInExchange<'_> {
    /// The way that answers a frame: the segment or the stand-ins.
    fn answering(&mut self, frame: &FrameBuffer) -> &mut dyn Exchange {
        let first = Datagrams::of(frame.bytes()).ok();
        let first = first.and_then(|mut it| it.next()?.ok());
        let is_missing = first.is_some_and(|it| {
            it.command.addressing() == Addressing::Configured
                && self.missing.contains(&Configured(it.address.device()))
        });
        match &mut self.stand_in {
            Some(stand_in) if is_missing => stand_in,
            _ => &mut *self.segment,
        }
    }
}

impl Exchange for StandInExchange<'_> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        self.answering(frame).exchange(frame)
    }

    fn exchange_once(&mut self, frame: &mut FrameBuffer) -> ExchangeResult<bool> {
        self.answering(frame).exchange_once(frame)
    }

    fn pause(&mut self, span: Duration) {
        if let Some(stand_in) = self.stand_in.as_mut().filter(|_| !self.missing.is_empty()) {
            stand_in.pause(span);
        }
        self.segment.pause(span);
    }

    fn now(&self) -> MonotonicTime {
        self.segment.now()
    }
}

/// The index among the expected devices of each found one.
fn places(expected: &[SubDevice], found: &[SubDevice]) -> Vec<Option<usize>> {
    let known = expected.iter().map(|it| ConfiguredDevice {
        identity: it.identity,
        alias: it.alias,
        position: None,
    });
    let newcomers = found.iter().enumerate().map(|(position, it)| Newcomer {
        position,
        identity: it.identity,
        alias: it.alias,
    });
    let (known, newcomers): (Vec<_>, Vec<_>) = (known.collect(), newcomers.collect());
    place::places(&known, &newcomers, Serials::MayDiffer)
}
