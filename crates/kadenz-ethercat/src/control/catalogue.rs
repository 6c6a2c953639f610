//! The layout of the process images that a running loop publishes, for readers that know nothing of the segment.
//!
//! A process image is an [`ImageHeader`](super::cyclic::ImageHeader), all inputs and all outputs. Each entry of the PDO
//! mapping has a name, a type, and its first bit counted from the beginning of the cycle image, so that a program in
//! any language finds it: `docs/ethercat-inputs.md`.

use serde::{Deserialize, Serialize};

use super::cyclic::{IMAGE_HEAD, image_bytes};
use crate::main_device::layout::Layout;
use crate::main_device::mapping::{
    MappedEntry, MappedManager, PlacedEntry, ProcessDataMap, placed,
};
use crate::value::bits_at;
use crate::wire::coe::{Address, DataType};
pub use crate::wire::sii::Direction;

/// Digital outputs of a CiA 402 drive: the one entry of a moved drive that its axis leaves alone, except for its
/// lowest bit, the brake.
const DIGITAL_OUTPUTS: u16 = 0x60FE;

/// An entry of the process data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Item {
    /// Its device's number, from 0, in the order in which devices were configured.
    pub device: usize,
    /// The name of the device, as people call it.
    pub device_name: String,
    /// The direction: inputs or outputs.
    #[serde(alias = "way")]
    pub direction: Direction,
    /// The SyncManager that carries it.
    #[serde(default)]
    pub manager: u8,
    /// The PDO that it is in.
    pub pdo: u16,
    /// The index of its object in the dictionary.
    pub index: u16,
    /// The sub-index of the entry in the object, from 0.
    pub sub: u8,
    /// Its name; empty where neither SII nor dictionary has one.
    pub name: String,
    /// CoE's number of its type (ETG.1000.6, table 64); 0 where it is unknown.
    pub data_type: u16,
    /// The length of the entry in bits.
    pub bits: u8,
    /// Its first bit, from the beginning of a process image.
    pub bit: usize,
    /// Its first bit in the segment's logical memory.
    #[serde(default)]
    pub logical_bit: u64,
    /// Whether an axis writes it, so that no other thread or process may.
    pub axis: bool,
}

/// The layout of a whole segment's images.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Catalogue {
    /// Bytes of a process image.
    pub bytes: usize,
    /// Where its inputs begin.
    pub inputs_at: usize,
    /// Bytes of all inputs.
    pub inputs: usize,
    /// Where its outputs begin.
    pub outputs_at: usize,
    /// Bytes of all outputs.
    pub outputs: usize,
    /// The entries, device by device; gaps are left out.
    pub entries: Vec<Item>,
}

impl Catalogue {
    /// The catalogue of a segment, from the names and mapping of its devices, in their order. `axes` are the
    /// numbers of devices that axes move. Allocates.
    #[must_use]
    pub fn of(layout: &Layout, devices: &[(String, Vec<MappedManager>)], axes: &[usize]) -> Self {
        let inputs_at = IMAGE_HEAD;
        let mut catalogue = Self {
            bytes: image_bytes(layout),
            inputs_at,
            inputs: layout.inputs,
            outputs_at: inputs_at + layout.inputs,
            outputs: layout.outputs,
            entries: Vec::new(),
        };
        for (device, ((name, managers), share)) in devices.iter().zip(&layout.shares).enumerate() {
            let moved = axes.contains(&device);
            let placed = placed(device, managers, share).into_iter();
            let items = placed.filter_map(|it| {
                let start = catalogue.start(it.direction) * 8;
                Item::of(it, name, start, moved)
            });
            let items: Vec<_> = items.collect();
            catalogue.entries.extend(items);
        }
        catalogue
    }

