//! Round trips of compared runs, as JSON.

use serde::Serialize;

use super::PathOutput;
use crate::compare::NetworkRow;
use crate::compare::network::NetworkHost;
use crate::verdict::wire::RoundTrip;

/// One run's round trips as a comparison has them: 90 %, what of it is wire, and what is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoundTripsOutput {
    /// Folder of the run.
    pub run: String,
    /// The links to the devices; `null` where nobody tells.
    pub path: Option<PathOutput>,
    /// As measured and computed.
    pub p90: RoundTripOutput,
    /// Less the baseline's; `null` for the baseline itself.
    pub beyond_baseline: Option<RoundTripOutput>,
    /// Packets sent.
    pub sent: u64,
    /// Packets without an answer in time.
    pub lost: u64,
    /// Answers that came after the answer to a later packet.
    pub reordered: u64,
    /// The machine that asked.
    pub host: HostOutput,
}

/// A round trip in nanoseconds, or a difference of two; `null` where it is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RoundTripOutput {
    /// Measured.
    pub round_trip_ns: Option<i64>,
    /// Computed: how long one packet and its answer are on the wire.
    pub wire_ns: Option<i64>,
    /// The rest.
    pub not_on_wire_ns: Option<i64>,
}

/// The machine that asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostOutput {
    /// CPU model.
    pub machine: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// The interface's name.
    pub interface: Option<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// Its speed in Mbit/s.
    pub speed_mbit_s: Option<u32>,
}

impl RoundTripsOutput {
    pub(super) fn new(row: &NetworkRow, run: String) -> Self {
        Self {
            run,
            path: row.path.as_ref().map(PathOutput::new),
            p90: RoundTripOutput::new(row.round_trip),
            beyond_baseline: row.beyond_baseline.map(RoundTripOutput::new),
            sent: row.packets,
            lost: row.lost,
            reordered: row.reordered,
            host: HostOutput::new(&row.host),
        }
    }
}

impl RoundTripOutput {
    fn new(of: RoundTrip) -> Self {
        Self {
            round_trip_ns: of.measured_ns,
            wire_ns: of.wire_ns,
            not_on_wire_ns: of.not_on_wire_ns(),
        }
    }
}

impl HostOutput {
    fn new(host: &NetworkHost) -> Self {
        let NetworkHost {
            machine,
            kernel,
            interface,
            driver,
            speed_mbit_s,
        } = host.clone();
        Self {
            machine,
            kernel,
            interface,
            driver,
            speed_mbit_s,
        }
    }
}
