//! Objects that are read and written by mailbox (SDO), beside the process data.

use kadenz_ethercat::main_device::configure::ConfigureError;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::Registers;
use kadenz_ethercat::main_device::sdo::{self, SdoError};
use kadenz_ethercat::wire::coe::Address;

use super::error::AccessObjectError;
use super::object::ObjectValue;

/// A device in PREOP, for the set-up of [`NetworkBuilder::setup`](super::NetworkBuilder::setup).
pub struct DeviceSetup<'d, 'r, 'x> {
    /// The device as it was found: names, position, identity.
    pub device: &'d mut SubDevice,
    /// The way to the segment.
    pub registers: &'r mut Registers<'x>,
}

impl DeviceSetup<'_, '_, '_> {
    /// Its name for people: the long one of its memory (SII), else the short one.
    #[must_use]
    pub fn name(&self) -> String {
        self.device.called()
    }

    /// Reads an object: an index (`0x6092`), or index and sub-index (`(0x6092, 1)`).
    ///
    /// # Errors
    /// [`ConfigureError`] where the device refuses or does not answer, or the object has not the size of a `T`.
    pub fn read<T: ObjectValue>(
        &mut self,
        object: impl Into<Address>,
    ) -> Result<T, ConfigureError> {
        let object = object.into();
        let mut mail = self.device.mail().map_err(SdoError::from)?;
        let bytes = sdo::read(self.registers, &mut mail, object, false)?;
        from_bytes(object, &bytes).map_err(|error| ConfigureError::Setup(error.into()))
    }

    /// Writes an object, as [`read`](Self::read). The value must have the object's type: `8_i8`.
    ///
    /// # Errors
    /// [`ConfigureError`] where the device refuses or does not answer.
    pub fn write(
        &mut self,
        object: impl Into<Address>,
        value: impl ObjectValue,
    ) -> Result<(), ConfigureError> {
        let mut mail = self.device.mail().map_err(SdoError::from)?;
        let value = to_bytes(value);
        Ok(sdo::write(
            self.registers,
            &mut mail,
            object.into(),
            false,
            &value,
        )?)
    }
}

impl std::fmt::Debug for DeviceSetup<'_, '_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceSetup")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

/// The value of an object's bytes.
fn from_bytes<T: ObjectValue>(object: Address, bytes: &[u8]) -> Result<T, AccessObjectError> {
    if bytes.len() != T::TYPE.bytes() {
        return Err(AccessObjectError::Size {
            object,
            bytes: bytes.len(),
            asked: T::TYPE.name(),
        });
    }
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    Ok(T::from_bits(u64::from_le_bytes(word)))
}

/// The bytes of a value, the lowest first.
fn to_bytes<T: ObjectValue>(value: T) -> Vec<u8> {
    value.to_bits().to_le_bytes()[..T::TYPE.bytes()].to_vec()
}
