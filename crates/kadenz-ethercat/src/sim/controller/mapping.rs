//! FMMUs: the bits of a logical datagram that belong to this device.

use std::ops::Range;

use super::guard::Guards;
use super::memory::Memory;
use crate::description::Hardware;
use crate::wire::register::{FMMU, FMMU_SIZE};
use crate::wire::{Command, Fmmu, MAX_FRAME, copy_bits};

const MAX: usize = Hardware::MAX as usize;

/// Most bytes of a datagram's part here: its own, and one more where bits are shifted.
const SCRATCH: usize = MAX_FRAME + 2;

/// All FMMUs of a controller.
#[derive(Debug)]
pub(super) struct FmmuTable {
    /// Active FMMUs, in the order of their numbers.
    active: [Fmmu; MAX],
    used: usize,
    count: usize,
    /// From the first logical byte to behind the last.
    hull: Range<u64>,
}

/// The part of a logical datagram that an FMMU maps.
struct Part {
    /// First bit in the datagram's data, counted from its first byte.
    data_bit: usize,
    /// First bit in the memory, counted from `physical`.
    memory_bit: usize,
    /// First byte of the memory.
    physical: u32,
    bits: usize,
}

impl FmmuTable {
    pub(super) fn new(hardware: &Hardware) -> Self {
        Self {
            active: [Fmmu::default(); MAX],
            used: 0,
            count: usize::from(hardware.fmmus.min(Hardware::MAX)),
            hull: 0..0,
        }
    }

    pub(super) fn reset(&mut self) {
        self.used = 0;
        self.hull = 0..0;
    }

    /// The range of logical bytes that holds all of this device's; empty where it has none.
    pub(super) fn hull(&self) -> Range<u64> {
        self.hull.clone()
    }

    /// Applies a MainDevice's writes to the registers.
    pub(super) fn reload(&mut self, memory: &mut Memory) {
        self.used = 0;
        self.hull = 0..0;
        for number in 0..MAX {
            let at = FMMU + number as u16 * FMMU_SIZE;
            if number >= self.count {
                memory.set(at, &[0; FMMU_SIZE as usize]);
                continue;
            }
            let fmmu = Fmmu::from_bytes(memory.array(at));
            let inside = u32::from(fmmu.physical) + fmmu.physical_length() <= memory.end();
            if !fmmu.active || fmmu.bits() == 0 || !inside {
                continue;
            }
            let range = fmmu.logical_range();
            self.hull = if self.used == 0 {
                range
            } else {
                self.hull.start.min(range.start)..self.hull.end.max(range.end)
            };
            self.active[self.used] = fmmu;
            self.used += 1;
        }
    }

    /// Serves a logical datagram; returns the increment of its working counter.
    pub(super) fn serve(
        &self,
        command: Command,
        logical: u32,
        data: &mut [u8],
        memory: &mut Memory,
        guards: &mut Guards,
    ) -> u16 {
        let (mut written, mut read) = (false, false);
        // Writes take the bytes that came in: an overlapping FMMU must not read its own bytes back.
        if command.writes() {
            for fmmu in self.active[..self.used].iter().filter(|it| it.writes) {
                if let Some(part) = part_of(fmmu, logical, data.len()) {
                    written |= write(fmmu, &part, data, memory, guards);
                }
            }
        }
        if command.reads() {
            for fmmu in self.active[..self.used].iter().filter(|it| it.reads) {
                if let Some(part) = part_of(fmmu, logical, data.len()) {
                    read |= self::read(fmmu, &part, data, memory, guards);
                }
            }
        }
        let writes_weigh = if command == Command::Lrw { 2 } else { 1 };
        u16::from(read) + if written { writes_weigh } else { 0 }
    }
}

/// The part of a datagram of `length` bytes from `logical` on that an FMMU maps.
fn part_of(fmmu: &Fmmu, logical: u32, length: usize) -> Option<Part> {
    let start = u64::from(logical);
    let mapped = fmmu.logical_range();
    if mapped.end <= start || mapped.start >= start + length as u64 {
        return None;
    }
    let mapped_bit = mapped.start * 8 + u64::from(fmmu.first_bit);
    let first = mapped_bit.max(start * 8);
    let last = (mapped_bit + u64::from(fmmu.bits())).min((start + length as u64) * 8);
    let bits = last.checked_sub(first).filter(|it| *it > 0)? as usize;
    let memory_bit = (first - mapped_bit) as usize + usize::from(fmmu.physical_bit);
    Some(Part {
        data_bit: (first - start * 8) as usize,
        physical: u32::from(fmmu.physical) + memory_bit as u32 / 8,
        memory_bit: memory_bit % 8,
        bits,
    })
}

impl Part {
    fn data_bytes(&self) -> Range<usize> {
        self.data_bit / 8..(self.data_bit + self.bits) / 8
    }

