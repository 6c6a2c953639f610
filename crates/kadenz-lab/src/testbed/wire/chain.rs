//! The way of a datagram over links with switches between them.

use super::{EthernetFrame, Payload, Tag};
use crate::testbed::quantity::{ByteSize, LinkSpeed, Picoseconds};

/// Links one after the other, with a store-and-forward switch between each two of them.
///
/// ```
/// use kadenz_lab::testbed::{LinkSpeed, Picoseconds, wire::{Chain, Payload, Tag}};
///
/// // Enner's baseline: two links of 100 Mbit/s with a switch between them.
/// let speed: LinkSpeed = "100Mbit/s".parse()?;
/// let baseline = Chain::new(vec![speed, speed])?;
/// let wire = baseline.round_trip(Payload::new(200)?, Tag::None);
/// assert_eq!(wire.to_string(), "81.28us");
/// assert_eq!("193.8us".parse::<Picoseconds>()?.since(wire).to_string(), "112.52us");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    links: Vec<LinkSpeed>,
    forwarding: Picoseconds,
}

/// Why a chain without a link is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a way has at least one link; name its speed, for example 100Mbit/s")]
pub struct NoLinkError;

impl Chain {
    /// A chain of links from the sender on; its switches forward without delay.
    ///
    /// # Errors
    /// [`NoLinkError`].
    pub fn new(links: Vec<LinkSpeed>) -> Result<Self, NoLinkError> {
        if links.is_empty() {
            return Err(NoLinkError);
        }
        Ok(Self {
            links,
            forwarding: Picoseconds::ZERO,
        })
    }

    /// Sets the time that each switch takes from receiving a frame until it sends it on.
    #[must_use]
    pub fn with_forwarding(mut self, forwarding: Picoseconds) -> Self {
        self.forwarding = forwarding;
        self
    }

    /// The links from the sender on.
    #[must_use]
    pub fn links(&self) -> &[LinkSpeed] {
        &self.links
    }

    /// How many switches lie between sender and receiver.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.links.len() - 1
    }

    /// Time from the first bit that leaves the sender to the last that reaches the receiver.
    ///
    /// A datagram of several frames is pipelined: while a switch sends one frame on, it receives the next.
    #[must_use]
    pub fn one_way(&self, payload: Payload, tag: Tag) -> Picoseconds {
        self.flow(self.links.iter(), payload, tag)
    }

    /// The wire's part of a round trip: there and back with the same payload, and an answer that takes no time.
    #[must_use]
    pub fn round_trip(&self, payload: Payload, tag: Tag) -> Picoseconds {
        self.one_way(payload, tag) + self.flow(self.links.iter().rev(), payload, tag)
    }

    fn flow<'a>(
        &self,
        links: impl Iterator<Item = &'a LinkSpeed>,
        payload: Payload,
        tag: Tag,
    ) -> Picoseconds {
        let frames: Vec<_> = payload.frames(tag).collect();
        // When each frame may start on the present link; afterwards, when the next node has it.
        let mut at = vec![Picoseconds::ZERO; frames.len()];
        for (hop, speed) in links.enumerate() {
            let forwarding = if hop == 0 {
                Picoseconds::ZERO
            } else {
                self.forwarding
            };
            let mut free = Picoseconds::ZERO;
            for (frame, at) in frames.iter().zip(&mut at) {
                let start = (*at + forwarding).max(free);
                free = start + frame.occupancy(*speed).time();
                *at = start + frame.store_and_forward(*speed).time();
            }
        }
        at.last().copied().unwrap_or_default()
    }
}

// A microburst: many devices answer one broadcast at once.

/// Devices on one switch that answer a broadcast of a controller at the same moment.
///
/// ```
/// use kadenz_lab::testbed::{Picoseconds, wire::{Burst, EthernetFrame, Tag}};
///
/// let burst = Burst {
///     devices: 40,
///     device_speed: "100Mbit/s".parse()?,
///     controller_speed: "1Gbit/s".parse()?,
///     forwarding: Picoseconds::ZERO,
/// };
/// let frame = EthernetFrame::of_packet(20 + 8 + 200, Tag::None);
/// let last = burst.reply(40, frame);
/// assert_eq!(last.since_answer.to_string(), "105.344us");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Number of devices that answer.
    pub devices: u32,
    /// The speed of each device's link.
    pub device_speed: LinkSpeed,
    /// The speed of the controller's link, at whose port the answers queue.
    pub controller_speed: LinkSpeed,
    /// Time of the switch from receiving a frame until it sends it on.
    pub forwarding: Picoseconds,
}

