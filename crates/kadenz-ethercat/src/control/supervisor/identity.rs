//! Which SubDevices are on the wire now, position by position; reads identities from many EEPROMs at
//! once.

use std::time::Duration;

use super::batch::{AccessId, Batch};
use crate::main_device::exchange::{Exchange, ExchangeResult, Registers, Target};
use crate::wire::register::sii_control::{BUSY, EIGHT_BYTES, NOT_ACKNOWLEDGED, READ};
use crate::wire::register::{
    AL_STATUS, DL_STATUS, SII_CONFIGURATION, SII_CONTROL, STATION_ADDRESS, TYPE,
};
use crate::wire::sii::Identity;
use crate::wire::{AlStatus, AlStatusCode, Configured, DlStatus, Position};

/// The first word of vendor, product, revision and serial number in the SII.
const WORD: u32 = 0x08;
/// Their length in bytes.
const BYTES: usize = 16;
/// How often the supervisor polls an EEPROM before it gives up: with a cycle a poll, longer than a read
/// may take.
const MAX_EEPROM_POLLS: u32 = 60;

/// The progress of reading one EEPROM.
struct EepromReadState {
    station: Configured,
    bytes: Vec<u8>,
    /// Whether a read was requested and has not ended.
    under_way: bool,
}

impl EepromReadState {
    fn is_done(&self) -> bool {
        self.bytes.len() >= BYTES
    }

    /// Takes in the control, address and data registers.
    fn take_in(&mut self, all: [u8; 14]) {
        let status = u16::from_le_bytes([all[0], all[1]]);
        if status & BUSY != 0 {
            return;
        }
        self.under_way = false;
        if status & NOT_ACKNOWLEDGED == 0 {
            let count = if status & EIGHT_BYTES == 0 { 4 } else { 8 };
            self.bytes.extend_from_slice(&all[6..6 + count]);
        }
    }

    fn identity(&self) -> Option<Identity> {
        let word = |at: usize| {
            let bytes = self.bytes.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        Some(Identity {
            vendor: word(0)?,
            product: word(4)?,
            revision: word(8)?,
            serial: word(12)?,
        })
    }
}

/// Reads the identities of SubDevices by their stations, in their order; `None` for an EEPROM that does
/// not answer. Frames carry `frame_bytes` of datagrams. Gives the EEPROMs back to their applications
/// afterwards.
pub(super) fn read(
    exchange: &mut dyn Exchange,
    stations: &[Configured],
    frame_bytes: usize,
) -> ExchangeResult<Vec<Option<Identity>>> {
    let mut all: Vec<_> = stations
        .iter()
        .map(|station| EepromReadState {
            station: *station,
            bytes: Vec::new(),
            under_way: false,
        })
        .collect();
    let batch = || Batch::of(frame_bytes);
    own(exchange, stations, &[2, 0], batch())?;
    for _ in 0..MAX_EEPROM_POLLS {
        if all.iter().all(EepromReadState::is_done) {
            break;
        }
        start_reads(exchange, &mut all, batch())?;
        read_status(exchange, &mut all, batch())?;
    }
    own(exchange, stations, &[1], batch())?;
    Ok(all.iter().map(EepromReadState::identity).collect())
}

/// Sets the owner of the EEPROMs: 2 takes them by force, 0 gives them to the MainDevice, 1 to the
/// applications.
fn own(
    exchange: &mut dyn Exchange,
    stations: &[Configured],
    owners: &[u8],
    mut batch: Batch,
) -> ExchangeResult {
    for station in stations {
        batch.together();
        for owner in owners {
            batch.write(Target::Of(*station), SII_CONFIGURATION, &[*owner]);
        }
    }
    batch.send(exchange)
}

/// Begins the next read at every EEPROM that is idle.
fn start_reads(
    exchange: &mut dyn Exchange,
    all: &mut [EepromReadState],
    mut batch: Batch,
) -> ExchangeResult {
    let mut asked: Vec<(usize, AccessId)> = Vec::new();
    for (place, reading) in all.iter().enumerate() {
        if reading.is_done() || reading.under_way {
            continue;
        }
        let word = WORD + reading.bytes.len() as u32 / 2;
        let mut command = [0; 6];
        command[..2].copy_from_slice(&READ.to_le_bytes());
        command[2..].copy_from_slice(&word.to_le_bytes());
        batch.together();
        asked.push((
            place,
            batch.write(Target::Of(reading.station), SII_CONTROL, &command),
        ));
    }
    batch.send(exchange)?;
    for (place, number) in asked {
        all[place].under_way = batch.working_counter(number) == 1;
    }
    // An EEPROM takes some time for each word.
    exchange.pause(Duration::from_micros(200));
    Ok(())
}

fn read_status(
    exchange: &mut dyn Exchange,
    all: &mut [EepromReadState],
    mut batch: Batch,
) -> ExchangeResult {
    let mut asked: Vec<(usize, AccessId)> = Vec::new();
    for (place, reading) in all.iter().enumerate().filter(|(_, it)| it.under_way) {
        batch.together();
        asked.push((
            place,
            batch.read(Target::Of(reading.station), SII_CONTROL, 14),
        ));
    }
    batch.send(exchange)?;
    for (place, number) in asked {
        match batch.answer(number) {
            Some(all_bytes) => all[place].take_in(all_bytes),
            None => all[place].under_way = false,
        }
    }
    Ok(())
}

/// The status of a SubDevice at a position. One frame read all of it, so it is one SubDevice's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StationStatus {
    /// Its station address; 0 after power on.
    pub(super) station: u16,
    pub(super) alias: u16,
    pub(super) links: DlStatus,
    pub(super) status: AlStatus,
    pub(super) code: AlStatusCode,
}

/// Reads the status of all positions by an empty batch. `None` when the answers did not agree: a
/// SubDevice came or went meanwhile, or a frame was damaged.
pub(super) fn survey(
    exchange: &mut dyn Exchange,
    mut batch: Batch,
) -> ExchangeResult<Option<Vec<StationStatus>>> {
    let count = Registers::by(exchange).count_reading(Target::All(0), TYPE, &mut [0])?;
    let asked: Vec<_> = (0..count)
        .map(|position| {
            let target = Target::At(Position(position));
            batch.together();
            [
                batch.read(target, STATION_ADDRESS, 4),
                batch.read(target, DL_STATUS, 2),
                batch.read(target, AL_STATUS, 6),
            ]
        })
        .collect();
    batch.send(exchange)?;
    let rows = asked.into_iter().map(|[addresses, links, status]| {
        let [a, b, c, d] = batch.answer(addresses)?;
        let status: [u8; 6] = batch.answer(status)?;
        Some(StationStatus {
            station: u16::from_le_bytes([a, b]),
            alias: u16::from_le_bytes([c, d]),
            links: DlStatus(u16::from_le_bytes(batch.answer(links)?)),
            // Bits from 5 on are not part of the state.
            status: AlStatus(u16::from_le_bytes([status[0], status[1]]) & 0x1F),
            code: AlStatusCode(u16::from_le_bytes([status[4], status[5]])),
        })
    });
    Ok(rows.collect())
}
