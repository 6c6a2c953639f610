//! Who is on the wire now, position by position.

use super::batch::Batch;
use crate::main_device::exchange::{Exchange, ExchangeError, Registers, Target};
use crate::wire::register::{AL_STATUS, DL_STATUS, STATION_ADDRESS, TYPE};
use crate::wire::{AlStatus, AlStatusCode, DlStatus, Position};

/// What a SubDevice at a position says. All of it was read by one frame, so it is one SubDevice's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// Its station address; 0 after power on.
    pub(super) station: u16,
    /// Its alias.
    pub(super) alias: u16,
    pub(super) links: DlStatus,
    pub(super) status: AlStatus,
    pub(super) code: AlStatusCode,
}

/// Looks at all by an empty batch. `None` when that made no sense: somebody came or went meanwhile, or a
/// frame was damaged.
pub(super) fn take(
    exchange: &mut dyn Exchange,
    mut batch: Batch,
) -> Result<Option<Vec<Row>>, ExchangeError> {
    let count = Registers::by(exchange).count_reading(Target::All(0), TYPE, &mut [0])?;
    let asked: Vec<_> = (0..count)
        .map(|position| {
            let whose = Target::At(Position(position));
            batch.together();
            [
                batch.read(whose, STATION_ADDRESS, 4),
                batch.read(whose, DL_STATUS, 2),
                batch.read(whose, AL_STATUS, 6),
            ]
        })
        .collect();
    batch.send(exchange)?;
    let rows = asked.into_iter().map(|[addresses, links, status]| {
        let [a, b, c, d] = batch.answer(addresses)?;
        let status: [u8; 6] = batch.answer(status)?;
        Some(Row {
            station: u16::from_le_bytes([a, b]),
            alias: u16::from_le_bytes([c, d]),
            links: DlStatus(u16::from_le_bytes(batch.answer(links)?)),
            // Bit 5 and above say other things than the state.
            status: AlStatus(u16::from_le_bytes([status[0], status[1]]) & 0x1F),
            code: AlStatusCode(u16::from_le_bytes([status[4], status[5]])),
        })
    });
    Ok(rows.collect())
}
