//! Indices of a drive's objects, with type and unit.

/// Last error, u16.
pub const ERROR_CODE: u16 = 0x603F;
/// Commands to the drive, u16; [`Controlword`](super::Controlword).
pub const CONTROLWORD: u16 = 0x6040;
/// Status of the drive, u16; [`Statusword`](super::Statusword).
pub const STATUSWORD: u16 = 0x6041;
/// Reaction to a quick stop, i16.
pub const QUICK_STOP_OPTION: u16 = 0x605A;
/// Reaction to a fault, i16.
pub const FAULT_REACTION_OPTION: u16 = 0x605E;
/// Requested mode, i8.
pub const MODE: u16 = 0x6060;
/// Effective mode, i8.
pub const MODE_DISPLAY: u16 = 0x6061;
/// Position demand of the control loop in increments, i32.
pub const POSITION_DEMAND: u16 = 0x6062;
/// Position in increments, i32.
pub const POSITION: u16 = 0x6064;
/// Following error that counts as a fault, in increments, u32.
pub const FOLLOWING_ERROR_WINDOW: u16 = 0x6065;
/// How long that error must last in ms, u16.
pub const FOLLOWING_ERROR_TIMEOUT: u16 = 0x6066;
/// Velocity in increments/s, i32.
pub const VELOCITY: u16 = 0x606C;
/// Target torque, in thousandths of the rated, i16.
pub const TARGET_TORQUE: u16 = 0x6071;
/// Limit of torque in thousandths of the rated, u16.
pub const TORQUE_LIMIT: u16 = 0x6072;
/// Rated torque in mNm, u32.
pub const RATED_TORQUE: u16 = 0x6076;
/// Torque in thousandths of the rated, i16.
pub const TORQUE: u16 = 0x6077;
/// Target position in increments, i32.
pub const TARGET_POSITION: u16 = 0x607A;
/// Position of home, in increments, i32.
pub const HOME_OFFSET: u16 = 0x607C;
/// Which values have the reverse sign, u8; [`Polarity`](super::Polarity).
pub const POLARITY: u16 = 0x607E;
/// Limit of a profile's velocity in increments/s, u32.
pub const PROFILE_VELOCITY_LIMIT: u16 = 0x607F;
/// Limit of the motor's speed in 1/min, u32.
pub const MOTOR_SPEED_LIMIT: u16 = 0x6080;
/// Velocity of a profile in increments/s, u32.
pub const PROFILE_VELOCITY: u16 = 0x6081;
/// Acceleration of a profile in increments/s2, u32.
pub const PROFILE_ACCELERATION: u16 = 0x6083;
/// Deceleration of a profile in increments/s2, u32.
pub const PROFILE_DECELERATION: u16 = 0x6084;
/// Deceleration of a quick stop in increments/s2, u32.
pub const QUICK_STOP_DECELERATION: u16 = 0x6085;
/// Increments of the encoder (1) per number of motor turns (2), u32.
pub const ENCODER_RESOLUTION: u16 = 0x608F;
/// Turns of the motor (1) per number of turns of the shaft behind the gear (2), u32.
pub const GEAR_RATIO: u16 = 0x6091;
/// Units of position (1) per number of that shaft's turns (2), u32.
pub const FEED_CONSTANT: u16 = 0x6092;
/// Method of homing, i8.
pub const HOMING_METHOD: u16 = 0x6098;
/// Unit of position, u32: power of ten, unit, divisor in the bytes from the highest down (CiA 303-2).
pub const POSITION_UNIT: u16 = 0x60A8;
/// Unit of velocity, u32, as of position.
pub const VELOCITY_UNIT: u16 = 0x60A9;
/// Position added in the loop, in increments, i32.
pub const POSITION_OFFSET: u16 = 0x60B0;
/// Velocity added in the loop, in increments/s, i32.
pub const VELOCITY_OFFSET: u16 = 0x60B1;
/// Torque added in the loop, in thousandths of the rated, i16.
pub const TORQUE_OFFSET: u16 = 0x60B2;
/// The MainDevice's cycle: value (1, u8) and power of ten of a second (2, i8).
pub const INTERPOLATION_TIME: u16 = 0x60C2;
/// Limit of torque in the positive direction, in thousandths of the rated, u16.
pub const POSITIVE_TORQUE_LIMIT: u16 = 0x60E0;
/// Limit of torque in the negative direction, in thousandths of the rated, u16.
pub const NEGATIVE_TORQUE_LIMIT: u16 = 0x60E1;
/// Following error in increments, i32.
pub const FOLLOWING_ERROR: u16 = 0x60F4;
/// Inputs of the drive, u32.
pub const DIGITAL_INPUTS: u16 = 0x60FD;
/// Target velocity in increments/s, i32.
pub const TARGET_VELOCITY: u16 = 0x60FF;
/// Modes that the drive supports, a bit each, u32.
pub const SUPPORTED_MODES: u16 = 0x6502;
