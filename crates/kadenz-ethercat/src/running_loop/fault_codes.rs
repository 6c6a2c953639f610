//! Error codes of drives that have a fault, read beside the loop.
//!
//! Where the process data has no error code (object 0x603F), the MainDevice must read it from the drive by its
//! mailbox, which may take seconds where the drive does not answer. So one thread reads it, once a fault, and all
//! other threads see the result in [`MotionHandle::status`].

use std::collections::BTreeMap;

use crate::control::supervisor::{DeviceTable, ObjectError};
use crate::main_device::exchange::Exchange;
use crate::motion::{AxisStatus, Cause, MotionHandle, Status};
use crate::wire::cia402::{DriveState, object};
use crate::wire::coe::Address;

/// Reads the error codes of drives with faults, each once a fault. For one thread.
#[derive(Debug, Default)]
pub struct FaultCodes {
    /// The devices that were asked, each with the count of stops of all axes at that time: a new fault stops the
    /// axes again.
    asked: BTreeMap<usize, u64>,
}

impl FaultCodes {
    /// Asks one drive that is there, has a fault whose code is not known, and was not asked for it yet; the drive
    /// that stopped all axes comes first. Returns whether there was one; the handle's status has the answer.
    /// Waits for the drive, two seconds where its mailbox does not answer. Allocates.
    pub fn read_next(
        &mut self,
        handle: &MotionHandle,
        device_table: &DeviceTable,
        exchange: &mut dyn Exchange,
    ) -> bool {
        let Some(status) = handle.status() else {
            return false;
        };
        let faulty: Vec<_> = faulty(&status).map(|it| it.device).collect();
        self.asked.retain(|device, _| faulty.contains(device));
        let open = self.open(&status, device_table);
        open.into_iter().any(|device| {
            let asks = self.asks(device, handle, device_table, exchange);
            if asks {
                self.asked.insert(device, status.stops);
            }
            asks
        })
    }

    /// Drives to ask, in this order.
    fn open(&self, status: &Status, device_table: &DeviceTable) -> Vec<usize> {
        let cause = match status.stopped.as_ref().map(|it| it.cause) {
            Some(Cause::Fault { axis, .. } | Cause::NotEnabled { axis, .. }) => Some(axis),
            _ => None,
        };
        let is_there = |it: usize| {
            device_table
                .status(it)
                .is_ok_and(|it| it.position.is_some())
        };
        let open = faulty(status).filter(|it| {
            it.error_code.is_none()
                && self.asked.get(&it.device) != Some(&status.stops)
                && is_there(it.device)
        });
        let mut open: Vec<_> = open.collect();
        open.sort_by_key(|it| Some(it.axis) != cause);
        open.into_iter().map(|it| it.device).collect()
    }

    /// Asks a drive; returns false where that is not possible just now.
    fn asks(
        &self,
        device: usize,
        handle: &MotionHandle,
        device_table: &DeviceTable,
        exchange: &mut dyn Exchange,
    ) -> bool {
        let mut asks = true;
        handle.read_error_codes(|faulty| {
            if faulty != device {
                return None;
            }
            let address = Address::new(object::ERROR_CODE, 0);
            let read = device_table.read_object(&mut *exchange, device, address);
            asks = !matches!(read, Err(ObjectError::SetUp(_)));
            let bytes = read.ok()?.try_into().ok()?;
            Some(u16::from_le_bytes(bytes))
        });
        asks
    }
}

/// Axes whose drives have a fault.
fn faulty(status: &Status) -> impl Iterator<Item = &AxisStatus> {
    let fault = DriveState::Fault.to_string();
    status.axes.iter().filter(move |it| it.state == fault)
}
