//! A drive's description: its objects, PDOs, clocks.

use std::f64::consts::TAU;

use super::Parameters;
use crate::description::{Clock, Description, Object, Pdo, PdoEntry};
use crate::sim::coe::{Dictionary, DictionarySlot};
use crate::sim::model::{own_coe, own_description};
use crate::wire::cia402::{OperationMode, Polarity, object};
use crate::wire::coe::{Access, Address, DataType, Unit};
use crate::wire::sii::{ClockMode, Direction};

/// Product code of the drive.
pub(crate) const PRODUCT: u32 = 0x0402_0001;
/// Bytes of its mailboxes.
const MAILBOX: u16 = 128;
/// Its profile: a servo drive of CiA 402.
const SERVO_DRIVE: u32 = 0x0002_0192;

const I8: DataType = DataType::INTEGER8;
const I16: DataType = DataType::INTEGER16;
const I32: DataType = DataType::INTEGER32;
const U8: DataType = DataType::UNSIGNED8;
const U16: DataType = DataType::UNSIGNED16;
const U32: DataType = DataType::UNSIGNED32;

/// The description of a drive, by name, serial number and settings.
///
/// Its default PDOs carry a position with an offset of torque, and position, velocity and torque; a MainDevice may
/// assign others: 0x1601 for velocity, 0x1602 for torque, 0x1603 and 0x1A01 for everything.
#[must_use]
pub fn description(name: &str, serial: u32, parameters: &Parameters) -> Description {
    let name = if name.is_empty() {
        "CiA 402 drive"
    } else {
        name
    };
    let mut description = own_description((PRODUCT, "KZ-Drive"), (name, serial), "Drive");
    description.pdos = pdos();
    description.clocks = vec![
        Clock {
            name: "Synchron".to_owned(),
            mode: ClockMode::default(),
        },
        Clock {
            name: "DC".to_owned(),
            mode: ClockMode {
                activate: 0x0300,
                factor0: 1,
                ..ClockMode::default()
            },
        },
    ];
    let modes = OperationMode::ALL.iter().map(|it| it.supported_bit());
    let objects = objects(parameters, modes.fold(0, |all, it| all | it));
    description.with_coe(own_coe(SERVO_DRIVE, objects), MAILBOX)
}

fn entry(index: u16) -> PdoEntry {
    let found = table(&Parameters::default())
        .into_iter()
        .find(|it| it.0 == index);
    let (name, data_type) = found.map_or(("", DataType(0)), |it| (it.1, it.2));
    PdoEntry::new(index, 0, name, data_type)
}

fn pdos() -> Vec<Pdo> {
    use Direction::{Inputs, Outputs};
    let entries = |indices: &[u16]| indices.iter().map(|it| entry(*it)).collect::<Vec<_>>();
    let pdo =
        |direction, index, name, manager, list| Pdo::new(direction, index, name, manager, list);
    let mut all_out = entries(&[
        object::CONTROLWORD,
        object::TARGET_POSITION,
        object::TARGET_VELOCITY,
        object::TARGET_TORQUE,
        object::TORQUE_OFFSET,
        object::MODE,
    ]);
    all_out.push(PdoEntry::gap(8));
    let mut all_in = entries(&[
        object::STATUSWORD,
        object::POSITION,
        object::VELOCITY,
        object::TORQUE,
        object::FOLLOWING_ERROR,
        object::ERROR_CODE,
        object::MODE_DISPLAY,
    ]);
    all_in.push(PdoEntry::gap(8));
    let position = &[
        object::CONTROLWORD,
        object::TARGET_POSITION,
        object::TORQUE_OFFSET,
    ];
    let velocity = &[
        object::CONTROLWORD,
        object::TARGET_VELOCITY,
        object::TORQUE_OFFSET,
    ];
    let torque = &[object::CONTROLWORD, object::TARGET_TORQUE];
    let short = &[
        object::STATUSWORD,
        object::POSITION,
        object::VELOCITY,
        object::TORQUE,
    ];
    vec![
        pdo(Outputs, 0x1600, "Position", Some(2), entries(position)),
        pdo(Outputs, 0x1601, "Velocity", None, entries(velocity)),
        pdo(Outputs, 0x1602, "Torque", None, entries(torque)),
        pdo(Outputs, 0x1603, "All outputs", None, all_out),
        pdo(Inputs, 0x1A00, "Motion", Some(3), entries(short)),
        pdo(Inputs, 0x1A01, "All inputs", None, all_in),
    ]
}