    /// The entries with their places in the images of all outputs and all inputs, as those of an opened segment.
    /// Allocates.
    #[must_use]
    pub fn process_data(&self) -> ProcessDataMap {
        let entries = self.entries.iter().map(|it| PlacedEntry {
            device: it.device,
            manager: it.manager,
            direction: it.direction,
            pdo: it.pdo,
            entry: MappedEntry {
                address: Some(Address::new(it.index, it.sub)),
                bits: it.bits,
                data_type: Some(DataType(it.data_type)),
                name: it.name.clone(),
            },
            bit: it.bit.saturating_sub(8 * self.start(it.direction)),
            logical_bit: it.logical_bit,
        });
        ProcessDataMap {
            outputs: self.outputs,
            inputs: self.inputs,
            frames: None,
            entries: entries.collect(),
        }
    }

    /// The byte of a process image at which the inputs or the outputs begin.
    const fn start(&self, direction: Direction) -> usize {
        match direction {
            Direction::Inputs => self.inputs_at,
            Direction::Outputs => self.outputs_at,
        }
    }

    /// Returns the output of that object.
    ///
    /// # Errors
    /// [`OutputError`]: there is none, it belongs to an axis, or the object is mapped several times.
    pub fn output(&self, device: usize, index: u16, sub: u8) -> Result<&Item, OutputError> {
        let mut found = self.entries.iter().filter(|it| {
            (it.device, it.direction, it.index, it.sub) == (device, Direction::Outputs, index, sub)
        });
        match (found.next(), found.next()) {
            (None, _) => Err(OutputError::None { device, index, sub }),
            (Some(_), Some(_)) => Err(OutputError::Several { device, index, sub }),
            (Some(item), None) if item.axis => Err(OutputError::Axis { device, index, sub }),
            (Some(item), None) => Ok(item),
        }
    }

    /// Whether the lowest bit of that output sets the brake of a drive that an axis moves, or reports the brake
    /// (CiA 402-2, 0x60FE): only the axis may set it, as another program would hold an axis that moves, or let
    /// one drop.
    #[must_use]
    pub fn has_brake(&self, item: &Item) -> bool {
        let is_moved = |it: &Item| it.device == item.device && it.axis;
        item.direction == Direction::Outputs
            && item.index == DIGITAL_OUTPUTS
            && self.entries.iter().any(is_moved)
    }
}

impl Item {
    /// Returns `None` for padding bits.
    fn of(it: PlacedEntry, name: &str, start: usize, moved: bool) -> Option<Self> {
        let address = it.entry.address?;
        Some(Self {
            device: it.device,
            device_name: name.to_owned(),
            direction: it.direction,
            manager: it.manager,
            pdo: it.pdo,
            index: address.index,
            sub: address.sub,
            name: it.entry.name,
            data_type: it.entry.data_type.map_or(0, |it| it.0),
            bits: it.entry.bits,
            bit: start + it.bit,
            logical_bit: it.logical_bit,
            axis: moved && it.direction == Direction::Outputs && address.index != DIGITAL_OUTPUTS,
        })
    }

    /// Returns its value in a process image: its bits, the lowest first, shifted to begin with a byte. Bits beyond the
    /// image are 0. Allocates.
    #[must_use]
    pub fn value(&self, image: &[u8]) -> Vec<u8> {
        bits_at(image, self.bit, self.bits.into())
    }
}

