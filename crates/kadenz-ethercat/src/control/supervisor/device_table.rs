//! The table of configured devices with their status, which the supervisor, the control socket and others share.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::control::lock;
use crate::main_device::device::SubDevice;
use crate::main_device::dictionary::DictionaryError;
use crate::main_device::exchange::{Exchange, Registers};
use crate::main_device::mailbox::Mail;
use crate::main_device::sdo::{self, SdoError};
use crate::wire::coe::Address;
use crate::wire::{AlStatus, State};

/// The interval of looks whether another thread still uses a device.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The status of a device, as the supervisor saw it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceStatus {
    /// Its number, from 0, in the order in which devices were configured.
    pub device: usize,
    /// The short name by its SII; empty where it has none.
    pub name: String,
    /// Its long name by its SII; empty where it has none.
    #[serde(default)]
    pub description: String,
    /// The station address that the MainDevice gave it.
    pub station: u16,
    /// Its alias; 0 for none.
    pub alias: u16,
    /// Vendor, product, revision and serial number.
    pub identity: [u32; 4],
    /// Its position now; `None` when it does not answer.
    pub position: Option<u16>,
    /// AL status; see [`AlStatus`](crate::wire::AlStatus). 0 as long as it is not known.
    pub status: u16,
    /// The AL status code: the reason of an error; 0 for none.
    pub code: u16,
    /// DL status; see [`DlStatus`](crate::wire::DlStatus).
    pub links: u16,
    /// The state that it is to be in, by its number.
    pub wanted: u8,
    /// How often it was lost.
    pub losses: u32,
    /// How often the supervisor brought it back to that state, after it was lost or had left it.
    pub recoveries: u32,
    /// Emergencies that it sent.
    pub emergencies: u32,
}

impl DeviceStatus {
    /// Whether it answers, is in its wanted state, and has no error.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.position.is_some() && self.status == u16::from(self.wanted)
    }

    /// Whether it answers and is in OP, so that its outputs count.
    #[must_use]
    pub fn operates(&self) -> bool {
        self.position.is_some() && AlStatus(self.status).state() == Some(State::Op)
    }
}

#[derive(Debug)]
struct Member {
    device: Mutex<SubDevice>,
    status: Mutex<DeviceStatus>,
    wanted: AtomicU8,
    /// For threads that may not lock.
    operates: AtomicBool,
    /// Whether the supervisor is setting it up, and has its mailbox.
    set_up: AtomicBool,
}

/// All devices.
///
/// # Real-time safety
/// Not for a real-time path, except for [`operates`](Self::operates): it locks.
#[derive(Debug)]
pub struct DeviceTable {
    members: Vec<Member>,
}

/// There is no device of that number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no device {device}; they are numbered from 0 to {}", count.saturating_sub(1))]
pub struct NoDevice {
    /// The requested number.
    pub device: usize,
    /// The number of devices.
    pub count: usize,
}

