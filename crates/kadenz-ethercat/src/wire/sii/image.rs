//! Reads an image in place; copies nothing, allocates nothing.

use super::{
    Area, ClockMode, Direction, FIXED, Fixed, FmmuUse, General, Identity, Mailboxes, PdoHeader,
    Protocols, SiiError, SiiPdoEntry, SyncManagerDefault, SyncManagerUse, category, checksum, word,
};

/// A SubDevice's memory. Every part may be missing or damaged, and then reads as `None`.
///
/// ```
/// use kadenz_ethercat::wire::sii::{Fixed, General, Identity, Image, ImageWriter};
///
/// let identity = Identity { vendor: 2, product: 0x044C_2C52, revision: 0x0012_0000, serial: 0 };
/// let mut bytes = [0; 256];
/// let mut writer = ImageWriter::new(&mut bytes, &Fixed { identity, ..Fixed::default() })?;
/// writer.strings(&[b"EK1100".as_slice()], 0)?;
/// writer.general(&General { order: 1, name: 1, ..General::default() })?;
/// writer.finish()?;
///
/// let image = Image::of(&bytes)?;
/// assert_eq!(image.fixed().identity, identity);
/// assert_eq!(image.name().map(|name| name.to_string()).as_deref(), Some("EK1100"));
/// # Ok::<(), kadenz_ethercat::wire::sii::SiiError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Image<'a> {
    bytes: &'a [u8],
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

impl<'a> Image<'a> {
    /// Reads bytes from word 0 on.
    ///
    /// # Errors
    /// [`SiiError::CutShort`] where the fixed part is incomplete.
    pub fn of(bytes: &'a [u8]) -> Result<Self, SiiError> {
        if bytes.len() < FIXED {
            return Err(SiiError::CutShort { have: bytes.len() });
        }
        Ok(Self { bytes })
    }

    fn word(&self, address: u16) -> u16 {
        u16_at(self.bytes, usize::from(address) * 2)
    }

    fn double(&self, address: u16) -> u32 {
        u32_at(self.bytes, usize::from(address) * 2)
    }

    fn mailboxes(&self, first: u16) -> Mailboxes {
        let area = |at| Area {
            start: self.word(at),
            size: self.word(at + 1),
        };
        Mailboxes {
            receive: area(first),
            send: area(first + 2),
        }
    }

    /// The fields before the first category.
    #[must_use]
    pub fn fixed(&self) -> Fixed {
        Fixed {
            pdi: [0, 1, 2, 3].map(|at| self.word(at)),
            alias: self.word(word::ALIAS),
            pdi_more: [5, 6].map(|at| self.word(at)),
            identity: Identity {
                vendor: self.double(word::VENDOR),
                product: self.double(word::PRODUCT),
                revision: self.double(word::REVISION),
                serial: self.double(word::SERIAL),
            },
            delays: [0x10, 0x11, 0x12, 0x13].map(|at| self.word(at)),
            boot_mailboxes: self.mailboxes(word::BOOT_MAILBOX),
            mailboxes: self.mailboxes(word::MAILBOX),
            protocols: Protocols(self.word(word::PROTOCOLS)),
            size: self.word(word::SIZE),
            version: self.word(word::VERSION),
        }
    }

    /// Whether the checksum over the first words holds. Controllers ignore the alias where it does not.
    #[must_use]
    pub fn checksum_holds(&self) -> bool {
        self.bytes
            .first_chunk()
            .is_some_and(|first| checksum(first) == self.bytes[14])
    }

