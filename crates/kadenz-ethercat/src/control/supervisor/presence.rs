//! SubDevices that came, SubDevices that went, and unknown ones.

use kadenz_rt::clock::MonotonicTime;

use super::identity::StationStatus;
use super::{Event, MAX_PAUSE, PollOutcome, SegmentSupervisor, SupervisedDevice, identity};
use crate::main_device::exchange::{Exchange, ExchangeResult, Target};
use crate::main_device::place::{self, ConfiguredDevice, Newcomer};
use crate::wire::register::STATION_ADDRESS;
use crate::wire::sii::Identity;
use crate::wire::{AlStatus, Configured, Position, State};

/// Addresses for SubDevices that are not identified yet; all are used once before the first is used again.
pub(super) const FIRST_TEMPORARY: u16 = 0x7001;
const LAST_TEMPORARY: u16 = 0x7FFF;

/// A SubDevice on the wire that was not configured.
#[derive(Debug)]
pub(super) struct UnconfiguredDevice {
    station: u16,
    position: u16,
    /// The time of the next identification: its EEPROM may be written meanwhile.
    again: MonotonicTime,
    tries: u32,
}

/// A SubDevice whose identity is being read.
struct PendingIdentification {
    station: Configured,
    position: u16,
    alias: u16,
    /// The device whose address it has, if it has kept one.
    returning: Option<usize>,
}

impl SegmentSupervisor {
    /// Notes which SubDevices are there, and gives addresses to those that have none.
    pub(super) fn note_presence(
        &mut self,
        exchange: &mut dyn Exchange,
        rows: &[StationStatus],
    ) -> ExchangeResult<PollOutcome> {
        let now = exchange.now();
        self.note_losses(rows, now);
        let asked = self.newcomers(exchange, rows)?;
        if asked.is_empty() {
            self.note_moved(now);
            return Ok(PollOutcome::Calm);
        }
        let stations: Vec<_> = asked.iter().map(|it| it.station).collect();
        let bytes = self.settings.frame_bytes;
        let identities = identity::read(exchange, &stations, bytes)?;
        let unconfigured = self.welcome(exchange, asked, &identities)?;
        self.assign_addresses(exchange, &unconfigured)?;
        self.note_moved(exchange.now());
        Ok(PollOutcome::Moving)
    }

    /// Notes devices that were there and are not, and the positions of the others.
    fn note_losses(&mut self, rows: &[StationStatus], now: MonotonicTime) {
        for device in 0..self.watched.len() {
            match self.watched[device].position_in(rows) {
                None => self.lose(device, now),
                Some(position) if self.watched[device].position.is_some() => {
                    self.watched[device].position = Some(position);
                    self.device_table
                        .note(device, |it| it.position = Some(position));
                }
                Some(_) => {}
            }
        }
        let notices = &self.notices;
        self.unconfigured.retain_mut(|it| {
            if let Some(position) = position_of(rows, it.station) {
                it.position = position;
                return true;
            }
            let event = Event::UnknownGone {
                position: it.position,
            };
            notices.publish(now, None, event);
            false
        });
    }

    pub(super) fn lose(&mut self, device: usize, now: MonotonicTime) {
        self.pool.cancel(device);
        let wanted = self.wanted(device);
        let watched = &mut self.watched[device];
        watched.missed |= watched.reached == Some(wanted);
        let was_there = watched.position.take().is_some();
        // Another MainDevice may meanwhile have configured a device that was never seen.
        watched.configured &= was_there || watched.is_reported;
        watched.seen = None;
        watched.row = None;
        watched.pending = None;
        watched.grace = None;
        watched.set_up = false;
        watched.well = None;
        watched.counters = None;
        let is_news = was_there || !watched.is_reported;
        watched.is_reported = true;
        if is_news {
            self.report(device, now, Event::Lost);
            self.device_table.note(device, |it| {
                (it.position, it.status) = (None, 0);
                it.losses += 1;
            });
        }
    }