/// The reason why an object was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// There is no device of the requested number.
    #[error(transparent)]
    NoDevice(#[from] NoDevice),
    /// The supervisor is setting it up.
    #[error("device {0} is being set up; retry in a second")]
    SetUp(usize),
    /// The device refused, or did not answer.
    #[error(transparent)]
    Sdo(#[from] SdoError),
    /// The device has no dictionary, or did not answer.
    #[error(transparent)]
    Dictionary(#[from] DictionaryError),
}

impl DeviceTable {
    /// A table of devices that are to be in OP.
    #[must_use]
    pub(crate) fn new(devices: Vec<SubDevice>) -> Self {
        let members = devices.into_iter().enumerate().map(|(number, device)| {
            let it = device.identity;
            let status = DeviceStatus {
                device: number,
                name: device.name.clone(),
                description: device.long_name(),
                station: device.station.0,
                alias: device.alias,
                identity: [it.vendor, it.product, it.revision, it.serial],
                position: None,
                status: 0,
                code: 0,
                links: 0,
                wanted: State::Op.number(),
                losses: 0,
                recoveries: 0,
                emergencies: 0,
            };
            Member {
                device: Mutex::new(device),
                status: Mutex::new(status),
                wanted: AtomicU8::new(State::Op.number()),
                operates: AtomicBool::new(false),
                set_up: AtomicBool::new(false),
            }
        });
        Self {
            members: members.collect(),
        }
    }

    /// The number of devices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn member(&self, device: usize) -> Result<&Member, NoDevice> {
        let count = self.len();
        self.members.get(device).ok_or(NoDevice { device, count })
    }

    /// The status of a device.
    ///
    /// # Errors
    /// [`NoDevice`].
    pub fn status(&self, device: usize) -> Result<DeviceStatus, NoDevice> {
        let member = self.member(device)?;
        let mut status = lock(&member.status).clone();
        status.wanted = member.wanted.load(Ordering::Relaxed);
        Ok(status)
    }

    /// The status of all devices.
    #[must_use]
    pub fn all(&self) -> Vec<DeviceStatus> {
        (0..self.len())
            .filter_map(|it| self.status(it).ok())
            .collect()
    }

    /// Whether a device is there and in OP, as the supervisor saw it last.
    ///
    /// # Real-time safety
    /// It neither locks nor waits: the loop may call it.
    #[must_use]
    pub fn operates(&self, device: usize) -> bool {
        let member = self.members.get(device);
        member.is_some_and(|it| it.operates.load(Ordering::Relaxed))
    }

    /// Whether all devices are there, each in its wanted state.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.all().iter().all(DeviceStatus::is_well)
    }

    /// Sets the wanted state of a device: the supervisor brings it there and keeps it there.
    ///
    /// # Errors
    /// [`NoDevice`].
    pub fn want(&self, device: usize, state: State) -> Result<(), NoDevice> {
        let member = self.member(device)?;
        member.wanted.store(state.number(), Ordering::Relaxed);
        Ok(())
    }

    /// Returns the wanted state of a device.
    ///
    /// # Errors
    /// [`NoDevice`].
    pub fn wanted(&self, device: usize) -> Result<State, NoDevice> {
        let number = self.member(device)?.wanted.load(Ordering::Relaxed);
        Ok(State::from_number(number).unwrap_or(State::Init))
    }

    /// Calls `work` with a device and its mailbox. Waits while another thread has the device.
    ///
    /// # Errors
    /// [`NoDevice`].
    pub fn with<R>(
        &self,
        device: usize,
        work: impl FnOnce(&mut SubDevice) -> R,
    ) -> Result<R, NoDevice> {
        Ok(work(&mut lock(&self.member(device)?.device)))
    }

    /// As [`with`](Self::with), but returns `None` when another thread has the device now.
    pub(super) fn try_with<R>(
        &self,
        device: usize,
        work: impl FnOnce(&mut SubDevice) -> R,
    ) -> Option<R> {
        let member = self.members.get(device)?;
        let mut held = try_lock(&member.device)?;
        Some(work(&mut held))
    }

    /// Notes whether the supervisor sets a device up or is about to, which may take seconds.
    pub(super) fn set_up(&self, device: usize, is: bool) {
        if let Some(member) = self.members.get(device) {
            member.set_up.store(is, Ordering::Relaxed);
        }
    }

    /// As [`with`](Self::with), for its objects: refused at once while the supervisor sets the device up, also where
    /// that begins while another thread has the device. The asking thread may be the one
    /// that carries the set-up's questions, and would then wait forever.
    fn with_objects<R>(
        &self,
        device: usize,
        work: impl FnOnce(&mut SubDevice) -> Result<R, ObjectError>,
    ) -> Result<R, ObjectError> {
        let member = self.member(device)?;
        loop {
            if member.set_up.load(Ordering::Relaxed) {
                return Err(ObjectError::SetUp(device));
            }
            if let Some(mut held) = try_lock(&member.device) {
                return work(&mut held);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// As [`with_objects`](Self::with_objects), by its mailbox.
    pub(crate) fn with_mail<R, E>(
        &self,
        exchange: &mut dyn Exchange,
        device: usize,
        work: impl FnOnce(&mut Registers<'_>, &mut Mail<'_>) -> Result<R, E>,
    ) -> Result<R, ObjectError>
    where
        ObjectError: From<E>,
    {
        self.with_objects(device, |it| {
            let mut mail = it.mail().map_err(SdoError::from)?;
            Ok(work(&mut Registers::by(exchange), &mut mail)?)
        })
    }

    pub(super) fn note(&self, device: usize, note: impl FnOnce(&mut DeviceStatus)) {
        if let Some(member) = self.members.get(device) {
            let mut status = lock(&member.status);
            note(&mut status);
            member.operates.store(status.operates(), Ordering::Relaxed);
        }
    }

    /// Reads an object. Waits for the device.
    ///
    /// # Errors
    /// [`ObjectError`].
    pub fn read_object(
        &self,
        exchange: &mut dyn Exchange,
        device: usize,
        address: Address,
    ) -> Result<Vec<u8>, ObjectError> {
        self.with_mail(exchange, device, |registers, mail| {
            sdo::read(registers, mail, address, false)
        })
    }

    /// Writes an object. Waits for the device.
    ///
    /// # Errors
    /// [`ObjectError`].
    pub fn write_object(
        &self,
        exchange: &mut dyn Exchange,
        device: usize,
        address: Address,
        value: &[u8],
    ) -> Result<(), ObjectError> {
        self.with_mail(exchange, device, |registers, mail| {
            sdo::write(registers, mail, address, false, value)
        })
    }
}

/// Locks a mutex where no other thread has it now.
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(held) => Some(held),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
