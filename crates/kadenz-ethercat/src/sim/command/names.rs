use crate::port::Side;
use crate::sim::file::SegmentPlan;
use crate::sim::{CableId, DeviceId, End, Segment, is_same};

/// Devices by position and name, each with the cable towards the MainDevice.
#[derive(Debug, Clone, Default)]
pub struct SegmentNames {
    /// In the order of positions; devices that only the second interface reaches come last.
    devices: Vec<NamedDevice>,
    /// The cable at the second interface.
    ring: Option<CableId>,
}

#[derive(Debug, Clone)]
struct NamedDevice {
    name: String,
    id: DeviceId,
    cable: CableId,
}

impl SegmentNames {
    /// Returns the names of a segment in which every cable is whole; `ring` is whether its second interface is
    /// connected.
    #[must_use]
    pub fn of(plan: &SegmentPlan, segment: &mut Segment, ring: bool) -> Self {
        let mut positions = segment.positions(Side::Primary);
        let all = (0..segment.len()).map(|it| DeviceId(it as u16));
        let others: Vec<_> = all.filter(|it| !positions.contains(it)).collect();
        positions.extend(others);
        let named = |id: DeviceId| {
            Some(NamedDevice {
                name: plan.devices.get(usize::from(id.0))?.name.clone(),
                id,
                cable: segment.cable_at(End::Device(id, 0))?,
            })
        };
        Self {
            devices: positions.into_iter().filter_map(named).collect(),
            ring: segment
                .cable_at(End::Main(Side::Redundant))
                .filter(|_| ring),
        }
    }

    /// The cable before a device, or the one that closes the ring.
    pub(super) fn cable(&self, word: &str) -> Result<CableId, String> {
        match self.ring {
            Some(ring) if is_same(word, "ring") => Ok(ring),
            _ => self.device(word).map(|it| it.1),
        }
    }

    /// The device at a position, or of a name.
    pub(super) fn device(&self, word: &str) -> Result<(DeviceId, CableId), String> {
        let found = match word.parse::<usize>() {
            Ok(position) => self.devices.get(position),
            Err(_) => self.devices.iter().find(|it| is_same(&it.name, word)),
        };
        found.map(|it| (it.id, it.cable)).ok_or_else(|| {
            let last = self.devices.len().saturating_sub(1);
            format!("there is no device `{word}`; say a position from 0 to {last}, or a name: `devices` lists them")
        })
    }

    /// Lists the devices, a line each.
    #[must_use]
    pub fn list(&self) -> String {
        let lines = self.devices.iter().enumerate();
        let lines = lines.map(|(position, it)| format!("{position:>3}  {}", it.name));
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::humanoid::humanoid;

    #[test]
    fn capitals_make_no_other_name() {
        let mut plan = humanoid(5);
        "é".clone_into(&mut plan.devices[2].name);
        assert!(plan.close_ring());
        let names = SegmentNames::of(&plan, &mut plan.build().unwrap(), true);
        let small = names.device("é").unwrap();
        assert_eq!(names.device("É").unwrap(), small);
        let ring = names.cable("ring").unwrap();
        assert_eq!(names.cable("RING").unwrap(), ring);
        assert_ne!(ring, small.1);
    }
}