    /// The categories in their order, up to the end or to the first that is damaged.
    #[must_use]
    pub fn categories(&self) -> Categories<'a> {
        Categories {
            rest: Some(&self.bytes[FIXED..]),
            word: super::FIRST_CATEGORY,
        }
    }

    /// Data of the first category with that number.
    #[must_use]
    pub fn category(&self, number: u16) -> Option<&'a [u8]> {
        self.categories()
            .flatten()
            .find(|it| it.number == number)
            .map(|it| it.data)
    }

    /// The texts of category 10, in their order.
    #[must_use]
    pub fn strings(&self) -> Strings<'a> {
        let data = self.category(category::STRINGS).unwrap_or_default();
        let (count, rest) = data.split_first().unwrap_or((&0, &[]));
        Strings { left: *count, rest }
    }

    /// The text with that number, from 1; 0 stands for no text.
    #[must_use]
    pub fn string(&self, number: u8) -> Option<Text<'a>> {
        self.strings().nth(usize::from(number.checked_sub(1)?))
    }

    /// The general properties, category 30; `None` where it is missing or too short.
    #[must_use]
    pub fn general(&self) -> Option<General> {
        let data = self.category(category::GENERAL)?.get(..18)?;
        Some(General {
            group: data[0],
            image: data[1],
            order: data[2],
            name: data[3],
            reserved: data[4],
            coe: data[5],
            foe: data[6],
            eoe: data[7],
            flags: data[11],
            ebus_milliamperes: u16_at(data, 12).cast_signed(),
            group_again: u16_at(data, 14),
            ports: u16_at(data, 16),
        })
    }

    /// The name: the order's, or else the long one.
    #[must_use]
    pub fn name(&self) -> Option<Text<'a>> {
        let general = self.general()?;
        self.string(general.order)
            .or_else(|| self.string(general.name))
    }

    /// The use of each FMMU.
    #[must_use]
    pub fn fmmus(&self) -> Fmmus<'a> {
        Fmmus(self.category(category::FMMU).unwrap_or_default().iter())
    }

    /// The settings of each SyncManager.
    #[must_use]
    pub fn sync_managers(&self) -> Records<'a, SyncManagerDefault> {
        let data = self.category(category::SYNC_MANAGER).unwrap_or_default();
        Records::new(data, 8, |it| SyncManagerDefault {
            area: Area {
                start: u16_at(it, 0),
                size: u16_at(it, 2),
            },
            control: it[4],
            status: it[5],
            enable: it[6],
            usage: SyncManagerUse::from_number(it[7]),
        })
    }

    /// The PDOs of a direction, of all its categories.
    #[must_use]
    pub fn pdos(&self, direction: Direction) -> Pdos<'a> {
        Pdos {
            categories: self.categories(),
            number: direction.category(),
            rest: &[],
        }
    }

    /// Operation modes of the distributed clocks.
    #[must_use]
    pub fn clock_modes(&self) -> Records<'a, ClockMode> {
        let data = self.category(category::CLOCKS).unwrap_or_default();
        Records::new(data, 24, |it| ClockMode {
            cycle0_ns: u32_at(it, 0),
            shift0_ns: u32_at(it, 4).cast_signed(),
            shift1_ns: u32_at(it, 8).cast_signed(),
            factor1: u16_at(it, 12).cast_signed(),
            activate: u16_at(it, 14),
            factor0: u16_at(it, 16).cast_signed(),
            name: it[18],
            description: it[19],
        })
    }
}

/// A category of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Category<'a> {
    /// The number of the category, as in [`category`].
    pub number: u16,
    /// Word address of its number.
    pub word: u16,
    /// The bytes of the category, without number and length.
    pub data: &'a [u8],
}

/// Categories in their order. After an error nothing follows.
#[derive(Debug, Clone, Copy)]
pub struct Categories<'a> {
    rest: Option<&'a [u8]>,
    word: u16,
}

impl<'a> Iterator for Categories<'a> {
    type Item = Result<Category<'a>, SiiError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        // Images without an end mark exist; their last category ends with the memory.
        if rest.len() < 4 {
            return None;
        }
        let (number, word) = (u16_at(rest, 0), self.word);
        if number == category::END {
            return None;
        }
        let length = usize::from(u16_at(rest, 2)) * 2;
        let Some(data) = rest[4..].get(..length) else {
            return Some(Err(SiiError::Overrun { number, word }));
        };
        self.rest = Some(&rest[4 + length..]);
        self.word = word.wrapping_add((length / 2) as u16).wrapping_add(2);
        Some(Ok(Category { number, word, data }))
    }
}

