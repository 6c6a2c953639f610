//! Computes delays from receive times at ports.
//!
//! A latch gives, for each SubDevice with a clock, the times at which one frame came into each of its ports, by its
//! own clock. The time between the frame's leaving by a port and its coming back there is the way to the child, the
//! child's own loop, and the way back; both ways are equal except for the time that the processing unit takes beyond
//! forwarding (Beckhoff's ESC data sheet, section I, 9.1.2, "propagation delay measurement"):
//!
//! ```text
//! down = ((t[port] - t[port before]) - (t'[last] - t'[entry]) + d) / 2
//! ```
//!
//! with t of the parent, t' of the child, and d the time of processing beyond forwarding where the frame leaves the
//! parent right behind its processing unit, less that where the child is the last of its branch. The delay of a
//! SubDevice is that of its parent, plus the time until the frame left the parent for it, plus the way down: a
//! branch waits until the frame has passed those before it.
//!
//! SubDevices without a clock give no times: they are part of the cable. Behind one that branches only the sum of
//! the ways is known; it is split evenly, and the results are marked as estimated.

use super::topology::{Branch, Topology};

/// The times at which a frame passed the ports of a SubDevice.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct PassageTimes {
    /// Whether it has a clock; without one it gives no times.
    pub(super) clock: bool,
    /// The times at which the frame came into each port, in ns since it came in first, by the reference's clock.
    pub(super) times: [f64; 4],
}

/// How long a frame takes to a SubDevice, from the first one or, in `ways`, from its parent, in ns, and whether that
/// was measured.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct WireDelay {
    pub(super) ns: f64,
    pub(super) measured: bool,
}

/// The subtree behind a SubDevice without a clock, up to SubDevices with one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct ClocklessSubtree {
    /// Ways between two SubDevices, each counted once.
    hops: u32,
    /// Loops of SubDevices with a clock, in ns.
    known: f64,
    /// Whether it is a line that ends at a SubDevice with a clock.
    single: bool,
}

/// Computes delays; children come behind their parents.
pub(super) struct Delays<'a> {
    topology: &'a Topology,
    passages: &'a [PassageTimes],
    /// The time of processing beyond forwarding, in ns.
    processing: f64,
    blind: Vec<ClocklessSubtree>,
    /// The way into each, in ns, and whether it was measured.
    ways: Vec<Option<WireDelay>>,
}

impl<'a> Delays<'a> {
    pub(super) fn of(
        topology: &'a Topology,
        passages: &'a [PassageTimes],
        processing: f64,
    ) -> Vec<WireDelay> {
        let count = passages.len();
        let mut delays = Self {
            topology,
            passages,
            processing,
            blind: vec![ClocklessSubtree::default(); count],
            ways: vec![None; count],
        };
        for at in (0..count).rev() {
            delays.blind[at] = delays.behind(at);
        }
        for at in 0..count {
            delays.measure_path_delays(at);
        }
        delays.arrivals()
    }

    /// The time of a frame through a SubDevice with a clock and all behind it.
    fn own_loop(&self, at: usize) -> f64 {
        let last = self.topology.places[at].branches.last();
        last.map_or(0.0, |it| self.passages[at].times[usize::from(it.port)])
    }

    fn behind(&self, at: usize) -> ClocklessSubtree {
        if self.passages[at].clock {
            return ClocklessSubtree {
                hops: 0,
                known: self.own_loop(at),
                single: true,
            };
        }
        let branches = &self.topology.places[at].branches;
        let all = branches.iter().map(|it| self.blind[it.child]);
        let sum = all.fold(ClocklessSubtree::default(), |sum, it| ClocklessSubtree {
            hops: sum.hops + it.hops + 1,
            known: sum.known + it.known,
            single: it.single,
        });
        ClocklessSubtree {
            single: sum.single && branches.len() == 1,
            ..sum
        }
    }