    /// The SubDevices to be identified. One without an address of ours gets one that no device has.
    fn newcomers(
        &mut self,
        exchange: &mut dyn Exchange,
        rows: &[StationStatus],
    ) -> ExchangeResult<Vec<PendingIdentification>> {
        let now = exchange.now();
        let mut batch = self.batch();
        let mut given = Vec::new();
        let mut asked = Vec::new();
        for (position, row) in (0_u16..).zip(rows) {
            let alone = position_of(rows, row.station) == Some(position);
            let returning = self.watched.iter().position(|it| {
                it.label.station == row.station && it.position_in(rows) == Some(position)
            });
            let one = PendingIdentification {
                station: Configured(row.station),
                position,
                alias: row.alias,
                returning,
            };
            match returning {
                Some(device) if self.watched[device].position.is_some() => {}
                // At the start every device has just been identified.
                Some(device) if !self.watched[device].is_reported => {
                    self.take_back(device, position, now);
                }
                Some(_) => asked.push(one),
                None if alone && self.is_unconfigured(row.station) => {
                    if self.is_due(row.station, now) {
                        asked.push(one);
                    }
                }
                None => {
                    let station = self.next_temporary(rows);
                    let target = Target::At(Position(position));
                    batch.together();
                    let written = batch.write(target, STATION_ADDRESS, &station.to_le_bytes());
                    given.push((
                        written,
                        PendingIdentification {
                            station: Configured(station),
                            ..one
                        },
                    ));
                }
            }
        }
        batch.send(exchange)?;
        let given = given.into_iter();
        asked.extend(
            given
                .filter(|(written, _)| batch.working_counter(*written) == 1)
                .map(|(_, one)| one),
        );
        Ok(asked)
    }

    fn is_unconfigured(&self, station: u16) -> bool {
        self.unconfigured.iter().any(|it| it.station == station)
    }

    fn is_due(&self, station: u16, now: MonotonicTime) -> bool {
        let mut unconfigured = self.unconfigured.iter();
        unconfigured.any(|it| it.station == station && it.again <= now)
    }

    fn next_temporary(&mut self, rows: &[StationStatus]) -> u16 {
        loop {
            let station = self.temporary;
            self.temporary = match station {
                LAST_TEMPORARY => FIRST_TEMPORARY,
                other => other + 1,
            };
            let taken = rows.iter().any(|it| it.station == station)
                || self.watched.iter().any(|it| it.label.station == station);
            if !taken {
                return station;
            }
        }
    }

    /// Takes back SubDevices that kept their address and are the device of that address; returns the others,
    /// with their identities. Where an EEPROM does not answer, a SubDevice is believed that has kept its
    /// address.
    fn welcome(
        &mut self,
        exchange: &mut dyn Exchange,
        asked: Vec<PendingIdentification>,
        identities: &[Option<Identity>],
    ) -> ExchangeResult<Vec<(PendingIdentification, Option<Identity>)>> {
        let now = exchange.now();
        let mut unconfigured = Vec::new();
        for (one, identity) in asked.into_iter().zip(identities) {
            let Some(device) = one.returning else {
                unconfigured.push((one, *identity));
                continue;
            };
            let watched = &self.watched[device];
            let same = identity.is_none_or(|it| it == watched.identity);
            if same && one.alias == watched.alias {
                self.take_back(device, one.position, now);
                continue;
            }
            // A foreign device, with an address that another MainDevice gave it.
            let station = self.next_temporary(&[]);
            if self.readdress(exchange, one.station, station)? {
                let one = PendingIdentification {
                    station: Configured(station),
                    ..one
                };
                unconfigured.push((one, *identity));
            }
        }
        Ok(unconfigured)
    }

    fn take_back(&mut self, device: usize, position: u16, now: MonotonicTime) {
        let watched = &mut self.watched[device];
        watched.position = Some(position);
        watched.not_before = now;
        let was_reported = std::mem::replace(&mut watched.is_reported, true);
        self.device_table
            .note(device, |it| it.position = Some(position));
        if was_reported {
            let powered = true;
            self.report(device, now, Event::Back { position, powered });
        }
    }

