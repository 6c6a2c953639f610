//! SyncManagers: the access of MainDevice and application to process memory (ETG.1000.4, table 58).

/// Offset of the status byte in a SyncManager's registers.
pub const STATUS: u16 = 5;
/// Offset of the byte by which the MainDevice activates the SyncManager.
pub const ACTIVATE: u16 = 6;
/// Offset of the byte by which the application controls it.
pub const PDI_CONTROL: u16 = 7;

/// How a SyncManager guards its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncManagerMode {
    /// Three buffers: either side always has one; the reader gets the newest value.
    Buffered,
    /// One buffer: written, then read, then written.
    Mailbox,
}

/// The direction of a SyncManager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncManagerDirection {
    /// The MainDevice reads: inputs, and mailboxes of answers.
    Read,
    /// The MainDevice writes: outputs, and mailboxes of requests.
    Write,
}

/// A SyncManager's control byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SyncManagerControl(pub u8);

impl SyncManagerControl {
    /// A mailbox that the MainDevice writes, as SubDevices propose it.
    pub const MAILBOX_OUT: Self = Self(0x26);
    /// A mailbox that the MainDevice reads.
    pub const MAILBOX_IN: Self = Self(0x22);
    /// Outputs, with the watchdog.
    pub const OUTPUTS: Self = Self(0x64);
    /// Inputs, without the watchdog.
    pub const INPUTS: Self = Self(0x20);

    /// The mode; `None` for the two unused numbers.
    #[must_use]
    pub const fn mode(self) -> Option<SyncManagerMode> {
        match self.0 & 0x03 {
            0 => Some(SyncManagerMode::Buffered),
            2 => Some(SyncManagerMode::Mailbox),
            _ => None,
        }
    }

    /// The direction; `None` for the two unused numbers.
    #[must_use]
    pub const fn direction(self) -> Option<SyncManagerDirection> {
        match self.0 >> 2 & 0x03 {
            0 => Some(SyncManagerDirection::Read),
            1 => Some(SyncManagerDirection::Write),
            _ => None,
        }
    }

    /// Whether an access of the MainDevice raises the MainDevice's event.
    #[must_use]
    pub(crate) const fn raises_main_event(self) -> bool {
        self.0 & 0x10 != 0
    }

    /// Whether a write feeds the process data watchdog.
    #[must_use]
    pub(crate) const fn feeds_watchdog(self) -> bool {
        self.0 & 0x40 != 0
    }
}

/// A SyncManager's status byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SyncManagerStatus(pub u8);

impl SyncManagerStatus {
    /// Set when the whole buffer was written, until its first byte is read.
    pub const WRITTEN: u8 = 1 << 0;
    /// Set when the whole buffer was read, until its first byte is written.
    pub const READ: u8 = 1 << 1;
    /// The mailbox is full.
    pub const FULL: u8 = 1 << 3;
    /// Bits 4 and 5: which buffer was written last; 3 for none yet.
    pub const NOTHING_WRITTEN: u8 = 3 << 4;

    /// Whether the mailbox holds a message.
    #[must_use]
    pub const fn full(self) -> bool {
        self.0 & Self::FULL != 0
    }

    /// Which of three buffers was written last.
    #[must_use]
    pub(crate) const fn last_buffer(self) -> Option<u8> {
        match self.0 >> 4 & 3 {
            3 => None,
            it => Some(it),
        }
    }
}

/// A SyncManager, as in its eight bytes of registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SyncManager {
    /// First address of its memory.
    pub start: u16,
    /// Bytes of one buffer. In buffered mode two more lie behind the first.
    pub length: u16,
    /// SyncManagerMode, direction, events.
    pub control: SyncManagerControl,
    /// State of the buffers; read only.
    pub status: SyncManagerStatus,
    /// Bit 0 activates; a change of bit 1 requests the last message again.
    pub activate: u8,
    /// Bit 0: the application has deactivated it; bit 1 answers the repeat request.
    pub pdi_control: u8,
}

impl SyncManager {
    /// Bit of `activate`: the SyncManager is active.
    pub const ACTIVE: u8 = 1 << 0;
    /// Bit of `activate`: its change requests the last message again.
    pub const REPEAT: u8 = 1 << 1;
    /// Bit of `pdi_control`: the application has deactivated it.
    pub const DEACTIVATED: u8 = 1 << 0;
    /// Bit of `pdi_control`: equals the repeat bit when the message lies there again.
    pub const REPEATED: u8 = 1 << 1;

    /// Makes an active SyncManager.
    #[must_use]
    pub const fn new(start: u16, length: u16, control: SyncManagerControl) -> Self {
        Self {
            start,
            length,
            control,
            status: SyncManagerStatus(0),
            activate: Self::ACTIVE,
            pdi_control: 0,
        }
    }

    /// Makes the settings from the bytes of the registers.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self {
            start: u16::from_le_bytes([bytes[0], bytes[1]]),
            length: u16::from_le_bytes([bytes[2], bytes[3]]),
            control: SyncManagerControl(bytes[4]),
            status: SyncManagerStatus(bytes[5]),
            activate: bytes[6],
            pdi_control: bytes[7],
        }
    }

    /// The contents of the registers.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 8] {
        let [start_low, start_high] = self.start.to_le_bytes();
        let [length_low, length_high] = self.length.to_le_bytes();
        [
            start_low,
            start_high,
            length_low,
            length_high,
            self.control.0,
            self.status.0,
            self.activate,
            self.pdi_control,
        ]
    }

    /// Whether it is active.
    #[must_use]
    pub const fn active(self) -> bool {
        self.activate & Self::ACTIVE != 0 && self.pdi_control & Self::DEACTIVATED == 0
    }

    /// The byte behind its first buffer; more than 16 bits where it reaches over the memory's end.
    #[must_use]
    pub const fn end(self) -> u32 {
        self.start as u32 + self.length as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_usual_four_say_what_they_are() {
        let of = |control: SyncManagerControl| (control.mode(), control.direction());
        assert_eq!(
            of(SyncManagerControl::MAILBOX_OUT),
            (
                Some(SyncManagerMode::Mailbox),
                Some(SyncManagerDirection::Write)
            )
        );
        assert_eq!(
            of(SyncManagerControl::MAILBOX_IN),
            (
                Some(SyncManagerMode::Mailbox),
                Some(SyncManagerDirection::Read)
            )
        );
        assert_eq!(
            of(SyncManagerControl::OUTPUTS),
            (
                Some(SyncManagerMode::Buffered),
                Some(SyncManagerDirection::Write)
            )
        );
        assert_eq!(
            of(SyncManagerControl::INPUTS),
            (
                Some(SyncManagerMode::Buffered),
                Some(SyncManagerDirection::Read)
            )
        );
        assert!(
            SyncManagerControl::OUTPUTS.feeds_watchdog()
                && !SyncManagerControl::INPUTS.feeds_watchdog()
        );
        assert_eq!(of(SyncManagerControl(0x0F)), (None, None));
    }

    #[test]
    fn registers_lie_where_the_standard_says() {
        let mailbox = SyncManager::new(0x1000, 0x80, SyncManagerControl::MAILBOX_OUT);
        assert_eq!(
            mailbox.to_bytes(),
            [0x00, 0x10, 0x80, 0x00, 0x26, 0x00, 0x01, 0x00]
        );
        assert_eq!(mailbox.end(), 0x1080);
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(bytes: [u8; 8]) {
            prop_assert_eq!(SyncManager::from_bytes(bytes).to_bytes(), bytes);
        }
    }
}