    /// Computes the ways that the times of one SubDevice give.
    fn measure_path_delays(&mut self, at: usize) {
        if !self.passages[at].clock {
            // The way into it, by its parent's times, is also the way to those behind it.
            let Some(own) = self.ways[at] else { return };
            for branch in &self.topology.places[at].branches {
                self.ways[branch.child] = Some(own);
            }
            return;
        }
        for branch in &self.topology.places[at].branches {
            let times = self.passages[at].times;
            let span = times[usize::from(branch.port)] - times[usize::from(branch.before)];
            let child = self.blind[branch.child];
            let ways = 2 * (child.hops + 1);
            let even = (span - child.known) / f64::from(ways);
            self.ways[branch.child] = Some(WireDelay {
                ns: (even + self.unevenness(at, branch) / 2.0).max(0.0),
                measured: child.single,
            });
        }
    }

    /// How much longer the way down is than the way up.
    fn unevenness(&self, parent: usize, branch: &Branch) -> f64 {
        if !self.passages[branch.child].clock {
            return 0.0;
        }
        let first = branch.before == self.topology.places[parent].entry;
        let last = self.topology.places[branch.child].branches.is_empty();
        let more = |yes| if yes { self.processing } else { 0.0 };
        more(first) - more(last)
    }

    /// The length of ways that no clock measured: the mean of the others.
    fn usual_way(&self) -> f64 {
        let known = self.ways.iter().flatten().map(|it| it.ns);
        let (sum, count) = known.fold((0.0, 0_u32), |(sum, count), it| (sum + it, count + 1));
        sum / f64::from(count.max(1))
    }

