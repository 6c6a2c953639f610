//! The layout of process data: the place of each SubDevice's data in the process image, in the logical
//! memory, and its frame.
//!
//! A frame carries the outputs of its SubDevices and then their inputs. A SubDevice is never split over
//! two frames, so the expected working counter of a frame is known.

use std::ops::Range;

use crate::wire::{DATAGRAM_OVERHEAD, Logical, MAX_FRAME};

/// Bytes of process data that a SubDevice has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Demand {
    /// Outputs, from the MainDevice.
    pub outputs: u16,
    /// Inputs, to the MainDevice.
    pub inputs: u16,
}

/// The place of a SubDevice's process data; by default at the beginning of all images, in no frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Share {
    /// The frame that carries it; `None` for a SubDevice without process data.
    pub frame: Option<usize>,
    /// Its outputs in the image of all outputs.
    pub outputs: Range<usize>,
    /// Its inputs in the image of all inputs.
    pub inputs: Range<usize>,
    /// The logical address of its outputs.
    pub logical_outputs: Logical,
    /// The logical address of its inputs.
    pub logical_inputs: Logical,
}

impl Share {
    /// Its share of the working counter of its frame.
    #[must_use]
    pub(crate) fn expected(&self) -> u16 {
        counted(!self.outputs.is_empty(), !self.inputs.is_empty())
    }
}

/// The process data of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramePlan {
    /// Its first logical address.
    pub logical: Logical,
    /// Its part of the image of all outputs, at its start.
    pub outputs: Range<usize>,
    /// Its part of the image of all inputs, behind the outputs.
    pub inputs: Range<usize>,
    /// The working counter of its LRW when every SubDevice takes part: one for each that is read, two
    /// for each that is written (ETG.1000.4, working counter of LRW).
    pub expected: u16,
}

impl FramePlan {
    /// Bytes of its data.
    #[must_use]
    pub(crate) fn length(&self) -> usize {
        self.outputs.len() + self.inputs.len()
    }
}

/// The layout of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The share of each SubDevice, in their order.
    pub shares: Vec<Share>,
    /// The process data of each frame of a cycle.
    pub frames: Vec<FramePlan>,
    /// Bytes of all outputs.
    pub outputs: usize,
    /// Bytes of all inputs.
    pub inputs: usize,
}

/// A SubDevice has more process data than a frame can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "SubDevice {device} has {bytes} bytes of process data, a frame carries {most}; map fewer objects"
)]
pub struct LayoutError {
    /// The position of the SubDevice.
    pub device: usize,
    /// Its bytes, outputs and inputs.
    pub bytes: usize,
    /// Bytes that a frame carries.
    pub most: usize,
}

/// Bytes of process data that a frame carries beside datagrams of `besides` bytes with their overhead.
#[must_use]
pub const fn room(besides: usize) -> usize {
    MAX_FRAME - 16 - DATAGRAM_OVERHEAD - besides
}

impl Layout {
    /// Lays out process data; `room` bytes fit into each frame.
    ///
    /// # Errors
    /// [`LayoutError`] when one SubDevice does not fit into a frame.
    pub fn of(demands: &[Demand], room: usize) -> Result<Self, LayoutError> {
        let mut layout = Self {
            shares: Vec::new(),
            frames: Vec::new(),
            outputs: 0,
            inputs: 0,
        };
        let mut logical = 0;
        for group in groups(demands, room)? {
            logical += layout.add_frame(&demands[group], logical);
        }
        Ok(layout)
    }

    /// Adds the SubDevices of one frame, its logical memory from `logical` on; returns its number of
    /// bytes.
    fn add_frame(&mut self, demands: &[Demand], logical: u32) -> u32 {
        let outputs: usize = demands.iter().map(|it| usize::from(it.outputs)).sum();
        let inputs: usize = demands.iter().map(|it| usize::from(it.inputs)).sum();
        let plan = FramePlan {
            logical: Logical(logical),
            outputs: self.outputs..self.outputs + outputs,
            inputs: self.inputs..self.inputs + inputs,
            expected: demands.iter().copied().map(expected).sum(),
        };
        let frame = self.frames.len();
        let (mut out, mut into) = (plan.outputs.start, plan.inputs.start);
        for demand in demands {
            let (more, less) = (usize::from(demand.outputs), usize::from(demand.inputs));
            let behind = (out - plan.outputs.start) as u32;
            let ahead = (outputs + into - plan.inputs.start) as u32;
            self.shares.push(Share {
                frame: (more + less > 0).then_some(frame),
                outputs: out..out + more,
                inputs: into..into + less,
                logical_outputs: Logical(logical + behind),
                logical_inputs: Logical(logical + ahead),
            });
            (out, into) = (out + more, into + less);
        }
        (self.outputs, self.inputs) = (out, into);
        let length = plan.length() as u32;
        if length > 0 {
            self.frames.push(plan);
        }
        length
    }
}

