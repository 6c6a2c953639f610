//! Configures a SubDevice from INIT to SAFEOP: mailboxes, process data, and the FMMUs that map it.

use super::assignment;
use super::device::{Piece, ProcessData, SubDevice};
use super::exchange::{ExchangeError, ExchangeResult, Registers};
use super::layout::Share;
use super::mapping::MappedPdo;
use super::sdo::SdoError;
use super::states::{self, StateError};
use crate::wire::register::{FMMU, FMMU_SIZE, SII_CONFIGURATION};
use crate::wire::sii::Image;
use crate::wire::{Fmmu, Logical, State, SyncManager};

/// The number of SyncManagers for which a controller has registers (ETG.1000.4, table 58).
const MAX_SYNC_MANAGERS: u8 = 16;

/// The reason why a SubDevice was not configured.
#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    /// The segment did not answer.
    #[error("{0}")]
    Exchange(#[from] ExchangeError),
    /// The SubDevice did not reach a state.
    #[error(transparent)]
    State(#[from] StateError),
    /// The SubDevice did not answer for its objects.
    #[error(transparent)]
    Sdo(#[from] SdoError),
    /// The user's set-up in PREOP failed.
    #[error("it was not set up: {0}")]
    Setup(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The SubDevice has fewer FMMUs than pieces of process data.
    #[error("it needs {need} FMMUs and has {has}; map its objects to fewer SyncManagers")]
    Fmmus {
        /// Number of FMMUs that its process data needs.
        need: usize,
        /// Number of FMMUs that the SubDevice has.
        has: u8,
    },
    /// The SubDevice has process data and does not support the command that carries it.
    #[error(
        "it does not support LRW, the command by which process data is exchanged here; take it out of the segment, or \
         replace it by a device that supports LRW"
    )]
    NoLrw,
}

/// Sets up the mailboxes and brings the SubDevice to PREOP.
///
/// # Errors
/// [`ConfigureError`].
pub fn to_pre_op(registers: &mut Registers<'_>, device: &SubDevice) -> Result<(), ConfigureError> {
    if device.has_mailbox() {
        for piece in device.mailbox_managers() {
            set_sync_manager(registers, device, piece)?;
        }
        // From PREOP on the application may want its EEPROM.
        registers.write(device.target(), SII_CONFIGURATION, &[1])?;
    }
    states::reach(registers, device.target(), State::PreOp)?;
    Ok(())
}

/// Reads the SubDevice's process data, in PREOP: by CoE where it has that and answers, else from its SII.
///
/// # Errors
/// [`ConfigureError`].
pub fn read_process_data(
    registers: &mut Registers<'_>,
    device: &mut SubDevice,
) -> Result<(), ConfigureError> {
    let Some(image) = Image::of(&device.sii).ok() else {
        return Ok(());
    };
    let managers: Vec<_> = image.sync_managers().collect();
    let mut data = ProcessData::default();
    for (number, default) in (0..MAX_SYNC_MANAGERS).zip(&managers) {
        let Some(direction) = default.usage.direction() else {
            continue;
        };
        let pdos = assignment::read(registers, device, number, direction)?;
        let bits: u32 = pdos.iter().map(MappedPdo::bits).sum();
        let length = u16::try_from(bits.div_ceil(8)).unwrap_or(u16::MAX);
        if length > 0 {
            data.add(number, direction, default, length);
        }
    }
    device.process_data = data;
    Ok(())
}

/// Sets up the process data by the layout and brings the SubDevice to SAFEOP.
///
/// # Errors
/// [`ConfigureError`].
pub fn to_safe_op(
    registers: &mut Registers<'_>,
    device: &mut SubDevice,
    share: &Share,
) -> Result<(), ConfigureError> {
    let fmmus = mapping(device, share)?;
    let pieces = device
        .process_data
        .outputs
        .iter()
        .chain(&device.process_data.inputs);
    for piece in pieces {
        set_sync_manager(registers, device, *piece)?;
    }
    for (number, fmmu) in (0_u16..).zip(&fmmus) {
        let register = FMMU + number * FMMU_SIZE;
        registers.write(device.target(), register, &fmmu.to_bytes())?;
    }
    device.process_data.fmmus = fmmus;
    states::reach(registers, device.target(), State::SafeOp)?;
    Ok(())
}

/// The FMMUs that map a SubDevice's process data to its share of the layout, in their order.
///
/// # Errors
/// [`ConfigureError::Fmmus`] when the SubDevice has fewer, [`ConfigureError::NoLrw`] when it does not support LRW.
pub(crate) fn mapping(device: &SubDevice, share: &Share) -> Result<Vec<Fmmu>, ConfigureError> {
    let mut fmmus = Vec::new();
    let mut map = |pieces: &[Piece], Logical(mut logical), directed: fn(Fmmu) -> Fmmu| {
        for SyncManager { start, length, .. } in pieces.iter().map(|it| it.manager) {
            fmmus.push(directed(Fmmu::bytes(logical, length, start)));
            logical += u32::from(length);
        }
    };
    let data = &device.process_data;
    map(&data.outputs, share.logical_outputs, Fmmu::writing);
    map(&data.inputs, share.logical_inputs, Fmmu::reading);
    if !fmmus.is_empty() && device.lacks_lrw() {
        return Err(ConfigureError::NoLrw);
    }
    if fmmus.len() > usize::from(device.fmmus) {
        return Err(ConfigureError::Fmmus {
            need: fmmus.len(),
            has: device.fmmus,
        });
    }
    Ok(fmmus)
}

fn set_sync_manager(
    registers: &mut Registers<'_>,
    device: &SubDevice,
    piece: Piece,
) -> ExchangeResult {
    registers.write(device.target(), piece.register(), &piece.manager.to_bytes())
}
