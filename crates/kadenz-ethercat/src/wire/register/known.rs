//! Descriptions of the registers, for tools that read and write them by hand.

use super::*;

/// A register that the standard describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownRegister {
    /// The address of its first byte.
    pub address: u16,
    /// The length of the register in bytes.
    pub bytes: u16,
    /// Its meaning or effect.
    pub name: &'static str,
    /// Whether its bytes are one number, the lowest first.
    pub is_number: bool,
}

const fn is(address: u16, bytes: u16, name: &'static str) -> KnownRegister {
    KnownRegister {
        address,
        bytes,
        name,
        is_number: true,
    }
}

const fn several(address: u16, bytes: u16, name: &'static str) -> KnownRegister {
    KnownRegister {
        is_number: false,
        ..is(address, bytes, name)
    }
}

/// Registers in the order of their addresses (ETG.1000.4, tables 31 to 61; Beckhoff's ESC data sheet, section
/// II), except for FMMUs, SyncManagers, write protection and reset.
pub(crate) const KNOWN: &[KnownRegister] = &[
    is(TYPE, 1, "type"),
    is(REVISION, 1, "revision"),
    is(BUILD, 2, "build"),
    is(FMMUS, 1, "FMMUs"),
    is(SYNC_MANAGERS, 1, "SyncManagers"),
    is(RAM_KIB, 1, "RAM size in KiB"),
    is(PORTS, 1, "port descriptor"),
    is(FEATURES, 2, "features"),
    is(STATION_ADDRESS, 2, "station address"),
    is(STATION_ALIAS, 2, "station alias"),
    is(DL_CONTROL, 4, "DL control"),
    is(READ_WRITE_OFFSET, 2, "read/write offset"),
    is(DL_STATUS, 2, "DL status"),
    is(AL_CONTROL, 2, "AL control"),
    is(AL_STATUS, 2, "AL status"),
    is(AL_STATUS_CODE, 2, "AL status code"),
    is(PDI_CONTROL, 2, "PDI control"),
    is(PDI_CONFIGURATION, 2, "PDI configuration"),
    is(PDI_CONFIGURATION_MORE, 2, "extended PDI configuration"),
    is(ECAT_EVENT_MASK, 2, "ECAT event mask"),
    is(ECAT_EVENT, 2, "ECAT event request"),
    several(RX_ERRORS, 8, "RX error counters"),
    several(FORWARDED_ERRORS, 4, "forwarded RX error counters"),
    is(
        PROCESSING_UNIT_ERRORS,
        1,
        "ECAT processing unit error counter",
    ),
    is(0x030D, 1, "PDI error counter"),
    several(LOST_LINKS, 4, "lost link counters"),
    is(WATCHDOG_DIVIDER, 2, "watchdog divider"),
    is(WATCHDOG_PDI, 2, "PDI watchdog time"),
    is(WATCHDOG_PROCESS_DATA, 2, "process data watchdog time"),
    is(WATCHDOG_STATUS, 2, "process data watchdog status"),
    is(
        WATCHDOG_PROCESS_DATA_COUNT,
        1,
        "process data watchdog counter",
    ),
    is(0x0443, 1, "PDI watchdog counter"),
    is(SII_CONFIGURATION, 1, "SII configuration"),
    is(SII_CONTROL, 2, "SII control and status"),
    is(SII_ADDRESS, 4, "SII address"),
    several(SII_DATA, 8, "SII data"),
    is(DC_RECEIVE_TIME, 4, "receive time port 0"),
    is(DC_RECEIVE_TIME + 4, 4, "receive time port 1"),
    is(DC_RECEIVE_TIME + 8, 4, "receive time port 2"),
    is(DC_RECEIVE_TIME + 12, 4, "receive time port 3"),
    is(DC_SYSTEM_TIME, 8, "system time"),
    is(DC_RECEIVE_TIME_UNIT, 8, "receive time ECAT processing unit"),
    is(DC_OFFSET, 8, "system time offset"),
    is(DC_DELAY, 4, "system time delay"),
    is(DC_DIFFERENCE, 4, "system time difference"),
    is(DC_SPEED_START, 2, "speed counter start"),
    is(DC_FILTER, 2, "clock filter depths"),
    is(DC_CYCLIC_CONTROL, 1, "cyclic unit control"),
    is(DC_ACTIVATION, 1, "SYNC activation"),
    is(DC_PULSE, 2, "SYNC pulse length"),
    is(DC_ACTIVATION_STATUS, 1, "SYNC activation status"),
    is(DC_START_TIME, 8, "SYNC0 start time"),
    is(DC_SYNC0_CYCLE, 4, "SYNC0 cycle time"),
    is(DC_SYNC1_CYCLE, 4, "SYNC1 cycle time"),
    is(OUTPUTS, 4, "digital outputs"),
];

/// The register that begins at an address.
#[must_use]
pub fn known(address: u16) -> Option<&'static KnownRegister> {
    KNOWN.iter().find(|it| it.address == address)
}

/// The effect of writing registers by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// A device goes on: the registers are error counters, which a write clears.
    Harmless,
    /// A running device may stop, lose its place or act; the text is the reason.
    Perilous(&'static str),
}

