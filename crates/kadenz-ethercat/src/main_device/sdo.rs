//! Reads and writes a SubDevice's objects.

use super::exchange::Registers;
use super::mailbox::{Mail, MailError};
use crate::wire::coe::Address;
use crate::wire::coe::client::{Download, Progress, TransferError, Upload};

/// The longest value that is read: 1 MiB.
const MAX: usize = 1 << 20;

/// The reason why an object was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum SdoError {
    /// No answer.
    #[error("{0}")]
    Mail(#[from] MailError),
    /// The transfer was aborted, or is damaged.
    #[error(transparent)]
    Transfer(#[from] TransferError),
}

impl SdoError {
    /// The abort code of the SubDevice, if it aborted the transfer.
    #[must_use]
    pub(crate) fn abort(&self) -> Option<crate::wire::coe::Abort> {
        match self {
            Self::Transfer(TransferError::Aborted { code, .. }) => Some(*code),
            _ => None,
        }
    }
}

/// Returns `None` for a transfer that the SubDevice aborted. Many objects are optional.
///
/// # Errors
/// Every other error of `asked`.
pub(crate) fn optional<T>(asked: Result<T, SdoError>) -> Result<Option<T>, SdoError> {
    match asked {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.abort().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a value into the caller's buffer; returns its bytes. With `complete`, reads all entries from
/// there.
///
/// # Errors
/// [`SdoError`], for example when the buffer is too small.
pub(crate) fn read_into(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    address: Address,
    complete: bool,
    to: &mut [u8],
) -> Result<usize, SdoError> {
    let mut upload = Upload::new(address, complete, to);
    loop {
        let mut message = [0; 16];
        let length = upload.request(&mut message);
        let length = length.map_err(|cause| mail.no_room(cause))?;
        let fill = |data: &mut [u8]| {
            data[..length].copy_from_slice(&message[..length]);
            Ok(length)
        };
        let answer = |data: &[u8]| match upload.answer(data) {
            Ok(Progress::NotMine) => None,
            other => Some(other),
        };
        if let Progress::Done(bytes) = mail.request(registers, fill, answer)?? {
            return Ok(bytes);
        }
    }
}

/// Reads a value of any length. Allocates.
///
/// # Errors
/// [`SdoError`], for example for a value longer than 1 MiB.
pub fn read(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    address: Address,
    complete: bool,
) -> Result<Vec<u8>, SdoError> {
    let mut room = 256;
    loop {
        let mut value = vec![0; room];
        match read_into(registers, mail, address, complete, &mut value) {
            Ok(length) => {
                value.truncate(length);
                return Ok(value);
            }
            Err(SdoError::Transfer(TransferError::TooLong { .. })) if room < MAX => room *= 8,
            Err(error) => return Err(error),
        }
    }
}

/// Reads a value of N bytes. A shorter value is filled with zeros; of a value whose length the SubDevice
/// does not give, as is allowed for up to four bytes, these are the first.
///
/// # Errors
/// [`SdoError`], for example for a longer value.
pub fn get<const N: usize>(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    address: Address,
) -> Result<[u8; N], SdoError> {
    let mut value = [0; N];
    read_into(registers, mail, address, false, &mut value)?;
    Ok(value)
}

/// Writes a value.
///
/// # Errors
/// [`SdoError`].
pub fn write(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    address: Address,
    complete: bool,
    value: &[u8],
) -> Result<(), SdoError> {
    let mut download = Download::new(address, complete, value, mail.room());
    loop {
        let answer = |download: &mut Download<'_>, data: &[u8]| match download.answer(data) {
            Ok(Progress::NotMine) => None,
            other => Some(other),
        };
        let mut message = vec![0; mail.room()];
        let length = download.request(&mut message);
        let length = length.map_err(|cause| mail.no_room(cause))?;
        let fill = |data: &mut [u8]| {
            data[..length].copy_from_slice(&message[..length]);
            Ok(length)
        };
        if let Progress::Done(_) =
            mail.request(registers, fill, |data| answer(&mut download, data))??
        {
            return Ok(());
        }
    }
}
