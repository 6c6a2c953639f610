//! Reading and writing a SubDevice's SII, its EEPROM, word by word through registers.

use std::time::Duration;

use super::exchange::{ExchangeError, Registers, Target};
use crate::wire::register::{
    SII_ADDRESS, SII_CONFIGURATION, SII_CONTROL, SII_DATA, sii_control as bits,
};

/// How long an EEPROM may be busy: a write takes up to 10 ms.
const MAX: Duration = Duration::from_millis(100);
/// How often the MainDevice asks an EEPROM again that did not acknowledge: it is still busy with its last write.
const TRIES: u32 = 10;
/// The same after a write, and the pause: some EEPROMs store a word for 10 ms.
const WRITE_TRIES: u32 = 25;
const STORING: Duration = Duration::from_millis(2);
/// Words of the controller's own configuration; the last of them holds their checksum.
const HEAD: u32 = 8;

/// The reason why the SII was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum SiiAccessError {
    /// The segment did not answer.
    #[error("{0}")]
    Exchange(#[from] ExchangeError),
    /// The EEPROM stayed busy.
    #[error("the EEPROM stays busy; power the SubDevice off and on")]
    Busy,
    /// The EEPROM refused the command.
    #[error(
        "the EEPROM refused word 0x{word:04X} (status 0x{status:04X}); is it there, written, and as large as that?"
    )]
    Refused {
        /// The address of the word.
        word: u32,
        /// The value of the SII's control register.
        status: u16,
    },
}

/// A word that differs from its wanted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// The word's address.
    pub word: u32,
    /// The value that the SII holds.
    pub has: u16,
    /// The value that it should hold.
    pub wanted: u16,
}

/// The SII of one SubDevice. Every method waits.
pub struct Sii<'r, 'x> {
    registers: &'r mut Registers<'x>,
    target: Target,
    /// Whether the application owned it.
    was_theirs: bool,
}

impl<'r, 'x> Sii<'r, 'x> {
    /// Takes the SII from the application and gets ready to read.
    ///
    /// # Errors
    /// [`SiiAccessError`] when the SubDevice does not answer.
    pub fn of(registers: &'r mut Registers<'x>, target: Target) -> Result<Self, SiiAccessError> {
        // An application that holds on to it loses it by force (bit 1) and then for good.
        for ownership in [2_u8, 0] {
            registers.write(target, SII_CONFIGURATION, &[ownership])?;
        }
        let mut sii = Self {
            registers,
            target,
            was_theirs: false,
        };
        sii.wait_until_idle()?;
        Ok(sii)
    }

    /// The same for a tool that [gives it back](Self::give_back) to an application that owned it.
    ///
    /// # Errors
    /// [`SiiAccessError`] when the SubDevice does not answer.
    pub fn borrow(
        registers: &'r mut Registers<'x>,
        target: Target,
    ) -> Result<Self, SiiAccessError> {
        let [owner] = registers.get(target, SII_CONFIGURATION)?;
        let mut sii = Self::of(registers, target)?;
        sii.was_theirs = owner & 1 != 0;
        Ok(sii)
    }

