//! Writes an image into the caller's buffer; allocates nothing.

use super::{
    CHECKED, ClockMode, Direction, FIXED, Fixed, FmmuUse, General, Mailboxes, PdoHeader, SiiError,
    SiiPdoEntry, SyncManagerDefault, category, checksum, word,
};

/// Writes an image, category after category. [`Image`](super::Image) has an example.
#[derive(Debug)]
pub struct ImageWriter<'b> {
    buffer: &'b mut [u8],
    end: usize,
}

impl<'b> ImageWriter<'b> {
    /// Begins with the fixed part and its checksum. The buffer is the whole memory; bytes that are not written stay
    /// 0xFF, as in an erased memory.
    ///
    /// # Errors
    /// [`SiiError::NoRoom`] for a buffer below [`FIXED`].
    pub fn new(buffer: &'b mut [u8], fixed: &Fixed) -> Result<Self, SiiError> {
        if buffer.len() < FIXED {
            return Err(SiiError::NoRoom {
                need: FIXED,
                room: buffer.len(),
            });
        }
        buffer.fill(0xFF);
        buffer[..FIXED].fill(0);
        let mut writer = Self { buffer, end: FIXED };
        writer.fixed(fixed);
        Ok(writer)
    }

    fn words<const N: usize>(&mut self, address: u16, words: [u16; N]) {
        let start = usize::from(address) * 2;
        for (at, value) in (start..).step_by(2).zip(words) {
            self.buffer[at..at + 2].copy_from_slice(&value.to_le_bytes());
        }
    }

    fn doubles<const N: usize>(&mut self, address: u16, doubles: [u32; N]) {
        for (at, value) in (address..).step_by(2).zip(doubles) {
            self.words(at, [value as u16, (value >> 16) as u16]);
        }
    }

    fn fixed(&mut self, fixed: &Fixed) {
        let areas = |it: &Mailboxes| {
            [
                it.receive.start,
                it.receive.size,
                it.send.start,
                it.send.size,
            ]
        };
        let id = fixed.identity;
        self.words(word::PDI_CONTROL, fixed.pdi);
        self.words(word::ALIAS, [fixed.alias]);
        self.words(5, fixed.pdi_more);
        self.doubles(
            word::VENDOR,
            [id.vendor, id.product, id.revision, id.serial],
        );
        self.words(0x10, fixed.delays);
        self.words(word::BOOT_MAILBOX, areas(&fixed.boot_mailboxes));
        self.words(word::MAILBOX, areas(&fixed.mailboxes));
        self.words(word::PROTOCOLS, [fixed.protocols.0]);
        self.words(word::SIZE, [fixed.size, fixed.version]);
        let mut first = [0; CHECKED];
        first.copy_from_slice(&self.buffer[..CHECKED]);
        self.words(word::CHECKSUM, [u16::from(checksum(&first))]);
    }

    /// Writes a category's header, and `length` bytes of 0 as its data; 0xFF pads an odd length.
    fn room(&mut self, number: u16, length: usize) -> Result<&mut [u8], SiiError> {
        let words = length.div_ceil(2);
        let need = self.end + 4 + words * 2;
        let field = u16::try_from(words).map_err(|_| SiiError::NoRoom {
            need,
            room: usize::from(u16::MAX) * 2,
        })?;
        if need > self.buffer.len() {
            return Err(SiiError::NoRoom {
                need,
                room: self.buffer.len(),
            });
        }
        let category = &mut self.buffer[self.end..need];
        category[..2].copy_from_slice(&number.to_le_bytes());
        category[2..4].copy_from_slice(&field.to_le_bytes());
        category[4..4 + length].fill(0);
        category[4 + length..].fill(0xFF);
        self.end = need;
        Ok(&mut category[4..4 + length])
    }

    /// Writes a category of bytes.
    ///
    /// # Errors
    /// [`SiiError::NoRoom`].
    pub fn category(&mut self, number: u16, data: &[u8]) -> Result<(), SiiError> {
        self.room(number, data.len())?.copy_from_slice(data);
        Ok(())
    }

    /// Writes the texts, numbered from 1 in this order, in at least `least_words` words.
    ///
    /// # Errors
    /// [`SiiError::NoRoom`]; [`SiiError::TooMany`] for more than 255 texts or for a longer text.
    pub fn strings(
        &mut self,
        texts: &[impl AsRef<[u8]>],
        least_words: usize,
    ) -> Result<(), SiiError> {
        let too_many = SiiError::TooMany { what: "texts" };
        let count = u8::try_from(texts.len()).map_err(|_| too_many)?;
        let length = 1 + texts.iter().map(|it| 1 + it.as_ref().len()).sum::<usize>();
        if texts.iter().any(|it| it.as_ref().len() > 255) {
            return Err(too_many);
        }
        let data = self.room(category::STRINGS, length.max(least_words * 2))?;
        data[0] = count;
        let mut at = 1;
        for text in texts.iter().map(AsRef::as_ref) {
            data[at] = text.len() as u8;
            data[at + 1..=at + text.len()].copy_from_slice(text);
            at += 1 + text.len();
        }
        Ok(())
    }

