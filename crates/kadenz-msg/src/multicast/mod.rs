//! The causes for which LCM's multicast fails on this host, with their remedies, in place of a failed
//! self-test.
//!
//! ```
//! use kadenz_msg::multicast::examine;
//! use kadenz_msg::provider::parameters::Address;
//!
//! let address = Address::parse("udpm://239.255.76.67:7667?ttl=0&iface=nowhere0")?;
//! let findings = examine(&address)?;
//! # if cfg!(target_os = "linux") {
//! let interface = findings.iter().find(|it| it.id == "multicast-interface").unwrap();
//! assert!(interface.title.contains("nowhere0"));
//! assert!(interface.remedy.is_some());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod judge;

use kadenz_rt::doctor::{Finding, Severity};
use kadenz_rt::net::multicast::{MulticastFacts, situation};
use kadenz_rt::tuning::Measure;

use crate::provider::parameters::Address;
use crate::provider::udpm::{NetworkSettings, SelfTest, Udpm};
use crate::provider::{Provider as _, ProviderError};

/// Examines the way of a `udpm://` URL's messages: the state of each part, its cost, and its remedy; the
/// worst first. Sends a few datagrams to the URL's group, which every LCM program ignores, and changes
/// nothing. Takes up to a second.
///
/// [`Severity::Spoils`] means here that messages do not arrive, and [`Severity::Costs`] that some may
/// not.
///
/// # Errors
/// If the URL is not `udpm://`, or has an invalid parameter.
pub fn examine(address: &Address) -> Result<Vec<Finding>, ProviderError> {
    if address.scheme() != "udpm" {
        let reason = format!("{}:// is not multicast", address.scheme());
        return Err(address.wrong(reason, "give a URL that begins with udpm://"));
    }
    let bus = Udpm::open(address)?;
    let asked = bus.asked();
    let seen = situation(asked.group.ip(), asked.interface.as_deref());
    let tested = bus.self_test();
    Ok(judge(&asked, &seen, &tested, &bus))
}

fn judge(
    asked: &NetworkSettings,
    seen: &MulticastFacts,
    tested: &SelfTest,
    bus: &Udpm,
) -> Vec<Finding> {
    let mut findings = judge::network(asked, seen, tested);
    findings.extend(granted(bus));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// Returns whether messages can arrive, by what was found.
#[must_use]
pub fn works(findings: &[Finding]) -> bool {
    findings.iter().all(|it| it.severity < Severity::Spoils)
}

// The settings that the kernel refused to the sockets themselves.

/// Returns one finding for each setting that was requested and refused.
fn granted(bus: &Udpm) -> Vec<Finding> {
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

#[cfg(test)]
mod tests;