    /// Gives identified devices their addresses, and reports the unknown ones.
    fn assign_addresses(
        &mut self,
        exchange: &mut dyn Exchange,
        asked: &[(PendingIdentification, Option<Identity>)],
    ) -> ExchangeResult {
        let known: Vec<_> = self
            .watched
            .iter()
            .map(|it| ConfiguredDevice {
                identity: it.identity,
                alias: it.alias,
                position: it.position.map(usize::from),
            })
            .collect();
        let newcomers: Vec<_> = asked
            .iter()
            .filter_map(|(one, identity)| {
                Some(Newcomer {
                    position: usize::from(one.position),
                    identity: (*identity)?,
                    alias: one.alias,
                })
            })
            .collect();
        let places = place::places(&known, &newcomers, self.settings.serials);
        for (one, identity) in asked {
            let place = newcomers
                .iter()
                .position(|it| it.position == usize::from(one.position))
                .and_then(|it| places[it]);
            match (place, identity) {
                (Some(device), Some(identity)) => self.settle(exchange, device, one, *identity)?,
                _ => {
                    self.leave_unconfigured(exchange, one.station)?;
                    self.note_unconfigured(one, *identity, exchange.now());
                }
            }
        }
        Ok(())
    }

    /// Gives a device its address again. No other device has it: it was seen at no position.
    fn settle(
        &mut self,
        exchange: &mut dyn Exchange,
        device: usize,
        one: &PendingIdentification,
        identity: Identity,
    ) -> ExchangeResult {
        let station = self.watched[device].label.station;
        if !self.readdress(exchange, one.station, station)? {
            return Ok(());
        }
        let now = exchange.now();
        self.unconfigured.retain(|it| it.station != one.station.0);
        self.note_seen(one.position, station);
        let watched = &mut self.watched[device];
        watched.position = Some(one.position);
        watched.not_before = now;
        watched.is_reported = true;
        // It did not keep its address, so that its process data may be that of another MainDevice as well.
        watched.configured = false;
        let before = std::mem::replace(&mut watched.identity, identity);
        self.device_table.note(device, |it| {
            it.position = Some(one.position);
            it.identity[3] = identity.serial;
        });
        let (position, powered) = (one.position, false);
        self.report(device, now, Event::Back { position, powered });
        if before.serial != identity.serial {
            let event = Event::Replaced {
                serial: before.serial,
                now: identity.serial,
            };
            self.report(device, now, event);
        }
        Ok(())
    }

    /// Gives a device another address; returns whether it took it.
    fn readdress(
        &self,
        exchange: &mut dyn Exchange,
        device: Configured,
        station: u16,
    ) -> ExchangeResult<bool> {
        let mut batch = self.batch();
        let written = batch.write(Target::Of(device), STATION_ADDRESS, &station.to_le_bytes());
        batch.send(exchange)?;
        Ok(batch.working_counter(written) == 1)
    }

    /// Makes the next look find this station at that position, as if it had been there before.
    fn note_seen(&mut self, position: u16, station: u16) {
        let seen = self.before.as_mut();
        if let Some(place) = seen.and_then(|it| it.get_mut(usize::from(position))) {
            *place = station;
        }
    }

    fn note_unconfigured(
        &mut self,
        one: &PendingIdentification,
        identity: Option<Identity>,
        now: MonotonicTime,
    ) {
        let known = self
            .unconfigured
            .iter_mut()
            .find(|it| it.station == one.station.0);
        if let Some(known) = known {
            known.tries += 1;
            known.again = now + MAX_PAUSE * known.tries.min(10);
            return;
        }
        self.unconfigured.push(UnconfiguredDevice {
            station: one.station.0,
            position: one.position,
            again: now + MAX_PAUSE,
            tries: 1,
        });
        self.note_seen(one.position, one.station.0);
        let event = Event::Unknown {
            position: one.position,
            identity: identity.map(|it| [it.vendor, it.product, it.revision, it.serial]),
        };
        self.notices.publish(now, None, event);
    }

    /// Notes devices at another place than at the start, relative to the others.
    fn note_moved(&mut self, now: MonotonicTime) {
        let positions: Vec<_> = self
            .watched
            .iter()
            .map(|it| it.position.map(usize::from))
            .collect();
        for (device, moved) in place::moved(&positions).into_iter().enumerate() {
            let watched = &mut self.watched[device];
            let Some(to) = watched.position else { continue };
            if std::mem::replace(&mut watched.moved, moved) || !moved {
                continue;
            }
            let from = watched.first;
            self.report(device, now, Event::Moved { from, to });
        }
    }