/// Registers whose writing disturbs no running device, each with the address behind it.
const SAFE_WRITES: &[(u32, u32)] = &[
    (RX_ERRORS as u32, LOST_LINKS as u32 + 4),
    (WATCHDOG_PROCESS_DATA_COUNT as u32, 0x0444),
];

/// Address ranges, each up to the address behind it, with the effect of a write; they cover all addresses.
const WRITE_EFFECTS: &[(u32, &str)] = &[
    (0x0010, "it identifies the ESC"),
    (
        0x0020,
        "the MainDevice addresses the device by it, and loses the device when it changes",
    ),
    (
        RESET as u32,
        "write protection makes the ESC refuse all further writes of the MainDevice",
    ),
    (
        DL_CONTROL as u32,
        "it resets the ESC, which then leaves the segment and loses its configuration",
    ),
    (
        0x0120,
        "it opens and closes ports: the MainDevice loses the devices behind them, or frames may circulate",
    ),
    (
        PDI_CONTROL as u32,
        "it requests a state without the configuration that the state needs, and stops a drive that moves; \
         `kadenz ethercat state` brings devices to a state",
    ),
    (
        ECAT_EVENT_MASK as u32,
        "it configures the PDI, which the ESC loads from the SII EEPROM",
    ),
    (
        0x0400,
        "the MainDevice and the application depend on its event requests and event masks",
    ),
    (
        SII_CONFIGURATION as u32,
        "watchdogs stop outputs without process data: if they are too long, outputs continue without a \
         MainDevice; if they are too short, outputs stop in normal operation",
    ),
    (
        FMMU as u32,
        "it controls the access to the SII EEPROM; `kadenz ethercat sii write` and `alias` write the EEPROM",
    ),
    (
        SYNC_MANAGER as u32,
        "FMMUs map logical addresses; a wrong map overwrites the process data of other devices",
    ),
    (
        DC_RECEIVE_TIME as u32,
        "SyncManagers protect mailboxes and process data; without them the device leaves SAFEOP and OP",
    ),
    (
        OUTPUTS as u32,
        "distributed clocks and SYNC signals synchronise the devices; `kadenz ethercat dc --align` sets clocks",
    ),
    (
        RAM as u32,
        "the ESC switches its digital outputs at once, without any watchdog",
    ),
    (
        0x1_0000,
        "it holds process data and mailboxes: the device acts on the written values, and the MainDevice loses \
         messages",
    ),
];

/// The effect of writing so many bytes from an address on; of several effects, the first that is not harmless.
#[must_use]
pub fn writing(address: u16, bytes: usize) -> Writing {
    let start = u32::from(address);
    let end = start.saturating_add(u32::try_from(bytes.max(1)).unwrap_or(u32::MAX));
    if SAFE_WRITES.iter().any(|it| it.0 <= start && end <= it.1) {
        return Writing::Harmless;
    }
    let mut from = 0;
    for (to, why) in WRITE_EFFECTS {
        let harmless = |at: u32| SAFE_WRITES.iter().any(|it| (it.0..it.1).contains(&at));
        let mut touched = start.max(from)..end.min(*to);
        if touched.any(|at| !harmless(at)) {
            return Writing::Perilous(why);
        }
        from = *to;
    }
    Writing::Perilous("there is no such register")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_found_by_where_they_begin_and_do_not_overlap() {
        assert_eq!(known(0x0130).map(|it| it.bytes), Some(2));
        assert_eq!(known(0x0131), None);
        let behind = |it: &KnownRegister| it.address + it.bytes;
        assert!(
            KNOWN.windows(2).all(|it| behind(&it[0]) <= it[1].address),
            "they are in order"
        );
    }

    #[test]
    fn what_a_running_device_lives_by_is_not_written_in_passing() {
        for (address, bytes) in [(0x0300, 20), (0x0310, 4), (0x0442, 2)] {
            assert_eq!(writing(address, bytes), Writing::Harmless, "{address:04X}");
        }
        for (address, bytes, word) in [
            (0x0000, 1, "identifies the ESC"),
            (0x0010, 2, "addresses the device"),
            (0x0020, 2, "write protection"),
            (0x0040, 1, "resets"),
            (0x0100, 4, "ports"),
            (0x0120, 2, "kadenz ethercat state"),
            (0x0140, 2, "PDI"),
            (0x0150, 1, "PDI"),
            (0x0200, 2, "event requests"),
            (0x0314, 1, "event requests"),
            (0x0400, 2, "watchdogs"),
            (0x0440, 4, "watchdogs"),
            (0x0502, 2, "sii write"),
            (0x0600, 16, "FMMUs"),
            (0x0806, 1, "SyncManagers"),
            (0x0910, 8, "clocks"),
            (0x0F00, 4, "digital outputs"),
            (0x1000, 1, "process data"),
            (0xFFFF, 1, "process data"),
            // From a harmless range into a perilous one.
            (0x0310, 0x200, "event requests"),
        ] {
            match writing(address, bytes) {
                Writing::Perilous(why) => assert!(why.contains(word), "{address:04X}: {why}"),
                Writing::Harmless => panic!("{address:04X}"),
            }
        }
    }
}
