//! How a testbed stands, as others read it.

use kadenz_record::run::model::Counts;
use serde::{Deserialize, Serialize};

use super::programs::ProgramState;
use super::wire::Published;
use crate::testbed::fabric::LaneCounts;
use crate::testbed::topology::Topology;

/// How a testbed stands; docs/testbed.md describes it as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the format.
    pub version: u32,
    /// The topology's name.
    pub topology: String,
    /// Each direction of each link.
    pub lanes: Vec<LaneStatus>,
    /// Frames for which the wire had no room.
    pub no_room: u64,
    /// Frames that a host did not take.
    pub refused: u64,
    /// The programs.
    pub programs: Vec<ProgramState>,
    /// How late the wire was, in nanoseconds.
    pub wire_error: Option<WireError>,
}

/// How late the wire was so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WireError {
    /// Frames handed to a host.
    pub count: u64,
    /// The latest of them.
    pub max_ns: Option<i64>,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl Status {
    pub(super) fn of(
        topology: &Topology,
        published: &Published,
        programs: &[ProgramState],
        counts: Option<Counts>,
    ) -> Self {
        let lanes = topology.links.iter().flat_map(|link| {
            let [a, b] = link.ends.map(|end| topology.name_of(end));
            [(a, b), (b, a)]
        });
        let counted = published.lanes();
        Self {
            version: 1,
            topology: topology.name.clone(),
            lanes: lanes
                .zip(counted)
                .map(|((from, to), counts)| lane(from, to, counts))
                .collect(),
            no_room: published.no_room(),
            refused: published.refused(),
            programs: programs.to_vec(),
            wire_error: counts.map(|counts| WireError {
                count: counts.recorded,
                max_ns: counts.max_ns,
            }),
        }
    }
}

fn lane(from: &str, to: &str, counts: LaneCounts) -> LaneStatus {
    LaneStatus {
        from: from.to_owned(),
        to: to.to_owned(),
        begun: counts.begun,
        delivered: counts.delivered,
        overflowed: counts.overflowed,
        cut: counts.cut,
        lost: counts.lost,
        duplicated: counts.duplicated,
        reordered: counts.reordered,
    }
}
