//! When other traffic is due: bursts of datagrams, each kind on a beat of its own.

use super::quantity::Picos;
use super::topology::{Topology, Traffic};

/// The bursts of a topology's traffic, in the order of time.
///
/// ```
/// use kadenz_lab::testbed::topology::{self, Topology};
/// use kadenz_lab::testbed::{Picos, traffic::Bursts};
///
/// let topology = Topology::parse(topology::ready("cross-traffic").expect("it is built in"))?;
/// let mut bursts = Bursts::new(&topology);
/// let (at, video) = bursts.take(Picos::ZERO).expect("the first is due at once");
/// assert_eq!((at, video.packets), (Picos::ZERO, 43));
/// assert_eq!(bursts.take(Picos::ZERO), None);
/// # Ok::<(), kadenz_lab::testbed::topology::TopologyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bursts {
    kinds: Vec<(Picos, Traffic)>,
}

impl Bursts {
    /// All kinds, the first burst of each at the start.
    #[must_use]
    pub fn new(topology: &Topology) -> Self {
        let kinds = topology.traffic.iter();
        Self {
            kinds: kinds.map(|traffic| (Picos::ZERO, *traffic)).collect(),
        }
    }

    /// When the next burst is due; `None` without traffic.
    #[must_use]
    pub fn next_time(&self) -> Option<Picos> {
        self.kinds.iter().map(|(at, _)| *at).min()
    }

    /// The next burst that is due by `until`.
    pub fn take(&mut self, until: Picos) -> Option<(Picos, Traffic)> {
        let (at, traffic) = self.kinds.iter_mut().min_by_key(|(at, _)| *at)?;
        if *at > until {
            return None;
        }
        let due = *at;
        *at += traffic.interval.max(Picos::from_ps(1));
        Some((due, *traffic))
    }
}
