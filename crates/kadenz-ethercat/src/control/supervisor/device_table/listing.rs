//! What objects devices have.

use super::{DeviceTable, ObjectError};
use crate::main_device::dictionary::{self, DictionaryObject};
use crate::main_device::exchange::Exchange;
use crate::wire::coe::ListType;

impl DeviceTable {
    /// The indices of all objects of a device, in its order. Waits for the device.
    ///
    /// # Errors
    /// [`ObjectError`].
    pub(crate) fn list_objects(
        &self,
        exchange: &mut dyn Exchange,
        device: usize,
    ) -> Result<Vec<u16>, ObjectError> {
        self.with_mail(exchange, device, |registers, mail| {
            dictionary::list(registers, mail, ListType::ALL)
        })
    }

    /// What an object is. Waits for the device.
    ///
    /// # Errors
    /// [`ObjectError`].
    pub(crate) fn describe_object(
        &self,
        exchange: &mut dyn Exchange,
        device: usize,
        index: u16,
    ) -> Result<DictionaryObject, ObjectError> {
        self.with_mail(exchange, device, |registers, mail| {
            dictionary::object(registers, mail, index)
        })
    }
}
