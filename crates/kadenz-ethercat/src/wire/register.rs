//! Registers of an EtherCAT SubDevice controller (ETG.1000.4, tables 31 to 61; Beckhoff's ESC datasheet).
//!
//! A register is its address in bytes; its comment states the width.

mod known;

pub use known::{KnownRegister, Writing, known, writing};

/// Kind of controller, u8.
pub const TYPE: u16 = 0x0000;
/// Its revision, u8.
pub const REVISION: u16 = 0x0001;
/// Its build, u16.
pub const BUILD: u16 = 0x0002;
/// How many FMMUs it has, u8.
pub const FMMUS: u16 = 0x0004;
/// How many SyncManagers it has, u8.
pub const SYNC_MANAGERS: u16 = 0x0005;
/// Process memory in KiB, u8.
pub const RAM_KIB: u16 = 0x0006;
/// Kind of each port, two bits a port, u8.
pub const PORTS: u16 = 0x0007;
/// Features of the controller, u16; bits in [`features`].
pub const FEATURES: u16 = 0x0008;
/// Configured station address, u16.
pub const STATION_ADDRESS: u16 = 0x0010;
/// Station alias, u16, loaded from the SII.
pub const STATION_ALIAS: u16 = 0x0012;
/// Whether registers may be written, two u8: permission and protection.
pub const WRITE_PROTECTION: u16 = 0x0020;
/// Whether anything may be written, two u8: permission and protection.
pub const CONTROLLER_WRITE_PROTECTION: u16 = 0x0030;
/// The letters RES, written one by one in frames that follow each other, reset the controller; u8.
pub const RESET: u16 = 0x0040;
/// Forwarding, ports, alias: u32.
pub const DL_CONTROL: u16 = 0x0100;
/// Loop control of the four ports, u8: two bits a port, the second byte of [`DL_CONTROL`].
pub const LOOP_CONTROL: u16 = 0x0101;
/// Whether the alias counts, u8: the highest byte of [`DL_CONTROL`].
pub const ALIAS_CONTROL: u16 = 0x0103;
/// Offset between the addresses that one command reads and writes, u16.
pub const READ_WRITE_OFFSET: u16 = 0x0108;
/// Links, loops and whether anything is received: u16.
pub const DL_STATUS: u16 = 0x0110;
/// Requested state, u16.
pub const AL_CONTROL: u16 = 0x0120;
/// Current state, u16.
pub const AL_STATUS: u16 = 0x0130;
/// Why a state was refused, u16.
pub const AL_STATUS_CODE: u16 = 0x0134;
/// Kind of the process data interface, u8. The byte behind it sets up the controller; its lowest bit says that there
/// is no firmware: see [`pdi_control::EMULATION`].
pub const PDI_CONTROL: u16 = 0x0140;
/// Settings of that interface, u16.
pub const PDI_CONFIGURATION: u16 = 0x0150;
/// Further ones, u16.
pub const PDI_CONFIGURATION_MORE: u16 = 0x0152;
/// Which events show in a datagram's event field, u16.
pub const ECAT_EVENT_MASK: u16 = 0x0200;
/// Pending events, u16.
pub const ECAT_EVENT: u16 = 0x0210;
/// Frames received in error, two bytes a port: invalid frames, then physical errors.
pub const RX_ERRORS: u16 = 0x0300;
/// Errors that a SubDevice before found, a byte a port.
pub const FORWARDED_ERRORS: u16 = 0x0308;
/// Datagrams that the processing unit found invalid, u8.
pub const PROCESSING_UNIT_ERRORS: u16 = 0x030C;
/// Lost links, a byte a port.
pub const LOST_LINKS: u16 = 0x0310;
/// Divider of both watchdogs, u16; 25 MHz / (divider + 2).
pub const WATCHDOG_DIVIDER: u16 = 0x0400;
/// Application watchdog in ticks, u16.
pub const WATCHDOG_PDI: u16 = 0x0410;
/// Process data watchdog in ticks, u16.
pub const WATCHDOG_PROCESS_DATA: u16 = 0x0420;
/// The values that the watchdog of process data has after power on, by register: 1000 ticks of 100 us.
pub(crate) const WATCHDOG_DEFAULTS: [(u16, u16); 2] =
    [(WATCHDOG_DIVIDER, 2498), (WATCHDOG_PROCESS_DATA, 1000)];
