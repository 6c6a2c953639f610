//! How a testbed stands, as others read it.

use kadenz_record::recorder::Counts;
use serde::{Deserialize, Serialize};

use super::programs::ProgramState;
use super::wire::Published;
use crate::testbed::fabric::{LaneStatus, lanes_of};
use crate::testbed::topology::Topology;

/// How a testbed stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// Version of the format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = 1)))]
    pub version: u32,
    /// The topology's name.
    pub topology: String,
    /// Each direction of each link.
    pub lanes: Vec<LaneStatus>,
    /// Frames for which the wire's thread had no room: the testbed was overloaded.
    pub no_room: u64,
    /// Frames that a host's interface did not take.
    pub refused: u64,
    /// The hosts' programs.
    pub programs: Vec<ProgramState>,
    /// How late the wire was, in nanoseconds.
    pub wire_error: Option<WireError>,
}

/// How late the wire was so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireError {
    /// Frames handed to a host.
    pub count: u64,
    /// The latest of them.
    pub max_ns: Option<i64>,
}

impl Status {
    pub(super) fn of(
        topology: &Topology,
        published: &Published,
        programs: &[ProgramState],
        counts: Option<Counts>,
    ) -> Self {
        Self {
            version: 1,
            topology: topology.name.clone(),
            lanes: lanes_of(topology, &published.lanes()),
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
