//! Where each mapped object lies: its bits in the image of all outputs or all inputs, and its logical
//! address.

use super::layout::Share;
use super::mapping::{MappedEntry, MappedManager};
use crate::wire::sii::Direction;

/// An entry in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed<'m> {
    /// The SyncManager that carries it.
    pub manager: u8,
    /// Which way.
    pub direction: Direction,
    /// The PDO that it is in.
    pub pdo: u16,
    /// What it is.
    pub entry: &'m MappedEntry,
    /// Its first bit in the image of its direction.
    pub bit: usize,
    /// Its first bit in the logical memory.
    pub logical_bit: u64,
}

/// The entries of a device, one bit behind the other; each SyncManager begins with a byte of its own.
/// Allocates.
#[must_use]
pub fn placed<'m>(managers: &'m [MappedManager], share: &Share) -> Vec<Placed<'m>> {
    let mut placed = Vec::new();
    let mut outputs = (share.outputs.start, u64::from(share.logical_outputs.0));
    let mut inputs = (share.inputs.start, u64::from(share.logical_inputs.0));
    for manager in managers {
        let start = match manager.direction {
            Direction::Outputs => &mut outputs,
            Direction::Inputs => &mut inputs,
        };
        let mut bit = 0;
        for pdo in &manager.pdos {
            for entry in &pdo.entries {
                placed.push(Placed {
                    manager: manager.number,
                    direction: manager.direction,
                    pdo: pdo.index,
                    entry,
                    bit: start.0 * 8 + bit,
                    logical_bit: start.1 * 8 + bit as u64,
                });
                bit += usize::from(entry.bits);
            }
        }
        let bytes = bit.div_ceil(8);
        *start = (start.0 + bytes, start.1 + bytes as u64);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::main_device::mapping::MappedPdo;
    use crate::wire::Logical;

    fn manager(number: u8, direction: Direction, bits: &[u8]) -> MappedManager {
        let entry = |bits: &u8| MappedEntry {
            address: None,
            bits: *bits,
            data_type: None,
            name: String::new(),
        };
        MappedManager {
            number,
            direction,
            pdos: vec![MappedPdo {
                index: 0x1A00,
                name: String::new(),
                entries: bits.iter().map(entry).collect(),
            }],
        }
    }

    #[test]
    fn bits_follow_one_another_and_managers_begin_with_a_byte() {
        let managers = [
            manager(2, Direction::Outputs, &[16]),
            manager(3, Direction::Inputs, &[1, 2]),
            manager(4, Direction::Inputs, &[8]),
        ];
        let share = Share {
            frame: Some(0),
            outputs: 4..6,
            inputs: 10..12,
            logical_outputs: Logical(100),
            logical_inputs: Logical(200),
        };
        let all = placed(&managers, &share);
        let places: Vec<_> = all.iter().map(|it| (it.bit, it.logical_bit)).collect();
        assert_eq!(places, [(32, 800), (80, 1600), (81, 1601), (88, 1608)]);
    }
}
