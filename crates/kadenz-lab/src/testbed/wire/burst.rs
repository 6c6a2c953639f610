//! A microburst: many devices answer one broadcast at once.

use super::frame::EthernetFrame;
use crate::testbed::quantity::{ByteSize, LinkSpeed, Picos};

/// Devices on one switch that answer a broadcast of a controller at the same moment.
///
/// ```
/// use kadenz_lab::testbed::{Picos, wire::{Burst, EthernetFrame, Tag}};
///
/// let burst = Burst {
///     devices: 40,
///     device_speed: "100Mbit/s".parse()?,
///     controller_speed: "1Gbit/s".parse()?,
///     forwarding: Picos::ZERO,
/// };
/// let frame = EthernetFrame::of_packet(20 + 8 + 200, Tag::None);
/// let last = burst.reply(40, frame);
/// assert_eq!(last.since_answer.to_string(), "105.344us");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// How many answer.
    pub devices: u32,
    /// The speed of each device's link.
    pub device_speed: LinkSpeed,
    /// The speed of the controller's link, at whose port the answers queue.
    pub controller_speed: LinkSpeed,
    /// What the switch takes from having a frame until it sends it on.
    pub forwarding: Picos,
}

/// When one of the answers has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Since the devices answered.
    pub since_answer: Picos,
    /// Since the controller sent the broadcast, if answering takes no time.
    pub since_broadcast: Picos,
}

impl Burst {
    /// When the n-th answer has wholly arrived; the first is 1.
    ///
    /// All answers are in the switch at the same moment and leave it one after the other. Both
    /// broadcast and answer are one frame each; larger ones interleave, which the
    /// [model](crate::testbed::model) follows.
    #[must_use]
    pub fn reply(&self, n: u32, frame: EthernetFrame) -> Reply {
        let device = frame.store_and_forward(self.device_speed).time();
        let controller = frame.store_and_forward(self.controller_speed).time();
        let before = frame.occupancy(self.controller_speed).time() * u64::from(n.saturating_sub(1));
        let since_answer = device + self.forwarding + before + controller;
        Reply {
            since_answer,
            since_broadcast: controller + self.forwarding + device + since_answer,
        }
    }

    /// What the answers take of the switch's buffer at most, when all have come before one left.
    #[must_use]
    pub fn buffer(&self, frame: EthernetFrame) -> ByteSize {
        ByteSize(u64::from(frame.bytes()) * u64::from(self.devices))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::wire::Tag;

    const FRAME: EthernetFrame = EthernetFrame::of_packet(20 + 8 + 200, Tag::None);

    fn burst() -> Burst {
        Burst {
            devices: 40,
            device_speed: "100M".parse().unwrap(),
            controller_speed: "1G".parse().unwrap(),
            forwarding: Picos::ZERO,
        }
    }

    #[test]
    fn answers_arrive_one_occupancy_after_the_other() {
        let at = |n| burst().reply(n, FRAME);
        // 20.32 us to the switch, 2.032 us to the controller, 39 frames of 2.128 us before it.
        assert_eq!(at(1).since_answer.as_ps(), 20_320_000 + 2_032_000);
        assert_eq!(
            at(40).since_answer.as_ps(),
            20_320_000 + 39 * 2_128_000 + 2_032_000
        );
        assert_eq!(at(1).since_broadcast.as_ps(), 2 * (20_320_000 + 2_032_000));
        assert_eq!(burst().buffer(FRAME), ByteSize(40 * 246));
    }

    #[test]
    fn the_switch_forwards_the_broadcast_and_the_answers() {
        let slow = Burst {
            forwarding: "4us".parse().unwrap(),
            ..burst()
        };
        let of = |burst: Burst| burst.reply(40, FRAME).since_broadcast.as_ps();
        assert_eq!(of(slow) - of(burst()), 8_000_000);
    }
}