    /// Notes the status of each device; a change must be seen twice, unless it was expected.
    pub(super) fn note_rows(&mut self, rows: &[StationStatus], now: MonotonicTime) -> PollOutcome {
        let mut looked = PollOutcome::Calm;
        for device in 0..self.watched.len() {
            let watched = &mut self.watched[device];
            let row = watched.position.and_then(|it| rows.get(usize::from(it)));
            // Positions are of this look, except for a device that just came.
            let Some(row) = row.filter(|it| it.station == watched.label.station) else {
                continue;
            };
            let awaited = watched
                .pending
                .is_some_and(|(_, to, _)| row.status.0 == u16::from(to.number()));
            let seen = watched.seen.replace(*row);
            if watched.row == Some(*row) {
                continue;
            }
            if seen == Some(*row) || awaited {
                looked = looked.max(PollOutcome::Moving);
                self.accept_status(device, *row, now);
            } else {
                looked = PollOutcome::Unsure;
            }
        }
        looked
    }

    fn accept_status(&mut self, device: usize, row: StationStatus, now: MonotonicTime) {
        let watched = &mut self.watched[device];
        let before = watched.row.replace(row);
        watched.acknowledged &= row.status.error();
        watched.grace = watched.grace.filter(|_| row.status.error());
        let from = std::mem::replace(&mut watched.status, row.status.0);
        let left = |it: &(State, State, MonotonicTime)| row.status.0 != u16::from(it.0.number());
        if watched.pending.as_ref().is_some_and(left) {
            watched.pending = None;
        }
        let recovers = self.note_wanted_state(device, row.status);
        self.device_table.note(device, |it| {
            it.status = row.status.0;
            it.code = row.code.0;
            it.links = row.links.0;
            it.recoveries += u32::from(recovers);
        });
        if from != 0 && from != row.status.0 {
            let (to, code) = (row.status.0, row.code.0);
            self.report(device, now, Event::State { from, to, code });
        }
        let Some(before) = before else { return };
        for port in 0..4 {
            match (before.links.link(port), row.links.link(port)) {
                (true, false) => self.report(device, now, Event::LinkDown { port }),
                (false, true) => self.report(device, now, Event::LinkUp { port }),
                _ => {}
            }
        }
    }

    /// Notes whether a device is in its wanted state, and whether it was before; returns whether it came
    /// back to it. Where its wanted state changed, it did not leave the former by itself.
    fn note_wanted_state(&mut self, device: usize, status: AlStatus) -> bool {
        let wanted = self.wanted(device);
        let watched = &mut self.watched[device];
        if status == AlStatus::new(wanted, false) {
            watched.reached = Some(wanted);
            return std::mem::take(&mut watched.missed);
        }
        watched.missed |= watched.reached == Some(wanted);
        false
    }
}

impl SupervisedDevice {
    /// The position of the device. Where another one has its address as well, the device is the one that is as it was
    /// seen last: the one at the former position, or else the only one.
    pub(super) fn position_in(&self, rows: &[StationStatus]) -> Option<u16> {
        position_of(rows, self.label.station).or_else(|| {
            let (before, former) = (self.row?, self.position?);
            let seen = |it: &StationStatus| (it.station, it.alias, it.status);
            let is_same = |it: &StationStatus| seen(it) == seen(&before);
            let row = rows.get(usize::from(former));
            match row.is_some_and(is_same) {
                true => Some(former),
                false => only_position(rows, is_same),
            }
        })
    }
}

/// The position of a station, if the station is there once.
fn position_of(rows: &[StationStatus], station: u16) -> Option<u16> {
    only_position(rows, |it| it.station == station)
}

/// The position of the only row of that kind.
fn only_position(rows: &[StationStatus], is: impl Fn(&StationStatus) -> bool) -> Option<u16> {
    let mut found = rows.iter().enumerate().filter(|(_, it)| is(it));
    let (position, _) = found.next()?;
    found.next().is_none().then_some(position as u16)
}
