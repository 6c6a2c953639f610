//! The units of a drive's values at the joint.

use std::f64::consts::TAU;

use super::commission::CommissionError;
use super::{Control, Scale};
use crate::main_device::exchange::Registers;
use crate::main_device::mailbox::Mail;
use crate::main_device::sdo::{self, SdoError};
use crate::wire::cia402::{Polarity, object};
use crate::wire::coe::Address;

/// Fewest units of position per turn of a joint; with fewer no joint could be positioned.
const MIN: f64 = 36.0;

/// The properties of a drive and its joint that a user states, where the drive does not state them, or states others.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UnitSettings {
    /// Units of position (object 0x6064) per turn of the joint, whatever the drive states.
    pub increments: Option<f64>,
    /// Units of velocity (object 0x606C) per turn of the joint a second, whatever the drive states.
    pub velocity: Option<f64>,
    /// A gear that the drive does not count in: turns of its input per turn of the joint.
    pub gear: Option<f64>,
    /// Rated torque of the motor in N m, whatever the drive states (object 0x6076).
    pub rated: Option<f64>,
    /// Whether the joint turns opposite to its drive.
    pub reverse: bool,
}

/// A drive's objects for its units (CiA 402-2, factor group); `None` for an object that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Units {
    /// Increments of the encoder per number of motor turns (object 0x608F).
    pub encoder: Option<[u32; 2]>,
    /// Turns of the motor per number of turns of the shaft behind the gear (object 0x6091).
    pub gear: Option<[u32; 2]>,
    /// Units of position per number of that shaft's turns (object 0x6092).
    pub feed: Option<[u32; 2]>,
    /// Which values have the reverse sign (object 0x607E).
    pub polarity: Option<u8>,
    /// The motor's rated torque in mN m (object 0x6076).
    pub rated: Option<u32>,
    /// The limit of torque in thousandths of the rated one (object 0x6072).
    pub most: Option<u16>,
    /// Unit of position (object 0x60A8).
    pub position_unit: Option<u32>,
    /// Unit of velocity (object 0x60A9).
    pub velocity_unit: Option<u32>,
}

impl Units {
    /// Reads the objects of a drive in PREOP or higher. Waits.
    ///
    /// # Errors
    /// [`SdoError`]: the drive does not answer.
    pub(super) fn read(
        registers: &mut Registers<'_>,
        mail: &mut Mail<'_>,
    ) -> Result<Self, SdoError> {
        let mut reader = ObjectReader { registers, mail };
        Ok(Self {
            encoder: reader.pair(object::ENCODER_RESOLUTION)?,
            gear: reader.pair(object::GEAR_RATIO)?,
            feed: reader.pair(object::FEED_CONSTANT)?,
            polarity: reader.number(object::POLARITY, 0)?.map(|it| it as u8),
            rated: reader.number(object::RATED_TORQUE, 0)?,
            most: reader.number(object::TORQUE_LIMIT, 0)?.map(|it| it as u16),
            position_unit: reader.number(object::POSITION_UNIT, 0)?,
            velocity_unit: reader.number(object::VELOCITY_UNIT, 0)?,
        })
    }

    /// Reads them again, without the objects that the drive did not have before. The limit of torque may change.
    pub(super) fn read_again(
        &self,
        registers: &mut Registers<'_>,
        mail: &mut Mail<'_>,
    ) -> Result<Self, SdoError> {
        let mut reader = ObjectReader { registers, mail };
        let mut again = *self;
        for (index, pair) in [
            (object::ENCODER_RESOLUTION, &mut again.encoder),
            (object::GEAR_RATIO, &mut again.gear),
            (object::FEED_CONSTANT, &mut again.feed),
        ] {
            if pair.is_some() {
                *pair = reader.pair(index)?;
            }
        }
        for (index, number) in [
            (object::RATED_TORQUE, &mut again.rated),
            (object::POSITION_UNIT, &mut again.position_unit),
            (object::VELOCITY_UNIT, &mut again.velocity_unit),
        ] {
            if number.is_some() {
                *number = reader.number(index, 0)?;
            }
        }
        if again.polarity.is_some() {
            again.polarity = reader.number(object::POLARITY, 0)?.map(|it| it as u8);
        }
        Ok(again)
    }

