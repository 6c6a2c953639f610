//! What other threads see of a network, and objects that are read and written by mailbox (SDO) beside the process data.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kadenz_ethercat::control::health::Health;
use kadenz_ethercat::control::notice::Notices;
use kadenz_ethercat::control::supervisor::{DeviceTable, ObjectError};
use kadenz_ethercat::control::timing::Timing;
use kadenz_ethercat::main_device::acyclic::{AcyclicClient, AcyclicQueue};
use kadenz_ethercat::main_device::configure::ConfigureError;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{Registers, RetryPolicy};
use kadenz_ethercat::main_device::sdo::{self, SdoError};
use kadenz_ethercat::motion::MotionHandle;
use kadenz_ethercat::wire::coe::Address;

use super::device::position_of;
use super::error::AccessObjectError;
use super::object::ObjectValue;

/// How long a request waits for the set-up of its device, and how often it looks.
const SET_UP: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

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

/// The live state of a network, for any thread. Clones show the same.
#[derive(Clone, Debug)]
pub struct NetworkMonitor {
    /// The timing of the loop.
    pub timing: Arc<Timing>,
    /// The counts of its exchanges, and whether all devices are in OP.
    pub health: Arc<Health>,
    /// The events of devices.
    pub notices: Arc<Notices>,
    /// The state of each device.
    pub device_table: Arc<DeviceTable>,
    /// The axes of a motion: stops and resets them.
    pub axes: Arc<MotionHandle>,
    /// Requests that the loop carries.
    pub(super) queue: Arc<AcyclicQueue>,
}

/// Ends the requests of other threads when the network goes, also where its loop never ran: they would wait for it.
#[derive(Debug)]
pub(super) struct EndRequests(pub(super) Arc<AcyclicQueue>);

impl Drop for EndRequests {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl NetworkMonitor {
    /// Reads an object of a device while the loop runs, by mailbox (SDO): the device by its name, as
    /// [`Network::device`](super::Network::device), the object by its index (`0x6065`), or index and sub-index
    /// (`(0x6092, 1)`).
    ///
    /// The loop carries the request beside the process data, in some ten cycles. The calling thread waits for them, so
    /// the control law must not call this: it would wait for itself. Before the loop begins, the call waits for that; and
    /// for up to 5 s while the supervisor sets the device up.
    ///
    /// # Errors
    /// [`AccessObjectError`] where there is no such device, it refuses, does not answer or is still being set up, the object
    /// has not the size of a `T`, or the loop has ended.
    ///
    /// # Real-time safety
    /// Not for the loop: it waits and allocates.
    pub fn read_object<T: ObjectValue>(
        &self,
        device: &str,
        object: impl Into<Address>,
    ) -> Result<T, AccessObjectError> {
        let (device, object) = (position_of(&self.device_table, device)?, object.into());
        let bytes = self.after_set_up(|table, client| table.read_object(client, device, object))?;
        from_bytes(object, &bytes)
    }

    /// Writes an object of a device while the loop runs, as [`read_object`](Self::read_object) reads it. The value must
    /// have the object's type: `0x2_0000_u32`. The set-up of a device that lost its power does not repeat it.
    ///
    /// # Errors
    /// As [`read_object`](Self::read_object).
    ///
    /// # Real-time safety
    /// Not for the loop: it waits and allocates.
    pub fn write_object(
        &self,
        device: &str,
        object: impl Into<Address>,
        value: impl ObjectValue,
    ) -> Result<(), AccessObjectError> {
        let (device, object) = (position_of(&self.device_table, device)?, object.into());
        let value = to_bytes(value);
        Ok(self.after_set_up(|table, client| table.write_object(client, device, object, &value))?)
    }

    /// Calls the work again while the supervisor sets its device up.
    fn after_set_up<T>(
        &self,
        work: impl Fn(&DeviceTable, &mut AcyclicClient<'_>) -> Result<T, ObjectError>,
    ) -> Result<T, ObjectError> {
        let end = Instant::now() + SET_UP;
        let mut client = AcyclicClient::of(&self.queue, RetryPolicy::BUSY_HOST);
        loop {
            match work(&self.device_table, &mut client) {
                Err(ObjectError::SetUp(_)) if Instant::now() < end => {
                    std::thread::sleep(POLL_INTERVAL);
                }
                done => return done,
            }
        }
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
