//! The SII: a memory behind the controller, which the MainDevice reaches slowly through four registers.

use super::DeviceSettings;
use super::memory::Memory;
use crate::sim::Time;
use crate::wire::register::{
    self, SII_ADDRESS, SII_CONFIGURATION, SII_CONTROL, SII_DATA, sii_control as bits,
};
use crate::wire::sii::checksum;

/// Bytes of the largest memory with one address byte on its bus: 16 KiBit.
const ONE_ADDRESS_BYTE: usize = 2_048;

/// The SII's memory and its state.
#[derive(Debug)]
pub(super) struct SiiMemory {
    image: Vec<u8>,
    reads_eight: bool,
    read_ns: u64,
    write_ns: u64,
    store_ns: u64,
    /// Until when the controller is busy.
    done: Time,
    /// Until when the memory stores the last written word, and acknowledges nothing.
    stored: Time,
    sound: bool,
}

impl SiiMemory {
    pub(super) fn new(mut image: Vec<u8>, reads_eight: bool, settings: &DeviceSettings) -> Self {
        image.truncate(512 * 1024);
        Self {
            image,
            reads_eight,
            read_ns: settings.sii_read_ns,
            write_ns: settings.sii_write_ns,
            store_ns: settings.sii_store_ns,
            done: Time::NEVER,
            stored: Time::ZERO,
            sound: false,
        }
    }

    /// The memory's bytes.
    pub(super) fn image(&self) -> &[u8] {
        &self.image
    }

    /// The same, for changes by a user.
    pub(super) fn image_mut(&mut self) -> &mut Vec<u8> {
        &mut self.image
    }

    /// Whether the checksum was right at the last load.
    pub(super) fn sound(&self) -> bool {
        self.sound
    }

    fn word(&self, at: usize) -> u16 {
        let byte = |at| self.image.get(at).copied().unwrap_or(0xFF);
        u16::from_le_bytes([byte(2 * at), byte(2 * at + 1)])
    }

    /// Loads the controller's own settings, as at power on: the kind of the process data interface, the alias.
    pub(super) fn load(&mut self, memory: &mut Memory) {
        self.reload(memory);
        if self.sound {
            memory.set_u16(register::STATION_ALIAS, self.word(4));
        }
    }

    /// Loads the same settings again on a MainDevice's command, except for the alias, which takes effect at the next
    /// power on (Beckhoff's ESC data sheet, section I, chapter 11.1).
    fn reload(&mut self, memory: &mut Memory) {
        let head = self.image.first_chunk();
        self.sound = head.is_some_and(|it| checksum(it) == self.word(7) as u8);
        if self.sound {
            memory.set_u16(register::PDI_CONTROL, self.word(0));
            memory.set_u16(register::PDI_CONFIGURATION, self.word(1));
            memory.set_u16(register::DC_PULSE, self.word(2));
            memory.set_u16(register::PDI_CONFIGURATION_MORE, self.word(3));
        }
        self.show(memory, 0);
    }

    fn show(&self, memory: &mut Memory, more: u16) {
        let mut kind = 0;
        if self.image.len() > ONE_ADDRESS_BYTE {
            kind |= bits::TWO_ADDRESS_BYTES;
        }
        if self.reads_eight {
            kind |= bits::EIGHT_BYTES;
        }
        let errors = if self.sound {
            0
        } else {
            bits::CHECKSUM | bits::NOT_LOADED
        };
        memory.set_u16(SII_CONTROL, kind | errors | more);
    }

    pub(super) fn reset(&mut self) {
        self.done = Time::NEVER;
    }

    /// When it is ready again; [`Time::NEVER`] where it is ready.
    pub(super) fn due(&self) -> Time {
        self.done
    }

    pub(super) fn advance(&mut self, memory: &mut Memory, now: Time) {
        if now >= self.done {
            self.done = Time::NEVER;
            let control = memory.u16(SII_CONTROL);
            memory.set_u16(SII_CONTROL, control & !(bits::BUSY | bits::COMMAND));
        }
    }

    /// Whether a MainDevice may write the control register and those behind it: it owns the SII, which is not busy.
    pub(super) fn accessible(&self, memory: &Memory) -> bool {
        let ours =
            memory.u8(SII_CONFIGURATION) & 1 == 0 && memory.u8(SII_CONFIGURATION + 1) & 1 == 0;
        ours && self.done == Time::NEVER
    }