/// Bit 0: process data came in time, u16.
pub const WATCHDOG_STATUS: u16 = 0x0440;
/// How often process data came too late, u8.
pub const WATCHDOG_PROCESS_DATA_COUNT: u16 = 0x0442;
/// Access to the SII by MainDevice or application, u8.
pub const SII_CONFIGURATION: u16 = 0x0500;
/// Command and status of the SII, u16.
pub const SII_CONTROL: u16 = 0x0502;
/// Word address of the SII, u32.
pub const SII_ADDRESS: u16 = 0x0504;
/// Data of the SII, 4 or 8 bytes.
pub const SII_DATA: u16 = 0x0508;
/// First FMMU; each takes [`FMMU_SIZE`].
pub const FMMU: u16 = 0x0600;
/// Bytes of an FMMU.
pub const FMMU_SIZE: u16 = 16;
/// First SyncManager; each takes [`SYNC_MANAGER_SIZE`].
pub const SYNC_MANAGER: u16 = 0x0800;
/// Bytes of a SyncManager.
pub const SYNC_MANAGER_SIZE: u16 = 8;
/// Receive time of port 0, u32; of ports 1 to 3 behind it. A write latches all.
pub const DC_RECEIVE_TIME: u16 = 0x0900;
/// System time, u64; a write feeds the control loop.
pub const DC_SYSTEM_TIME: u16 = 0x0910;
/// Receive time of the processing unit, u64.
pub const DC_RECEIVE_TIME_UNIT: u16 = 0x0918;
/// Offset between local and system time, u64.
pub const DC_OFFSET: u16 = 0x0920;
/// Delay between the reference clock and this clock in ns, u32.
pub const DC_DELAY: u16 = 0x0928;
/// Mean difference to the system time in ns, sign and magnitude, u32.
pub const DC_DIFFERENCE: u16 = 0x092C;
/// Start of the speed counter, u16; a write resets the control loop.
pub const DC_SPEED_START: u16 = 0x0930;
/// Filter depths of the control loop, two u8.
pub const DC_FILTER: u16 = 0x0934;
/// Access to the sync unit by MainDevice or application, u8.
pub const DC_CYCLIC_CONTROL: u16 = 0x0980;
/// Activation of SYNC0 and SYNC1, u8.
pub const DC_ACTIVATION: u16 = 0x0981;
/// How long a pulse of SYNC0 and SYNC1 is, in units of 10 ns, u16; loaded from the SII.
pub const DC_PULSE: u16 = 0x0982;
/// State of the activation, u8: bit 0 SYNC0 waits for its start, bit 1 SYNC1 does.
pub const DC_ACTIVATION_STATUS: u16 = 0x0984;
/// Time of the first SYNC0, u64.
pub const DC_START_TIME: u16 = 0x0990;
/// Cycle of SYNC0 in ns, u32.
pub const DC_SYNC0_CYCLE: u16 = 0x09A0;
/// Cycle of SYNC1 in ns, u32.
pub const DC_SYNC1_CYCLE: u16 = 0x09A4;
/// The end of the registers of distributed clocks.
pub const DC_END: u16 = 0x0A00;
/// Digital outputs, u32; from here on SyncManagers may guard memory.
pub const OUTPUTS: u16 = 0x0F00;
/// Process memory.
pub const RAM: u16 = 0x1000;

/// Bits of [`FEATURES`].
pub mod features {
    /// FMMUs map whole bytes alone; where it is clear they map bits (Beckhoff's ESC data sheet, section
    /// II, 0x0008 bit 0: 0 is bit oriented, 1 is byte oriented).
    pub const FMMU_BYTES: u16 = 1 << 0;
    /// Distributed clocks.
    pub const DC: u16 = 1 << 2;
    /// Their times have 64 bits.
    pub const DC_64: u16 = 1 << 3;
    /// The clocks have low jitter.
    pub const LOW_JITTER: u16 = 1 << 4;
    /// Enhanced link detection.
    pub const ENHANCED_LINK: u16 = 1 << 5;
    /// Enhanced link detection at ports for cables.
    pub const ENHANCED_CABLE_LINK: u16 = 1 << 6;
    /// Errors of check sequences are counted apart.
    pub const COUNTS_CHECK_SEQUENCES: u16 = 1 << 7;
    /// Sync unit as in newer controllers.
    pub const ENHANCED_SYNC: u16 = 1 << 8;
    /// No LRW.
    pub const NO_LRW: u16 = 1 << 9;
    /// No BRW, APRW and FPRW.
    pub const NO_READ_WRITE: u16 = 1 << 10;
    /// FMMUs and SyncManagers are fixed.
    pub const FIXED: u16 = 1 << 11;
}

/// Bits of [`PDI_CONTROL`], read as u16.
pub mod pdi_control {
    /// There is no firmware: the controller itself shows the requested state.
    pub const EMULATION: u16 = 1 << 8;
    /// SYNC is used.
    pub const SYNC: u16 = 1 << 10;
    /// Latch is used.
    pub const LATCH: u16 = 1 << 11;
}

/// Bits of [`DC_ACTIVATION`] (ETG.1000.4; Beckhoff's ESC data sheet, section II).
pub(crate) mod dc_activation {
    pub(crate) const CYCLIC: u8 = 1 << 0;
    pub(crate) const SYNC0: u8 = 1 << 1;
    pub(crate) const SYNC1: u8 = 1 << 2;
}

/// Bits of [`SII_CONTROL`] (ETG.1000.4, table 49).
pub mod sii_control {
    /// Allows one write.
    pub const WRITE_ENABLE: u16 = 1 << 0;
    /// A read gives eight bytes, not four.
    pub const EIGHT_BYTES: u16 = 1 << 6;
    /// The memory is addressed by two bytes on its own bus.
    pub const TWO_ADDRESS_BYTES: u16 = 1 << 7;
    /// The command: [`READ`], [`WRITE`] or [`RELOAD`].
    pub const COMMAND: u16 = 7 << 8;
    /// Reads four or eight bytes, see [`EIGHT_BYTES`].
    pub const READ: u16 = 1 << 8;
    /// Writes, together with [`WRITE_ENABLE`].
    pub const WRITE: u16 = 2 << 8;
    /// Loads alias and configuration again.
    pub const RELOAD: u16 = 4 << 8;
    /// The checksum of the first words is wrong.
    pub const CHECKSUM: u16 = 1 << 11;
    /// The controller loaded nothing at power-on.
    pub const NOT_LOADED: u16 = 1 << 12;
    /// The memory did not acknowledge, or there is no such command.
    pub const NOT_ACKNOWLEDGED: u16 = 1 << 13;
    /// A write was not allowed.
    pub const NOT_ENABLED: u16 = 1 << 14;
    /// The controller is executing a command.
    pub const BUSY: u16 = 1 << 15;
}