/// An object of one value: index, name, type, access, default.
type ObjectRow = (u16, &'static str, DataType, Access, i64);

/// Objects of one value.
// A table is read as one.
#[rustfmt::skip]
fn table(parameters: &Parameters) -> Vec<ObjectRow> {
    let motor = &parameters.motor;
    let counts = |radians: f64| motor.counts(radians).round() as i64;
    let (position, _) = signs(parameters.polarity);
    let start = (position * motor.counts(parameters.start)).round() as i64;
    let read = Access::READ;
    let input = Access::READ.and(Access::TX_MAPPABLE);
    let output = Access::READ.and(Access::WRITE).and(Access::RX_MAPPABLE);
    let set = Access::READ.and(Access::WRITE).and(Access::BACKUP);
    let peak = (motor.peak / motor.rated * 1000.0).round() as i64;
    let gear = parameters.gear.map(f64::from);
    let rated = (motor.rated * 1000.0 * gear[1] / gear[0]).round() as i64;
    vec![
        (object::ERROR_CODE, "Error code", U16, input, 0),
        (object::CONTROLWORD, "Controlword", U16, output, 0),
        (object::STATUSWORD, "Statusword", U16, input, 0),
        (object::QUICK_STOP_OPTION, "Quick stop option code", I16, set, 2),
        (object::FAULT_REACTION_OPTION, "Fault reaction option code", I16, set, 2),
        (object::MODE, "Modes of operation", I8, output, 8),
        (object::MODE_DISPLAY, "Modes of operation display", I8, input, 0),
        (object::POSITION_DEMAND, "Position demand value", I32, input, 0),
        (object::POSITION, "Position actual value", I32, input, 0),
        (object::FOLLOWING_ERROR_WINDOW, "Following error window", U32, set, counts(parameters.following_error)),
        (object::FOLLOWING_ERROR_TIMEOUT, "Following error time out", U16, set, 10),
        (object::VELOCITY, "Velocity actual value", I32, input, 0),
        (object::TARGET_TORQUE, "Target torque", I16, output, 0),
        (object::TORQUE_LIMIT, "Max torque", U16, output, peak),
        (object::RATED_TORQUE, "Motor rated torque", U32, read, rated),
        (object::TORQUE, "Torque actual value", I16, input, 0),
        (object::TARGET_POSITION, "Target position", I32, output, start),
        (object::HOME_OFFSET, "Home offset", I32, set, 0),
        (object::POLARITY, "Polarity", U8, set, i64::from(parameters.polarity)),
        (object::PROFILE_VELOCITY, "Profile velocity", U32, output, counts(TAU / 4.0)),
        (object::PROFILE_ACCELERATION, "Profile acceleration", U32, output, counts(TAU)),
        (object::PROFILE_DECELERATION, "Profile deceleration", U32, output, counts(TAU)),
        (object::QUICK_STOP_DECELERATION, "Quick stop deceleration", U32, set, counts(TAU * 8.0)),
        (object::HOMING_METHOD, "Homing method", I8, set, 37),
        (object::POSITION_OFFSET, "Position offset", I32, output, 0),
        (object::VELOCITY_OFFSET, "Velocity offset", I32, output, 0),
        (object::TORQUE_OFFSET, "Torque offset", I16, output, 0),
        (object::FOLLOWING_ERROR, "Following error actual value", I32, input, 0),
        (object::DIGITAL_INPUTS, "Digital inputs", U32, input, 0),
        (object::TARGET_VELOCITY, "Target velocity", I32, output, 0),
    ]
}

/// Units of positions, velocities and times.
const fn unit(index: u16) -> Option<Unit> {
    match index {
        object::POSITION_DEMAND
        | object::POSITION
        | object::TARGET_POSITION
        | object::HOME_OFFSET
        | object::POSITION_OFFSET
        | object::FOLLOWING_ERROR
        | object::FOLLOWING_ERROR_WINDOW => Some(Unit(0x00B5_0000)),
        object::VELOCITY
        | object::TARGET_VELOCITY
        | object::VELOCITY_OFFSET
        | object::PROFILE_VELOCITY => Some(Unit(0x00B5_0300)),
        object::FOLLOWING_ERROR_TIMEOUT => Some(Unit(0xFD03_0000)),
        _ => None,
    }
}

/// The signs of positions and velocities under a polarity (object 0x607E). Torques keep theirs.
fn signs(polarity: u8) -> (f64, f64) {
    let sign = |bit| {
        if Polarity(polarity).has(bit) {
            -1.0
        } else {
            1.0
        }
    };
    (sign(Polarity::POSITION), sign(Polarity::VELOCITY))
}

fn objects(parameters: &Parameters, modes: u32) -> Vec<Object> {
    let mut all: Vec<_> = table(parameters)
        .into_iter()
        .map(|(index, name, data_type, access, value)| {
            let length = usize::from(data_type.bits().unwrap_or(0) / 8);
            let bytes = &value.to_le_bytes()[..length];
            let object = Object::variable(index, name, data_type, access, bytes);
            match unit(index) {
                Some(unit) => object.in_unit(unit),
                None => object,
            }
        })
        .collect();
    all.push(Object::variable(
        object::SUPPORTED_MODES,
        "Supported drive modes",
        U32,
        Access::READ,
        &modes.to_le_bytes(),
    ));
    let read = Access::READ;
    // The encoder is before the gear, but the settings count its increments per turn of the joint.
    let [motor, shaft] = parameters.gear;
    let increments = parameters
        .motor
        .increments
        .saturating_mul(shaft)
        .to_le_bytes();
    all.push(
        Object::array(
            object::ENCODER_RESOLUTION,
            "Position encoder resolution",
            U32,
            read,
        )
        .entry(1, "Encoder increments", U32, read, &increments)
        .entry(2, "Motor revolutions", U32, read, &motor.to_le_bytes()),
    );
    all.push(
        Object::array(object::GEAR_RATIO, "Gear ratio", U32, read)
            .entry(1, "Motor revolutions", U32, read, &motor.to_le_bytes())
            .entry(2, "Shaft revolutions", U32, read, &shaft.to_le_bytes()),
    );
    let set = Access::READ.and(Access::WRITE);
    // One millisecond until a MainDevice writes another.
    all.push(
        Object::record(
            object::INTERPOLATION_TIME,
            "Interpolation time period",
            DataType(0x0080),
        )
        .entry(1, "Interpolation time period value", U8, set, &[1])
        .entry(
            2,
            "Interpolation time index",
            I8,
            set,
            &[(-3_i8).cast_unsigned()],
        ),
    );
    all
}

/// The places of the objects that the drive uses every step.
#[derive(Debug, Clone, Copy)]
pub(super) struct DriveSlots {
    pub(super) controlword: DictionarySlot,
    pub(super) statusword: DictionarySlot,
    pub(super) error_code: DictionarySlot,
    pub(super) error_register: DictionarySlot,
    pub(super) quick_stop_option: DictionarySlot,
    pub(super) mode: DictionarySlot,
    pub(super) mode_display: DictionarySlot,
    pub(super) position: DictionarySlot,
    pub(super) position_demand: DictionarySlot,
    pub(super) velocity: DictionarySlot,
    pub(super) torque: DictionarySlot,
    pub(super) torque_limit: DictionarySlot,
    pub(super) following_error: DictionarySlot,
    pub(super) following_window: DictionarySlot,
    pub(super) following_timeout: DictionarySlot,
    pub(super) target_position: DictionarySlot,
    pub(super) target_velocity: DictionarySlot,
    pub(super) target_torque: DictionarySlot,
    pub(super) position_offset: DictionarySlot,
    pub(super) velocity_offset: DictionarySlot,
    pub(super) torque_offset: DictionarySlot,
    pub(super) profile_velocity: DictionarySlot,
    pub(super) acceleration: DictionarySlot,
    pub(super) deceleration: DictionarySlot,
    pub(super) quick_stop_deceleration: DictionarySlot,
    pub(super) homing_method: DictionarySlot,
    pub(super) home_offset: DictionarySlot,
    /// A drive of an ESI file may have none.
    polarity: Option<DictionarySlot>,
}

impl DriveSlots {
    /// `None` where an object is missing, as in the dictionary of another vendor's device.
    pub(super) fn of(objects: &Dictionary) -> Option<Self> {
        let slot = |index| objects.slot(Address::new(index, 0));
        Some(Self {
            controlword: slot(object::CONTROLWORD)?,
            statusword: slot(object::STATUSWORD)?,
            error_code: slot(object::ERROR_CODE)?,
            error_register: slot(0x1001)?,
            quick_stop_option: slot(object::QUICK_STOP_OPTION)?,
            mode: slot(object::MODE)?,
            mode_display: slot(object::MODE_DISPLAY)?,
            position: slot(object::POSITION)?,
            position_demand: slot(object::POSITION_DEMAND)?,
            velocity: slot(object::VELOCITY)?,
            torque: slot(object::TORQUE)?,
            torque_limit: slot(object::TORQUE_LIMIT)?,
            following_error: slot(object::FOLLOWING_ERROR)?,
            following_window: slot(object::FOLLOWING_ERROR_WINDOW)?,
            following_timeout: slot(object::FOLLOWING_ERROR_TIMEOUT)?,
            target_position: slot(object::TARGET_POSITION)?,
            target_velocity: slot(object::TARGET_VELOCITY)?,
            target_torque: slot(object::TARGET_TORQUE)?,
            position_offset: slot(object::POSITION_OFFSET)?,
            velocity_offset: slot(object::VELOCITY_OFFSET)?,
            torque_offset: slot(object::TORQUE_OFFSET)?,
            profile_velocity: slot(object::PROFILE_VELOCITY)?,
            acceleration: slot(object::PROFILE_ACCELERATION)?,
            deceleration: slot(object::PROFILE_DECELERATION)?,
            quick_stop_deceleration: slot(object::QUICK_STOP_DECELERATION)?,
            homing_method: slot(object::HOMING_METHOD)?,
            home_offset: slot(object::HOME_OFFSET)?,
            polarity: slot(object::POLARITY),
        })
    }

    /// The signs of positions and velocities, on their way in and out.
    pub(super) fn signs(&self, objects: &Dictionary) -> (f64, f64) {
        signs(self.polarity.map_or(0, |it| objects.get(it) as u8))
    }
}