/// The reason why a program may not set an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// It is not in the process data.
    #[error(
        "{entry} of device {device} is not an output in its process data; `kadenz ethercat inputs --outputs` lists those that are",
        entry = Address::new(*index, *sub)
    )]
    None {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
        /// The index of the requested object.
        index: u16,
        /// The sub-index of the entry in the object, from 0.
        sub: u8,
    },
    /// It is there more than once.
    #[error(
        "{entry} is mapped more than once in the outputs of device {device}; map it once",
        entry = Address::new(*index, *sub)
    )]
    Several {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
        /// The index of the requested object.
        index: u16,
        /// The sub-index of the entry in the object, from 0.
        sub: u8,
    },
    /// An axis writes it every cycle.
    #[error(
        "{entry} of device {device} belongs to an axis, which writes it every cycle; leave the axis out of the motion file to set it by hand",
        entry = Address::new(*index, *sub)
    )]
    Axis {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
        /// The index of the requested object.
        index: u16,
        /// The sub-index of the entry in the object, from 0.
        sub: u8,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::main_device::bring_up::{find, prepare};
    use crate::main_device::exchange::{BlockingExchange, Registers};
    use crate::main_device::link::Link;
    use crate::main_device::mapping;
    use crate::sim::WirePort;
    use crate::sim::humanoid::humanoid;

    /// The humanoid's catalogue; its drives' axes are moved.
    fn humanoids() -> Catalogue {
        let mut link = Link::new(WirePort::new(humanoid(59).build().unwrap()), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        let mut registers = Registers::by(&mut exchange);
        let mut found = find(&mut registers).unwrap();
        let mapped: Vec<_> = found
            .iter_mut()
            .map(|it| {
                let name = it.name.clone();
                (name, mapping::read(&mut registers, it).unwrap())
            })
            .collect();
        let cycle = prepare(&mut registers, &mut found, None).unwrap();
        let drives: Vec<_> = (0..59).filter(|it| mapped[*it].0 == "KZ-Drive").collect();
        Catalogue::of(cycle.layout(), &mapped, &drives)
    }

    #[test]
    fn entries_fill_the_image_and_none_overlaps_another() {
        let all = humanoids();
        assert_eq!(all.bytes, all.outputs_at + all.outputs);
        let mut taken = vec![false; all.bytes * 8];
        for item in &all.entries {
            let (start, end) = match item.direction {
                Direction::Inputs => (all.inputs_at, all.outputs_at),
                Direction::Outputs => (all.outputs_at, all.bytes),
            };
            let bits = item.bit..item.bit + usize::from(item.bits);
            assert!(start * 8 <= bits.start && bits.end <= end * 8, "{item:?}");
            for bit in bits {
                assert!(!std::mem::replace(&mut taken[bit], true), "{item:?}");
            }
        }
        let position = all.entries.iter().find(|it| it.index == 0x6064).unwrap();
        assert!(
            !position.name.is_empty() && position.bits == 32,
            "{position:?}"
        );
    }

    #[test]
    fn an_axis_s_outputs_are_its_own() {
        let all = humanoids();
        let axis = all.entries.iter().find(|it| it.axis).unwrap();
        let refused = all.output(axis.device, axis.index, axis.sub).unwrap_err();
        assert!(
            refused.to_string().contains("belongs to an axis"),
            "{refused}"
        );
        assert!(!all.has_brake(axis), "it is refused as a whole");
        let mut digital = axis.clone();
        digital.index = DIGITAL_OUTPUTS;
        assert!(all.has_brake(&digital));
        let free = all
            .entries
            .iter()
            .find(|it| it.direction == Direction::Outputs && !it.axis);
        let free = free.unwrap();
        digital.device = free.device;
        assert!(!all.has_brake(&digital), "no axis moves that one");
        assert_eq!(all.output(free.device, free.index, free.sub), Ok(free));
        let input = all
            .entries
            .iter()
            .find(|it| it.direction == Direction::Inputs)
            .unwrap();
        let refused = all
            .output(input.device, input.index, input.sub)
            .unwrap_err();
        assert!(
            refused.to_string().contains("is not an output"),
            "{refused}"
        );
    }

    #[test]
    fn a_value_is_moved_to_begin_with_a_byte() {
        let mut item = humanoids().entries[0].clone();
        (item.bit, item.bits) = (5, 4);
        assert_eq!(item.value(&[0b1010_0000, 0b0000_0001]), [0b1101]);
        (item.bit, item.bits) = (4, 8);
        assert_eq!(item.value(&[0xFF]), [0x0F], "what is not there is 0");
    }
}