    /// The changed property, in words.
    pub(super) fn changed(&self, now: &Self) -> Option<&'static str> {
        [
            (
                self.encoder != now.encoder,
                "encoder resolution (object 0x608F)",
            ),
            (self.gear != now.gear, "gear ratio (object 0x6091)"),
            (self.feed != now.feed, "feed constant (object 0x6092)"),
            (self.polarity != now.polarity, "polarity (object 0x607E)"),
            (self.rated != now.rated, "rated torque (object 0x6076)"),
            (
                self.position_unit != now.position_unit,
                "unit of position (object 0x60A8)",
            ),
            (
                self.velocity_unit != now.velocity_unit,
                "unit of velocity (object 0x60A9)",
            ),
        ]
        .into_iter()
        .find_map(|(is_other, what)| is_other.then_some(what))
    }

    /// The units of its values at the joint.
    ///
    /// The drive counts a position in units of the shaft (CiA 402-2: feed constant), or else in increments of the
    /// encoder: the resolution times the gear ratio per turn. A torque of the motor is multiplied by the gear ratio
    /// at the joint; losses in the gear are not included.
    ///
    /// # Errors
    /// [`CommissionError`]: a required value is missing in both the drive and the user's settings, or is invalid.
    pub(super) fn scale(
        &self,
        stated: &UnitSettings,
        control: Control,
    ) -> Result<Scale, CommissionError> {
        let gear = ratio(object::GEAR_RATIO, self.gear)?.unwrap_or(1.0);
        let behind = stated.gear.unwrap_or(1.0);
        let increments = match stated.increments {
            Some(increments) => increments,
            None => self.position_a_turn(gear)? * behind,
        };
        let velocity = match stated.velocity {
            Some(velocity) => Some(velocity),
            None => self.velocity_a_turn(increments, behind),
        };
        if velocity.is_none() && control == Control::Velocity {
            return Err(CommissionError::Unit {
                object: object::VELOCITY_UNIT,
                value: self.velocity_unit.unwrap_or(0),
                option: "velocity_per_turn",
            });
        }
        let reported = self.rated.filter(|it| *it > 0);
        let rated = stated.rated.or(reported.map(|it| f64::from(it) / 1000.0));
        if rated.is_none() && control == Control::Torque {
            return Err(CommissionError::NotStated {
                object: object::RATED_TORQUE,
                option: "rated_torque",
            });
        }
        let sign = |inverts: bool| if inverts { -1.0 } else { 1.0 };
        let polarity = Polarity(self.polarity.unwrap_or(0));
        let joint = sign(stated.reverse);
        // All other values must agree with the position: a regulator with the opposite sign would run away.
        let position = polarity.has(Polarity::POSITION);
        let against = |bit| joint * sign(polarity.has(bit) != position);
        Ok(Scale {
            increments: joint * increments,
            velocity: velocity.map(|it| it * against(Polarity::VELOCITY)),
            rated: rated.map(|it| it * gear * behind * against(Polarity::TORQUE)),
            most: self.most.filter(|it| *it > 0),
        })
    }

    /// Units of position per turn of the shaft behind the drive's own gear.
    fn position_a_turn(&self, gear: f64) -> Result<f64, CommissionError> {
        let unit = self.position_unit.unwrap_or(0);
        match unit_a_turn(unit) {
            Some(AngleUnit::ATurn(units)) if units >= MIN => return Ok(units),
            Some(AngleUnit::Increments) => {}
            _ => {
                return Err(CommissionError::Unit {
                    object: object::POSITION_UNIT,
                    value: unit,
                    option: "increments_per_turn",
                });
            }
        }
        // A drive whose feed constant has never been set has one to one.
        let feed = self.feed.filter(|it| *it != [1, 1]);
        let (index, units) = match ratio(object::FEED_CONSTANT, feed)? {
            Some(feed) => (object::FEED_CONSTANT, feed),
            None => {
                let index = object::ENCODER_RESOLUTION;
                let encoder = ratio(index, self.encoder)?;
                let encoder = encoder.ok_or(CommissionError::NotStated {
                    object: index,
                    option: "increments_per_turn",
                })?;
                (index, encoder * gear)
            }
        };
        if units < MIN {
            let values = feed.or(self.encoder).unwrap_or_default();
            return Err(CommissionError::Senseless {
                object: index,
                values,
            });
        }
        Ok(units)
    }

    /// Units of velocity per turn of the joint a second; `None` where the drive's unit is unknown.
    fn velocity_a_turn(&self, increments: f64, behind: f64) -> Option<f64> {
        let unit = self.velocity_unit.unwrap_or(0);
        let [_, denominator, _, _] = unit.to_le_bytes();
        let seconds = match denominator {
            0 | SECOND => 1.0,
            MINUTE => 60.0,
            _ => return None,
        };
        match unit_a_turn(unit)? {
            AngleUnit::Increments if seconds == 1.0 => Some(increments),
            AngleUnit::Increments => None,
            AngleUnit::ATurn(units) => Some(units * behind * seconds),
        }
    }
}

