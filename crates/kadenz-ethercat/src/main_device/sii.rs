//! Reading and writing a SubDevice's SII, its EEPROM, word by word through registers.

use std::time::Duration;

use super::exchange::{ExchangeError, Registers, Whose};
use crate::wire::register::{
    SII_ADDRESS, SII_CONFIGURATION, SII_CONTROL, SII_DATA, sii_control as bits,
};

/// How long an EEPROM may be busy: a write takes up to 10 ms.
const LONGEST: Duration = Duration::from_millis(100);
/// How often an EEPROM is asked again that did not acknowledge: it is still at its last write.
const TRIES: u32 = 10;

/// Why the SII was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum SiiError {
    /// The segment did not answer.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// It stayed busy.
    #[error("the EEPROM stays busy; power the SubDevice off and on")]
    Busy,
    /// It did not do what it was asked.
    #[error(
        "the EEPROM refused word 0x{word:04X} (status 0x{status:04X}); is it there, and written?"
    )]
    Refused {
        /// Which word.
        word: u32,
        /// What the control register says.
        status: u16,
    },
}

/// The SII of one SubDevice. Every method waits.
pub struct Sii<'r, 'x> {
    registers: &'r mut Registers<'x>,
    whose: Whose,
}

impl<'r, 'x> Sii<'r, 'x> {
    /// Takes the SII from the application and gets ready to read.
    ///
    /// # Errors
    /// [`SiiError`] when the SubDevice does not answer.
    pub fn of(registers: &'r mut Registers<'x>, whose: Whose) -> Result<Self, SiiError> {
        // An application that holds on to it loses it by force (bit 1) and then for good.
        for ownership in [2_u8, 0] {
            registers.write(whose, SII_CONFIGURATION, &[ownership])?;
        }
        let mut sii = Self { registers, whose };
        sii.wait_until_idle()?;
        Ok(sii)
    }

    /// Reads as many bytes as `to` has from a word on.
    ///
    /// # Errors
    /// [`SiiError`]. An image that is shorter than asked for reads as ones on real EEPROMs.
    pub fn read(&mut self, word: u32, to: &mut [u8]) -> Result<(), SiiError> {
        let (mut word, mut rest) = (word, to);
        while !rest.is_empty() {
            let (bytes, count) = self.read_once(word)?;
            let now = count.min(rest.len());
            let (head, tail) = rest.split_at_mut(now);
            head.copy_from_slice(&bytes[..now]);
            (word, rest) = (word + count as u32 / 2, tail);
        }
        Ok(())
    }

    /// Writes one word. The registers that are loaded from it change after [`reload`](Self::reload) or
    /// when the power comes back.
    ///
    /// # Errors
    /// [`SiiError`].
    pub fn write(&mut self, word: u32, value: u16) -> Result<(), SiiError> {
        for _ in 0..TRIES {
            self.registers
                .write(self.whose, SII_DATA, &value.to_le_bytes())?;
            let (status, _) = self.command(bits::WRITE | bits::WRITE_ENABLE, word)?;
            if status & bits::NOT_ACKNOWLEDGED == 0 {
                return refusal(word, status & !bits::CHECKSUM);
            }
            self.registers.exchange().pause(Duration::from_millis(5));
        }
        Err(SiiError::Busy)
    }

    /// Loads the registers of alias and configuration anew.
    ///
    /// # Errors
    /// [`SiiError`].
    pub fn reload(&mut self) -> Result<(), SiiError> {
        self.command(bits::RELOAD, 0).map(|_| ())
    }

    /// The next four or eight bytes.
    fn read_once(&mut self, word: u32) -> Result<([u8; 8], usize), SiiError> {
        for _ in 0..TRIES {
            let (status, bytes) = self.command(bits::READ, word)?;
            if status & bits::NOT_ACKNOWLEDGED == 0 {
                refusal(word, status & !bits::CHECKSUM)?;
                let eight = status & bits::EIGHT_BYTES != 0;
                return Ok((bytes, if eight { 8 } else { 4 }));
            }
            self.registers.exchange().pause(Duration::from_millis(1));
        }
        Err(SiiError::Busy)
    }

    /// Gives a command and waits for its end; what the control and data registers say then.
    fn command(&mut self, command: u16, word: u32) -> Result<(u16, [u8; 8]), SiiError> {
        debug_assert_eq!(SII_ADDRESS, SII_CONTROL + 2);
        let mut bytes = [0; 6];
        bytes[..2].copy_from_slice(&command.to_le_bytes());
        bytes[2..].copy_from_slice(&word.to_le_bytes());
        self.registers.write(self.whose, SII_CONTROL, &bytes)?;
        self.wait_until_idle()
    }

    fn wait_until_idle(&mut self) -> Result<(u16, [u8; 8]), SiiError> {
        let end = self.registers.exchange().now() + LONGEST;
        loop {
            // Control, address and data stand in a row: one question for all.
            let all: [u8; 14] = self.registers.get(self.whose, SII_CONTROL)?;
            let status = u16::from_le_bytes([all[0], all[1]]);
            if status & bits::BUSY == 0 {
                let mut data = [0; 8];
                data.copy_from_slice(&all[6..]);
                return Ok((status, data));
            }
            if self.registers.exchange().now() >= end {
                return Err(SiiError::Busy);
            }
            self.registers.exchange().pause(Duration::from_micros(20));
        }
    }
}

fn refusal(word: u32, status: u16) -> Result<(), SiiError> {
    if status & (bits::NOT_ENABLED | bits::NOT_ACKNOWLEDGED | bits::CHECKSUM) == 0 {
        return Ok(());
    }
    Err(SiiError::Refused { word, status })
}