/// Arrival time of one of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Time since the devices answered.
    pub since_answer: Picoseconds,
    /// Time since the controller sent the broadcast, if answering takes no time.
    pub since_broadcast: Picoseconds,
}

impl Burst {
    /// When the n-th answer has completely arrived; the first is 1.
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

    /// Bytes of the switch's buffer that the answers need at most, when all have come before one left.
    #[must_use]
    pub fn buffer(&self, frame: EthernetFrame) -> ByteSize {
        ByteSize(u64::from(frame.bytes()) * u64::from(self.devices))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(links: &[&str]) -> Chain {
        Chain::new(links.iter().map(|it| it.parse().unwrap()).collect()).unwrap()
    }

    fn round_trip(links: &[&str]) -> u64 {
        let payload = Payload::new(200).unwrap();
        chain(links).round_trip(payload, Tag::None).as_ps()
    }

    /// Enner's table of switches. It rounds a hop to 20.3 us first, hence 112.6 for 112.52.
    #[test]
    fn the_post_s_table() {
        let not_wire = |measured: &str, wire: u64| {
            let measured: Picoseconds = measured.parse().unwrap();
            measured.since(Picoseconds::from_ps(wire)).as_ps()
        };
        let baseline = round_trip(&["100M", "100M"]);
        assert_eq!(baseline, 81_280_000);
        assert_eq!(not_wire("193.8us", baseline), 112_520_000);
        let ksz8863 = round_trip(&["100M", "100M", "100M"]) - baseline;
        assert_eq!(ksz8863, 40_640_000);
        assert_eq!(not_wire("43.5us", ksz8863), 2_860_000);
        let gigabit = round_trip(&["100M", "1G", "100M"]) - baseline;
        assert_eq!(gigabit, 4_064_000);
        assert_eq!(not_wire("51.0us", gigabit), 46_936_000);
        assert_eq!(not_wire("7.7us", gigabit), 3_636_000);
    }

    #[test]
    fn switches_add_their_forwarding_once_each_way() {
        let forwarding: Picoseconds = "4us".parse().unwrap();
        let chain = chain(&["100M", "1G", "100M"]).with_forwarding(forwarding);
        let payload = Payload::new(200).unwrap();
        let hops = 2 * 20_320_000 + 2_032_000;
        assert_eq!(
            chain.one_way(payload, Tag::None).as_ps(),
            hops + 2 * 4_000_000
        );
        assert_eq!(chain.switches(), 2);
    }

    /// Two frames of 1518 and 64 bytes over two links: the second follows the first through the
    /// switch, and waits for it where it is as fast.
    #[test]
    fn fragments_flow() {
        let payload = Payload::new(1473).unwrap();
        let one_way = |links: &[&str]| chain(links).one_way(payload, Tag::None).as_ps();
        let bits = |bytes: u64| bytes * 80_000;
        assert_eq!(one_way(&["100M"]), bits(8 + 1518 + 12) + bits(8 + 64));
        assert_eq!(
            one_way(&["100M", "100M"]),
            bits(8 + 1518) + bits(8 + 1518 + 12) + bits(8 + 64)
        );
        // The second is so short that it arrives before the faster link has sent the first on.
        assert_eq!(
            one_way(&["100M", "1G"]),
            bits(8 + 1518) + bits(8 + 1518 + 12) / 10 + bits(8 + 64) / 10
        );
        // On a slower link it waits for the whole first frame.
        assert_eq!(
            one_way(&["1G", "100M"]),
            bits(8 + 1518) / 10 + bits(8 + 1518 + 12) + bits(8 + 64)
        );
    }

    #[test]
    fn a_chain_without_links_is_refused() {
        assert_eq!(Chain::new(Vec::new()), Err(NoLinkError));
    }
}

#[cfg(test)]
mod burst_tests {
    use super::*;
    use crate::testbed::wire::Tag;

    const FRAME: EthernetFrame = EthernetFrame::of_packet(20 + 8 + 200, Tag::None);

    fn burst() -> Burst {
        Burst {
            devices: 40,
            device_speed: "100M".parse().unwrap(),
            controller_speed: "1G".parse().unwrap(),
            forwarding: Picoseconds::ZERO,
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