/// Notation indices of units (CiA 303-2): radian, degree, revolution, increment, second, minute.
const RADIAN: u8 = 0x10;
const DEGREE: u8 = 0x41;
const REVOLUTION: u8 = 0xB4;
const INCREMENT: u8 = 0xB5;
const SECOND: u8 = 0x03;
const MINUTE: u8 = 0x47;

/// The unit of an angle.
enum AngleUnit {
    /// The encoder's increments, or the units of the feed constant.
    Increments,
    /// A unit of so many per turn.
    ATurn(f64),
}

/// The unit of an angle in object 0x60A8 or 0x60A9: a power of ten in the highest byte, the unit in the one below it.
/// `None` where the unit is not one of an angle.
fn unit_a_turn(unit: u32) -> Option<AngleUnit> {
    let [_, _, numerator, power] = unit.to_le_bytes();
    let turn = match numerator {
        _ if unit == 0 => return Some(AngleUnit::Increments),
        INCREMENT if power == 0 => return Some(AngleUnit::Increments),
        RADIAN => TAU,
        DEGREE => 360.0,
        REVOLUTION => 1.0,
        _ => return None,
    };
    Some(AngleUnit::ATurn(
        turn / 10_f64.powi(i32::from(power.cast_signed())),
    ))
}

/// A ratio of two numbers, neither of which may be 0.
fn ratio(index: u16, pair: Option<[u32; 2]>) -> Result<Option<f64>, CommissionError> {
    match pair {
        None => Ok(None),
        Some(values) if values.contains(&0) => Err(CommissionError::Senseless {
            object: index,
            values,
        }),
        Some([above, below]) => Ok(Some(f64::from(above) / f64::from(below))),
    }
}

/// A reader of a drive's objects.
struct ObjectReader<'a, 'r, 'm> {
    registers: &'a mut Registers<'r>,
    mail: &'a mut Mail<'m>,
}

impl ObjectReader<'_, '_, '_> {
    fn number(&mut self, index: u16, sub: u8) -> Result<Option<u32>, SdoError> {
        // Zeros extend a shorter number.
        let read = sdo::get::<4>(self.registers, self.mail, Address::new(index, sub));
        let read = sdo::optional(read)?;
        Ok(read.map(u32::from_le_bytes))
    }

    /// Sub-indices 1 and 2; 1 for the second where there is only the first.
    fn pair(&mut self, index: u16) -> Result<Option<[u32; 2]>, SdoError> {
        let Some(first) = self.number(index, 1)? else {
            return Ok(None);
        };
        let second = self.number(index, 2)?.unwrap_or(1);
        Ok(Some([first, second]))
    }
}

#[cfg(test)]
mod tests;
