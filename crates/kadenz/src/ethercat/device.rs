use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use kadenz_ethercat::control::supervisor::{DeviceStatus, DeviceTable};
use kadenz_ethercat::main_device::layout::Layout;
use kadenz_ethercat::main_device::mapping::{PlacedEntry, placed};
use kadenz_ethercat::motion::AxisRunner;
use kadenz_ethercat::wire::cia402::object;
use kadenz_ethercat::wire::coe::Address;
use kadenz_ethercat::wire::sii::Direction;

use super::bring_up::Mapped;
use super::error::LookUpError;
use super::object::{Input, ObjectLocation, ObjectValue, Output, ValueType};

/// Names of devices and objects that an error lists at most.
const MAX_NAMED: usize = 20;

/// The targets of the cyclic modes of CiA 402.
const TARGETS: [u16; 3] = [
    object::TARGET_POSITION,
    object::TARGET_VELOCITY,
    object::TARGET_TORQUE,
];

/// A device of a [`Network`](super::Network).
#[derive(Debug, Clone, Copy)]
pub struct Device<'n> {
    pub(super) id: u64,
    pub(super) mapped: &'n [Mapped],
    pub(super) layout: &'n Layout,
    pub(super) position: usize,
    pub(super) outputs: &'n LookedUpOutputs,
}

/// The outputs that handles were made of, by the position of their device.
#[derive(Debug, Default)]
pub(super) struct LookedUpOutputs(Mutex<BTreeSet<(usize, Address)>>);

impl LookedUpOutputs {
    fn note(&self, device: usize, address: Address) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((device, address));
    }

    /// The drives with a handle of a target and none of the controlword, which no motion moves: nothing enables them.
    /// `None` where there are none.
    pub(super) fn idle_drives(&self, mapped: &[Mapped], moved: &[AxisRunner]) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle = |device: usize| {
            let has = |index: &u16| all.contains(&(device, (*index).into()));
            let is_moved = moved.iter().any(|it| it.axis().device() == device);
            let has_controlword = mapped[device].1.iter().any(|manager| {
                let mut entries = manager.pdos.iter().flat_map(|pdo| &pdo.entries);
                entries.any(|it| it.address == Some(object::CONTROLWORD.into()))
            });
            let is_enabled = has(&object::CONTROLWORD) || is_moved || !has_controlword;
            TARGETS.iter().any(has) && !is_enabled
        };
        let names: Vec<_> = (0..mapped.len())
            .filter(|it| is_idle(*it))
            .map(|it| mapped[it].0.clone())
            .collect();
        (!names.is_empty()).then(|| listed(names.into_iter()))
    }
}

/// A drive by CiA 402, for [`Io::control`](super::Io::control). From [`Device::drive`].
#[derive(Debug, Clone, Copy)]
pub struct Drive {
    /// Its controlword, 0x6040.
    pub control: Output<u16>,
    /// Its statusword, 0x6041.
    pub status: Input<u16>,
}