    fn arrivals(&self) -> Vec<WireDelay> {
        let usual = self.usual_way();
        let mut all = vec![WireDelay::default(); self.passages.len()];
        // Delays count from the first SubDevice with a clock.
        let reference = self.passages.iter().position(|it| it.clock);
        let mut sure = vec![false; self.passages.len()];
        for (at, place) in self.topology.places.iter().enumerate() {
            let passage = &self.passages[at];
            sure[at] |= reference == Some(at);
            all[at].measured = sure[at] && passage.clock;
            // Time since the frame came in.
            let mut passed = 0.0;
            for branch in &place.branches {
                if passage.clock {
                    passed = passage.times[usize::from(branch.before)];
                }
                let child = self.blind[branch.child];
                let delay = self.ways[branch.child].unwrap_or(WireDelay {
                    ns: usual,
                    measured: false,
                });
                all[branch.child].ns = all[at].ns + passed + delay.ns;
                sure[branch.child] = sure[at] && delay.measured;
                passed += delay.ns * f64::from(2 * (child.hops + 1)) + child.known;
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{DlStatus, PortStatus};

    fn topology(ports: &[&[u8]]) -> Topology {
        let links = ports.iter().map(|open| {
            let links = open.iter().fold(DlStatus(0x5500), |all, port| {
                all.with_port(*port, PortStatus::Open)
            });
            (links, 0)
        });
        Topology::of(&links.collect::<Vec<_>>()).unwrap()
    }

    fn clock(times: [f64; 4]) -> PassageTimes {
        PassageTimes { clock: true, times }
    }

    /// The data sheet's own example, figure and formulas of section I, 9.1.2: A before B; B has C and D
    /// behind it by port 1, and E and F by port 2.
    #[test]
    fn the_data_sheets_example() {
        // Processing takes 300, forwarding 260, each wire 100.
        let (p, f, w) = (300.0, 260.0, 100.0);
        let (cd, dc) = (p + w, p + w);
        let (bc, cb) = (p + w, f + w);
        let (ef, fe) = (p + w, p + w);
        let (be, eb) = (f + w, f + w);
        let (ab, ba) = (p + w, f + w);
        let c_loop = cd + dc;
        let e_loop = ef + fe;
        let b1 = bc + c_loop + cb;
        let b2 = b1 + be + e_loop + eb;
        let topology = topology(&[&[0, 1], &[0, 1, 2], &[0, 1], &[0], &[0, 1], &[0]]);
        let passages = [
            clock([0.0, ab + b2 + ba, 0.0, 0.0]),
            clock([0.0, b1, b2, 0.0]),
            clock([0.0, c_loop, 0.0, 0.0]),
            clock([0.0; 4]),
            clock([0.0, e_loop, 0.0, 0.0]),
            clock([0.0; 4]),
        ];
        let all = Delays::of(&topology, &passages, p - f);
        let delays: Vec<_> = all.iter().map(|it| it.ns).collect();
        let e = ab + bc + cd + dc + cb + be;
        assert_eq!(delays, [0.0, ab, ab + bc, ab + bc + cd, e, e + ef]);
        assert!(all.iter().all(|it| it.measured));
    }

    /// A tree of so many SubDevices, each with about as many branches as wanted: their links.
    fn tree(wanted: &[usize]) -> Vec<(DlStatus, u8)> {
        // Ways on without a SubDevice yet.
        let mut ways = 1;
        let count_of_all = wanted.len();
        let all = wanted.iter().enumerate().map(|(at, wanted)| {
            let behind = count_of_all - at - 1;
            ways -= 1;
            let least = usize::from(ways == 0 && behind > 0);
            let count = (*wanted).clamp(least, 3.min(behind - ways));
            ways += count;
            let ports = [0].into_iter().chain([3, 1, 2].into_iter().take(count));
            let links = ports.fold(DlStatus(0x5500), |all, port| {
                all.with_port(port, PortStatus::Open)
            });
            (links, 0)
        });
        all.collect()
    }

    proptest::proptest! {
        /// Whatever times SubDevices of a valid tree report, delays are numbers, and the first has none.
        #[test]
        fn hostile_times_are_survived(
            all in proptest::collection::vec(
                (0_usize..4, proptest::prelude::any::<bool>(), proptest::array::uniform4(-2e9..2e9_f64)),
                1..60),
            processing in -1e9..1e9_f64,
        ) {
            let wanted: Vec<_> = all.iter().map(|it| it.0).collect();
            let topology = Topology::of(&tree(&wanted));
            proptest::prop_assert!(topology.is_ok(), "{topology:?}");
            let topology = topology.unwrap();
            proptest::prop_assert_eq!(topology.back, None);
            let passages: Vec<_> = all
                .iter()
                .map(|it| PassageTimes { clock: it.1, times: it.2 })
                .collect();
            let arrivals = Delays::of(&topology, &passages, processing);
            proptest::prop_assert_eq!(arrivals.len(), all.len());
            proptest::prop_assert!(arrivals.iter().all(|it| it.ns.is_finite()));
            proptest::prop_assert_eq!(arrivals[0].ns, 0.0);
        }

        /// Invalid links are an error or a tree, with hostile times too.
        #[test]
        fn hostile_links_are_survived(
            all in proptest::collection::vec((proptest::prelude::any::<u16>(), 0_u8..4), 1..5),
            times in proptest::array::uniform4(-2e9..2e9_f64),
        ) {
            let links: Vec<_> = all.iter().map(|it| (DlStatus(it.0), it.1)).collect();
            if let Ok(topology) = Topology::of(&links) {
                let passages = vec![PassageTimes { clock: true, times }; all.len()];
                let arrivals = Delays::of(&topology, &passages, 0.0);
                proptest::prop_assert!(arrivals.iter().all(|it| it.ns.is_finite()));
            }
        }
    }

    #[test]
    fn one_without_a_clock_in_between_is_part_of_the_cable() {
        let topology = topology(&[&[0, 1], &[0, 1], &[0, 1], &[0]]);
        let blind = PassageTimes::default();
        let passages = [
            clock([0.0, 2.0 * 700.0 + 500.0, 0.0, 0.0]),
            blind,
            clock([0.0, 500.0, 0.0, 0.0]),
            clock([0.0; 4]),
        ];
        let all = Delays::of(&topology, &passages, 0.0);
        let delays: Vec<_> = all.iter().map(|it| (it.ns, it.measured)).collect();
        assert_eq!(
            delays,
            [(0.0, true), (350.0, false), (700.0, true), (950.0, true)]
        );
    }

    #[test]
    fn behind_a_branch_without_a_clock_delays_are_estimated() {
        let topology = topology(&[&[0, 1], &[0, 1, 2], &[0], &[0]]);
        let passages = [
            clock([0.0, 6.0 * 300.0, 0.0, 0.0]),
            PassageTimes::default(),
            clock([0.0; 4]),
            clock([0.0; 4]),
        ];
        let all = Delays::of(&topology, &passages, 0.0);
        let delays: Vec<_> = all.iter().map(|it| (it.ns, it.measured)).collect();
        assert_eq!(
            delays,
            [(0.0, true), (300.0, false), (600.0, false), (1200.0, false)]
        );
    }
}