/// A text of the memory. By the standard it is ASCII; other bytes are shown as Latin-1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text<'a>(pub &'a [u8]);

impl std::fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for byte in self.0.iter().take_while(|byte| **byte != 0) {
            let character = char::from(*byte);
            let shown = if character.is_control() {
                '\u{FFFD}'
            } else {
                character
            };
            std::fmt::Write::write_char(f, shown)?;
        }
        Ok(())
    }
}

/// Texts in their order; stops at the first that is cut short.
#[derive(Debug, Clone, Copy)]
pub struct Strings<'a> {
    left: u8,
    rest: &'a [u8],
}

impl<'a> Iterator for Strings<'a> {
    type Item = Text<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (length, rest) = self.rest.split_first()?;
        let text = rest.get(..usize::from(*length))?;
        self.rest = &rest[text.len()..];
        Some(Text(text))
    }
}

/// Uses of FMMUs in their order.
#[derive(Debug, Clone)]
pub struct Fmmus<'a>(std::slice::Iter<'a, u8>);

impl Iterator for Fmmus<'_> {
    type Item = FmmuUse;

    fn next(&mut self) -> Option<FmmuUse> {
        self.0.next().map(|number| FmmuUse::from_number(*number))
    }
}

/// Records of equal length; a last one that is cut short is left out.
#[derive(Debug, Clone)]
pub struct Records<'a, T> {
    chunks: std::slice::ChunksExact<'a, u8>,
    read: fn(&[u8]) -> T,
}

impl<'a, T> Records<'a, T> {
    fn new(data: &'a [u8], length: usize, read: fn(&[u8]) -> T) -> Self {
        Self {
            chunks: data.chunks_exact(length),
            read,
        }
    }
}

impl<T> Iterator for Records<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.chunks.next().map(self.read)
    }
}

/// Entries of a PDO in their order.
pub type Entries<'a> = Records<'a, SiiPdoEntry>;

/// A PDO with its entries.
#[derive(Debug, Clone)]
pub struct SiiPdo<'a> {
    /// The PDO's first eight bytes, before the entries.
    pub header: PdoHeader,
    /// The entries of the PDO, in their order.
    pub entries: Entries<'a>,
}

impl SiiPdo<'_> {
    /// Bits that all entries take.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.entries.clone().map(|it| u32::from(it.bits)).sum()
    }
}

/// PDOs in their order; stops at the first that is cut short.
#[derive(Debug, Clone)]
pub struct Pdos<'a> {
    categories: Categories<'a>,
    number: u16,
    rest: &'a [u8],
}

impl<'a> Pdos<'a> {
    fn read(&mut self) -> Option<SiiPdo<'a>> {
        let (head, behind) = self.rest.split_at_checked(8)?;
        let (entries, rest) = behind.split_at_checked(usize::from(head[2]) * 8)?;
        self.rest = rest;
        Some(SiiPdo {
            header: PdoHeader {
                index: u16_at(head, 0),
                sync_manager: head[3],
                synchronization: head[4],
                name: head[5],
                flags: u16_at(head, 6),
            },
            entries: Records::new(entries, 8, |it| SiiPdoEntry {
                index: u16_at(it, 0),
                sub: it[2],
                name: it[3],
                data_type: it[4],
                bits: it[5],
                flags: u16_at(it, 6),
            }),
        })
    }
}

impl<'a> Iterator for Pdos<'a> {
    type Item = SiiPdo<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(pdo) = self.read() {
                return Some(pdo);
            }
            let number = self.number;
            self.rest = self
                .categories
                .by_ref()
                .flatten()
                .find(|it| it.number == number)?
                .data;
        }
    }
}