/// A SubDevice's share of the working counter of an LRW.
fn expected(demand: Demand) -> u16 {
    counted(demand.outputs > 0, demand.inputs > 0)
}

fn counted(has_outputs: bool, has_inputs: bool) -> u16 {
    u16::from(has_inputs) + 2 * u16::from(has_outputs)
}

/// Groups of SubDevices that share a frame: as many in a row as fit.
fn groups(demands: &[Demand], room: usize) -> Result<Vec<Range<usize>>, LayoutError> {
    let mut groups = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (device, demand) in demands.iter().enumerate() {
        let bytes = usize::from(demand.outputs) + usize::from(demand.inputs);
        if bytes > room {
            return Err(LayoutError {
                device,
                bytes,
                most: room,
            });
        }
        if used + bytes > room {
            groups.push(start..device);
            (start, used) = (device, 0);
        }
        used += bytes;
    }
    groups.push(start..demands.len());
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn demand(outputs: u16, inputs: u16) -> Demand {
        Demand { outputs, inputs }
    }

    #[test]
    fn outputs_come_first_and_couplers_have_none() {
        let layout = Layout::of(
            &[demand(0, 0), demand(6, 8), demand(0, 2), demand(1, 0)],
            100,
        )
        .unwrap();
        assert_eq!(
            (layout.outputs, layout.inputs, layout.frames.len()),
            (7, 10, 1)
        );
        let frame = &layout.frames[0];
        assert_eq!((frame.length(), frame.expected), (17, 3 + 1 + 2));
        assert_eq!(layout.shares[0].frame, None);
        assert_eq!(layout.shares[1].logical_inputs, Logical(7));
        assert_eq!(layout.shares[2].logical_inputs, Logical(15));
        assert_eq!(layout.shares[3].logical_outputs, Logical(6));
    }

    #[test]
    fn a_device_that_fits_into_no_frame_is_an_error() {
        let error = Layout::of(&[demand(0, 0), demand(60, 41)], 100).unwrap_err();
        assert_eq!(
            error,
            LayoutError {
                device: 1,
                bytes: 101,
                most: 100
            }
        );
    }

    #[test]
    fn the_humanoid_needs_one_frame() {
        let devices = vec![demand(6, 6); 59];
        assert_eq!(Layout::of(&devices, room(34)).unwrap().frames.len(), 1);
        assert_eq!(Layout::of(&[], room(34)).unwrap().frames.len(), 0);
    }

    proptest! {
        #[test]
        fn nothing_overlaps_and_every_frame_holds_its_own(
            demands in prop::collection::vec((0_u16..40, 0_u16..40), 0..80), room in 80_usize..400
        ) {
            let demands: Vec<_> = demands.into_iter().map(|(outputs, inputs)| demand(outputs, inputs)).collect();
            let layout = Layout::of(&demands, room).unwrap();
            prop_assert_eq!(layout.shares.len(), demands.len());
            let mut logical = std::collections::BTreeSet::new();
            for (share, demand) in layout.shares.iter().zip(&demands) {
                prop_assert_eq!(share.outputs.len(), usize::from(demand.outputs));
                prop_assert_eq!(share.inputs.len(), usize::from(demand.inputs));
                let Some(frame) = share.frame else { continue };
                let plan = &layout.frames[frame];
                prop_assert!(plan.length() <= room);
                let own = plan.logical.0..plan.logical.0 + plan.length() as u32;
                for (start, length) in [(share.logical_outputs.0, demand.outputs), (share.logical_inputs.0, demand.inputs)] {
                    for byte in start..start + u32::from(length) {
                        prop_assert!(own.contains(&byte) && logical.insert(byte));
                    }
                }
            }
            let total: u16 = layout.frames.iter().map(|it| it.expected).sum();
            prop_assert_eq!(total, layout.shares.iter().map(Share::expected).sum::<u16>());
            prop_assert_eq!(total, demands.iter().copied().map(expected).sum::<u16>());
        }
    }
}