    /// Executes a MainDevice's write of the control register, and perhaps of address and data with it. The registers
    /// hold the written values.
    pub(super) fn obey(&mut self, memory: &mut Memory, now: Time) {
        let wrote = memory.u16(SII_CONTROL);
        let at = memory.u32(SII_ADDRESS) as usize;
        let inside = at < self.image.len() / 2;
        let command = wrote & bits::COMMAND;
        let span = match command {
            0 => return self.show(memory, 0),
            bits::WRITE if wrote & bits::WRITE_ENABLE == 0 => {
                return self.show(memory, command | bits::NOT_ENABLED);
            }
            // The memory does not acknowledge on its own bus; the command ends visibly.
            _ if now < self.stored || !inside => return self.show(memory, bits::NOT_ACKNOWLEDGED),
            bits::READ => {
                self.read(memory, at);
                self.read_ns
            }
            bits::WRITE => {
                self.image[2 * at..2 * at + 2].copy_from_slice(&memory.array::<2>(SII_DATA));
                self.stored = now.after(self.store_ns);
                self.write_ns
            }
            bits::RELOAD => {
                self.reload(memory);
                self.read_ns
            }
            _ => return self.show(memory, bits::NOT_ACKNOWLEDGED),
        };
        if span == 0 {
            return self.show(memory, 0);
        }
        // The command is visible while it lasts.
        self.show(memory, command | bits::BUSY);
        self.done = now.after(span);
    }

    fn read(&self, memory: &mut Memory, at: usize) {
        let words = if self.reads_eight { 4 } else { 2 };
        for word in 0..words {
            memory.set_u16(SII_DATA + 2 * word, self.word(at + usize::from(word)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sii(image: Vec<u8>) -> (SiiMemory, Memory) {
        let (mut sii, mut memory) = (
            SiiMemory::new(image, true, &DeviceSettings::default()),
            Memory::new(1),
        );
        sii.load(&mut memory);
        (sii, memory)
    }

    /// An SII with an alias and a vendor.
    fn image() -> Vec<u8> {
        let mut image = vec![0; 128];
        image[8..10].copy_from_slice(&0x1234_u16.to_le_bytes());
        let head = image.first_chunk().unwrap();
        image[14] = checksum(head);
        image[16..20].copy_from_slice(&2_u32.to_le_bytes());
        image
    }

    fn order(sii: &mut SiiMemory, memory: &mut Memory, control: u16, at: u32) {
        memory.set_u16(SII_CONTROL, control);
        memory.set(SII_ADDRESS, &at.to_le_bytes());
        sii.obey(memory, Time::ZERO);
    }

    #[test]
    fn a_read_takes_its_time_and_gives_eight_bytes() {
        let (mut sii, mut memory) = sii(image());
        assert!(sii.accessible(&memory));
        order(&mut sii, &mut memory, bits::READ, 8);
        assert!(!sii.accessible(&memory));
        assert_ne!(memory.u16(SII_CONTROL) & bits::BUSY, 0);
        let done = sii.due();
        sii.advance(&mut memory, done);
        assert_eq!(memory.u16(SII_CONTROL) & (bits::BUSY | bits::COMMAND), 0);
        assert_eq!(memory.u64(SII_DATA), 2);
    }

    #[test]
    fn a_write_needs_its_permission_and_an_address_inside() {
        let (mut sii, mut memory) = sii(image());
        memory.set_u16(SII_DATA, 0xBEEF);
        order(&mut sii, &mut memory, bits::WRITE, 4);
        assert_ne!(memory.u16(SII_CONTROL) & bits::NOT_ENABLED, 0);
        assert_eq!(sii.word(4), 0x1234);
        order(&mut sii, &mut memory, bits::WRITE | bits::WRITE_ENABLE, 4);
        assert_eq!(sii.word(4), 0xBEEF);
        order(&mut sii, &mut memory, bits::READ, 64);
        assert_ne!(memory.u16(SII_CONTROL) & bits::NOT_ACKNOWLEDGED, 0);
    }

    #[test]
    fn a_new_alias_counts_from_the_next_power_on_and_not_from_a_reload() {
        let (mut sii, mut memory) = sii(image());
        let mut at = Time::ZERO;
        let mut head = image();
        head[8..10].copy_from_slice(&7_u16.to_le_bytes());
        let sum = u16::from(checksum(head.first_chunk().unwrap()));
        for (word, value) in [(4, 7), (7, sum)] {
            memory.set_u16(SII_CONTROL, bits::WRITE | bits::WRITE_ENABLE);
            memory.set(SII_ADDRESS, &u32::to_le_bytes(word));
            memory.set_u16(SII_DATA, value);
            sii.obey(&mut memory, at);
            at = at.after(10_000_000);
            sii.advance(&mut memory, at);
        }
        memory.set_u16(SII_CONTROL, bits::RELOAD);
        sii.obey(&mut memory, at);
        assert_eq!(memory.u16(SII_CONTROL) & bits::CHECKSUM, 0);
        assert_eq!(memory.u16(register::STATION_ALIAS), 0x1234);
        sii.load(&mut memory);
        assert_eq!(memory.u16(register::STATION_ALIAS), 7);
    }

    #[test]
    fn the_alias_is_loaded_only_where_the_checksum_is_right() {
        let (_, memory) = sii(image());
        assert_eq!(memory.u16(register::STATION_ALIAS), 0x1234);
        let mut spoiled = image();
        spoiled[9] ^= 1;
        let (_, memory) = sii(spoiled);
        assert_eq!(memory.u16(register::STATION_ALIAS), 0);
        assert_ne!(memory.u16(SII_CONTROL) & bits::CHECKSUM, 0);
    }
}
