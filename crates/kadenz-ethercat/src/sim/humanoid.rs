//! The robot of \[Yoon2009\]: 59 sensors and actuators on one segment.
//!
//! A coupler with outputs and analog inputs in the torso, a waist, two legs with a force sensor under each foot, two
//! arms with a force sensor at each wrist and five fingers of two joints, a head. \[Yoon2009\] does not describe
//! the parts in detail; the tree is Kadenz's.

use super::file::{Kind, MAX_DEVICES, Parent, PlannedDevice, SegmentPlan};
use super::model::drive::{Motor, Parameters};

/// Devices of the whole humanoid.
pub const WHOLE: usize = 59;
/// Seed of everything random.
const SEED: u64 = 59;

const LEG: [&str; 6] = [
    "hip yaw",
    "hip roll",
    "hip pitch",
    "knee",
    "ankle pitch",
    "ankle roll",
];
const ARM: [&str; 7] = [
    "shoulder pitch",
    "shoulder roll",
    "shoulder yaw",
    "elbow",
    "wrist yaw",
    "wrist pitch",
    "wrist roll",
];
const FINGERS: [&str; 5] = ["thumb", "index", "middle", "ring", "little"];

/// Collects devices, each behind another.
struct Builder {
    devices: Vec<PlannedDevice>,
}

impl Builder {
    fn add(&mut self, name: &str, kind: Kind, parent: Option<Parent>) -> usize {
        let number = self.devices.len();
        let mut placed = PlannedDevice::new(name, kind, parent).numbered(number, SEED);
        // Oscillators differ; how does not matter, but it is the same each time.
        placed.drift_ppm = ((number * 37) % 41) as f64 - 20.0;
        self.devices.push(placed);
        number
    }

    fn behind(&mut self, name: &str, kind: Kind, device: usize, port: u8) -> usize {
        self.add(name, kind, Some(Parent { device, port }))
    }

    fn leg(&mut self, side: &str, hub: usize, port: u8) -> usize {
        let mut last = Parent { device: hub, port };
        for joint in LEG {
            let device = self.add(&format!("{side} {joint}"), drive(Motor::knee()), Some(last));
            last = Parent { device, port: 1 };
        }
        self.add(&format!("{side} foot force"), Kind::Force, Some(last))
    }

    fn arm(&mut self, side: &str, hub: usize, port: u8) -> usize {
        let mut last = Parent { device: hub, port };
        for joint in ARM {
            let device = self.add(
                &format!("{side} {joint}"),
                drive(Motor::elbow()),
                Some(last),
            );
            last = Parent { device, port: 1 };
        }
        let mut device = self.add(&format!("{side} wrist force"), Kind::Force, Some(last));
        for finger in FINGERS {
            for joint in ["base", "tip"] {
                let name = format!("{side} {finger} {joint}");
                device = self.behind(&name, drive(Motor::finger()), device, 1);
            }
        }
        device
    }
}

fn drive(motor: Motor) -> Kind {
    Kind::Drive(Box::new(Parameters {
        motor,
        ..Parameters::default()
    }))
}

/// A humanoid of so many devices, from 1 to [`MAX_DEVICES`]; other numbers are clamped.
///
/// 59 is the whole one. A smaller one lacks its last parts: the head, then an arm. A larger one has further force
/// sensors at the ends of its limbs, as of a skin.
///
/// ```
/// use kadenz_ethercat::sim::humanoid::humanoid;
///
/// let plan = humanoid(59);
/// assert_eq!(plan.devices.len(), 59);
/// assert_eq!(plan.devices[0].name, "torso coupler");
/// ```
#[must_use]
pub fn humanoid(devices: usize) -> SegmentPlan {
    let wanted = devices.clamp(1, MAX_DEVICES);
    let mut all = Builder {
        devices: Vec::with_capacity(wanted.max(WHOLE)),
    };
    let coupler = all.add("torso coupler", Kind::Ek1100, None);
    let outputs = all.behind("torso outputs", Kind::El2889, coupler, 1);
    all.behind("torso inputs", Kind::El3004, outputs, 1);
    let imu = all.behind("torso imu", Kind::Imu, coupler, 2);
    let waist = all.behind("waist yaw", drive(Motor::knee()), imu, 1);
    let chest = all.behind("waist pitch", drive(Motor::knee()), waist, 2);
    for hub in [waist, chest] {
        all.devices[hub].ports = 4;
    }
    let mut ends = [0; 5];
    ends[0] = all.leg("left", waist, 3);
    ends[1] = all.leg("right", waist, 1);
    ends[2] = all.arm("left", chest, 3);
    ends[3] = all.arm("right", chest, 1);
    let neck = all.behind("neck yaw", drive(Motor::finger()), chest, 2);
    let head = all.behind("neck pitch", drive(Motor::finger()), neck, 1);
    ends[4] = all.behind("head imu", Kind::Imu, head, 1);
    for number in WHOLE..wanted {
        let end = &mut ends[number % 5];
        *end = all.behind(
            &format!("skin {}", number - WHOLE + 1),
            Kind::Force,
            *end,
            1,
        );
    }
    all.devices.truncate(wanted);
    SegmentPlan {
        seed: SEED,
        devices: all.devices,
        ring: None,
        faults: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_number_of_devices_is_a_tree_of_different_names() {
        for number in [1, 3, 10, 58, 59, 60, 128, 200] {
            let plan = humanoid(number);
            assert_eq!(plan.devices.len(), number);
            let names: HashSet<_> = plan.devices.iter().map(|it| &it.name).collect();
            assert_eq!(names.len(), number);
            let mut taken = HashSet::new();
            for (at, device) in plan.devices.iter().enumerate() {
                let Some(parent) = device.parent else {
                    assert_eq!(at, 0);
                    continue;
                };
                assert!(parent.device < at);
                let before = &plan.devices[parent.device];
                assert!(
                    before.free_ports().contains(&parent.port),
                    "{}",
                    device.name
                );
                assert!(
                    taken.insert((parent.device, parent.port)),
                    "{}",
                    device.name
                );
            }
        }
        assert_eq!(
            (humanoid(0).devices.len(), humanoid(999).devices.len()),
            (1, 200)
        );
    }

    #[test]
    fn the_whole_one_s_process_data_fits_into_one_frame() {
        let mut bytes = 0;
        for device in humanoid(WHOLE).devices {
            let model = device.model().unwrap();
            let image = crate::wire::sii::Image::of(&model.sii).unwrap();
            bytes += image
                .sync_managers()
                .skip(2)
                .map(|it| usize::from(it.area.size))
                .sum::<usize>();
        }
        // Terminals without mailbox use the first two SyncManagers for outputs and inputs.
        bytes += 2;
        assert!((900..1400).contains(&bytes), "{bytes}");
    }
}
