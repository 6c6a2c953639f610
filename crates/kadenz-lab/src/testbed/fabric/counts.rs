//! What became of the frames on a lane.

use serde::{Deserialize, Serialize};

use crate::testbed::topology::Topology;

/// Frames on one direction of a link. Each that began is in exactly one of `delivered`,
/// `overflowed`, `cut` and `lost`, or still on its way; a duplicate is delivered once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneCounts {
    /// Were to be sent.
    pub begun: u64,
    /// Came to the other end.
    pub delivered: u64,
    /// Found the port's buffer full.
    pub overflowed: u64,
    /// Were to be sent, or on their way, while the link was cut.
    pub cut: u64,
    /// Were lost on purpose.
    pub lost: u64,
    /// Were doubled on purpose; each gives one more in `delivered`.
    pub duplicated: u64,
    /// Were passed by a later one on purpose.
    pub reordered: u64,
    /// Were held back on purpose and passed by none.
    pub held: u64,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LaneStatus {
    /// From where.
    pub from: String,
    /// To where.
    pub to: String,
    /// Frames that were to be sent.
    pub begun: u64,
    /// Came.
    pub delivered: u64,
    /// Found the port's buffer full.
    pub overflowed: u64,
    /// Met a cut.
    pub cut: u64,
    /// Lost on purpose.
    pub lost: u64,
    /// Doubled on purpose.
    pub duplicated: u64,
    /// Passed by a later one on purpose.
    pub reordered: u64,
}

/// How each direction of each link stands, where the counts are those of the links in their order.
#[must_use]
pub fn lanes_of(topology: &Topology, counts: &[LaneCounts]) -> Vec<LaneStatus> {
    let ends = topology.links.iter().flat_map(|link| {
        let [a, b] = link.ends.map(|end| topology.name_of(end).to_owned());
        [(a.clone(), b.clone()), (b, a)]
    });
    let lane = |((from, to), counts): ((String, String), &LaneCounts)| LaneStatus {
        from,
        to,
        begun: counts.begun,
        delivered: counts.delivered,
        overflowed: counts.overflowed,
        cut: counts.cut,
        lost: counts.lost,
        duplicated: counts.duplicated,
        reordered: counts.reordered,
    };
    ends.zip(counts).map(lane).collect()
}

/// What the counts of one lane add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// Frames that went in, doubled ones twice.
    pub went_in: u64,
    /// Frames whose end is known.
    pub came_out: u64,
}

impl LaneCounts {
    /// The counts of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            begun: self.begun + other.begun,
            delivered: self.delivered + other.delivered,
            overflowed: self.overflowed + other.overflowed,
            cut: self.cut + other.cut,
            lost: self.lost + other.lost,
            duplicated: self.duplicated + other.duplicated,
            reordered: self.reordered + other.reordered,
            held: self.held + other.held,
        }
    }

    /// All eight, in the order in which they stand here.
    #[must_use]
    pub const fn to_array(self) -> [u64; 8] {
        [
            self.begun,
            self.delivered,
            self.overflowed,
            self.cut,
            self.lost,
            self.duplicated,
            self.reordered,
            self.held,
        ]
    }

    /// From what [`LaneCounts::to_array`] gives.
    #[must_use]
    pub const fn from_array(counts: [u64; 8]) -> Self {
        let [
            begun,
            delivered,
            overflowed,
            cut,
            lost,
            duplicated,
            reordered,
            held,
        ] = counts;
        Self {
            begun,
            delivered,
            overflowed,
            cut,
            lost,
            duplicated,
            reordered,
            held,
        }
    }

    /// What went in and what came out; the same when the lane is at rest.
    #[must_use]
    pub const fn total(self) -> Total {
        Total {
            went_in: self.begun + self.duplicated,
            came_out: self.delivered + self.overflowed + self.cut + self.lost,
        }
    }
}
