//! How close together the answers to a broadcast come: a switch and a receive buffer must hold them. Sans-IO.

use kadenz_record::run::network::half_of;
use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::net::port::{StampSource, Stamps, UdpPort};

use super::packet_counts::ProbeReply;

/// Broadcasts whose answers may still come while later ones are on their way.
const REMEMBERED: usize = 64;

/// The clock that gives the arrival time of an answer. Only differences are computed, so that any steady clock will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrivalClock {
    /// The network card's clock.
    Card,
    /// The kernel's clock, converted to the sleep clock.
    Kernel,
    /// The program's clock: answers that one call took came at the same time.
    Program,
}

impl ArrivalClock {
    /// The granted stamps of received datagrams, where sent ones are stamped, too: without that the kernel's stamps are
    /// not converted to the sleep clock.
    pub(super) fn of_port(port: &UdpPort) -> Self {
        let granted = port.granted();
        Self::of(
            granted
                .receive_stamps
                .filter(|_| granted.transmit_stamps.is_some()),
        )
    }

    fn of(stamps: Option<StampSource>) -> Self {
        match stamps {
            Some(StampSource::Hardware) => Self::Card,
            Some(StampSource::Software) => Self::Kernel,
            None => Self::Program,
        }
    }

    /// When an answer came: `bridged` is the kernel's stamp on the sleep clock.
    pub(super) fn time(
        self,
        reply: &ProbeReply,
        stamps: Stamps,
        bridged: Option<MonotonicTime>,
    ) -> Option<i64> {
        match self {
            Self::Card => stamps.hardware.map(|it| it.as_ns()),
            Self::Kernel => bridged.map(|it| it.since(MonotonicTime::from_ns(0))),
            Self::Program => Some(reply.received_ns),
        }
    }

    /// In words, after "stamped by".
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Card => "the network card",
            Self::Kernel => "the kernel",
            Self::Program => "the program",
        }
    }
}

/// How close together the answers to one broadcast came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Density {
    /// Time from the first to the last answer.
    pub(super) spread_ns: i64,
    /// The shortest time in which half of them came.
    pub(super) half_ns: i64,
}

/// Collects the arrival times of the answers to the last broadcasts.
///
/// # Real-time safety
/// Memory is allocated when it is made.
#[derive(Debug)]
pub(super) struct Densities {
    devices: usize,
    slots: Vec<Vec<i64>>,
}

impl Densities {
    pub(super) fn new(devices: usize) -> Self {
        let slots = (0..REMEMBERED).map(|_| Vec::with_capacity(devices));
        Self {
            devices,
            slots: slots.collect(),
        }
    }

    /// Takes an answer that came at `came_ns`, if that is known. Returns the density with the last answer of a
    /// broadcast, if the times of all are known.
    pub(super) fn came(&mut self, reply: &ProbeReply, came_ns: Option<i64>) -> Option<Density> {
        let slot = self.slots.get_mut(reply.sequence as usize % REMEMBERED)?;
        if reply.place? == 0 {
            slot.clear();
        }
        if let Some(came_ns) = came_ns.filter(|_| slot.len() < slot.capacity()) {
            slot.push(came_ns);
        }
        let known = reply.completes && slot.len() == self.devices;
        known.then(|| Density::of(slot)).flatten()
    }
}

impl Density {
    /// The density of answers that came at these times; `None` for fewer than two.
    fn of(times: &mut [i64]) -> Option<Self> {
        // Where a card has several queues, one may be ahead of another.
        times.sort_unstable();
        let spread_ns = times.last()? - times.first()?;
        let half = times.windows(half_of(times.len()));
        let half_ns = half.map(|it| it[it.len() - 1] - it[0]).min()?;
        Some(Self { spread_ns, half_ns })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use kadenz_udp::controller::Timing;

    use super::*;

    /// The answer to this packet in this place among this many devices.
    fn reply(sequence: u32, place: usize, devices: usize) -> ProbeReply {
        ProbeReply {
            device: place,
            sequence,
            intended_ns: 0,
            sent_ns: 0,
            received_ns: 500_000,
            timing: Timing::InTime,
            device_stamps: None,
            place: Some(place),
            completes: place + 1 == devices,
        }
    }

    fn density_of(
        densities: &mut Densities,
        sequence: u32,
        came: &[Option<i64>],
    ) -> Option<Density> {
        let mut last = None;
        for (place, came_ns) in came.iter().enumerate() {
            assert_eq!(last, None, "given before the last answer");
            last = densities.came(&reply(sequence, place, came.len()), *came_ns);
        }
        last
    }

    #[test]
    fn the_densest_half_may_lie_anywhere() {
        let mut densities = Densities::new(5);
        for (times, half_ns) in [
            ([100, 102, 104, 180, 190], 4),
            ([100, 150, 160, 163, 190], 13),
            ([100, 150, 180, 187, 190], 10),
            // Out of order, as two queues of a card may give them.
            ([190, 100, 187, 180, 150], 10),
        ] {
            let density = density_of(&mut densities, 7, &times.map(Some)).unwrap();
            assert_eq!((density.spread_ns, density.half_ns), (90, half_ns));
        }
    }

    #[test]
    fn an_answer_without_a_stamp_leaves_its_broadcast_without_a_density() {
        let mut densities = Densities::new(3);
        assert_eq!(
            density_of(&mut densities, 1, &[Some(5), None, Some(9)]),
            None
        );
        let next = density_of(&mut densities, 65, &[Some(5), Some(6), Some(9)]);
        assert_eq!(next.unwrap().spread_ns, 4, "the slot is used again");
    }

    #[test]
    fn broadcasts_on_their_way_at_once_are_kept_apart() {
        let mut densities = Densities::new(2);
        assert_eq!(densities.came(&reply(1, 0, 2), Some(10)), None);
        assert_eq!(densities.came(&reply(2, 0, 2), Some(20)), None);
        let second = densities.came(&reply(2, 1, 2), Some(23)).unwrap();
        let first = densities.came(&reply(1, 1, 2), Some(90)).unwrap();
        assert_eq!((first.spread_ns, second.spread_ns), (80, 3));
        assert_eq!(
            (first.half_ns, second.half_ns),
            (80, 3),
            "both are half of two"
        );
    }

    #[test]
    fn one_device_has_no_density() {
        assert_eq!(density_of(&mut Densities::new(1), 1, &[Some(5)]), None);
    }

    #[test]
    fn the_clock_is_the_one_closest_to_the_wire() {
        use kadenz_rt::clock::{PhcTime, WallTime};
        let stamps = Stamps {
            software: Some(WallTime::from_unix_ns(7)),
            hardware: Some(PhcTime::from_ns(3)),
        };
        let bridged = Some(MonotonicTime::from_ns(40));
        let of = |granted, stamps, bridged| {
            ArrivalClock::of(granted).time(&reply(0, 0, 2), stamps, bridged)
        };
        assert_eq!(of(Some(StampSource::Hardware), stamps, bridged), Some(3));
        assert_eq!(of(Some(StampSource::Software), stamps, bridged), Some(40));
        assert_eq!(of(None, stamps, bridged), Some(500_000));
        assert_eq!(
            of(Some(StampSource::Software), stamps, None),
            None,
            "across a step"
        );
        assert_eq!(
            of(Some(StampSource::Hardware), Stamps::default(), bridged),
            None
        );
    }
}