    /// Writes category 30.
    ///
    /// # Errors
    /// [`SiiError::NoRoom`].
    pub fn general(&mut self, general: &General) -> Result<(), SiiError> {
        let data = self.room(category::GENERAL, 32)?;
        data[..8].copy_from_slice(&[
            general.group,
            general.image,
            general.order,
            general.name,
            general.reserved,
            general.coe,
            general.foe,
            general.eoe,
        ]);
        data[11] = general.flags;
        data[12..14].copy_from_slice(&general.ebus_milliamperes.to_le_bytes());
        data[14..16].copy_from_slice(&general.group_again.to_le_bytes());
        data[16..18].copy_from_slice(&general.ports.to_le_bytes());
        Ok(())
    }

    /// Writes the use of each FMMU.
    ///
    /// # Errors
    /// [`SiiError::NoRoom`].
    pub fn fmmus(&mut self, uses: &[FmmuUse]) -> Result<(), SiiError> {
        let data = self.room(category::FMMU, uses.len())?;
        for (byte, usage) in data.iter_mut().zip(uses) {
            *byte = usage.number();
        }
        Ok(())
    }

    /// Writes the settings of each SyncManager.
    ///
    /// # Errors
    /// [`SiiError::NoRoom`].
    pub fn sync_managers(&mut self, managers: &[SyncManagerDefault]) -> Result<(), SiiError> {
        let data = self.room(category::SYNC_MANAGER, managers.len() * 8)?;
        for (bytes, it) in data.chunks_exact_mut(8).zip(managers) {
            bytes[..2].copy_from_slice(&it.area.start.to_le_bytes());
            bytes[2..4].copy_from_slice(&it.area.size.to_le_bytes());
            bytes[4..].copy_from_slice(&[it.control, it.status, it.enable, it.usage.number()]);
        }
        Ok(())
    }

    /// Writes the PDOs of a direction with their entries.
    ///
    /// # Errors
    /// [`SiiError::NoRoom`]; [`SiiError::TooMany`] for a PDO of more than 255 entries.
    pub fn pdos(
        &mut self,
        direction: Direction,
        pdos: &[(PdoHeader, &[SiiPdoEntry])],
    ) -> Result<(), SiiError> {
        if pdos.iter().any(|(_, entries)| entries.len() > 255) {
            return Err(SiiError::TooMany {
                what: "entries of a PDO",
            });
        }
        let length = pdos.iter().map(|(_, entries)| 8 + entries.len() * 8).sum();
        let mut data = self.room(direction.category(), length)?;
        for (header, entries) in pdos {
            let (head, behind) = data.split_at_mut(8);
            let (body, rest) = behind.split_at_mut(entries.len() * 8);
            data = rest;
            head[..2].copy_from_slice(&header.index.to_le_bytes());
            head[2..6].copy_from_slice(&[
                entries.len() as u8,
                header.sync_manager,
                header.synchronization,
                header.name,
            ]);
            head[6..].copy_from_slice(&header.flags.to_le_bytes());
            for (bytes, it) in body.chunks_exact_mut(8).zip(*entries) {
                bytes[..2].copy_from_slice(&it.index.to_le_bytes());
                bytes[2..6].copy_from_slice(&[it.sub, it.name, it.data_type, it.bits]);
                bytes[6..].copy_from_slice(&it.flags.to_le_bytes());
            }
        }
        Ok(())
    }

    /// Writes the operation modes of the distributed clocks.
    ///
    /// # Errors
    /// [`SiiError::NoRoom`].
    pub fn clock_modes(&mut self, modes: &[ClockMode]) -> Result<(), SiiError> {
        let data = self.room(category::CLOCKS, modes.len() * 24)?;
        for (bytes, it) in data.chunks_exact_mut(24).zip(modes) {
            bytes[..4].copy_from_slice(&it.cycle0_ns.to_le_bytes());
            bytes[4..8].copy_from_slice(&it.shift0_ns.to_le_bytes());
            bytes[8..12].copy_from_slice(&it.shift1_ns.to_le_bytes());
            bytes[12..14].copy_from_slice(&it.factor1.to_le_bytes());
            bytes[14..16].copy_from_slice(&it.activate.to_le_bytes());
            bytes[16..18].copy_from_slice(&it.factor0.to_le_bytes());
            bytes[18..20].copy_from_slice(&[it.name, it.description]);
        }
        Ok(())
    }

    /// Writes the end mark; returns the number of bytes up to and with it.
    ///
    /// # Errors
    /// [`SiiError::NoRoom`] where the mark does not fit.
    pub fn finish(self) -> Result<usize, SiiError> {
        let need = self.end + 2;
        match self.buffer.get_mut(self.end..need) {
            Some(mark) => mark.fill(0xFF),
            None => {
                return Err(SiiError::NoRoom {
                    need,
                    room: self.buffer.len(),
                });
            }
        }
        Ok(need)
    }
}