    fn memory_length(&self) -> usize {
        (self.memory_bit + self.bits).div_ceil(8)
    }
}

fn write(fmmu: &Fmmu, part: &Part, data: &[u8], memory: &mut Memory, guards: &mut Guards) -> bool {
    if fmmu.whole_bytes() {
        return guards.write(memory, part.physical, &data[part.data_bytes()]);
    }
    let mut scratch = [0; SCRATCH];
    let Some(bytes) = scratch.get_mut(..part.memory_length()) else {
        return false;
    };
    bytes.copy_from_slice(memory.at(part.physical, bytes.len()));
    copy_bits(data, part.data_bit, bytes, part.memory_bit, part.bits);
    guards.write(memory, part.physical, bytes)
}

fn read(
    fmmu: &Fmmu,
    part: &Part,
    data: &mut [u8],
    memory: &mut Memory,
    guards: &mut Guards,
) -> bool {
    if fmmu.whole_bytes() {
        return guards.read(memory, part.physical, &mut data[part.data_bytes()], false);
    }
    let mut scratch = [0; SCRATCH];
    let Some(bytes) = scratch.get_mut(..part.memory_length()) else {
        return false;
    };
    let granted = guards.read(memory, part.physical, bytes, false);
    if granted {
        copy_bits(bytes, part.memory_bit, data, part.data_bit, part.bits);
    }
    granted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a model that handles every bit alone.
        #[test]
        fn each_bit_is_found_where_the_registers_say(
            offset in 0_u32..12, length in 1_u16..6, first_bit in 0_u8..8, last_bit in 0_u8..8,
            physical_bit in 0_u8..8, data in prop::collection::vec(any::<u8>(), 1..16),
        ) {
            let fmmu = Fmmu { first_bit, last_bit, physical_bit, ..Fmmu::bytes(offset, length, 0x1000) }
                .reading()
                .writing();
            let hardware = Hardware::et1100();
            let (mut memory, mut guards) = (Memory::new(8), Guards::new(&hardware));
            let mut mapping = FmmuTable::new(&hardware);
            memory.set(FMMU, &fmmu.to_bytes());
            mapping.reload(&mut memory);

            let mut sent = data.clone();
            let count = mapping.serve(Command::Lwr, 4, &mut sent, &mut memory, &mut guards);
            prop_assert_eq!(&sent, &data, "a write leaves the datagram as it is");

            let mut expected = [0_u8; 8];
            let mut hit = false;
            for bit in 0..fmmu.bits() {
                let logical = offset * 8 + u32::from(first_bit) + bit;
                let Some(index) = logical.checked_sub(32).map(|it| it as usize) else { continue };
                if index >= data.len() * 8 {
                    continue;
                }
                hit = true;
                let target = usize::from(physical_bit) + bit as usize;
                expected[target / 8] |= (data[index / 8] >> (index % 8) & 1) << (target % 8);
            }
            prop_assert_eq!(memory.at(0x1000, 8), &expected[..]);
            prop_assert_eq!(count, u16::from(hit));

            let mut back = data.iter().map(|it| !it).collect::<Vec<_>>();
            mapping.serve(Command::Lrd, 4, &mut back, &mut memory, &mut guards);
            for (index, (back, data)) in back.iter().zip(&data).enumerate() {
                for bit in 0..8 {
                    let logical = (4 + index as u32) * 8 + bit;
                    let start = offset * 8 + u32::from(first_bit);
                    let mapped = (start..start + fmmu.bits()).contains(&logical);
                    prop_assert_eq!((back ^ data) >> bit & 1 == 0, mapped, "bit {}", logical);
                }
            }
        }
    }

    #[test]
    fn a_device_counts_once_however_many_fmmus_it_has() {
        let hardware = Hardware::et1100();
        let (mut memory, mut guards) = (Memory::new(8), Guards::new(&hardware));
        let mut mapping = FmmuTable::new(&hardware);
        for (number, fmmu) in [
            Fmmu::bytes(0, 1, 0x1000).writing(),
            Fmmu::bytes(1, 1, 0x1001).writing(),
            Fmmu::bytes(0, 2, 0x1100).reading(),
        ]
        .iter()
        .enumerate()
        {
            memory.set(FMMU + number as u16 * FMMU_SIZE, &fmmu.to_bytes());
        }
        mapping.reload(&mut memory);
        assert_eq!(mapping.hull(), 0..2);
        memory.at_mut(0x1100, 2).copy_from_slice(&[0xAA, 0xBB]);
        let mut data = [1, 2];
        assert_eq!(
            mapping.serve(Command::Lrw, 0, &mut data, &mut memory, &mut guards),
            3
        );
        assert_eq!(data, [0xAA, 0xBB]);
        assert_eq!(memory.at(0x1000, 2), [1, 2]);
    }
}