impl Device<'_> {
    /// Its name, from its memory (SII): the long one, else the short one; empty where that holds none. Allocates.
    #[must_use]
    pub fn name(&self) -> String {
        self.mapped[self.position].0.clone()
    }

    /// Its position, from 0, in the order in which frames pass devices.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// A handle of an object in its inputs: an index (`0x6064`), or index and sub-index (`(0x6000, 1)`).
    ///
    /// # Errors
    /// [`LookUpError`] where the object is not mapped, or not as a `T`; the error lists what is mapped.
    pub fn input<T: ObjectValue>(
        &self,
        object: impl Into<Address>,
    ) -> Result<Input<T>, LookUpError> {
        let found = self.place(object.into(), Direction::Inputs, Some(T::TYPE))?;
        Ok(Input::at(found.0))
    }

    /// A handle of an object in its outputs, as [`input`](Self::input).
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn output<T: ObjectValue>(
        &self,
        object: impl Into<Address>,
    ) -> Result<Output<T>, LookUpError> {
        let found = self.place(object.into(), Direction::Outputs, Some(T::TYPE))?;
        Ok(Output::at(found.0))
    }

    /// The handles by which a control law enables this device, where it is a drive by CiA 402:
    /// [`Io::control`](super::Io::control).
    ///
    /// # Errors
    /// [`LookUpError`] where controlword (0x6040) or statusword (0x6041) is not mapped.
    pub fn drive(&self) -> Result<Drive, LookUpError> {
        Ok(Drive {
            control: self.output(object::CONTROLWORD)?,
            status: self.input(object::STATUSWORD)?,
        })
    }

    /// The place of an object, and its type: the requested one, else that of the dictionary or the file.
    pub(super) fn place(
        &self,
        address: Address,
        direction: Direction,
        asked: Option<ValueType>,
    ) -> Result<(ObjectLocation, ValueType), LookUpError> {
        let (_, managers) = &self.mapped[self.position];
        let share = &self.layout.shares[self.position];
        let mut all = placed(self.position, managers, share);
        all.retain(|it| it.direction == direction && it.entry.address.is_some());
        let word = match direction {
            Direction::Inputs => "inputs",
            Direction::Outputs => "outputs",
        };
        let mut found = all.iter().filter(|it| it.entry.address == Some(address));
        let (first, more) = (found.next(), found.next());
        let Some(first) = first else {
            return Err(LookUpError::NotMapped {
                device: self.name(),
                direction: word,
                address,
                mapped: listed(all.iter().map(described)),
            });
        };
        if more.is_some() {
            return Err(LookUpError::Ambiguous {
                device: self.name(),
                direction: word,
                address,
            });
        }
        let bits = usize::from(first.entry.bits);
        let data_type = first.entry.data_type;
        let value_type = asked.or_else(|| data_type.and_then(ValueType::of));
        let value_type = value_type.filter(|it| it.fits(bits, data_type));
        let Some(value_type) = value_type else {
            return Err(LookUpError::Type {
                device: self.name(),
                address,
                mapped: described(first),
                asked: asked.map_or("a number without a type; state one", ValueType::name),
            });
        };
        if direction == Direction::Outputs {
            self.outputs.note(self.position, address);
        }
        let place = ObjectLocation {
            network: self.id,
            device: self.position,
            bit: first.bit,
            bits,
        };
        Ok((place, value_type))
    }
}

/// An entry for people, as `0x6064:00 Position actual value (INTEGER32, 32 bits)`.
fn described(it: &PlacedEntry) -> String {
    let entry = &it.entry;
    let address = entry.address.map(|it| it.to_string()).unwrap_or_default();
    let data_type = match entry.data_type.and_then(super::object::type_name) {
        Some(name) => format!("{name}, "),
        None => String::new(),
    };
    let name = match entry.name.as_str() {
        "" => String::new(),
        name => format!(" {name}"),
    };
    format!("{address}{name} ({data_type}{} bits)", entry.bits)
}

/// The position of the device of a name: its long one, else its short one.
pub(super) fn position_of(table: &DeviceTable, name: &str) -> Result<usize, LookUpError> {
    let all = table.all();
    let with = |name_of: fn(&DeviceStatus) -> &str| -> Vec<&DeviceStatus> {
        all.iter().filter(|it| name_of(it) == name).collect()
    };
    let mut found = with(called);
    if found.is_empty() {
        found = with(|it| &it.name);
    }
    let name = name.to_owned();
    match found[..] {
        [device] => Ok(device.device),
        [] => Err(LookUpError::NoDevice {
            name,
            known: listed(all.iter().map(|it| called(it).to_owned())),
        }),
        _ => Err(LookUpError::SeveralDevices {
            positions: found.iter().map(|it| it.device).collect(),
            names: found.iter().map(|it| called(it).to_owned()).collect(),
            name,
        }),
    }
}

/// The long name of a device, else its short one.
fn called(device: &DeviceStatus) -> &str {
    match device.description.as_str() {
        "" => &device.name,
        long => long,
    }
}

/// The first of them, for people.
pub(super) fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<_> = names.collect();
    let mut text = names[..names.len().min(MAX_NAMED)].join(", ");
    if names.len() > MAX_NAMED {
        text += &format!(" and {} more", names.len() - MAX_NAMED);
    }
    match text.is_empty() {
        true => "none".to_owned(),
        false => text,
    }
}