    /// Fills `to` with bytes from a word on.
    ///
    /// # Errors
    /// [`SiiAccessError`]. Beyond the end of an image, real EEPROMs read as ones.
    pub fn read(&mut self, word: u32, to: &mut [u8]) -> Result<(), SiiAccessError> {
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

    /// Writes one word. The registers that are loaded from it change at the next power on.
    ///
    /// # Errors
    /// [`SiiAccessError`].
    pub fn write(&mut self, word: u32, value: u16) -> Result<(), SiiAccessError> {
        let mut status = 0;
        for _ in 0..WRITE_TRIES {
            match self.write_once(word, value) {
                Ok(now) if now & bits::NOT_ACKNOWLEDGED == 0 => {
                    return refusal(word, now & !bits::CHECKSUM);
                }
                Ok(now) => {
                    status = now;
                    self.registers.exchange().pause(STORING);
                }
                // The EEPROM already writes it: an answer was lost, so that the command came twice.
                Err(SiiAccessError::Exchange(ExchangeError::WorkingCounter { .. })) => {
                    self.wait_until_idle()?;
                }
                Err(error) => return Err(error),
            }
        }
        Err(SiiAccessError::Refused { word, status })
    }

    fn write_once(&mut self, word: u32, value: u16) -> Result<u16, SiiAccessError> {
        let bytes = value.to_le_bytes();
        self.registers.write(self.target, SII_DATA, &bytes)?;
        let (status, _) = self.command(bits::WRITE | bits::WRITE_ENABLE, word)?;
        Ok(status)
    }

    /// Words that differ from an image, from word 0 on, in the order in which they are best
    /// [written](Self::write): those of the controller's configuration come last, so that it starts as before
    /// where writing ends before them. Only an end within these last eight words (some 40 ms) can leave a wrong
    /// checksum, with which the controller loads nothing at power on; write again before that. A last byte
    /// without a second is left out. Allocates.
    ///
    /// ```
    /// use kadenz_ethercat::main_device::exchange::{RetryPolicy, Registers, BlockingExchange, Target};
    /// use kadenz_ethercat::main_device::link::Link;
    /// use kadenz_ethercat::main_device::sii::Sii;
    /// use kadenz_ethercat::sim::WirePort;
    /// use kadenz_ethercat::sim::humanoid::humanoid;
    /// use kadenz_ethercat::wire::Position;
    ///
    /// let mut link = Link::new(WirePort::new(humanoid(1).build()?), 1);
    /// let mut exchange = BlockingExchange { link: &mut link, retry: RetryPolicy::default() };
    /// let mut registers = Registers::by(&mut exchange);
    /// let mut sii = Sii::of(&mut registers, Target::At(Position(0)))?;
    /// let mut image = [0; 128];
    /// sii.read(0, &mut image)?;
    /// image[0x1C] = 7;
    /// for difference in sii.differences(&image)? {
    ///     assert_eq!((difference.word, difference.wanted), (0x0E, 7));
    ///     sii.write(difference.word, difference.wanted)?;
    /// }
    /// assert!(sii.differences(&image)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SiiAccessError`].
    pub fn differences(&mut self, image: &[u8]) -> Result<Vec<Difference>, SiiAccessError> {
        let mut has = vec![0; image.len()];
        self.read(0, &mut has)?;
        let words = (0..).zip(has.chunks_exact(2).zip(image.chunks_exact(2)));
        let differences = words.filter_map(|(word, (has, wanted))| {
            let value = |it: &[u8]| u16::from_le_bytes([it[0], it[1]]);
            let (has, wanted) = (value(has), value(wanted));
            (has != wanted).then_some(Difference { word, has, wanted })
        });
        let (mut head, mut rest): (Vec<_>, Vec<_>) = differences.partition(|it| it.word < HEAD);
        rest.append(&mut head);
        Ok(rest)
    }

    /// Gives the SII back to the application, where it was [borrowed](Self::borrow) from it.
    ///
    /// # Errors
    /// [`SiiAccessError`] when the SubDevice does not answer.
    pub fn give_back(self) -> Result<(), SiiAccessError> {
        if self.was_theirs {
            self.registers.write(self.target, SII_CONFIGURATION, &[1])?;
        }
        Ok(())
    }

    /// Reloads the configuration registers, except for the alias, which is loaded at power on.
    ///
    /// # Errors
    /// [`SiiAccessError`].
    pub fn reload(&mut self) -> Result<(), SiiAccessError> {
        self.command(bits::RELOAD, 0).map(|_| ())
    }

    /// Reads the next four or eight bytes.
    fn read_once(&mut self, word: u32) -> Result<([u8; 8], usize), SiiAccessError> {
        let mut status = 0;
        for _ in 0..TRIES {
            let (now, bytes) = self.command(bits::READ, word)?;
            status = now;
            if status & bits::NOT_ACKNOWLEDGED == 0 {
                refusal(word, status & !bits::CHECKSUM)?;
                let eight = status & bits::EIGHT_BYTES != 0;
                return Ok((bytes, if eight { 8 } else { 4 }));
            }
            self.registers.exchange().pause(Duration::from_millis(1));
        }
        Err(SiiAccessError::Refused { word, status })
    }

    /// Gives a command and waits for its end; returns the control and data registers.
    fn command(&mut self, command: u16, word: u32) -> Result<(u16, [u8; 8]), SiiAccessError> {
        debug_assert_eq!(SII_ADDRESS, SII_CONTROL + 2);
        let mut bytes = [0; 6];
        bytes[..2].copy_from_slice(&command.to_le_bytes());
        bytes[2..].copy_from_slice(&word.to_le_bytes());
        self.registers.write(self.target, SII_CONTROL, &bytes)?;
        self.wait_until_idle()
    }

    fn wait_until_idle(&mut self) -> Result<(u16, [u8; 8]), SiiAccessError> {
        let end = self.registers.exchange().now() + MAX;
        loop {
            // Control, address and data are adjacent: one read for all.
            let all: [u8; 14] = self.registers.get(self.target, SII_CONTROL)?;
            let status = u16::from_le_bytes([all[0], all[1]]);
            if status & bits::BUSY == 0 {
                let mut data = [0; 8];
                data.copy_from_slice(&all[6..]);
                return Ok((status, data));
            }
            if self.registers.exchange().now() >= end {
                return Err(SiiAccessError::Busy);
            }
            self.registers.exchange().pause(Duration::from_micros(20));
        }
    }
}

fn refusal(word: u32, status: u16) -> Result<(), SiiAccessError> {
    if status & (bits::NOT_ENABLED | bits::NOT_ACKNOWLEDGED | bits::CHECKSUM) == 0 {
        return Ok(());
    }
    Err(SiiAccessError::Refused { word, status })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::main_device::exchange::BlockingExchange;
    use crate::main_device::link::Link;
    use crate::sim::WirePort;
    use crate::sim::humanoid::humanoid;
    use crate::wire::Position;

    const TARGET: Target = Target::At(Position(0));

    fn with_a_device(work: impl FnOnce(&mut Registers<'_>)) {
        let mut link = Link::new(WirePort::new(humanoid(1).build().unwrap()), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        work(&mut Registers::by(&mut exchange));
    }

    #[test]
    fn a_memory_becomes_what_it_is_to_be_and_its_head_last() {
        with_a_device(|registers| {
            let mut sii = Sii::of(registers, TARGET).unwrap();
            let mut image = vec![0; 512];
            sii.read(0, &mut image).unwrap();
            for byte in [8, 14, 0x1C, 300, 301, 511] {
                image[byte] ^= 0x5A;
            }
            let differences = sii.differences(&image).unwrap();
            let words: Vec<u32> = differences.iter().map(|it| it.word).collect();
            assert_eq!(words, [14, 150, 255, 4, 7]);
            for it in differences {
                sii.write(it.word, it.wanted).unwrap();
            }
            assert_eq!(sii.differences(&image).unwrap(), []);
        });
    }

    #[test]
    fn what_the_application_had_it_gets_back() {
        with_a_device(|registers| {
            for had in [0, 1] {
                registers.write(TARGET, SII_CONFIGURATION, &[had]).unwrap();
                let sii = Sii::borrow(registers, TARGET).unwrap();
                sii.give_back().unwrap();
                let [has] = registers.get(TARGET, SII_CONFIGURATION).unwrap();
                assert_eq!(has, had);
            }
        });
    }

    #[test]
    fn a_word_beyond_the_memory_is_refused_and_named() {
        with_a_device(|registers| {
            let mut sii = Sii::of(registers, TARGET).unwrap();
            let error = sii.write(0x10_0000, 1).unwrap_err();
            assert!(
                matches!(error, SiiAccessError::Refused { word: 0x10_0000, status } if status & bits::NOT_ACKNOWLEDGED != 0),
                "{error}"
            );
        });
    }
}
