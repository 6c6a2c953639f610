//! What the kernel refused to the sockets themselves.

use kadenz_rt::doctor::{Finding, Severity};
use kadenz_rt::tuning::Measure;

use crate::provider::Provider as _;
use crate::provider::udpm::Udpm;

/// One for each thing that was asked for and refused.
pub(super) fn granted(bus: &Udpm) -> Vec<Finding> {
    let refused = |measure: &Measure| !measure.ok;
    let measures = bus.measures();
    measures
        .iter()
        .filter(|it| refused(it))
        .map(finding)
        .collect()
}

fn finding(measure: &Measure) -> Finding {
    let title = format!(
        "{}: {} asked, {} granted",
        measure.name, measure.requested, measure.granted
    );
    let finding = Finding::new("multicast-socket", Severity::Costs, title)
        .cost("a receiver that pauses loses what does not fit into its buffer")
        .evidence(measure.reason.clone().unwrap_or_default());
    match &measure.remedy {
        Some(remedy) => finding.remedy(remedy.clone()),
        None => finding,
    }
}
